//! `libmpi.so.12`: the ABI of MPICH 3.1 to 5.0 and of Intel MPI, over `libmpi_abi.so.1` in the same process.
//!
//! [`handles`] has the handles, [`status`] the status, [`addresses`] the variables whose address is a constant. What
//! remains is `tern-bridge`'s: a line for each function, and the conversions by kind.

// The names and the numbers of parameters are the standard's.
#![allow(non_snake_case, non_upper_case_globals, clippy::too_many_arguments)]

mod abi;
mod addresses;
mod entries;
mod extensions;
mod handles;
mod language;
mod status;
