//! The objects of one kind, found by handle.

use crate::core::handle::{self, HandleKind};

struct TableSlot<T> {
    generation: u8,
    object: Option<T>,
}

/// Objects by handle. A slot's generation changes with each new object, so a freed handle is not
/// taken for the object that came after it (until 256 others have been there).
pub(crate) struct Table<T> {
    kind: HandleKind,
    slots: Vec<TableSlot<T>>,
    free: Vec<usize>,
}

impl<T> Table<T> {
    /// An empty table.
    pub(crate) const fn new(kind: HandleKind) -> Self {
        Table { kind, slots: Vec::new(), free: Vec::new() }
    }

    /// Takes an object in and gives its handle value; `None` when the space of handles is used up.
    pub(crate) fn insert(&mut self, object: T) -> Option<usize> {
        if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[index];
            slot.generation = slot.generation.wrapping_add(1);
            slot.object = Some(object);
            return Some(handle::encode(self.kind, slot.generation, index));
        }
        let index = self.slots.len();
        (index < handle::OBJECTS_MAX).then(|| {
            self.slots.push(TableSlot { generation: 0, object: Some(object) });
            handle::encode(self.kind, 0, index)
        })
    }

    /// The object of a handle value, unless it was freed or is of another kind.
    #[inline]
    pub(crate) fn get(&self, handle: usize) -> Option<&T> {
        self.find(handle)
    }

    /// The same, to change it.
    #[inline]
    pub(crate) fn get_mut(&mut self, handle: usize) -> Option<&mut T> {
        self.find_mut(handle)
    }

    /// As [`Table::get`], in line wherever it is used: for calls that take no longer than such a look.
    #[inline(always)]
    pub(crate) fn find(&self, handle: usize) -> Option<&T> {
        let (generation, index) = handle::decode(self.kind, handle)?;
        self.slots.get(index).filter(|slot| slot.generation == generation)?.object.as_ref()
    }

    /// As [`Table::get_mut`], in line.
    #[inline(always)]
    pub(crate) fn find_mut(&mut self, handle: usize) -> Option<&mut T> {
        let (generation, index) = handle::decode(self.kind, handle)?;
        self.slots.get_mut(index).filter(|slot| slot.generation == generation)?.object.as_mut()
    }

    /// Takes the object out; its handle is invalid from now on.
    pub(crate) fn remove(&mut self, handle: usize) -> Option<T> {
        let object = self.lift(handle)?;
        self.release(handle);
        Some(object)
    }

    /// Takes the object out for a while: its handle finds nothing, and names no other object, until [`Table::put_back`] or
    /// [`Table::release`].
    #[inline]
    pub(crate) fn lift(&mut self, handle: usize) -> Option<T> {
        let (generation, index) = handle::decode(self.kind, handle)?;
        self.slots.get_mut(index).filter(|slot| slot.generation == generation)?.object.take()
    }

    /// Puts back under the same handle what [`Table::lift`] has taken out.
    #[inline]
    pub(crate) fn put_back(&mut self, handle: usize, object: T) {
        let Some((_, index)) = handle::decode(self.kind, handle) else { return };
        debug_assert!(self.slots[index].object.is_none(), "the slot is another object's");
        self.slots[index].object = Some(object);
    }

    /// What [`Table::lift`] has taken out does not come back.
    pub(crate) fn release(&mut self, handle: usize) {
        let Some((_, index)) = handle::decode(self.kind, handle) else { return };
        debug_assert!(!self.free.contains(&index), "the slot is free already");
        self.free.push(index);
    }

    /// Handle values and objects.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            slot.object.as_ref().map(|object| (handle::encode(self.kind, slot.generation, index), object))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_handle_stays_invalid_when_its_slot_is_used_again() {
        let mut table = Table::new(HandleKind::Info);
        let first = table.insert("a").unwrap();
        assert_eq!(table.remove(first), Some("a"));
        let second = table.insert("b").unwrap();
        assert_ne!(first, second);
        assert_eq!((table.get(first), table.get(second)), (None, Some(&"b")));
        assert_eq!(table.remove(first), None);
        assert_eq!(table.iter().count(), 1);
    }

    #[test]
    fn what_is_lifted_keeps_its_slot() {
        let mut table = Table::new(HandleKind::Info);
        let first = table.insert("a").unwrap();
        assert_eq!(table.lift(first), Some("a"));
        assert_eq!(table.get(first), None);
        assert_eq!(table.lift(first), None);
        let second = table.insert("b").unwrap();
        table.put_back(first, "c");
        assert_eq!((table.get(first), table.get(second)), (Some(&"c"), Some(&"b")));
        assert_eq!(table.lift(first), Some("c"));
        table.release(first);
        assert_ne!(table.insert("d"), Some(first));
        assert_eq!(table.get(first), None);
    }
}
