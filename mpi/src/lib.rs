//! `libmpi_abi.so.1`: the C entry points of MPI 5.0's standard ABI, one file per chapter of the standard.
//!
//! An entry point checks its arguments, finds the objects behind the handles, and calls the rooms below. A
//! reader who looks for `MPI_Send` finds it in `p2p.rs`; `entry.rs` says how a body gets its four names.

// The names and the numbers of parameters are the standard's.
#![allow(non_snake_case, clippy::too_many_arguments)]
// The state is a static, so its parts are made by const functions, which Default has not.
#![allow(clippy::new_without_default)]

pub mod abi;
pub mod agree;
pub mod arguments;
pub mod attr;
pub mod bsend;
pub mod bsend_attach;
pub mod bsend_buffer;
pub mod cancel;
pub mod check;
pub mod coll;
pub mod comm;
pub mod comm_from_group;
pub mod comm_make;
pub mod comm_query;
pub mod complete;
pub mod datatype;
pub mod datatype_make;
pub mod datatype_query;
mod departure;
pub mod elements;
pub mod entry;
pub mod env;
pub mod errhandler;
pub mod error;
pub mod error_codes;
pub mod file;
mod forked;
pub mod fortran;
pub mod grequest;
pub mod group;
pub mod handle;
pub mod info;
pub mod init;
pub mod intercomm;
mod lifeline;
pub mod limits;
mod multicast;
pub mod neighbor;
mod network;
pub mod op;
pub mod p2p;
pub mod pack;
mod panic;
mod partitioned;
pub mod persistent;
pub mod probe;
pub mod process;
mod progress;
pub mod request;
pub mod rma;
pub mod sendrecv;
pub mod session;
pub mod settings;
pub mod spawn;
pub mod status;
mod stdio;
pub mod table;
mod team;
pub mod tool;
pub mod topo;
pub mod unsupported;
pub mod wait;
