//! A rank's inbound queue, claimed by an atomic swap of its tail (MPI for the T3D, section 3.2).
//!
//! The T3D's writers swap a queue index out of the receiver's memory, write their slot and swap it back. Here
//! the swap leaves the writer's own cell as the new tail and yields the one before, to which the writer then
//! links its cell: one locked instruction, and no writer waits for another. The reader alone moves the head,
//! which nobody else sees. The list is never empty: a *stub* stands in for the last cell so that every real
//! one can be given back.

use crate::sync::{AtomicU32, Ordering};

/// Names a link: [`NONE`], [`STUB`], or a cell.
pub(crate) type QueueLink = u32;

/// No successor yet.
pub(crate) const NONE: QueueLink = 0;
/// The receiver's stub. A tail of zeroed memory means the stub, too.
pub(crate) const STUB: QueueLink = 1;
/// The first name of a cell.
pub(crate) const FIRST_CELL: QueueLink = 2;

/// Where the links of one receiver's queue lie.
pub(crate) trait Links {
    /// The last link of the list.
    fn tail(&self) -> &AtomicU32;
    /// The successor of `link`; `None` if no such link exists.
    fn next(&self, link: QueueLink) -> Option<&AtomicU32>;
}

/// Appends `link`, whose successor must be [`NONE`] already.
pub(crate) fn push(links: &impl Links, link: QueueLink) {
    let before = links.tail().swap(link, Ordering::AcqRel).max(STUB);
    if let Some(next) = links.next(before) {
        next.store(link, Ordering::Release);
    }
}

/// The reading side.
pub(crate) struct QueueReader {
    head: QueueLink,
}

impl QueueReader {
    pub(crate) fn new() -> Self {
        QueueReader { head: STUB }
    }

    /// Nothing is left of what was seen; if the stub has no successor, the queue is empty.
    #[inline(always)]
    pub(crate) fn at_stub(&self) -> bool {
        self.head == STUB
    }

    /// Takes the oldest cell. `None`: nothing is here, or its writer is between the swap and the link.
    #[inline]
    pub(crate) fn pop(&mut self, links: &impl Links) -> Option<QueueLink> {
        let mut next = load(links, self.head);
        if self.head == STUB {
            if next < FIRST_CELL {
                return None;
            }
            self.head = next;
            next = load(links, next);
        }
        if next != NONE {
            return self.take(next);
        }
        self.pop_last(links)
    }

    /// The head is the only cell as far as is seen: put the stub behind it, so that it can be taken.
    fn pop_last(&mut self, links: &impl Links) -> Option<QueueLink> {
        if links.tail().load(Ordering::Acquire) == self.head {
            links.next(STUB)?.store(NONE, Ordering::Relaxed);
            push(links, STUB);
        }
        match load(links, self.head) {
            NONE => None,
            next => self.take(next),
        }
    }

    fn take(&mut self, next: QueueLink) -> Option<QueueLink> {
        Some(std::mem::replace(&mut self.head, next))
    }
}

#[inline]
fn load(links: &impl Links, link: QueueLink) -> QueueLink {
    links.next(link).map_or(NONE, |next| next.load(Ordering::Acquire))
}

#[cfg(test)]
mod tests;
