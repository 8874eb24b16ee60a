//! Packing by hand (MPI 5.0 sections 5.2 and 5.3), addresses (section 5.1.5).

use crate::core::arguments::{count, present};
use crate::core::boundary::{ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::{IntoWide, entry};
use crate::core::error::{Result, fail};
use crate::datatype::calls::running;
use crate::datatype::query::{fitting, put};
use std::borrow::Cow;
use std::ffi::c_void;
use std::sync::Arc;
use tern_abi::*;
use tern_mem::Datatype;
use tern_mem::datatype::PackedBuf;

entry! {
    /// Packs elements to `outbuf` from `*position` on, and moves the position.
    safe fn MPI_Pack, MPI_Pack_c<W>(inbuf: ChoiceBuf, incount: W::Count, datatype: MPI_Datatype, outbuf: ChoiceBufMut, outsize: W::Count, position: &mut W::Count, comm: MPI_Comm) on comm {
        let elements = PackedElements::new("incount", inbuf, incount.into(), datatype, Some(comm))?;
        let to = packed("outbuf", outbuf.into(), outsize.into(), (*position).into())?;
        advance(position, elements.pack(to)?)
    }

    /// Unpacks elements from `inbuf` from `*position` on, and moves the position.
    safe fn MPI_Unpack, MPI_Unpack_c<W>(inbuf: ChoiceBuf, insize: W::Count, position: &mut W::Count, outbuf: ChoiceBufMut, outcount: W::Count, datatype: MPI_Datatype, comm: MPI_Comm) on comm {
        let elements = PackedElements::new("outcount", outbuf.into(), outcount.into(), datatype, Some(comm))?;
        let from = packed("inbuf", inbuf, insize.into(), (*position).into())?;
        advance(position, elements.unpack(from)?)
    }

    /// Bytes that elements take when packed; `MPI_UNDEFINED` if the number does not fit.
    safe fn MPI_Pack_size, MPI_Pack_size_c<W>(incount: W::Count, datatype: MPI_Datatype, comm: MPI_Comm, size: Out<'_, W::Count>) on comm {
        let incount = count("incount", incount.into())? as i64;
        let process = running()?;
        process.comm(comm)?;
        put(size, process.objects.types.committed(datatype)?.pack_size(incount).unwrap_or(MPI_UNDEFINED.into()))
    }

    /// Packs elements in a representation that every MPI library on every machine can read.
    safe fn MPI_Pack_external, MPI_Pack_external_c<W>(datarep: Cow<'_, str>, inbuf: ChoiceBuf, incount: W::Count, datatype: MPI_Datatype, outbuf: ChoiceBufMut, outsize: W::Address, position: &mut W::Address) {
        external32(&datarep)?;
        let elements = PackedElements::new("incount", inbuf, incount.into(), datatype, None)?;
        let to = packed("outbuf", outbuf.into(), outsize.wide(), (*position).wide())?;
        advance(position, elements.pack_external(to)?)
    }

    /// Unpacks elements in a representation such as `external32`.
    safe fn MPI_Unpack_external, MPI_Unpack_external_c<W>(datarep: Cow<'_, str>, inbuf: ChoiceBuf, insize: W::Address, position: &mut W::Address, outbuf: ChoiceBufMut, outcount: W::Count, datatype: MPI_Datatype) {
        external32(&datarep)?;
        let elements = PackedElements::new("outcount", outbuf.into(), outcount.into(), datatype, None)?;
        let from = packed("inbuf", inbuf, insize.wide(), (*position).wide())?;
        advance(position, elements.unpack_external(from)?)
    }

    /// Bytes that elements take in a representation such as `external32`.
    safe fn MPI_Pack_external_size, MPI_Pack_external_size_c<W>(datarep: Cow<'_, str>, incount: W::Count, datatype: MPI_Datatype, size: Out<'_, W::Address>) {
        external32(&datarep)?;
        let incount = count("incount", incount.into())? as i64;
        put(size, running()?.objects.types.committed(datatype)?.external_size(incount)?)
    }

    /// The address of a place in memory, for displacements from `MPI_BOTTOM`.
    safe fn MPI_Get_address(location: *const c_void, address: Out<'_, MPI_Aint>) {
        address.set(location as MPI_Aint);
        Ok(())
    }
}

/// The elements of a packing call.
struct PackedElements {
    base: *mut u8,
    count: i64,
    datatype: Arc<Datatype>,
}

impl PackedElements {
    fn new(
        name: &str,
        base: ChoiceBuf,
        elements: i64,
        datatype: MPI_Datatype,
        comm: Option<MPI_Comm>,
    ) -> Result<Self> {
        let elements = count(name, elements)? as i64;
        let process = running()?;
        if let Some(comm) = comm {
            process.comm(comm)?;
        }
        let found = process.objects.types.committed(datatype)?.clone();
        let bytes = (elements as u64).saturating_mul(found.size() as u64);
        present("the buffer", base.address(), bytes, found.true_lb())?;
        Ok(PackedElements { base: base.bytes(), count: elements, datatype: found })
    }

    fn pack(&self, to: PackedBuf) -> Result<i64> {
        // SAFETY: the program vouches for its buffers, whose sizes have been checked.
        Ok(unsafe { self.datatype.pack(self.base, self.count, to)? })
    }

    fn unpack(&self, from: PackedBuf) -> Result<i64> {
        // SAFETY: as in `pack`.
        Ok(unsafe { self.datatype.unpack(from, self.base, self.count)? })
    }

    fn pack_external(&self, to: PackedBuf) -> Result<i64> {
        // SAFETY: as in `pack`.
        Ok(unsafe { self.datatype.pack_external(self.base, self.count, to)? })
    }

    fn unpack_external(&self, from: PackedBuf) -> Result<i64> {
        // SAFETY: as in `pack`.
        Ok(unsafe { self.datatype.unpack_external(from, self.base, self.count)? })
    }
}

/// The packed side of a call.
fn packed(name: &str, base: ChoiceBuf, size: i64, position: i64) -> Result<PackedBuf> {
    if size < 0 {
        return Err(fail(MPI_ERR_ARG, format!("the size of {name} is {size}, but must not be negative")));
    }
    present(name, base.address(), size as u64, 0)?;
    Ok(PackedBuf { base: base.bytes(), size, position })
}

/// Moves a position, where the new one fits.
fn advance<T: TryFrom<i64>>(position: &mut T, value: i64) -> Result {
    if let Some(value) = fitting(value) {
        *position = value;
    }
    Ok(())
}

/// The one data representation of section 5.3.
fn external32(datarep: &str) -> Result {
    if datarep == "external32" {
        return Ok(());
    }
    Err(fail(MPI_ERR_ARG, format!("datarep is \"{datarep}\", but only \"external32\" can be packed")))
}
