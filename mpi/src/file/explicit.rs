//! Accesses at explicit offsets (MPI 5.0 sections 14.4.2 and 14.4.5).

use super::access::{self, AccessPosition, FileCall};
use crate::core::boundary::{ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::p2p::status::StatusOut;
use tern_abi::*;

entry! {
    /// Reads from a file at an offset.
    safe fn MPI_File_read_at, MPI_File_read_at_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, status: StatusOut<'_>,
    ) on fh {
        let buffer = (buf.into(), count.into(), datatype);
        let call = FileCall { name: "MPI_File_read_at", fh, place: AccessPosition::At(offset), buffer, writes: false };
        access::blocking(call, status)
    }

    /// Reads at an offset, together with all ranks.
    safe fn MPI_File_read_at_all, MPI_File_read_at_all_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, status: StatusOut<'_>,
    ) on fh {
        let buffer = (buf.into(), count.into(), datatype);
        let call = FileCall { name: "MPI_File_read_at_all", fh, place: AccessPosition::At(offset), buffer, writes: false };
        access::collective(call, status)
    }

    /// Starts to read at an offset.
    safe fn MPI_File_iread_at, MPI_File_iread_at_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, request: Out<'_, MPI_Request>,
    ) on fh {
        let buffer = (buf.into(), count.into(), datatype);
        let call = FileCall { name: "MPI_File_iread_at", fh, place: AccessPosition::At(offset), buffer, writes: false };
        access::nonblocking(call, request)
    }

    /// Starts to read at an offset, together with all ranks.
    safe fn MPI_File_iread_at_all, MPI_File_iread_at_all_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, request: Out<'_, MPI_Request>,
    ) on fh {
        let buffer = (buf.into(), count.into(), datatype);
        let call = FileCall { name: "MPI_File_iread_at_all", fh, place: AccessPosition::At(offset), buffer, writes: false };
        access::collective_nonblocking(call, request)
    }

    /// Begins to read at an offset, together with all ranks.
    safe fn MPI_File_read_at_all_begin, MPI_File_read_at_all_begin_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype,
    ) on fh {
        let buffer = (buf.into(), count.into(), datatype);
        let call = FileCall { name: "MPI_File_read_at_all_begin", fh, place: AccessPosition::At(offset), buffer, writes: false };
        access::begin(call, false)
    }

    /// Ends what `MPI_File_read_at_all_begin` has begun.
    safe fn MPI_File_read_at_all_end(
        fh: MPI_File, buf: ChoiceBufMut, status: StatusOut<'_>,
    ) on fh {
        let _ = buf;
        access::end("MPI_File_read_at_all_end", fh, status)
    }

    /// Writes to a file at an offset.
    safe fn MPI_File_write_at, MPI_File_write_at_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, status: StatusOut<'_>,
    ) on fh {
        let buffer = (buf, count.into(), datatype);
        let call = FileCall { name: "MPI_File_write_at", fh, place: AccessPosition::At(offset), buffer, writes: true };
        access::blocking(call, status)
    }

    /// Writes at an offset, together with all ranks.
    safe fn MPI_File_write_at_all, MPI_File_write_at_all_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, status: StatusOut<'_>,
    ) on fh {
        let buffer = (buf, count.into(), datatype);
        let call = FileCall { name: "MPI_File_write_at_all", fh, place: AccessPosition::At(offset), buffer, writes: true };
        access::collective(call, status)
    }

    /// Starts to write at an offset.
    safe fn MPI_File_iwrite_at, MPI_File_iwrite_at_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, request: Out<'_, MPI_Request>,
    ) on fh {
        let buffer = (buf, count.into(), datatype);
        let call = FileCall { name: "MPI_File_iwrite_at", fh, place: AccessPosition::At(offset), buffer, writes: true };
        access::nonblocking(call, request)
    }

    /// Starts to write at an offset, together with all ranks.
    safe fn MPI_File_iwrite_at_all, MPI_File_iwrite_at_all_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, request: Out<'_, MPI_Request>,
    ) on fh {
        let buffer = (buf, count.into(), datatype);
        let call = FileCall { name: "MPI_File_iwrite_at_all", fh, place: AccessPosition::At(offset), buffer, writes: true };
        access::collective_nonblocking(call, request)
    }

    /// Begins to write at an offset, together with all ranks.
    safe fn MPI_File_write_at_all_begin, MPI_File_write_at_all_begin_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype,
    ) on fh {
        let buffer = (buf, count.into(), datatype);
        let call = FileCall { name: "MPI_File_write_at_all_begin", fh, place: AccessPosition::At(offset), buffer, writes: true };
        access::begin(call, false)
    }

    /// Ends what `MPI_File_write_at_all_begin` has begun.
    safe fn MPI_File_write_at_all_end(
        fh: MPI_File, buf: ChoiceBuf, status: StatusOut<'_>,
    ) on fh {
        let _ = buf;
        access::end("MPI_File_write_at_all_end", fh, status)
    }
}
