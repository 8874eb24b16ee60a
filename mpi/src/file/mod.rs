//! Chapter 14: files.
//!
//! An access finds its file ([`object`]), checks its arguments and turns them into a part of a stream ([`access`]). One rank's is done
//! there and then, or by a thread ([`request`]); that of all ranks is an operation that they step together ([`together`]). What knows no MPI
//! is the crate `tern-io`.

pub mod access;
mod agreement;
pub mod datarep;
pub mod explicit;
pub mod facts;
pub mod fault;
pub mod individual;
pub mod info;
mod lookup;
pub mod manage;
pub mod object;
pub mod open;
pub mod pending;
pub mod pointer;
mod pointer_place;
pub mod request;
pub mod serve;
pub mod shared;
pub mod shared_pointer;
pub mod together;
pub mod verbose;
pub mod view;
