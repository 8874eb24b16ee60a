//! Groups: ordered sets of processes (MPI 5.0 section 7.3).

use std::collections::HashMap;
use std::sync::Arc;
use tern_transport::Peer;

/// An ordered set of processes, each by its number among this process's peers. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group(GroupMembers);

#[derive(Clone, PartialEq, Eq, Debug)]
enum GroupMembers {
    /// Peers `first .. first + size`, in order: the world itself takes no memory.
    Range { first: Peer, size: u32 },
    /// Any others.
    List(Arc<[Peer]>),
}

/// How two groups compare (MPI 5.0 section 7.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// The same members in the same order.
    Ident,
    /// The same members in another order.
    Similar,
    /// Different members.
    Unequal,
}

impl Group {
    /// The group without members.
    pub const EMPTY: Group = Group(GroupMembers::Range { first: 0, size: 0 });

    /// `size` processes from `first` on.
    pub fn range(first: Peer, size: u32) -> Self {
        Group(GroupMembers::Range { first, size })
    }

    /// These processes, in this order. Each must occur once.
    pub fn of(members: Vec<Peer>) -> Self {
        let consecutive = members.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        match members.first() {
            None => Group::EMPTY,
            Some(&first) if consecutive => Group::range(first, members.len() as u32),
            Some(_) => Group(GroupMembers::List(members.into())),
        }
    }

    /// How many members.
    #[inline]
    pub fn size(&self) -> u32 {
        match &self.0 {
            GroupMembers::Range { size, .. } => *size,
            GroupMembers::List(list) => list.len() as u32,
        }
    }

    /// The process that has this rank in the group.
    #[inline]
    pub fn peer(&self, rank: u32) -> Option<Peer> {
        match &self.0 {
            GroupMembers::Range { first, size } => (rank < *size).then(|| first + rank),
            GroupMembers::List(list) => list.get(rank as usize).copied(),
        }
    }

    /// The rank of a process in the group. Takes time in proportion to the group, unless it is a range.
    pub fn rank_of(&self, peer: Peer) -> Option<u32> {
        match &self.0 {
            GroupMembers::Range { first, size } => peer.checked_sub(*first).filter(|rank| rank < size),
            GroupMembers::List(list) => {
                list.iter().position(|&member| member == peer).map(|rank| rank as u32)
            }
        }
    }

    /// The members in order.
    pub fn members(&self) -> impl Iterator<Item = Peer> + '_ {
        (0..self.size()).map(|rank| self.peer(rank).expect("a rank below the size"))
    }

    /// Compares two groups.
    pub fn compare(&self, other: &Group) -> Comparison {
        if self.size() != other.size() {
            return Comparison::Unequal;
        }
        if self.members().eq(other.members()) {
            return Comparison::Ident;
        }
        let index = other.index();
        match self.members().all(|member| index.contains_key(&member)) {
            true => Comparison::Similar,
            false => Comparison::Unequal,
        }
    }

    /// For each rank of `ranks` in this group, its rank in `other`, if it is there.
    pub fn translate(&self, ranks: impl IntoIterator<Item = u32>, other: &Group) -> Vec<Option<u32>> {
        let index = other.index();
        ranks.into_iter().map(|rank| index.get(&self.peer(rank)?).copied()).collect()
    }

    /// Members of this group, then those of `other` that are not among them.
    pub fn union(&self, other: &Group) -> Group {
        let index = self.index();
        let more = other.members().filter(|member| !index.contains_key(member));
        Group::of(self.members().chain(more).collect())
    }

    /// Members of this group that are also in `other`.
    pub fn intersection(&self, other: &Group) -> Group {
        let index = other.index();
        Group::of(self.members().filter(|member| index.contains_key(member)).collect())
    }

    /// Members of this group that are not in `other`.
    pub fn difference(&self, other: &Group) -> Group {
        let index = other.index();
        Group::of(self.members().filter(|member| !index.contains_key(member)).collect())
    }

    /// The members with these ranks, in the order of `ranks`, which must be valid and distinct.
    pub fn include(&self, ranks: impl IntoIterator<Item = u32>) -> Group {
        Group::of(ranks.into_iter().filter_map(|rank| self.peer(rank)).collect())
    }

    /// The members without these ranks, in their order.
    pub fn exclude(&self, ranks: impl IntoIterator<Item = u32>) -> Group {
        let out: std::collections::HashSet<u32> = ranks.into_iter().collect();
        let left = (0..self.size()).filter(|rank| !out.contains(rank));
        Group::of(left.filter_map(|rank| self.peer(rank)).collect())
    }

    fn index(&self) -> HashMap<Peer, u32> {
        self.members().zip(0..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(members: &[Peer]) -> Group {
        Group::of(members.to_vec())
    }

    #[test]
    fn set_operations_follow_the_standards_order() {
        let (a, b) = (group(&[3, 1, 0, 2]), group(&[5, 3, 2]));
        assert_eq!(a.union(&b), group(&[3, 1, 0, 2, 5]));
        assert_eq!(a.intersection(&b), group(&[3, 2]));
        assert_eq!(a.difference(&b), group(&[1, 0]));
        assert_eq!(a.include([2, 0]), group(&[0, 3]));
        assert_eq!(a.exclude([0]), group(&[1, 0, 2]));
        assert_eq!(a.translate([0, 1], &b), vec![Some(1), None]);
    }

    #[test]
    fn equal_members_are_identical_or_similar() {
        assert_eq!(Group::range(0, 3).compare(&group(&[0, 1, 2])), Comparison::Ident);
        assert_eq!(group(&[0, 1, 2]).compare(&group(&[2, 0, 1])), Comparison::Similar);
        assert_eq!(group(&[0, 1, 2]).compare(&group(&[0, 1, 3])), Comparison::Unequal);
        assert_eq!(Group::EMPTY.compare(&group(&[])), Comparison::Ident);
    }

    #[test]
    fn a_range_knows_its_ranks_without_a_list() {
        let range = Group::range(4, 3);
        assert_eq!((range.peer(2), range.peer(3)), (Some(6), None));
        assert_eq!((range.rank_of(4), range.rank_of(3), range.rank_of(7)), (Some(0), None, None));
    }
}
