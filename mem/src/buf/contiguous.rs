//! Contiguous buffers of the program: two words that stay in registers, for the path of short messages.

use super::UserBuf;
use crate::copy;

/// Consecutive bytes of the program's. Making one from an address is the unsafe act, as of a [`UserBuf`]; unlike that it has nothing
/// to drop.
#[derive(Clone, Copy, Debug)]
pub struct ContiguousBuf {
    base: *mut u8,
    len: usize,
}

impl ContiguousBuf {
    /// `len` consecutive bytes at `base`.
    ///
    /// # Safety
    /// As [`UserBuf::contiguous`].
    #[inline(always)]
    pub unsafe fn new(base: *mut u8, len: usize) -> Self {
        ContiguousBuf { base, len }
    }

    /// Where they begin.
    #[inline(always)]
    pub fn base(self) -> *mut u8 {
        self.base
    }

    /// Bytes.
    #[inline(always)]
    pub fn len(self) -> usize {
        self.len
    }

    /// True if there are no bytes.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Copies all bytes to `dst`.
    ///
    /// # Safety
    /// As many bytes must be writable at `dst`.
    #[inline(always)]
    pub unsafe fn read_to(self, dst: *mut u8) {
        // SAFETY: the maker of this buffer vouches for it, and the caller for `dst`.
        unsafe { copy::copy(dst, self.base, self.len) }
    }

    /// Copies `n` bytes at `src` to the beginning. False, and nothing has happened, if they are more than fit.
    ///
    /// # Safety
    /// `n` bytes must be readable at `src`.
    #[inline(always)]
    pub unsafe fn write_from(self, src: *const u8, n: usize) -> bool {
        if n > self.len {
            return false;
        }
        // SAFETY: within the buffer, whose maker vouches for it; the caller vouches for `src`.
        unsafe { copy::copy(self.base, src, n) };
        true
    }
}

impl UserBuf {
    /// Its first `n` bytes, if it has so many and they are consecutive in memory.
    #[inline]
    pub fn run_at_start(&self, n: usize) -> Option<ContiguousBuf> {
        let base = self.contiguous_at(0, n)?;
        // SAFETY: within this buffer, whose maker has promised what that one's must.
        Some(unsafe { ContiguousBuf::new(base, n) })
    }
}

impl From<ContiguousBuf> for UserBuf {
    #[inline(always)]
    fn from(buf: ContiguousBuf) -> Self {
        // SAFETY: `ContiguousBuf::new` asks for the same promise.
        unsafe { UserBuf::contiguous(buf.base, buf.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_go_in_and_out_and_not_beyond() {
        for len in 0..=70usize {
            let mut memory: Vec<u8> = vec![0xee; len + 8];
            // SAFETY: `memory` has so many bytes, and is not moved meanwhile.
            let buf = unsafe { ContiguousBuf::new(memory.as_mut_ptr(), len) };
            let there: Vec<u8> = (0..len as u8 + 1).collect();
            // SAFETY: `there` has one byte more than the buffer.
            assert!(!unsafe { buf.write_from(there.as_ptr(), len + 1) });
            // SAFETY: `there` has so many bytes.
            assert!(unsafe { buf.write_from(there.as_ptr(), len) });
            let mut back = vec![0u8; len];
            // SAFETY: `back` has so many bytes.
            unsafe { buf.read_to(back.as_mut_ptr()) };
            assert_eq!((buf.len(), buf.is_empty()), (len, len == 0));
            assert_eq!(back, there[..len]);
            assert!(memory[len..].iter().all(|&byte| byte == 0xee), "nothing beyond the buffer");
        }
    }
}
