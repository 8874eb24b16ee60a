//! Data that move between ranks and windows by messages.
//!
//! A rank tells an aggregator which pieces of a window it has, some at a time, each with its place in the file; the data follow in the same
//! message, or come in the answer. An aggregator has one window in memory and serves a few ranks at once, so memory is bounded.

use super::super::facts::FileFacts;
use super::meet::is_over;
use super::step::{AccessStep, ExchangeWay};
use crate::comm::agree::{number, record};
use crate::core::process::Process;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tern_engine::{Envelope, Mode, Pattern, StartedMessage};
use tern_io::access::StreamPart;
use tern_io::storage::{read_all, write_all, write_locked};
use tern_io::view::FileRun;
use tern_io::{AccessSpan, Cover, Moved, Plan};
use tern_mem::UserBuf;

/// Tags of these messages on the file's own context: to an aggregator, and back.
const TO_TAG: i32 = 4;
const BACK_TAG: i32 = 5;
/// Bytes of data in a message, at most and at least: what all ranks that are served at once have under way is about a window.
const DATA_BYTES_MAX: usize = 1 << 20;
const DATA_BYTES_MIN: usize = 16 << 10;
/// Bytes of data for each piece that a message can have.
const DATA_BYTES_PER_PIECE: usize = 128;
/// Bytes before the pieces: their number, and whether the rank has no more for this window.
const HEAD_BYTES: usize = 16;
const PIECE_BYTES: usize = 16;
/// Ranks that an aggregator serves at once.
const SERVED: usize = 8;

/// What one message has at most; the same at all ranks.
#[derive(Clone, Copy)]
struct MessageLimits {
    data: usize,
    pieces: usize,
}

impl MessageLimits {
    /// For windows of so many bytes.
    fn of(window_bytes: u64) -> MessageLimits {
        let share = usize::try_from(window_bytes).unwrap_or(usize::MAX) / SERVED;
        let data = share.clamp(DATA_BYTES_MIN, DATA_BYTES_MAX);
        MessageLimits { data, pieces: data / DATA_BYTES_PER_PIECE }
    }

    /// Bytes of the longest message.
    fn message_bytes(self) -> usize {
        HEAD_BYTES + self.pieces * PIECE_BYTES + self.data
    }
}

/// An exchange under way.
pub(super) struct MessageExchange {
    plan: Plan,
    spans: Vec<AccessSpan>,
    writes: bool,
    client: DataSender,
    aggregator: Option<WindowOwner>,
    bytes: u64,
}

/// What this rank does as one that has data.
struct DataSender {
    round: u64,
    flows: Option<Vec<ToAggregator>>,
}

/// Pieces on their way to one aggregator, or from it.
struct ToAggregator {
    rank: u32,
    /// What is left of the stream.
    left: Range<u64>,
    /// The last message has been sent.
    is_last: bool,
    sent: Option<StartedMessage>,
    /// The pieces that are asked for.
    asked: Vec<FileRun>,
    answer: UserBuf,
    received: Option<StartedMessage>,
}

/// What it does as one that has a window.
struct WindowOwner {
    domain: usize,
    locks: bool,
    round: u64,
    window: UserBuf,
    cover: Arc<Vec<AtomicU64>>,
    stage: WindowStage,
}

enum WindowStage {
    /// A window is to be begun.
    Next,
    /// The file is at work.
    Working,
    /// Data come, or are asked for. `end`: the file ends there, in a window that was read.
    Serving { flows: Vec<FromRank>, end: u64 },
}

/// Pieces on their way from one rank, or to it.
struct FromRank {
    rank: u32,
    buf: Option<UserBuf>,
    received: Option<StartedMessage>,
    answered: Option<StartedMessage>,
    is_last: bool,
    is_done: bool,
}

impl MessageExchange {
    /// Begins.
    pub(super) fn new(
        facts: &FileFacts,
        plan: Plan,
        spans: &[AccessSpan],
        ExchangeWay { writes, locks }: ExchangeWay,
    ) -> MessageExchange {
        let aggregator = facts.domain_of(&plan).map(|domain| {
            let longest = (0..plan.rounds()).map(|round| plan.window(domain, round)).map(|w| w.end - w.start);
            let bytes = longest.max().unwrap_or(0) as usize;
            let words = if writes { Cover::words(bytes) } else { 0 };
            WindowOwner {
                domain,
                locks,
                round: 0,
                window: UserBuf::owned(bytes),
                cover: Arc::new((0..words).map(|_| AtomicU64::new(0)).collect()),
                stage: WindowStage::Next,
            }
        });
        let client = DataSender { round: 0, flows: None };
        MessageExchange { plan, spans: spans.to_vec(), writes, client, aggregator, bytes: 0 }
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
        let client = self.step_client(process, facts, part);
        AccessStep::of_both(client, self.step_aggregator(process, facts))
    }

    /// Whether this rank has moved all its data.
    fn step_client(&mut self, process: &mut Process, facts: &FileFacts, part: &StreamPart) -> bool {
        while self.client.round < self.plan.rounds() {
            let mut flows = match self.client.flows.take() {
                Some(flows) => flows,
                None => self.flows(facts, part),
            };
            let mut is_done = true;
            for flow in &mut flows {
                is_done &= flow.step(process, facts, part, self.writes, &mut self.bytes);
            }
            if !is_done {
                self.client.flows = Some(flows);
                return false;
            }
            self.client.round += 1;
        }
        true
    }

    fn flows(&self, facts: &FileFacts, part: &StreamPart) -> Vec<ToAggregator> {
        let flow = |(domain, (rank, _)): (usize, &(u32, Range<u64>))| {
            let range = self.plan.window(domain, self.client.round);
            self.spans[facts.me as usize].meets(&range).then(|| {
                let (first, last) = part.within(&range);
                ToAggregator {
                    rank: *rank,
                    left: first..last,
                    is_last: false,
                    sent: None,
                    asked: Vec::new(),
                    answer: UserBuf::empty(),
                    received: None,
                }
            })
        };
        self.plan.domains.iter().enumerate().filter_map(flow).collect()
    }

    /// What is to be done with a window; [`AccessStep::Ended`] after the last one.
    fn step_aggregator(&mut self, process: &mut Process, facts: &Arc<FileFacts>) -> Option<AccessStep> {
        let Some(own) = &mut self.aggregator else { return Some(AccessStep::Ended) };
        loop {
            if own.round >= self.plan.rounds() {
                return Some(AccessStep::Ended);
            }
            let range = self.plan.window(own.domain, own.round);
            match &mut own.stage {
                WindowStage::Working => return None,
                WindowStage::Next => {
                    let ranks = (0..).zip(&self.spans).filter(|(_, span)| span.meets(&range));
                    let flows: Vec<_> = ranks.map(|(rank, _)| FromRank::new(rank)).collect();
                    match (flows.is_empty(), self.writes) {
                        (true, _) => own.round += 1,
                        (_, true) => own.stage = WindowStage::Serving { flows, end: 0 },
                        (_, false) => {
                            own.stage = WindowStage::Working;
                            return Some(AccessStep::Work(own.load(facts.clone(), range)));
                        }
                    }
                }
                WindowStage::Serving { flows, end } => {
                    let window = FileWindow { range: range.clone(), buf: &own.window, end: *end };
                    let cover = self.writes.then(|| Cover::of(&own.cover, own.window.len()));
                    if !serve(process, facts, flows, &window, cover) {
                        return None;
                    }
                    if self.writes {
                        own.stage = WindowStage::Working;
                        return Some(AccessStep::Work(own.save(facts.clone(), range)));
                    }
                    (own.stage, own.round) = (WindowStage::Next, own.round + 1);
                }
            }
        }
    }

    /// The file has taken a window, or given so many bytes of one.
    pub(super) fn worked(&mut self, bytes: u64) {
        let Some(own) = &mut self.aggregator else { return };
        if self.writes {
            (own.stage, own.round) = (WindowStage::Next, own.round + 1);
            return;
        }
        let range = self.plan.window(own.domain, own.round);
        let ranks = (0..).zip(&self.spans).filter(|(_, span)| span.meets(&range));
        let flows = ranks.map(|(rank, _)| FromRank::new(rank)).collect();
        own.stage = WindowStage::Serving { flows, end: range.start + bytes };
    }
}

impl WindowOwner {
    fn load(&self, facts: Arc<FileFacts>, range: Range<u64>) -> Box<dyn FnOnce() -> Moved + Send> {
        let window = self.window.clone();
        Box::new(move || {
            let len = (range.end - range.start) as usize;
            let (bytes, outcome) = read_all(&*facts.storage, &window, 0, len, range.start);
            Moved { bytes: bytes as u64, error: outcome.err() }
        })
    }

    fn save(&self, facts: Arc<FileFacts>, range: Range<u64>) -> Box<dyn FnOnce() -> Moved + Send> {
        let (window, bits) = (self.window.clone(), self.cover.clone());
        let write = if self.locks { write_locked } else { write_all };
        Box::new(move || {
            let (cover, len) = (Cover::of(&bits, window.len()), (range.end - range.start) as usize);
            let mut moved = Moved::default();
            cover.ranges(len, |filled| {
                let offset = range.start + filled.start as u64;
                let (bytes, outcome) =
                    write(facts.storage.as_ref(), &window, filled.start, filled.len(), offset);
                moved.bytes += bytes as u64;
                moved.error = outcome.err();
                moved.error.is_none()
            });
            cover.clear(len);
            moved
        })
    }
}

impl ToAggregator {
    /// Whether all its pieces have been moved.
    fn step(
        &mut self,
        process: &mut Process,
        facts: &FileFacts,
        part: &StreamPart,
        writes: bool,
        bytes: &mut u64,
    ) -> bool {
        loop {
            if !is_over(process, &mut self.sent) || !is_over(process, &mut self.received) {
                return false;
            }
            if !writes {
                *bytes += self.take(part);
            }
            if self.is_last {
                return true;
            }
            *bytes += self.send(process, facts, part, writes);
        }
    }

    /// Sends the next pieces. How many bytes of data went with them.
    fn send(&mut self, process: &mut Process, facts: &FileFacts, part: &StreamPart, writes: bool) -> u64 {
        let (runs, bytes) = self.next_runs(part, MessageLimits::of(facts.together.window_bytes));
        self.is_last = self.left.is_empty();
        let mut head = vec![runs.len() as u64, self.is_last.into()];
        head.extend(runs.iter().flat_map(|run| [run.offset, run.len]));
        let head = record(&head);
        let data = if writes { bytes as usize } else { 0 };
        let message = UserBuf::owned(head.len() + data);
        message.write(0, &head);
        if let (Some(first), true) = (runs.first(), writes) {
            // The pieces follow each other in the stream, and so in the buffer.
            UserBuf::copy(&part.buf, (first.stream - part.from) as usize, &message, head.len(), data);
        }
        let Some(engine) = process.engine_mut() else { return 0 };
        if !writes {
            self.answer = UserBuf::owned(8 + bytes as usize);
            let pattern = Pattern { context: facts.context, source: self.rank, tag: BACK_TAG };
            self.received = Some(engine.receive(pattern, &self.answer, 0));
            self.asked = runs;
        }
        self.sent = Some(send(engine, facts, self.rank, TO_TAG, &message));
        data as u64
    }

    fn next_runs(&mut self, part: &StreamPart, size: MessageLimits) -> (Vec<FileRun>, u64) {
        let (mut runs, mut bytes, most) = (Vec::new(), 0, size.data as u64);
        part.view.runs(self.left.start, self.left.end, |run| {
            let len = run.len.min(most - bytes);
            runs.push(FileRun { len, ..run });
            bytes += len;
            bytes < most && runs.len() < size.pieces
        });
        self.left.start += bytes;
        (runs, bytes)
    }

    /// Takes what has come. How many bytes the file had of it.
    fn take(&mut self, part: &StreamPart) -> u64 {
        let asked = std::mem::take(&mut self.asked);
        let Some(first) = asked.first() else { return 0 };
        let mut head = [0; 8];
        self.answer.read(0, &mut head);
        let end = number(&head, 0);
        let valid: u64 = asked.iter().map(|run| run.len.min(end.saturating_sub(run.offset))).sum();
        // Places grow, so what is there comes first.
        UserBuf::copy(&self.answer, 8, &part.buf, (first.stream - part.from) as usize, valid as usize);
        self.answer = UserBuf::empty();
        valid
    }
}

fn send(
    engine: &mut crate::core::process::ProcessEngine,
    facts: &FileFacts,
    to: u32,
    tag: i32,
    message: &UserBuf,
) -> StartedMessage {
    let envelope = Envelope { context: facts.context, source: facts.me, tag };
    let peer = facts.group.peer(to).expect("a rank of the file");
    engine.send(Mode::Standard, peer, envelope, message, 0)
}

/// A window in memory.
struct FileWindow<'a> {
    range: Range<u64>,
    buf: &'a UserBuf,
    end: u64,
}

/// Serves a few ranks at a time. Whether all have been.
fn serve(
    process: &mut Process,
    facts: &FileFacts,
    flows: &mut [FromRank],
    window: &FileWindow<'_>,
    cover: Option<Cover<'_>>,
) -> bool {
    let mut served = 0;
    for flow in flows.iter_mut().filter(|flow| !flow.is_done) {
        if served == SERVED {
            return false;
        }
        flow.step(process, facts, window, cover);
        served += usize::from(!flow.is_done);
    }
    served == 0
}

impl FromRank {
    fn new(rank: u32) -> FromRank {
        FromRank { rank, buf: None, received: None, answered: None, is_last: false, is_done: false }
    }

    fn step(
        &mut self,
        process: &mut Process,
        facts: &FileFacts,
        window: &FileWindow<'_>,
        cover: Option<Cover<'_>>,
    ) {
        loop {
            if !is_over(process, &mut self.answered) || !is_over(process, &mut self.received) {
                return;
            }
            if self.is_last {
                (self.is_done, self.buf) = (true, None);
                return;
            }
            let Some(engine) = process.engine_mut() else { return };
            let Some(buf) = self.buf.take() else {
                let buf = UserBuf::owned(MessageLimits::of(facts.together.window_bytes).message_bytes());
                let pattern = Pattern { context: facts.context, source: self.rank, tag: TO_TAG };
                self.received = Some(engine.receive(pattern, &buf, 0));
                self.buf = Some(buf);
                continue;
            };
            let (pieces, data, is_last) = parsed(&buf, &window.range);
            self.is_last = is_last;
            match cover {
                Some(cover) => fill(window, cover, &buf, &pieces, data),
                None => {
                    let answer = answer(window, &pieces);
                    self.answered = Some(send(engine, facts, self.rank, BACK_TAG, &answer));
                }
            }
        }
    }
}

/// The pieces of a message, where their data begin, and whether it is the last. What does not lie in the window is left out.
fn parsed(buf: &UserBuf, range: &Range<u64>) -> (Vec<(u64, u64)>, usize, bool) {
    let mut head = [0; HEAD_BYTES];
    buf.read(0, &mut head);
    let room = buf.len().saturating_sub(HEAD_BYTES) / PIECE_BYTES;
    let count = usize::try_from(number(&head, 0)).unwrap_or(usize::MAX).min(room);
    let mut list = vec![0; count * PIECE_BYTES];
    buf.read(HEAD_BYTES, &mut list);
    let pieces = list.chunks_exact(PIECE_BYTES).map(|piece| (number(piece, 0), number(piece, 8)));
    let fits = |(offset, len): &(u64, u64)| {
        *offset >= range.start && offset.checked_add(*len).is_some_and(|end| end <= range.end)
    };
    (pieces.filter(fits).collect(), HEAD_BYTES + list.len(), number(&head, 8) != 0)
}

fn fill(window: &FileWindow<'_>, cover: Cover<'_>, buf: &UserBuf, pieces: &[(u64, u64)], mut data: usize) {
    for (offset, len) in pieces {
        let (to, len) = ((offset - window.range.start) as usize, *len as usize);
        UserBuf::copy(buf, data, window.buf, to, len);
        cover.mark(to..to + len);
        data += len;
    }
}

fn answer(window: &FileWindow<'_>, pieces: &[(u64, u64)]) -> UserBuf {
    let bytes: u64 = pieces.iter().map(|(_, len)| len).sum();
    let answer = UserBuf::owned(8 + bytes as usize);
    answer.write(0, &record(&[window.end]));
    let mut at = 8;
    for (offset, len) in pieces {
        UserBuf::copy(window.buf, (offset - window.range.start) as usize, &answer, at, *len as usize);
        at += *len as usize;
    }
    answer
}
