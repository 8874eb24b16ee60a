//! Collectives: from a call's arguments to a schedule, and from a schedule to messages (MPI 5.0 chapter 6).
//!
//! The way of a call: its entry point (one file per family) hands its arguments to a function that checks them
//! with the help of a [`Setup`] and plans the call; what comes out is a [`RunningCollective`], the schedule and all
//! that the schedule's names stand for. A blocking call runs it to its end at once; the other forms make it a request.
//! On one node the blocking form of most calls needs neither schedule nor messages: see `shm`.

pub mod allgather;
pub mod alltoall;
pub mod barrier;
pub mod bcast;
mod differ;
pub mod gather;
mod multicast_group;
pub mod neighbor;
pub mod op;
pub mod operation;
mod port;
pub mod reduce;
pub mod request;
mod running;
pub mod scan;
pub mod scatter;
mod scratch;
pub mod setup;
pub mod shape;
mod shm;
pub mod shm_comm;
pub mod shm_comm_place;
mod told;

pub use allgather::records_of_all;
pub use barrier::{barrier_on, last_barrier};
pub use request::{nonblocking, persistent, serve};
pub use running::{RunningCollective, blocking, meet_with, met, met_if_checked};
pub use setup::Setup;
