//! Memory that other processes may reach by messages: everything is checked against its bounds.

use std::sync::Arc;

use crate::{Layout, UserBuf};

/// Memory that a rank exposes. Buffers made of it lie inside, whatever was asked for.
#[derive(Debug)]
pub struct ExposedMemory {
    base: *mut u8,
    len: usize,
}

// SAFETY: an address and a length. Whoever made it promised that the memory may be used by whichever thread drives transfers.
unsafe impl Send for ExposedMemory {}
// SAFETY: as above.
unsafe impl Sync for ExposedMemory {}

impl ExposedMemory {
    /// `len` bytes at `base`.
    ///
    /// # Safety
    /// Until the last use of this value and of all buffers made of it, the bytes can be read and written, and whoever else uses them
    /// follows the rules of the window.
    pub unsafe fn new(base: *mut u8, len: usize) -> Self {
        ExposedMemory { base, len }
    }

    /// `len` bytes of the library's own between `guard` bytes on each side that hold `value`: for what tries accesses. The memory is never
    /// freed.
    pub fn guarded(len: usize, guard: usize, value: u8) -> (Guarded, ExposedMemory) {
        let all = vec![value; len + 2 * guard].leak();
        let base = all.as_mut_ptr();
        // SAFETY: the bytes live for ever, and nobody else has them.
        let memory = unsafe { ExposedMemory::new(base.wrapping_add(guard), len) };
        (Guarded { base, len, guard, value }, memory)
    }

    /// `len` bytes from the byte `at` on, if they are inside.
    pub fn contiguous(&self, at: u64, len: u64) -> Option<UserBuf> {
        let end = at.checked_add(len)?;
        if end > self.len as u64 {
            return None;
        }
        // SAFETY: inside, as just checked, and by whoever made this.
        Some(unsafe { UserBuf::contiguous(self.base.wrapping_add(at as usize), len as usize) })
    }

    /// `count` elements of `layout` at the byte `at`, if all their bytes are inside.
    pub fn typed(&self, at: i64, count: u64, layout: &Arc<Layout>) -> Option<UserBuf> {
        let (low, high) = layout.span(count);
        let (low, high) = (low + i128::from(at), high + i128::from(at));
        if low < 0 || high > self.len as i128 {
            return None;
        }
        // SAFETY: inside, as just checked, and by whoever made this.
        Some(unsafe { UserBuf::typed(self.base.wrapping_offset(at as isize), count, layout) })
    }
}

/// The bytes around exposed memory of the library's own.
#[derive(Debug)]
pub struct Guarded {
    base: *const u8,
    len: usize,
    guard: usize,
    value: u8,
}

impl Guarded {
    /// Whether they are what they were.
    pub fn is_untouched(&self) -> bool {
        let behind = self.guard + self.len;
        let mut all = (0..self.guard).chain(behind..behind + self.guard);
        // SAFETY: within the memory, which is never freed.
        all.all(|at| unsafe { self.base.add(at).read() } == self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_is_given_out() {
        let mut bytes = [0u8; 16];
        // SAFETY: the bytes outlive their use.
        let memory = unsafe { ExposedMemory::new(bytes.as_mut_ptr(), 16) };
        assert!(memory.contiguous(8, 8).is_some() && memory.contiguous(16, 0).is_some());
        assert!(memory.contiguous(8, 9).is_none() && memory.contiguous(u64::MAX, 2).is_none());
        let words = Arc::new(Layout::bytes(8));
        assert!(memory.typed(0, 2, &words).is_some() && memory.typed(8, 1, &words).is_some());
        assert!(memory.typed(1, 2, &words).is_none() && memory.typed(-1, 1, &words).is_none());
        assert!(memory.typed(0, u64::MAX, &words).is_none() && memory.typed(i64::MAX, 1, &words).is_none());
    }
}
