//! Chapter 20: the ABI itself, and handles as integers (section 20.3).

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tern_abi::*;

use crate::core::boundary::{ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::enter;
use crate::env::hints::Info;

/// What a Fortran layer has told: the library itself knows nothing of the Fortran compiler (section 20.5).
struct Fortran {
    /// Sizes and supported types, by key.
    info: Option<Info>,
    /// `.TRUE.` and `.FALSE.` by the bytes of a `LOGICAL`.
    booleans: BTreeMap<usize, [Vec<u8>; 2]>,
}

static FORTRAN: Mutex<Fortran> = Mutex::new(Fortran { info: None, booleans: BTreeMap::new() });

fn fortran() -> MutexGuard<'static, Fortran> {
    FORTRAN.lock().unwrap_or_else(PoisonError::into_inner)
}

entry! {
    /// Version of the standard ABI, before `MPI_Init` and after `MPI_Finalize` too.
    safe fn MPI_Abi_get_version(abi_major: Out<'_, c_int>, abi_minor: Out<'_, c_int>) {
        abi_major.set(MPI_ABI_VERSION);
        abi_minor.set(MPI_ABI_SUBVERSION);
        Ok(())
    }

    /// Sizes in bytes of the ABI's integers, as a new info object.
    safe fn MPI_Abi_get_info(info: Out<'_, MPI_Info>) {
        let entries = [("mpi_aint_size", 8), ("mpi_count_size", 8), ("mpi_offset_size", 8)]
            .map(|(key, bytes)| (key.to_owned(), bytes.to_string()));
        info.set(enter().new_info(Info { entries: entries.into() })?);
        Ok(())
    }

    /// What a Fortran layer has told by `MPI_Abi_set_fortran_info`, as a new info object; the null one if none has.
    safe fn MPI_Abi_get_fortran_info(info: Out<'_, MPI_Info>) {
        let told = fortran().info.clone();
        info.set(told.map_or(Ok(MPI_INFO_NULL), |told| enter().new_info(told))?);
        Ok(())
    }

    /// Tells the sizes and supported types of Fortran; once, or always the same.
    safe fn MPI_Abi_set_fortran_info(info: MPI_Info) {
        let told = enter().info(info)?.clone();
        set_once(fortran().info.get_or_insert_with(|| told.clone()), &told, "the facts of Fortran")
    }

    /// The values of `.TRUE.` and `.FALSE.` in a `LOGICAL` of `logical_size` bytes, if they have been told.
    safe fn MPI_Abi_get_fortran_booleans(
        logical_size: c_int, logical_true: ChoiceBufMut, logical_false: ChoiceBufMut, is_set: Out<'_, c_int>,
    ) {
        let bytes = logical_bytes(logical_size)?;
        let told = fortran().booleans.get(&bytes).cloned();
        is_set.set(c_int::from(told.is_some()));
        if let Some([yes, no]) = told {
            write("logical_true", logical_true, &yes)?;
            write("logical_false", logical_false, &no)?;
        }
        Ok(())
    }

    /// Tells the values of `.TRUE.` and `.FALSE.`; once for each size, or always the same.
    safe fn MPI_Abi_set_fortran_booleans(logical_size: c_int, logical_true: ChoiceBufMut, logical_false: ChoiceBufMut) {
        let bytes = logical_bytes(logical_size)?;
        let told = [read("logical_true", logical_true, bytes)?, read("logical_false", logical_false, bytes)?];
        set_once(fortran().booleans.entry(bytes).or_insert_with(|| told.clone()), &told, "the values of .TRUE. and .FALSE.")
    }
}

/// Writes a value of Fortran's.
fn write(name: &str, place: ChoiceBufMut, value: &[u8]) -> Result {
    expect(name, place)?;
    value.iter().enumerate().for_each(|(at, byte)| place.store(at, *byte));
    Ok(())
}

/// Reads a value of so many bytes.
fn read(name: &str, place: ChoiceBufMut, bytes: usize) -> Result<Vec<u8>> {
    expect(name, place)?;
    Ok((0..bytes).map(|at| ChoiceBuf::from(place).load(at)).collect())
}

fn expect(name: &str, place: ChoiceBufMut) -> Result {
    if place.is_null() { Err(fail(MPI_ERR_ARG, format!("{name} is a null pointer"))) } else { Ok(()) }
}

/// Fortran's own sizes of a `LOGICAL`.
fn logical_bytes(size: c_int) -> Result<usize> {
    match size {
        1 | 2 | 4 | 8 | 16 => Ok(size as usize),
        _ => Err(fail(MPI_ERR_ARG, format!("logical_size is {size}, but must be 1, 2, 4, 8 or 16"))),
    }
}

fn set_once<T: PartialEq>(kept: &T, told: &T, what: &str) -> Result {
    if kept == told {
        return Ok(());
    }
    Err(fail(MPI_ERR_ABI, format!("{what} have been set before, to something else")))
}

/// Exports the two conversions of each handle type under `MPI_X` and `PMPI_X`. Tern's handles are 31-bit
/// integers, and the standard's smaller still, so nothing is lost on the way; any value may be converted, and
/// the call that uses the handle looks whether it is one.
macro_rules! conversions {
    ($($handle:ident: $toint:ident, $fromint:ident;)*) => {$(
        const _: () = {
            #[doc = concat!("The integer of a handle, for Fortran: `", stringify!($toint), "`.")]
            #[unsafe(no_mangle)]
            #[allow(unreachable_pub, reason = "the loader finds it")]
            pub extern "C" fn $toint(handle: $handle) -> c_int {
                handle.0 as c_int
            }
            #[unsafe(export_name = concat!("P", stringify!($toint)))]
            extern "C" fn profiled_toint(handle: $handle) -> c_int {
                $toint(handle)
            }
            #[doc = concat!("The handle of an integer: `", stringify!($fromint), "`.")]
            #[unsafe(no_mangle)]
            #[allow(unreachable_pub, reason = "the loader finds it")]
            pub extern "C" fn $fromint(integer: c_int) -> $handle {
                $handle(integer as u32 as usize)
            }
            #[unsafe(export_name = concat!("P", stringify!($fromint)))]
            extern "C" fn profiled_fromint(integer: c_int) -> $handle {
                $fromint(integer)
            }
        };
    )*};
}

conversions! {
    MPI_Comm: MPI_Comm_toint, MPI_Comm_fromint;
    MPI_Errhandler: MPI_Errhandler_toint, MPI_Errhandler_fromint;
    MPI_File: MPI_File_toint, MPI_File_fromint;
    MPI_Group: MPI_Group_toint, MPI_Group_fromint;
    MPI_Info: MPI_Info_toint, MPI_Info_fromint;
    MPI_Message: MPI_Message_toint, MPI_Message_fromint;
    MPI_Op: MPI_Op_toint, MPI_Op_fromint;
    MPI_Request: MPI_Request_toint, MPI_Request_fromint;
    MPI_Session: MPI_Session_toint, MPI_Session_fromint;
    MPI_Datatype: MPI_Type_toint, MPI_Type_fromint;
    MPI_Win: MPI_Win_toint, MPI_Win_fromint;
}
