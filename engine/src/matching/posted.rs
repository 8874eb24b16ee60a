//! Receives that wait for their message.

use super::chains::{Chains, Link, NONE};
use super::{Envelope, Pattern, SEARCH_ENTRIES_MAX};
use std::collections::VecDeque;

/// Posted receives by pattern; each is a number of the caller's (a request's place in its slab: dense and
/// unique among those posted).
#[derive(Default, Debug)]
pub struct Posted {
    /// All receives in order, as long as a search ends soon.
    plain: VecDeque<(Pattern, u32)>,
    /// Otherwise: chains by pattern, and each receive's node at its number.
    chains: Chains,
    nodes: Vec<Node>,
    binned: usize,
    /// How many of each wildness are in the bins: no search for what nobody posted.
    by_wildness: [usize; 4],
    stamp: u64,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    pattern: Pattern,
    stamp: u64,
    link: Link,
}

impl Posted {
    /// Receives that wait.
    pub fn len(&self) -> usize {
        self.plain.len() + self.binned
    }

    /// Whether none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Posts receive `id`, after all that are there.
    #[inline(always)]
    pub fn post(&mut self, pattern: Pattern, id: u32) {
        if self.binned == 0 {
            self.plain.push_back((pattern, id));
        } else {
            self.hook(pattern, id);
        }
    }

    /// Takes the receive that was posted first of those that a message with this envelope fits.
    #[inline]
    pub fn take(&mut self, envelope: &Envelope) -> Option<u32> {
        // The first is the usual one. While there are bins, the list is empty.
        match self.plain.front() {
            Some((pattern, _)) if pattern.fits(envelope) => self.plain.pop_front().map(|(_, id)| id),
            None if self.binned == 0 => None,
            _ => self.take_further(envelope),
        }
    }

    fn take_further(&mut self, envelope: &Envelope) -> Option<u32> {
        if self.binned == 0 {
            let near = self.plain.iter().take(SEARCH_ENTRIES_MAX);
            if let Some(at) = near.into_iter().position(|(pattern, _)| pattern.fits(envelope)) {
                return self.plain.remove(at).map(|(_, id)| id);
            }
            if self.plain.len() <= SEARCH_ENTRIES_MAX {
                return None;
            }
            self.bin_all();
        }
        self.take_binned(envelope)
    }

    /// Withdraws receive `id`; whether it was still waiting.
    pub fn withdraw(&mut self, pattern: &Pattern, id: u32) -> bool {
        if self.plain.len() > SEARCH_ENTRIES_MAX {
            self.bin_all();
        }
        if self.binned == 0 {
            let found = self.plain.iter().position(|&(_, other)| other == id);
            return found.and_then(|at| self.plain.remove(at)).is_some();
        }
        let waiting = self.nodes.get(id as usize).is_some_and(|node| node.stamp != 0);
        if waiting {
            self.unhook(pattern, id);
        }
        waiting
    }

    #[cold]
    fn bin_all(&mut self) {
        for (pattern, id) in std::mem::take(&mut self.plain) {
            self.hook(pattern, id);
        }
    }

    fn hook(&mut self, pattern: Pattern, id: u32) {
        let index = id as usize;
        if self.nodes.len() <= index {
            let free = Node { pattern, stamp: 0, link: Link::FREE };
            self.nodes.resize(index + 1, free);
        }
        self.stamp += 1;
        self.nodes[index] = Node { pattern, stamp: self.stamp, link: Link::FREE };
        let nodes = &mut self.nodes;
        self.chains.push(pattern, id, |node, edit| edit(&mut nodes[node as usize].link));
        self.binned += 1;
        self.by_wildness[pattern.wildness()] += 1;
    }

    fn unhook(&mut self, pattern: &Pattern, id: u32) {
        let nodes = &mut self.nodes;
        self.chains.remove(pattern, id, |node, edit| edit(&mut nodes[node as usize].link));
        self.nodes[id as usize].stamp = 0;
        self.binned -= 1;
        self.by_wildness[pattern.wildness()] -= 1;
    }

    fn take_binned(&mut self, envelope: &Envelope) -> Option<u32> {
        let mut oldest = NONE;
        for wildness in 0..4 {
            if self.by_wildness[wildness] == 0 {
                continue;
            }
            let first = self.chains.first(&envelope.pattern(wildness));
            if first != NONE && (oldest == NONE || self.stamp_of(first) < self.stamp_of(oldest)) {
                oldest = first;
            }
        }
        if oldest == NONE {
            return None;
        }
        let pattern = self.nodes[oldest as usize].pattern;
        self.unhook(&pattern, oldest);
        Some(oldest)
    }

    fn stamp_of(&self, id: u32) -> u64 {
        self.nodes[id as usize].stamp
    }
}
