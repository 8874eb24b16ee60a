//! One copy that both sides make at once.
//!
//! The receiver opens a slot and tells the sender. Both then claim chunks of the message from the slot's one counter
//! and copy them, the receiver by reading the sender's memory, the sender by writing the receiver's. Whichever
//! side never comes, the other one claims all. Who finishes the last chunk rings the other.
//!
//! Both counters carry the slot's generation, so a sender that comes late finds out by the same instruction
//! with which it would claim. Chunk bounds follow from the message's length, which each side knows by itself; a
//! sender that believes in another length than the receiver claims nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use tern_mem::UserBuf;

use super::cma::{self, CopyDirection};
use super::path_tuner::PathTuner;
use super::segment::Segment;
use super::segment_words::CooperativeCopySlot;
use crate::limits::{
    COOPERATIVE_CHUNK_BYTES_MAX, COOPERATIVE_CHUNK_BYTES_MIN, COOPERATIVE_CHUNKS, COOPERATIVE_COPY_SLOTS,
    PAGE_BYTES,
};
use tern_transport::{CooperativeCopyKey, Peer, Remote, Sink, Token, Transfer, TransferError};

/// How a message is divided: the same on both sides.
#[derive(Clone, Copy)]
struct Chunks {
    len: u64,
    each: u64,
}

impl Chunks {
    fn of(len: u64) -> Chunks {
        let page = PAGE_BYTES as u64;
        let even =
            len.div_ceil(COOPERATIVE_CHUNKS).clamp(COOPERATIVE_CHUNK_BYTES_MIN, COOPERATIVE_CHUNK_BYTES_MAX);
        // One chunk for each side at least.
        let each = even.min(len.div_ceil(2)).next_multiple_of(page);
        // The count must fit its 16 bits however long the message is.
        Chunks { len, each: each.max(len.div_ceil(u64::from(u16::MAX))) }
    }

    fn count(self) -> u64 {
        self.len.div_ceil(self.each)
    }

    /// Offset and length of a chunk below `count`.
    fn bounds(self, chunk: u64) -> (u64, u64) {
        let start = chunk * self.each;
        (start, self.each.min(self.len - start))
    }
}

/// How many chunks a copy of so many bytes by both sides has: for those who predict what it takes.
pub fn cooperative_chunks(len: u64) -> u64 {
    Chunks::of(len).count()
}

/// One side's part in a cooperative copy.
struct CopyPart {
    /// In whose region the slot is.
    receiver: Peer,
    slot: usize,
    generation: u32,
    chunks: Chunks,
    /// The other side: its rank, process and address.
    peer: Peer,
    pid: u32,
    remote: u64,
    direction: CopyDirection,
    local: UserBuf,
    token: Token,
    /// The call that copies was made; from now on the sink hears of the end.
    pending: bool,
}

/// What a slot's counters say.
enum SlotState {
    Open,
    Done(Result<(), TransferError>),
}

impl CopyPart {
    /// Claims and copies until nothing is left to claim; never more than there is, whatever the slot says.
    fn copy(&self, slot: &CooperativeCopySlot) -> SlotState {
        for _ in 0..self.chunks.count() {
            let Some(chunk) = self.claim(slot) else { break };
            let (start, len) = self.chunks.bounds(chunk);
            let remote = self.remote.wrapping_add(start);
            let result =
                cma::copy(self.direction, self.pid, &self.local, start as usize, remote, len as usize);
            if result == Err(TransferError::Os(libc::ESRCH)) {
                // The peer is dead, and the job ends with it: that is the message a person needs, not that its memory
                // could not be read. This copy never ends.
                return SlotState::Open;
            }
            self.finish(slot, result);
        }
        self.state(slot)
    }

    fn claim(&self, slot: &CooperativeCopySlot) -> Option<u64> {
        let mut seen = slot.claim.load(Ordering::Relaxed);
        loop {
            let next = seen & u64::from(u32::MAX);
            if seen >> 32 != u64::from(self.generation) || next >= self.chunks.count() {
                return None;
            }
            match slot.claim.compare_exchange_weak(seen, seen + 1, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(next),
                Err(now) => seen = now,
            }
        }
    }

    /// Counts a chunk as finished. While it was not, the slot could not get a new generation.
    fn finish(&self, slot: &CooperativeCopySlot, result: Result<(), TransferError>) {
        if let Err(TransferError::Os(error)) = result {
            record_error(&slot.done, error);
        }
        slot.done.fetch_add(1, Ordering::AcqRel);
    }

    fn state(&self, slot: &CooperativeCopySlot) -> SlotState {
        let done = slot.done.load(Ordering::Acquire);
        if done >> 32 != u64::from(self.generation) {
            return SlotState::Done(Ok(()));
        }
        if done & 0xffff < self.chunks.count() {
            return SlotState::Open;
        }
        SlotState::Done(match (done >> 16 & 0xffff) as i32 {
            0 => Ok(()),
            error => Err(TransferError::Os(error)),
        })
    }
}

/// The first error of a cooperative copy stays in its `done` word.
fn record_error(done: &AtomicU64, error: i32) {
    let bits = (error as u64 & 0xffff) << 16;
    let _ = done.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |word| {
        (word & 0xffff_0000 == 0).then_some(word | bits)
    });
}

/// The cooperative copies in which this rank takes part.
pub(crate) struct CooperativeCopies {
    segment: Arc<Segment>,
    me: Peer,
    parts: Vec<CopyPart>,
    /// Slots of this rank that are in use, one bit each, and their last generations.
    busy: u32,
    generations: [u32; COOPERATIVE_COPY_SLOTS],
}

const _: () = assert!(COOPERATIVE_COPY_SLOTS <= u32::BITS as usize);

impl CooperativeCopies {
    pub(crate) fn new(segment: Arc<Segment>, me: Peer) -> Self {
        CooperativeCopies {
            segment,
            me,
            parts: Vec::new(),
            busy: 0,
            generations: [0; COOPERATIVE_COPY_SLOTS],
        }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// See [`tern_transport::Transport::open_cooperative_copy`].
    pub(crate) fn open(
        &mut self,
        peer: Peer,
        pid: u32,
        from: Remote,
        into: &UserBuf,
        token: Token,
    ) -> Option<CooperativeCopyKey> {
        let slot = self.busy.trailing_ones() as usize;
        if slot >= COOPERATIVE_COPY_SLOTS {
            return None;
        }
        self.busy |= 1 << slot;
        let generation = self.begin(slot, from.len);
        self.parts.push(CopyPart {
            receiver: self.me,
            slot,
            generation,
            chunks: Chunks::of(from.len),
            peer,
            pid,
            remote: from.addr,
            direction: CopyDirection::Read,
            local: into.clone(),
            token,
            pending: false,
        });
        Some(CooperativeCopyKey(u64::from(generation) << 32 | slot as u64))
    }

    /// Begins the slot's next use. A sender can claim only once it sees the generation in the claim word, which
    /// is stored last.
    fn begin(&mut self, slot: usize, len: u64) -> u32 {
        let generation = self.generations[slot].wrapping_add(1);
        self.generations[slot] = generation;
        let words = self.segment.cooperative_copy_slot(self.me, slot);
        words.done.store(u64::from(generation) << 32, Ordering::Release);
        words.len.store(len, Ordering::Release);
        words.claim.store(u64::from(generation) << 32, Ordering::Release);
        generation
    }

    /// See [`tern_transport::Transport::pull_cooperative_copy`].
    pub(crate) fn pull(&mut self, key: CooperativeCopyKey, path_tuner: &mut PathTuner) -> Transfer {
        let (slot, generation) = split(key);
        let mine =
            |part: &CopyPart| part.receiver == self.me && part.slot == slot && part.generation == generation;
        match self.parts.iter().position(mine) {
            Some(index) => {
                let peer = self.parts[index].peer;
                let transfer = self.work(index);
                if transfer == Transfer::Done {
                    path_tuner.shared(peer);
                }
                transfer
            }
            None => Transfer::Failed(TransferError::BadKey),
        }
    }

    /// See [`tern_transport::Transport::join_cooperative_copy`]. `pid` is `None` if this rank cannot write the peer's memory: then
    /// it only waits for the end.
    pub(crate) fn join(
        &mut self,
        peer: Peer,
        pid: Option<u32>,
        key: CooperativeCopyKey,
        from: &UserBuf,
        into: Remote,
        token: Token,
    ) -> Transfer {
        let (slot, generation) = split(key);
        if slot >= COOPERATIVE_COPY_SLOTS {
            return Transfer::Failed(TransferError::BadKey);
        }
        self.parts.push(CopyPart {
            receiver: peer,
            slot,
            generation,
            chunks: Chunks::of(into.len),
            peer,
            pid: pid.unwrap_or(0),
            remote: into.addr,
            direction: CopyDirection::Write,
            local: from.clone(),
            token,
            pending: false,
        });
        let index = self.parts.len() - 1;
        let agreed = self.segment.cooperative_copy_slot(peer, slot).len.load(Ordering::Acquire) == into.len;
        if pid.is_some() && agreed {
            return self.work(index);
        }
        let state = self.parts[index].state(self.segment.cooperative_copy_slot(peer, slot));
        self.settle(index, state)
    }

    /// Copies what can be claimed; rings the other side if that was the end.
    fn work(&mut self, index: usize) -> Transfer {
        let part = &self.parts[index];
        let slot = self.segment.cooperative_copy_slot(part.receiver, part.slot);
        let state = part.copy(slot);
        if matches!(state, SlotState::Done(_)) {
            self.ring(part.peer);
        }
        self.settle(index, state)
    }

    fn settle(&mut self, index: usize, state: SlotState) -> Transfer {
        match state {
            SlotState::Open => {
                self.parts[index].pending = true;
                Transfer::Pending
            }
            SlotState::Done(result) => {
                self.close(index, result.is_ok());
                result.map_or_else(Transfer::Failed, |()| Transfer::Done)
            }
        }
    }

    /// Forgets a part. The receiver's slot gets its next generation at the next use, and until then still
    /// tells a waiting sender that all is done.
    /// One that has failed is not used again, since the sender may still have to learn of it.
    fn close(&mut self, index: usize, well: bool) -> Token {
        let part = self.parts.swap_remove(index);
        if part.direction == CopyDirection::Read && well {
            self.busy &= !(1 << part.slot);
        }
        part.token
    }

    /// Copies of a peer's memory that this rank has begun and that have not ended.
    pub(crate) fn reads_from(&self, peer: Peer) -> u32 {
        let is_read = |part: &&CopyPart| part.peer == peer && part.direction == CopyDirection::Read;
        self.parts.iter().filter(is_read).count() as u32
    }

    /// Tells the sink of pending parts that the other side has finished.
    pub(crate) fn poll(&mut self, path_tuner: &mut PathTuner, sink: &mut impl Sink) -> bool {
        let mut any = false;
        let mut index = 0;
        while index < self.parts.len() {
            let part = &self.parts[index];
            let slot = self.segment.cooperative_copy_slot(part.receiver, part.slot);
            match part.pending.then(|| part.state(slot)) {
                Some(SlotState::Done(result)) => {
                    if part.direction == CopyDirection::Read {
                        path_tuner.shared(part.peer);
                    }
                    sink.done(self.close(index, result.is_ok()), result);
                    any = true;
                }
                _ => index += 1,
            }
        }
        any
    }

    fn ring(&self, peer: Peer) {
        fence(Ordering::SeqCst);
        let bell = self.segment.bell(peer);
        if bell.must_ring(0) {
            super::bell::ring(bell);
        }
    }
}

fn split(key: CooperativeCopyKey) -> (usize, u32) {
    ((key.0 & u64::from(u32::MAX)) as usize, (key.0 >> 32) as u32)
}
