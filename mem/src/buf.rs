//! User buffers: a message's bytes, wherever they lie.

mod block;
mod contiguous;
mod move_bytes;
mod probe;

use std::fmt;
use std::sync::Arc;

use block::HeapBlock;
pub use contiguous::ContiguousBuf;
use move_bytes::{Collect, Expect, Pack, Unpack, UnpackPastCache};
pub use probe::BadMemory;

use crate::copy;
use crate::layout::Layout;
use crate::limits::BOUNCE_BYTES;

/// A buffer as a message sees it: `len()` packed bytes, wherever they lie.
///
/// Making one from an address is the unsafe act; all later use is bounded by `len()`. Cloning a contiguous buffer is
/// a plain copy; cloning the others counts a reference.
#[derive(Clone)]
pub struct UserBuf(BufKind);

#[derive(Clone)]
enum BufKind {
    Contiguous {
        base: *mut u8,
        len: usize,
    },
    Typed {
        base: *mut u8,
        count: usize,
        layout: Arc<Layout>,
    },
    /// `len` bytes from `offset` of a block.
    Owned {
        block: Arc<HeapBlock>,
        offset: usize,
        len: usize,
    },
}

// SAFETY: a `UserBuf` is an address and a description of it. Whoever made it promised that the memory is the
// request's until the request completes, whichever thread drives it.
unsafe impl Send for UserBuf {}
// SAFETY: as above; concurrent transfers of the same bytes are excluded by the same promise (MPI 5.0, section
// 3.7.3: a buffer of a pending operation must not be accessed by others).
unsafe impl Sync for UserBuf {}

const _: () = assert!(size_of::<UserBuf>() <= 32);

/// One piece of memory, as the kernel's `iovec`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoVec {
    /// Address of the first byte.
    pub base: usize,
    /// Bytes.
    pub len: usize,
}

/// Lengths that plain loads and stores copy faster than one instruction does where another core has used the memory last.
const BETWEEN_CORES: std::ops::RangeInclusive<usize> = 2 << 10..=256 << 10;

impl UserBuf {
    /// `len` consecutive bytes at `base`.
    ///
    /// # Safety
    /// Until the last use of this value and its clones, the bytes must be valid for what they are used for
    /// (reading for sends, writing for receives) and must not be accessed by anybody else in a conflicting way.
    #[inline]
    pub unsafe fn contiguous(base: *mut u8, len: usize) -> Self {
        UserBuf(BufKind::Contiguous { base, len })
    }

    /// `count` elements of `layout` at `base`; contiguous where they are one block of bytes.
    ///
    /// # Safety
    /// As [`UserBuf::contiguous`], for every byte that the layout names.
    #[inline]
    pub unsafe fn typed(base: *mut u8, count: u64, layout: &Arc<Layout>) -> Self {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let kind = match layout.contiguous(count) {
            Some(disp) => {
                BufKind::Contiguous { base: base.wrapping_offset(disp), len: layout.packed_len(count) }
            }
            None => BufKind::Typed { base, count, layout: layout.clone() },
        };
        UserBuf(kind)
    }

    /// A buffer of the library's own, zeroed; freed with the last clone.
    pub fn owned(len: usize) -> Self {
        UserBuf(BufKind::Owned { block: Arc::new(HeapBlock::zeroed(len)), offset: 0, len })
    }

    /// Bytes `[offset, offset + len)` of a buffer of the library's own, which share its memory and keep it; what lies past
    /// its end is left out. `None` of a user's buffer.
    pub fn part(&self, offset: usize, len: usize) -> Option<Self> {
        let BufKind::Owned { block, offset: start, len: room } = &self.0 else { return None };
        let len = clip(offset, len, *room);
        let offset = start + offset.min(*room);
        Some(UserBuf(BufKind::Owned { block: block.clone(), offset, len }))
    }

    /// Bytes `[offset, offset + len)` as a buffer of their own, if the bytes are consecutive in memory and the range is within.
    pub fn section(&self, offset: usize, len: usize) -> Option<Self> {
        let base = self.contiguous_at(offset, len)?;
        match &self.0 {
            BufKind::Owned { .. } => self.part(offset, len),
            // The range is within what the maker of this buffer promised.
            _ => Some(UserBuf(BufKind::Contiguous { base, len })),
        }
    }

    /// No bytes.
    #[inline]
    pub const fn empty() -> Self {
        UserBuf(BufKind::Contiguous { base: std::ptr::dangling_mut(), len: 0 })
    }

    /// Whether it is nothing but an address and a length; others hold something that has to be dropped.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        matches!(self.0, BufKind::Contiguous { .. })
    }

    /// If it is contiguous and long enough, unpacks `bytes` at its beginning. Whether it was so: the shortest way of a message.
    #[inline(always)]
    pub fn write_to_contiguous(&self, bytes: &[u8]) -> bool {
        match self.0 {
            BufKind::Contiguous { base, len } if bytes.len() <= len => {
                // SAFETY: within the buffer, whose maker promised it.
                unsafe { copy::copy(base, bytes.as_ptr(), bytes.len()) };
                true
            }
            _ => false,
        }
    }

    /// Packed bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            BufKind::Contiguous { len, .. } => *len,
            BufKind::Typed { count, layout, .. } => layout.packed_len(*count),
            BufKind::Owned { len, .. } => *len,
        }
    }

    /// True if there are no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Address and length, if the bytes are consecutive in memory.
    #[inline]
    pub fn as_contiguous(&self) -> Option<(usize, usize)> {
        self.whole().map(|(base, len)| (base.addr(), len))
    }

    #[inline]
    fn whole(&self) -> Option<(*mut u8, usize)> {
        match &self.0 {
            BufKind::Contiguous { base, len } => Some((*base, *len)),
            BufKind::Owned { block, offset, len } => Some((block.base().wrapping_add(*offset), *len)),
            BufKind::Typed { .. } => None,
        }
    }

    /// Address of bytes `[offset, offset + n)`, if they are within the buffer and consecutive in memory.
    #[inline]
    pub fn contiguous_at(&self, offset: usize, n: usize) -> Option<*mut u8> {
        let (base, len) = self.whole()?;
        (offset <= len && n <= len - offset).then(|| base.wrapping_add(offset))
    }

    /// Packs bytes `[offset, offset + out.len())` into `out`. What lies past the end is left as it is.
    #[inline]
    pub fn read(&self, offset: usize, out: &mut [u8]) {
        // SAFETY: `out` is writable for its length.
        unsafe { self.read_to(offset, out.as_mut_ptr(), out.len()) }
    }

    /// Unpacks `bytes` at `offset`. What lies past the end is dropped.
    #[inline]
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        // SAFETY: `bytes` is readable for its length.
        unsafe { self.write_from(offset, bytes.as_ptr(), bytes.len()) }
    }

    /// Packs bytes `[offset, offset + n)` to `dst`, as [`UserBuf::read`].
    ///
    /// # Safety
    /// `n` bytes must be writable at `dst`.
    #[inline]
    pub unsafe fn read_to(&self, offset: usize, dst: *mut u8, n: usize) {
        debug_assert!(
            offset.saturating_add(n) <= self.len(),
            "read of {n} bytes at {offset} past {}",
            self.len()
        );
        match self.whole() {
            // SAFETY: clipped to the buffer, whose maker promised it; `dst` is the caller's promise.
            Some((base, len)) => unsafe { copy::copy(dst, base.wrapping_add(offset), clip(offset, n, len)) },
            None => self.pack(offset, dst, n),
        }
    }

    /// Unpacks `n` bytes at `src` to `offset`, as [`UserBuf::write`].
    ///
    /// # Safety
    /// `n` bytes must be readable at `src`.
    #[inline]
    pub unsafe fn write_from(&self, offset: usize, src: *const u8, n: usize) {
        debug_assert!(
            offset.saturating_add(n) <= self.len(),
            "write of {n} bytes at {offset} past {}",
            self.len()
        );
        match self.whole() {
            // SAFETY: clipped to the buffer, whose maker promised it; `src` is the caller's promise.
            Some((base, len)) => unsafe { copy::copy(base.wrapping_add(offset), src, clip(offset, n, len)) },
            None => self.unpack(offset, src, n),
        }
    }

    fn pack(&self, offset: usize, dst: *mut u8, n: usize) {
        if let BufKind::Typed { base, count, layout } = &self.0 {
            layout.visit(*count, offset, offset.saturating_add(n), &mut Pack { src: *base, dst });
        }
    }

    fn unpack(&self, offset: usize, src: *const u8, n: usize) {
        if let BufKind::Typed { base, count, layout } = &self.0 {
            layout.visit(*count, offset, offset.saturating_add(n), &mut Unpack { dst: *base, src });
        }
    }

    /// Copies `n` bytes between buffers of any shape. Where both have gaps the bytes go through a small block
    /// on the stack; otherwise they move once.
    #[inline]
    pub fn copy(from: &UserBuf, from_offset: usize, to: &UserBuf, to_offset: usize, n: usize) {
        let n = clip(from_offset, n, from.len()).min(clip(to_offset, n, to.len()));
        match (from.whole(), to.whole()) {
            _ if n == 0 => {}
            // SAFETY: `n` bytes from the offset lie within the contiguous buffer.
            (Some((src, _)), _) => unsafe { to.write_from(to_offset, src.wrapping_add(from_offset), n) },
            // SAFETY: as above.
            (_, Some((dst, _))) => unsafe { from.read_to(from_offset, dst.wrapping_add(to_offset), n) },
            _ => bounce(from, from_offset, to, to_offset, n),
        }
    }

    /// As [`UserBuf::copy`], from or to memory that another core has used last. Where the two overlap, what arrives is unspecified.
    #[inline]
    pub fn copy_between_cores(from: &UserBuf, from_offset: usize, to: &UserBuf, to_offset: usize, n: usize) {
        match UserBuf::runs(from, from_offset, to, to_offset, n).filter(|_| BETWEEN_CORES.contains(&n)) {
            // SAFETY: as `runs` says.
            Some((dst, src, n)) => unsafe { copy::copy_between_cores(dst, src, n) },
            None => UserBuf::copy(from, from_offset, to, to_offset, n),
        }
    }

    /// As [`UserBuf::copy`], past the cache where `from` is a run of bytes, and into long pieces. What arrives is there for others when this
    /// returns, after whatever says so to them. Where the two overlap, what arrives is unspecified. A call should copy much: each waits for
    /// its stores.
    #[inline]
    pub fn copy_past_cache(from: &UserBuf, from_offset: usize, to: &UserBuf, to_offset: usize, n: usize) {
        if let Some((dst, src, n)) = UserBuf::runs(from, from_offset, to, to_offset, n) {
            // SAFETY: as `runs` says.
            return unsafe { copy::copy_past_cache(dst, src, n) };
        }
        match (from.whole(), &to.0) {
            (Some((src, src_len)), BufKind::Typed { base, count, layout }) => {
                let n = clip(from_offset, n, src_len).min(clip(to_offset, n, to.len()));
                let unpack = Unpack { dst: *base, src: src.wrapping_add(from_offset) };
                layout.visit(*count, to_offset, to_offset + n, &mut UnpackPastCache(unpack));
                copy::end_copies_past_cache();
            }
            _ => UserBuf::copy(from, from_offset, to, to_offset, n),
        }
    }

    /// Where both buffers are runs of bytes: target, source, and how many of `n` bytes both have behind the offsets.
    #[inline]
    fn runs(
        from: &UserBuf,
        from_offset: usize,
        to: &UserBuf,
        to_offset: usize,
        n: usize,
    ) -> Option<(*mut u8, *const u8, usize)> {
        let ((src, src_len), (dst, dst_len)) = (from.whole()?, to.whole()?);
        let n = clip(from_offset, n, src_len).min(clip(to_offset, n, dst_len));
        Some((dst.wrapping_add(to_offset), src.wrapping_add(from_offset), n))
    }

    /// Tells the processor that bytes `[offset, offset + len)` will be used soon, if they have gaps: it foresees the others by itself.
    pub fn expect(&self, offset: usize, len: usize) {
        if let BufKind::Typed { base, count, layout } = &self.0 {
            layout.visit(*count, offset, offset.saturating_add(len), &mut Expect { base: *base });
        }
    }

    /// Describes bytes `[offset, offset + len)` as at most `out.len()` pieces of memory. Answers how many
    /// pieces were filled in and how many bytes they cover.
    pub fn iovecs(&self, offset: usize, len: usize, out: &mut [IoVec]) -> (usize, usize) {
        let len = clip(offset, len, self.len());
        if len == 0 || out.is_empty() {
            return (0, 0);
        }
        match &self.0 {
            BufKind::Typed { base, count, layout } => {
                let mut collect = Collect::new(*base, out);
                layout.visit(*count, offset, offset + len, &mut collect);
                collect.filled()
            }
            _ => {
                let (base, _) = self.whole().expect("every other kind is contiguous");
                out[0] = IoVec { base: base.addr() + offset, len };
                (1, len)
            }
        }
    }
}

impl fmt::Debug for UserBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            BufKind::Contiguous { base, len } => write!(f, "{len} bytes at {base:p}"),
            BufKind::Typed { base, count, .. } => {
                write!(f, "{} bytes in {count} elements at {base:p}", self.len())
            }
            BufKind::Owned { len, .. } => write!(f, "{len} bytes of the library's own"),
        }
    }
}

/// How many of `n` bytes from `offset` lie within `len`.
#[inline(always)]
fn clip(offset: usize, n: usize, len: usize) -> usize {
    n.min(len.saturating_sub(offset))
}

/// Both sides have gaps: pack a piece, unpack it, go on.
fn bounce(from: &UserBuf, from_offset: usize, to: &UserBuf, to_offset: usize, n: usize) {
    let mut block = [0u8; BOUNCE_BYTES];
    let mut done = 0;
    while done < n {
        let piece = &mut block[..(n - done).min(BOUNCE_BYTES)];
        from.read(from_offset + done, piece);
        to.write(to_offset + done, piece);
        done += piece.len();
    }
}

#[cfg(test)]
mod tests;
