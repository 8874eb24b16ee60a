//! Packing by hand (MPI 5.0 sections 5.2 and 5.3), addresses (section 5.1.5).

use crate::core::arguments::{count, out, present, string};
use crate::core::entry::{IntoWide, entry};
use crate::core::error::{Result, fail};
use crate::datatype::object::running;
use crate::datatype::query::put;
use std::ffi::{c_char, c_void};
use std::sync::Arc;
use tern_abi::*;
use tern_mem::Datatype;
use tern_mem::datatype::PackedBuf;

entry! {
    /// Packs elements to `outbuf` from `*position` on, and moves the position.
    fn MPI_Pack, MPI_Pack_c<W>(inbuf: *const c_void, incount: W::Count, datatype: MPI_Datatype, outbuf: *mut c_void, outsize: W::Count, position: *mut W::Count, comm: MPI_Comm) on comm {
        let at = out("position", position)?;
        let elements = Elements::new("incount", inbuf, incount.into(), datatype, Some(comm))?;
        let to = packed("outbuf", outbuf, outsize.into(), (*at).into())?;
        put(at, elements.datatype.pack(elements.base, elements.count, to)?)
    }

    /// Unpacks elements from `inbuf` from `*position` on, and moves the position.
    fn MPI_Unpack, MPI_Unpack_c<W>(inbuf: *const c_void, insize: W::Count, position: *mut W::Count, outbuf: *mut c_void, outcount: W::Count, datatype: MPI_Datatype, comm: MPI_Comm) on comm {
        let at = out("position", position)?;
        let elements = Elements::new("outcount", outbuf, outcount.into(), datatype, Some(comm))?;
        let from = packed("inbuf", inbuf, insize.into(), (*at).into())?;
        put(at, elements.datatype.unpack(from, elements.base, elements.count)?)
    }

    /// Bytes that elements take when packed; `MPI_UNDEFINED` if the number does not fit.
    fn MPI_Pack_size, MPI_Pack_size_c<W>(incount: W::Count, datatype: MPI_Datatype, comm: MPI_Comm, size: *mut W::Count) on comm {
        let size = out("size", size)?;
        let incount = count("incount", incount.into())? as i64;
        let process = running()?;
        process.comm(comm)?;
        put(size, process.types.committed(datatype)?.pack_size(incount).unwrap_or(MPI_UNDEFINED.into()))
    }

    /// Packs elements in a representation that every MPI library on every machine can read.
    fn MPI_Pack_external, MPI_Pack_external_c<W>(datarep: *const c_char, inbuf: *const c_void, incount: W::Count, datatype: MPI_Datatype, outbuf: *mut c_void, outsize: W::Address, position: *mut W::Address) {
        external32(datarep)?;
        let at = out("position", position)?;
        let elements = Elements::new("incount", inbuf, incount.into(), datatype, None)?;
        let to = packed("outbuf", outbuf, outsize.wide(), (*at).wide())?;
        put(at, elements.datatype.pack_external(elements.base, elements.count, to)?)
    }

    /// Unpacks elements in that representation.
    fn MPI_Unpack_external, MPI_Unpack_external_c<W>(datarep: *const c_char, inbuf: *const c_void, insize: W::Address, position: *mut W::Address, outbuf: *mut c_void, outcount: W::Count, datatype: MPI_Datatype) {
        external32(datarep)?;
        let at = out("position", position)?;
        let elements = Elements::new("outcount", outbuf, outcount.into(), datatype, None)?;
        let from = packed("inbuf", inbuf, insize.wide(), (*at).wide())?;
        put(at, elements.datatype.unpack_external(from, elements.base, elements.count)?)
    }

    /// Bytes that elements take in that representation.
    fn MPI_Pack_external_size, MPI_Pack_external_size_c<W>(datarep: *const c_char, incount: W::Count, datatype: MPI_Datatype, size: *mut W::Address) {
        external32(datarep)?;
        let size = out("size", size)?;
        let incount = count("incount", incount.into())? as i64;
        put(size, running()?.types.committed(datatype)?.external_size(incount)?)
    }

    /// The address of a place in memory, for displacements from `MPI_BOTTOM`.
    fn MPI_Get_address(location: *const c_void, address: *mut MPI_Aint) {
        *out("address", address)? = location as MPI_Aint;
        Ok(())
    }
}

/// The elements of a packing call.
struct Elements {
    base: *mut u8,
    count: i64,
    datatype: Arc<Datatype>,
}

impl Elements {
    fn new(
        name: &str,
        base: *const c_void,
        elements: i64,
        datatype: MPI_Datatype,
        comm: Option<MPI_Comm>,
    ) -> Result<Self> {
        let elements = count(name, elements)? as i64;
        let process = running()?;
        if let Some(comm) = comm {
            process.comm(comm)?;
        }
        let found = process.types.committed(datatype)?.clone();
        let bytes = (elements as u64).saturating_mul(found.size() as u64);
        present("the buffer", base, bytes, found.true_lb())?;
        Ok(Elements { base: base.cast_mut().cast(), count: elements, datatype: found })
    }
}

/// The packed side of a call.
fn packed(name: &str, base: *const c_void, size: i64, position: i64) -> Result<PackedBuf> {
    if size < 0 {
        return Err(fail(MPI_ERR_ARG, format!("the size of {name} is {size}, but must not be negative")));
    }
    present(name, base, size as u64, 0)?;
    Ok(PackedBuf { base: base.cast_mut().cast(), size, position })
}

/// The one data representation of section 5.3.
///
/// # Safety
/// As [`string`].
unsafe fn external32(datarep: *const c_char) -> Result {
    // SAFETY: by the caller.
    let datarep = unsafe { string("datarep", datarep) }?;
    if datarep == "external32" {
        return Ok(());
    }
    Err(fail(MPI_ERR_ARG, format!("datarep is \"{datarep}\", but only \"external32\" can be packed")))
}
