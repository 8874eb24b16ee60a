//! Whom a collective over a topology talks to (MPI 5.0 section 8.6).

use crate::comm::object::Comm;
use crate::core::error::{Result, fail};
use tern_abi::MPI_ERR_TOPOLOGY;
use tern_coll::Neighbors;

/// The neighbors of this process, for a collective.
pub(crate) fn neighbors(comm: &Comm) -> Result<Neighbors<'_>> {
    match &comm.topology {
        Some(topology) => Ok(topology.neighbors()),
        None => Err(fail(
            MPI_ERR_TOPOLOGY,
            "the communicator has no topology: make one that has, by MPI_Cart_create, MPI_Graph_create, \
             MPI_Dist_graph_create or MPI_Dist_graph_create_adjacent",
        )),
    }
}
