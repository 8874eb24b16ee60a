//! Memory that pieces go through on their way to and from a file, kept by each thread: to get it anew from the system takes as long as the
//! copies.

use crate::limits::PACK_BYTES;
use std::cell::Cell;
use tern_mem::UserBuf;

thread_local! {
    /// What was used last; nothing while it is in use.
    static KEPT: Cell<Option<UserBuf>> = const { Cell::new(None) };
}

/// Calls `body` with a buffer of at least `len` bytes; of [`PACK_BYTES`], if that is less.
pub(crate) fn with<T>(len: usize, body: impl FnOnce(&UserBuf) -> T) -> T {
    let len = len.min(PACK_BYTES);
    // A thread that is about to end has nothing kept any more.
    let kept = KEPT.try_with(Cell::take).ok().flatten().filter(|kept| kept.len() >= len);
    let buf = kept.unwrap_or_else(|| UserBuf::owned(len.next_power_of_two()));
    let outcome = body(&buf);
    let _ = KEPT.try_with(|kept| kept.set(Some(buf)));
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_and_grows() {
        let place = |len| with(len, |buf| (buf.as_contiguous().unwrap().0, buf.len()));
        let (first, len) = place(3000);
        assert_eq!((place(100), place(4096)), ((first, len), (first, len)));
        assert_eq!(with(10, |_| with(10, |inner| inner.len())), 16, "the outer one is in use");
        assert_eq!(place(1 << 30).1, PACK_BYTES);
        assert_eq!(place(1).1, PACK_BYTES);
    }
}
