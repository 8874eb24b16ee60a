//! Scatter and scatterv (MPI 5.0, section 6.6): gather the other way round.

use crate::schedule::{Schedule, Span};
use crate::shape::{Member, Rotated};

/// The root sends to every rank.
///
/// `recv` is `None` at a root in place; `send` gives the root's block for each rank and is used only there.
pub fn linear(s: &mut Schedule, me: Member, root: u32, send: impl Fn(u32) -> Span, recv: Option<Span>) {
    if me.rank != root {
        recv.into_iter().for_each(|own| s.recv_some(me.peer(root), own));
    } else {
        for rank in (1..me.size).map(|distance| me.after(distance)) {
            s.send_some(me.peer(rank), send(rank));
        }
        recv.into_iter().for_each(|own| s.copy(send(root), own));
    }
    s.wait();
}

/// Binomial tree: each rank receives the packed blocks of its subtree in one message and passes them on.
///
/// `first` is the root's block for rank 0.
pub fn binomial(s: &mut Schedule, me: Member, root: u32, first: Span, recv: Option<Span>) {
    let tree = me.rotated(root);
    if tree.rank == 0 {
        distribute_from_root(s, tree, first);
        recv.into_iter().for_each(|own| s.copy(first.block(root), own));
        s.wait();
    } else if let Some(own) = recv.filter(|own| own.bytes() > 0) {
        distribute_subtree(s, tree, own);
    }
}

fn distribute_subtree(s: &mut Schedule, tree: Rotated, own: Span) {
    let parent = tree.peer(tree.rank - tree.reach());
    if tree.subtree() == 1 {
        s.recv(parent, own);
        s.wait();
        return;
    }
    let block_bytes = own.bytes();
    let all = s.temp_bytes(block_bytes.saturating_mul(u64::from(tree.subtree())));
    let block = Span { count: block_bytes, ..all };
    s.recv(parent, all);
    s.wait();
    for (step, subtree) in tree.children() {
        s.send(tree.peer(tree.rank + step), block.blocks(step, subtree));
    }
    s.copy(block, own);
    s.wait();
}

/// Sends the subtrees of the root's children straight from their blocks; the one subtree whose ranks wrap
/// around from the last to 0 is packed first.
fn distribute_from_root(s: &mut Schedule, tree: Rotated, first: Span) {
    if first.bytes() == 0 {
        return;
    }
    for (step, subtree) in tree.children() {
        let rank = tree.actual(step);
        let room = tree.size() - rank;
        if subtree <= room {
            s.send(tree.peer(step), first.blocks(rank, subtree));
        } else {
            let packed = s.temp_bytes(first.bytes() * u64::from(subtree));
            let block = Span { count: first.bytes(), ..packed };
            s.copy(first.blocks(rank, room), block.blocks(0, room));
            s.copy(first.blocks(0, subtree - room), block.blocks(room, subtree - room));
            s.send(tree.peer(step), packed);
        }
    }
}
