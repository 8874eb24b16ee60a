//! Copies by the kernel to a place that lies a few bytes farther in its page.
//!
//! On some processors that takes several times as long ([`is_slow_shift`]). A way by a block that lies as the other side does is faster then.

use tern_mem::{IoVec, UserBuf, bounce, is_slow_shift};

use super::{CopyDirection, call};
use crate::limits::SHIFTED_BLOCK_BYTES;
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
    bounce::with(SHIFTED_BLOCK_BYTES, there as u64, |block, place| {
        let mut done = 0;
        while done < len {
            let n = (len - done).min(SHIFTED_BLOCK_BYTES);
            let Some(base) = block.contiguous_at(place, n) else {
                return Err(TransferError::Os(libc::EFAULT));
            };
            let pieces = [IoVec { base: base.expose_provenance(), len: n }];
            let remote = [IoVec { base: there.wrapping_add(done), len: n }];
            if direction == CopyDirection::Write {
                UserBuf::copy(local, offset + done, block, place, n);
            }
            let moved = call(direction, pid, &pieces, &remote)?;
            if direction == CopyDirection::Read {
                UserBuf::copy(block, place, local, offset + done, moved);
            }
            done += moved;
        }
        Ok(())
    })
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
