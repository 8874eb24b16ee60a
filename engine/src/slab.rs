//! Objects by number, with a generation that tells a number of today from one of yesterday.

use crate::limits::REQUESTS_MAX;

const INDEX_BITS: u32 = REQUESTS_MAX.trailing_zeros();
const GENERATION_MASK: u32 = 0x3F;

/// A number: index and generation, 30 bits in all, so that it fits in a handle.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Id(u32);

/// Set in the number that a free place keeps for its next object, and in no number from elsewhere.
const FREE_BIT: u32 = 1 << 31;
const RAW_MASK: u32 = (1 << 30) - 1;

impl Id {
    /// The number of no object: what is over before it needs one. The last index, and a generation that makes no round number.
    pub const COMPLETED: Id = Id(0x2A << INDEX_BITS | (REQUESTS_MAX as u32 - 1));

    /// The number itself.
    #[inline(always)]
    pub fn raw(self) -> u32 {
        self.0
    }

    /// A number from elsewhere (a handle, a peer's message); it is checked when used.
    #[inline(always)]
    pub fn from_raw(raw: u32) -> Self {
        Id(raw & RAW_MASK)
    }

    /// The index: dense, unique among what exists now.
    #[inline(always)]
    pub fn index(self) -> usize {
        (self.0 & (REQUESTS_MAX as u32 - 1)) as usize
    }

    #[inline(always)]
    fn next_generation(self) -> Self {
        let generation = ((self.0 >> INDEX_BITS) + 1) & GENERATION_MASK;
        Id(generation << INDEX_BITS | self.index() as u32)
    }
}

struct SlabEntry<T> {
    object: T,
    /// The number of the object, or, with [`FREE_BIT`], of the next one.
    id: Id,
    /// While the place is free: the free place after it, or [`NONE`].
    next_free: u32,
}

/// No place.
const NONE: u32 = u32::MAX;

/// A store of objects that takes and frees without allocating, once it is as large as it was ever needed. In its free places
/// lie default objects.
pub struct Slab<T> {
    places: Vec<SlabEntry<T>>,
    /// The place that was freed last, which is the one that the cache has, or [`NONE`].
    free: u32,
    len: usize,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { places: Vec::new(), free: NONE, len: 0 }
    }
}

impl<T: Default> Slab<T> {
    /// Takes an object in.
    ///
    /// # Panics
    /// When 2^24 objects exist; the caller's memory ends before.
    #[inline]
    pub fn insert(&mut self, object: T) -> Id {
        let (id, place) = self.occupy();
        *place = object;
        id
    }

    /// Takes in an object that the caller makes of the default one, where it stays: an object that is made elsewhere and then
    /// moved costs more than all the rest of a short message's receive.
    ///
    /// # Panics
    /// As [`Slab::insert`].
    #[inline(always)]
    pub fn occupy(&mut self) -> (Id, &mut T) {
        if self.free == NONE {
            self.grow();
        }
        let place = &mut self.places[self.free as usize];
        debug_assert!(place.id.0 & FREE_BIT != 0, "a place among the free ones has an object");
        self.free = place.next_free;
        self.len += 1;
        place.id = Id(place.id.0 & !FREE_BIT);
        (place.id, &mut place.object)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        // One index less than there are: that is [`Id::COMPLETED`].
        assert!(
            self.places.len() < REQUESTS_MAX - 1,
            "2^24 requests are active: complete some with MPI_Wait"
        );
        let index = self.places.len() as u32;
        if self.places.len() == self.places.capacity() {
            // Two at first: of a million ranks in one simulator, most never need a third.
            self.places.reserve_exact(self.places.len().max(2));
        }
        self.places.push(SlabEntry { object: T::default(), id: Id(index | FREE_BIT), next_free: self.free });
        self.free = index;
    }

    /// The object, if it still exists.
    #[inline(always)]
    pub fn get(&self, id: Id) -> Option<&T> {
        self.places.get(id.index()).filter(|place| place.id == id).map(|place| &place.object)
    }

    /// The object, to change it.
    #[inline(always)]
    pub fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        self.places.get_mut(id.index()).filter(|place| place.id == id).map(|place| &mut place.object)
    }

    /// The number of the object at an index, whatever its generation.
    #[inline]
    pub fn id_at(&self, index: u32) -> Option<Id> {
        self.places.get(index as usize).map(|place| place.id).filter(|id| id.0 & FREE_BIT == 0)
    }

    /// The number of an object that is as asked: looks at each.
    pub fn find(&self, is: impl Fn(&T) -> bool) -> Option<Id> {
        let mut occupied = self.places.iter().filter(|place| place.id.0 & FREE_BIT == 0);
        occupied.find(|place| is(&place.object)).map(|place| place.id)
    }

    /// Places, free ones included.
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// The objects in the first so many places, in the order of places.
    pub fn occupied(&self, places_max: usize) -> impl Iterator<Item = (Id, &T)> {
        let occupied = self.places.iter().take(places_max).filter(|place| place.id.0 & FREE_BIT == 0);
        occupied.map(|place| (place.id, &place.object))
    }

    /// The object at an index with its number, whatever its generation.
    #[inline(always)]
    pub fn at_mut(&mut self, index: u32) -> Option<(Id, &mut T)> {
        let place = self.places.get_mut(index as usize).filter(|place| place.id.0 & FREE_BIT == 0)?;
        Some((place.id, &mut place.object))
    }

    /// Takes the object out; its number is invalid from now on.
    #[inline]
    pub fn remove(&mut self, id: Id) -> Option<T> {
        let object = std::mem::take(self.get_mut(id)?);
        self.free(id);
        Some(object)
    }

    /// Frees the place of `id`, which exists and of which the caller has made a default object.
    #[inline(always)]
    pub fn free(&mut self, id: Id) {
        let Some(place) = self.places.get_mut(id.index()) else { return };
        debug_assert!(place.id == id, "an object that does not exist is freed");
        place.id = Id(id.next_generation().0 | FREE_BIT);
        place.next_free = std::mem::replace(&mut self.free, id.index() as u32);
        self.len -= 1;
    }

    /// Where most of few objects are.
    pub(crate) fn beginning(&self) -> &[impl Sized + use<T>] {
        &self.places[..self.places.len().min(2)]
    }

    /// Objects that exist.
    pub fn len(&self) -> usize {
        self.len
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

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "does not exist")]
    fn an_object_is_freed_once() {
        let mut slab = Slab::default();
        let id = slab.insert('a');
        slab.free(id);
        slab.free(id);
    }

    #[test]
    fn a_free_place_has_no_number_yet() {
        let mut slab = Slab::default();
        let id = slab.insert(7);
        assert_eq!((slab.get(id), slab.id_at(0), slab.len()), (Some(&7), Some(id), 1));
        slab.free(id);
        for guess in 0..1 << 6 {
            let next = Id::from_raw(guess << INDEX_BITS | FREE_BIT);
            assert_eq!(slab.get(next), None, "a number that somebody guessed");
        }
        assert_eq!((slab.id_at(0), slab.find(|_| true), slab.len()), (None, None, 0));
        assert_eq!(slab.at_mut(0), None);
    }
}
