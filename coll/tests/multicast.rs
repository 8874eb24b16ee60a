//! What algorithms by multicast put on the wire, and how much may come early to a rank that is late: the bound that each
//! states, reached and never exceeded.

mod common;

use std::sync::Arc;

use common::case::Case;
use common::{Rank, data, in_recv, shape, sum, values};
use tern_coll::interp::{self, CollectiveTraffic, UnexpectedTraffic};
use tern_coll::limits::{
    MULTICAST_EXCHANGE_BYTES, MULTICAST_FAN_IN, MULTICAST_PACK_BYTES, MULTICAST_SEGMENTS_AHEAD,
    MULTICAST_SENDERS_MIN, MULTICAST_TURN_BYTES,
};
use tern_coll::{Algorithm, Choice, CollectiveCall, CommView, NodeRun, Nodes, Root, Ty, TypedCount};

/// Four nodes of 1, 3, 2 and 2 ranks, and as many as there are ranks.
fn uneven() -> (Arc<Nodes>, u32) {
    nodes(&[1, 3, 2, 2])
}

fn nodes(ranks: &[u32]) -> (Arc<Nodes>, u32) {
    let runs: Vec<NodeRun> = (0..).zip(ranks).map(|(host, &ranks)| NodeRun { host, ranks }).collect();
    let nodes = Nodes::new(&runs);
    let size = nodes.size();
    (Arc::new(nodes), size)
}

fn case(nodes: &Arc<Nodes>, segment_bytes: u64) -> Case {
    let choice = Choice { segment_bytes, ..Algorithm::Multicast.into() };
    Case { multicast: Some(1 << 20), ..Case::of(choice).on(nodes) }
}

fn member<'a>(rank: u32, size: u32, call: CollectiveCall<'a>) -> Rank<'a> {
    Rank::new(0, CommView::intra(rank, size), call).ty(Ty::Send, shape(0)).ty(Ty::Recv, shape(0))
}

fn words(elements: u64) -> TypedCount {
    data(&shape(0), elements)
}

/// Runs a call in which nobody is late, and what is sent waits for its receiver.
fn traffic(ranks: &[Rank], case: &Case) -> CollectiveTraffic {
    interp::run(&mut common::parts(ranks, case), sum, 3).unwrap()
}

/// What comes early to each rank if it is late.
fn unexpected(ranks: &[Rank], case: &Case) -> Vec<UnexpectedTraffic> {
    let late = |late| interp::run_late(&mut common::parts(ranks, case), sum, 5, late).unwrap().1;
    (0..ranks.len()).map(late).collect()
}

fn messages(unexpected: &[UnexpectedTraffic]) -> Vec<u64> {
    unexpected.iter().map(|unexpected| unexpected.messages).collect()
}

fn barrier(size: u32) -> Vec<Rank<'static>> {
    (0..size).map(|rank| member(rank, size, CollectiveCall::Barrier)).collect()
}

fn bcast(size: u32, root: u32, elements: u64) -> Vec<Rank<'static>> {
    let message = values(root, 0, elements);
    let rank = |rank| {
        let call = CollectiveCall::Bcast { data: words(elements), root: Root::Rank(root) };
        let member = member(rank, size, call);
        let place = in_recv(words(elements));
        if rank == root {
            member.holds(place, message.clone())
        } else {
            member.expects(place, message.clone())
        }
    };
    (0..size).map(rank).collect()
}

fn allgather(size: u32, elements: u64) -> Vec<Rank<'static>> {
    let own = words(elements);
    let rank = |rank| {
        let call = CollectiveCall::Allgather { send: Some(own), recv: own };
        let member = member(rank, size, call).sends(own.in_send(), values(rank, 0, elements));
        (0..size)
            .fold(member, |member, from| member.expects(in_recv(own).block(from), values(from, 0, elements)))
    };
    (0..size).map(rank).collect()
}

fn scatter(size: u32, root: u32, elements: u64) -> Vec<Rank<'static>> {
    let block = words(elements);
    let rank = |rank| {
        let (send, recv) = (if rank == root { block } else { TypedCount::default() }, Some(block));
        let member = member(rank, size, CollectiveCall::Scatter { send, recv, root: Root::Rank(root) });
        let targets = if rank == root { 0..size } else { 0..0 };
        let member = targets
            .fold(member, |member, to| member.sends(block.in_send().block(to), values(root, to, elements)));
        member.expects(in_recv(block), values(root, rank, elements))
    };
    (0..size).map(rank).collect()
}

fn allreduce(size: u32, elements: u64) -> Vec<Rank<'static>> {
    let (data, operands) = (words(elements), |rank| values(rank, 0, elements));
    let total = common::fold((0..size).map(operands), sum);
    let rank = |rank| {
        let call = CollectiveCall::Allreduce { data, in_place: false, commutative: false };
        member(rank, size, call)
            .sends(data.operand(false), operands(rank))
            .expects(in_recv(data), total.clone())
    };
    (0..size).map(rank).collect()
}

#[test]
fn a_barrier_is_one_multicast_and_nothing_comes_early() {
    let (nodes, size) = uneven();
    // Up and down within nodes, up among them.
    let within = 2 * (size - nodes.count());
    let expected = u64::from(within + nodes.count() - 1 + 1);
    let (ranks, case) = (barrier(size), case(&nodes, 0));
    assert_eq!(traffic(&ranks, &case), CollectiveTraffic { messages: expected, bytes: 0 });
    assert_eq!(unexpected(&ranks, &case), vec![UnexpectedTraffic::default(); size as usize]);
}

#[test]
fn signals_go_up_a_tree_where_there_are_many_nodes() {
    let (nodes, size) = nodes(&[1; 100]);
    assert_eq!(traffic(&barrier(size), &case(&nodes, 0)).messages, u64::from(size));
    let signals = |rank| {
        let comm = CommView::intra(rank, size).on(&nodes).with_multicast(100);
        let mut schedule = tern_coll::Schedule::new();
        tern_coll::build_with(Algorithm::Multicast, &comm, &CollectiveCall::Barrier, &mut schedule);
        schedule.steps().iter().filter(|step| matches!(step, tern_coll::Step::Recv { .. })).count()
    };
    assert_eq!([0, 11, 12, 99].map(signals), [MULTICAST_FAN_IN as usize, MULTICAST_FAN_IN as usize, 3, 0]);
}

/// The wire carries each segment once; a leader that is late finds all of them.
#[test]
fn a_bcast_is_one_multicast_a_segment() {
    let (nodes, size) = uneven();
    for root in 0..size {
        let (ranks, case) = (bcast(size, root, 40), case(&nodes, 100));
        let segments = 4;
        let within = segments * u64::from(size - nodes.count());
        assert_eq!(traffic(&ranks, &case).messages, segments + within);
        let home = nodes.of(root);
        let is_other_leader = |rank: &u32| nodes.leaders().contains(rank) && nodes.of(*rank) != home;
        let expected: Vec<u64> =
            (0..size).map(|rank| if is_other_leader(&rank) { segments } else { 0 }).collect();
        assert_eq!(messages(&unexpected(&ranks, &case)), expected, "root {root}");
    }
}

#[test]
fn a_long_bcast_goes_in_batches() {
    let (nodes, size) = nodes(&[1, 2, 1]);
    let segments = 2 * MULTICAST_SEGMENTS_AHEAD + 3;
    for root in 0..size {
        common::check(&bcast(size, root, segments), &case(&nodes, 8), sum, 1);
        assert_eq!(traffic(&bcast(size, root, segments), &case(&nodes, 8)).messages, 2 * segments);
    }
}

/// Leaders before a late one, and k − 1 after it, do not wait for it; the others do.
#[test]
fn senders_of_an_allgather_take_turns() {
    let (apart, size) = nodes(&[1; 7]);
    let (segments, k) = (2, u64::from(MULTICAST_SENDERS_MIN));
    // As few at once as there may be.
    let elements = MULTICAST_TURN_BYTES / 8 / k;
    let (ranks, case) = (allgather(size, elements), case(&apart, elements * 8 / segments));
    assert_eq!(traffic(&ranks, &case).messages, segments * u64::from(size));
    let expected = (0..u64::from(size)).map(|place| segments * (place + k - 1).min(u64::from(size) - 1));
    assert_eq!(messages(&unexpected(&ranks, &case)), expected.collect::<Vec<_>>());
    // Short blocks go all at once.
    let ranks = allgather(size, 1);
    assert_eq!(messages(&unexpected(&ranks, &case)), vec![u64::from(size) - 1; size as usize]);
}

#[test]
fn nodes_of_an_allgather_send_what_all_their_ranks_have() {
    let (nodes, size) = uneven();
    let ranks = allgather(size, 3);
    let expected: Vec<u64> = (0..size).map(|rank| u64::from(nodes.leaders().contains(&rank)) * 3).collect();
    assert_eq!(messages(&unexpected(&ranks, &case(&nodes, 0))), expected);
}

#[test]
fn a_scatter_of_small_blocks_is_one_multicast() {
    let (apart, size) = nodes(&[1; 9]);
    for root in [0, 4, 8] {
        let (ranks, case) = (scatter(size, root, 5), case(&apart, 0));
        assert_eq!(traffic(&ranks, &case), CollectiveTraffic { messages: 1, bytes: 8 * 5 * 8 });
        let expected: Vec<u64> = (0..size).map(|rank| u64::from(rank != root)).collect();
        assert_eq!(messages(&unexpected(&ranks, &case)), expected);
    }
}

/// Bodies go to one node each, and the rests of several together.
#[test]
fn a_scatter_of_large_blocks_packs_their_ends() {
    let (apart, size) = nodes(&[1; 6]);
    let elements = (3 * MULTICAST_PACK_BYTES + MULTICAST_PACK_BYTES / 2) / 8;
    for root in 0..size {
        let ranks = scatter(size, root, elements);
        let case = case(&apart, 0);
        common::check(&ranks, &case, sum, 2);
        let traffic = traffic(&ranks, &case);
        // Five bodies, and five halves of a pack in three packs.
        assert_eq!((traffic.messages, traffic.bytes), (5 + 3, 5 * elements * 8));
        let unexpected = unexpected(&ranks, &case);
        assert!(
            unexpected
                .iter()
                .all(|unexpected| unexpected.bytes <= 4 * MULTICAST_PACK_BYTES && unexpected.messages <= 2)
        );
        assert_eq!(unexpected.iter().map(|unexpected| unexpected.messages).sum::<u64>(), 2 * 5);
    }
}

/// Without a rank's operand there is no result; of short vectors all get all operands.
#[test]
fn an_allreduce_exchanges_operands_or_multicasts_its_result() {
    let (nodes, size) = uneven();
    let within = 2 * (size - nodes.count());
    let short = MULTICAST_EXCHANGE_BYTES / 8 / u64::from(nodes.count());
    for (elements, among, early_most) in
        [(short, nodes.count(), nodes.count() - 1), (short + 1, nodes.count(), 0)]
    {
        let (ranks, case) = (allreduce(size, elements), case(&nodes, 0));
        common::check(&ranks, &case, sum, 4);
        assert_eq!(traffic(&ranks, &case).messages, u64::from(within + among), "{elements}");
        let expected = |rank| if nodes.leaders().contains(&rank) { early_most } else { 0 };
        let expected: Vec<u64> = (0..size).map(|rank| expected(rank).into()).collect();
        assert_eq!(messages(&unexpected(&ranks, &case)), expected, "{elements}");
    }
}
