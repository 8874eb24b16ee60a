//! The structures of PMIx as its library lays them out, in versions 4, 5 and 6.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use crate::PmixValue;

const NAMESPACE_BYTES: usize = 256;
const KEY_BYTES: usize = 512;

/// Kinds of values.
const BOOL: u16 = 1;
const STRING: u16 = 3;
const SIZE: u16 = 4;
const INT: u16 = 6;
const INT32: u16 = 9;
const INT64: u16 = 10;
const UINT: u16 = 11;
const UINT16: u16 = 13;
const UINT32: u16 = 14;
const UINT64: u16 = 15;
/// A rank has a kind of its own.
const PROC_RANK: u16 = 40;

/// `pmix_proc_t`: a job's name and a rank in it.
#[derive(Clone)]
#[repr(C)]
pub(crate) struct Proc {
    pub namespace: [c_char; NAMESPACE_BYTES],
    pub rank: u32,
}

impl Default for Proc {
    fn default() -> Proc {
        Proc { namespace: [0; NAMESPACE_BYTES], rank: 0 }
    }
}

impl std::fmt::Debug for Proc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proc").field("rank", &self.rank).finish_non_exhaustive()
    }
}

/// `pmix_value_t`: a kind, and a union whose largest member has 24 bytes.
#[repr(C)]
pub(crate) struct Value {
    kind: u16,
    data: Union,
}

#[repr(C)]
union Union {
    flag: bool,
    text: *const c_char,
    size: usize,
    integer: c_int,
    int64: i64,
    uint16: u16,
    uint32: u32,
    uint64: u64,
    whole: [u64; 3],
}

/// `pmix_info_t`: a named value.
#[repr(C)]
pub(crate) struct PmixInfo {
    key: [c_char; KEY_BYTES],
    flags: u32,
    value: Value,
}

const _: () = assert!(size_of::<Proc>() == 260 && size_of::<Value>() == 32 && size_of::<PmixInfo>() == 552);

impl Value {
    /// A text that must live as long as the value.
    pub(crate) fn text(text: &CString) -> Value {
        let mut data = Union { whole: [0; 3] };
        data.text = text.as_ptr();
        Value { kind: STRING, data }
    }
}

impl PmixInfo {
    /// Something that is to be done.
    pub(crate) fn flag(key: &CStr) -> PmixInfo {
        let mut data = Union { whole: [0; 3] };
        data.flag = true;
        PmixInfo::new(key, Value { kind: BOOL, data })
    }

    /// A number.
    pub(crate) fn number(key: &CStr, number: c_int) -> PmixInfo {
        let mut data = Union { whole: [0; 3] };
        data.integer = number;
        PmixInfo::new(key, Value { kind: INT, data })
    }

    fn new(name: &CStr, value: Value) -> PmixInfo {
        let mut key = [0; KEY_BYTES];
        for (to, from) in key[..KEY_BYTES - 1].iter_mut().zip(name.to_bytes()) {
            *to = *from as c_char;
        }
        PmixInfo { key, flags: 0, value }
    }
}

/// Reads a value that the library has allocated, and frees it; `None` if it is of another kind than Tern asks for.
///
/// # Safety
///
/// The value came from `PMIx_Get` and is used by nobody else.
pub(crate) unsafe fn take(value: *mut Value) -> Option<PmixValue> {
    // SAFETY: the caller says that it is a value; its kind says which member of the union was written. The library allocates both
    // the value and its text by malloc.
    unsafe {
        let Value { kind, data } = &*value;
        let found = match *kind {
            STRING if !data.text.is_null() => {
                let text = CStr::from_ptr(data.text).to_string_lossy().into_owned();
                libc::free(data.text.cast_mut().cast::<c_void>());
                Some(PmixValue::Text(text))
            }
            SIZE => Some(PmixValue::Number(data.size as u64)),
            INT | INT32 => u64::try_from(data.integer).ok().map(PmixValue::Number),
            INT64 => u64::try_from(data.int64).ok().map(PmixValue::Number),
            UINT16 => Some(PmixValue::Number(data.uint16.into())),
            UINT | UINT32 | PROC_RANK => Some(PmixValue::Number(data.uint32.into())),
            UINT64 => Some(PmixValue::Number(data.uint64)),
            _ => None,
        };
        libc::free(value.cast::<c_void>());
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value as the library makes it.
    fn allocated(kind: u16, data: Union) -> *mut Value {
        // SAFETY: the memory is as large as the value that is written to it.
        unsafe {
            let place = libc::malloc(size_of::<Value>()).cast::<Value>();
            assert!(!place.is_null());
            place.write(Value { kind, data });
            place
        }
    }

    #[test]
    fn values_are_read_by_their_kind() {
        // SAFETY: each value is made for the call, and its text by malloc.
        unsafe {
            let text = libc::strdup(c"0,1".as_ptr());
            assert_eq!(take(allocated(STRING, Union { text })), Some(PmixValue::Text("0,1".into())));
            assert_eq!(take(allocated(UINT32, Union { uint32: 7 })), Some(PmixValue::Number(7)));
            assert_eq!(take(allocated(INT, Union { integer: -1 })), None);
            assert_eq!(take(allocated(999, Union { whole: [1; 3] })), None);
        }
    }

    #[test]
    fn informations_have_their_names() {
        let info = PmixInfo::flag(c"pmix.collect");
        // SAFETY: the array ends in zeros.
        let name = unsafe { CStr::from_ptr(info.key.as_ptr()) };
        assert_eq!((name, info.value.kind), (c"pmix.collect", BOOL));
    }
}
