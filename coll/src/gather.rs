//! Gather and gatherv (MPI 5.0, section 6.5).

use crate::schedule::{Schedule, Span};
use crate::shape::{Member, Rotated};

/// Every rank sends to the root.
///
/// `send` is `None` at a root in place; `recv` gives the root's block for each rank and is used only there.
pub fn linear(s: &mut Schedule, me: Member, root: u32, send: Option<Span>, recv: impl Fn(u32) -> Span) {
    if me.rank != root {
        send.into_iter().for_each(|own| s.send_some(me.peer(root), own));
    } else {
        for rank in (1..me.size).map(|distance| me.after(distance)) {
            s.recv_some(me.peer(rank), recv(rank));
        }
        send.into_iter().for_each(|own| s.copy(own, recv(root)));
    }
    s.wait();
}

/// Binomial tree: each rank collects the packed blocks of its subtree and passes them on in one message.
///
/// `first` is the root's block for rank 0.
pub fn binomial(s: &mut Schedule, me: Member, root: u32, send: Option<Span>, first: Span) {
    let tree = me.rotated(root);
    if tree.rank == 0 {
        collect_at_root(s, tree, first);
        send.into_iter().for_each(|own| s.copy(own, first.block(root)));
    } else if let Some(own) = send.filter(|own| own.bytes() > 0) {
        let packed = collect_subtree(s, tree, own);
        s.send(tree.peer(tree.rank - tree.reach()), packed);
        s.wait();
    }
}

/// The blocks of this rank's subtree, one after the other, packed where there is more than its own.
fn collect_subtree(s: &mut Schedule, tree: Rotated, own: Span) -> Span {
    if tree.subtree() == 1 {
        return own;
    }
    let block_bytes = own.bytes();
    let all = s.temp_bytes(block_bytes.saturating_mul(u64::from(tree.subtree())));
    let block = Span { count: block_bytes, ..all };
    for (step, subtree) in tree.children() {
        s.recv(tree.peer(tree.rank + step), block.blocks(step, subtree));
    }
    s.copy(own, block);
    s.wait();
    all
}

/// Receives the subtrees of the root's children straight into their blocks; the one subtree whose ranks wrap
/// around from the last to 0 lands in temporary memory first.
fn collect_at_root(s: &mut Schedule, tree: Rotated, first: Span) {
    if first.bytes() == 0 {
        return;
    }
    let mut wrapped = None;
    for (step, subtree) in tree.children() {
        let rank = tree.actual(step);
        let room = tree.size() - rank;
        if subtree <= room {
            s.recv(tree.peer(step), first.blocks(rank, subtree));
        } else {
            let packed = s.temp_bytes(first.bytes() * u64::from(subtree));
            s.recv(tree.peer(step), packed);
            wrapped = Some((packed, rank, room, subtree));
        }
    }
    s.wait();
    if let Some((packed, rank, room, subtree)) = wrapped {
        let block = Span { count: first.bytes(), ..packed };
        s.copy(block.blocks(0, room), first.blocks(rank, room));
        s.copy(block.blocks(room, subtree - room), first.blocks(0, subtree - room));
    }
}
