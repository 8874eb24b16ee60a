//! What a datatype amounts to, whichever way it was constructed.

use super::bounds::{Bounds, RepeatedBounds};
use super::error::TypeError;
use crate::basic::Basic;
use crate::layout::{Bytes, Elements, Layout, Placed, Signature};

/// Bounds, signature, where the elements lie and where the bytes lie.
#[derive(Clone, Debug)]
pub(crate) struct DatatypeCore {
    pub bounds: Bounds,
    pub signature: Signature,
    pub contains: Contains,
    /// The typemap: which basic elements, in which order.
    pub elements: Placed<Elements>,
    /// The same without the types, merged further.
    pub bytes: Placed<Bytes>,
}

/// Which basic types a datatype consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contains {
    Nothing,
    Only(Basic),
    Several,
}

/// A part of a core being built: `count` copies at a distance of `stride` bytes.
#[derive(Clone, Copy)]
pub(crate) struct CorePart<'a> {
    pub disp: i64,
    pub count: i64,
    pub stride: i64,
    pub of: &'a DatatypeCore,
}

impl DatatypeCore {
    /// One element of a basic type.
    pub(super) fn basic(basic: Basic) -> Self {
        let piece = |p: &crate::basic::Piece| (p.offset as isize, p.basic);
        let bytes = basic.pieces().iter().map(piece).map(|(at, b)| Placed::one(at, Bytes(b.size())));
        let (extent, end) = (basic.extent() as i64, last_byte(basic));
        DatatypeCore {
            bounds: Bounds {
                size: basic.size() as i64,
                ub: extent,
                true_ub: end,
                align: basic.align() as i64,
                ..Bounds::EMPTY
            },
            signature: basic.signature(),
            contains: Contains::Only(basic),
            elements: Placed::one(0, Elements { basic, count: 1 }),
            bytes: Placed::sequence(bytes),
        }
    }

    /// The parts one after another.
    pub(super) fn assemble<'a>(parts: impl Iterator<Item = CorePart<'a>> + Clone) -> Result<Self, TypeError> {
        let bounds = Bounds::around(parts.clone().map(|part| part.span()))?;
        let parts = parts.filter(|part| part.count > 0 && part.of.bounds.size > 0);
        let signed =
            |sum: Signature, part: CorePart<'_>| sum.then(part.of.signature.times(part.count as u64));
        Ok(DatatypeCore {
            bounds,
            signature: parts.clone().fold(Signature::EMPTY, signed),
            contains: parts.clone().fold(Contains::Nothing, |sum, part| sum.and(part.of.contains)),
            elements: Placed::sequence(parts.clone().map(|part| part.place(&part.of.elements))),
            bytes: Placed::sequence(parts.map(|part| part.place(&part.of.bytes))),
        })
    }

    /// `count` copies at a distance of `stride` bytes.
    pub(super) fn repeated(&self, count: i64, stride: i64) -> Result<Self, TypeError> {
        Self::assemble([CorePart { disp: 0, count, stride, of: self }].into_iter())
    }

    /// `count` copies, each where the last one ends.
    pub(super) fn block(&self, count: i64) -> Result<Self, TypeError> {
        self.repeated(count, self.bounds.extent())
    }

    /// The layout for moving data.
    pub(super) fn layout(&self) -> Layout {
        let Bounds { size, lb, true_lb, true_ub, .. } = self.bounds;
        Layout {
            size: size as usize,
            lb: lb as isize,
            extent: self.bounds.extent() as isize,
            true_lb: true_lb as isize,
            true_extent: (true_ub - true_lb) as isize,
            signature: self.signature,
            placed: self.bytes.clone(),
        }
    }
}

/// Where the last byte of data of a basic element ends: before the padding of a pair.
fn last_byte(basic: Basic) -> i64 {
    basic.pieces().iter().map(|p| p.offset + p.basic.size()).max().unwrap_or(0) as i64
}

impl<'a> CorePart<'a> {
    fn span(self) -> RepeatedBounds<'a> {
        RepeatedBounds { disp: self.disp, count: self.count, stride: self.stride, of: &self.of.bounds }
    }

    fn place<L: crate::layout::Leaf>(&self, placed: &Placed<L>) -> Placed<L> {
        placed.repeated(self.count as usize, self.stride as isize).moved(self.disp as isize)
    }
}

impl Contains {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Contains::Nothing, one) | (one, Contains::Nothing) => one,
            (one, same) if one == same => one,
            _ => Contains::Several,
        }
    }
}
