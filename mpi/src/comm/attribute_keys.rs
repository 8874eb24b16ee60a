//! The keys of attributes (MPI 5.0 section 7.7).

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use tern_abi::*;

/// A key: what to do with its values, and whether it is still needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyval<Object> {
    pub(super) copy: Option<CopyAttr<Object>>,
    pub(super) delete: Option<DeleteAttr<Object>>,
    pub(super) extra_state: *mut c_void,
    /// Attributes that have it. A freed key lives on until the last of them is gone (section 7.7.2).
    pub(super) uses: u32,
    pub(super) freed: bool,
}

/// The keys for one kind of object.
#[derive(Debug)]
pub(crate) struct AttributeKeys<Object>(pub(super) BTreeMap<c_int, Keyval<Object>>);

impl<Object: Copy> AttributeKeys<Object> {
    pub(super) fn find(&self, key: c_int) -> Option<Keyval<Object>> {
        self.0.get(&key).copied()
    }

    pub(super) fn retain(&mut self, key: c_int) {
        if let Some(keyval) = self.0.get_mut(&key) {
            keyval.uses += 1;
        }
    }

    pub(super) fn release(&mut self, key: c_int) {
        let Some(keyval) = self.0.get_mut(&key) else { return };
        keyval.uses -= 1;
        if keyval.freed && keyval.uses == 0 {
            self.0.remove(&key);
        }
    }
}

/// All keys of the program's.
#[derive(Debug)]
pub(crate) struct Keyvals {
    pub(super) last: c_int,
    pub(super) comms: AttributeKeys<MPI_Comm>,
    pub(super) types: AttributeKeys<MPI_Datatype>,
    pub(super) windows: AttributeKeys<MPI_Win>,
}

/// The program's keys are above all predefined values, as its handles are.
const KEY_BEFORE_FIRST: c_int = 4095;

impl Keyvals {
    /// None but the predefined.
    pub(crate) const fn new() -> Self {
        Keyvals {
            last: KEY_BEFORE_FIRST,
            comms: AttributeKeys(BTreeMap::new()),
            types: AttributeKeys(BTreeMap::new()),
            windows: AttributeKeys(BTreeMap::new()),
        }
    }
}
