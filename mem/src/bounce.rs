//! Memory that pieces go through on their way to and from a file or another process, kept by each thread: to get it anew from the system
//! takes as long as the copies.

use crate::UserBuf;
use crate::limits::{BOUNCED_BYTES_MAX, PAGE_BYTES};
use std::cell::Cell;

thread_local! {
    /// What was used last; nothing while it is in use.
    static KEPT: Cell<Option<UserBuf>> = const { Cell::new(None) };
}

/// Calls `body` with a buffer and a place in it, behind which there are `len` bytes; [`BOUNCED_BYTES_MAX`], if that is less. The place lies in
/// its page as `offset` does, of a file or in the other process.
pub fn with<T>(len: usize, offset: u64, body: impl FnOnce(&UserBuf, usize) -> T) -> T {
    let len = len.min(BOUNCED_BYTES_MAX) + PAGE_BYTES;
    // A thread that is about to end has nothing kept any more.
    let kept = KEPT.try_with(Cell::take).ok().flatten().filter(|kept| kept.len() >= len);
    let buf = kept.unwrap_or_else(|| level(len - PAGE_BYTES));
    let outcome = body(&buf, place_of(&buf, offset));
    let _ = KEPT.try_with(|kept| kept.set(Some(buf)));
    outcome
}

/// A buffer that has a place for `len` bytes, wherever they lie on the other side.
pub fn level(len: usize) -> UserBuf {
    UserBuf::owned(len.next_power_of_two() + PAGE_BYTES)
}

/// Where in such a buffer bytes from `offset` lie in their page as they do there.
pub fn place_of(buf: &UserBuf, offset: u64) -> usize {
    let start = buf.as_contiguous().map_or(0, |(start, _)| start);
    (offset as usize).wrapping_sub(start) % PAGE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_and_grows() {
        let place = |len| with(len, 0, |buf, _| (buf.as_contiguous().unwrap().0, buf.len()));
        let (first, len) = place(3000);
        assert_eq!((place(100), place(4096)), ((first, len), (first, len)));
        assert_eq!(
            with(10, 0, |_, _| with(10, 0, |inner, _| inner.len())),
            16 + PAGE_BYTES,
            "the outer one is in use"
        );
        assert_eq!(place(1 << 30).1, BOUNCED_BYTES_MAX + PAGE_BYTES);
        assert_eq!(place(1).1, BOUNCED_BYTES_MAX + PAGE_BYTES);
    }

    #[test]
    fn bytes_lie_as_in_the_file() {
        for offset in [0, 1, 16, 4095, 4096, 1 << 40 | 77] {
            with(BOUNCED_BYTES_MAX, offset, |buf, at| {
                let start = buf.as_contiguous().unwrap().0 + at;
                assert_eq!(start % PAGE_BYTES, offset as usize % PAGE_BYTES);
                assert!(at + BOUNCED_BYTES_MAX <= buf.len());
            });
        }
    }
}
