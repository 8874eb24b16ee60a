//! The MPI 5.0 standard ABI (version 1.0) as Rust sees it: handle types, every constant, the layout of
//! [`MPI_Status`], the callback types, and the ABI tables themselves as data.
//!
//! Names are the standard's own, so that a reader of the standard finds them. There is no code here beyond
//! the tables' parser: whatever touches memory lives in the rooms above.

#![forbid(unsafe_code)]
#![allow(non_camel_case_types)]

#[macro_use]
mod families;

pub mod addresses;
pub mod attributes;
pub mod callbacks;
pub mod datatypes;
pub mod enums;
pub mod errors;
pub mod files;
pub mod handles;
pub mod limits;
pub mod naming;
pub mod ops;
pub mod rma;
pub mod special;
pub mod status;
pub mod tables;
pub mod tool;

pub use addresses::*;
pub use attributes::*;
pub use callbacks::*;
pub use datatypes::*;
pub use enums::*;
pub use errors::*;
pub use files::*;
pub use handles::*;
pub use limits::*;
pub use ops::*;
pub use rma::*;
pub use special::*;
pub use status::*;
pub use tool::*;

/// An address or a distance between addresses: `intptr_t` (section 2.5.6).
pub type MPI_Aint = isize;
/// A count of elements or bytes that may pass 2^31: `int64_t` (section 2.5.8).
pub type MPI_Count = i64;
/// A place in a file: `int64_t` (section 2.5.7).
pub type MPI_Offset = i64;
/// The Fortran `INTEGER`.
pub type MPI_Fint = i32;

// The standard ABI fixes the widths; Tern's targets are 64-bit Linux.
const _: () = assert!(size_of::<MPI_Aint>() == 8 && size_of::<MPI_Count>() == 8);
