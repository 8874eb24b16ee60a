//! Checks of arguments that many calls share. Each error names the argument, its value and what would be right.

use crate::comm::object::{Comm, Lane};
use crate::core::error::{Result, fail};
use crate::core::process::Process;
use crate::limits::PAGE_BYTES_MIN;
use std::ffi::{c_int, c_void};
use tern_abi::*;
use tern_engine::{ANY_SOURCE, ANY_TAG, Envelope, Pattern};
use tern_mem::UserBuf;
use tern_mem::basic::Basic;
use tern_transport::Peer;

/// The message buffer `(buf, count, datatype)` of a call.
///
/// # Safety
/// The program vouches for the memory (MPI 5.0 section 3.2.2), until the communication is complete.
#[inline(always)]
pub unsafe fn buffer(
    process: &Process,
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<UserBuf> {
    // SAFETY: by the caller.
    if let Some(buf) = unsafe { dense_buffer(buf, count, datatype) } {
        return Ok(buf);
    }
    // SAFETY: by the caller.
    unsafe { derived_buffer(process, buf, count, datatype) }
}

/// The same for elements of a predefined type without gaps; `None` for others, and if anything is wrong.
///
/// # Safety
/// As [`buffer`].
#[inline(always)]
pub unsafe fn dense_buffer(buf: *const c_void, count: i64, datatype: MPI_Datatype) -> Option<UserBuf> {
    let size = Basic::dense_size(datatype.0)?;
    if count < 0 || (is_no_address(buf) && count > 0) {
        return None;
    }
    let bytes = (count as usize).checked_mul(size)?;
    // SAFETY: by the caller.
    Some(unsafe { UserBuf::flat(buf.cast_mut().cast(), bytes) })
}

#[cold]
unsafe fn derived_buffer(
    process: &Process,
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<UserBuf> {
    let count = self::count("count", count)?;
    let committed = process.types.committed(datatype)?;
    let layout = committed.layout();
    let bytes = (layout.size() as u64).checked_mul(count).ok_or_else(|| too_large(count as i64, datatype))?;
    present("the buffer", buf, bytes, committed.true_lb())?;
    // SAFETY: by the caller.
    Ok(unsafe { UserBuf::typed(buf.cast_mut().cast(), count, layout) })
}

/// Whether this is null or one of the standard's special addresses: nothing lies in the first page.
#[inline(always)]
fn is_no_address(buf: *const c_void) -> bool {
    (buf as usize) < PAGE_BYTES_MIN
}

/// Refuses a buffer for `bytes` bytes, of which the first lies `true_lb` bytes from `buf`, where there certainly is no
/// memory. Null is right if a derived datatype holds addresses (`MPI_BOTTOM`).
#[inline]
pub fn present(name: &str, buf: *const c_void, bytes: u64, true_lb: i64) -> Result {
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
        format!("{count} elements of datatype {:#x} are more bytes than an address space has", datatype.0),
    )
}

/// A count: not negative.
pub fn count(name: &str, count: i64) -> Result<u64> {
    u64::try_from(count)
        .map_err(|_| fail(MPI_ERR_COUNT, format!("{name} is {count}, but must not be negative")))
}

/// A pointer through which a result is returned: not null.
pub fn out<T>(name: &str, pointer: *mut T) -> Result<*mut T> {
    if pointer.is_null() {
        return Err(fail(MPI_ERR_ARG, format!("{name} is a null pointer")));
    }
    Ok(pointer)
}

/// As [`out`], for a handle to come. Until there is one, and after an error, it is the null handle, which programs look for.
///
/// # Safety
/// `pointer` is null or may be written.
pub unsafe fn out_handle<T>(name: &str, pointer: *mut T, null: T) -> Result<*mut T> {
    let pointer = out(name, pointer)?;
    // SAFETY: not null, and by the caller.
    unsafe { *pointer = null };
    Ok(pointer)
}

/// A communicator to come; see [`out_handle`].
///
/// # Safety
/// As there.
pub unsafe fn out_comm(name: &str, pointer: *mut MPI_Comm) -> Result<*mut MPI_Comm> {
    // SAFETY: by the caller.
    unsafe { out_handle(name, pointer, MPI_COMM_NULL) }
}

/// An array argument of the caller's; may be null when empty.
///
/// # Safety
/// `pointer` points to `len` elements, which stay unchanged during the call.
pub unsafe fn array<'a, T>(name: &str, pointer: *const T, len: usize) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(fail(MPI_ERR_ARG, format!("{name} is a null pointer, but has {len} elements")));
    }
    // SAFETY: by the caller.
    Ok(unsafe { std::slice::from_raw_parts(pointer, len) })
}

/// A string argument of the caller's.
///
/// # Safety
/// `pointer` is null or a C string that stays unchanged during the call.
pub unsafe fn string<'a>(name: &str, pointer: *const std::ffi::c_char) -> Result<std::borrow::Cow<'a, str>> {
    if pointer.is_null() {
        return Err(fail(MPI_ERR_ARG, format!("{name} is a null pointer")));
    }
    // SAFETY: by the caller.
    Ok(unsafe { std::ffi::CStr::from_ptr(pointer) }.to_string_lossy())
}

/// Writes a string with its final zero, cut to `capacity` bytes in all.
///
/// # Safety
/// `to` has room for `capacity` bytes.
pub unsafe fn store_string(to: *mut std::ffi::c_char, text: &str, capacity: usize) -> c_int {
    let bytes = &text.as_bytes()[..text.len().min(capacity.saturating_sub(1))];
    // SAFETY: by the caller.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len());
        *to.add(bytes.len()) = 0;
    }
    bytes.len() as c_int
}

/// Destination and envelope of a send; `None` for `MPI_PROC_NULL` (MPI 5.0 section 3.10).
#[inline]
pub fn destination(comm: &Comm, dest: c_int, tag: c_int) -> Result<Option<(Peer, Envelope)>> {
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
pub fn wanted(comm: &Comm, source: c_int, tag: c_int) -> Result<Option<Pattern>> {
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
pub fn usually_wanted(comm: &Comm, source: c_int, tag: c_int) -> Option<Pattern> {
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
pub fn root(comm: &Comm, root: c_int) -> Result<u32> {
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
