//! Objects by number, with a generation that tells a number of today from one of yesterday.

use crate::limits::REQUESTS_MAX;

const INDEX_BITS: u32 = REQUESTS_MAX.trailing_zeros();
const GENERATION_MASK: u32 = 0x3F;

/// A number: index and generation, 30 bits in all, so that it fits in a handle.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Id(u32);

impl Id {
    /// The number of no object: what is over before it needs one. The last index, and a generation that makes no round number.
    pub const OVER: Id = Id(0x2A << INDEX_BITS | (REQUESTS_MAX as u32 - 1));

    /// The number itself.
    #[inline]
    pub fn raw(self) -> u32 {
        self.0
    }

    /// A number from elsewhere (a handle, a peer's message); it is checked when used.
    #[inline]
    pub fn from_raw(raw: u32) -> Self {
        Id(raw)
    }

    /// The index: dense, unique among what exists now.
    #[inline]
    pub fn index(self) -> usize {
        (self.0 & (REQUESTS_MAX as u32 - 1)) as usize
    }

    fn next_generation(self) -> Self {
        let generation = ((self.0 >> INDEX_BITS) + 1) & GENERATION_MASK;
        Id(generation << INDEX_BITS | self.index() as u32)
    }
}

struct Slot<T> {
    id: Id,
    object: Option<T>,
}

/// A store of objects that takes and frees without allocating, once it is as large as it was ever needed.
pub struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Takes an object in.
    ///
    /// # Panics
    /// When 2^24 objects exist; the caller's memory ends before.
    #[inline(always)]
    pub fn insert(&mut self, object: T) -> Id {
        let index = match self.free.pop() {
            Some(index) => index,
            None => self.grow(),
        };
        // The object is written where it stays: the growing of the store does not see it.
        let slot = &mut self.slots[index as usize];
        slot.object = Some(object);
        slot.id
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> u32 {
        // One index less than there are: that is [`Id::OVER`].
        assert!(self.slots.len() < REQUESTS_MAX - 1, "2^24 requests are active: complete some with MPI_Wait");
        let index = self.slots.len() as u32;
        self.slots.push(Slot { id: Id(index), object: None });
        index
    }

    /// The object, if it still exists.
    #[inline]
    pub fn get(&self, id: Id) -> Option<&T> {
        self.slots.get(id.index()).filter(|slot| slot.id == id)?.object.as_ref()
    }

    /// The object, to change it.
    #[inline]
    pub fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        self.slots.get_mut(id.index()).filter(|slot| slot.id == id)?.object.as_mut()
    }

    /// The object at an index, whatever its generation.
    #[inline]
    pub fn id_at(&self, index: u32) -> Option<Id> {
        self.slots.get(index as usize).filter(|slot| slot.object.is_some()).map(|slot| slot.id)
    }

    /// The number of an object that is as asked: looks at each.
    pub fn find(&self, is: impl Fn(&T) -> bool) -> Option<Id> {
        self.slots.iter().find(|slot| slot.object.as_ref().is_some_and(&is)).map(|slot| slot.id)
    }

    /// The object at an index with its number, whatever its generation.
    #[inline]
    pub fn at_mut(&mut self, index: u32) -> Option<(Id, &mut T)> {
        let slot = self.slots.get_mut(index as usize)?;
        let id = slot.id;
        slot.object.as_mut().map(|object| (id, object))
    }

    /// Takes the object out; its number is invalid from now on.
    #[inline]
    pub fn remove(&mut self, id: Id) -> Option<T> {
        let slot = self.slots.get_mut(id.index()).filter(|slot| slot.id == id)?;
        let object = slot.object.take()?;
        slot.id = id.next_generation();
        self.free.push(id.index() as u32);
        Some(object)
    }

    /// Drops the object where it lies: cheaper than [`Slab::remove`] for one that is large.
    #[inline]
    pub fn discard(&mut self, id: Id) {
        if let Some(slot) = self.slots.get_mut(id.index()).filter(|slot| slot.id == id)
            && slot.object.is_some()
        {
            slot.object = None;
            slot.id = id.next_generation();
            self.free.push(id.index() as u32);
        }
    }

    /// Objects that exist.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether none exists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_yesterday_are_not_those_of_today() {
        let mut slab = Slab::default();
        let first = slab.insert('a');
        assert_eq!(slab.remove(first), Some('a'));
        let second = slab.insert('b');
        assert_eq!(first.index(), second.index());
        assert_eq!((slab.get(first), slab.get(second)), (None, Some(&'b')));
        assert_eq!(slab.remove(first), None);
        assert!(second.raw() < 1 << 30);
    }
}
