//! The environment (MPI 5.0 chapter 9): versions, names, clocks, memory.

use crate::comm::resource;
use crate::core::boundary::{Out, OutPointer, OutText};
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::enter;
use crate::env::hints::Info;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::ffi::{c_double, c_int, c_void};
use tern_abi::*;

entry! {
    /// The standard's version, at any time.
    safe fn MPI_Get_version(version: Out<'_, c_int>, subversion: Out<'_, c_int>) {
        version.set(MPI_VERSION);
        subversion.set(MPI_SUBVERSION);
        Ok(())
    }

    /// The library's name and version, at any time.
    safe fn MPI_Get_library_version(version: OutText<'_>, resultlen: Out<'_, c_int>) {
        resultlen.set(version.store(LIBRARY_VERSION, MPI_MAX_LIBRARY_VERSION_STRING as usize));
        Ok(())
    }

    /// The name of this host (section 9.1.2).
    safe fn MPI_Get_processor_name(name: OutText<'_>, resultlen: Out<'_, c_int>) {
        enter().engine()?;
        resultlen.set(name.store(&host_name(), MPI_MAX_PROCESSOR_NAME as usize));
        Ok(())
    }

    /// The kinds of resources that this process may be restricted to (section 9.1.2). A kind is a
    /// value for `mpi_hw_resource_type` of `MPI_Comm_split_type`.
    safe fn MPI_Get_hw_resource_info(hw_info: Out<'_, MPI_Info>) {
        hw_info.set(enter().new_info(resource::all())?);
        Ok(())
    }

    /// Memory for messages (section 9.2).
    safe fn MPI_Alloc_mem(size: MPI_Aint, info: MPI_Info, baseptr: OutPointer<'_>) {
        let mut process = enter();
        process.engine()?;
        let alignment = alignment(&process.hints(info)?)?;
        baseptr.set(allocate(size, alignment)?);
        Ok(())
    }

    /// Gives memory of `MPI_Alloc_mem` back; a null pointer is no memory.
    safe fn MPI_Free_mem(base: *mut c_void) {
        if base.is_null() {
            return Ok(());
        }
        free(base)
    }

    /// A call for profiling tools to hear; the library does nothing (section 15.2.4). C programs may pass more
    /// arguments after the level, which nobody reads here.
    safe fn MPI_Pcontrol(_level: c_int) {
        Ok(())
    }
}

const LIBRARY_VERSION: &str =
    concat!("Tern ", env!("CARGO_PKG_VERSION"), ", an MPI 5.0 library with the standard ABI 1.0");

/// The name of this machine.
pub(crate) fn host_name() -> String {
    let mut name = [0u8; MPI_MAX_PROCESSOR_NAME as usize];
    // SAFETY: the buffer has room for its length.
    let failed = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) } != 0;
    let text = name.split(|&byte| byte == 0).next().unwrap_or_default();
    if failed || text.is_empty() { "localhost".into() } else { String::from_utf8_lossy(text).into_owned() }
}

/// Addresses that `MPI_Alloc_mem` has given out: freeing any other must not bring the program down.
static ALLOCATED: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// What `MPI_Alloc_mem` aligns to without a hint: a cache line, so that no message shares one with a neighbor.
const ALIGNMENT_MIN: usize = 64;

/// The hint `mpi_minimum_memory_alignment`: a power of two (section 9.2).
pub(crate) fn alignment(hints: &Info) -> Result<usize> {
    let Some(text) = hints.get("mpi_minimum_memory_alignment") else { return Ok(ALIGNMENT_MIN) };
    let alignment = text.parse::<usize>().ok().filter(|bytes| bytes.is_power_of_two());
    alignment.map(|bytes| bytes.max(ALIGNMENT_MIN)).ok_or_else(|| {
        fail(
            MPI_ERR_INFO_VALUE,
            format!("mpi_minimum_memory_alignment is '{text}', but must be a power of 2"),
        )
    })
}

fn allocate(size: MPI_Aint, alignment: usize) -> Result<*mut c_void> {
    let bytes = usize::try_from(size)
        .map_err(|_| fail(MPI_ERR_SIZE, format!("size is {size}, but must not be negative")))?;
    let mut base = std::ptr::null_mut();
    // SAFETY: `base` is a place for the result. Never 0 bytes, so that each block has an address of its own.
    let failed = unsafe { libc::posix_memalign(&mut base, alignment, bytes.max(1)) } != 0;
    if failed || base.is_null() {
        return Err(fail(MPI_ERR_NO_MEM, format!("there is no memory for {bytes} bytes")));
    }
    ALLOCATED.lock().insert(base as usize);
    Ok(base)
}

fn free(base: *mut c_void) -> Result {
    if !ALLOCATED.lock().remove(&(base as usize)) {
        return Err(fail(
            MPI_ERR_BASE,
            format!("{base:p} is no memory of MPI_Alloc_mem, or was freed before"),
        ));
    }
    // SAFETY: `allocate` gave it out, and it has not been freed since.
    unsafe { libc::free(base) };
    Ok(())
}

/// Exports a function that returns its value rather than an error code, under both names.
macro_rules! value_entry {
    ($($(#[$meta:meta])* fn $name:ident($($p:ident: $t:ty),*) -> $result:ty $body:block)*) => {$(
        $(#[$meta])*
        #[unsafe(no_mangle)]
        #[allow(unreachable_pub, reason = "the loader finds it")]
        pub extern "C" fn $name($($p: $t),*) -> $result $body

        const _: () = {
            #[unsafe(export_name = concat!("P", stringify!($name)))]
            extern "C" fn profiled($($p: $t),*) -> $result {
                $name($($p),*)
            }
        };
    )*};
}

value_entry! {
    /// Seconds since the machine was started: the same clock in all its processes (section 9.6).
    fn MPI_Wtime() -> c_double {
        tern_job::now_ns() as f64 * NANOSECOND
    }

    /// Seconds between ticks of `MPI_Wtime`.
    fn MPI_Wtick() -> c_double {
        NANOSECOND
    }

    /// An address and a displacement; neither is looked at (section 5.1.5).
    fn MPI_Aint_add(base: MPI_Aint, disp: MPI_Aint) -> MPI_Aint {
        base.wrapping_add(disp)
    }

    /// The distance of two addresses.
    fn MPI_Aint_diff(addr1: MPI_Aint, addr2: MPI_Aint) -> MPI_Aint {
        addr1.wrapping_sub(addr2)
    }
}

/// In seconds.
const NANOSECOND: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignment_is_a_power_of_two() {
        let with = |text: &str| {
            let mut hints = Info::default();
            hints.set("mpi_minimum_memory_alignment", text);
            alignment(&hints).ok()
        };
        assert_eq!((with("4096"), with("8"), with("3"), with("wide")), (Some(4096), Some(64), None, None));
        assert_eq!(alignment(&Info::default()).ok(), Some(ALIGNMENT_MIN));
    }
}
