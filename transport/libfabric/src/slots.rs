//! Memory that an endpoint sends from or receives into: slots of one size, each with the room that a provider wants for itself
//! while an operation on it is under way.

use std::ffi::c_void;

/// What a provider may write to while an operation is under way (`fi_context2`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Context([usize; 8]);

/// Bytes in one piece of memory and in one alignment.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct AlignedBytes([u8; 64]);

/// Bytes of a page.
const PAGE_BYTES: usize = 4096;

/// So many slots.
pub(crate) struct Slots {
    // Raw, since providers write to both while this is borrowed.
    memory: *mut AlignedBytes,
    contexts: *mut Context,
    count: usize,
    slot_bytes: usize,
    /// What the provider calls this memory, if it wants to know memory beforehand.
    pub desc: *mut c_void,
}

impl Slots {
    /// `count` slots of at least `slot_bytes` each. Where they are whole pages they get a line more: first lines that are whole pages
    /// apart would meet in the same few places of a cache.
    pub(crate) fn new(count: usize, slot_bytes: usize) -> Slots {
        let mut slot_bytes = slot_bytes.next_multiple_of(size_of::<AlignedBytes>());
        if slot_bytes > 0 && slot_bytes.is_multiple_of(PAGE_BYTES) {
            slot_bytes += size_of::<AlignedBytes>();
        }
        let lines = vec![AlignedBytes([0; 64]); count * slot_bytes / size_of::<AlignedBytes>()];
        let contexts = vec![Context::default(); count];
        Slots {
            memory: Box::into_raw(lines.into_boxed_slice()).cast(),
            contexts: Box::into_raw(contexts.into_boxed_slice()).cast(),
            count,
            slot_bytes,
            desc: std::ptr::null_mut(),
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Bytes of each.
    pub(crate) fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// All of the memory.
    pub(crate) fn all(&self) -> (*mut u8, usize) {
        (self.memory.cast(), self.count * self.slot_bytes)
    }

    /// The first byte of a slot.
    pub(crate) fn at(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.count, "slot {slot} of {}", self.count);
        self.memory.cast::<u8>().wrapping_add(slot * self.slot_bytes)
    }

    /// The provider's room for a slot.
    pub(crate) fn context(&self, slot: usize) -> *mut c_void {
        assert!(slot < self.count, "slot {slot} of {}", self.count);
        self.contexts.wrapping_add(slot).cast()
    }

    /// The slot of a room, if it is of these.
    pub(crate) fn of_context(&self, context: *mut c_void) -> Option<usize> {
        let offset = context.addr().checked_sub(self.contexts.addr())?;
        let slot = offset / size_of::<Context>();
        (slot < self.count && offset % size_of::<Context>() == 0).then_some(slot)
    }

    /// Where `len` bytes at an address lie, if they are all of one slot.
    pub(crate) fn within(&self, slot: usize, start: *const u8, len: usize) -> Option<*const u8> {
        let offset = start.addr().checked_sub(self.at(slot).addr())?;
        let inside = offset <= self.slot_bytes && len <= self.slot_bytes - offset;
        inside.then(|| self.at(slot).wrapping_add(offset).cast_const())
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        let lines = std::ptr::slice_from_raw_parts_mut(self.memory, self.count * self.slot_bytes / 64);
        let contexts = std::ptr::slice_from_raw_parts_mut(self.contexts, self.count);
        // SAFETY: both came from boxes of these lengths, and whoever used them is closed before.
        unsafe {
            drop(Box::from_raw(lines));
            drop(Box::from_raw(contexts));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_names_its_slot() {
        let slots = Slots::new(3, 100);
        assert_eq!((slots.count(), slots.slot_bytes(), slots.all().1), (3, 128, 384));
        assert_eq!((Slots::new(3, 8192).slot_bytes(), Slots::new(3, 8128).slot_bytes()), (8256, 8128));
        for slot in 0..3 {
            assert_eq!(slots.of_context(slots.context(slot)), Some(slot));
        }
        let beyond = slots.context(2).wrapping_byte_add(size_of::<Context>());
        assert_eq!(slots.of_context(beyond), None);
        assert_eq!(slots.of_context(slots.context(1).wrapping_byte_add(1)), None);
    }

    #[test]
    fn what_is_not_of_one_slot_is_nowhere() {
        let slots = Slots::new(2, 64);
        let first = slots.at(0).cast_const();
        assert_eq!(slots.within(0, first.wrapping_add(4), 60), Some(first.wrapping_add(4)));
        assert_eq!(slots.within(0, first.wrapping_add(5), 60), None);
        assert_eq!(slots.within(1, first, 1), None);
    }
}
