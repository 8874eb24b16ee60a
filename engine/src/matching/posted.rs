//! Receives that wait for their message.

use super::chains::{ChainLink, Chains, NONE};
use super::fifo::Fifo;
use super::{CHAINED_PER_ENTRY, Envelope, Pattern, SEARCH_ENTRIES_MAX, chained_per_search};

/// Posted receives by pattern; each is a number of the caller's (a request's place in its slab: dense and
/// unique among those posted).
#[derive(Default, Debug)]
pub struct Posted {
    /// All receives in order, as long as a search ends soon.
    plain: Fifo<(Pattern, u32)>,
    /// Receives in the bins and in their rest. While there are any, the plain list is empty.
    sorted: usize,
    /// Most engines never need them.
    bins: Option<Box<PostedBins>>,
}

/// Receives among which searches are long.
#[derive(Default, Debug)]
struct PostedBins {
    /// Chains by pattern, and each receive's node at its number.
    chains: Chains,
    nodes: Vec<PostedNode>,
    /// Receives that are not in a chain yet, in order: all are younger than those that are.
    rest: Fifo<(Pattern, u32)>,
    /// How many of each wildness are in chains: no search for what nobody posted.
    by_wildness: [usize; 4],
    stamp: u64,
}

#[derive(Clone, Copy, Debug)]
struct PostedNode {
    pattern: Pattern,
    /// When it was posted; 0 if it is not in a chain.
    stamp: u64,
    link: ChainLink,
}

/// Where a search ended: a place in the list or in the rest, or the number of a receive in the chains.
enum PostedPlace {
    Plain(usize),
    Chained(u32),
    Rest(usize),
}

impl Posted {
    /// Receives that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.plain.len() + self.sorted
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
        if self.sorted == 0 {
            self.plain.push((pattern, id));
        } else {
            self.post_sorted(pattern, id);
        }
    }

    #[inline(never)]
    fn post_sorted(&mut self, pattern: Pattern, id: u32) {
        self.sorted += 1;
        let bins = self.bins.get_or_insert_default();
        bins.rest.push((pattern, id));
        bins.chain(CHAINED_PER_ENTRY);
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
            None if self.sorted == 0 => None,
            _ => self.take_further(*envelope),
        }
    }

    /// Whether [`Posted::take`] would answer a receive.
    pub fn has_one_for(&mut self, envelope: &Envelope) -> bool {
        self.search(*envelope).is_some()
    }

    #[inline(never)]
    fn take_further(&mut self, envelope: Envelope) -> Option<u32> {
        let found = self.search(envelope)?;
        if let PostedPlace::Plain(at) = found {
            return Some(self.plain.remove(at).1);
        }
        self.sorted -= 1;
        Some(self.bins.as_mut()?.remove(found))
    }

    #[inline]
    fn search(&mut self, envelope: Envelope) -> Option<PostedPlace> {
        if self.sorted == 0 {
            let near = self.plain.position(SEARCH_ENTRIES_MAX, |(pattern, _)| pattern.fits(&envelope));
            if near.is_some() || self.plain.len() <= SEARCH_ENTRIES_MAX {
                return near.map(PostedPlace::Plain);
            }
            self.begin_bins();
        }
        self.bins.as_mut()?.search(&envelope)
    }

    /// Withdraws receive `id`; whether it was still waiting.
    pub fn withdraw(&mut self, pattern: &Pattern, id: u32) -> bool {
        if self.plain.len() > SEARCH_ENTRIES_MAX {
            self.begin_bins();
        }
        if self.sorted == 0 {
            let found = self.plain.position(usize::MAX, |&(_, other)| other == id);
            return found.map(|at| self.plain.remove(at)).is_some();
        }
        let was_waiting = self.bins.as_mut().is_some_and(|bins| bins.withdraw(pattern, id));
        self.sorted -= usize::from(was_waiting);
        was_waiting
    }

    /// From now on there are bins, though nothing is in a chain yet.
    #[cold]
    fn begin_bins(&mut self) {
        self.sorted = self.plain.len();
        let bins = self.bins.get_or_insert_default();
        std::mem::swap(&mut self.plain, &mut bins.rest);
        // Memory is asked for at once: to let it grow would copy it.
        bins.chains.reserve(self.sorted);
        bins.nodes.reserve(self.sorted.saturating_sub(bins.nodes.len()));
    }
}

impl PostedBins {
    /// Where the oldest receive is that fits. What follows in the rest is looked at one by one.
    fn search(&mut self, envelope: &Envelope) -> Option<PostedPlace> {
        self.chain_for_search();
        if let Some(id) = self.oldest_chained(envelope) {
            return Some(PostedPlace::Chained(id));
        }
        self.rest.position(usize::MAX, |(pattern, _)| pattern.fits(envelope)).map(PostedPlace::Rest)
    }

    fn remove(&mut self, found: PostedPlace) -> u32 {
        match found {
            PostedPlace::Plain(at) | PostedPlace::Rest(at) => self.rest.remove(at).1,
            PostedPlace::Chained(id) => {
                let pattern = self.nodes[id as usize].pattern;
                self.unhook(&pattern, id);
                id
            }
        }
    }

    fn withdraw(&mut self, pattern: &Pattern, id: u32) -> bool {
        self.chain_for_search();
        if self.nodes.get(id as usize).is_some_and(|node| node.stamp != 0) {
            self.unhook(pattern, id);
            return true;
        }
        let found = self.rest.position(usize::MAX, |&(_, other)| other == id);
        found.map(|at| self.rest.remove(at)).is_some()
    }

    fn chain_for_search(&mut self) {
        self.chain(chained_per_search(self.rest.len()));
    }

    /// Moves the oldest receives of the rest to the chains: so many, if there are.
    #[inline]
    fn chain(&mut self, most: usize) {
        for _ in 0..most {
            let Some(&(pattern, id)) = self.rest.front() else { return };
            self.rest.pop_front();
            self.hook(pattern, id);
        }
    }

    fn hook(&mut self, pattern: Pattern, id: u32) {
        let index = id as usize;
        if self.nodes.len() <= index {
            let free = PostedNode { pattern, stamp: 0, link: ChainLink::FREE };
            self.nodes.resize(index + 1, free);
        }
        self.stamp += 1;
        self.nodes[index] = PostedNode { pattern, stamp: self.stamp, link: ChainLink::FREE };
        let nodes = &mut self.nodes;
        self.chains.push(pattern, id, |node, edit| edit(&mut nodes[node as usize].link));
        self.by_wildness[pattern.wildness()] += 1;
    }

    fn unhook(&mut self, pattern: &Pattern, id: u32) {
        let nodes = &mut self.nodes;
        self.chains.remove(pattern, id, |node, edit| edit(&mut nodes[node as usize].link));
        self.nodes[id as usize].stamp = 0;
        self.by_wildness[pattern.wildness()] -= 1;
    }

    fn oldest_chained(&self, envelope: &Envelope) -> Option<u32> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const RECEIVES: u32 = 16_384;

    fn pattern(id: u32) -> Pattern {
        Pattern { context: 1, source: 0, tag: id as i32 }
    }

    fn envelope(id: u32) -> Envelope {
        Envelope { context: 1, source: 0, tag: id as i32 }
    }

    fn many() -> Posted {
        let mut posted = Posted::default();
        (0..RECEIVES).for_each(|id| posted.post(pattern(id), id));
        posted
    }

    /// Receives that an action puts into chains. A stamp is given to each.
    fn binned_by(posted: &mut Posted, action: impl FnOnce(&mut Posted)) -> u64 {
        let stamp = |posted: &Posted| posted.bins.as_ref().map_or(0, |bins| bins.stamp);
        let before = stamp(posted);
        action(posted);
        stamp(posted) - before
    }

    #[test]
    fn no_search_among_many_receives_bins_them_all() {
        let (mut posted, mut searches) = (many(), 0);
        // The youngest first: each search goes through all that are not in bins.
        for id in (0..RECEIVES).rev() {
            let binned = binned_by(&mut posted, |posted| assert_eq!(posted.take(&envelope(id)), Some(id)));
            assert!(binned <= 96, "search {searches} puts {binned} receives into chains");
            searches += usize::from(binned > 0);
        }
        assert!(searches < 300, "the chains are complete after {searches} searches");
        assert!(posted.is_empty());
    }

    #[test]
    fn posts_among_many_receives_bin_them_too() {
        let mut posted = many();
        assert_eq!(posted.take(&envelope(RECEIVES - 1)), Some(RECEIVES - 1));
        for id in RECEIVES..2 * RECEIVES {
            assert!(binned_by(&mut posted, |posted| posted.post(pattern(id), id)) <= 2);
        }
        assert_eq!(posted.bins.as_ref().map(|bins| bins.rest.len()), Some(0));
        assert_eq!(posted.take(&envelope(2 * RECEIVES - 1)), Some(2 * RECEIVES - 1));
    }

    #[test]
    fn no_withdrawal_from_many_receives_bins_them_all() {
        let mut posted = many();
        for id in (0..RECEIVES).rev().step_by(3) {
            let binned = binned_by(&mut posted, |posted| assert!(posted.withdraw(&pattern(id), id)));
            assert!(binned <= 96);
            assert!(!posted.withdraw(&pattern(id), id));
        }
    }

    #[test]
    fn a_few_receives_stay_a_list() {
        let mut posted = Posted::default();
        (0..SEARCH_ENTRIES_MAX as u32).for_each(|id| posted.post(pattern(id), id));
        let binned = binned_by(&mut posted, |posted| assert_eq!(posted.take(&envelope(RECEIVES)), None));
        assert_eq!((binned, posted.plain.len()), (0, SEARCH_ENTRIES_MAX));
    }
}
