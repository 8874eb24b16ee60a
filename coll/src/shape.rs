//! Who takes part in a collective.

use crate::schedule::Peer;

/// A communicator as one of its ranks sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comm {
    /// This process's rank in its own group.
    pub rank: u32,
    /// The size of its own group.
    pub size: u32,
    /// The size of the remote group, if this is an intercommunicator.
    pub remote: Option<u32>,
}

/// The root of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// A rank: of the group, or on an intercommunicator of the remote group.
    Rank(u32),
    /// `MPI_ROOT`: this process is the root, and the remote group takes part.
    Here,
    /// `MPI_PROC_NULL`: the root is another process of this group; nothing to do.
    Elsewhere,
}

/// One rank of a run of consecutive ranks that perform an algorithm among themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The rank within the run.
    pub rank: u32,
    /// The number of ranks in the run.
    pub size: u32,
    /// The rank in the group of the run's first.
    pub base: u32,
}

impl Comm {
    /// A rank of an intracommunicator.
    pub fn intra(rank: u32, size: u32) -> Comm {
        Comm { rank, size, remote: None }
    }

    /// A rank of an intercommunicator.
    pub fn inter(rank: u32, size: u32, remote: u32) -> Comm {
        Comm { rank, size, remote: Some(remote) }
    }

    /// This process within the whole of its own group.
    pub fn member(&self) -> Member {
        Member { rank: self.rank, size: self.size, base: 0 }
    }
}

impl Member {
    /// The rank `rank` of the run, as a peer.
    pub fn peer(&self, rank: u32) -> Peer {
        debug_assert!(rank < self.size);
        Peer::Local(self.base + rank)
    }

    /// The rank `distance` places further on, around the ring.
    pub fn after(&self, distance: u32) -> u32 {
        add_modulo(self.rank, distance % self.size, self.size)
    }

    /// The rank `distance` places back, around the ring.
    pub fn before(&self, distance: u32) -> u32 {
        self.after(self.size - distance % self.size)
    }

    /// The same ranks, renumbered so that `root` is 0. See [`Rotated`].
    pub fn rotated(&self, root: u32) -> Rotated {
        Rotated { member: *self, root, rank: self.before(root) }
    }

    /// Whether the run has a power of two of ranks.
    pub fn power_of_two(&self) -> bool {
        self.size.is_power_of_two()
    }
}

/// A [`Member`] with ranks counted from a root.
#[derive(Clone, Copy, Debug)]
pub struct Rotated {
    member: Member,
    root: u32,
    /// This process's number counted from the root.
    pub rank: u32,
}

impl Rotated {
    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.member.size
    }

    /// The true rank of a number counted from the root.
    pub fn actual(&self, rank: u32) -> u32 {
        add_modulo(rank, self.root, self.member.size)
    }

    /// A number counted from the root, as a peer.
    pub fn peer(&self, rank: u32) -> Peer {
        self.member.peer(self.actual(rank))
    }

    /// The distance to the parent in a binomial tree: the lowest set bit, and for the root the first power
    /// of two that is not below the size.
    pub fn reach(&self) -> u32 {
        if self.rank == 0 {
            self.member.size.next_power_of_two()
        } else {
            self.rank & self.rank.wrapping_neg()
        }
    }

    /// The number of ranks in this one's subtree of the binomial tree: itself and those after it.
    pub fn subtree(&self) -> u32 {
        self.reach().min(self.member.size - self.rank)
    }

    /// The distances to the children in a binomial tree, largest subtree first, with the size of each
    /// child's subtree.
    pub fn children(&self) -> impl DoubleEndedIterator<Item = (u32, u32)> + use<> {
        let (rank, size) = (self.rank, self.member.size);
        let bits = self.reach().trailing_zeros();
        (0..bits).rev().map(|bit| 1 << bit).filter_map(move |step: u32| {
            let child = rank + step;
            (child < size).then(|| (step, step.min(size - child)))
        })
    }
}

/// `(a + b) % size` for `a` and `b` below `size`, without overflow.
fn add_modulo(a: u32, b: u32, size: u32) -> u32 {
    ((u64::from(a) + u64::from(b)) % u64::from(size)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rotated(rank: u32, size: u32) -> Rotated {
        Member { rank, size, base: 0 }.rotated(0)
    }

    #[test]
    fn binomial_children_and_subtrees() {
        assert_eq!(rotated(0, 6).children().collect::<Vec<_>>(), [(4, 2), (2, 2), (1, 1)]);
        assert_eq!(rotated(4, 6).children().collect::<Vec<_>>(), [(1, 1)]);
        assert_eq!(rotated(4, 6).subtree(), 2);
        assert_eq!(rotated(0, 6).subtree(), 6);
        assert_eq!(rotated(0, 1).children().count(), 0);
    }

    #[test]
    fn rings_wrap() {
        let me = Member { rank: 1, size: 4, base: 0 };
        assert_eq!((me.after(3), me.before(2), me.before(0), me.before(4)), (0, 3, 1, 1));
        assert_eq!(me.rotated(3).rank, 2);
        assert_eq!(me.rotated(3).actual(2), 1);
    }
}
