//! Trees over which data is passed on.

use crate::schedule::{Schedule, Span, StepPeer};
use crate::shape::Rotated;

/// A tree over ranks that are numbered from its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tree {
    /// Rank r has the children r + 2^k for all 2^k below its lowest set bit; the deepest subtree comes first.
    Binomial,
    /// Rank r has the children 2r + 1 and 2r + 2.
    Binary,
    /// Rank r has the child r + 1.
    Chain,
}

impl Tree {
    /// The parent of a rank; none of the root.
    pub fn parent(self, of: &Rotated) -> Option<StepPeer> {
        let parent = match self {
            Tree::Binomial => of.rank.wrapping_sub(of.reach()),
            Tree::Binary => of.rank.saturating_sub(1) / 2,
            Tree::Chain => of.rank.wrapping_sub(1),
        };
        (of.rank > 0).then(|| of.peer(parent))
    }

    /// The children of a rank.
    pub fn children<'a>(self, of: Rotated<'a>) -> impl Iterator<Item = StepPeer> + Clone + use<'a> {
        (0..u32::BITS).filter_map(move |index| self.child(&of, index)).map(move |child| of.peer(child))
    }

    /// The child `index` of a rank, if there is one; those that exist need not follow each other.
    fn child(self, of: &Rotated, index: u32) -> Option<u32> {
        let rank = u64::from(of.rank);
        let child = match self {
            Tree::Binomial => {
                let step = 1 << (u32::BITS - 1 - index);
                (step < of.reach()).then_some(rank + u64::from(step))
            }
            Tree::Binary => (index < 2).then_some(2 * rank + 1 + u64::from(index)),
            Tree::Chain => (index == 0).then_some(rank + 1),
        };
        child.filter(|child| *child < u64::from(of.size())).map(|child| child as u32)
    }
}

/// Passes pieces on from a parent to children: see [`relay`].
pub fn pass_on(
    s: &mut Schedule,
    parent: Option<StepPeer>,
    children: impl Iterator<Item = StepPeer> + Clone,
    pieces: u64,
    piece: impl Fn(u64) -> Span,
) {
    relay(s, |s, piece| parent.into_iter().for_each(|parent| s.recv(parent, piece)), children, pieces, piece);
}

/// Passes pieces on to children: the next one is received, by `receive`, while the one before is sent.
pub fn relay(
    s: &mut Schedule,
    receive: impl Fn(&mut Schedule, Span),
    children: impl Iterator<Item = StepPeer> + Clone,
    pieces: u64,
    piece: impl Fn(u64) -> Span,
) {
    for index in 0..=pieces {
        if index < pieces {
            receive(s, piece(index));
        }
        if index > 0 {
            children.clone().for_each(|child| s.send(child, piece(index - 1)));
        }
        s.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Member;

    #[test]
    fn every_rank_but_the_root_is_a_child_of_its_parent() {
        for tree in [Tree::Binomial, Tree::Binary, Tree::Chain] {
            for (size, root) in (1..=33).flat_map(|size| [(size, 0), (size, size / 2), (size, size - 1)]) {
                let of = |rank| Member::new(rank, size).rotated(root);
                let children = |rank| tree.children(of(rank)).collect::<Vec<_>>();
                let all: usize = (0..size).map(|rank| children(rank).len()).sum();
                assert_eq!(all as u32, size - 1, "{tree:?} of {size}");
                for rank in 0..size {
                    let Some(StepPeer::Local(parent)) = tree.parent(&of(rank)) else {
                        assert_eq!(rank, root);
                        continue;
                    };
                    assert!(
                        children(parent).contains(&StepPeer::Local(rank)),
                        "{tree:?} {size} {root} {rank}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_largest_communicator_overflows_nothing() {
        for tree in [Tree::Binomial, Tree::Binary, Tree::Chain] {
            let size = i32::MAX as u32;
            let last = Member::new(size - 1, size).rotated(0);
            assert_eq!(tree.children(last).count(), 0);
            assert!(tree.parent(&last).is_some());
            assert!(tree.children(Member::new(0, size).rotated(0)).count() > 0);
        }
    }
}
