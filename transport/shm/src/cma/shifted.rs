//! Copies by the kernel to a place that lies a few bytes farther in its page.
//!
//! On some processors that takes several times as long ([`is_slow_shift`]). A way by a block that lies as the other side does is faster then.

use std::cell::Cell;

use tern_mem::{IoVec, UserBuf, is_slow_shift};

use super::{CopyDirection, call};
use crate::limits::{PAGE_BYTES, SHIFTED_BLOCK_BYTES};
use tern_transport::TransferError;

/// Whether a copy between these addresses is such a one, on such a processor.
#[inline]
pub(super) fn is_slow(direction: CopyDirection, here: usize, there: usize, len: usize) -> bool {
    match direction {
        CopyDirection::Read => is_slow_shift(there, here, len),
        CopyDirection::Write => is_slow_shift(here, there, len),
    }
}

/// Copies bytes of `local` from `offset` on, from or to `there`, through a block that lies in its page as `there` does.
#[inline(never)]
pub(super) fn copy(
    direction: CopyDirection,
    pid: u32,
    (local, offset): (&UserBuf, usize),
    there: usize,
    len: usize,
) -> Result<(), TransferError> {
    with_block(there, |block| {
        let mut done = 0;
        while done < len {
            let n = (len - done).min(block.len());
            let pieces = [IoVec { base: block.as_mut_ptr().expose_provenance(), len: n }];
            let remote = [IoVec { base: there.wrapping_add(done), len: n }];
            if direction == CopyDirection::Write {
                local.read(offset + done, &mut block[..n]);
            }
            let moved = call(direction, pid, &pieces, &remote)?;
            if direction == CopyDirection::Read {
                local.write(offset + done, &block[..moved]);
            }
            done += moved;
        }
        Ok(())
    })
}

thread_local! {
    /// What was used last; nothing while it is in use.
    static KEPT: Cell<Option<Box<[u8]>>> = const { Cell::new(None) };
}

/// Calls `body` with a block that lies in its page as an address does. Each thread keeps one.
fn with_block<T>(there: usize, body: impl FnOnce(&mut [u8]) -> T) -> T {
    // A thread that is about to end has nothing kept any more.
    let kept = KEPT.try_with(Cell::take).ok().flatten();
    let mut room = kept.unwrap_or_else(|| vec![0; SHIFTED_BLOCK_BYTES + PAGE_BYTES].into());
    let skipped = there.wrapping_sub(room.as_ptr().addr()) % PAGE_BYTES;
    let outcome = body(&mut room[skipped..skipped + SHIFTED_BLOCK_BYTES]);
    let _ = KEPT.try_with(|kept| kept.set(Some(room)));
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
    }

    #[test]
    fn every_byte_arrives_and_no_other() {
        let len = 3 * SHIFTED_BLOCK_BYTES + 77;
        for direction in [CopyDirection::Read, CopyDirection::Write] {
            let (mut near, mut far) = (vec![0; len + 64], vec![0; len + 64]);
            let source = if direction == CopyDirection::Read { &mut far } else { &mut near };
            source[16..16 + len].copy_from_slice(&pattern(len));
            // SAFETY: the bytes live through the copy, and nothing else uses them.
            let local = unsafe { UserBuf::contiguous(near.as_mut_ptr(), near.len()) };
            let there = far.as_mut_ptr().wrapping_add(16).expose_provenance();
            copy(direction, std::process::id(), (&local, 16), there, len).unwrap();
            let target = if direction == CopyDirection::Read { &near } else { &far };
            assert!(target[16..16 + len] == pattern(len));
            assert!(target[..16].iter().chain(&target[16 + len..]).all(|byte| *byte == 0));
        }
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        let mut bytes = vec![0u8; 4096];
        // SAFETY: as above.
        let local = unsafe { UserBuf::contiguous(bytes.as_mut_ptr(), bytes.len()) };
        let result = copy(CopyDirection::Read, std::process::id(), (&local, 0), 16, bytes.len());
        assert_eq!(result, Err(TransferError::Os(libc::EFAULT)));
    }
}
