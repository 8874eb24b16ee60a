//! The neighborhood collectives on grids and graphs, at all ranks, against the definition.

mod common;

use common::case::Case;
use common::{Lists, Rank, check, data, in_recv, shape, sum, values};
use tern_coll::{CollectiveCall, CommView, Neighbors, Pairing, Ty};

/// The neighbors of one rank, and where the block in each of its receive slots comes from.
#[derive(Clone, Debug, Default)]
struct Node {
    sources: Vec<Option<u32>>,
    destinations: Vec<Option<u32>>,
    /// Rank and send slot, for each receive slot.
    origins: Vec<Option<(u32, u32)>>,
}

#[derive(Clone, Debug)]
struct Topology {
    nodes: Vec<Node>,
    pairing: Pairing,
}

impl Topology {
    fn around(&self, rank: u32) -> Neighbors<'_> {
        let node = &self.nodes[rank as usize];
        Neighbors { sources: &node.sources, destinations: &node.destinations, pairing: self.pairing }
    }

    fn ranks<'a>(&'a self, rank: impl FnMut(u32) -> Rank<'a>) -> Vec<Rank<'a>> {
        (0..self.nodes.len() as u32).map(rank).collect()
    }

    /// The sender and slot of each block that a rank receives.
    fn arrivals(&self, rank: u32) -> impl Iterator<Item = (u32, u32, u32)> {
        let origins = (0..).zip(&self.nodes[rank as usize].origins);
        origins.filter_map(|(slot, origin)| origin.map(|(source, sent)| (slot, source, sent)))
    }

    /// The slots from which a rank sends.
    fn departures(&self, rank: u32) -> impl Iterator<Item = u32> {
        let destinations = (0..).zip(&self.nodes[rank as usize].destinations);
        destinations.filter_map(|(slot, destination)| destination.map(|_| slot))
    }
}

/// A grid by the definition: in each dimension the neighbor at −1, then the one at +1 (section 8.6). What arrives in
/// the slot of one direction was sent in the other.
fn grid(dims: &[(u32, bool)]) -> Topology {
    let size: u32 = dims.iter().map(|(length, _)| length).product();
    let node = |rank: u32| {
        let mut node = Node::default();
        let mut stride = size;
        for (dimension, &(length, periodic)) in (0..).zip(dims) {
            stride /= length;
            let place = i64::from(rank / stride % length);
            for (slot, step) in [(2 * dimension, -1), (2 * dimension + 1, 1)] {
                let inside = periodic || (0..i64::from(length)).contains(&(place + step));
                let there = (place + step).rem_euclid(i64::from(length)) - place;
                let neighbor = inside.then_some((i64::from(rank) + there * i64::from(stride)) as u32);
                node.sources.push(neighbor);
                node.destinations.push(neighbor);
                node.origins.push(neighbor.map(|neighbor| (neighbor, slot ^ 1)));
            }
        }
        node
    };
    Topology { nodes: (0..size).map(node).collect(), pairing: Pairing::Opposite }
}

/// A graph by its edges, in the order in which each end lists them.
fn graph(size: u32, edges: impl IntoIterator<Item = (u32, u32)>) -> Topology {
    let mut nodes = vec![Node::default(); size as usize];
    for (from, to) in edges {
        let sender = &mut nodes[from as usize];
        let slot = sender.destinations.len() as u32;
        sender.destinations.push(Some(to));
        let receiver = &mut nodes[to as usize];
        receiver.sources.push(Some(from));
        receiver.origins.push(Some((from, slot)));
    }
    Topology { nodes, pairing: Pairing::InOrder }
}

fn topologies() -> Vec<Topology> {
    let lengths = [(1, true), (2, true), (3, true), (1, false), (2, false), (4, false)];
    let lines = lengths.iter().map(|&length| grid(&[length]));
    let planes = lengths.iter().flat_map(|&one| lengths.iter().map(move |&two| grid(&[one, two])));
    let others = [
        grid(&[]),
        grid(&[(2, true), (3, false), (2, true)]),
        grid(&[(1, true), (1, true), (3, true)]),
        graph(3, []),
        graph(1, [(0, 0), (0, 0), (0, 0)]),
        graph(5, (1..5).map(|rank| (0, rank))),
        graph(4, [(0, 1), (2, 1), (0, 1), (1, 1), (3, 0), (0, 1), (1, 3), (1, 1)]),
        random_graph(9, 40),
        random_graph(17, 200),
    ];
    lines.chain(planes).chain(others).collect()
}

fn random_graph(size: u32, edges: u32) -> Topology {
    let mut state = u64::from(size);
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % size
    };
    let edges: Vec<_> = (0..edges).map(|_| (random(), random())).collect();
    graph(size, edges)
}

fn member<'a>(topology: &Topology, rank: u32, call: CollectiveCall<'a>) -> Rank<'a> {
    let comm = CommView::intra(rank, topology.nodes.len() as u32);
    Rank::new(0, comm, call).ty(Ty::Send, shape(rank)).ty(Ty::Recv, shape(rank / 2 + 1))
}

/// Elements that a rank sends from a slot in a v or w call; some none.
fn traffic(rank: u32, slot: u32) -> u64 {
    u64::from((rank * 3 + slot * 5) % 4)
}

#[test]
fn allgather() {
    for (topology, elements) in each([0, 1, 5]) {
        let ranks = topology.ranks(|rank| {
            let (send, recv) = (data(&shape(rank), elements), data(&shape(rank / 2 + 1), elements));
            let call = CollectiveCall::NeighborAllgather { around: topology.around(rank), send, recv };
            let member = member(&topology, rank, call).sends(send.in_send(), values(rank, 0, elements));
            topology.arrivals(rank).fold(member, |member, (slot, source, _)| {
                member.expects(in_recv(recv).block(slot), values(source, 0, elements))
            })
        });
        check(&ranks, &Case::table(), sum, elements);
    }
}

#[test]
fn allgatherv() {
    for (topology, wide) in each([false, true]) {
        let lists: Vec<Lists> = (0..topology.nodes.len() as u32)
            .map(|rank| {
                let sources = &topology.nodes[rank as usize].sources;
                let elements = sources.iter().map(|source| source.map_or(0, |source| traffic(source, 0)));
                Lists::new(elements.collect(), &shape(rank / 2 + 1), wide)
            })
            .collect();
        let ranks = topology.ranks(|rank| {
            let send = data(&shape(rank), traffic(rank, 0));
            let recv = lists[rank as usize].vector(wide);
            let call = CollectiveCall::NeighborAllgatherv { around: topology.around(rank), send, recv };
            let own = values(rank, 0, traffic(rank, 0));
            let member = member(&topology, rank, call).sends(send.in_send(), own);
            topology.arrivals(rank).fold(member, |member, (slot, source, _)| {
                member.expects(recv.in_recv(slot), values(source, 0, traffic(source, 0)))
            })
        });
        check(&ranks, &Case::table(), sum, 3);
    }
}

#[test]
fn alltoall() {
    for (topology, elements) in each([0, 1, 5]) {
        let ranks = topology.ranks(|rank| {
            let (send, recv) = (data(&shape(rank), elements), data(&shape(rank / 2 + 1), elements));
            let call = CollectiveCall::NeighborAlltoall { around: topology.around(rank), send, recv };
            let member = member(&topology, rank, call);
            let member = topology.departures(rank).fold(member, |member, slot| {
                member.sends(send.in_send().block(slot), values(rank, slot, elements))
            });
            topology.arrivals(rank).fold(member, |member, (slot, source, sent)| {
                member.expects(in_recv(recv).block(slot), values(source, sent, elements))
            })
        });
        check(&ranks, &Case::table(), sum, elements);
    }
}

#[test]
fn alltoallv() {
    for (topology, wide) in each([false, true]) {
        let lists = both_lists(&topology, |rank, elements, side| {
            Lists::new(elements, &shape(if side == Ty::Send { rank } else { rank / 2 + 1 }), wide)
        });
        let ranks = topology.ranks(|rank| {
            let (out, back) = &lists[rank as usize];
            let (send, recv) = (out.vector(wide), back.vector(wide));
            let call = CollectiveCall::NeighborAlltoallv { around: topology.around(rank), send, recv };
            exchanged(&topology, rank, member(&topology, rank, call))
        });
        check(&ranks, &Case::table(), sum, 5);
    }
}

#[test]
fn alltoallw() {
    for (topology, wide) in each([false, true]) {
        let lists = both_lists(&topology, |rank, elements, _| Lists::typed(elements, rank, wide));
        let ranks = topology.ranks(|rank| {
            let (out, back) = &lists[rank as usize];
            let (send, recv) = (out.typed_vector(wide), back.typed_vector(wide));
            let call = CollectiveCall::NeighborAlltoallw { around: topology.around(rank), send, recv };
            let mut member = member(&topology, rank, call);
            for (slot, shape) in (0..).zip(&out.shapes) {
                member = member.ty(Ty::SendTo(slot), shape.clone());
            }
            for (slot, shape) in (0..).zip(&back.shapes) {
                member = member.ty(Ty::RecvFrom(slot), shape.clone());
            }
            exchanged(&topology, rank, member)
        });
        check(&ranks, &Case::table(), sum, 7);
    }
}

fn each<T: Copy, const N: usize>(choices: [T; N]) -> impl Iterator<Item = (Topology, T)> {
    topologies().into_iter().flat_map(move |topology| choices.map(|choice| (topology.clone(), choice)))
}

/// What every rank sends and receives in a v or w call.
fn both_lists(topology: &Topology, list: impl Fn(u32, Vec<u64>, Ty) -> Lists) -> Vec<(Lists, Lists)> {
    let lists = |rank: u32| {
        let node = &topology.nodes[rank as usize];
        let out = (0..node.destinations.len() as u32).map(|slot| traffic(rank, slot)).collect();
        let back = node.origins.iter().map(|origin| origin.map_or(0, |(source, sent)| traffic(source, sent)));
        (list(rank, out, Ty::Send), list(rank, back.collect(), Ty::Recv))
    };
    (0..topology.nodes.len() as u32).map(lists).collect()
}

/// The buffers of a v or w call.
fn exchanged<'a>(topology: &Topology, rank: u32, mut member: Rank<'a>) -> Rank<'a> {
    let (CollectiveCall::NeighborAlltoallv { send, recv, .. }
    | CollectiveCall::NeighborAlltoallw { send, recv, .. }) = member.call
    else {
        panic!("a v or w call");
    };
    for slot in topology.departures(rank) {
        member = member.sends(send.in_send(slot), values(rank, slot, traffic(rank, slot)));
    }
    for (slot, source, sent) in topology.arrivals(rank) {
        member = member.expects(recv.in_recv(slot), values(source, sent, traffic(source, sent)));
    }
    member
}
