//! Graphs that every process knows as a whole (MPI 5.0 sections 8.5.3, 8.5.5 and 8.5.8).

use std::ffi::c_int;

use tern_abi::*;

use super::order::{self, Order};
use super::{Kind, Topology, length, machines, make, members, needs, new_rank, rank_below, room, store};
use crate::check::Record;
use crate::coll::meet_with;
use crate::comm::object::Comm;
use crate::core::arguments::{array, out, out_comm};
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::enter;

/// The call that makes a graph.
const CREATE: &str = "MPI_Graph_create";

entry! {
    /// A communicator of as many processes as the graph has nodes (section 8.5.3).
    fn MPI_Graph_create(
        comm_old: MPI_Comm, nnodes: c_int, indx: *const c_int, edges: *const c_int, reorder: c_int,
        comm_graph: *mut MPI_Comm,
    ) on comm_old {
        let arguments = out_comm("comm_graph", comm_graph).and_then(|comm_graph| {
            let available = members(comm_old)?;
            let graph = Graph::of(nnodes, indx, edges)?;
            Ok((comm_graph, graph.size_within(available)?, graph))
        });
        let told = |(_, _, graph): &(_, _, Graph), record: &mut Record| graph.tell(reorder != 0, record);
        let (comm_graph, size, graph) = meet_with(CREATE, comm_old, arguments, told)?;
        let order = graph.order(comm_old, reorder != 0)?;
        *comm_graph = make(CREATE, comm_old, size, order, |rank| Ok(graph.topology(rank)))?;
        Ok(())
    }

    /// How many nodes and edges (section 8.5.5).
    fn MPI_Graphdims_get(comm: MPI_Comm, nnodes: *mut c_int, nedges: *mut c_int) on comm {
        let process = enter();
        let graph = graph(process.comm(comm)?)?;
        *out("nnodes", nnodes)? = graph.index.len() as c_int;
        *out("nedges", nedges)? = graph.edges.len() as c_int;
        Ok(())
    }

    /// The graph.
    fn MPI_Graph_get(
        comm: MPI_Comm, maxindex: c_int, maxedges: c_int, indx: *mut c_int, edges: *mut c_int,
    ) on comm {
        let process = enter();
        let graph = graph(process.comm(comm)?)?;
        room("maxindex", maxindex, graph.index.len())?;
        room("maxedges", maxedges, graph.edges.len())?;
        store("index", indx, graph.index.iter().copied())?;
        store("edges", edges, graph.edges.iter().copied())
    }

    /// How many neighbours a process has.
    fn MPI_Graph_neighbors_count(comm: MPI_Comm, rank: c_int, nneighbors: *mut c_int) on comm {
        let process = enter();
        let graph = graph(process.comm(comm)?)?;
        let rank = rank_below("rank", rank, graph.index.len() as u32)?;
        *out("nneighbors", nneighbors)? = graph.neighbors(rank).len() as c_int;
        Ok(())
    }

    /// The neighbours of a process, in the order of the edges.
    fn MPI_Graph_neighbors(comm: MPI_Comm, rank: c_int, maxneighbors: c_int, neighbors: *mut c_int) on comm {
        let process = enter();
        let graph = graph(process.comm(comm)?)?;
        let found = graph.neighbors(rank_below("rank", rank, graph.index.len() as u32)?);
        room("maxneighbors", maxneighbors, found.len())?;
        store("neighbors", neighbors, found.iter().copied())
    }

    /// The rank that `MPI_Graph_create` would give if it may reorder (section 8.5.8).
    fn MPI_Graph_map(
        comm: MPI_Comm, nnodes: c_int, indx: *const c_int, edges: *const c_int, newrank: *mut c_int,
    ) on comm {
        let newrank = out("newrank", newrank)?;
        let available = members(comm)?;
        let graph = Graph::of(nnodes, indx, edges)?;
        let size = graph.size_within(available)?;
        let order = graph.order(comm, true)?;
        let rank = new_rank(enter().comm(comm)?.rank, size, order.as_ref());
        *newrank = rank.map_or(MPI_UNDEFINED, |rank| rank as c_int);
        Ok(())
    }
}

/// A graph in the standard's form: the neighbours of all nodes, one node after another, and where each node's end.
#[derive(Debug)]
pub struct Graph {
    index: Vec<c_int>,
    edges: Vec<c_int>,
}

impl Graph {
    /// From a call's arguments.
    ///
    /// # Safety
    /// `index` has `nnodes` elements, and `edges` as many as the last of them says.
    unsafe fn of(nnodes: c_int, index: *const c_int, edges: *const c_int) -> Result<Graph> {
        let nodes = length("nnodes", nnodes, MPI_ERR_ARG)?;
        // SAFETY: by the caller.
        let index = unsafe { array("index", index, nodes)? };
        let mut end = 0;
        for (node, &next) in index.iter().enumerate() {
            if next < end {
                let text =
                    format!("index[{node}] is {next}, but must not be less than {end}, where it starts");
                return Err(fail(MPI_ERR_ARG, text));
            }
            end = next;
        }
        // SAFETY: by the caller.
        let edges = unsafe { array("edges", edges, end as usize)? };
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
    fn tell(&self, reorder: bool, record: &mut Record) {
        let Graph { index, edges } = self;
        let words = index.iter().chain(edges).map(|&number| number as u64);
        let reordered = if reorder { "reorder, " } else { "" };
        let said = format!("{reordered}index {index:?}, edges {edges:?}");
        record.names_topology([index.len() as u64, reorder.into()].into_iter().chain(words), &said);
    }

    /// Who gets which node, among as many members as there are nodes.
    fn order(&self, comm: MPI_Comm, reorder: bool) -> Result<Option<Order>> {
        let nodes = self.index.len() as u32;
        let Some(machines) = machines(comm, nodes, reorder)? else { return Ok(None) };
        let neighbors = |node| self.neighbors(node).iter().map(|&other| (other as u32, 1)).collect();
        let neighbors: Vec<_> = (0..nodes).map(neighbors).collect();
        Ok(order::of_graph(&neighbors, &machines))
    }

    fn topology(self, rank: u32) -> Topology {
        let neighbors: Vec<_> = self.neighbors(rank).iter().map(|&other| Some(other as u32)).collect();
        Topology { kind: Kind::Graph(self), sources: neighbors.clone(), destinations: neighbors }
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
        Some(Topology { kind: Kind::Graph(graph), .. }) => Ok(graph),
        _ => Err(needs("a graph topology", CREATE, comm)),
    }
}
