//! The attributes of one object.

use crate::core::error::{Error, Result, fail};
use std::ffi::{c_int, c_void};
use tern_abi::*;

/// Calls of one attribute's functions within each other. Few, since a function that calls itself twice doubles them each time.
const ATTRIBUTE_CALLS_MAX: u8 = 8;

/// The attributes of one object, in the order in which they were set: they are deleted the other way round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    pub(super) values: Vec<Attribute>,
}

/// One attribute of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute {
    pub(super) key: c_int,
    pub(super) value: AttributeValue,
    /// Calls of its copy and delete functions that have not returned.
    pub(super) calls: u8,
}

/// A value: the program's pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AttributeValue(pub *mut c_void);

// SAFETY: the pointer is the program's own; the library only keeps and returns it.
unsafe impl Send for AttributeValue {}

impl Attributes {
    pub(super) fn get(&self, key: c_int) -> Option<AttributeValue> {
        self.values.iter().find(|attribute| attribute.key == key).map(|attribute| attribute.value)
    }

    pub(super) fn remove(&mut self, key: c_int) -> bool {
        let before = self.values.len();
        self.values.retain(|attribute| attribute.key != key);
        self.values.len() < before
    }

    pub(super) fn push(&mut self, key: c_int, value: AttributeValue) {
        self.values.push(Attribute { key, value, calls: 0 });
    }

    /// The attribute's function is about to be called.
    pub(super) fn begin_call(&mut self, key: c_int) -> Result {
        let Some(attribute) = self.values.iter_mut().find(|attribute| attribute.key == key) else {
            return Ok(());
        };
        if attribute.calls == ATTRIBUTE_CALLS_MAX {
            return Err(too_deep(key));
        }
        attribute.calls += 1;
        Ok(())
    }

    /// It has returned, and may have deleted the attribute.
    pub(super) fn end_call(&mut self, key: c_int) {
        if let Some(attribute) = self.values.iter_mut().find(|attribute| attribute.key == key) {
            attribute.calls = attribute.calls.saturating_sub(1);
        }
    }
}

#[cold]
fn too_deep(key: c_int) -> Box<Error> {
    fail(
        MPI_ERR_OTHER,
        format!(
            "the copy or delete function of attribute key {key} has come back to itself {ATTRIBUTE_CALLS_MAX} times: it must not \
             set, delete or copy its own attribute, nor free or duplicate the object that has it"
        ),
    )
}
