//! Deadlines of many owners: each has one, which may move.

use crate::{NEVER, Nanos};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A heap in which an entry may be out of date: each owner knows which of its entries counts.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Nanos, u32)>>,
    set: Set,
}

/// The earliest entry of each owner, in pages: most owners never have one.
#[derive(Debug, Default)]
struct Set(Vec<Option<Box<[Nanos; PAGE]>>>);

/// Owners of a page.
const PAGE: usize = 64;

impl Set {
    fn get(&self, owner: u32) -> Nanos {
        let page = self.0.get(owner as usize / PAGE).and_then(Option::as_ref);
        page.map_or(NEVER, |page| page[owner as usize % PAGE])
    }

    fn put(&mut self, owner: u32, at: Nanos) {
        let page = owner as usize / PAGE;
        if page >= self.0.len() {
            self.0.resize_with(page + 1, || None);
        }
        self.0[page].get_or_insert_with(|| Box::new([NEVER; PAGE]))[owner as usize % PAGE] = at;
    }
}

impl Timers {
    /// Sees to it that this owner is called by `at`; it may be called earlier.
    pub(crate) fn call_by(&mut self, owner: u32, at: Nanos) {
        if at < self.set.get(owner) {
            self.set.put(owner, at);
            self.heap.push(Reverse((at, owner)));
            self.sweep();
        }
    }

    /// Without entries that do not count, once they are most.
    fn sweep(&mut self) {
        if self.heap.len() > 4 * PAGE * self.set.0.len() {
            let set = &self.set;
            self.heap.retain(|Reverse((at, owner))| set.get(*owner) == *at);
        }
    }

    /// An owner whose time has come, and whose entry is gone.
    pub(crate) fn pop(&mut self, now: Nanos) -> Option<u32> {
        while let Some(&Reverse((at, owner))) = self.heap.peek() {
            let counts = self.set.get(owner) == at;
            if counts && at > now {
                return None;
            }
            self.heap.pop();
            if counts {
                self.set.put(owner, NEVER);
                return Some(owner);
            }
        }
        None
    }

    /// When the next owner is to be called, and which.
    pub(crate) fn next(&mut self) -> Option<(Nanos, u32)> {
        while let Some(&Reverse((at, owner))) = self.heap.peek() {
            if self.set.get(owner) == at {
                return Some((at, owner));
            }
            self.heap.pop();
        }
        None
    }

    /// An owner has nothing to be called for.
    pub(crate) fn forget(&mut self, owner: u32) {
        self.set.put(owner, NEVER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_called_once_at_its_earliest_time() {
        let mut timers = Timers::default();
        timers.call_by(3, 50);
        timers.call_by(1, 40);
        timers.call_by(3, 20);
        timers.call_by(3, 90);
        assert_eq!(timers.next(), Some((20, 3)));
        assert_eq!((timers.pop(10), timers.pop(20), timers.pop(30)), (None, Some(3), None));
        assert_eq!((timers.pop(60), timers.pop(60), timers.next()), (Some(1), None, None));
    }

    #[test]
    fn owners_that_have_no_deadline_take_little() {
        let mut timers = Timers::default();
        timers.call_by(100_000, 20);
        timers.call_by(70, 30);
        assert_eq!(timers.set.0.iter().flatten().count(), 2);
        assert_eq!((timers.pop(30), timers.pop(30), timers.pop(30)), (Some(100_000), Some(70), None));
    }

    #[test]
    fn who_is_forgotten_is_not_called() {
        let mut timers = Timers::default();
        timers.call_by(3, 20);
        timers.call_by(1, 40);
        timers.forget(3);
        assert_eq!(timers.next(), Some((40, 1)));
        timers.call_by(3, 50);
        assert_eq!((timers.pop(60), timers.pop(60), timers.pop(60)), (Some(1), Some(3), None));
    }

    #[test]
    fn entries_that_do_not_count_are_bounded() {
        let mut timers = Timers::default();
        for round in 0..10_000 {
            timers.call_by(0, 20_000 - round);
        }
        assert!(timers.heap.len() <= 4 * PAGE + 1, "{}", timers.heap.len());
        assert_eq!(timers.pop(20_000), Some(0));
    }
}
