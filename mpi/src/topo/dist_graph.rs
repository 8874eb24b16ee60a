//! Graphs of which every process knows its own neighbors only (MPI 5.0 sections 8.5.4 and 8.5.5).

use std::ffi::c_int;

use tern_abi::*;

use super::object::Weights;
use super::order::{self, RankOrder};
use super::{Topology, TopologyKind, hosts, length, make, members, needs, rank_below, rank_or_null};
use crate::coll::alltoall::{alltoall, alltoallv};
use crate::coll::setup::{Block, Blocks};
use crate::coll::{blocking, met_if_checked};
use crate::comm::agree::Participants;
use crate::comm::object::Comm;
use crate::core::boundary::{Array, ChoiceBuf, Handed, Out, OutArray};
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::enter;

/// The calls that have to ask the other processes.
const CREATE: &str = "MPI_Dist_graph_create";
const ADJACENT: &str = "MPI_Dist_graph_create_adjacent";

entry! {
    /// A graph of which every process names the edges that end or start at itself.
    safe fn MPI_Dist_graph_create_adjacent(
        comm_old: MPI_Comm, indegree: c_int, sources: Array<'_, c_int>, sourceweights: Array<'_, c_int>,
        outdegree: c_int, destinations: Array<'_, c_int>, destweights: Array<'_, c_int>, info: MPI_Info,
        reorder: c_int, comm_dist_graph: Result<Handed<'_, MPI_Comm>>,
    ) on comm_old {
        let size = members(comm_old)?;
        let into = Edges::of("source", indegree, sources, sourceweights, size);
        let from = Edges::of("destination", outdegree, destinations, destweights, size);
        let mine = into.and_then(|into| adjacent(into, from?));
        let order = Reordered::of(ADJACENT, comm_old, size, reorder != 0, || ends_of(mine.as_ref().ok()))?;
        let place = comm_dist_graph.as_ref().ok().copied();
        let mine = comm_dist_graph.and_then(|_| enter().hints(info)).and(mine);
        let mine = met_if_checked(ADJACENT, comm_old, mine)?;
        let made = make(comm_old, size, order.order(), |rank| Ok(order.topology(rank, mine?)))?;
        hand_out(place, made)
    }

    /// A graph of which every process names any edges.
    safe fn MPI_Dist_graph_create(
        comm_old: MPI_Comm, n: c_int, sources: Array<'_, c_int>, degrees: Array<'_, c_int>,
        destinations: Array<'_, c_int>, weights: Array<'_, c_int>, info: MPI_Info, reorder: c_int,
        comm_dist_graph: Result<Handed<'_, MPI_Comm>>,
    ) on comm_old {
        let size = members(comm_old)?;
        // Who has wrong arguments takes part without edges, so that the others do not wait for it.
        let named = named_edges(n, sources, degrees, destinations, weights, size);
        let ends = exchange(comm_old, size, named.as_deref().unwrap_or_default())?;
        let order = Reordered::of(CREATE, comm_old, size, reorder != 0, || ends.clone())?;
        let place = comm_dist_graph.as_ref().ok().copied();
        let named = comm_dist_graph.and_then(|_| enter().hints(info)).and(named);
        let named = met_if_checked(CREATE, comm_old, named)?;
        let made = make(comm_old, size, order.order(), |rank| {
            named.map(|_| order.topology(rank, gathered(&ends, weights.address() != MPI_UNWEIGHTED)))
        })?;
        hand_out(place, made)
    }

    /// How many neighbors this process has, and whether the edges have weights (section 8.5.5).
    safe fn MPI_Dist_graph_neighbors_count(
        comm: MPI_Comm, indegree: Out<'_, c_int>, outdegree: Out<'_, c_int>, weighted: Out<'_, c_int>,
    ) on comm {
        let process = enter();
        let (topology, weights) = dist_graph(process.comm(comm)?)?;
        indegree.set(topology.sources.len() as c_int);
        outdegree.set(topology.destinations.len() as c_int);
        weighted.set(weights.is_some().into());
        Ok(())
    }

    /// The neighbors of this process: as many of them as the arrays have room for.
    safe fn MPI_Dist_graph_neighbors(
        comm: MPI_Comm, maxindegree: c_int, sources: OutArray<'_, c_int>, sourceweights: OutArray<'_, c_int>,
        maxoutdegree: c_int, destinations: OutArray<'_, c_int>, destweights: OutArray<'_, c_int>,
    ) on comm {
        let process = enter();
        let (topology, weights) = dist_graph(process.comm(comm)?)?;
        let into = length("maxindegree", maxindegree, MPI_ERR_ARG)?;
        let from = length("maxoutdegree", maxoutdegree, MPI_ERR_ARG)?;
        sources.store(ranks(&topology.sources).take(into))?;
        destinations.store(ranks(&topology.destinations).take(from))?;
        let Some(weights) = weights else { return Ok(()) };
        store_weights(sourceweights, &weights.sources, into)?;
        store_weights(destweights, &weights.destinations, from)
    }
}

/// Without a place, what is made has failed before.
fn hand_out(place: Option<Handed<'_, MPI_Comm>>, made: MPI_Comm) -> Result {
    if let Some(place) = place {
        place.set(made);
    }
    Ok(())
}

/// Edges that start or end at this process.
struct Edges {
    ranks: Vec<Option<u32>>,
    weights: Option<Vec<c_int>>,
}

impl Edges {
    /// From a call's arguments.
    fn of(
        end: &str,
        degree: c_int,
        ranks: Array<'_, c_int>,
        weights: Array<'_, c_int>,
        size: u32,
    ) -> Result<Edges> {
        let degree = length(&format!("the number of {end}s"), degree, MPI_ERR_ARG)?;
        let (ranks, weights) = (ranks.of(degree)?, given_weights(weights, degree)?);
        let rank = |(index, &rank): (usize, &c_int)| rank_below(&format!("{end} {index}"), rank, size);
        let ranks: Result<Vec<u32>> = ranks.iter().enumerate().map(rank).collect();
        Ok(Edges { ranks: ranks?.into_iter().map(Some).collect(), weights: weights.map(<[_]>::to_vec) })
    }
}

/// The weights that a call gives to its edges; `None` for `MPI_UNWEIGHTED`.
fn given_weights<'a>(weights: Array<'a, c_int>, len: usize) -> Result<Option<&'a [c_int]>> {
    match weights.address() {
        MPI_UNWEIGHTED => return Ok(None),
        MPI_WEIGHTS_EMPTY if len == 0 => return Ok(Some(&[])),
        MPI_WEIGHTS_EMPTY => {
            return Err(fail(
                MPI_ERR_ARG,
                format!("the weights are MPI_WEIGHTS_EMPTY, but there are {len} edges"),
            ));
        }
        _ => {}
    }
    let weights = weights.of(len)?;
    match weights.iter().find(|weight| **weight < 0) {
        None => Ok(Some(weights)),
        Some(negative) => Err(fail(MPI_ERR_ARG, format!("a weight is {negative}, but must not be negative"))),
    }
}

fn adjacent(into: Edges, from: Edges) -> Result<Topology> {
    let weights = match (into.weights, from.weights) {
        (None, None) => None,
        (Some(sources), Some(destinations)) => Some(Weights { sources, destinations }),
        _ => {
            return Err(fail(
                MPI_ERR_ARG,
                "MPI_UNWEIGHTED is given for one of sourceweights and destweights: give it for both or none \
                 (MPI_WEIGHTS_EMPTY stands for no weights of no edges)",
            ));
        }
    };
    Ok(Topology { kind: TopologyKind::DistGraph(weights), sources: into.ranks, destinations: from.ranks })
}

/// An edge, named by a process that need not be at either end of it.
#[derive(Clone, Copy)]
struct Edge {
    source: u32,
    destination: u32,
    weight: c_int,
}

/// From the arguments of `MPI_Dist_graph_create`.
/// `sources` and `degrees` have `n` elements, the others as many as the degrees sum up to.
fn named_edges(
    n: c_int,
    sources: Array<'_, c_int>,
    degrees: Array<'_, c_int>,
    destinations: Array<'_, c_int>,
    weights: Array<'_, c_int>,
    size: u32,
) -> Result<Vec<Edge>> {
    let n = length("n", n, MPI_ERR_ARG)?;
    let (sources, degrees) = (sources.of(n)?, degrees.of(n)?);
    let mut starts = Vec::new();
    for (index, (&source, &degree)) in sources.iter().zip(degrees).enumerate() {
        let source = rank_below(&format!("sources[{index}]"), source, size)?;
        let degree = length(&format!("degrees[{index}]"), degree, MPI_ERR_ARG)?;
        starts.extend(std::iter::repeat_n(source, degree));
    }
    let (destinations, weights) = (destinations.of(starts.len())?, given_weights(weights, starts.len())?);
    let edge = |(index, (&source, &destination)): (usize, (&u32, &c_int))| {
        let destination = rank_below(&format!("destinations[{index}]"), destination, size)?;
        Ok(Edge { source, destination, weight: weights.map_or(0, |weights| weights[index]) })
    };
    starts.iter().zip(destinations).enumerate().map(edge).collect()
}

/// One end of an edge, as it travels to the process there: which end, who is at the other, and the weight.
type EdgeEnd = [c_int; 3];

/// The edge comes to the process.
const INCOMING: c_int = 0;
/// The edge starts from it.
const OUTGOING: c_int = 1;

/// Sends every edge to both of its ends. Ends come in the order of the processes that have named them, and of each in
/// its own order: of several edges between two processes, both ends have the same order.
fn exchange(comm: MPI_Comm, size: u32, edges: &[Edge]) -> Result<Vec<EdgeEnd>> {
    let mut out: Vec<Vec<EdgeEnd>> = vec![Vec::new(); size as usize];
    for edge in edges {
        out[edge.source as usize].push([OUTGOING, edge.destination as c_int, edge.weight]);
        out[edge.destination as usize].push([INCOMING, edge.source as c_int, edge.weight]);
    }
    let counts: Vec<i64> = out.iter().map(|ends| ends.len() as i64 * 3).collect();
    let mut expected = vec![0i64; counts.len()];
    // SAFETY: both arrays have an element for each process, and live until the call is complete.
    let memory = |start| unsafe { ChoiceBuf::of_memory(start) };
    let send = Block::of(memory(counts.as_ptr().cast()), 1i64, MPI_INT64_T);
    let recv = Block::of(memory(expected.as_mut_ptr().cast()), 1i64, MPI_INT64_T);
    blocking(CREATE, comm, |setup| alltoall(setup, send, recv))?;
    let out: Vec<EdgeEnd> = out.concat();
    let mut ends: Vec<EdgeEnd> = vec![[0; 3]; expected.iter().sum::<i64>() as usize / 3];
    let places = (starts(&counts), starts(&expected));
    // SAFETY: the arrays hold what the counts say, and live until the call is complete.
    let memory = |start| unsafe { ChoiceBuf::of_memory(start) };
    let send = blocks(memory(out.as_ptr().cast()), &counts, &places.0);
    let recv = blocks(memory(ends.as_mut_ptr().cast()), &expected, &places.1);
    blocking(CREATE, comm, |setup| alltoallv(setup, send, recv))?;
    Ok(ends)
}

fn blocks<'a>(buf: ChoiceBuf, counts: &'a [i64], displs: &'a [isize]) -> Blocks<'a> {
    Blocks::of(buf, Array::from(counts), Array::from(displs), MPI_INT)
}

/// Where blocks of these lengths start when one follows the other.
fn starts(counts: &[i64]) -> Vec<isize> {
    let next = |end: &mut isize, count: &i64| Some(std::mem::replace(end, *end + *count as isize));
    counts.iter().scan(0, next).collect()
}

/// The topology of a process from the ends of its edges.
fn gathered(ends: &[EdgeEnd], weighted: bool) -> Topology {
    let of = |which: c_int| ends.iter().filter(move |[end, ..]| *end == which);
    let ranks = |which| of(which).map(|&[_, rank, _]| Some(rank as u32)).collect();
    let weights = |which| of(which).map(|&[_, _, weight]| weight).collect();
    let both = || Weights { sources: weights(INCOMING), destinations: weights(OUTGOING) };
    let kind = TopologyKind::DistGraph(weighted.then(both));
    Topology { kind, sources: ranks(INCOMING), destinations: ranks(OUTGOING) }
}

/// What a topology of this process says, in the form in which it travels.
fn ends_of(topology: Option<&Topology>) -> Vec<EdgeEnd> {
    let Some(Topology { kind: TopologyKind::DistGraph(weights), sources, destinations }) = topology else {
        return vec![];
    };
    let side = |which: c_int, ranks: &[Option<u32>], weights: Option<&Vec<c_int>>| -> Vec<EdgeEnd> {
        let weight = |index: usize| weights.map_or(0, |weights| weights[index]);
        ranks.iter().enumerate().map(|(index, &rank)| [which, rank_or_null(rank), weight(index)]).collect()
    };
    let into = side(INCOMING, sources, weights.as_ref().map(|weights| &weights.sources));
    [into, side(OUTGOING, destinations, weights.as_ref().map(|weights| &weights.destinations))].concat()
}

/// A graph whose nodes may go to other processes than those that have named their edges. On several hosts all
/// processes learn the whole graph; otherwise nobody asks, and everybody keeps its rank.
struct Reordered(Option<(RankOrder, Vec<Vec<EdgeEnd>>)>);

impl Reordered {
    fn of(
        call: &'static str,
        comm: MPI_Comm,
        size: u32,
        reorder: bool,
        mine: impl FnOnce() -> Vec<EdgeEnd>,
    ) -> Result<Reordered> {
        let Some(hosts) = hosts(comm, size, reorder)? else { return Ok(Reordered(None)) };
        let participants = Participants::local(call, enter().comm(comm)?);
        let bytes: Vec<u8> = mine().into_flattened().into_iter().flat_map(c_int::to_ne_bytes).collect();
        let all = participants.allgather_any_length(&bytes)?;
        let graph: Vec<Vec<EdgeEnd>> = all.iter().map(|bytes| read_ends(bytes, size)).collect();
        // Edges without weights have the weight 0 here, and every edge counts.
        let near = |&[_, other, weight]: &EdgeEnd| (other as u32, 1 + u64::from(weight.unsigned_abs()));
        let neighbors: Vec<Vec<_>> = graph.iter().map(|ends| ends.iter().map(near).collect()).collect();
        Ok(Reordered(order::of_graph(&neighbors, &hosts).map(|order| (order, graph))))
    }

    fn order(&self) -> Option<RankOrder> {
        self.0.as_ref().map(|(order, _)| order.clone())
    }

    /// The topology of a node: `mine`, if nodes stay with who has named their edges.
    fn topology(&self, rank: u32, mine: Topology) -> Topology {
        let weighted = matches!(mine.kind, TopologyKind::DistGraph(Some(_)));
        match &self.0 {
            Some((_, graph)) => gathered(&graph[rank as usize], weighted),
            None => mine,
        }
    }
}

/// The edges of a node as they came over the network, without those that name no process.
fn read_ends(bytes: &[u8], size: u32) -> Vec<EdgeEnd> {
    let number = |at: &[u8]| c_int::from_ne_bytes(at.try_into().expect("four bytes"));
    let numbers: Vec<c_int> = bytes.chunks_exact(4).map(number).collect();
    let ends = numbers.chunks_exact(3).map(|end| [end[0], end[1], end[2]]);
    ends.filter(|&[_, other, _]| u32::try_from(other).is_ok_and(|other| other < size)).collect()
}

/// The distributed graph of a communicator.
fn dist_graph(comm: &Comm) -> Result<(&Topology, Option<&Weights>)> {
    match comm.topology.as_deref() {
        Some(topology @ Topology { kind: TopologyKind::DistGraph(weights), .. }) => {
            Ok((topology, weights.as_ref()))
        }
        _ => Err(needs("a distributed graph topology", "MPI_Dist_graph_create", comm)),
    }
}

fn ranks(neighbors: &[Option<u32>]) -> impl Iterator<Item = c_int> {
    neighbors.iter().map(|&rank| rank_or_null(rank))
}

/// Weights are not asked for where `MPI_UNWEIGHTED` or `MPI_WEIGHTS_EMPTY` stands.
fn store_weights(to: OutArray<'_, c_int>, weights: &[c_int], max: usize) -> Result {
    if [MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY].contains(&to.address()) {
        return Ok(());
    }
    to.store(weights.iter().copied().take(max))
}
