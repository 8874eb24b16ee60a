//! Packing by hand: `MPI_Pack` and `MPI_Pack_external` (MPI 5.0, sections 5.2 and 5.3).
//!
//! A packed buffer is nothing but the packed bytes, so it may be sent and received as the type itself. All
//! functions answer the new position.

use super::Datatype;
use super::error::{TypeError, TypeResult};
use crate::buf::UserBuf;
use crate::external32;
use crate::layout::{Elements, Placed, Shape};

/// The packed side of a transfer: `size` bytes, of which those from `position` on are to be used.
#[derive(Clone, Copy, Debug)]
pub struct PackedBuf {
    /// Its address.
    pub base: *mut u8,
    /// Bytes.
    pub size: i64,
    /// Where to go on.
    pub position: i64,
}

impl PackedBuf {
    /// The address of the next byte and the position after `needed` more, if there is room.
    fn take(&self, needed: i64) -> TypeResult<(*mut u8, i64)> {
        let no_room = TypeError::NoRoom { needed, position: self.position, size: self.size };
        match self.position.checked_add(needed) {
            Some(end) if self.position >= 0 && end <= self.size => {
                Ok((self.base.wrapping_offset(self.position as isize), end))
            }
            _ => Err(no_room),
        }
    }
}

impl Datatype {
    /// Bytes that `count` elements take when packed.
    pub fn pack_size(&self, count: i64) -> TypeResult<i64> {
        self.size().checked_mul(count).ok_or(TypeError::TooLarge)
    }

    /// Bytes that `count` elements take in `external32`.
    pub fn external_size(&self, count: i64) -> TypeResult<i64> {
        external_size(&self.core.elements.shape).checked_mul(count).ok_or(TypeError::TooLarge)
    }

    /// Packs `count` elements at `from`.
    ///
    /// # Safety
    /// The elements must be readable, and `to` writable for its size; they must not overlap.
    pub unsafe fn pack(&self, from: *const u8, count: i64, to: PackedBuf) -> TypeResult<i64> {
        let (at, end) = to.take(self.pack_size(count)?)?;
        // SAFETY: the caller's promise; `take` has found room for all the bytes.
        unsafe { self.elements_at(from.cast_mut(), count).read_to(0, at, (end - to.position) as usize) };
        Ok(end)
    }

    /// Unpacks `count` elements to `to`.
    ///
    /// # Safety
    /// The elements must be writable, and `from` readable for its size; they must not overlap.
    pub unsafe fn unpack(&self, from: PackedBuf, to: *mut u8, count: i64) -> TypeResult<i64> {
        let (at, end) = from.take(self.pack_size(count)?)?;
        // SAFETY: the caller's promise; `take` has found all the bytes.
        unsafe { self.elements_at(to, count).write_from(0, at, (end - from.position) as usize) };
        Ok(end)
    }

    /// Packs `count` elements at `from` in `external32`.
    ///
    /// # Safety
    /// As [`Datatype::pack`].
    pub unsafe fn pack_external(&self, from: *const u8, count: i64, to: PackedBuf) -> TypeResult<i64> {
        let (mut at, end) = to.take(self.external_size(count)?)?;
        self.for_each_array(count, |disp, array| {
            // SAFETY: the typemap names only bytes of the elements; the external sizes add up to what `take`
            // has found room for.
            unsafe { external32::encode_array(array.basic, from.wrapping_offset(disp), at, array.count) };
            at = at.wrapping_add(array.count * array.basic.external_size());
        })?;
        Ok(end)
    }

    /// Unpacks `count` elements in `external32` to `to`.
    ///
    /// # Safety
    /// As [`Datatype::unpack`].
    pub unsafe fn unpack_external(&self, from: PackedBuf, to: *mut u8, count: i64) -> TypeResult<i64> {
        let (mut at, end) = from.take(self.external_size(count)?)?;
        self.for_each_array(count, |disp, array| {
            // SAFETY: as in `pack_external`, the other way round.
            unsafe { external32::decode_array(array.basic, at, to.wrapping_offset(disp), array.count) };
            at = at.wrapping_add(array.count * array.basic.external_size());
        })?;
        Ok(end)
    }

    /// Unpacks the elements that `external` bytes in `external32` hold, and no others of the `count` at `to`. Answers how many bytes
    /// those have in memory, an incomplete last element left out.
    ///
    /// # Safety
    /// As [`Datatype::unpack`].
    pub unsafe fn unpack_external_part(
        &self,
        from: *const u8,
        external: i64,
        to: *mut u8,
        count: i64,
    ) -> TypeResult<i64> {
        let (mut left, mut at, mut native) = (external.max(0) as usize, from, 0);
        self.for_each_array(count, |disp, array| {
            let size = array.basic.external_size();
            let whole = left.checked_div(size).unwrap_or(0).min(array.count);
            // SAFETY: as in `unpack_external`; `left` says what is there.
            unsafe { external32::decode_array(array.basic, at, to.wrapping_offset(disp), whole) };
            at = at.wrapping_add(whole * size);
            native += whole * array.basic.size();
            left = if whole < array.count { 0 } else { left - whole * size };
        })?;
        Ok(native as i64)
    }

    /// # Safety
    /// As [`UserBuf::typed`].
    unsafe fn elements_at(&self, base: *mut u8, count: i64) -> UserBuf {
        // SAFETY: handed on to the caller.
        unsafe { self.buffer(base, count.max(0) as u64) }
    }

    /// Calls `each` for every array of basic elements in `count` elements, in the order of the typemap.
    pub(super) fn for_each_array(&self, count: i64, mut each: impl FnMut(isize, Elements)) -> TypeResult<()> {
        self.pack_size(count)?;
        let Placed { disp, shape } =
            self.core.elements.repeated(count.max(0) as usize, self.extent() as isize);
        arrays(&shape, disp, &mut each);
        Ok(())
    }
}

fn arrays(shape: &Shape<Elements>, at: isize, each: &mut impl FnMut(isize, Elements)) {
    match shape {
        Shape::One(leaf) => each(at, *leaf),
        Shape::Strided { count, stride, leaf } => {
            (0..*count as isize).for_each(|i| each(at + i * stride, *leaf));
        }
        Shape::Repeat { count, stride, inner, .. } => {
            (0..*count as isize).for_each(|i| arrays(inner, at + i * stride, each));
        }
        Shape::Pieces(list) => list.entries.iter().for_each(|entry| each(at + entry.disp, entry.item)),
        Shape::Mixed(list) => {
            list.entries.iter().for_each(|entry| arrays(&entry.item, at + entry.disp, each))
        }
    }
}

fn external_size(shape: &Shape<Elements>) -> i64 {
    match shape {
        Shape::One(leaf) => (leaf.count * leaf.basic.external_size()) as i64,
        Shape::Strided { count, leaf, .. } => (count * leaf.count * leaf.basic.external_size()) as i64,
        Shape::Repeat { count, inner, .. } => *count as i64 * external_size(inner),
        Shape::Pieces(list) => list.entries.iter().map(|e| external_size(&Shape::One(e.item))).sum(),
        Shape::Mixed(list) => list.entries.iter().map(|entry| external_size(&entry.item)).sum(),
    }
}
