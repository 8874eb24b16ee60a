//! Barrier (MPI 5.0, section 6.3).

use crate::schedule::Schedule;
use crate::shape::Member;

/// Dissemination: in round k every rank signals the rank 2^k places on, so after log2(n) rounds each has heard,
/// directly or not, from all. Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", 1988.
pub fn dissemination(s: &mut Schedule, me: Member) {
    for step in doublings(me.size) {
        s.signal(me.peer(me.after(step)));
        s.await_signal(me.peer(me.before(step)));
        s.wait();
    }
}

/// The unbalanced tree of MPI on the T3D, section 3.3: half of the processes wait for a signal from the other
/// half, the same again among those that received one, until a single one is left; the release goes the
/// same way back, and the number of released processes doubles at every step.
pub fn unbalanced_tree(s: &mut Schedule, me: Member) {
    gather_signals(s, me);
    release(s, me);
}

/// The way up of the tree: once past it, rank 0 knows that all have arrived.
pub fn gather_signals(s: &mut Schedule, me: Member) {
    let tree = me.rotated(0);
    for (step, _) in tree.children().rev() {
        s.await_signal(tree.peer(tree.rank + step));
    }
    s.wait();
    if tree.rank > 0 {
        s.signal(tree.peer(tree.rank - tree.reach()));
        s.wait();
    }
}

/// The way down: rank 0 lets all go.
pub fn release(s: &mut Schedule, me: Member) {
    let tree = me.rotated(0);
    if tree.rank > 0 {
        s.await_signal(tree.peer(tree.rank - tree.reach()));
        s.wait();
    }
    for (step, _) in tree.children() {
        s.signal(tree.peer(tree.rank + step));
    }
    s.wait();
}

/// 1, 2, 4 … below `size`.
pub(crate) fn doublings(size: u32) -> impl Iterator<Item = u32> {
    (0..32).map(|bit| 1 << bit).take_while(move |step| *step < size)
}
