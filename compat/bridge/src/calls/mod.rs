//! The functions of MPI that return an error code, a line each, by chapter: parameters with their kinds.
//!
//! A line ends in `via x` where a conversion of parameters is not enough, and [`crate::special`] has the function.
//! `abi/tables` has the same functions; a test compares.

mod coll;
mod comm;
mod datatype;
mod file;
mod p2p;
mod removed;
mod rma;
mod tool;
