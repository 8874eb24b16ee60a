//! Accesses at this rank's own pointer (MPI 5.0 sections 14.4.3 and 14.4.5).

use super::access::{self, AccessPosition, FileCall};
use crate::core::boundary::{ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::p2p::status::StatusOut;
use tern_abi::*;

entry! {
    /// Reads at this rank's pointer.
    safe fn MPI_File_read, MPI_File_read_c<W>(
        fh: MPI_File, buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, status: StatusOut<'_>,
    ) on fh {
        let buffer = (buf.into(), count.into(), datatype);
        let call = FileCall { name: "MPI_File_read", fh, place: AccessPosition::Pointer, buffer, writes: false };
        access::blocking(call, status)
    }

    /// Reads at this rank's pointer, together with all ranks.
    safe fn MPI_File_read_all, MPI_File_read_all_c<W>(
        fh: MPI_File, buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, status: StatusOut<'_>,
    ) on fh {
        let buffer = (buf.into(), count.into(), datatype);
        let call = FileCall { name: "MPI_File_read_all", fh, place: AccessPosition::Pointer, buffer, writes: false };
        access::collective(call, status)
    }

    /// Starts to read at this rank's pointer.
    safe fn MPI_File_iread, MPI_File_iread_c<W>(
        fh: MPI_File, buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, request: Out<'_, MPI_Request>,
    ) on fh {
        let buffer = (buf.into(), count.into(), datatype);
        let call = FileCall { name: "MPI_File_iread", fh, place: AccessPosition::Pointer, buffer, writes: false };
        access::nonblocking(call, request)
    }

    /// Starts to read at this rank's pointer, together with all ranks.
    safe fn MPI_File_iread_all, MPI_File_iread_all_c<W>(
        fh: MPI_File, buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, request: Out<'_, MPI_Request>,
    ) on fh {
        let buffer = (buf.into(), count.into(), datatype);
        let call = FileCall { name: "MPI_File_iread_all", fh, place: AccessPosition::Pointer, buffer, writes: false };
        access::collective_nonblocking(call, request)
    }

    /// Begins to read at this rank's pointer, together with all ranks.
    safe fn MPI_File_read_all_begin, MPI_File_read_all_begin_c<W>(
        fh: MPI_File, buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype,
    ) on fh {
        let buffer = (buf.into(), count.into(), datatype);
        let call = FileCall { name: "MPI_File_read_all_begin", fh, place: AccessPosition::Pointer, buffer, writes: false };
        access::begin(call, false)
    }

    /// Ends what `MPI_File_read_all_begin` has begun.
    safe fn MPI_File_read_all_end(
        fh: MPI_File, buf: ChoiceBufMut, status: StatusOut<'_>,
    ) on fh {
        let _ = buf;
        access::end("MPI_File_read_all_end", fh, status)
    }

    /// Writes at this rank's pointer.
    safe fn MPI_File_write, MPI_File_write_c<W>(
        fh: MPI_File, buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, status: StatusOut<'_>,
    ) on fh {
        let buffer = (buf, count.into(), datatype);
        let call = FileCall { name: "MPI_File_write", fh, place: AccessPosition::Pointer, buffer, writes: true };
        access::blocking(call, status)
    }

    /// Writes at this rank's pointer, together with all ranks.
    safe fn MPI_File_write_all, MPI_File_write_all_c<W>(
        fh: MPI_File, buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, status: StatusOut<'_>,
    ) on fh {
        let buffer = (buf, count.into(), datatype);
        let call = FileCall { name: "MPI_File_write_all", fh, place: AccessPosition::Pointer, buffer, writes: true };
        access::collective(call, status)
    }

    /// Starts to write at this rank's pointer.
    safe fn MPI_File_iwrite, MPI_File_iwrite_c<W>(
        fh: MPI_File, buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, request: Out<'_, MPI_Request>,
    ) on fh {
        let buffer = (buf, count.into(), datatype);
        let call = FileCall { name: "MPI_File_iwrite", fh, place: AccessPosition::Pointer, buffer, writes: true };
        access::nonblocking(call, request)
    }

    /// Starts to write at this rank's pointer, together with all ranks.
    safe fn MPI_File_iwrite_all, MPI_File_iwrite_all_c<W>(
        fh: MPI_File, buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, request: Out<'_, MPI_Request>,
    ) on fh {
        let buffer = (buf, count.into(), datatype);
        let call = FileCall { name: "MPI_File_iwrite_all", fh, place: AccessPosition::Pointer, buffer, writes: true };
        access::collective_nonblocking(call, request)
    }

    /// Begins to write at this rank's pointer, together with all ranks.
    safe fn MPI_File_write_all_begin, MPI_File_write_all_begin_c<W>(
        fh: MPI_File, buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype,
    ) on fh {
        let buffer = (buf, count.into(), datatype);
        let call = FileCall { name: "MPI_File_write_all_begin", fh, place: AccessPosition::Pointer, buffer, writes: true };
        access::begin(call, false)
    }

    /// Ends what `MPI_File_write_all_begin` has begun.
    safe fn MPI_File_write_all_end(
        fh: MPI_File, buf: ChoiceBuf, status: StatusOut<'_>,
    ) on fh {
        let _ = buf;
        access::end("MPI_File_write_all_end", fh, status)
    }
}
