//! Accesses at the pointer that all ranks share (MPI 5.0 sections 14.4.4 and 14.4.5).

use super::access::{self, AccessPosition, FileCall};
use crate::core::boundary::{ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::p2p::status::StatusOut;
use tern_abi::*;

entry! {
    /// Reads at the shared pointer.
    safe fn MPI_File_read_shared, MPI_File_read_shared_c<W>(
        fh: MPI_File, buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, status: StatusOut<'_>,
    ) on fh {
        let buffer = (buf.into(), count.into(), datatype);
        let call = FileCall { name: "MPI_File_read_shared", fh, place: AccessPosition::Shared, buffer, writes: false };
        access::blocking(call, status)
    }

    /// Starts to read at the shared pointer.
    safe fn MPI_File_iread_shared, MPI_File_iread_shared_c<W>(
        fh: MPI_File, buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, request: Out<'_, MPI_Request>,
    ) on fh {
        let buffer = (buf.into(), count.into(), datatype);
        let call = FileCall { name: "MPI_File_iread_shared", fh, place: AccessPosition::Shared, buffer, writes: false };
        access::nonblocking(call, request)
    }

    /// Reads at the shared pointer, each rank behind the lower ones.
    safe fn MPI_File_read_ordered, MPI_File_read_ordered_c<W>(
        fh: MPI_File, buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, status: StatusOut<'_>,
    ) on fh {
        let buffer = (buf.into(), count.into(), datatype);
        let call = FileCall { name: "MPI_File_read_ordered", fh, place: AccessPosition::Shared, buffer, writes: false };
        access::ordered(call, status)
    }

    /// Begins to read at the shared pointer, each rank behind the lower ones.
    safe fn MPI_File_read_ordered_begin, MPI_File_read_ordered_begin_c<W>(
        fh: MPI_File, buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype,
    ) on fh {
        let buffer = (buf.into(), count.into(), datatype);
        let call = FileCall { name: "MPI_File_read_ordered_begin", fh, place: AccessPosition::Shared, buffer, writes: false };
        access::begin(call, true)
    }

    /// Ends what `MPI_File_read_ordered_begin` has begun.
    safe fn MPI_File_read_ordered_end(
        fh: MPI_File, buf: ChoiceBufMut, status: StatusOut<'_>,
    ) on fh {
        let _ = buf;
        access::end("MPI_File_read_ordered_end", fh, status)
    }

    /// Writes at the shared pointer.
    safe fn MPI_File_write_shared, MPI_File_write_shared_c<W>(
        fh: MPI_File, buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, status: StatusOut<'_>,
    ) on fh {
        let buffer = (buf, count.into(), datatype);
        let call = FileCall { name: "MPI_File_write_shared", fh, place: AccessPosition::Shared, buffer, writes: true };
        access::blocking(call, status)
    }

    /// Starts to write at the shared pointer.
    safe fn MPI_File_iwrite_shared, MPI_File_iwrite_shared_c<W>(
        fh: MPI_File, buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, request: Out<'_, MPI_Request>,
    ) on fh {
        let buffer = (buf, count.into(), datatype);
        let call = FileCall { name: "MPI_File_iwrite_shared", fh, place: AccessPosition::Shared, buffer, writes: true };
        access::nonblocking(call, request)
    }

    /// Writes at the shared pointer, each rank behind the lower ones.
    safe fn MPI_File_write_ordered, MPI_File_write_ordered_c<W>(
        fh: MPI_File, buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, status: StatusOut<'_>,
    ) on fh {
        let buffer = (buf, count.into(), datatype);
        let call = FileCall { name: "MPI_File_write_ordered", fh, place: AccessPosition::Shared, buffer, writes: true };
        access::ordered(call, status)
    }

    /// Begins to write at the shared pointer, each rank behind the lower ones.
    safe fn MPI_File_write_ordered_begin, MPI_File_write_ordered_begin_c<W>(
        fh: MPI_File, buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype,
    ) on fh {
        let buffer = (buf, count.into(), datatype);
        let call = FileCall { name: "MPI_File_write_ordered_begin", fh, place: AccessPosition::Shared, buffer, writes: true };
        access::begin(call, true)
    }

    /// Ends what `MPI_File_write_ordered_begin` has begun.
    safe fn MPI_File_write_ordered_end(
        fh: MPI_File, buf: ChoiceBuf, status: StatusOut<'_>,
    ) on fh {
        let _ = buf;
        access::end("MPI_File_write_ordered_end", fh, status)
    }
}
