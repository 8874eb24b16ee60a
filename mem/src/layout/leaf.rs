//! What a shape is made of: plain bytes for moving data, or basic elements for asking what the data are.

use crate::basic::Basic;

/// The smallest piece of a shape, consecutive in memory.
pub(crate) trait Leaf: Copy + Eq + std::fmt::Debug {
    /// A piece without bytes.
    const NONE: Self;

    /// Packed bytes.
    fn size(self) -> usize;

    /// Bytes of memory to where the piece would go on.
    fn extent(self) -> usize;

    /// This piece and `next`, which starts where this one's extent ends, as one piece.
    fn joined(self, next: Self) -> Option<Self>;

    /// This piece `count` times, each where the last one's extent ends.
    fn times(self, count: usize) -> Self;
}

/// Consecutive bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub usize);

impl Leaf for Bytes {
    const NONE: Self = Bytes(0);

    #[inline(always)]
    fn size(self) -> usize {
        self.0
    }

    #[inline(always)]
    fn extent(self) -> usize {
        self.0
    }

    fn joined(self, next: Self) -> Option<Self> {
        Some(Bytes(self.0 + next.0))
    }

    fn times(self, count: usize) -> Self {
        Bytes(self.0 * count)
    }
}

/// An array of one basic type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements {
    /// The type of each element.
    pub basic: Basic,
    /// How many there are, at a distance of the basic type's extent.
    pub count: usize,
}

impl Leaf for Elements {
    const NONE: Self = Elements { basic: Basic::Byte, count: 0 };

    fn size(self) -> usize {
        self.basic.size() * self.count
    }

    fn extent(self) -> usize {
        self.basic.extent() * self.count
    }

    fn joined(self, next: Self) -> Option<Self> {
        (self.basic == next.basic).then_some(Elements { count: self.count + next.count, ..self })
    }

    fn times(self, count: usize) -> Self {
        Elements { count: self.count * count, ..self }
    }
}
