//! Collectives: from a call's arguments to a schedule, and from a schedule to messages (MPI 5.0 chapter 6).
//!
//! The way of a call: its entry point (one file per family) hands its arguments to a function that checks them
//! with the help of a [`Setup`] and plans the call; what comes out is a [`RunningCollective`], the schedule and all
//! that the schedule's names stand for. A blocking call runs it to its end at once; the other forms make it a request.
//! On one node the blocking form of most calls needs neither schedule nor messages: see `shm`.

pub(crate) mod allgather;
pub(crate) mod alltoall;
pub(crate) mod barrier;
pub(crate) mod bcast;
mod differ;
pub(crate) mod gather;
mod multicast_group;
pub(crate) mod neighbor;
pub(crate) mod op;
pub(crate) mod operation;
mod port;
pub(crate) mod reduce;
pub(crate) mod request;
mod running;
pub(crate) mod scan;
pub(crate) mod scatter;
mod scratch;
pub(crate) mod setup;
pub(crate) mod shape;
mod shm;
pub(crate) mod shm_comm;
pub(crate) mod shm_comm_place;
mod short;
mod short_gather;
mod short_pair;
mod told;

pub(crate) use allgather::records_of_all;
pub(crate) use barrier::{barrier_on, last_barrier};
pub(crate) use request::{nonblocking, persistent, serve};
pub(crate) use running::{blocking, meet_with, met, met_if_checked};
pub(crate) use setup::Setup;
