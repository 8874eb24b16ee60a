//! The lines of a shm communicator in the segment of a job, and how its ranks sleep on them.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, compiler_fence, fence};
use std::time::Duration;

use tern_mem::UserBuf;

use super::ShmComm;
use super::arrivals::Arrived;
use super::counts::UNLIKE;
use super::lines::Lines;
use super::parts::{BoundPlace, Parts};
use super::watch::{ShmMember, ShmWatch};
use crate::bell::{self, Bell};
use crate::flag::{Flag, FlagPayload};
use crate::futex;
use crate::limits::*;
use crate::segment::Segment;
use crate::segment_words::ShmCommWords;
use tern_transport::Peer;
use tern_transport::doorbell::Doorbell;

/// Where a shm communicator's lines lie in the segment.
pub struct SharedLines {
    words: NonNull<ShmCommWords>,
    buffer: Option<SharedBuffer>,
    /// The parts of many ranks.
    parts: Option<Parts>,
    bell: Arc<Bell>,
    /// Keeps what the pointers lead to.
    segment: Arc<Segment>,
    /// What the names of its lines begin with, in all ranks: see [`SharedLines::name`].
    names: u64,
    /// This process must fence before it believes that nobody sleeps: `membarrier` does not reach it.
    fences: bool,
}

// SAFETY: the pointers lead into the segment, which this keeps mapped and which is memory of the process, not of a thread.
unsafe impl Send for SharedLines {}

/// Where its flags and data lie in the segment.
#[derive(Clone, Copy)]
struct SharedBuffer {
    flags: NonNull<Flag>,
    /// How many.
    flags_len: usize,
    /// [`SHARED_BUFFER_DATA_BYTES`] of data.
    data: NonNull<u8>,
}

impl ShmComm {
    /// `leader` is the leader's number in the segment.
    ///
    /// # Panics
    /// If there is no such rank or slot.
    pub(crate) fn new(
        segment: Arc<Segment>,
        bell: Arc<Bell>,
        member: ShmMember,
        leader: Peer,
        reached: bool,
    ) -> Self {
        let words = NonNull::from(segment.shm_comm(leader, member.slot));
        let has_buffer =
            (member.slot as usize) < SHARED_BUFFERS && member.size as usize <= SHM_COMM_RANKS_MAX;
        let buffer = has_buffer.then(|| SharedBuffer {
            flags: segment.shared_flags(leader, member.slot),
            flags_len: flags_of(member.size as usize),
            data: segment.shared_data(leader, member.slot),
        });
        let ShmMember { slot, rank, size, .. } = member;
        let parts = Parts::are_worth(size).then(|| Parts::new(segment.clone(), (leader, slot), (rank, size)));
        let names = u64::from(leader) << 32 | u64::from(member.slot) << 16;
        let lines = SharedLines { words, buffer, parts, bell, segment, names, fences: !reached };
        // Those who sleep may have to rely on others' fences.
        if !lines.bell.reaches_all() {
            lines.ask_for_fences();
        }
        if !futex::has_wait_either() {
            lines.words().by_bell.store(1, Ordering::SeqCst);
        }
        ShmComm::over(lines, member, has_buffer)
    }

    /// Whether it makes a difference where the rank is bound to.
    pub fn asks_for_place(&self) -> bool {
        self.lines().parts.is_some()
    }

    /// This rank is bound to that place; `None`: it shares its core with others. Before its first step; a rank that says nothing is bound
    /// nowhere, and has a core.
    pub fn set_place(&self, place: Option<BoundPlace>) {
        if let Some(parts) = &self.lines().parts {
            parts.set_place(place);
        }
    }

    /// This rank leaves for good. The leader may give the slot to another shm communicator once all have left.
    pub fn leave(&self) {
        self.lines().words().left.fetch_add(1, Ordering::AcqRel);
    }

    /// Sleeps until it may have come, somebody rings this rank's bell, or the time is over. `armed` is what
    /// [`Doorbell::arm`] gave; this takes the place of [`Doorbell::sleep`], whose bell says by [`Doorbell::longest`] how long at
    /// most. Without it, only what is watched and the
    /// time wake.
    pub fn sleep(&self, watch: &ShmWatch, armed: Option<u32>, timeout: Option<Duration>) {
        self.lines().sleep(watch, armed, timeout);
    }
}

/// Clears slot `slot` of `leader` for a new shm communicator, if all `size` ranks of the last one have left.
pub(crate) fn clear(segment: &Segment, leader: Peer, slot: u32, size: u32) -> bool {
    let lines = segment.shm_comm(leader, slot);
    if lines.left.load(Ordering::Acquire) < size {
        return false;
    }
    if (slot as usize) < SHARED_BUFFERS && size as usize <= SHM_COMM_RANKS_MAX {
        let flags = segment.shared_flags(leader, slot);
        // SAFETY: the shared buffer has so many, and the segment is mapped.
        (0..flags_of(size as usize)).for_each(|line| unsafe { flags.add(line).as_ref() }.clear());
    }
    lines.arrivals.clear();
    lines.gate.store(0, Ordering::Relaxed);
    if lines.parts.swap(0, Ordering::Relaxed) != 0 {
        segment.shm_comm_parts(leader, slot).clear();
    }
    lines.left.store(0, Ordering::Release);
    true
}

/// Flags that a shm communicator of so many ranks uses.
const fn flags_of(size: usize) -> usize {
    (6 + EAGER_SLOTS + EAGER_PAYLOADS) * size + EAGER_SLOTS + EAGER_PAYLOADS
}

const _: () = assert!(flags_of(SHM_COMM_RANKS_MAX) == SHARED_BUFFER_FLAGS);

impl Lines for SharedLines {
    #[inline]
    fn raise(&self, line: usize, count: u64, mark: u64) {
        let flag = self.flag(line);
        flag.raise(count, mark);
        self.raised(line, flag);
    }

    #[inline]
    fn raise_progress(&self, line: usize, count: u64, mark: u64) {
        let flag = self.flag(line);
        flag.raise(count, mark);
        compiler_fence(Ordering::SeqCst);
        if self.fences || self.flag_sleepers(line).load(Ordering::Relaxed) != 0 {
            self.wake_awaiting(line, flag, count);
        }
    }

    #[inline]
    fn raise_count(&self, line: usize, count: u64) {
        let flag = self.flag(line);
        flag.raise_count(count);
        self.raised(line, flag);
    }

    #[inline]
    fn raise_with(&self, line: usize, count: u64, mark: u64, payload: &FlagPayload) {
        let flag = self.flag(line);
        flag.raise_with(count, mark, payload);
        self.raised(line, flag);
    }

    #[inline]
    fn count(&self, line: usize) -> u64 {
        self.flag(line).count()
    }

    #[inline]
    fn mark(&self, line: usize) -> u64 {
        self.flag(line).mark()
    }

    #[inline]
    fn payload(&self, line: usize) -> FlagPayload {
        self.flag(line).payload()
    }

    #[inline]
    fn enter(&self, line: usize, most: u64) -> bool {
        self.flag(line).enter(most)
    }

    #[inline]
    fn leave(&self, line: usize) {
        self.flag(line).leave();
    }

    #[inline]
    fn arrive(&self, count: u64, mark: u64) -> Arrived {
        match &self.parts {
            None => self.words().arrivals.arrive(count, mark),
            Some(parts) => parts.arrive(self.words(), count, mark),
        }
    }

    fn forget_arrivals(&self, seen: u64) {
        match &self.parts {
            None => self.words().arrivals.forget(seen),
            Some(parts) => parts.forget_arrivals(self.words(), seen),
        }
    }

    #[inline]
    fn open(&self, count: u64, mark: u64) {
        let words = self.words();
        words.arrivals.clear();
        if let Some(parts) = &self.parts {
            return self.open_parts(parts, count, mark);
        }
        words.gate_mark.store(mark, Ordering::Relaxed);
        words.gate.swap(count, Ordering::SeqCst);
        if self.has_gate_sleepers() {
            futex::wake_all(futex::changing_half(&words.gate));
            self.ring_sleepers(GATE);
        }
    }

    #[inline]
    fn gate(&self) -> u64 {
        self.gate_words().0.load(Ordering::Acquire)
    }

    #[inline]
    fn gate_mark(&self) -> u64 {
        self.gate_words().1.load(Ordering::Relaxed)
    }

    #[inline]
    fn data(&self, offset: usize, bytes: usize) -> UserBuf {
        assert!(offset <= SHARED_BUFFER_DATA_BYTES && bytes <= SHARED_BUFFER_DATA_BYTES - offset);
        // SAFETY: within the shared buffer's data, just checked; mapped for as long as the lines are, which the lifetime of an area keeps.
        // Other ranks write there, too; their turns are told by the flags.
        unsafe { UserBuf::contiguous(self.buffer().data.add(offset).as_ptr(), bytes) }
    }
}

impl SharedLines {
    /// As [`Lines::open`], the gates of all parts, or that of all before they are divided.
    fn open_parts(&self, parts: &Parts, count: u64, mark: u64) {
        let words = self.words();
        let is_whole = parts.gate().is_none();
        if is_whole {
            if mark != UNLIKE {
                parts.divide(words);
            }
            words.gate_mark.store(mark, Ordering::Relaxed);
            words.gate.store(count, Ordering::Release);
        }
        let gates = parts.open(count, mark);
        fence(Ordering::SeqCst);
        if self.has_gate_sleepers() {
            let gates = gates.chain(is_whole.then_some(&words.gate));
            gates.for_each(|gate| futex::wake_all(futex::changing_half(gate)));
            self.ring_sleepers(GATE);
        }
    }

    #[inline]
    fn has_gate_sleepers(&self) -> bool {
        self.words().gate_sleepers.load(Ordering::SeqCst) & !u32::from(NEEDS_FENCE) != 0
    }

    /// The gate that this rank waits for, and the mark beside it.
    #[inline]
    fn gate_words(&self) -> (&AtomicU64, &AtomicU64) {
        let words = self.words();
        let of_part = self.parts.as_ref().and_then(Parts::gate);
        of_part.unwrap_or((&words.gate, &words.gate_mark))
    }

    #[inline]
    fn words(&self) -> &ShmCommWords {
        // SAFETY: within the segment, which this keeps mapped.
        unsafe { self.words.as_ref() }
    }

    #[inline]
    fn flag(&self, line: usize) -> &Flag {
        let buffer = self.buffer();
        assert!(line < buffer.flags_len, "flag {line} of {}", buffer.flags_len);
        // SAFETY: within the shared buffer's flags, just checked; mapped for as long as the lines are.
        unsafe { buffer.flags.add(line).as_ref() }
    }

    /// # Panics
    /// If there is none: see [`ShmComm::has_buffer`].
    #[inline]
    fn buffer(&self) -> &SharedBuffer {
        self.buffer.as_ref().expect("a communicator that moves data has a shared buffer")
    }

    /// Those who sleep on this flag, and on others whose numbers have the same remainder: where ranks outnumber the cores somebody
    /// always sleeps, and a system call for each flag that is raised would take longer than all else.
    #[inline]
    fn flag_sleepers(&self, line: usize) -> &AtomicU8 {
        &self.words().flag_sleepers[line % FLAG_SLEEPERS]
    }

    /// This process cannot make others fence when it goes to sleep.
    fn ask_for_fences(&self) {
        let words = self.words();
        words.gate_sleepers.fetch_or(NEEDS_FENCE.into(), Ordering::SeqCst);
        words.flag_sleepers.iter().for_each(|sleepers| {
            sleepers.fetch_or(NEEDS_FENCE, Ordering::SeqCst);
        });
    }

    /// After raising a flag: wakes those who sleep on it. While nobody sleeps this is one load; as with the bell, it
    /// is the sleeper who makes sure that this load did not pass the store.
    #[inline]
    fn raised(&self, line: usize, flag: &Flag) {
        compiler_fence(Ordering::SeqCst);
        if self.fences || self.flag_sleepers(line).load(Ordering::Relaxed) != 0 {
            self.wake(line, flag);
        }
    }

    #[inline(never)]
    fn wake(&self, line: usize, flag: &Flag) {
        if self.is_slept_on(line) {
            futex::wake_all(flag.futex_word());
            self.ring_sleepers(line);
        }
    }

    /// Wakes those who sleep until the flag gets so far. Each call raises such a flag, and they wait for many calls: woken by each, they
    /// would take the core from the rank that they wait for.
    #[inline(never)]
    fn wake_awaiting(&self, line: usize, flag: &Flag, count: u64) {
        if self.is_slept_on(line) && flag.has_come_to_awaited(count) {
            futex::wake_all(flag.wakes_word());
            self.ring_sleepers(line);
        }
    }

    fn is_slept_on(&self, line: usize) -> bool {
        fence(Ordering::SeqCst);
        self.flag_sleepers(line).load(Ordering::Relaxed) & !NEEDS_FENCE != 0
    }

    /// What a rank says beside its bell while it sleeps there for a line: no two lines of the segment have the same name, and none is zero.
    fn name(&self, line: usize) -> u64 {
        self.names | (line as u64 + 1)
    }

    /// After raising a line that somebody sleeps for: rings those who cannot sleep on two words, and therefore sleep on their bells.
    fn ring_sleepers(&self, line: usize) {
        if self.words().by_bell.load(Ordering::SeqCst) == 0 {
            return;
        }
        let bells = (0..self.segment.layout().size).map(|rank| self.segment.bell(rank));
        bells.filter(|words| words.must_ring_for_line(self.name(line))).for_each(bell::ring);
    }

    fn sleep(&self, watch: &ShmWatch, armed: Option<u32>, timeout: Option<Duration>) {
        let by_bell = armed.is_some() && !futex::has_wait_either();
        if by_bell {
            self.bell.await_line(self.name(watch.line()));
        }
        self.sleep_counted(watch, armed, timeout);
        if by_bell {
            self.bell.forget_line();
        }
        if armed.is_some() {
            self.bell.disarm();
        }
    }

    /// Sleeps, counted among the sleepers of the line.
    fn sleep_counted(&self, watch: &ShmWatch, armed: Option<u32>, timeout: Option<Duration>) {
        let words = self.words();
        match *watch {
            ShmWatch::Gate { .. } => {
                words.gate_sleepers.fetch_add(SLEEPER.into(), Ordering::SeqCst);
                self.bell.fence_all();
                let seen = self.gate();
                self.sleep_while_pending(
                    watch,
                    seen,
                    (futex::changing_half(self.gate_words().0), seen),
                    armed,
                    timeout,
                );
                words.gate_sleepers.fetch_sub(SLEEPER.into(), Ordering::SeqCst);
            }
            ShmWatch::Flag { line, .. } | ShmWatch::Sole { line, .. } | ShmWatch::Progress { line, .. } => {
                self.flag_sleepers(line).fetch_add(SLEEPER, Ordering::SeqCst);
                self.sleep_on_flag(watch, self.flag(line), armed, timeout);
                self.flag_sleepers(line).fetch_sub(SLEEPER, Ordering::SeqCst);
            }
        }
    }

    fn sleep_on_flag(&self, watch: &ShmWatch, flag: &Flag, armed: Option<u32>, timeout: Option<Duration>) {
        if let ShmWatch::Progress { count, .. } = *watch {
            let wakes = flag.await_count(count);
            self.bell.fence_all();
            return self.sleep_while_pending(watch, flag.count(), (flag.wakes_word(), wakes), armed, timeout);
        }
        self.bell.fence_all();
        let seen = flag.count();
        self.sleep_while_pending(watch, seen, (flag.futex_word(), seen), armed, timeout);
    }

    /// Sleeps on a word that has this value, if what is watched, seen so, is still pending.
    fn sleep_while_pending(
        &self,
        watch: &ShmWatch,
        seen: u64,
        (word, value): (&AtomicU32, u64),
        armed: Option<u32>,
        timeout: Option<Duration>,
    ) {
        if watch.is_pending_at(seen) {
            self.sleep_on((word, value as u32), armed, timeout);
        }
    }

    fn sleep_on(&self, watched: (&AtomicU32, u32), armed: Option<u32>, timeout: Option<Duration>) {
        let bell = self.bell.words().word();
        match armed {
            Some(armed) if futex::has_wait_either() => futex::wait_either([watched, (bell, armed)], timeout),
            Some(armed) => futex::wait(bell, armed, timeout),
            None => futex::wait(watched.0, watched.1, timeout),
        }
    }
}

/// In place of a flag's number: the gate.
const GATE: usize = SHARED_BUFFER_FLAGS;

const _: () = assert!(GATE + 1 < 1 << 16);
const _: () = assert!(SHM_COMM_SLOTS <= 1 << 16);

impl ShmWatch {
    /// The flag that is waited for, or [`GATE`].
    fn line(&self) -> usize {
        match *self {
            ShmWatch::Gate { .. } => GATE,
            ShmWatch::Flag { line, .. } | ShmWatch::Sole { line, .. } | ShmWatch::Progress { line, .. } => {
                line
            }
        }
    }
}

/// In a count of sleepers: somebody who sleeps cannot make others pass a fence.
const NEEDS_FENCE: u8 = 1;
/// In a count of sleepers: one of them. On a flag that is at most one thread of each rank.
const SLEEPER: u8 = 2;

const _: () = assert!(NEEDS_FENCE as usize + SLEEPER as usize * SHM_COMM_RANKS_MAX <= u8::MAX as usize);
