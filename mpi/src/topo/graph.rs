//! Graphs that every process knows as a whole (MPI 5.0 sections 8.5.3, 8.5.5 and 8.5.8).

use std::ffi::c_int;

use tern_abi::*;

use super::object::Graph;
use super::order::{self, RankOrder};
use super::{Topology, TopologyKind, hosts, length, make, members, needs, new_rank, rank_below, room};
use crate::check::CallRecord;
use crate::coll::meet_with;
use crate::comm::object::Comm;
use crate::core::boundary::{Array, Handed, Out, OutArray};
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::enter;

/// The call that makes a graph.
const CREATE: &str = "MPI_Graph_create";

entry! {
    /// A communicator of as many processes as the graph has nodes (section 8.5.3).
    safe fn MPI_Graph_create(
        comm_old: MPI_Comm, nnodes: c_int, indx: Array<'_, c_int>, edges: Array<'_, c_int>, reorder: c_int,
        comm_graph: Result<Handed<'_, MPI_Comm>>,
    ) on comm_old {
        let arguments = comm_graph.and_then(|comm_graph| {
            let available = members(comm_old)?;
            let graph = Graph::of(nnodes, indx, edges)?;
            Ok((comm_graph, graph.size_within(available)?, graph))
        });
        let told = |(_, _, graph): &(_, _, Graph), record: &mut CallRecord| graph.add_to_record(reorder != 0, record);
        let (comm_graph, size, graph) = meet_with(CREATE, comm_old, arguments, told)?;
        let order = graph.order(comm_old, reorder != 0)?;
        comm_graph.set(make(comm_old, size, order, |rank| Ok(graph.topology(rank)))?);
        Ok(())
    }

    /// How many nodes and edges a graph topology has (section 8.5.5).
    safe fn MPI_Graphdims_get(comm: MPI_Comm, nnodes: Out<'_, c_int>, nedges: Out<'_, c_int>) on comm {
        let process = enter();
        let graph = graph(process.comm(comm)?)?;
        nnodes.set(graph.index.len() as c_int);
        nedges.set(graph.edges.len() as c_int);
        Ok(())
    }

    /// The nodes and edges of a graph topology.
    safe fn MPI_Graph_get(
        comm: MPI_Comm, maxindex: c_int, maxedges: c_int, indx: OutArray<'_, c_int>, edges: OutArray<'_, c_int>,
    ) on comm {
        let process = enter();
        let graph = graph(process.comm(comm)?)?;
        room("maxindex", maxindex, graph.index.len())?;
        room("maxedges", maxedges, graph.edges.len())?;
        indx.store(graph.index.iter().copied())?;
        edges.store(graph.edges.iter().copied())
    }

    /// How many neighbors a process has.
    safe fn MPI_Graph_neighbors_count(comm: MPI_Comm, rank: c_int, nneighbors: Out<'_, c_int>) on comm {
        let process = enter();
        let graph = graph(process.comm(comm)?)?;
        let rank = rank_below("rank", rank, graph.index.len() as u32)?;
        nneighbors.set(graph.neighbors(rank).len() as c_int);
        Ok(())
    }

    /// The neighbors of a process, in the order of the edges.
    safe fn MPI_Graph_neighbors(comm: MPI_Comm, rank: c_int, maxneighbors: c_int, neighbors: OutArray<'_, c_int>) on comm {
        let process = enter();
        let graph = graph(process.comm(comm)?)?;
        let found = graph.neighbors(rank_below("rank", rank, graph.index.len() as u32)?);
        room("maxneighbors", maxneighbors, found.len())?;
        neighbors.store(found.iter().copied())
    }

    /// The rank that `MPI_Graph_create` would give if it may reorder (section 8.5.8).
    safe fn MPI_Graph_map(
        comm: MPI_Comm, nnodes: c_int, indx: Array<'_, c_int>, edges: Array<'_, c_int>, newrank: Out<'_, c_int>,
    ) on comm {
        let available = members(comm)?;
        let graph = Graph::of(nnodes, indx, edges)?;
        let size = graph.size_within(available)?;
        let order = graph.order(comm, true)?;
        let rank = new_rank(enter().comm(comm)?.rank, size, order.as_ref());
        newrank.set(rank.map_or(MPI_UNDEFINED, |rank| rank as c_int));
        Ok(())
    }
}

impl Graph {
    /// From a call's arguments: `index` has `nnodes` elements, and `edges` as many as the last of them says.
    fn of(nnodes: c_int, index: Array<'_, c_int>, edges: Array<'_, c_int>) -> Result<Graph> {
        let nodes = length("nnodes", nnodes, MPI_ERR_ARG)?;
        let index = index.of(nodes)?;
        let mut end = 0;
        for (node, &next) in index.iter().enumerate() {
            if next < end {
                let text =
                    format!("index[{node}] is {next}, but must not be less than {end}, where it starts");
                return Err(fail(MPI_ERR_ARG, text));
            }
            end = next;
        }
        let edges = edges.of(end as usize)?;
        for (place, &edge) in edges.iter().enumerate() {
            rank_below(&format!("edges[{place}]"), edge, nodes as u32)?;
        }
        Ok(Graph { index: index.to_vec(), edges: edges.to_vec() })
    }

    /// How many nodes it has: no more than there are processes.
    fn size_within(&self, available: u32) -> Result<u32> {
        let nodes = self.index.len() as u32;
        if nodes > available {
            let text =
                format!("the graph has {nodes} nodes, but the communicator only {available} processes");
            return Err(fail(MPI_ERR_ARG, text));
        }
        Ok(nodes)
    }

    /// What all ranks that make it have to say alike.
    fn add_to_record(&self, reorder: bool, record: &mut CallRecord) {
        let Graph { index, edges } = self;
        let words = index.iter().chain(edges).map(|&number| number as u64);
        let reordered = if reorder { "reorder, " } else { "" };
        let said = format!("{reordered}index {index:?}, edges {edges:?}");
        record.names_topology([index.len() as u64, reorder.into()].into_iter().chain(words), &said);
    }

    /// Who gets which node, among as many members as there are nodes.
    fn order(&self, comm: MPI_Comm, reorder: bool) -> Result<Option<RankOrder>> {
        let nodes = self.index.len() as u32;
        let Some(hosts) = hosts(comm, nodes, reorder)? else { return Ok(None) };
        let neighbors = |node| self.neighbors(node).iter().map(|&other| (other as u32, 1)).collect();
        let neighbors: Vec<_> = (0..nodes).map(neighbors).collect();
        Ok(order::of_graph(&neighbors, &hosts))
    }

    fn topology(self, rank: u32) -> Topology {
        let neighbors: Vec<_> = self.neighbors(rank).iter().map(|&other| Some(other as u32)).collect();
        Topology { kind: TopologyKind::Graph(self), sources: neighbors.clone(), destinations: neighbors }
    }

    fn neighbors(&self, rank: u32) -> &[c_int] {
        let rank = rank as usize;
        let start = if rank == 0 { 0 } else { self.index[rank - 1] };
        &self.edges[start as usize..self.index[rank] as usize]
    }
}

/// The graph of a communicator.
fn graph(comm: &Comm) -> Result<&Graph> {
    match comm.topology.as_deref() {
        Some(Topology { kind: TopologyKind::Graph(graph), .. }) => Ok(graph),
        _ => Err(needs("a graph topology", CREATE, comm)),
    }
}
