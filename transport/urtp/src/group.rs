//! Groups: member lists that multicasts name.
//!
//! Numbers belong to pairs of ranks, not to groups, so a group is only a way to address: communicators with the same members
//! are one group, its number follows from the list, and nobody has to agree on it. The link maps it on one of
//! [`ADDRESSES`](crate::limits::ADDRESSES) addresses, so a rank hears multicasts that are not for it, and drops them. A rank that
//! does not know the group yet, or no more (`groups.rs`), gets what it lacks point-to-point.

mod members;

use crate::limits::{DIRECT_MEMBERS_MAX, FAN_IN, MEMBERS_MAX};
use crate::{Nanos, WorldRank};
pub(crate) use members::Members;

/// What a link calls a group: 31 bits that follow from its members.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct GroupId(pub u32);

/// What an endpoint calls a group that it knows: its place, and which of those that have had the place it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct GroupIndex {
    pub(crate) place: u32,
    pub(crate) generation: u32,
}

/// A group in which this rank is.
#[derive(Debug)]
pub(crate) struct JoinedGroup {
    pub(crate) id: GroupId,
    pub(crate) check: u32,
    pub(crate) members: Members,
    /// This rank's index.
    pub(crate) me: u32,
    /// The slowest member's pace and the smallest window, as of lately.
    pub(crate) rate: u64,
    pub(crate) window: u32,
    pub(crate) fresh_until: Nanos,
    /// Multicasts since the last that ended a block.
    pub(crate) since_block: u32,
}

impl JoinedGroup {
    /// `None` unless `me` is a member, and nobody is twice.
    pub(crate) fn new(members: &[WorldRank], me: WorldRank) -> Option<JoinedGroup> {
        if members.len() > MEMBERS_MAX {
            return None;
        }
        let (id, check) = name(members);
        let members = Members::new(members)?;
        let me = members.index_of(me)?;
        Some(JoinedGroup { id, check, members, me, rate: 0, window: 0, fresh_until: 0, since_block: 0 })
    }

    pub(crate) fn index_of(&self, peer: WorldRank) -> Option<u32> {
        self.members.index_of(peer)
    }

    pub(crate) fn member(&self, index: u32) -> WorldRank {
        self.members.get(index)
    }

    /// Memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<JoinedGroup>() + self.members.bytes()
    }

    /// Whether acknowledgements go along a tree.
    pub(crate) fn is_large(&self) -> bool {
        self.members.len() > DIRECT_MEMBERS_MAX
    }

    /// To which member one reports what it has of `root`'s packets. Members are counted from the root on: the member at place
    /// r reports to the one at (r - 1) / [`FAN_IN`].
    pub(crate) fn parent(&self, index: u32, root: u32) -> u32 {
        let n = self.members.len() as u32;
        let place = (index + n - root) % n;
        (place.saturating_sub(1) / FAN_IN as u32 + root) % n
    }

    /// Members whose reports come together at one, itself among them.
    pub(crate) fn subtree(&self, index: u32, root: u32) -> u32 {
        let (n, fan) = (self.members.len() as u64, FAN_IN as u64);
        let (mut first, mut last) = (u64::from(index + n as u32 - root) % n, 0);
        last += first;
        let mut members = 0;
        while first < n {
            members += last.min(n - 1) + 1 - first;
            (first, last) = (first * fan + 1, last * fan + fan);
        }
        members as u32
    }
}

/// The number of a list, and its check (FNV-1a, 64 bits, mixed at the end).
pub(crate) fn name(members: &[WorldRank]) -> (GroupId, u32) {
    let bytes = members.iter().flat_map(|rank| rank.to_le_bytes());
    let hash = bytes
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
    let hash = (hash ^ (hash >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let hash = hash ^ (hash >> 32);
    (GroupId(hash as u32 >> 1), (hash >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_holds_every_member_once() {
        for n in [1u32, 2, 9, 17, 64, 73, 74, 1024] {
            let members: Vec<_> = (0..n).collect();
            let group = JoinedGroup::new(&members, 0).expect("a group");
            for root in [0, n / 3, n - 1] {
                assert_eq!(group.subtree(root, root), n);
                let children = |index| (0..n).filter(move |i| *i != root).filter(move |i| *i != index);
                for index in [root, 0, n / 2] {
                    let below = children(index).filter(|i| group.parent(*i, root) == index);
                    let sum: u32 = below.map(|i| group.subtree(i, root)).sum();
                    assert_eq!(group.subtree(index, root), 1 + sum, "{n} members, {index} below {root}");
                }
            }
        }
    }

    #[test]
    fn only_lists_of_different_members_with_this_rank_are_groups() {
        assert!(JoinedGroup::new(&[3, 1, 3], 3).is_none());
        assert!(JoinedGroup::new(&[3, 1], 2).is_none());
        let group = JoinedGroup::new(&[9, 4, 7], 4).expect("a group");
        assert_eq!((group.me, group.index_of(7), group.index_of(5)), (1, Some(2), None));
        assert_ne!(group.id, JoinedGroup::new(&[4, 9, 7], 4).expect("another group").id);
    }
}
