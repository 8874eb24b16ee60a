//! Copies by the kernel to a place that lies a few bytes farther in its page.
//!
//! The kernel copies by one instruction (`rep movsb`). On some processors that takes several times as long where the target lies 1 to 31 bytes
//! farther in its page than the source in its own (docs/performance/constants.md). A large block of `malloc` begins 16 bytes into a
//! page, and what `mmap` gives with one, so that is a usual case. A way by a block that lies as the other side does is faster then.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tern_mem::{IoVec, UserBuf};

use super::{CopyDirection, call};
use crate::limits::{BLOCK_BYTES, PAGE_BYTES, SHIFTED_BYTES_MIN};
use tern_transport::TransferError;

/// Whether a copy between these addresses is such a one, on such a processor.
#[inline]
pub(super) fn is_slow(direction: CopyDirection, here: usize, there: usize, len: usize) -> bool {
    let ahead = match direction {
        CopyDirection::Read => here.wrapping_sub(there),
        CopyDirection::Write => there.wrapping_sub(here),
    };
    len >= SHIFTED_BYTES_MIN && (1..32).contains(&(ahead % PAGE_BYTES)) && is_slow_here()
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
    let mut room = [0u8; BLOCK_BYTES + PAGE_BYTES];
    let skipped = there.wrapping_sub(room.as_ptr().addr()) % PAGE_BYTES;
    let block = &mut room[skipped..skipped + BLOCK_BYTES];
    let mut done = 0;
    while done < len {
        let n = (len - done).min(BLOCK_BYTES);
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
}

/// Measured once, by the first who has to know; it takes some 50 µs.
fn is_slow_here() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| match (time_of(AHEAD_BYTES), time_of(0)) {
        (Some(ahead), Some(level)) => ahead > 2 * level,
        _ => false,
    })
}

const AHEAD_BYTES: usize = 16;
const TRIED_BYTES: usize = 4 * PAGE_BYTES;
const PAGES_BYTES: usize = TRIED_BYTES + PAGE_BYTES;
const TRIALS: usize = 5;

#[repr(align(4096))]
struct Pages([u8; PAGES_BYTES]);

/// How long the kernel copies some pages of this process to where they lie that much farther, at best. `None` if it does not.
fn time_of(ahead: usize) -> Option<Duration> {
    let (mut from, mut to) = (Pages([1; PAGES_BYTES]), Pages([0; PAGES_BYTES]));
    let piece = |base: *mut u8| [IoVec { base: base.expose_provenance(), len: TRIED_BYTES }];
    let there = piece(black_box(from.0.as_mut_ptr()));
    let here = piece(black_box(to.0.as_mut_ptr()).wrapping_add(ahead));
    let trial = |_| {
        let start = Instant::now();
        let moved = call(CopyDirection::Read, std::process::id(), &here, &there).ok()?;
        (moved == TRIED_BYTES).then(|| start.elapsed())
    };
    (0..TRIALS).map(trial).min().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
    }

    #[test]
    fn every_byte_arrives_and_no_other() {
        let len = 3 * BLOCK_BYTES + 77;
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
    fn a_target_a_little_ahead_is_suspect() {
        let (page, long) = (1 << 20, SHIFTED_BYTES_MIN);
        for (here, there) in [(page, page), (page, page + 8), (page + 32, page), (page + 64, page)] {
            assert!(!is_slow(CopyDirection::Read, here, there, long));
        }
        assert!(!is_slow(CopyDirection::Read, page + 8, page, long - 1));
        assert_eq!(is_slow(CopyDirection::Read, page + 8, page, long), is_slow_here());
        assert_eq!(is_slow(CopyDirection::Write, page, page + 8, long), is_slow_here());
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
