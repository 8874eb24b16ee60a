//! What the libraries for programs of other MPIs have in common: each function of MPI as a thin conversion over
//! `libmpi_abi.so.1`, which is in the same process.
//!
//! [`calls`] has one line for each function, with the kind of each parameter. [`kinds`] says how a parameter of a kind
//! goes in and comes back. A library of this folder says what its handles, statuses and constants look like
//! ([`foreign::ForeignAbi`]), and exports the lines by [`mod@export`].

// The names are the standard's.
#![allow(non_snake_case, non_upper_case_globals)]
// The numbers of parameters are the standard's. What an unsafe function wants of its caller is what the standard wants of a
// C program that calls the function of its name.
#![allow(clippy::too_many_arguments, clippy::missing_safety_doc)]

pub mod bound;
pub mod callbacks;
pub mod calls;
pub mod contents;
pub mod export;
pub mod foreign;
#[cfg(test)]
mod header;
pub mod kinds;
pub mod lists;
pub mod number;
pub mod removed;
#[cfg(test)]
mod rows;
pub mod special;
mod split;
pub mod status;
mod stock;
pub mod table;
pub mod tern;
pub mod values;
