//! [`RankSet`]: some of the ranks of a shm communicator. [`Remainder`]: what the steps of a call leave.

use tern_shm::limits::SHM_COMM_RANKS_MAX;

const _: () = assert!(SHM_COMM_RANKS_MAX <= u64::BITS as usize, "a bit for each rank");

/// Some of the ranks of a shm communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RankSet(u64);

impl RankSet {
    /// Whether there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether a rank is among them.
    #[inline]
    pub fn contains(self, rank: u32) -> bool {
        self.0 & 1 << rank != 0
    }

    /// Its ranks, from the lowest.
    pub fn ranks(self) -> impl Iterator<Item = u32> {
        (0..u64::BITS).filter(move |&rank| self.contains(rank))
    }

    /// The same, from `first` on and then those before it: so that not all ranks turn to the same one at once.
    pub fn ranks_from(self, first: u32) -> impl Iterator<Item = u32> {
        (first..u64::BITS).chain(0..first).filter(move |&rank| self.contains(rank))
    }

    /// Adds one.
    #[inline]
    pub fn insert(&mut self, rank: u32) {
        self.0 |= 1 << rank;
    }

    /// Takes one away.
    #[inline]
    pub fn remove(&mut self, rank: u32) {
        self.0 &= !(1 << rank);
    }
}

impl FromIterator<u32> for RankSet {
    fn from_iter<I: IntoIterator<Item = u32>>(ranks: I) -> RankSet {
        let mut set = RankSet::default();
        ranks.into_iter().for_each(|rank| set.insert(rank));
        set
    }
}

/// Ranks with which the steps of a call leave blocks to be exchanged by messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Remainder {
    /// Which this rank has blocks for.
    pub to: RankSet,
    /// Which have blocks for this rank.
    pub from: RankSet,
}

impl Remainder {
    /// Whether nothing is left.
    #[inline]
    pub fn is_empty(self) -> bool {
        self == Remainder::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_what_was_put_in_and_not_taken_out() {
        let mut set: RankSet = [0, 5, 63].into_iter().collect();
        set.remove(5);
        assert!(set.contains(0) && set.contains(63) && !set.contains(5) && !set.contains(1));
        set.remove(0);
        set.remove(63);
        assert!(set.is_empty() && set == RankSet::default());
    }

    #[test]
    fn its_ranks_begin_anywhere() {
        let set: RankSet = [0, 5, 63].into_iter().collect();
        assert!(
            set.ranks().eq([0, 5, 63])
                && set.ranks_from(5).eq([5, 63, 0])
                && set.ranks_from(6).eq([63, 0, 5])
        );
    }
}
