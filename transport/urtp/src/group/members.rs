//! A group's members by their indices, and their indices by rank, in little memory: most lists ascend, and most long ones
//! without a gap.

use crate::WorldRank;

#[derive(Debug)]
pub(crate) enum Members {
    /// So many ranks from the first on.
    Run { first: WorldRank, count: u32 },
    /// In ascending order.
    Ascending(Box<[WorldRank]>),
    /// In any order, and by rank with their indices.
    Any(Box<[WorldRank]>, Box<[(WorldRank, u32)]>),
}

impl Members {
    /// `None` if somebody is twice in the list.
    pub(crate) fn new(list: &[WorldRank]) -> Option<Members> {
        if list.is_sorted_by(|one, next| one.checked_add(1) == Some(*next)) {
            let first = list.first().copied().unwrap_or_default();
            return Some(Members::Run { first, count: list.len() as u32 });
        }
        if list.is_sorted_by(|one, next| one < next) {
            return Some(Members::Ascending(list.into()));
        }
        let mut by_rank: Box<[_]> = list.iter().zip(0..).map(|(rank, index)| (*rank, index)).collect();
        by_rank.sort_unstable();
        let twice = by_rank.windows(2).any(|pair| pair[0].0 == pair[1].0);
        (!twice).then(|| Members::Any(list.into(), by_rank))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Members::Run { count, .. } => *count as usize,
            Members::Ascending(list) | Members::Any(list, _) => list.len(),
        }
    }

    /// The member with this index, which must be one.
    pub(crate) fn get(&self, index: u32) -> WorldRank {
        match self {
            Members::Run { first, count } => {
                assert!(index < *count, "member {index} of {count}");
                first + index
            }
            Members::Ascending(list) | Members::Any(list, _) => list[index as usize],
        }
    }

    pub(crate) fn index_of(&self, peer: WorldRank) -> Option<u32> {
        match self {
            Members::Run { first, count } => peer.checked_sub(*first).filter(|index| index < count),
            Members::Ascending(list) => list.binary_search(&peer).ok().map(|at| at as u32),
            Members::Any(_, by_rank) => {
                let at = by_rank.binary_search_by_key(&peer, |(rank, _)| *rank).ok()?;
                Some(by_rank[at].1)
            }
        }
    }

    /// Whether this is the list.
    pub(crate) fn are(&self, list: &[WorldRank]) -> bool {
        self.len() == list.len() && list.iter().zip(0..).all(|(peer, index)| self.get(index) == *peer)
    }

    /// Memory on the heap.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Members::Run { .. } => 0,
            Members::Ascending(list) => size_of_val(&**list),
            Members::Any(list, by_rank) => size_of_val(&**list) + size_of_val(&**by_rank),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_by_index_and_by_rank_however_they_are_kept() {
        let lists: [(&[WorldRank], usize); 5] =
            [(&[5, 6, 7, 8], 0), (&[2], 0), (&[1, 2, 4, 9], 16), (&[9, 2, 4], 36), (&[u32::MAX, 0], 24)];
        for (list, bytes) in lists {
            let members = Members::new(list).expect("nobody is twice");
            assert_eq!((members.len(), members.bytes()), (list.len(), bytes), "{list:?}");
            assert!(members.are(list) && !members.are(&list[1..]) && !members.are(&[list, &[3]].concat()));
            for peer in (0..12).chain([u32::MAX]) {
                let index = list.iter().position(|member| *member == peer);
                assert_eq!(members.index_of(peer), index.map(|index| index as u32), "{peer} of {list:?}");
                assert!(index.is_none_or(|index| members.get(index as u32) == peer));
            }
        }
        assert!(!Members::new(&[1, 2, 3]).expect("a run").are(&[1, 2, 4]));
    }

    #[test]
    fn nobody_is_a_member_twice() {
        assert!(Members::new(&[3, 3]).is_none() && Members::new(&[1, 2, 1]).is_none());
    }
}
