//! Walking a layout from any packed byte to any other.

use std::ops::Range;

use super::Layout;
use super::leaf::{Bytes, Leaf};
use super::shape::{List, Shape};

/// What is told about each piece of memory, in packed order. Displacements are in bytes from the buffer's
/// address. An answer of false stops the walk.
pub(crate) trait Visit {
    /// `len` consecutive bytes.
    fn run(&mut self, disp: isize, len: usize) -> bool;

    /// `count` blocks of `block` bytes at a distance of `stride`.
    fn blocks(&mut self, disp: isize, count: usize, stride: isize, block: usize) -> bool {
        (0..count).all(|i| self.run(disp + i as isize * stride, block))
    }
}

/// Packed bytes `bytes` of a buffer of elements; not empty, and within it.
#[inline]
pub(super) fn elements<V: Visit>(layout: &Layout, bytes: Range<usize>, visitor: &mut V) -> bool {
    let all = EvenSteps { origin: layout.placed.disp, stride: layout.extent };
    match &layout.placed.shape {
        Shape::One(block) => all.strided(block.0, bytes, visitor),
        shape if bytes.end <= layout.size => part(shape, all.origin, bytes, visitor),
        shape => all.repeated(shape, layout.size, bytes, visitor),
    }
}

/// All of a shape whose first byte is at `origin`: the loop that most bytes go through.
fn whole<V: Visit>(shape: &Shape<Bytes>, origin: isize, visitor: &mut V) -> bool {
    match shape {
        Shape::Pieces(list) => list.entries.iter().all(|e| visitor.run(origin + e.disp, e.item.0)),
        Shape::One(bytes) => visitor.run(origin, bytes.0),
        Shape::Strided { count, stride, leaf } => visitor.blocks(origin, *count, *stride, leaf.0),
        Shape::Repeat { count, stride, inner, .. } => {
            (0..*count as isize).all(|i| whole(inner, origin + i * stride, visitor))
        }
        Shape::Mixed(list) => list.entries.iter().all(|e| whole(&e.item, origin + e.disp, visitor)),
    }
}

/// Packed bytes `bytes` of a shape whose first byte is at `origin`; not empty.
pub(super) fn part<V: Visit>(
    shape: &Shape<Bytes>,
    origin: isize,
    bytes: Range<usize>,
    visitor: &mut V,
) -> bool {
    match shape {
        Shape::One(_) => visitor.run(origin + bytes.start as isize, bytes.len()),
        &Shape::Strided { stride, leaf, .. } => EvenSteps { origin, stride }.strided(leaf.0, bytes, visitor),
        Shape::Repeat { stride, inner, inner_size, .. } => {
            EvenSteps { origin, stride: *stride }.repeated(inner, *inner_size, bytes, visitor)
        }
        Shape::Pieces(list) => pieces(list, origin, bytes, visitor),
        Shape::Mixed(list) => mixed(list, origin, bytes, visitor),
    }
}

/// Places at a fixed distance.
struct EvenSteps {
    origin: isize,
    stride: isize,
}

impl EvenSteps {
    #[inline]
    fn at(&self, index: usize) -> isize {
        self.origin + index as isize * self.stride
    }

    /// Equal blocks: a partial one, all the full ones at once, a partial one.
    #[inline]
    fn strided<V: Visit>(&self, block: usize, bytes: Range<usize>, visitor: &mut V) -> bool {
        let (mut index, skip) = (bytes.start / block, bytes.start % block);
        let mut left = bytes.len();
        if skip > 0 {
            let len = left.min(block - skip);
            if !visitor.run(self.at(index) + skip as isize, len) {
                return false;
            }
            left -= len;
            index += 1;
        }
        let (full, rest) = (left / block, left % block);
        (full == 0 || visitor.blocks(self.at(index), full, self.stride, block))
            && (rest == 0 || visitor.run(self.at(index + full), rest))
    }

    /// A shape of `size` packed bytes at every place: a part of one, the whole ones, a part of one.
    fn repeated<V: Visit>(
        &self,
        inner: &Shape<Bytes>,
        size: usize,
        bytes: Range<usize>,
        visitor: &mut V,
    ) -> bool {
        let (mut index, skip) = (bytes.start / size, bytes.start % size);
        let mut left = bytes.len();
        if skip > 0 {
            let len = left.min(size - skip);
            if !part(inner, self.at(index), skip..skip + len, visitor) {
                return false;
            }
            left -= len;
            index += 1;
        }
        let (full, rest) = (left / size, left % size);
        (index..index + full).all(|index| whole(inner, self.at(index), visitor))
            && (rest == 0 || part(inner, self.at(index + full), 0..rest, visitor))
    }
}

fn pieces<V: Visit>(list: &List<Bytes>, origin: isize, bytes: Range<usize>, visitor: &mut V) -> bool {
    let mut at = bytes.start;
    for entry in list.from(at) {
        if at >= bytes.end {
            break;
        }
        let end = bytes.end.min(entry.start + entry.item.size());
        if !visitor.run(origin + entry.disp + (at - entry.start) as isize, end - at) {
            return false;
        }
        at = end;
    }
    true
}

fn mixed<V: Visit>(list: &List<Shape<Bytes>>, origin: isize, bytes: Range<usize>, visitor: &mut V) -> bool {
    let mut at = bytes.start;
    for entry in list.from(at) {
        if at >= bytes.end {
            break;
        }
        let end = bytes.end.min(entry.start + entry.item.size());
        if !part(&entry.item, origin + entry.disp, at - entry.start..end - entry.start, visitor) {
            return false;
        }
        at = end;
    }
    true
}
