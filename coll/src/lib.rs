//! Collective algorithms as schedules, and the choice among them.
//!
//! Every algorithm is written once, as a pure function from what one rank knows of a call (its rank, the size
//! of the communicator, the root, counts and layouts) to that rank's [`Schedule`]: a list of sends, receives,
//! reductions, copies and waits over named buffers. Nothing here moves a byte. [`Exec`] drives a schedule over
//! a [`Port`], which knows addresses, datatypes, operations and messages. So a blocking collective is build,
//! start, wait; a non-blocking one is build, start; a persistent one is built once and started many times.
//!
//! The way through the crate, top down:
//!
//! - [`CollectiveCall`] describes one call of the standard, and [`build`] turns it into a schedule;
//! - [`Algorithm`] names the algorithms, and [`table`] says which one serves which call; it can be printed, and a
//!   user's rows come before it;
//! - one file per collective holds its algorithms; [`hierarchical`] holds those by node,
//!   [`multicast`] those that use a wire once for all nodes, [`inter`] those of intercommunicators;
//! - [`interp`] executes all ranks of a communicator in one process, for tests and for the simulator.
#![forbid(unsafe_code)]

mod algorithm;
pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
pub mod bcast;
mod build;
mod call;
mod exec;
#[cfg(any(test, fuzzing))]
#[path = "../../fuzz/targets/coll.rs"]
pub mod fuzz;
pub mod gather;
pub mod hierarchical;
pub mod inter;
pub mod interp;
pub mod limits;
pub mod multicast;
pub mod neighbor;
pub mod nodes;
pub mod reduce;
pub mod reduce_scatter;
pub mod scan;
pub mod scatter;
mod schedule;
mod shape;
pub mod table;
pub mod tree;

pub use algorithm::{Algorithm, algorithms, has_shm};
pub use build::{build, build_with};
pub use call::{Collective, CollectiveCall, NumberArray, TypedCount, Vector, VectorTypes};
pub use exec::{Exec, Port};
pub use neighbor::{Neighbors, Pairing};
pub use nodes::{NodeRun, Nodes};
pub use schedule::{Audience, Buf, Schedule, Slice, Span, Step, StepPeer, Temp, Ty, TypeLayout};
pub use shape::{CommView, Member, MulticastAbility, Ranks, Root};
pub use table::{Choice, Query, TableRow};
