//! Layouts as bytes, for a rank that has to reach memory of another one's shape.
//!
//! A description names no element twice: a vector of any length is a few words. What is read comes from another process, so
//! sizes and bounds are computed here and none is believed.

use std::sync::Arc;

use super::shape::ListEntry;
use super::walk::part;
use super::{Bytes, Layout, List, PieceVisitor, Placed, Shape, Signature};

// What the first word of a shape says.
const ONE: u64 = 0;
const STRIDED: u64 = 1;
const REPEAT: u64 = 2;
const PIECES: u64 = 3;
const MIXED: u64 = 4;

/// Shapes within shapes at most: a program nests a few datatypes, and a hostile description must not exhaust the stack.
const DEPTH_MAX: usize = 64;

/// Pieces of one list into which a shape is written that is nested too deeply. They are 256 MiB, more than any message of a description.
const FLAT_PIECES_MAX: u64 = 1 << 24;

impl Layout {
    /// The description of one element.
    pub fn describe(&self) -> Vec<u8> {
        let mut out = Vec::new();
        word(&mut out, self.extent as u64);
        word(&mut out, self.placed.disp as u64);
        write(&mut out, &self.placed.shape, 0);
        out
    }

    /// The layout of a description; `None` of bytes that describe none.
    pub fn from_description(bytes: &[u8]) -> Option<Layout> {
        let mut words = Words(bytes);
        let (extent, disp) = (words.signed()?, words.signed()?);
        let read = words.shape(0)?;
        if !words.0.is_empty() {
            return None;
        }
        let (low, high) = read.moved(disp as i128)?;
        let true_extent = isize::try_from(i128::from(high as i64) - i128::from(low as i64)).ok()?;
        Some(Layout {
            size: read.size,
            lb: low,
            extent,
            true_lb: low,
            true_extent,
            signature: Signature::EMPTY,
            placed: Placed { disp, shape: read.shape },
        })
    }

    /// Where the bytes of `count` elements lie: the lowest, and the one behind the highest, from the buffer's address.
    pub fn span(&self, count: u64) -> (i128, i128) {
        if count == 0 || self.size == 0 {
            return (0, 0);
        }
        let steps = self.extent as i128 * i128::from(count - 1);
        let (low, high) = (self.true_lb as i128, self.true_lb as i128 + self.true_extent as i128);
        (low + steps.min(0), high + steps.max(0))
    }
}

fn word(out: &mut Vec<u8>, word: u64) {
    out.extend_from_slice(&word.to_le_bytes());
}

fn write(out: &mut Vec<u8>, shape: &Shape<Bytes>, depth: usize) {
    match shape {
        Shape::One(bytes) => [ONE, bytes.0 as u64].into_iter().for_each(|number| word(out, number)),
        Shape::Strided { count, stride, leaf } => {
            let numbers = [STRIDED, *count as u64, *stride as u64, leaf.0 as u64];
            numbers.into_iter().for_each(|number| word(out, number));
        }
        Shape::Pieces(list) => {
            [PIECES, list.entries.len() as u64].into_iter().for_each(|number| word(out, number));
            for entry in &list.entries {
                word(out, entry.disp as u64);
                word(out, entry.item.0 as u64);
            }
        }
        nested if depth == DEPTH_MAX => write_flat(out, nested),
        Shape::Repeat { count, stride, inner, .. } => {
            [REPEAT, *count as u64, *stride as u64].into_iter().for_each(|number| word(out, number));
            write(out, inner, depth + 1);
        }
        Shape::Mixed(list) => {
            [MIXED, list.entries.len() as u64].into_iter().for_each(|number| word(out, number));
            for entry in &list.entries {
                word(out, entry.disp as u64);
                write(out, &entry.item, depth + 1);
            }
        }
    }
}

/// What is nested more deeply than is read, as the list of its pieces: of so many at most that nobody carries the description.
fn write_flat(out: &mut Vec<u8>, shape: &Shape<Bytes>) {
    word(out, PIECES);
    let (count_at, mut count) = (out.len(), 0u64);
    word(out, count);
    part(
        shape,
        0,
        0..shape.size(),
        &mut PieceVisitor(&mut |disp: isize, len: usize| {
            word(out, disp as u64);
            word(out, len as u64);
            count += 1;
            count < FLAT_PIECES_MAX
        }),
    );
    out[count_at..count_at + 8].copy_from_slice(&count.to_le_bytes());
}

/// A shape that was read, with what follows from it.
struct ReadShape {
    shape: Shape<Bytes>,
    size: usize,
    /// Where its bytes lie, from its first one.
    low: isize,
    high: isize,
}

impl ReadShape {
    /// Where the bytes are if the first one is at `by`.
    fn moved(&self, by: i128) -> Option<(isize, isize)> {
        let at = |bound: isize| isize::try_from(bound as i128 + by).ok();
        Some((at(self.low)?, at(self.high)?))
    }

    fn one(len: usize) -> ReadShape {
        ReadShape { shape: Shape::One(Bytes(len)), size: len, low: 0, high: len as isize }
    }

    /// Bounds and bytes of `count` of these at a distance; the shape is for the caller to replace.
    fn repeated(&self, count: usize, stride: isize) -> Option<(usize, isize, isize)> {
        let last = stride as i128 * (count as i128 - 1);
        let (low, _) = self.moved(last.min(0))?;
        let (_, high) = self.moved(last.max(0))?;
        let size = self.size.checked_mul(count).filter(|size| isize::try_from(*size).is_ok())?;
        Some((size, low, high))
    }
}

struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn number(&mut self) -> Option<u64> {
        let (head, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*head))
    }

    fn signed(&mut self) -> Option<isize> {
        isize::try_from(self.number()? as i64).ok()
    }

    /// A length or a count: not zero, and no more than memory has.
    fn positive(&mut self) -> Option<usize> {
        let number = usize::try_from(self.number()?).ok()?;
        (number > 0 && isize::try_from(number).is_ok()).then_some(number)
    }

    fn shape(&mut self, depth: usize) -> Option<ReadShape> {
        if depth > DEPTH_MAX {
            return None;
        }
        match self.number()? {
            ONE => Some(ReadShape::one(self.positive()?)),
            STRIDED => {
                let (count, stride, leaf) = (self.positive()?, self.signed()?, Bytes(self.positive()?));
                let (size, low, high) = ReadShape::one(leaf.0).repeated(count, stride)?;
                Some(ReadShape { shape: Shape::Strided { count, stride, leaf }, size, low, high })
            }
            REPEAT => {
                let (count, stride) = (self.positive()?, self.signed()?);
                let inner = self.shape(depth + 1)?;
                let (size, low, high) = inner.repeated(count, stride)?;
                let shape =
                    Shape::Repeat { count, stride, inner_size: inner.size, inner: Arc::new(inner.shape) };
                Some(ReadShape { shape, size, low, high })
            }
            PIECES => {
                let list =
                    self.list(|words| Some(ReadShape::one(words.positive()?)), |read| Bytes(read.size))?;
                let (list, low, high) = list;
                Some(ReadShape { size: list.size, low, high, shape: Shape::Pieces(Arc::new(list)) })
            }
            MIXED => {
                let list = self.list(|words| words.shape(depth + 1), |read| read.shape)?;
                let (list, low, high) = list;
                Some(ReadShape { size: list.size, low, high, shape: Shape::Mixed(Arc::new(list)) })
            }
            _ => None,
        }
    }

    /// Items, each behind its displacement, with where their bytes lie.
    fn list<T>(
        &mut self,
        item: impl Fn(&mut Self) -> Option<ReadShape>,
        keep: impl Fn(ReadShape) -> T,
    ) -> Option<(List<T>, isize, isize)> {
        let count = self.positive()?;
        // Each takes two words at least.
        if count > self.0.len() / 16 {
            return None;
        }
        let (mut entries, mut size) = (Vec::with_capacity(count), 0usize);
        let (mut lowest, mut highest) = (isize::MAX, isize::MIN);
        for _ in 0..count {
            let disp = self.signed()?;
            let read = item(self)?;
            let (low, high) = read.moved(disp as i128)?;
            (lowest, highest) = (lowest.min(low), highest.max(high));
            let start = size;
            size = size.checked_add(read.size).filter(|size| isize::try_from(*size).is_ok())?;
            entries.push(ListEntry { start, disp, item: keep(read) });
        }
        Some((List { entries: entries.into(), size }, lowest, highest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::SPLICE_PIECES_MAX;

    fn shapes() -> Vec<Layout> {
        let int = Layout::bytes(4);
        let strided = int.placed.repeated(5, 12);
        let nested = strided.repeated(3, 100);
        let listed = Placed::sequence([Placed::one(7, Bytes(3)), Placed::one(-9, Bytes(8)), nested.clone()]);
        let pieces =
            Placed::sequence([Placed::one(0, Bytes(3)), Placed::one(20, Bytes(8)), Placed::one(5, Bytes(2))]);
        let of = |placed: &Placed<Bytes>| {
            Layout::from_description(
                &Layout { placed: placed.clone(), extent: 512, ..int.clone() }.describe(),
            )
        };
        [&int.placed, &strided, &nested, &listed, &pieces]
            .map(|placed| of(placed).expect("it is sound"))
            .into()
    }

    #[test]
    fn what_is_described_is_read() {
        for layout in shapes() {
            let again = Layout::from_description(&layout.describe()).expect("it is sound");
            assert_eq!(again.placed, layout.placed);
            assert_eq!((again.size, again.extent, again.span(3)), (layout.size, 512, layout.span(3)));
        }
        let mixed = &shapes()[3];
        assert_eq!((mixed.size, mixed.true_lb, mixed.true_extent), (71, -9, 9 + 200 + 52));
    }

    #[test]
    fn what_is_nested_too_deeply_goes_as_a_list() {
        // Lists that are too long to be joined with those around them.
        let far = |at: usize| Placed::one((at * at + 7 * at) as isize, Bytes(1 + at % 3));
        let mut placed = Placed::one(0, Bytes(4));
        for level in 0..DEPTH_MAX + 9 {
            let others = (1..SPLICE_PIECES_MAX + 9).map(|at| far(1000 + level + at));
            placed = Placed::sequence(others.chain([placed]));
        }
        let size = placed.shape.size();
        let layout = Layout { placed, size, ..Layout::bytes(4) };
        let again = Layout::from_description(&layout.describe()).expect("it is sound");
        let pieces = |layout: &Layout| {
            let mut all = Vec::new();
            layout.pieces(1, 0, size, &mut |disp, len| {
                all.push((disp, len));
                true
            });
            all
        };
        assert_eq!(pieces(&again), pieces(&layout));
    }

    /// Whatever the bytes: no panic, and nothing outside the bounds that were computed.
    #[test]
    fn any_bytes_are_a_layout_or_nothing() {
        let (mut state, mut sound) = (1u64, 0);
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 33
        };
        let seeds: Vec<Vec<u8>> = shapes().iter().map(Layout::describe).collect();
        for round in 0..50_000 {
            let mut bytes = seeds[round % seeds.len()].clone();
            for _ in 0..1 + random() % 3 {
                let at = random() as usize % bytes.len();
                bytes[at] = if random() % 3 == 0 { random() as u8 } else { (random() % 6) as u8 };
            }
            let Some(layout) = Layout::from_description(&bytes) else { continue };
            sound += 1;
            let (low, high) = layout.span(2);
            struct Within(i128, i128);
            impl crate::layout::Visit for Within {
                fn run(&mut self, disp: isize, len: usize) -> bool {
                    assert!(disp as i128 >= self.0 && disp as i128 + len as i128 <= self.1);
                    true
                }
                fn blocks(&mut self, disp: isize, count: usize, stride: isize, block: usize) -> bool {
                    self.run(disp, block);
                    let last = disp as i128 + stride as i128 * (count as i128 - 1);
                    assert!(last >= self.0 && last + block as i128 <= self.1);
                    true
                }
            }
            let all = layout.packed_len(2);
            if all < 1 << 16 && low > -(1 << 62) && high < 1 << 62 {
                layout.visit(2, all / 3, all, &mut Within(low, high));
            }
        }
        assert!(sound > 1000, "{sound}");
    }
}
