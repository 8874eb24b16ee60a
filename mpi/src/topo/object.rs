//! The topology of a communicator, behind its handle.

use std::ffi::c_int;
use tern_abi::*;
use tern_coll::{Neighbors, Pairing};

/// The topology of a communicator, as one process sees it.
#[derive(Debug)]
pub(crate) struct Topology {
    pub(super) kind: TopologyKind,
    pub(super) sources: Vec<Option<u32>>,
    pub(super) destinations: Vec<Option<u32>>,
}

/// What the kinds of topology know beside the neighbors.
#[derive(Debug)]
pub(super) enum TopologyKind {
    Cart(Grid),
    Graph(Graph),
    /// `None` if the edges have no weights.
    DistGraph(Option<Weights>),
}

impl Topology {
    /// Neighbors for the collectives of section 8.6, in its order.
    pub(super) fn neighbors(&self) -> Neighbors<'_> {
        let pairing = match self.kind {
            TopologyKind::Cart(_) => Pairing::Opposite,
            TopologyKind::Graph(_) | TopologyKind::DistGraph(_) => Pairing::InOrder,
        };
        Neighbors { sources: &self.sources, destinations: &self.destinations, pairing }
    }

    pub(super) fn constant(&self) -> c_int {
        match self.kind {
            TopologyKind::Cart(_) => MPI_CART,
            TopologyKind::Graph(_) => MPI_GRAPH,
            TopologyKind::DistGraph(_) => MPI_DIST_GRAPH,
        }
    }
}

/// The lengths of the dimensions of a grid, and which of them are rings. Ranks are in row-major order: the last
/// dimension runs fastest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Grid {
    pub(super) dims: Vec<u32>,
    pub(super) periods: Vec<bool>,
}

/// A graph in the standard's form: the neighbors of all nodes, one node after another, and where each node's end.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(super) index: Vec<c_int>,
    pub(super) edges: Vec<c_int>,
}

/// The weights of a process's edges, in the order of its neighbors.
#[derive(Debug)]
pub(crate) struct Weights {
    pub(super) sources: Vec<c_int>,
    pub(super) destinations: Vec<c_int>,
}
