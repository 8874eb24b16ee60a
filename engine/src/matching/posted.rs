//! Receives that wait for their message.

use super::chains::{Chains, Link, NONE};
use super::fifo::Fifo;
use super::{Envelope, Pattern, SEARCH_ENTRIES_MAX};

/// Posted receives by pattern; each is a number of the caller's (a request's place in its slab: dense and
/// unique among those posted).
#[derive(Default, Debug)]
pub struct Posted {
    /// All receives in order, as long as a search ends soon.
    plain: Fifo<(Pattern, u32)>,
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

/// Where a search ended: a place in the list, or the number of a receive in the bins.
enum Found {
    Plain(usize),
    Binned(u32),
}

impl Posted {
    /// Receives that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.plain.len() + self.binned
    }

    /// Whether none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The receive that was posted first, as long as searches end soon.
    pub(crate) fn first(&self) -> Option<&(Pattern, u32)> {
        self.plain.front()
    }

    /// Posts receive `id`, after all that are there.
    #[inline(always)]
    pub fn post(&mut self, pattern: Pattern, id: u32) {
        if self.binned == 0 {
            self.plain.push((pattern, id));
        } else {
            self.hook(pattern, id);
        }
    }

    /// Takes the receive that was posted first of those that a message with this envelope fits.
    #[inline(always)]
    pub fn take(&mut self, envelope: &Envelope) -> Option<u32> {
        // The first is the usual one. While there are bins, the list is empty.
        match self.plain.front() {
            Some(&(pattern, id)) if pattern.fits(envelope) => {
                self.plain.pop_front();
                Some(id)
            }
            None if self.binned == 0 => None,
            _ => self.take_further(*envelope),
        }
    }

    /// Whether [`Posted::take`] would answer a receive.
    pub fn has_one_for(&mut self, envelope: &Envelope) -> bool {
        self.search(*envelope).is_some()
    }

    #[inline(never)]
    fn take_further(&mut self, envelope: Envelope) -> Option<u32> {
        match self.search(envelope)? {
            Found::Plain(at) => Some(self.plain.remove(at).1),
            Found::Binned(id) => {
                let pattern = self.nodes[id as usize].pattern;
                self.unhook(&pattern, id);
                Some(id)
            }
        }
    }

    #[inline]
    fn search(&mut self, envelope: Envelope) -> Option<Found> {
        if self.binned == 0 {
            let near = self.plain.position(SEARCH_ENTRIES_MAX, |(pattern, _)| pattern.fits(&envelope));
            if near.is_some() || self.plain.len() <= SEARCH_ENTRIES_MAX {
                return near.map(Found::Plain);
            }
            self.bin_all();
        }
        self.oldest_binned(&envelope).map(Found::Binned)
    }

    /// Withdraws receive `id`; whether it was still waiting.
    pub fn withdraw(&mut self, pattern: &Pattern, id: u32) -> bool {
        if self.plain.len() > SEARCH_ENTRIES_MAX {
            self.bin_all();
        }
        if self.binned == 0 {
            let found = self.plain.position(usize::MAX, |&(_, other)| other == id);
            return found.map(|at| self.plain.remove(at)).is_some();
        }
        let waiting = self.nodes.get(id as usize).is_some_and(|node| node.stamp != 0);
        if waiting {
            self.unhook(pattern, id);
        }
        waiting
    }

    #[cold]
    fn bin_all(&mut self) {
        for (pattern, id) in self.plain.take_all() {
            self.hook(pattern, id);
        }
    }

    #[inline(never)]
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

    fn oldest_binned(&self, envelope: &Envelope) -> Option<u32> {
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
        (oldest != NONE).then_some(oldest)
    }

    fn stamp_of(&self, id: u32) -> u64 {
        self.nodes[id as usize].stamp
    }
}
