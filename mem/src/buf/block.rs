//! Memory of the library's own, shared by the clones of a buffer.

use std::alloc::{self, handle_alloc_error};

/// A heap block that is only touched through its address, so clones may share it.
pub(super) struct HeapBlock {
    base: *mut u8,
    len: usize,
}

/// One cache line: bounce buffers are copied by wide loads.
const ALIGN: usize = 64;

impl HeapBlock {
    /// A block of zeros. As with any allocation in Rust, the process ends if memory has run out.
    pub(super) fn zeroed(len: usize) -> Self {
        if len == 0 {
            return HeapBlock { base: std::ptr::dangling_mut(), len };
        }
        let shape = Self::shape(len);
        // SAFETY: the size is not zero.
        let base = unsafe { alloc::alloc_zeroed(shape) };
        if base.is_null() {
            handle_alloc_error(shape);
        }
        HeapBlock { base, len }
    }

    #[inline]
    pub(super) fn base(&self) -> *mut u8 {
        self.base
    }

    fn shape(len: usize) -> alloc::Layout {
        alloc::Layout::from_size_align(len, ALIGN).expect("a buffer is smaller than the address space")
    }
}

// SAFETY: the block is owned memory; whoever moves bytes through a `UserBuf` answers for not doing so twice at once.
unsafe impl Send for HeapBlock {}
// SAFETY: as above.
unsafe impl Sync for HeapBlock {}

impl Drop for HeapBlock {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: allocated in `zeroed` with this very size and alignment.
            unsafe { alloc::dealloc(self.base, Self::shape(self.len)) }
        }
    }
}
