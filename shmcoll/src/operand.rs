//! Memory of elements that are combined.

use std::marker::PhantomData;

use tern_mem::UserBuf;
use tern_shm::Area;
use tern_shm::shm_comm::FlagPayload;

/// Elements without gaps: in a buffer of the program's, in the shared buffer, or in a flag's payload.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    at: *mut u8,
    bytes: usize,
    memory: PhantomData<&'a ()>,
}

impl<'a> Operand<'a> {
    /// A buffer without gaps; of one that has gaps, nothing.
    #[inline]
    pub fn of(buf: &'a UserBuf) -> Self {
        let (base, bytes) = buf.as_contiguous().unwrap_or((0, 0));
        Operand { at: std::ptr::with_exposed_provenance_mut(base), bytes, memory: PhantomData }
    }

    /// Some bytes of the shared buffer.
    #[inline]
    pub fn within(area: &'a Area<'_>, at: usize, bytes: usize) -> Self {
        Operand { at: area.address(at, bytes), bytes, memory: PhantomData }
    }

    /// A flag payload.
    #[inline]
    pub fn payload(payload: &'a mut FlagPayload) -> Self {
        Operand { at: payload.as_mut_ptr(), bytes: payload.len(), memory: PhantomData }
    }

    /// The address.
    #[inline]
    pub fn address(&self) -> *mut u8 {
        self.at
    }

    /// How many bytes there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// As a buffer.
    pub fn buf(&self) -> UserBuf {
        // SAFETY: who made this had the memory, and lends it for as long as this lives; whoever combines uses it no longer.
        unsafe { UserBuf::contiguous(self.at, self.bytes) }
    }
}
