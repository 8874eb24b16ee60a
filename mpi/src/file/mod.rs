//! Chapter 14: files.
//!
//! An access finds its file ([`object`]), checks its arguments and turns them into a part of a stream ([`access`]). One rank's is done
//! there and then, or by a thread ([`request`]); that of all ranks is an operation that they step together ([`together`]). What knows no MPI
//! is the crate `tern-io`.

pub(crate) mod access;
mod agreement;
pub(crate) mod datarep;
pub(crate) mod explicit;
pub(crate) mod facts;
pub(crate) mod fault;
pub(crate) mod individual;
pub(crate) mod info;
mod lookup;
pub(crate) mod manage;
pub(crate) mod object;
pub(crate) mod open;
pub(crate) mod pending;
pub(crate) mod pointer;
mod pointer_place;
pub(crate) mod request;
pub(crate) mod serve;
pub(crate) mod shared;
pub(crate) mod shared_pointer;
pub(crate) mod together;
pub(crate) mod verbose;
pub(crate) mod view;
