//! Checks of arguments that many calls share. Each error names the argument, its value and what would be right.

use crate::comm::object::{Comm, Lane};
use crate::core::boundary::ChoiceBuf;
use crate::core::error::{Result, fail};
use crate::core::given;
use crate::core::process::Process;
use crate::limits::PAGE_BYTES_MIN;
use std::ffi::{c_int, c_void};
use tern_abi::*;
use tern_engine::{ANY_SOURCE, ANY_TAG, Envelope, Pattern};
use tern_mem::basic::Basic;
use tern_mem::{ContiguousBuf, UserBuf};
use tern_transport::Peer;

/// The message buffer `(buf, count, datatype)` of a call (MPI 5.0 section 3.2.2).
#[inline(always)]
pub(crate) fn buffer(
    process: &Process,
    buf: ChoiceBuf,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<UserBuf> {
    if let Some(buf) = contiguous_buffer(buf, count, datatype) {
        return Ok(buf);
    }
    derived_buffer(process, buf, count, datatype)
}

/// The same for elements of a predefined type without gaps; `None` for others, and if anything is wrong.
#[inline(always)]
pub(crate) fn contiguous_buffer(buf: ChoiceBuf, count: i64, datatype: MPI_Datatype) -> Option<UserBuf> {
    contiguous(buf, count, datatype).map(UserBuf::from)
}

/// The same, as what stays in registers.
#[inline(always)]
pub(crate) fn contiguous(buf: ChoiceBuf, count: i64, datatype: MPI_Datatype) -> Option<ContiguousBuf> {
    let size = Basic::contiguous_size(datatype.0)?;
    if count < 0 || (is_no_address(buf.address()) && count > 0) {
        return None;
    }
    let bytes = count.checked_mul(size as i64)? as usize;
    // SAFETY: the program vouches for what its call says of the memory.
    Some(unsafe { ContiguousBuf::new(buf.bytes(), bytes) })
}

#[cold]
fn derived_buffer(process: &Process, buf: ChoiceBuf, count: i64, datatype: MPI_Datatype) -> Result<UserBuf> {
    let count = self::count("count", count)?;
    let committed = process.objects.types.committed(datatype)?;
    let layout = committed.layout();
    let bytes = (layout.size() as i64).checked_mul(count as i64);
    let bytes = bytes.ok_or_else(|| too_large(count as i64, datatype))? as u64;
    present("the buffer", buf.address(), bytes, committed.true_lb())?;
    // SAFETY: as in `contiguous_buffer`.
    Ok(unsafe { UserBuf::typed(buf.bytes(), count, layout) })
}

/// Whether this is null or one of the standard's special addresses: nothing lies in the first page.
#[inline(always)]
pub(crate) fn is_no_address(buf: *const c_void) -> bool {
    (buf as usize) < PAGE_BYTES_MIN
}

/// Refuses a buffer for `bytes` bytes, of which the first lies `true_lb` bytes from `buf`, where there certainly is no
/// memory. Null is right if a derived datatype holds addresses (`MPI_BOTTOM`).
#[inline]
pub(crate) fn present(name: &str, buf: *const c_void, bytes: u64, true_lb: i64) -> Result {
    if bytes == 0 || !is_no_address(buf) { Ok(()) } else { absolute(name, buf, bytes, true_lb) }
}

#[cold]
fn absolute(name: &str, buf: *const c_void, bytes: u64, true_lb: i64) -> Result {
    if buf as usize == MPI_IN_PLACE {
        return Err(fail(MPI_ERR_BUFFER, format!("{name} is MPI_IN_PLACE, which is not allowed here")));
    }
    let first = (buf as i64).saturating_add(true_lb);
    // Far below zero, as integers, are addresses with tags in their highest bits.
    if first >= PAGE_BYTES_MIN as i64 || first < -(1 << 48) {
        return Ok(());
    }
    let what = if buf.is_null() { "null".into() } else { format!("{:#x}", buf as usize) };
    Err(fail(MPI_ERR_BUFFER, format!("{name} is {what}, where no memory can be, but has {bytes} bytes")))
}

#[cold]
fn too_large(count: i64, datatype: MPI_Datatype) -> Box<crate::core::error::Error> {
    fail(
        MPI_ERR_COUNT,
        format!(
            "{count} elements of datatype {:#x} are more bytes than an address space has",
            given::datatype(datatype.0)
        ),
    )
}

/// A count: not negative.
pub(crate) fn count(name: &str, count: i64) -> Result<u64> {
    u64::try_from(count)
        .map_err(|_| fail(MPI_ERR_COUNT, format!("{name} is {count}, but must not be negative")))
}

/// Destination and envelope of a send; `None` for `MPI_PROC_NULL` (MPI 5.0 section 3.10).
#[inline]
pub(crate) fn destination(comm: &Comm, dest: c_int, tag: c_int) -> Result<Option<(Peer, Envelope)>> {
    if tag < 0 {
        return Err(bad_tag(tag, false));
    }
    match comm.peers().peer(dest as u32) {
        Some(peer) if dest >= 0 => Ok(Some((peer, comm.envelope(Lane::P2p, tag)))),
        _ if dest == MPI_PROC_NULL => Ok(None),
        _ => Err(bad_rank("dest", dest, comm)),
    }
}

/// What a receive or probe asks for; `None` for `MPI_PROC_NULL`.
#[inline]
pub(crate) fn receive_pattern(comm: &Comm, source: c_int, tag: c_int) -> Result<Option<Pattern>> {
    let wanted_tag = match tag {
        0.. => tag,
        MPI_ANY_TAG => ANY_TAG,
        _ => return Err(bad_tag(tag, true)),
    };
    let wanted_source = match source {
        0.. if (source as u32) < comm.peers().size() => source as u32,
        MPI_ANY_SOURCE => ANY_SOURCE,
        MPI_PROC_NULL => return Ok(None),
        _ => return Err(bad_rank("source", source, comm)),
    };
    Ok(Some(Pattern { context: comm.lane(Lane::P2p), source: wanted_source, tag: wanted_tag }))
}

/// The same where everything is as it usually is; `None` otherwise.
#[inline(always)]
pub(crate) fn pattern_if_valid(comm: &Comm, source: c_int, tag: c_int) -> Option<Pattern> {
    let tag = match tag {
        0.. => tag,
        MPI_ANY_TAG => ANY_TAG,
        _ => return None,
    };
    // No group has as many ranks as a negative number is when taken as unsigned.
    let source = match source as u32 {
        rank if rank < comm.peers().size() => rank,
        _ if source == MPI_ANY_SOURCE => ANY_SOURCE,
        _ => return None,
    };
    Some(Pattern { context: comm.lane(Lane::P2p), source, tag })
}

/// A root of a collective on an intracommunicator.
pub(crate) fn root(comm: &Comm, root: c_int) -> Result<u32> {
    match u32::try_from(root) {
        Ok(root) if root < comm.group.size() => Ok(root),
        _ => Err(bad_root(root, comm.group.size())),
    }
}

#[cold]
fn bad_root(root: c_int, size: u32) -> Box<crate::core::error::Error> {
    let named = match root {
        MPI_ROOT => "MPI_ROOT, which is for intercommunicators".into(),
        MPI_PROC_NULL => "MPI_PROC_NULL, which is for intercommunicators".into(),
        _ => root.to_string(),
    };
    fail(
        MPI_ERR_ROOT,
        format!("root is {named}, but the communicator has ranks 0 to {}", size.saturating_sub(1)),
    )
}

#[cold]
fn bad_tag(tag: c_int, receive: bool) -> Box<crate::core::error::Error> {
    let any = if receive { ", or MPI_ANY_TAG" } else { "" };
    fail(MPI_ERR_TAG, format!("tag is {tag}, but must be 0 to 2147483647 (MPI_TAG_UB){any}"))
}

#[cold]
fn bad_rank(name: &str, rank: c_int, comm: &Comm) -> Box<crate::core::error::Error> {
    let size = comm.peers().size();
    let any = if name == "source" { ", MPI_ANY_SOURCE" } else { "" };
    let hint = format!("the communicator has ranks 0 to {}{any} and MPI_PROC_NULL", size.saturating_sub(1));
    fail(MPI_ERR_RANK, format!("{name} is {rank}, but {hint}"))
}
