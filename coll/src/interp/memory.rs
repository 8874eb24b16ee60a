//! Buffers and datatypes of the interpreter.

use crate::schedule::{Slice, TypeLayout};

/// A datatype: its pieces in packed order, and its extent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatatypeShape {
    /// Offset from the element's address, and length, of each piece.
    pub pieces: Vec<(i64, usize)>,
    /// Bytes from one element to the next.
    pub extent: i64,
}

/// A buffer, with a guard on every byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardedBuffer {
    bytes: Vec<u8>,
    /// Where the buffer's address is, counted from the first byte.
    origin: i64,
    /// Messages in flight that read the byte, or [`WRITTEN`].
    guards: Vec<u16>,
}

/// The guard of a byte that is being received.
const WRITTEN: u16 = u16::MAX;

/// What memory nobody has written holds.
const JUNK: u8 = 0xA5;

/// Why memory cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryDefect {
    Outside,
    Race,
}

impl DatatypeShape {
    /// One byte.
    pub fn byte() -> DatatypeShape {
        DatatypeShape { pieces: vec![(0, 1)], extent: 1 }
    }

    /// Packed bytes.
    pub fn size(&self) -> usize {
        self.pieces.iter().map(|(_, length)| length).sum()
    }

    /// What an algorithm knows of it.
    pub fn layout(&self) -> TypeLayout {
        let contiguous = self.pieces == [(0, self.size())] && self.extent == self.size() as i64;
        TypeLayout { size: self.size() as u64, extent: self.extent, contiguous }
    }

    /// The first byte of an element and the one after its last.
    fn bounds(&self) -> (i64, i64) {
        let low = self.pieces.iter().map(|(offset, _)| *offset).min();
        let high = self.pieces.iter().map(|(offset, length)| offset + *length as i64).max();
        (low.unwrap_or(0), high.unwrap_or(0))
    }

    /// The pieces of all elements of a slice, as offsets from the buffer's address.
    fn pieces_of(&self, slice: &Slice) -> impl Iterator<Item = (i64, usize)> {
        let first = slice.offset;
        (0..slice.count as i64).flat_map(move |element| {
            let start = first + element * self.extent;
            self.pieces.iter().map(move |(offset, length)| (start + offset, *length))
        })
    }
}

impl GuardedBuffer {
    /// Just enough for some runs of elements, each an offset in bytes and a count.
    pub fn for_elements(shape: &DatatypeShape, runs: &[(i64, u64)]) -> GuardedBuffer {
        let (low, high) = shape.bounds();
        let ends = runs.iter().filter(|(_, count)| *count > 0).flat_map(|(offset, count)| {
            let last = offset + (*count as i64 - 1) * shape.extent;
            [offset + low, last + low, offset + high, last + high]
        });
        let (from, to) = ends.fold((0, 0), |(from, to), end| (from.min(end), to.max(end)));
        GuardedBuffer::spanning(from, to)
    }

    /// The bytes from offset `from` to `to` around the buffer's address.
    pub fn spanning(from: i64, to: i64) -> GuardedBuffer {
        let length = (to - from) as usize;
        GuardedBuffer { bytes: vec![JUNK; length], origin: -from, guards: vec![0; length] }
    }

    /// Memory that covers this and another.
    pub fn and(&self, other: &GuardedBuffer) -> GuardedBuffer {
        let end = |memory: &GuardedBuffer| memory.bytes.len() as i64 - memory.origin;
        GuardedBuffer::spanning(-self.origin.max(other.origin), end(self).max(end(other)))
    }

    /// Writes packed elements; for tests to prepare and to state what they expect.
    ///
    /// # Panics
    ///
    /// If the elements are not within the memory.
    pub fn set(&mut self, shape: &DatatypeShape, slice: &Slice, packed: &[u8]) {
        self.write(shape, slice, packed).expect("the elements lie within the memory");
    }

    /// Packs elements.
    pub(super) fn read(&self, shape: &DatatypeShape, slice: &Slice) -> Result<Vec<u8>, MemoryDefect> {
        let mut packed = Vec::with_capacity(shape.size() * slice.count as usize);
        for (offset, length) in shape.pieces_of(slice) {
            let range = self.range(offset, length)?;
            if self.guards[range.clone()].contains(&WRITTEN) {
                return Err(MemoryDefect::Race);
            }
            packed.extend_from_slice(&self.bytes[range]);
        }
        Ok(packed)
    }

    /// Unpacks elements.
    pub(super) fn write(
        &mut self,
        shape: &DatatypeShape,
        slice: &Slice,
        packed: &[u8],
    ) -> Result<(), MemoryDefect> {
        let mut rest = packed;
        for (offset, length) in shape.pieces_of(slice) {
            let range = self.range(offset, length)?;
            if self.guards[range.clone()].iter().any(|guard| *guard != 0) {
                return Err(MemoryDefect::Race);
            }
            let (piece, after) = rest.split_at(length);
            self.bytes[range].copy_from_slice(piece);
            rest = after;
        }
        Ok(())
    }

    /// Marks a slice as in flight.
    pub(super) fn guard(
        &mut self,
        shape: &DatatypeShape,
        slice: &Slice,
        writes: bool,
    ) -> Result<(), MemoryDefect> {
        for (offset, length) in shape.pieces_of(slice) {
            let range = self.range(offset, length)?;
            for guard in &mut self.guards[range] {
                if *guard == WRITTEN || (writes && *guard != 0) {
                    return Err(MemoryDefect::Race);
                }
                *guard = if writes { WRITTEN } else { *guard + 1 };
            }
        }
        Ok(())
    }

    /// Takes the marks of [`GuardedBuffer::guard`] away.
    pub(super) fn unguard(&mut self, shape: &DatatypeShape, slice: &Slice, writes: bool) {
        for (offset, length) in shape.pieces_of(slice) {
            let start = (self.origin + offset) as usize;
            for guard in &mut self.guards[start..start + length] {
                *guard = if writes { 0 } else { *guard - 1 };
            }
        }
    }

    fn range(&self, offset: i64, length: usize) -> Result<std::ops::Range<usize>, MemoryDefect> {
        let start = usize::try_from(self.origin + offset).map_err(|_| MemoryDefect::Outside)?;
        let inside = start + length <= self.bytes.len();
        inside.then_some(start..start + length).ok_or(MemoryDefect::Outside)
    }
}
