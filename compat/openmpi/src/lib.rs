//! `libmpi.so.40`: the ABI of Open MPI 4 and 5, over `libmpi_abi.so.1` in the same process.
//!
//! A predefined handle is the address of a variable here ([`objects`]), which holds the standard's handle as its first word.
//! The handle of any other object is an odd number, so it is no address ([`handles`]). What remains is `tern-bridge`'s.

// The names and the numbers of parameters are the standard's.
#![allow(non_snake_case, non_upper_case_globals, clippy::too_many_arguments)]

mod abi;
mod cxx;
mod entries;
mod extensions;
mod handles;
mod language;
mod objects;
mod status;
