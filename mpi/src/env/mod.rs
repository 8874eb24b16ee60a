//! The environment, info objects, sessions, the ABI (MPI 5.0 chapters 9, 10, 11 and 20).

pub mod abi;
pub mod addresses;
pub mod errhandler;
pub mod error_codes;
pub mod fortran;
pub mod handlers;
pub mod hints;
pub mod info;
pub mod init;
pub mod inquiry;
pub mod memory_kinds;
pub mod raise;
pub mod session;
