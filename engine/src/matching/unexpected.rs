//! Messages that arrived before their receive: the early-arrival queue of MPI-LAPI (section 4.2).

use super::chains::{Chains, Link, NONE};
use super::fifo::Fifo;
use super::{Envelope, Pattern, SEARCH_ENTRIES_MAX};

/// Early arrivals by envelope; each is a number of the caller's (its place in a slab: dense and unique among
/// those kept here).
#[derive(Default, Debug)]
pub struct Unexpected {
    /// All messages in order, as long as a search ends soon.
    plain: Fifo<(Envelope, u32)>,
    /// Otherwise every message hangs in the chain of its own envelope, and in those of the wild patterns that it fits,
    /// of each wildness that anybody has asked for.
    chains: Chains,
    nodes: Vec<Node>,
    binned: usize,
    chained: [bool; 4],
    stamp: u64,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    envelope: Envelope,
    /// When it came; 0 if it is not here.
    stamp: u64,
    links: [Link; 4],
}

impl Node {
    const GONE: Node =
        Node { envelope: Envelope { context: 0, source: 0, tag: 0 }, stamp: 0, links: [Link::FREE; 4] };
}

impl Unexpected {
    /// Messages that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.plain.len() + self.binned
    }

    /// Whether none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps message `id`, after all that are there.
    #[inline]
    pub fn keep(&mut self, envelope: Envelope, id: u32) {
        if self.binned == 0 {
            self.plain.push((envelope, id));
        } else {
            self.hook(envelope, id);
        }
    }

    /// Some of the messages, at most so many, the oldest first: for a person, so it looks at no more than it must.
    pub fn some(&self, max: usize) -> Vec<u32> {
        if self.binned == 0 {
            return self.plain.iter().take(max).map(|&(_, id)| id).collect();
        }
        let here = self.nodes.iter().zip(0u32..).filter(|(node, _)| node.stamp != 0);
        let mut in_order: Vec<(u64, u32)> = here.take(max).map(|(node, id)| (node.stamp, id)).collect();
        in_order.sort_unstable();
        in_order.into_iter().map(|(_, id)| id).collect()
    }

    /// The message that arrived first of those that fit.
    pub fn find(&mut self, pattern: &Pattern) -> Option<u32> {
        match self.search(pattern) {
            Found::Plain(_, id) => Some(id),
            Found::Binned(id) => Some(id),
            Found::Nothing => None,
        }
    }

    /// Takes the message that arrived first of those that fit.
    #[inline]
    pub fn take(&mut self, pattern: &Pattern) -> Option<u32> {
        // The first is the usual one. While there are bins, the list is empty.
        match self.plain.front() {
            Some(&(envelope, id)) if pattern.fits(&envelope) => {
                self.plain.pop_front();
                Some(id)
            }
            None if self.binned == 0 => None,
            _ => self.take_further(pattern),
        }
    }

    fn take_further(&mut self, pattern: &Pattern) -> Option<u32> {
        match self.search(pattern) {
            Found::Plain(at, _) => Some(self.plain.remove(at).1),
            Found::Binned(id) => {
                self.unhook(id);
                Some(id)
            }
            Found::Nothing => None,
        }
    }

    /// Takes message `id` out, which is here.
    pub fn withdraw(&mut self, id: u32) {
        if self.binned == 0 {
            if let Some(at) = self.plain.position(usize::MAX, |&(_, other)| other == id) {
                self.plain.remove(at);
            }
        } else {
            self.unhook(id);
        }
    }

    #[inline]
    fn search(&mut self, pattern: &Pattern) -> Found {
        if self.binned == 0 {
            let mut near = self.plain.iter().enumerate().take(SEARCH_ENTRIES_MAX);
            if let Some((at, &(_, id))) = near.find(|(_, (envelope, _))| pattern.fits(envelope)) {
                return Found::Plain(at, id);
            }
            if self.plain.len() <= SEARCH_ENTRIES_MAX {
                return Found::Nothing;
            }
        }
        self.search_binned(pattern)
    }

    #[cold]
    fn search_binned(&mut self, pattern: &Pattern) -> Found {
        for (envelope, id) in self.plain.take_all() {
            self.hook(envelope, id);
        }
        self.chain_wildness(pattern.wildness());
        match self.chains.first(pattern) {
            NONE => Found::Nothing,
            first => Found::Binned(first),
        }
    }

    /// From now on messages also hang in the chains of this wildness: those that are here at once.
    fn chain_wildness(&mut self, wildness: usize) {
        if wildness == 0 || std::mem::replace(&mut self.chained[wildness], true) {
            return;
        }
        let here = self.nodes.iter().zip(0u32..).filter(|(node, _)| node.stamp != 0);
        let mut in_order: Vec<(u64, u32)> = here.map(|(node, id)| (node.stamp, id)).collect();
        in_order.sort_unstable();
        for (_, id) in in_order {
            self.link(wildness, id);
        }
    }

    fn hook(&mut self, envelope: Envelope, id: u32) {
        let index = id as usize;
        if self.nodes.len() <= index {
            self.nodes.resize(index + 1, Node::GONE);
        }
        self.stamp += 1;
        self.nodes[index] = Node { envelope, stamp: self.stamp, links: [Link::FREE; 4] };
        for wildness in wildnesses(self.chained) {
            self.link(wildness, id);
        }
        self.binned += 1;
    }

    fn link(&mut self, wildness: usize, id: u32) {
        let nodes = &mut self.nodes;
        let key = nodes[id as usize].envelope.pattern(wildness);
        self.chains.push(key, id, |node, edit| edit(&mut nodes[node as usize].links[wildness]));
    }

    fn unhook(&mut self, id: u32) {
        let envelope = self.nodes[id as usize].envelope;
        let nodes = &mut self.nodes;
        nodes[id as usize].stamp = 0;
        for wildness in wildnesses(self.chained) {
            let key = envelope.pattern(wildness);
            self.chains.remove(&key, id, |node, edit| edit(&mut nodes[node as usize].links[wildness]));
        }
        self.binned -= 1;
        if self.binned == 0 {
            self.chains.clear();
            self.chained = [false; 4];
        }
    }
}

/// Where a search has found a message.
enum Found {
    /// In the plain list, at this place, under this number.
    Plain(usize, u32),
    /// In the bins.
    Binned(u32),
    Nothing,
}

/// The wildnesses of the chains that there are.
fn wildnesses(chained: [bool; 4]) -> impl Iterator<Item = usize> {
    (0..4).filter(move |&wildness| wildness == 0 || chained[wildness])
}
