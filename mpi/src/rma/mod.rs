//! Chapter 12: one-sided communication.
//!
//! A window has, for each rank, memory and a way to reach it. Memory that the library gives out is mapped by all ranks of the node,
//! and transfers are copies and atomic instructions. Memory of the program's own is reached through the kernel. Either way, nothing is
//! asked of the target, and a transfer is done when its call returns. Ranks of other hosts are reached by messages, which the target's
//! engine executes.

mod accumulate;
mod attach;
mod by_owner;
pub(crate) mod call;
mod contiguous;
mod control;
mod elements;
mod epoch;
mod errand;
mod exposure;
pub(crate) mod far;
mod introduction;
mod lock;
mod locking;
mod lookup;
mod make;
pub(crate) mod object;
mod own_memory;
mod place;
mod query;
pub(crate) mod refused;
mod staged;
mod sync;
mod tables;
mod transfer;
mod watch;
