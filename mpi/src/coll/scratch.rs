//! Temporary memory of a collective.

use crate::limits::SCRATCH_KEPT_BYTES_MAX;
use std::alloc::{self, Layout};
use std::ptr::NonNull;

/// Where each piece of temporary memory begins: a cache line, and more than any basic type asks for.
pub(super) const ALIGN: usize = 64;

/// One block of memory, which grows when a call needs more and serves the next call too.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    block: Option<(NonNull<u8>, Layout)>,
}

impl Scratch {
    /// Memory for pieces of these lengths, one after another; calls `place` with the address of each. What is
    /// there is undefined. False if there is not enough memory.
    pub(super) fn provide(&mut self, lengths: &[usize], mut place: impl FnMut(*mut u8)) -> bool {
        let padded = |length: usize| length.checked_next_multiple_of(ALIGN);
        let total = lengths.iter().try_fold(0usize, |sum, &length| sum.checked_add(padded(length)?));
        let Some(base) = total.and_then(|total| self.at_least(total)) else { return false };
        let mut offset = 0;
        for &length in lengths {
            place(base.wrapping_add(offset));
            offset += length.next_multiple_of(ALIGN);
        }
        true
    }

    /// Gives back what is too much to keep.
    pub(super) fn trim(&mut self) {
        if self.block.is_some_and(|(_, layout)| layout.size() > SCRATCH_KEPT_BYTES_MAX) {
            self.free();
        }
    }

    fn at_least(&mut self, bytes: usize) -> Option<*mut u8> {
        if bytes == 0 {
            return Some(NonNull::<u8>::dangling().as_ptr());
        }
        if let Some((base, layout)) = self.block
            && layout.size() >= bytes
        {
            return Some(base.as_ptr());
        }
        self.free();
        let layout = Layout::from_size_align(bytes, ALIGN).ok()?;
        // SAFETY: the size is not zero.
        let base = NonNull::new(unsafe { alloc::alloc(layout) })?;
        self.block = Some((base, layout));
        Some(base.as_ptr())
    }

    fn free(&mut self) {
        if let Some((base, layout)) = self.block.take() {
            // SAFETY: allocated in `at_least` with this layout.
            unsafe { alloc::dealloc(base.as_ptr(), layout) };
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.free();
    }
}
