//! Messages that arrived before their receive: the early-arrival queue of MPI-LAPI (section 4.2).

use super::chains::{Chains, Link, NONE};
use super::{Envelope, PLAIN_ENTRIES_MAX, Pattern};

/// Early arrivals by envelope; each is a number of the caller's (its place in a slab: dense and unique among
/// those kept here).
#[derive(Default, Debug)]
pub struct Unexpected {
    plain: Vec<(Envelope, u32)>,
    /// Every message hangs in four chains: its own envelope's, and those of the wild patterns that it fits.
    chains: Chains,
    nodes: Vec<Node>,
    binned: usize,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    envelope: Envelope,
    links: [Link; 4],
}

impl Unexpected {
    /// Messages that wait.
    pub fn len(&self) -> usize {
        self.plain.len() + self.binned
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps message `id`, after all that are there.
    pub fn keep(&mut self, envelope: Envelope, id: u32) {
        if self.binned == 0 && self.plain.len() < PLAIN_ENTRIES_MAX {
            self.plain.push((envelope, id));
            return;
        }
        for (envelope, id) in std::mem::take(&mut self.plain) {
            self.hook(envelope, id);
        }
        self.hook(envelope, id);
    }

    /// The message that arrived first of those that fit.
    #[inline]
    pub fn find(&self, pattern: &Pattern) -> Option<u32> {
        if self.binned == 0 {
            return self.plain.iter().find(|(envelope, _)| pattern.fits(envelope)).map(|&(_, id)| id);
        }
        let first = self.chains.first(pattern);
        (first != NONE).then_some(first)
    }

    /// Takes the message that arrived first of those that fit.
    #[inline]
    pub fn take(&mut self, pattern: &Pattern) -> Option<u32> {
        if self.binned == 0 {
            let at = self.plain.iter().position(|(envelope, _)| pattern.fits(envelope))?;
            return Some(self.plain.remove(at).1);
        }
        let id = self.find(pattern)?;
        self.unhook(id);
        Some(id)
    }

    /// Takes message `id` out, which is here.
    pub fn withdraw(&mut self, id: u32) {
        if self.binned == 0 {
            self.plain.retain(|&(_, other)| other != id);
        } else {
            self.unhook(id);
        }
    }

    fn hook(&mut self, envelope: Envelope, id: u32) {
        let index = id as usize;
        let node = Node { envelope, links: [Link::FREE; 4] };
        if self.nodes.len() <= index {
            self.nodes.resize(index + 1, node);
        }
        self.nodes[index] = node;
        let nodes = &mut self.nodes;
        for wildness in chains_of(&envelope) {
            let key = envelope.pattern(wildness);
            self.chains.push(key, id, |node, edit| edit(&mut nodes[node as usize].links[wildness]));
        }
        self.binned += 1;
    }

    fn unhook(&mut self, id: u32) {
        let envelope = self.nodes[id as usize].envelope;
        let nodes = &mut self.nodes;
        for wildness in chains_of(&envelope) {
            let key = envelope.pattern(wildness);
            self.chains.remove(&key, id, |node, edit| edit(&mut nodes[node as usize].links[wildness]));
        }
        self.binned -= 1;
        if self.binned == 0 {
            self.chains.clear();
        }
    }
}

/// The wildnesses of the chains that a message hangs in: all four, unless a hostile peer has sent a wildcard as its
/// own source or tag. Then some are the same chain, in which it must hang once.
fn chains_of(envelope: &Envelope) -> impl Iterator<Item = usize> + use<> {
    let Envelope { context, source, tag } = *envelope;
    let own = Pattern { context, source, tag }.wildness();
    (0..4).filter(move |wildness| wildness & own == own)
}
