//! Attributes cached on communicators, datatypes and windows (MPI 5.0 section 7.7).

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

/// Values by key.
#[derive(Debug, Default)]
pub struct Attributes {
    /// Key and value, in the order of keys.
    pub values: BTreeMap<c_int, AttributeValue>,
}

/// A value: the program's pointer.
#[derive(Clone, Copy, Debug)]
pub struct AttributeValue(pub *mut c_void);

// SAFETY: the pointer is the program's own; the library only keeps and returns it.
unsafe impl Send for AttributeValue {}

/// All keys.
pub struct Keyvals {}

impl Keyvals {
    /// None but the predefined.
    pub const fn new() -> Self {
        Keyvals {}
    }
}

/// Deletes all attributes of a communicator, by the functions of their keys.
pub fn delete_all(_comm: tern_abi::MPI_Comm) -> crate::error::Result {
    Ok(())
}
