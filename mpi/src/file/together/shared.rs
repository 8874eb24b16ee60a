//! Data that move between ranks and windows through memory that all ranks of a host share, without messages.
//!
//! A rank copies its pieces of a window to or from the window's slot at their places in the file, and counts itself. Whoever has nothing to
//! copy writes the next window to which all have come, or reads the next one whose slot nobody uses any more. Bits say which bytes
//! were filled, so nothing else is written. [`tern_io::pool`] says which windows there are.

use super::super::facts::FileFacts;
use super::pool::{COME, DONE, END, TAKEN, WindowPool};
use super::step::{AccessStep, ExchangeWay};
use crate::core::process::Process;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tern_io::access::StreamPart;
use tern_io::storage::{read_all, write_all, write_locked};
use tern_io::{AccessSpan, Moved, PoolWalk, PoolWindow};
use tern_mem::UserBuf;

/// Slots that a write uses at most: while one rank writes, the others are not far ahead, and what they copy stays in a cache.
const WRITE_SLOTS: usize = 8;

/// An exchange under way.
pub(super) struct SharedExchange {
    writes: bool,
    locks: bool,
    me: AccessSpan,
    /// The next window for this rank's copies, and the walk behind it.
    copies: (Option<PoolWindow>, PoolWalk),
    /// The same for the file.
    works: (Option<PoolWindow>, PoolWalk),
    /// How many ranks may read or write at once.
    workers: u64,
    is_working: bool,
    bytes: u64,
    /// The others have not been woken for what this rank has published.
    has_published: bool,
}

impl SharedExchange {
    /// Begins.
    pub(super) fn new(
        facts: &FileFacts,
        pool: &WindowPool,
        spans: &[AccessSpan],
        ExchangeWay { writes, locks }: ExchangeWay,
    ) -> SharedExchange {
        let together = &facts.together;
        let slots = if writes { pool.slots().min(WRITE_SLOTS) } else { pool.slots() };
        let size = (pool.window_bytes as u64, together.align);
        let mut walk = PoolWalk::new(&spans.into(), size, slots, &together.order().pool);
        let first = (walk.next(), walk);
        SharedExchange {
            writes,
            locks,
            me: spans[facts.me as usize],
            copies: first.clone(),
            works: first,
            workers: if writes { together.writers } else { together.aggregators.len() as u64 },
            is_working: false,
            bytes: 0,
            has_published: false,
        }
    }

    /// Bytes of this rank that were moved.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Goes as far as it can; `None` while it waits for others.
    pub(super) fn step(
        &mut self,
        process: &mut Process,
        facts: &Arc<FileFacts>,
        part: &StreamPart,
    ) -> Option<AccessStep> {
        let Some(pool) = &facts.together.pool else { return Some(AccessStep::Ended) };
        self.wake_others(process, facts);
        while self.copy(pool, part) {}
        self.wake_others(process, facts);
        if self.is_working {
            return None;
        }
        if let Some(window) = self.take_window(pool) {
            self.is_working = true;
            return Some(AccessStep::Work(work(facts.clone(), window, (self.writes, self.locks))));
        }
        // All windows have been copied, and each is or was with somebody.
        (self.copies.0.is_none() && self.works.0.is_none()).then(|| {
            facts.together.order().pool = self.copies.1.clone().into_state();
            if self.writes {
                facts.written(&(0..0));
            }
            AccessStep::Ended
        })
    }

    fn wake_others(&mut self, process: &Process, facts: &FileFacts) {
        if std::mem::take(&mut self.has_published) {
            (0..facts.size()).for_each(|rank| process.ring_of(facts, rank));
        }
    }

    /// Copies this rank's pieces to or from the next window, if it is time. Whether it was.
    fn copy(&mut self, pool: &WindowPool, part: &StreamPart) -> bool {
        let Some(window) = &self.copies.0 else { return false };
        if self.me.meets(&window.range) {
            let done = pool.word(DONE, window.slot).load(Ordering::Acquire);
            if done < window.turn + u64::from(!self.writes) {
                return false;
            }
            let moved = if self.writes { fill(pool, window, part) } else { empty(pool, window, part) };
            self.bytes += moved;
            let come = pool.word(COME, window.slot).fetch_add(1, Ordering::SeqCst) + 1;
            self.has_published |= come == window.come.end;
        }
        self.copies.0 = self.copies.1.next();
        true
    }

    /// The next window for the file, if it is time and not too many do that.
    fn take_window(&mut self, pool: &WindowPool) -> Option<PoolWindow> {
        if !self.is_ready(pool)? || !pool.begin_work(self.workers) {
            return None;
        }
        // Somebody else may have taken it meanwhile, and then be about to take the next.
        let window = self.works.0.clone()?;
        let (number, taken) = (window.number, pool.common(TAKEN));
        if taken.compare_exchange(number, number + 1, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            self.works.0 = self.works.1.next();
            return Some(window);
        }
        pool.end_work();
        self.has_published = true;
        None
    }

    /// Whether the next window that nobody has taken can be read or written; `None` if all were taken.
    fn is_ready(&mut self, pool: &WindowPool) -> Option<bool> {
        let taken = pool.common(TAKEN).load(Ordering::Acquire);
        while self.works.0.as_ref().is_some_and(|window| window.number < taken) {
            self.works.0 = self.works.1.next();
        }
        let window = self.works.0.as_ref()?;
        let come = pool.word(COME, window.slot).load(Ordering::Acquire);
        Some(come == if self.writes { window.come.end } else { window.come.start })
    }

    /// The file has given or taken a window.
    pub(super) fn worked(&mut self) {
        (self.has_published, self.is_working) = (true, false);
    }
}

/// Copies this rank's pieces to a window.
fn fill(pool: &WindowPool, window: &PoolWindow, part: &StreamPart) -> u64 {
    let (range, mut bytes) = (&window.range, 0);
    let buf = pool.buffer(window.slot, (range.end - range.start) as usize);
    let cover = pool.cover(window.slot);
    part.runs_within(range, |run, at| {
        let to = (run.offset - range.start) as usize;
        UserBuf::copy(&part.buf, at, &buf, to, run.len as usize);
        cover.mark(to..to + run.len as usize);
        bytes += run.len;
    });
    bytes
}

/// Copies this rank's pieces from a window, as far as the file goes.
fn empty(pool: &WindowPool, window: &PoolWindow, part: &StreamPart) -> u64 {
    let (range, mut bytes) = (&window.range, 0);
    let buf = pool.buffer(window.slot, (range.end - range.start) as usize);
    let end = pool.word(END, window.slot).load(Ordering::Relaxed);
    part.runs_within(range, |run, at| {
        let len = run.len.min(end.saturating_sub(run.offset));
        UserBuf::copy(&buf, (run.offset - range.start) as usize, &part.buf, at, len as usize);
        bytes += len;
    });
    bytes
}

impl Process {
    /// Wakes a rank of a file that may wait for what was just published.
    fn ring_of(&self, facts: &FileFacts, rank: u32) {
        if let (Some(engine), Some(peer)) = (self.engine_ref(), facts.group.peer(rank)) {
            engine.transport_ref().ring(peer);
        }
    }
}

/// Reads or writes a window, and publishes that.
fn work(
    facts: Arc<FileFacts>,
    window: PoolWindow,
    (writes, locks): (bool, bool),
) -> Box<dyn FnOnce() -> Moved + Send> {
    Box::new(move || {
        let Some(pool) = &facts.together.pool else { return Moved::default() };
        let moved = if writes { save(&facts, pool, &window, locks) } else { load(&facts, pool, &window) };
        pool.word(DONE, window.slot).fetch_add(1, Ordering::SeqCst);
        pool.end_work();
        if writes {
            facts.begin_writeback(&window.range);
        }
        moved
    })
}

fn save(facts: &FileFacts, pool: &WindowPool, window: &PoolWindow, locks: bool) -> Moved {
    let (range, mut moved) = (&window.range, Moved::default());
    let len = (range.end - range.start) as usize;
    let (buf, cover) = (pool.buffer(window.slot, len), pool.cover(window.slot));
    cover.ranges(len, |filled| {
        let offset = range.start + filled.start as u64;
        let write = if locks { write_locked } else { write_all };
        let (bytes, outcome) = write(facts.storage.as_ref(), &buf, filled.start, filled.len(), offset);
        moved.bytes += bytes as u64;
        moved.error = outcome.err();
        moved.error.is_none()
    });
    cover.clear(len);
    moved
}

fn load(facts: &FileFacts, pool: &WindowPool, window: &PoolWindow) -> Moved {
    let range = &window.range;
    let len = (range.end - range.start) as usize;
    let (bytes, outcome) = read_all(&*facts.storage, &pool.buffer(window.slot, len), 0, len, range.start);
    pool.word(END, window.slot).store(range.start + bytes as u64, Ordering::Relaxed);
    Moved { bytes: bytes as u64, error: outcome.err() }
}
