//! What hwloc tells of this machine's processors, by a library that is looked for at run time: `libhwloc.so.15`.
//!
//! Its objects are C structures, of which nothing is used here. The library writes down the whole machine as a text (XML), whose
//! form is promised for all of version 2, and the room `job` reads that without unsafe code.

use std::ffi::{CStr, CString, c_char, c_int, c_ulong, c_void};
use std::ptr;

/// The library's name: that of all its releases of version 2.
const NAME: &CStr = c"libhwloc.so.15";

/// The version whose text is understood.
const VERSION: u32 = 2;

/// Processors that this process may not use are told of as well, so that all processes see the same machine.
const INCLUDE_DISALLOWED: c_ulong = 1;

/// Why the library tells nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HwlocError {
    /// It is not installed, or cannot be loaded.
    #[error("libhwloc.so.15 cannot be loaded: {0}")]
    NotLoaded(String),
    /// It lacks a function.
    #[error("libhwloc.so.15 has no {0}")]
    NoSymbol(String),
    /// It is another version.
    #[error("libhwloc.so.15 is of version {0}, and {VERSION} is needed")]
    Version(u32),
    /// A call failed.
    #[error("{0} failed")]
    Call(&'static str),
}

type HwlocTopology = *mut c_void;

/// The functions that are used.
struct HwlocFunctions {
    init: unsafe extern "C" fn(*mut HwlocTopology) -> c_int,
    set_flags: unsafe extern "C" fn(HwlocTopology, c_ulong) -> c_int,
    set_synthetic: unsafe extern "C" fn(HwlocTopology, *const c_char) -> c_int,
    load: unsafe extern "C" fn(HwlocTopology) -> c_int,
    export: unsafe extern "C" fn(HwlocTopology, *mut *mut c_char, *mut c_int, c_ulong) -> c_int,
    free: unsafe extern "C" fn(HwlocTopology, *mut c_char),
    destroy: unsafe extern "C" fn(HwlocTopology),
}

/// A topology of the library's, which is destroyed at the end.
struct OwnedTopology<'a>(&'a HwlocFunctions, HwlocTopology);

impl Drop for OwnedTopology<'_> {
    fn drop(&mut self) {
        // SAFETY: `hwloc_topology_init` has made it, and nobody uses it after.
        unsafe { (self.0.destroy)(self.1) };
    }
}

/// This machine as the library writes it down.
pub fn this_machine() -> Result<String, HwlocError> {
    written(None)
}

/// A machine that is not here, by the library's words for such machines, as in `pack:2 core:4 pu:2`.
pub fn synthetic(words: &str) -> Result<String, HwlocError> {
    written(Some(words))
}

fn written(words: Option<&str>) -> Result<String, HwlocError> {
    let library = open()?;
    let check = |call, code: c_int| if code == 0 { Ok(()) } else { Err(HwlocError::Call(call)) };
    let mut topology = ptr::null_mut();
    // SAFETY: the signatures are those of the library's version 2; every pointer is to what lives during the call.
    unsafe {
        check("hwloc_topology_init", (library.init)(&raw mut topology))?;
        let topology = OwnedTopology(&library, topology);
        check("hwloc_topology_set_flags", (library.set_flags)(topology.1, INCLUDE_DISALLOWED))?;
        if let Some(words) = words {
            let words = CString::new(words).map_err(|_| HwlocError::Call("hwloc_topology_set_synthetic"))?;
            check("hwloc_topology_set_synthetic", (library.set_synthetic)(topology.1, words.as_ptr()))?;
        }
        check("hwloc_topology_load", (library.load)(topology.1))?;
        let (mut text, mut len) = (ptr::null_mut(), 0);
        let exported = (library.export)(topology.1, &raw mut text, &raw mut len, 0);
        check("hwloc_topology_export_xmlbuffer", exported)?;
        // The library counts the zero at the end.
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        (library.free)(topology.1, text);
        Ok(copy)
    }
}

/// Opens the library. It stays loaded.
fn open() -> Result<HwlocFunctions, HwlocError> {
    // SAFETY: the name is a text that ends in zero. What the library does when it is loaded is what its users trust it with.
    let handle = unsafe { libc::dlopen(NAME.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(HwlocError::NotLoaded(loader_words()));
    }
    // SAFETY: each symbol is a function of the library with the signature of its field, in all releases of version 2.
    unsafe {
        let version: unsafe extern "C" fn() -> u32 = function(handle, c"hwloc_get_api_version")?;
        let version = version() >> 16;
        if version != VERSION {
            return Err(HwlocError::Version(version));
        }
        Ok(HwlocFunctions {
            init: function(handle, c"hwloc_topology_init")?,
            set_flags: function(handle, c"hwloc_topology_set_flags")?,
            set_synthetic: function(handle, c"hwloc_topology_set_synthetic")?,
            load: function(handle, c"hwloc_topology_load")?,
            export: function(handle, c"hwloc_topology_export_xmlbuffer")?,
            free: function(handle, c"hwloc_free_xmlbuffer")?,
            destroy: function(handle, c"hwloc_topology_destroy")?,
        })
    }
}

/// A function of the library.
///
/// # Safety
///
/// `F` is a pointer to a function with the signature that the symbol has, and the handle is open.
unsafe fn function<F: Copy>(handle: *mut c_void, name: &CStr) -> Result<F, HwlocError> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the handle is open by the caller, and the name ends in zero.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    if found.is_null() {
        return Err(HwlocError::NoSymbol(name.to_string_lossy().into_owned()));
    }
    // SAFETY: the caller says that it is such a pointer, and its size is right.
    Ok(unsafe { std::mem::transmute_copy(&found) })
}

fn loader_words() -> String {
    // SAFETY: the loader's last message is this thread's own.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "no reason is given".into();
    }
    // SAFETY: a text of the loader's, which ends in zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_written_down_or_there_is_a_reason() {
        match this_machine() {
            Ok(text) => assert!(text.contains("type=\"PU\""), "{text}"),
            Err(error) => assert!(error.to_string().starts_with("libhwloc.so.15 "), "{error}"),
        }
    }

    #[test]
    fn words_that_make_no_sense_are_an_error() {
        if this_machine().is_ok() {
            assert_eq!(synthetic("pack:x"), Err(HwlocError::Call("hwloc_topology_set_synthetic")));
            assert_eq!(synthetic("core:2 pu:2").unwrap().matches("type=\"PU\"").count(), 4);
        }
    }
}
