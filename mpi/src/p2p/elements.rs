//! What a status says (MPI 5.0 sections 3.2.5, 5.1.11 and 13.3): how much has been received, and setting it.

use crate::core::arguments::count;
use crate::core::boundary::Out;
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::datatype::calls::running;
use crate::datatype::query::put;
use crate::p2p::status;
use std::ffi::c_int;
use std::sync::Arc;
use tern_abi::*;
use tern_mem::Datatype;

entry! {
    /// Whole elements received; `MPI_UNDEFINED` if the last one is incomplete.
    safe fn MPI_Get_count, MPI_Get_count_c<W>(status: Option<&MPI_Status>, datatype: MPI_Datatype, count: Out<'_, W::Count>) {
        let (bytes, datatype) = received(status, datatype)?;
        put(count, or_undefined(datatype.count_in(bytes)))
    }

    /// The number of basic elements that were received.
    safe fn MPI_Get_elements, MPI_Get_elements_c<W>(status: Option<&MPI_Status>, datatype: MPI_Datatype, count: Out<'_, W::Count>) {
        let (bytes, datatype) = received(status, datatype)?;
        put(count, or_undefined(datatype.elements_in(bytes)))
    }

    /// How many basic elements were received, as a large result (deprecated form).
    safe fn MPI_Get_elements_x(status: Option<&MPI_Status>, datatype: MPI_Datatype, count: Out<'_, MPI_Count>) {
        let (bytes, datatype) = received(status, datatype)?;
        put(count, or_undefined(datatype.elements_in(bytes)))
    }

    /// Makes a status say that so many basic elements were received.
    safe fn MPI_Status_set_elements, MPI_Status_set_elements_c<W>(status: Option<&mut MPI_Status>, datatype: MPI_Datatype, count: W::Count) {
        set_elements(status, datatype, count.into())
    }

    /// Makes a status say that so many basic elements were received, by a large count (deprecated form).
    safe fn MPI_Status_set_elements_x(status: Option<&mut MPI_Status>, datatype: MPI_Datatype, count: MPI_Count) {
        set_elements(status, datatype, count)
    }

    /// Makes a status say whether the operation was cancelled.
    safe fn MPI_Status_set_cancelled(status: Option<&mut MPI_Status>, flag: c_int) {
        status::set_cancelled(of(status)?, flag != 0);
        Ok(())
    }

    /// The source that a status names.
    safe fn MPI_Status_get_source(status: Option<&MPI_Status>, source: Out<'_, c_int>) {
        source.set(of(status)?.MPI_SOURCE);
        Ok(())
    }

    /// The tag that a status names.
    safe fn MPI_Status_get_tag(status: Option<&MPI_Status>, tag: Out<'_, c_int>) {
        tag.set(of(status)?.MPI_TAG);
        Ok(())
    }

    /// The error code in a status.
    safe fn MPI_Status_get_error(status: Option<&MPI_Status>, error: Out<'_, c_int>) {
        error.set(of(status)?.MPI_ERROR);
        Ok(())
    }

    /// Sets the source that a status names.
    safe fn MPI_Status_set_source(status: Option<&mut MPI_Status>, source: c_int) {
        of(status)?.MPI_SOURCE = source;
        Ok(())
    }

    /// Sets the tag that a status names.
    safe fn MPI_Status_set_tag(status: Option<&mut MPI_Status>, tag: c_int) {
        of(status)?.MPI_TAG = tag;
        Ok(())
    }

    /// Sets the error code in a status.
    safe fn MPI_Status_set_error(status: Option<&mut MPI_Status>, error: c_int) {
        of(status)?.MPI_ERROR = error;
        Ok(())
    }
}

/// A status, which must be there: `MPI_STATUS_IGNORE` says nothing.
fn of<S>(status: Option<S>) -> Result<S> {
    status.ok_or_else(|| fail(MPI_ERR_ARG, "status is MPI_STATUS_IGNORE (a null pointer): pass a status"))
}

/// Bytes received and the datatype of a handle.
fn received(status: Option<&MPI_Status>, datatype: MPI_Datatype) -> Result<(u64, Arc<Datatype>)> {
    let bytes = status::bytes(of(status)?);
    Ok((bytes, running()?.objects.types.get(datatype)?.clone()))
}

fn or_undefined(count: Option<u64>) -> i64 {
    count.and_then(|count| i64::try_from(count).ok()).unwrap_or(MPI_UNDEFINED.into())
}

fn set_elements(status: Option<&mut MPI_Status>, datatype: MPI_Datatype, elements: i64) -> Result {
    let status = of(status)?;
    let elements = count("count", elements)?;
    let bytes = running()?.objects.types.get(datatype)?.bytes_of_elements(elements);
    let bytes = bytes.ok_or_else(|| {
        fail(
            MPI_ERR_ARG,
            format!("count is {elements}, but so many elements of this datatype are no number of bytes"),
        )
    })?;
    status::set_bytes(status, bytes);
    Ok(())
}
