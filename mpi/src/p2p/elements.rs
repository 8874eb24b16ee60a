//! What a status says (MPI 5.0 sections 3.2.5, 5.1.11 and 13.3): how much has been received, and setting it.

use crate::core::arguments::{count, out};
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::datatype::object::running;
use crate::datatype::query::put;
use crate::p2p::status;
use std::ffi::c_int;
use std::sync::Arc;
use tern_abi::*;
use tern_mem::Datatype;

entry! {
    /// Whole elements received; `MPI_UNDEFINED` if the last one is incomplete.
    fn MPI_Get_count, MPI_Get_count_c<W>(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut W::Count) {
        let count = out("count", count)?;
        let (bytes, datatype) = received(status, datatype)?;
        put(count, or_undefined(datatype.count_in(bytes)))
    }

    /// Basic elements received.
    fn MPI_Get_elements, MPI_Get_elements_c<W>(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut W::Count) {
        let count = out("count", count)?;
        let (bytes, datatype) = received(status, datatype)?;
        put(count, or_undefined(datatype.elements_in(bytes)))
    }

    /// The same with a large result (deprecated form).
    fn MPI_Get_elements_x(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut MPI_Count) {
        let count = out("count", count)?;
        let (bytes, datatype) = received(status, datatype)?;
        put(count, or_undefined(datatype.elements_in(bytes)))
    }

    /// Makes a status say that so many basic elements were received.
    fn MPI_Status_set_elements, MPI_Status_set_elements_c<W>(status: *mut MPI_Status, datatype: MPI_Datatype, count: W::Count) {
        set_elements(status, datatype, count.into())
    }

    /// The same with a large count (deprecated form).
    fn MPI_Status_set_elements_x(status: *mut MPI_Status, datatype: MPI_Datatype, count: MPI_Count) {
        set_elements(status, datatype, count)
    }

    /// Makes a status say whether the operation was cancelled.
    fn MPI_Status_set_cancelled(status: *mut MPI_Status, flag: c_int) {
        status::set_cancelled(&mut *of(status)?, flag != 0);
        Ok(())
    }

    /// The source that a status names.
    fn MPI_Status_get_source(status: *const MPI_Status, source: *mut c_int) {
        *out("source", source)? = (*of(status.cast_mut())?).MPI_SOURCE;
        Ok(())
    }

    /// The tag that a status names.
    fn MPI_Status_get_tag(status: *const MPI_Status, tag: *mut c_int) {
        *out("tag", tag)? = (*of(status.cast_mut())?).MPI_TAG;
        Ok(())
    }

    /// The error code in a status.
    fn MPI_Status_get_error(status: *const MPI_Status, error: *mut c_int) {
        *out("error", error)? = (*of(status.cast_mut())?).MPI_ERROR;
        Ok(())
    }

    /// Sets the source that a status names.
    fn MPI_Status_set_source(status: *mut MPI_Status, source: c_int) {
        (*of(status)?).MPI_SOURCE = source;
        Ok(())
    }

    /// Sets the tag that a status names.
    fn MPI_Status_set_tag(status: *mut MPI_Status, tag: c_int) {
        (*of(status)?).MPI_TAG = tag;
        Ok(())
    }

    /// Sets the error code in a status.
    fn MPI_Status_set_error(status: *mut MPI_Status, error: c_int) {
        (*of(status)?).MPI_ERROR = error;
        Ok(())
    }
}

/// A status, which must be there: `MPI_STATUS_IGNORE` says nothing.
fn of(status: *mut MPI_Status) -> Result<*mut MPI_Status> {
    if status.is_null() {
        return Err(fail(MPI_ERR_ARG, "status is MPI_STATUS_IGNORE (a null pointer): pass a status"));
    }
    Ok(status)
}

/// Bytes received and the datatype of a handle.
///
/// # Safety
/// `status` is null or points to a status.
unsafe fn received(status: *const MPI_Status, datatype: MPI_Datatype) -> Result<(u64, Arc<Datatype>)> {
    // SAFETY: not null; by the caller.
    let bytes = status::bytes(unsafe { &*of(status.cast_mut())? });
    Ok((bytes, running()?.types.get(datatype)?.clone()))
}

fn or_undefined(count: Option<u64>) -> i64 {
    count.and_then(|count| i64::try_from(count).ok()).unwrap_or(MPI_UNDEFINED.into())
}

/// # Safety
/// `status` is null or points to a status.
unsafe fn set_elements(status: *mut MPI_Status, datatype: MPI_Datatype, elements: i64) -> Result {
    let status = of(status)?;
    let elements = count("count", elements)?;
    let bytes = running()?.types.get(datatype)?.bytes_of_elements(elements);
    let bytes = bytes.ok_or_else(|| {
        fail(
            MPI_ERR_ARG,
            format!("count is {elements}, but so many elements of this datatype are no number of bytes"),
        )
    })?;
    // SAFETY: not null; by the caller.
    status::set_bytes(unsafe { &mut *status }, bytes);
    Ok(())
}
