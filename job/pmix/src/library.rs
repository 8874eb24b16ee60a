//! The library, found and opened at run time.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fmt, mem};

use crate::abi::{PmixInfo, Proc, Value};

/// The first version whose structures are laid out as here.
const VERSION_MIN: u32 = 4;

/// The functions of an opened library. It is never closed: it may have threads.
pub struct PmixLibrary {
    pub(crate) init: unsafe extern "C" fn(*mut Proc, *const PmixInfo, usize) -> c_int,
    pub(crate) finalize: unsafe extern "C" fn(*const PmixInfo, usize) -> c_int,
    pub(crate) abort: unsafe extern "C" fn(c_int, *const c_char, *const Proc, usize) -> c_int,
    pub(crate) put: unsafe extern "C" fn(u8, *const c_char, *mut Value) -> c_int,
    pub(crate) commit: unsafe extern "C" fn() -> c_int,
    pub(crate) fence: unsafe extern "C" fn(*const Proc, usize, *const PmixInfo, usize) -> c_int,
    pub(crate) get:
        unsafe extern "C" fn(*const Proc, *const c_char, *const PmixInfo, usize, *mut *mut Value) -> c_int,
    pub(crate) error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    pub(crate) version: String,
}

impl fmt::Debug for PmixLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PmixLibrary").field("version", &self.version).finish_non_exhaustive()
    }
}

/// Why no library could be used: what was tried, with what came of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no usable libpmix.so.2 was found: {}", tried.join("; "))]
pub struct LoadError {
    /// A line for each place.
    pub tried: Vec<String>,
}

impl PmixLibrary {
    /// Opens the first of these that can be used. A name without a slash is looked for by the loader.
    pub fn open(places: impl IntoIterator<Item = PathBuf>) -> Result<PmixLibrary, LoadError> {
        let mut tried = Vec::new();
        for place in places {
            match open(&place) {
                Ok(library) => return Ok(library),
                Err(reason) => tried.push(format!("{}: {reason}", place.display())),
            }
        }
        Err(LoadError { tried })
    }
}

fn open(place: &Path) -> Result<PmixLibrary, String> {
    let name = CString::new(place.as_os_str().as_bytes()).map_err(|_| "no path".to_owned())?;
    // SAFETY: the name is a text that ends in zero. What the library does when it is loaded is what its users trust it with.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(loader_words());
    }
    let version = version_of(handle)?;
    match major(&version) {
        Some(number) if number >= VERSION_MIN => {}
        _ => return Err(format!("its version is '{version}'; needed is {VERSION_MIN} or newer")),
    }
    // SAFETY: each symbol is a function of PMIx with this signature, in all versions from 4 on.
    unsafe {
        Ok(PmixLibrary {
            init: function(handle, c"PMIx_Init")?,
            finalize: function(handle, c"PMIx_Finalize")?,
            abort: function(handle, c"PMIx_Abort")?,
            put: function(handle, c"PMIx_Put")?,
            commit: function(handle, c"PMIx_Commit")?,
            fence: function(handle, c"PMIx_Fence")?,
            get: function(handle, c"PMIx_Get")?,
            error_string: function(handle, c"PMIx_Error_string")?,
            version,
        })
    }
}

fn version_of(handle: *mut c_void) -> Result<String, String> {
    // SAFETY: the function has no arguments and returns a text that lives as long as the library.
    unsafe {
        let version: unsafe extern "C" fn() -> *const c_char = function(handle, c"PMIx_Get_version")?;
        let text = version();
        if text.is_null() {
            return Err("it does not tell its version".into());
        }
        Ok(CStr::from_ptr(text).to_string_lossy().into_owned())
    }
}

/// The number before the first dot, as in 'OpenPMIx 4.2.2 (PMIx Standard: 4.1, …)'.
fn major(version: &str) -> Option<u32> {
    let before = version.split('.').next()?;
    let digits = before.rsplit(|letter: char| !letter.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// A function of the library.
///
/// # Safety
///
/// `F` is a pointer to a function with the signature that the symbol has.
unsafe fn function<F: Copy>(handle: *mut c_void, name: &CStr) -> Result<F, String> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let symbol = symbol(handle, name)?;
    // SAFETY: the caller says that it is such a pointer, and its size is right.
    Ok(unsafe { mem::transmute_copy(&symbol) })
}

fn symbol(handle: *mut c_void, name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: the handle is an open library's, and the name ends in zero.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    if found.is_null() { Err(format!("it has no {}", name.to_string_lossy())) } else { Ok(found) }
}

fn loader_words() -> String {
    // SAFETY: the loader's last message is this thread's own.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            "cannot be opened".into()
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }
}

/// Whether a file of a process's mappings is the library.
pub fn is_library(path: &Path) -> bool {
    path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with("libpmix.so.2"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers_before_a_dot() {
        assert_eq!(major("OpenPMIx 4.2.2 (PMIx Standard: 4.1, Stable ABI: 0.0)"), Some(4));
        assert_eq!(major("OpenPMIx 5.0.11rc1"), Some(5));
        assert_eq!(major("12.0"), Some(12));
        assert_eq!(major("unknown"), None);
    }

    #[test]
    fn what_cannot_be_used_is_listed_with_its_reason() {
        let places = ["/nonexistent/libpmix.so.2", "libc.so.6"].map(PathBuf::from);
        let error = PmixLibrary::open(places).unwrap_err();
        assert!(error.tried[0].contains("/nonexistent"), "{error}");
        assert!(error.tried[1].contains("it has no PMIx_Get_version"), "{error}");
    }
}
