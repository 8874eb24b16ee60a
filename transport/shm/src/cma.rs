//! Get and put by the kernel: `process_vm_readv` and `process_vm_writev`, one copy in all.

mod shifted;

use std::sync::atomic::{AtomicU64, Ordering};

use tern_mem::{IoVec, UserBuf};

use crate::limits::{BLOCK_BYTES, IOVECS_PER_CALL, PIECE_BYTES_MIN};
use tern_transport::TransferError;

/// What a peer finds at the address that a rank published, if it may read that rank's memory.
pub(crate) const PROBE_WORD: u64 = 0x5445_524e_5052_4f42;

static PROBE: AtomicU64 = AtomicU64::new(PROBE_WORD);

/// Address of this process's probe word.
pub fn probe_addr() -> u64 {
    PROBE.as_ptr().addr() as u64
}

/// Which way bytes move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CopyDirection {
    /// From the peer to here.
    Read,
    /// From here to the peer.
    Write,
}

/// Copies pieces of process `pid` to `local` from `offset` on, one behind the other. The kernel checks the addresses.
pub fn read_from(pid: u32, there: &mut [IoVec], local: &UserBuf, offset: usize) -> Result<(), TransferError> {
    copy_pieces(CopyDirection::Read, pid, local, offset, there)
}

/// Copies bytes of `local` from `offset` on to pieces of process `pid`. The kernel checks the addresses.
pub fn write_to(pid: u32, there: &mut [IoVec], local: &UserBuf, offset: usize) -> Result<(), TransferError> {
    copy_pieces(CopyDirection::Write, pid, local, offset, there)
}

/// Many pieces by one system call, and by another one where the kernel stops before the end.
fn copy_pieces(
    direction: CopyDirection,
    pid: u32,
    local: &UserBuf,
    mut offset: usize,
    mut there: &mut [IoVec],
) -> Result<(), TransferError> {
    let mut here = [IoVec::default(); IOVECS_PER_CALL];
    while !there.is_empty() {
        let left = there.iter().map(|piece| piece.len).sum::<usize>();
        let (count, covered) = local.iovecs(offset, left, &mut here);
        if covered == 0 && left > 0 {
            return Err(TransferError::Os(libc::EFAULT));
        }
        let moved = match covered.checked_div(count) {
            Some(mean) if mean < PIECE_BYTES_MIN && count > 1 => {
                copy_by_block(direction, pid, local, offset, there, left)?
            }
            _ if count == 1 && shifted::is_slow(direction, here[0].base, there[0].base, there[0].len) => {
                let n = there[0].len.min(covered);
                shifted::copy(direction, pid, (local, offset), there[0].base, n).map(|()| n)?
            }
            _ => call(direction, pid, &here[..count], there)?,
        };
        offset += moved;
        there = behind(there, moved);
    }
    Ok(())
}

/// What of some pieces is left behind their first bytes.
fn behind(pieces: &mut [IoVec], mut bytes: usize) -> &mut [IoVec] {
    let whole = pieces.iter().take_while(|piece| {
        let fits = piece.len <= bytes;
        bytes -= if fits { piece.len } else { 0 };
        fits
    });
    let left = whole.count();
    let pieces = &mut pieces[left..];
    if let Some(first) = pieces.first_mut() {
        (first.base, first.len) = (first.base.wrapping_add(bytes), first.len - bytes);
    }
    pieces
}

/// Copies bytes `[offset, offset + len)` of `local` from or to `remote` in process `pid`.
pub(crate) fn copy(
    direction: CopyDirection,
    pid: u32,
    local: &UserBuf,
    offset: usize,
    remote: u64,
    len: usize,
) -> Result<(), TransferError> {
    let mut pieces = [IoVec::default(); IOVECS_PER_CALL];
    let mut done = 0;
    while done < len {
        let (count, covered) = local.iovecs(offset + done, len - done, &mut pieces);
        if covered == 0 {
            return Err(TransferError::Os(libc::EFAULT));
        }
        let there = (remote as usize).wrapping_add(done);
        done += if covered / count < PIECE_BYTES_MIN && count > 1 {
            copy_by_block(
                direction,
                pid,
                local,
                offset + done,
                &[IoVec { base: there, len: len - done }],
                len - done,
            )?
        } else if count == 1 && shifted::is_slow(direction, pieces[0].base, there, covered) {
            shifted::copy(direction, pid, (local, offset + done), there, covered).map(|()| covered)?
        } else {
            call(direction, pid, &pieces[..count], &[IoVec { base: there, len: covered }])?
        };
    }
    Ok(())
}

/// Moves the beginning of what is left through a block of this process: many small pieces. How many bytes. The kernel moves no more
/// than either side has.
#[inline(never)]
fn copy_by_block(
    direction: CopyDirection,
    pid: u32,
    local: &UserBuf,
    offset: usize,
    there: &[IoVec],
    left: usize,
) -> Result<usize, TransferError> {
    let mut block = [0u8; BLOCK_BYTES];
    let n = left.min(BLOCK_BYTES).min(local.len().saturating_sub(offset));
    let here = [IoVec { base: block.as_mut_ptr().expose_provenance(), len: n }];
    match direction {
        CopyDirection::Read => {
            let moved = call(direction, pid, &here, there)?;
            local.write(offset, &block[..moved]);
            Ok(moved)
        }
        CopyDirection::Write => {
            local.read(offset, &mut block[..n]);
            call(direction, pid, &here, there)
        }
    }
}

/// One system call; how many bytes it moved, at least one.
fn call(direction: CopyDirection, pid: u32, here: &[IoVec], there: &[IoVec]) -> Result<usize, TransferError> {
    match call_thread(direction, pid, here, there) {
        // The kernel reaches the memory through a thread, and the first one may have ended before the others.
        Err(TransferError::Os(libc::ESRCH)) => match living_thread(pid) {
            Some(thread) => call_thread(direction, thread, here, there),
            None => Err(TransferError::Os(libc::ESRCH)),
        },
        result => result,
    }
}

/// A thread of a process that has not ended.
#[cold]
fn living_thread(pid: u32) -> Option<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let lives = |path: std::path::PathBuf| {
        let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
        // The name stands in parentheses and may hold anything.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    };
    let living = tasks.filter(|task| lives(task.path()));
    living.filter_map(|task| task.file_name().to_str()?.parse().ok()).next()
}

fn call_thread(
    direction: CopyDirection,
    pid: u32,
    here: &[IoVec],
    there: &[IoVec],
) -> Result<usize, TransferError> {
    let function = match direction {
        CopyDirection::Read => libc::process_vm_readv,
        CopyDirection::Write => libc::process_vm_writev,
    };
    let pid = libc::pid_t::try_from(pid).map_err(|_| TransferError::Os(libc::ESRCH))?;
    // SAFETY: `IoVec` has the layout of `iovec`. The pieces are of a `UserBuf`, whose maker promised that they
    // may be accessed; the remote addresses are checked by the kernel.
    let moved = unsafe {
        function(pid, here.as_ptr().cast(), here.len() as u64, there.as_ptr().cast(), there.len() as u64, 0)
    };
    match usize::try_from(moved) {
        Ok(0) => Err(TransferError::Os(libc::EFAULT)),
        Ok(moved) => Ok(moved),
        Err(_) => Err(TransferError::Os(errno())),
    }
}

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// Whether this process may read and write the memory of `pid`, tried on its probe word, which stays what it is. A sandbox may forbid either
/// call alone.
pub fn probe(pid: u32, addr: u64) -> bool {
    let word = AtomicU64::new(0);
    // SAFETY: the word outlives the buffer, and nobody else uses it.
    let local = unsafe { UserBuf::contiguous(word.as_ptr().cast(), size_of::<u64>()) };
    let may = |direction| copy(direction, pid, &local, 0, addr, size_of::<u64>()).is_ok();
    may(CopyDirection::Read) && word.load(Ordering::Relaxed) == PROBE_WORD && may(CopyDirection::Write)
}

/// Lets any process of this user read this one's memory, where the Yama security module would otherwise let only
/// its parents do so.
pub fn allow_peers() {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    if scope.trim() == "1" {
        // SAFETY: takes no addresses.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
    }
}
