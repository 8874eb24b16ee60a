//! How the libraries for programs of other MPIs tell Tern's own what a program calls its handles. No part of the standard.

use std::ffi::c_int;

/// Turns a handle that Tern has been given back into the program's value. The number says what kind of handle it is.
pub type NameHandle = extern "C" fn(usize, c_int) -> usize;

/// A handle that is neither a datatype nor a file.
pub const OTHER_HANDLE: c_int = 0;
/// A datatype.
pub const DATATYPE_HANDLE: c_int = 1;
/// A file.
pub const FILE_HANDLE: c_int = 2;
