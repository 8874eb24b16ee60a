//! Handles: what a program holds of an object of the library.
//!
//! A handle is a small integer in the shape of a pointer, never an address. Predefined handles are below
//! 4096 (MPI 5.0 section 20.2). The others carry kind, generation and index, and fit in 31 bits,
//! so that `MPI_X_toint` and Fortran have the same number. A freed or foreign handle is recognized, not followed.

/// What a handle names. Four bits, never zero, so that every handle is above 4095.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum HandleKind {
    /// `MPI_Comm`
    Comm = 1,
    /// `MPI_Group`
    Group,
    /// `MPI_Datatype`
    Datatype,
    /// `MPI_Op`
    Op,
    /// `MPI_Info`
    Info,
    /// `MPI_Errhandler`
    Errhandler,
    /// `MPI_Message`
    Message,
    /// `MPI_Session`
    Session,
    /// `MPI_Request` of everything but plain point-to-point
    Request,
    /// `MPI_Win`
    Win,
    /// `MPI_File`
    File,
}

const INDEX_BITS: u32 = 18;
const GENERATION_BITS: u32 = 8;
const KIND_SHIFT: u32 = INDEX_BITS + GENERATION_BITS;

/// Objects of one kind that can exist at once.
pub(crate) const OBJECTS_MAX: usize = 1 << INDEX_BITS;

/// Point-to-point requests have a space of their own: this bit, then the engine's 30 bits of generation and index.
const REQUEST_BIT: usize = 1 << 30;

/// The handle of object `index` in its `generation`.
pub(crate) fn encode(kind: HandleKind, generation: u8, index: usize) -> usize {
    debug_assert!(index < OBJECTS_MAX);
    (kind as usize) << KIND_SHIFT | usize::from(generation) << INDEX_BITS | index
}

/// Generation and index, if `handle` is of this kind.
#[inline]
pub(crate) fn decode(kind: HandleKind, handle: usize) -> Option<(u8, usize)> {
    (handle >> KIND_SHIFT == kind as usize)
        .then_some(((handle >> INDEX_BITS) as u8, handle & (OBJECTS_MAX - 1)))
}

/// The handle of a point-to-point request of the engine.
#[inline]
pub(crate) fn encode_request(id: u32) -> usize {
    debug_assert!((id as usize) < REQUEST_BIT);
    REQUEST_BIT | id as usize
}

/// The engine's number of a point-to-point request, if `handle` is one.
#[inline]
pub(crate) fn decode_request(handle: usize) -> Option<u32> {
    (handle >> 30 == 1).then_some((handle & (REQUEST_BIT - 1)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_above_the_predefined_and_fit_an_int() {
        let last = encode(HandleKind::File, 255, OBJECTS_MAX - 1);
        assert!(encode(HandleKind::Comm, 0, 0) > 4095 && last < REQUEST_BIT);
        assert!(encode_request((1 << 30) - 1) <= i32::MAX as usize);
        assert_eq!(decode(HandleKind::File, last), Some((255, OBJECTS_MAX - 1)));
        assert_eq!(decode(HandleKind::Comm, last), None);
        assert_eq!(decode(HandleKind::Comm, encode_request(7)), None);
        assert_eq!(decode_request(encode_request(7)), Some(7));
    }
}
