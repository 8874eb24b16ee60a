//! Chapter 8: virtual topologies. One file for each kind; the collectives over them are in `neighbor.rs`.

pub(crate) mod cart;
pub(crate) mod dims;
pub(crate) mod dist_graph;
pub(crate) mod graph;
pub(crate) mod neighbors;
pub(crate) mod object;
mod order;

use std::ffi::c_int;
use std::sync::Arc;

use tern_abi::*;
use tern_coll::Nodes;

use crate::coll::shape::nodes_of_first;
use crate::comm::make::{adopt, child_context};
use crate::comm::object::Comm;
use crate::core::boundary::Out;
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::process::enter;

use object::{Topology, TopologyKind};
use order::RankOrder;

entry! {
    /// Which topology a communicator has (section 8.5.5).
    safe fn MPI_Topo_test(comm: MPI_Comm, status: Out<'_, c_int>) on comm {
        let process = enter();
        let topology = &process.comm(comm)?.topology;
        status.set(topology.as_ref().map_or(MPI_UNDEFINED, |topology| topology.constant()));
        Ok(())
    }
}

/// A communicator of the first `size` members, with a topology; the others get `MPI_COMM_NULL`.
///
/// The members have met: they make the same call. `order` says who gets which rank, the same at all members; without it all
/// keep theirs. `topology`, of the new rank, may fail at some ranks only; these have then counted the communicator like the
/// others.
fn make(
    old: MPI_Comm,
    size: u32,
    order: Option<RankOrder>,
    topology: impl FnOnce(u32) -> Result<Topology>,
) -> Result<MPI_Comm> {
    let (context, children) = child_context(old)?;
    let (rank, group) = {
        let process = enter();
        let this = process.comm(old)?;
        match &order {
            Some(order) => {
                (new_rank(this.rank, size, Some(order)), this.group.include(order.iter().copied()))
            }
            None => (new_rank(this.rank, size, None), this.group.include(0..size)),
        }
    };
    let Some(rank) = rank else { return Ok(MPI_COMM_NULL) };
    let mut comm = Comm::new(context, rank, group, None);
    comm.children = children;
    comm.topology = Some(Arc::new(topology(rank)?));
    adopt(old, comm)
}

/// The rank in a topology of `size` processes; `None` for those that have none.
fn new_rank(rank: u32, size: u32, order: Option<&RankOrder>) -> Option<u32> {
    match order {
        Some(order) => order.iter().position(|&old| old == rank).map(|new| new as u32),
        None => Some(rank).filter(|&rank| rank < size),
    }
}

/// The hosts of the first `size` members, if they are on several and their ranks may change.
fn hosts(comm: MPI_Comm, size: u32, reorder: bool) -> Result<Option<Nodes>> {
    let process = enter();
    let comm = process.comm(comm)?;
    Ok(if reorder { nodes_of_first(&process, comm, size) } else { None })
}

/// The size of a communicator that is to get a topology: not an intercommunicator.
fn members(comm: MPI_Comm) -> Result<u32> {
    let process = enter();
    let comm = process.comm(comm)?;
    match comm.remote {
        None => Ok(comm.group.size()),
        Some(_) => Err(fail(
            MPI_ERR_COMM,
            "this is an intercommunicator; only an intracommunicator can have a topology",
        )),
    }
}

/// The error of a call that needs another topology than the communicator has.
#[cold]
fn needs(kind: &str, maker: &str, comm: &Comm) -> Box<Error> {
    let has = match comm.topology.as_deref().map(|topology| &topology.kind) {
        None => "no topology",
        Some(TopologyKind::Cart(_)) => "a Cartesian topology",
        Some(TopologyKind::Graph(_)) => "a graph topology",
        Some(TopologyKind::DistGraph(_)) => "a distributed graph topology",
    };
    fail(
        MPI_ERR_TOPOLOGY,
        format!("the communicator has {has}, but this call needs {kind}, which {maker} makes"),
    )
}

/// A length or count argument.
fn length(name: &str, value: c_int, class: c_int) -> Result<usize> {
    usize::try_from(value).map_err(|_| fail(class, format!("{name} is {value}, but must not be negative")))
}

/// A rank among `size`.
fn rank_below(name: &str, rank: c_int, size: u32) -> Result<u32> {
    match u32::try_from(rank) {
        Ok(rank) if rank < size => Ok(rank),
        _ => Err(fail(
            MPI_ERR_RANK,
            format!("{name} is {rank}, but must be a rank from 0 to {}", i64::from(size) - 1),
        )),
    }
}

/// The program's array must have room for all.
fn room(name: &str, max: c_int, needed: usize) -> Result {
    if usize::try_from(max).is_ok_and(|max| max >= needed) {
        return Ok(());
    }
    Err(fail(MPI_ERR_ARG, format!("{name} is {max}, but there are {needed} to return")))
}

fn rank_or_null(rank: Option<u32>) -> c_int {
    rank.map_or(MPI_PROC_NULL, |rank| rank as c_int)
}
