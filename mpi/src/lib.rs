//! `libmpi_abi.so.1`: the C entry points of MPI 5.0's standard ABI, one folder per chapter of the standard.
//!
//! An entry point checks its arguments, finds the objects behind the handles, and calls the rooms below. A
//! reader who looks for `MPI_Send` finds it in [`p2p::messages`]; [`core::entry`] says how a body gets its four names.

// The names and the numbers of parameters are the standard's.
#![allow(non_snake_case, clippy::too_many_arguments)]
// The state is a static, so its parts are made by const functions, which Default has not.
#![allow(clippy::new_without_default)]

mod check;
mod coll;
mod comm;
mod core;
mod datatype;
mod env;
mod file;
mod limits;
mod p2p;
mod rma;
mod spawn;
mod tool;
mod topo;
