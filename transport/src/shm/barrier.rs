//! Barriers among ranks of one machine over dedicated slots (MPI for the T3D, section 3.3: collective
//! communication uses shared memory of its own, apart from messages).
//!
//! A slot is one line in the leader's region: a counter of arrivals and a generation. Whoever arrives last
//! starts the counter again and moves the generation on, which is what the others wait for; it makes one
//! system call for all of them, and only if somebody sleeps.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::bell::Bell;
use super::futex;
use super::segment::{BarrierSlot, Segment};
use crate::Peer;
use crate::doorbell::Doorbell;
use crate::limits::BARRIER_SLOTS;

/// The barriers of this machine's ranks. Clones are handles of the same; usable from any thread.
#[derive(Clone)]
pub struct Barriers {
    segment: Arc<Segment>,
    bell: Arc<Bell>,
}

/// One rank's presence at a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    leader: Peer,
    slot: u32,
    /// The generation that ends when all have come.
    generation: u32,
}

impl Barriers {
    pub(crate) fn new(segment: Arc<Segment>, bell: Arc<Bell>) -> Self {
        Barriers { segment, bell }
    }

    /// Slots that each rank can lead.
    pub const SLOTS: u32 = BARRIER_SLOTS as u32;

    /// Arrives at the barrier of `size` ranks in `slot` of `leader`. Whoever uses a slot does so for one group
    /// of ranks, until all have left.
    ///
    /// # Panics
    /// If there is no such rank or slot.
    #[inline]
    pub fn enter(&self, leader: Peer, slot: u32, size: u32) -> Ticket {
        let words = self.slot(leader, slot);
        let generation = words.generation.load(Ordering::Acquire);
        if words.arrived.fetch_add(1, Ordering::AcqRel) + 1 >= size {
            self.release(words, generation);
        }
        Ticket { leader, slot, generation }
    }

    fn release(&self, words: &BarrierSlot, generation: u32) {
        words.arrived.store(0, Ordering::Relaxed);
        words.generation.store(generation.wrapping_add(1), Ordering::SeqCst);
        if words.sleepers.load(Ordering::SeqCst) != 0 {
            futex::wake_all(&words.generation);
        }
    }

    /// Whether all have come.
    #[inline]
    pub fn done(&self, ticket: &Ticket) -> bool {
        self.slot(ticket.leader, ticket.slot).generation.load(Ordering::Acquire) != ticket.generation
    }

    /// Sleeps until all have come, somebody rings this rank's bell, or the time is over. `armed` is what
    /// [`Doorbell::arm`] gave; this takes the place of [`Doorbell::sleep`]. Without it, only the barrier and the
    /// time wake.
    pub fn sleep(&self, ticket: &Ticket, armed: Option<u32>, timeout: Option<Duration>) {
        let words = self.slot(ticket.leader, ticket.slot);
        words.sleepers.fetch_add(1, Ordering::SeqCst);
        match armed {
            Some(armed) => {
                let bell = self.bell.words().word();
                futex::wait_either([(&words.generation, ticket.generation), (bell, armed)], timeout);
            }
            None => futex::wait(&words.generation, ticket.generation, timeout),
        }
        words.sleepers.fetch_sub(1, Ordering::SeqCst);
        if armed.is_some() {
            self.bell.disarm();
        }
    }

    #[inline]
    fn slot(&self, leader: Peer, slot: u32) -> &BarrierSlot {
        self.segment.barrier(leader, slot as usize)
    }
}
