//! Allgather and allgatherv (MPI 5.0, section 6.7).
//!
//! `send` is `None` in place: the own block is then in its place already. `first` is the block of rank 0 in the
//! receive buffer, the others follow.
//!
//! The own block leaves from where the program has it, and is copied to its place meanwhile. Sent from there, it
//! would have to be copied before. Each round sends before it receives: a block that came early must not hold up
//! the next rank.

use crate::barrier::doublings;
use crate::schedule::{Schedule, Span, StepPeer};
use crate::shape::Member;

/// Ring: each block travels around once, n − 1 rounds with one block each. Every rank only talks to its two
/// neighbors.
pub fn ring(s: &mut Schedule, me: Member, send: Option<Span>, block: impl Fn(u32) -> Span) {
    ring_over(s, me, |rank| me.peer(rank), send, block);
}

/// [`ring`] among ranks that `peer` names.
pub(crate) fn ring_over(
    s: &mut Schedule,
    me: Member,
    peer: impl Fn(u32) -> StepPeer,
    send: Option<Span>,
    block: impl Fn(u32) -> Span,
) {
    let own = send.unwrap_or(block(me.rank));
    for step in 1..me.size {
        s.send_some(peer(me.after(1)), if step == 1 { own } else { block(me.before(step - 1)) });
        s.recv_some(peer(me.before(1)), block(me.before(step)));
        if step == 1 {
            s.copy(own, block(me.rank));
        }
        s.wait();
    }
    if me.size == 1 {
        s.copy(own, block(me.rank));
    }
}

/// Recursive doubling, for a power of two of ranks: in round k partners at distance 2^k exchange the 2^k blocks
/// that each has.
pub fn recursive_doubling(s: &mut Schedule, me: Member, send: Option<Span>, first: Span) {
    debug_assert!(me.power_of_two());
    let place = first.block(me.rank);
    let own = send.unwrap_or(place);
    for step in doublings(me.size) {
        let partner = me.rank ^ step;
        s.send_some(
            me.peer(partner),
            if step == 1 { own } else { first.blocks(me.rank & !(step - 1), step) },
        );
        s.recv_some(me.peer(partner), first.blocks(partner & !(step - 1), step));
        if step == 1 {
            s.copy(own, place);
        }
        s.wait();
    }
    if me.size == 1 {
        s.copy(own, place);
    }
}

/// Bruck: ceil(log2(n)) rounds for any number of ranks, at the price of a copy at the end. Block i of the packed
/// temporary comes from the rank i places on. Bruck and others, "Efficient algorithms for all-to-all
/// communications in multiport message-passing systems", 1997.
pub fn bruck(s: &mut Schedule, me: Member, send: Option<Span>, first: Span) {
    let block_bytes = first.bytes();
    if block_bytes == 0 {
        return;
    }
    let all = s.temp_bytes(block_bytes.saturating_mul(u64::from(me.size)));
    let block = Span { count: block_bytes, ..all };
    s.copy(send.unwrap_or(first.block(me.rank)), block);
    for step in doublings(me.size) {
        let number = step.min(me.size - step);
        s.send(me.peer(me.before(step)), block.blocks(0, number));
        s.recv(me.peer(me.after(step)), block.blocks(step, number));
        s.wait();
    }
    let behind = me.size - me.rank;
    s.copy(block.blocks(0, behind), first.blocks(me.rank, behind));
    s.copy(block.blocks(behind, me.rank), first.blocks(0, me.rank));
}

/// The rounds of [`bruck`] over blocks in their places, which may differ in length: those that go around the end are two
/// messages. `blocks` names so many blocks from a first one on.
pub(crate) fn bruck_in_place(s: &mut Schedule, me: Member, blocks: impl Fn(u32, u32) -> Span) {
    let parts = |first: u32, number: u32| {
        let before_end = number.min(me.size - first);
        [blocks(first, before_end), blocks(0, number - before_end)]
    };
    for step in doublings(me.size) {
        let number = step.min(me.size - step);
        let (to, from) = (me.before(step), me.after(step));
        parts(me.rank, number).into_iter().for_each(|part| s.send_some(me.peer(to), part));
        parts(from, number).into_iter().for_each(|part| s.recv_some(me.peer(from), part));
        s.wait();
    }
}

/// Neighbor exchange, for an even number of ranks: n / 2 rounds, in which a rank trades the two blocks that it
/// got last with its left and right neighbor in turn. Chen and others, "Performance evaluation of allgather
/// algorithms on terascale Linux cluster with fast Ethernet", 2005.
pub fn neighbor_exchange(s: &mut Schedule, me: Member, send: Option<Span>, first: Span) {
    debug_assert!(me.size % 2 == 0);
    let place = first.block(me.rank);
    let own = send.unwrap_or(place);
    let partner = me.rank ^ 1;
    s.send_some(me.peer(partner), own);
    s.recv_some(me.peer(partner), first.block(partner));
    s.copy(own, place);
    s.wait();
    let pairs = Member::new(me.rank / 2, me.size / 2);
    let even = me.rank % 2 == 0;
    for round in 1..pairs.size {
        let (partner, mine, theirs) = exchange_round(me, pairs, even, round);
        s.send_some(me.peer(partner), first.blocks(2 * mine, 2));
        s.recv_some(me.peer(partner), first.blocks(2 * theirs, 2));
        s.wait();
    }
}

/// The partner of a round, and the pairs of blocks that go to it and come from it. Even ranks turn to the left
/// in odd rounds, and odd ranks to the right.
fn exchange_round(me: Member, pairs: Member, even: bool, round: u32) -> (u32, u32, u32) {
    let to_the_left = even == (round % 2 == 1);
    let partner = if to_the_left { me.before(1) } else { me.after(1) };
    let reach = round / 2;
    // A rank's newest pair lies on the side of its previous partner; the first is its own.
    let (mine, theirs) = if to_the_left {
        (pairs.after(reach), pairs.before(round - reach))
    } else {
        (pairs.before(reach), pairs.after(round - reach))
    };
    (partner, mine, theirs)
}
