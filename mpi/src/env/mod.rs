//! The environment, info objects, sessions, the ABI (MPI 5.0 chapters 9, 10, 11 and 20).

pub(crate) mod abi;
pub(crate) mod addresses;
pub(crate) mod errhandler;
pub(crate) mod error_codes;
pub(crate) mod fortran;
pub(crate) mod handlers;
pub(crate) mod hints;
pub(crate) mod info;
pub(crate) mod init;
pub(crate) mod inquiry;
pub(crate) mod memory_kinds;
pub(crate) mod raise;
pub(crate) mod session;
