//! Chapter 12: one-sided communication.
//!
//! A window has, for each rank, memory and a way to reach it. Memory that the library gives out is mapped by all ranks of the machine,
//! and transfers are copies and atomic instructions. Memory of the program's own is reached through the kernel. Either way, nothing is
//! asked of the target, and a transfer is done when its call returns.

mod accumulate;
mod control;
mod epoch;
mod make;
pub mod object;
mod place;
mod query;
mod sync;
mod transfer;
