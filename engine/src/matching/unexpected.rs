//! Messages that arrived before their receive: the unexpected-message queue of MPI-LAPI (section 4.2).

use super::chains::{ChainLink, Chains, NONE};
use super::fifo::Fifo;
use super::{CHAINED_PER_ENTRY, Envelope, Pattern, SEARCH_ENTRIES_MAX, chained_per_search};

/// Unexpected messages by envelope; each is a number of the caller's (its place in a slab: dense and unique among
/// those kept here).
#[derive(Default, Debug)]
pub struct Unexpected {
    /// All messages in order, as long as a search ends soon.
    plain: Fifo<(Envelope, u32)>,
    /// Messages in the bins and in their rest. While there are any, the plain list is empty.
    sorted: usize,
    /// Most engines never need them.
    bins: Option<Box<UnexpectedBins>>,
}

/// Messages among which searches are long.
#[derive(Default, Debug)]
struct UnexpectedBins {
    /// Every message hangs in the chain of its own envelope, and in those of the wild patterns that it fits, of each wildness
    /// that anybody has asked for.
    chains: Chains,
    nodes: Vec<UnexpectedNode>,
    /// Messages that are not in a chain yet, in order: all are younger than those that are.
    rest: Fifo<(Envelope, u32)>,
    chained: [bool; 4],
    stamp: u64,
}

#[derive(Clone, Copy, Debug)]
struct UnexpectedNode {
    envelope: Envelope,
    /// When it came; 0 if it is not in a chain.
    stamp: u64,
    links: [ChainLink; 4],
}

impl UnexpectedNode {
    const GONE: UnexpectedNode = UnexpectedNode {
        envelope: Envelope { context: 0, source: 0, tag: 0 },
        stamp: 0,
        links: [ChainLink::FREE; 4],
    };
}

/// Where a search has found a message, and its number.
#[derive(Clone, Copy)]
enum UnexpectedPlace {
    /// In the plain list, at this place.
    Plain(usize, u32),
    /// In the chains.
    Chained(u32),
    /// In the rest, at this place.
    Rest(usize, u32),
}

impl Unexpected {
    /// Messages that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.plain.len() + self.sorted
    }

    /// Whether none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps message `id`, after all that are there.
    #[inline]
    pub fn keep(&mut self, envelope: Envelope, id: u32) {
        if self.sorted == 0 {
            self.plain.push((envelope, id));
        } else {
            self.keep_sorted(envelope, id);
        }
    }

    #[inline(never)]
    fn keep_sorted(&mut self, envelope: Envelope, id: u32) {
        self.sorted += 1;
        let bins = self.bins.get_or_insert_default();
        bins.rest.push((envelope, id));
        bins.chain(CHAINED_PER_ENTRY);
    }

    /// Some of the messages, at most so many, the oldest first: for a person, so it looks at no more than it must.
    pub fn some(&self, max: usize) -> Vec<u32> {
        match &self.bins {
            Some(bins) if self.sorted > 0 => bins.some(max),
            _ => self.plain.iter().take(max).map(|&(_, id)| id).collect(),
        }
    }

    /// The message that arrived first of those that fit.
    pub fn find(&mut self, pattern: &Pattern) -> Option<u32> {
        self.search(pattern).map(|found| match found {
            UnexpectedPlace::Plain(_, id) | UnexpectedPlace::Chained(id) | UnexpectedPlace::Rest(_, id) => id,
        })
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
            None if self.sorted == 0 => None,
            _ => self.take_further(pattern),
        }
    }

    fn take_further(&mut self, pattern: &Pattern) -> Option<u32> {
        match self.search(pattern)? {
            UnexpectedPlace::Plain(at, _) => Some(self.plain.remove(at).1),
            UnexpectedPlace::Chained(id) => {
                self.remove_sorted(|bins| bins.unhook(id));
                Some(id)
            }
            UnexpectedPlace::Rest(at, id) => {
                self.remove_sorted(|bins| {
                    bins.rest.remove(at);
                });
                Some(id)
            }
        }
    }

    /// Takes message `id` out, which is here.
    pub fn withdraw(&mut self, id: u32) {
        if self.sorted == 0 {
            if let Some(at) = self.plain.position(usize::MAX, |&(_, other)| other == id) {
                self.plain.remove(at);
            }
        } else {
            self.remove_sorted(|bins| bins.withdraw(id));
        }
    }

    fn remove_sorted(&mut self, remove: impl FnOnce(&mut UnexpectedBins)) {
        let Some(bins) = &mut self.bins else { return };
        remove(bins);
        self.sorted -= 1;
        if self.sorted == 0 {
            bins.chains.clear();
            bins.chained = [false; 4];
        }
    }

    #[inline]
    fn search(&mut self, pattern: &Pattern) -> Option<UnexpectedPlace> {
        if self.sorted == 0 {
            let mut near = self.plain.iter().enumerate().take(SEARCH_ENTRIES_MAX);
            if let Some((at, &(_, id))) = near.find(|(_, (envelope, _))| pattern.fits(envelope)) {
                return Some(UnexpectedPlace::Plain(at, id));
            }
            if self.plain.len() <= SEARCH_ENTRIES_MAX {
                return None;
            }
        }
        self.search_sorted(pattern)
    }

    #[cold]
    fn search_sorted(&mut self, pattern: &Pattern) -> Option<UnexpectedPlace> {
        let bins = self.bins.get_or_insert_default();
        if self.sorted == 0 {
            self.sorted = self.plain.len();
            std::mem::swap(&mut self.plain, &mut bins.rest);
            bins.chains.reserve(self.sorted);
            bins.nodes.reserve(self.sorted.saturating_sub(bins.nodes.len()));
        }
        bins.search(pattern)
    }
}

impl UnexpectedBins {
    /// What follows in the rest is looked at one by one.
    fn search(&mut self, pattern: &Pattern) -> Option<UnexpectedPlace> {
        self.chain_wildness(pattern.wildness());
        self.chain(chained_per_search(self.rest.len()));
        match self.chains.first(pattern) {
            NONE => {
                let at = self.rest.position(usize::MAX, |(envelope, _)| pattern.fits(envelope))?;
                Some(UnexpectedPlace::Rest(at, self.rest.get(at).1))
            }
            first => Some(UnexpectedPlace::Chained(first)),
        }
    }

    fn some(&self, max: usize) -> Vec<u32> {
        let here = self.nodes.iter().zip(0u32..).filter(|(node, _)| node.stamp != 0);
        let mut in_order: Vec<(u64, u32)> = here.take(max).map(|(node, id)| (node.stamp, id)).collect();
        in_order.sort_unstable();
        let younger = self.rest.iter().map(|&(_, id)| id);
        in_order.into_iter().map(|(_, id)| id).chain(younger).take(max).collect()
    }

    fn withdraw(&mut self, id: u32) {
        if self.nodes.get(id as usize).is_some_and(|node| node.stamp != 0) {
            self.unhook(id);
        } else if let Some(at) = self.rest.position(usize::MAX, |&(_, other)| other == id) {
            self.rest.remove(at);
        }
    }

    /// Moves the oldest messages of the rest to the chains: so many, if there are.
    #[inline]
    fn chain(&mut self, most: usize) {
        for _ in 0..most {
            let Some(&(envelope, id)) = self.rest.front() else { return };
            self.rest.pop_front();
            self.hook(envelope, id);
        }
    }

    /// From now on messages also hang in the chains of this wildness: those that are in chains at once.
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
            self.nodes.resize(index + 1, UnexpectedNode::GONE);
        }
        self.stamp += 1;
        self.nodes[index] = UnexpectedNode { envelope, stamp: self.stamp, links: [ChainLink::FREE; 4] };
        for wildness in wildnesses(self.chained) {
            self.link(wildness, id);
        }
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
    }
}

/// The wildnesses of the chains that there are.
fn wildnesses(chained: [bool; 4]) -> impl Iterator<Item = usize> {
    (0..4).filter(move |&wildness| wildness == 0 || chained[wildness])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_search_among_many_messages_chains_them_all() {
        const MESSAGES: u32 = 16_384;
        let mut unexpected = Unexpected::default();
        let envelope = |id: u32| Envelope { context: 1, source: 0, tag: id as i32 };
        (0..MESSAGES).for_each(|id| unexpected.keep(envelope(id), id));
        let stamp = |unexpected: &Unexpected| unexpected.bins.as_ref().map_or(0, |bins| bins.stamp);
        // The youngest first: each search goes through all that are not in chains.
        for id in (0..MESSAGES).rev() {
            let before = stamp(&unexpected);
            assert_eq!(unexpected.take(&envelope(id).pattern(0)), Some(id));
            assert!(stamp(&unexpected) - before <= 96);
        }
        assert!(unexpected.is_empty());
    }
}
