//! What is done with each piece of a layout: packing, unpacking, describing it to the kernel.

use super::IoVec;
use crate::copy::{self, StridedBlocks};
use crate::layout::Visit;
use crate::limits::PAST_CACHE_PIECE_BYTES_MIN;
use crate::prefetch::prefetch_bytes;

/// Gathers a layout's bytes at `src` into consecutive memory at `dst`.
pub(super) struct Pack {
    pub src: *const u8,
    pub dst: *mut u8,
}

impl Visit for Pack {
    #[inline]
    fn run(&mut self, disp: isize, len: usize) -> bool {
        // SAFETY: the layout names only bytes of the buffer, and the walk is clipped to what `dst` holds.
        unsafe { copy::copy(self.dst, self.src.wrapping_offset(disp), len) };
        self.dst = self.dst.wrapping_add(len);
        true
    }

    #[inline]
    fn blocks(&mut self, disp: isize, count: usize, stride: isize, block: usize) -> bool {
        let shape = StridedBlocks { count, block, src_step: stride, dst_step: block as isize };
        // SAFETY: as in `run`, for each block.
        unsafe { copy::copy_blocks(self.dst, self.src.wrapping_offset(disp), shape) };
        self.dst = self.dst.wrapping_add(count * block);
        true
    }
}

/// Scatters consecutive memory at `src` to a layout's bytes at `dst`.
pub(super) struct Unpack {
    pub dst: *mut u8,
    pub src: *const u8,
}

impl Visit for Unpack {
    #[inline]
    fn run(&mut self, disp: isize, len: usize) -> bool {
        // SAFETY: the layout names only bytes of the buffer, and the walk is clipped to what `src` holds.
        unsafe { copy::copy(self.dst.wrapping_offset(disp), self.src, len) };
        self.src = self.src.wrapping_add(len);
        true
    }

    #[inline]
    fn blocks(&mut self, disp: isize, count: usize, stride: isize, block: usize) -> bool {
        let shape = StridedBlocks { count, block, src_step: block as isize, dst_step: stride };
        // SAFETY: as in `run`, for each block.
        unsafe { copy::copy_blocks(self.dst.wrapping_offset(disp), self.src, shape) };
        self.src = self.src.wrapping_add(count * block);
        true
    }
}

/// As [`Unpack`], past the cache where the pieces are long; until [`copy::end_copies_past_cache`] others may not see it.
pub(super) struct UnpackPastCache(pub Unpack);

impl Visit for UnpackPastCache {
    #[inline]
    fn run(&mut self, disp: isize, len: usize) -> bool {
        if len < PAST_CACHE_PIECE_BYTES_MIN {
            return self.0.run(disp, len);
        }
        // SAFETY: as in `Unpack::run`.
        unsafe { copy::begin_copy_past_cache(self.0.dst.wrapping_offset(disp), self.0.src, len) };
        self.0.src = self.0.src.wrapping_add(len);
        true
    }

    #[inline]
    fn blocks(&mut self, disp: isize, count: usize, stride: isize, block: usize) -> bool {
        if block < PAST_CACHE_PIECE_BYTES_MIN {
            return self.0.blocks(disp, count, stride, block);
        }
        (0..count as isize).all(|at| self.run(disp + at * stride, block))
    }
}

/// Asks for the lines of a layout's bytes.
pub(super) struct Expect {
    pub base: *const u8,
}

impl Visit for Expect {
    #[inline]
    fn run(&mut self, disp: isize, len: usize) -> bool {
        prefetch_bytes(self.base.wrapping_offset(disp), len);
        true
    }
}

/// Lists pieces of memory until the list is full.
pub(super) struct Collect<'a> {
    base: usize,
    out: &'a mut [IoVec],
    pieces: usize,
    bytes: usize,
}

impl<'a> Collect<'a> {
    pub(super) fn new(base: *const u8, out: &'a mut [IoVec]) -> Self {
        Collect { base: base.addr(), out, pieces: 0, bytes: 0 }
    }

    /// Pieces filled in and the bytes they cover.
    pub(super) fn filled(self) -> (usize, usize) {
        (self.pieces, self.bytes)
    }

    /// True if the piece goes on where the last one ended.
    fn extends(&self, base: usize) -> bool {
        let last = self.pieces.checked_sub(1).map(|last| self.out[last]);
        last.is_some_and(|last| last.base + last.len == base)
    }
}

impl Visit for Collect<'_> {
    fn run(&mut self, disp: isize, len: usize) -> bool {
        let base = self.base.wrapping_add_signed(disp);
        if self.extends(base) {
            self.out[self.pieces - 1].len += len;
        } else if self.pieces < self.out.len() {
            self.out[self.pieces] = IoVec { base, len };
            self.pieces += 1;
        } else {
            return false;
        }
        self.bytes += len;
        true
    }
}
