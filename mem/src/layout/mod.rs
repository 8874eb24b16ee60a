//! Flattened layouts: where the bytes of a datatype lie, in packed order.
//!
//! A layout is what moves data (MPI 5.0, section 5.1, read as 'the typemap without the types'). The shapes are
//! those of the T3D paper: contiguous, strided (nested where regular) and irregular. Nothing is stored per
//! element of a regular shape, so a vector of 2^31 blocks is as small as one of two, and a position in the
//! packed stream is found by a division (regular) or a binary search (irregular).

mod leaf;
mod shape;
mod signature;
mod walk;
mod wire;

pub use leaf::Elements;
pub use signature::Signature;

pub(crate) use leaf::{Bytes, Leaf};
pub(crate) use shape::{List, Placed, Shape};
pub(crate) use walk::Visit;

/// The memory layout of one element of a datatype, ready for copying.
#[derive(Clone, Debug)]
pub struct Layout {
    pub(crate) size: usize,
    pub(crate) lb: isize,
    pub(crate) extent: isize,
    pub(crate) true_lb: isize,
    pub(crate) true_extent: isize,
    pub(crate) signature: Signature,
    pub(crate) placed: Placed<Bytes>,
}

impl Layout {
    /// A run of `len` bytes, without a signature.
    pub fn bytes(len: usize) -> Self {
        Layout {
            size: len,
            lb: 0,
            extent: len as isize,
            true_lb: 0,
            true_extent: len as isize,
            signature: Signature::EMPTY,
            placed: Placed::one(0, Bytes(len)),
        }
    }

    /// Packed bytes of one element.
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Lower bound in bytes.
    #[inline]
    pub fn lb(&self) -> isize {
        self.lb
    }

    /// Distance in bytes between consecutive elements.
    #[inline]
    pub fn extent(&self) -> isize {
        self.extent
    }

    /// Displacement of the lowest byte that is data.
    #[inline]
    pub fn true_lb(&self) -> isize {
        self.true_lb
    }

    /// Distance from the lowest to just past the highest byte that is data.
    #[inline]
    pub fn true_extent(&self) -> isize {
        self.true_extent
    }

    /// Signature of one element; of `n` elements it is `signature().times(n)`.
    #[inline]
    pub fn signature(&self) -> Signature {
        self.signature
    }

    /// If `count` elements are one run of bytes, its displacement from the buffer's address.
    #[inline]
    pub fn contiguous(&self, count: usize) -> Option<isize> {
        match self.placed.shape {
            Shape::One(Bytes(len)) if len == 0 || count <= 1 || len as isize == self.extent => {
                Some(self.placed.disp)
            }
            _ if count == 0 => Some(0),
            _ => None,
        }
    }

    /// Packed bytes of `count` elements. A product beyond what memory can hold saturates.
    #[inline]
    pub fn packed_len(&self, count: usize) -> usize {
        self.size.saturating_mul(count).min(isize::MAX as usize)
    }

    /// Visits the pieces of memory that hold packed bytes `[from, to)` of `count` elements, in packed order.
    /// Displacements are relative to the buffer's address. Answers false if the visitor stopped early.
    #[inline]
    pub(crate) fn visit<V: Visit>(&self, count: usize, from: usize, to: usize, visitor: &mut V) -> bool {
        let to = to.min(self.packed_len(count));
        from >= to || walk::elements(self, from..to, visitor)
    }

    /// Calls `each` with displacement and length of every piece of packed bytes `[from, to)` of `count` elements, in packed order,
    /// until it answers false. Whether it never did.
    pub fn pieces(
        &self,
        count: usize,
        from: usize,
        to: usize,
        each: &mut impl FnMut(isize, usize) -> bool,
    ) -> bool {
        self.visit(count, from, to, &mut PieceVisitor(each))
    }
}

/// A function of pieces as a visitor.
struct PieceVisitor<'a, F>(&'a mut F);

impl<F: FnMut(isize, usize) -> bool> Visit for PieceVisitor<'_, F> {
    #[inline]
    fn run(&mut self, disp: isize, len: usize) -> bool {
        (self.0)(disp, len)
    }
}
