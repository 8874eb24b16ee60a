//! Who takes part in a collective.

use crate::nodes::Nodes;
use crate::schedule::StepPeer;

/// A communicator as one of its ranks sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommView<'a> {
    /// This process's rank in its own group.
    pub rank: u32,
    /// The size of its own group.
    pub size: u32,
    /// The size of the remote group, if this is an intercommunicator.
    pub remote: Option<u32>,
    /// Where the ranks of the own group are; `None` if all share one node, or if nobody has said.
    pub nodes: Option<&'a Nodes>,
    /// What multicasts among its ranks can do; `None` where they do not work. All ranks are told the same.
    pub multicast: Option<MulticastAbility>,
}

/// What a multicast can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MulticastAbility {
    /// Bytes of one message at most; at least 1.
    pub bytes_max: u64,
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

/// One rank of several that perform an algorithm among themselves: all of a group, those of one node, or the
/// leaders of all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// The number of this rank among them.
    pub rank: u32,
    /// How many there are.
    pub size: u32,
    /// Who they are.
    pub ranks: Ranks<'a>,
}

/// Ranks of a group, by their number among the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks<'a> {
    /// Consecutive ones from this rank on.
    From(u32),
    /// These.
    Listed(&'a [u32]),
    /// These, but instead of the one with the first number the second, a rank.
    But(&'a [u32], u32, u32),
}

impl<'a> CommView<'a> {
    /// A rank of an intracommunicator.
    pub fn intra(rank: u32, size: u32) -> Self {
        CommView { rank, size, remote: None, nodes: None, multicast: None }
    }

    /// A rank of an intercommunicator.
    pub fn inter(rank: u32, size: u32, remote: u32) -> Self {
        CommView { rank, size, remote: Some(remote), nodes: None, multicast: None }
    }

    /// The same, with its ranks on these nodes.
    pub fn on(self, nodes: &'a Nodes) -> Self {
        debug_assert_eq!(nodes.size(), self.size);
        CommView { nodes: Some(nodes), ..self }
    }

    /// The same, with multicasts of so many bytes.
    pub fn with_multicast(self, bytes_max: u64) -> Self {
        CommView { multicast: Some(MulticastAbility { bytes_max: bytes_max.max(1) }), ..self }
    }

    /// This process within the whole of its own group.
    pub fn member(&self) -> Member<'static> {
        Member::new(self.rank, self.size)
    }
}

impl Ranks<'_> {
    fn get(&self, number: u32) -> u32 {
        match *self {
            Ranks::From(first) => first + number,
            Ranks::But(_, at, instead) if number == at => instead,
            Ranks::Listed(ranks) | Ranks::But(ranks, ..) => ranks[number as usize],
        }
    }
}

impl Member<'static> {
    /// A rank of a whole group.
    pub fn new(rank: u32, size: u32) -> Self {
        Member { rank, size, ranks: Ranks::From(0) }
    }

    /// A rank of the group without its first.
    pub fn without_first(rank: u32, size: u32) -> Self {
        Member { rank: rank - 1, size: size - 1, ranks: Ranks::From(1) }
    }
}

impl<'a> Member<'a> {
    /// The member `rank`, as a peer.
    pub fn peer(&self, rank: u32) -> StepPeer {
        debug_assert!(rank < self.size);
        StepPeer::Local(self.ranks.get(rank))
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
    pub fn rotated(&self, root: u32) -> Rotated<'a> {
        Rotated { member: *self, root, rank: self.before(root) }
    }

    /// Whether their number is a power of two.
    pub fn power_of_two(&self) -> bool {
        self.size.is_power_of_two()
    }
}

/// A [`Member`] with ranks counted from a root.
#[derive(Clone, Copy, Debug)]
pub struct Rotated<'a> {
    member: Member<'a>,
    root: u32,
    /// This process's number counted from the root.
    pub rank: u32,
}

impl Rotated<'_> {
    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.member.size
    }

    /// The true rank of a number counted from the root.
    pub fn actual(&self, rank: u32) -> u32 {
        add_modulo(rank, self.root, self.member.size)
    }

    /// A number counted from the root, as a peer.
    pub fn peer(&self, rank: u32) -> StepPeer {
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

    fn children(rank: u32, size: u32) -> Vec<(u32, u32)> {
        Member::new(rank, size).rotated(0).children().collect()
    }

    #[test]
    fn binomial_children_and_subtrees() {
        assert_eq!(children(0, 6), [(4, 2), (2, 2), (1, 1)]);
        assert_eq!(children(4, 6), [(1, 1)]);
        assert_eq!(Member::new(4, 6).rotated(0).subtree(), 2);
        assert_eq!(Member::new(0, 6).rotated(0).subtree(), 6);
        assert_eq!(children(0, 1), []);
    }

    #[test]
    fn rings_wrap() {
        let me = Member::new(1, 4);
        assert_eq!((me.after(3), me.before(2), me.before(0), me.before(4)), (0, 3, 1, 1));
        assert_eq!(me.rotated(3).rank, 2);
        assert_eq!(me.rotated(3).actual(2), 1);
    }

    #[test]
    fn members_have_ranks_of_their_own() {
        let me = Member { rank: 1, size: 3, ranks: Ranks::Listed(&[2, 5, 7]) };
        assert_eq!((me.peer(0), me.peer(me.after(1))), (StepPeer::Local(2), StepPeer::Local(7)));
        let me = Member { ranks: Ranks::But(&[2, 5, 7], 1, 6), ..me };
        assert_eq!((me.peer(1), me.peer(2)), (StepPeer::Local(6), StepPeer::Local(7)));
        assert_eq!(Member::without_first(3, 4).peer(0), StepPeer::Local(1));
    }
}
