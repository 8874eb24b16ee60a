//! Chapter 8: virtual topologies. Tern does not have them yet; it can shape a grid, and tell that a communicator
//! has none.

use std::ffi::c_int;

use tern_abi::*;

use crate::arguments::out;
use crate::dims::spread;
use crate::entry::entry;
use crate::error::{Result, fail};
use crate::process::enter;
use crate::unsupported::unsupported;

entry! {
    /// A balanced shape for a grid (section 8.5.2): fills in the dimensions that are zero.
    fn MPI_Dims_create(nnodes: c_int, ndims: c_int, dims: *mut c_int) {
        let len = usize::try_from(ndims).map_err(|_| fail(MPI_ERR_DIMS, format!("ndims is {ndims}")))?;
        if len == 0 {
            return Ok(());
        }
        fill_zeros(nnodes, std::slice::from_raw_parts_mut(out("dims", dims)?, len))
    }

    /// Which topology a communicator has (section 8.5.5).
    fn MPI_Topo_test(comm: MPI_Comm, status: *mut c_int) on comm {
        enter().comm(comm)?;
        *out("status", status)? = MPI_UNDEFINED;
        Ok(())
    }
}

/// Shares `nnodes` out to the zeros in `dims`, whose other values are given.
fn fill_zeros(nnodes: c_int, dims: &mut [c_int]) -> Result {
    if let Some(bad) = dims.iter().find(|dim| **dim < 0) {
        return Err(fail(MPI_ERR_DIMS, format!("a dimension is {bad}, but must not be negative")));
    }
    let given: i64 =
        dims.iter().filter(|dim| **dim > 0).fold(1, |product, dim| product.saturating_mul((*dim).into()));
    if nnodes < 1 || i64::from(nnodes) % given != 0 {
        return Err(fail(
            MPI_ERR_DIMS,
            format!("nnodes is {nnodes}, but the given dimensions need a multiple of {given}"),
        ));
    }
    let free = dims.iter().filter(|dim| **dim == 0).count();
    let rest = i64::from(nnodes) / given;
    if free == 0 && rest != 1 {
        return Err(fail(MPI_ERR_DIMS, format!("nnodes is {nnodes}, but the given dimensions make {given}")));
    }
    let mut factors = spread(rest as u32, free).into_iter();
    for dim in dims.iter_mut().filter(|dim| **dim == 0) {
        *dim = factors.next().unwrap_or(1) as c_int;
    }
    Ok(())
}

unsupported! {
    // Grids (sections 8.5.1 to 8.5.7).
    fn MPI_Cart_create(
        comm_old: MPI_Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, reorder: c_int,
        comm_cart: *mut MPI_Comm,
    ) on comm_old;
    fn MPI_Cart_get(
        comm: MPI_Comm, maxdims: c_int, dims: *mut c_int, periods: *mut c_int, coords: *mut c_int,
    ) on comm;
    fn MPI_Cart_rank(comm: MPI_Comm, coords: *const c_int, rank: *mut c_int) on comm;
    fn MPI_Cart_coords(comm: MPI_Comm, rank: c_int, maxdims: c_int, coords: *mut c_int) on comm;
    fn MPI_Cart_shift(
        comm: MPI_Comm, direction: c_int, disp: c_int, rank_source: *mut c_int, rank_dest: *mut c_int,
    ) on comm;
    fn MPI_Cart_sub(comm: MPI_Comm, remain_dims: *const c_int, newcomm: *mut MPI_Comm) on comm;
    fn MPI_Cart_map(
        comm: MPI_Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, newrank: *mut c_int,
    ) on comm;
    fn MPI_Cartdim_get(comm: MPI_Comm, ndims: *mut c_int) on comm;
}

unsupported! {
    // Graphs (sections 8.5.3 to 8.5.8).
    fn MPI_Graph_create(
        comm_old: MPI_Comm, nnodes: c_int, indx: *const c_int, edges: *const c_int, reorder: c_int,
        comm_graph: *mut MPI_Comm,
    ) on comm_old;
    fn MPI_Graph_get(
        comm: MPI_Comm, maxindex: c_int, maxedges: c_int, indx: *mut c_int, edges: *mut c_int,
    ) on comm;
    fn MPI_Graph_map(
        comm: MPI_Comm, nnodes: c_int, indx: *const c_int, edges: *const c_int, newrank: *mut c_int,
    ) on comm;
    fn MPI_Graph_neighbors(comm: MPI_Comm, rank: c_int, maxneighbors: c_int, neighbors: *mut c_int) on comm;
    fn MPI_Graph_neighbors_count(comm: MPI_Comm, rank: c_int, nneighbors: *mut c_int) on comm;
    fn MPI_Graphdims_get(comm: MPI_Comm, nnodes: *mut c_int, nedges: *mut c_int) on comm;
}

unsupported! {
    // Distributed graphs (sections 8.5.4 and 8.5.5).
    fn MPI_Dist_graph_create(
        comm_old: MPI_Comm, n: c_int, sources: *const c_int, degrees: *const c_int,
        destinations: *const c_int, weights: *const c_int, info: MPI_Info, reorder: c_int,
        comm_dist_graph: *mut MPI_Comm,
    ) on comm_old;
    fn MPI_Dist_graph_create_adjacent(
        comm_old: MPI_Comm, indegree: c_int, sources: *const c_int, sourceweights: *const c_int,
        outdegree: c_int, destinations: *const c_int, destweights: *const c_int, info: MPI_Info,
        reorder: c_int, comm_dist_graph: *mut MPI_Comm,
    ) on comm_old;
    fn MPI_Dist_graph_neighbors(
        comm: MPI_Comm, maxindegree: c_int, sources: *mut c_int, sourceweights: *mut c_int,
        maxoutdegree: c_int, destinations: *mut c_int, destweights: *mut c_int,
    ) on comm;
    fn MPI_Dist_graph_neighbors_count(
        comm: MPI_Comm, indegree: *mut c_int, outdegree: *mut c_int, weighted: *mut c_int,
    ) on comm;
}
