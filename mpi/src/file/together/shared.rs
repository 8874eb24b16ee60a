//! Data that move between ranks and windows through memory that all ranks of a host share, without messages.
//!
//! Each aggregator has two windows in turn. A rank copies its pieces of a window to or from it at their places in the file, and counts itself.
//! The aggregator writes a window when all have come whose data it may hold, and counts windows that it has read or written. A bit for each
//! byte says what was filled, so nothing else is written.

use super::super::facts::FileFacts;
use super::AccessStep;
use crate::core::process::Process;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tern_io::access::StreamPart;
use tern_io::storage::{read_all, write_all};
use tern_io::{AccessSpan, Cover, Moved, Plan};
use tern_mem::UserBuf;
use tern_transport::{JobMemory, Reservation, SharedRange};

/// Windows of an aggregator.
const SLOTS: usize = 2;
/// Words of an aggregator's memory, each in a line of its own: windows that it is through with.
const PUBLISHED: usize = 0;
/// Ranks that have come to a slot, in all.
const COME: [usize; SLOTS] = [64, 128];
/// Where the file ends in a window that was read.
const END: [usize; SLOTS] = [192, 256];
/// Behind the words, the windows; behind those, their bits.
const WINDOWS: usize = 4096;

/// Bytes of an aggregator's memory.
pub(super) fn bytes(window_bytes: usize) -> usize {
    WINDOWS + SLOTS * (window_bytes + 8 * Cover::words(window_bytes))
}

/// The windows of all aggregators.
pub(super) struct AggregatorWindows {
    ranges: Vec<SharedRange>,
    window_bytes: usize,
    /// What this rank gives back in the end.
    _own: Option<Reservation>,
}

impl AggregatorWindows {
    /// Maps them, if that can be done.
    pub(super) fn map(
        memory: &JobMemory,
        places: Vec<u64>,
        window_bytes: usize,
        own: Option<Reservation>,
    ) -> Option<AggregatorWindows> {
        let map = |place: u64| memory.map(place, bytes(window_bytes)).ok();
        let ranges = places.into_iter().map(map).collect::<Option<Vec<_>>>()?;
        Some(AggregatorWindows { ranges, window_bytes, _own: own })
    }

    fn word(&self, aggregator: usize, word: usize) -> &AtomicU64 {
        self.ranges[aggregator].word(word)
    }

    /// The first bytes of a slot.
    fn buffer(&self, aggregator: usize, slot: usize, len: usize) -> UserBuf {
        assert!(len <= self.window_bytes, "{len} bytes in a window of {}", self.window_bytes);
        let base = self.ranges[aggregator].at(WINDOWS + slot * self.window_bytes, len);
        // SAFETY: within the mapping, which lives as long as the file's facts, which every user of the buffer holds. By the counters,
        // ranks and aggregator do not use a slot at once, and ranks have different bytes of it.
        unsafe { UserBuf::contiguous(base, len) }
    }

    fn cover(&self, aggregator: usize, slot: usize) -> Cover<'_> {
        let words = Cover::words(self.window_bytes);
        let at = WINDOWS + SLOTS * self.window_bytes + slot * 8 * words;
        let first = self.ranges[aggregator].at(at, 8 * words).cast::<AtomicU64>();
        // SAFETY: within the mapping, aligned since windows are a multiple of 8 bytes, initialized by the system; atomics may be shared.
        Cover(unsafe { std::slice::from_raw_parts(first, words) })
    }
}

/// An exchange under way.
pub(super) struct SharedExchange {
    plan: Arc<Plan>,
    spans: Vec<AccessSpan>,
    writes: bool,
    /// Positions among the file's aggregators, by domain.
    places: Vec<usize>,
    client: AggregatorClient,
    aggregator: Option<Aggregator>,
    bytes: u64,
    /// The others have not been woken for what this aggregator has published.
    has_published: bool,
}

/// What this rank does as one that has data.
struct AggregatorClient {
    round: u64,
    /// How many domains of the round are done; the first is another one for each rank.
    done: usize,
    /// Windows of each aggregator before the next one.
    windows: Vec<u64>,
}

/// What it does as one that has windows.
struct Aggregator {
    domain: usize,
    round: u64,
    /// Windows before the next one.
    windows: u64,
    is_counted: bool,
    is_working: bool,
}

impl SharedExchange {
    /// Begins.
    pub(super) fn new(facts: &FileFacts, plan: Plan, spans: &[AccessSpan], writes: bool) -> SharedExchange {
        let all = &facts.together.aggregators;
        let place = |rank: &u32| all.iter().position(|other| other == rank).expect("it is an aggregator");
        let places: Vec<usize> = plan.domains.iter().map(|(rank, _)| place(rank)).collect();
        let mut order = facts.together.order();
        let windows: Vec<u64> = places.iter().map(|place| order.windows[*place].0).collect();
        let aggregator = facts.domain_of(&plan).map(|domain| Aggregator {
            domain,
            round: 0,
            windows: windows[domain],
            is_counted: false,
            is_working: false,
        });
        // All ranks count the windows of all, so that they know their numbers the next time.
        for (domain, place) in places.iter().enumerate() {
            let full = (0..plan.rounds()).filter(|round| comers(spans, &plan.window(domain, *round)) > 0);
            order.windows[*place].0 += full.count() as u64;
        }
        let client = AggregatorClient { round: 0, done: 0, windows };
        drop(order);
        let plan = Arc::new(plan);
        let spans = spans.to_vec();
        SharedExchange { plan, spans, writes, places, client, aggregator, bytes: 0, has_published: false }
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
        if std::mem::take(&mut self.has_published) {
            (0..facts.size()).for_each(|rank| process.ring_of(facts, rank));
        }
        let client = self.step_client(process, facts, part);
        AccessStep::of_both(client, self.step_aggregator(facts))
    }

    /// Whether this rank has moved all its data.
    fn step_client(&mut self, process: &Process, facts: &FileFacts, part: &StreamPart) -> bool {
        let (plan, domains) = (self.plan.clone(), self.plan.domains.len());
        let Some(windows) = &facts.together.windows else { return true };
        while self.client.round < plan.rounds() {
            while self.client.done < domains {
                let domain = (facts.me as usize + self.client.done) % domains;
                let range = plan.window(domain, self.client.round);
                if comers(&self.spans, &range) > 0 {
                    if self.spans[facts.me as usize].meets(&range) {
                        let number = self.client.windows[domain];
                        if !self.visit(windows, (domain, number), &range, part) {
                            return false;
                        }
                        process.ring_of(facts, plan.domains[domain].0);
                    }
                    self.client.windows[domain] += 1;
                }
                self.client.done += 1;
            }
            (self.client.round, self.client.done) = (self.client.round + 1, 0);
        }
        true
    }

    /// Copies this rank's pieces to or from a window, if it is time.
    fn visit(
        &mut self,
        windows: &AggregatorWindows,
        (domain, number): (usize, u64),
        range: &Range<u64>,
        part: &StreamPart,
    ) -> bool {
        let (place, slot) = (self.places[domain], (number % SLOTS as u64) as usize);
        let published = windows.word(place, PUBLISHED).load(Ordering::Acquire);
        let is_time = if self.writes { published + SLOTS as u64 > number } else { published > number };
        if !is_time {
            return false;
        }
        let buf = windows.buffer(place, slot, (range.end - range.start) as usize);
        if self.writes {
            let cover = windows.cover(place, slot);
            part.runs_within(range, |run, at| {
                let to = (run.offset - range.start) as usize;
                UserBuf::copy(&part.buf, at, &buf, to, run.len as usize);
                cover.mark(to..to + run.len as usize);
                self.bytes += run.len;
            });
        } else {
            let end = windows.word(place, END[slot]).load(Ordering::Relaxed);
            part.runs_within(range, |run, at| {
                let len = run.len.min(end.saturating_sub(run.offset));
                UserBuf::copy(&buf, (run.offset - range.start) as usize, &part.buf, at, len as usize);
                self.bytes += len;
            });
        }
        windows.word(place, COME[slot]).fetch_add(1, Ordering::SeqCst);
        true
    }

    /// What is to be done with a window; [`AccessStep::Ended`] after the last one.
    fn step_aggregator(&mut self, facts: &Arc<FileFacts>) -> Option<AccessStep> {
        let Some(own) = &mut self.aggregator else { return Some(AccessStep::Ended) };
        let windows = facts.together.windows.as_ref()?;
        if own.is_working {
            return None;
        }
        while own.round < self.plan.rounds() {
            let range = self.plan.window(own.domain, own.round);
            let comers = comers(&self.spans, &range);
            if comers == 0 {
                own.round += 1;
                continue;
            }
            let (place, slot) = (self.places[own.domain], (own.windows % SLOTS as u64) as usize);
            let mut order = facts.together.order();
            let expected = &mut order.windows[place].1[slot];
            // Those who write must have come. Those who have read from the slot before must have gone.
            if self.writes && !own.is_counted {
                (*expected, own.is_counted) = (*expected + comers, true);
            }
            if windows.word(place, COME[slot]).load(Ordering::Acquire) != *expected {
                return None;
            }
            if !self.writes {
                *expected += comers;
            }
            own.is_working = true;
            return Some(AccessStep::Work(work(facts.clone(), (place, slot), range, self.writes)));
        }
        Some(AccessStep::Ended)
    }

    /// The file has given or taken a window.
    pub(super) fn worked(&mut self) {
        self.has_published = true;
        if let Some(own) = &mut self.aggregator {
            (own.is_working, own.is_counted) = (false, false);
            (own.windows, own.round) = (own.windows + 1, own.round + 1);
        }
    }
}

impl Process {
    /// Wakes a rank of a file that may wait for what was just published.
    fn ring_of(&self, facts: &FileFacts, rank: u32) {
        if let (Some(engine), Some(peer)) = (self.engine_ref(), facts.group.peer(rank)) {
            engine.transport_ref().ring(peer);
        }
    }
}

/// How many ranks come to a window.
fn comers(spans: &[AccessSpan], range: &Range<u64>) -> u64 {
    spans.iter().filter(|span| span.meets(range)).count() as u64
}

/// Reads or writes a window, and publishes that.
fn work(
    facts: Arc<FileFacts>,
    (place, slot): (usize, usize),
    range: Range<u64>,
    writes: bool,
) -> Box<dyn FnOnce() -> Moved + Send> {
    Box::new(move || {
        let Some(windows) = &facts.together.windows else { return Moved::default() };
        let len = (range.end - range.start) as usize;
        let buf = windows.buffer(place, slot, len);
        let mut moved = Moved::default();
        if writes {
            let cover = windows.cover(place, slot);
            cover.ranges(len, |filled| {
                let offset = range.start + filled.start as u64;
                let (bytes, outcome) = write_all(&*facts.storage, &buf, filled.start, filled.len(), offset);
                moved.bytes += bytes as u64;
                moved.error = outcome.err();
                moved.error.is_none()
            });
            cover.clear(len);
        } else {
            let (bytes, outcome) = read_all(&*facts.storage, &buf, 0, len, range.start);
            moved = Moved { bytes: bytes as u64, error: outcome.err() };
            windows.word(place, END[slot]).store(range.start + moved.bytes, Ordering::Relaxed);
        }
        windows.word(place, PUBLISHED).fetch_add(1, Ordering::SeqCst);
        moved
    })
}
