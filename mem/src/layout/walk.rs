//! Walking a layout from any packed byte to any other.

use super::Layout;
use super::shape::{Mixed, Runs, Shape};

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

/// Packed bytes `[from, to)` of a buffer of elements, where `from < to` and both are within it.
#[inline]
pub(super) fn elements<V: Visit>(layout: &Layout, from: usize, to: usize, visitor: &mut V) -> bool {
    let origin = layout.placed.disp;
    match &layout.placed.shape {
        Shape::Run(block) => strided(origin, layout.extent, *block, from, to, visitor),
        shape if to <= layout.size => walk(shape, origin, from, to, visitor),
        shape => repeat(shape, layout.size, origin, layout.extent, from, to, visitor),
    }
}

/// Packed bytes `[from, to)` of a shape whose first byte is at `origin`; `from < to`.
fn walk<V: Visit>(shape: &Shape, origin: isize, from: usize, to: usize, visitor: &mut V) -> bool {
    match shape {
        Shape::Run(_) => visitor.run(origin + from as isize, to - from),
        Shape::Strided { stride, block, .. } => strided(origin, *stride, *block, from, to, visitor),
        Shape::Repeat { stride, inner, inner_size, .. } => {
            repeat(inner, *inner_size, origin, *stride, from, to, visitor)
        }
        Shape::Runs(list) => runs(list, origin, from, to, visitor),
        Shape::Mixed(list) => mixed(list, origin, from, to, visitor),
    }
}

/// Equal blocks: a partial one, all the full ones at once, a partial one.
fn strided<V: Visit>(
    origin: isize,
    stride: isize,
    block: usize,
    from: usize,
    to: usize,
    visitor: &mut V,
) -> bool {
    let at = |index: usize| origin + index as isize * stride;
    let (mut index, skip) = (from / block, from % block);
    let mut left = to - from;
    if skip > 0 {
        let len = left.min(block - skip);
        if !visitor.run(at(index) + skip as isize, len) {
            return false;
        }
        left -= len;
        index += 1;
    }
    let (full, rest) = (left / block, left % block);
    (full == 0 || visitor.blocks(at(index), full, stride, block))
        && (rest == 0 || visitor.run(at(index + full), rest))
}

/// A shape of `size` packed bytes, repeated.
fn repeat<V: Visit>(
    inner: &Shape,
    size: usize,
    origin: isize,
    stride: isize,
    from: usize,
    to: usize,
    visitor: &mut V,
) -> bool {
    let (mut index, mut skip) = (from / size, from % size);
    let mut left = to - from;
    while left > 0 {
        let len = left.min(size - skip);
        if !walk(inner, origin + index as isize * stride, skip, skip + len, visitor) {
            return false;
        }
        left -= len;
        index += 1;
        skip = 0;
    }
    true
}

fn runs<V: Visit>(list: &Runs, origin: isize, mut from: usize, to: usize, visitor: &mut V) -> bool {
    let mut index = list.index_of(from);
    while from < to {
        let run = list.runs[index];
        let end = list.end(index).min(to);
        if !visitor.run(origin + run.disp + (from - run.start) as isize, end - from) {
            return false;
        }
        from = end;
        index += 1;
    }
    true
}

fn mixed<V: Visit>(list: &Mixed, origin: isize, mut from: usize, to: usize, visitor: &mut V) -> bool {
    let mut index = list.index_of(from);
    while from < to {
        let (part, start) = (&list.parts[index], list.starts[index]);
        let end = list.end(index).min(to);
        if !walk(&part.shape, origin + part.disp, from - start, end - start, visitor) {
            return false;
        }
        from = end;
        index += 1;
    }
    true
}
