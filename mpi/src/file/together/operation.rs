//! One collective access, from the first meeting to the last.

use super::super::facts::FileFacts;
use super::super::fault::{class_of, of_rank, of_system};
use super::super::verbose;
use super::meet::FileMeeting;
use super::messages;
use super::shared;
use super::step::{AccessStep, ExchangeWay};
use crate::comm::agree::{number, record};
use crate::core::error::{Error, fail};
use crate::core::process::{Process, enter};
use crate::core::wait::{self, Waiting};
use std::ffi::c_int;
use std::io;
use std::sync::Arc;
use tern_abi::*;
use tern_io::access::{self, StreamPart};
use tern_io::plan::{PlanReason, choose};
use tern_io::{AccessSpan, Moved, Plan, ReadAhead, Storage, Switch, Tuning, View};
use tern_mem::UserBuf;

/// What a rank wants of a collective access.
pub(crate) struct CollectiveAccess {
    /// The call.
    pub call: &'static str,
    /// Of this file.
    pub facts: Arc<FileFacts>,
    /// Whether it writes.
    pub writes: bool,
    /// How pieces are moved by one rank alone.
    pub tuning: Tuning,
    /// Whether ranks move their data together.
    pub collective: Switch,
    /// All that overlaps is as if it came one after the other.
    pub is_atomic: bool,
}

/// A collective access under way.
pub(crate) struct CollectiveTransfer {
    access: CollectiveAccess,
    part: StreamPart,
    ticket: u64,
    /// This rank's own error.
    error: Option<Box<Error>>,
    /// The system's number of it.
    number: i32,
    /// Bytes of this rank that were moved.
    bytes: u64,
    stage: OperationStage,
}

enum OperationStage {
    /// Others are before it.
    Queued,
    Meeting(FileMeeting),
    /// The access of this rank alone is to be made, or is being made.
    Alone,
    /// The same, but the ranks ask the system for what all want.
    PageCache(ReadAhead),
    Shared(shared::SharedExchange),
    Messages(messages::MessageExchange),
    Settling(FileMeeting),
    Ended,
}

/// Words of the first meeting: fault, span, and how the rank is disposed.
const WORDS: usize = 7;

impl CollectiveTransfer {
    /// Starts an access. Its part, or why this rank cannot take part, which the others will learn.
    pub(crate) fn new(access: CollectiveAccess, part: Result<StreamPart, Box<Error>>) -> CollectiveTransfer {
        let nothing = || StreamPart { view: View::bytes(), from: 0, buf: UserBuf::empty() };
        let (part, error) = match part {
            Ok(part) => (part, None),
            Err(error) => (nothing(), Some(error)),
        };
        let ticket = access.facts.together.ticket();
        CollectiveTransfer { access, part, ticket, error, number: 0, bytes: 0, stage: OperationStage::Queued }
    }

    /// Whether this rank cannot take part, and only tells the others.
    pub(crate) fn is_refused(&self) -> bool {
        self.error.is_some()
    }

    /// The file.
    pub(crate) fn facts(&self) -> &Arc<FileFacts> {
        &self.access.facts
    }

    /// Makes it, and waits until it is over.
    pub(crate) fn run(mut self) -> (u64, Option<Box<Error>>) {
        let (call, context) = (self.access.call, self.access.facts.context);
        loop {
            let waiting = |_: &Process| Waiting::collective(call, context);
            let step = wait::until(enter(), waiting, |process| match self.step(process) {
                AccessStep::Wait => None,
                step => Some(step),
            });
            match step {
                AccessStep::Work(work) => self.worked(work()),
                _ => return self.outcome(),
            }
        }
    }

    /// Bytes of this rank that were moved, and its error.
    pub(crate) fn outcome(&mut self) -> (u64, Option<Box<Error>>) {
        (self.bytes, self.error.take())
    }

    /// Goes as far as it can.
    pub(crate) fn step(&mut self, process: &mut Process) -> AccessStep {
        let facts = self.access.facts.clone();
        loop {
            match &mut self.stage {
                OperationStage::Queued if !facts.together.is_turn(self.ticket) => return AccessStep::Wait,
                OperationStage::Queued => {
                    self.stage = OperationStage::Meeting(FileMeeting::new(self.meeting_words()))
                }
                OperationStage::Meeting(meeting) => match meeting.step(process, &facts) {
                    None => return AccessStep::Wait,
                    Some(all) => self.met(process, &all),
                },
                OperationStage::Alone => return AccessStep::Work(self.alone()),
                OperationStage::PageCache(ahead) => {
                    let (facts, part, ahead) = (facts.clone(), self.part.clone(), ahead.clone());
                    return AccessStep::Work(Box::new(move || ahead.read(&*facts.storage, &part)));
                }
                OperationStage::Shared(exchange) => match exchange.step(process, &facts, &self.part) {
                    Some(AccessStep::Ended) => self.settle(exchange_bytes(&self.stage)),
                    Some(step) => return step,
                    None => return AccessStep::Wait,
                },
                OperationStage::Messages(exchange) => match exchange.step(process, &facts, &self.part) {
                    Some(AccessStep::Ended) => self.settle(exchange_bytes(&self.stage)),
                    Some(step) => return step,
                    None => return AccessStep::Wait,
                },
                OperationStage::Settling(meeting) => match meeting.step(process, &facts) {
                    None => return AccessStep::Wait,
                    Some(all) => self.settled(&all),
                },
                OperationStage::Ended => return AccessStep::Ended,
            }
        }
    }

    /// What was to be done has been done.
    pub(crate) fn worked(&mut self, moved: Moved) {
        if let Some(error) = &moved.error {
            self.number = error.raw_os_error().unwrap_or(libc::EIO);
            let error = of_system(error, &self.access.facts.path);
            self.error.get_or_insert(error);
        }
        match &mut self.stage {
            OperationStage::Shared(exchange) => exchange.worked(),
            OperationStage::Messages(exchange) => exchange.worked(moved.bytes),
            _ => self.settle(moved.bytes),
        }
    }

    /// What this rank tells the others.
    fn meeting_words(&self) -> Vec<u8> {
        let class = self.error.as_ref().map_or(MPI_SUCCESS, |error| error.class());
        let span = self.part.span();
        // Windows go through the file once, in order, and so must the part.
        let alone =
            self.access.is_atomic || self.access.collective == Switch::Disable || !self.part.is_ordered();
        let disposed = u64::from(alone) | u64::from(self.access.collective == Switch::Enable) << 1;
        record(&[
            class as u64,
            self.access.writes.into(),
            span.start,
            span.end,
            self.part.buf.len() as u64,
            self.part.piece_bytes(),
            disposed,
        ])
    }

    /// Everybody has told: what is done.
    fn met(&mut self, process: &mut Process, all: &[u8]) {
        let told: Vec<[u64; WORDS]> = all
            .chunks_exact(8 * WORDS)
            .map(|words| std::array::from_fn(|at| number(words, 8 * at)))
            .collect();
        if let Some(rank) = told.iter().position(|words| words[0] != 0) {
            let class = told[rank][0] as c_int;
            self.error.get_or_insert_with(|| of_rank(rank, class, "its arguments are wrong"));
            return self.end();
        }
        if let Some(rank) = told.iter().position(|words| words[1] != told[0][1]) {
            let text = format!("rank {rank} reads where rank 0 writes, or the other way round");
            self.error = Some(fail(MPI_ERR_NOT_SAME, text));
            return self.end();
        }
        let spans: Vec<AccessSpan> = told
            .iter()
            .map(|words| AccessSpan { start: words[2], end: words[3], bytes: words[4], piece: words[5] })
            .collect();
        self.plan(process, &spans, told.iter().fold((0, 3), |sum, w| (sum.0 | w[6], sum.1 & w[6])));
    }

    fn plan(&mut self, process: &mut Process, spans: &[AccessSpan], (any, all): (u64, u64)) {
        let (facts, together) = (&self.access.facts, &self.access.facts.together);
        let from_cache = !self.access.writes && facts.has_one_page_cache() && ReadAhead::is_worth_it(spans);
        let choice = match choose(spans) {
            _ if any & 1 != 0 || facts.size() == 1 => None,
            _ if all & 2 != 0 => Some(PlanReason::Aggregate),
            PlanReason::Aggregate if from_cache => Some(PlanReason::PageCache),
            choice => Some(choice),
        };
        verbose::chosen(process, facts, self.access.call, choice);
        if choice == Some(PlanReason::PageCache) {
            self.stage = OperationStage::PageCache(ReadAhead::new(spans, facts.me));
            return;
        }
        if choice != Some(PlanReason::Aggregate) {
            self.stage = OperationStage::Alone;
            return;
        }
        let way = ExchangeWay { writes: self.access.writes, locks: self.access.tuning.sieve_write > 0 };
        self.stage = if let Some(pool) = &together.pool {
            OperationStage::Shared(shared::SharedExchange::new(facts, pool, spans, way))
        } else {
            let plan = Plan::new(spans, &together.aggregators, together.window_bytes, together.align);
            OperationStage::Messages(messages::MessageExchange::new(facts, plan, spans, way))
        };
    }

    /// The access of this rank alone.
    fn alone(&self) -> Box<dyn FnOnce() -> Moved + Send> {
        let (facts, part, tuning) = (self.access.facts.clone(), self.part.clone(), self.access.tuning);
        let (writes, is_atomic) = (self.access.writes, self.access.is_atomic);
        Box::new(move || alone(&facts, &part, (writes, is_atomic), &tuning))
    }

    fn settle(&mut self, bytes: u64) {
        self.bytes = bytes;
        let class = self.error.as_ref().map_or(MPI_SUCCESS, |error| error.class());
        self.stage = OperationStage::Settling(FileMeeting::new(record(&[class as u64, self.number as u64])));
    }

    fn settled(&mut self, all: &[u8]) {
        let failed = all.chunks_exact(16).position(|words| number(words, 0) != 0);
        if let (Some(rank), None) = (failed, &self.error) {
            let (class, errno) = (number(all, 16 * rank) as c_int, number(all, 16 * rank + 8) as i32);
            let text = io::Error::from_raw_os_error(errno).to_string();
            debug_assert!(errno == 0 || class_of(errno) == class);
            self.error = Some(of_rank(rank, class, &format!("'{}': {text}", self.access.facts.path)));
        }
        self.end();
    }

    fn end(&mut self) {
        self.access.facts.together.end_turn();
        self.stage = OperationStage::Ended;
    }
}

fn exchange_bytes(stage: &OperationStage) -> u64 {
    match stage {
        OperationStage::Shared(exchange) => exchange.bytes(),
        OperationStage::Messages(exchange) => exchange.bytes(),
        _ => 0,
    }
}

/// An access of one rank, under a lock in atomic mode.
pub(crate) fn alone(
    facts: &FileFacts,
    part: &StreamPart,
    (writes, is_atomic): (bool, bool),
    tuning: &Tuning,
) -> Moved {
    let storage = &*facts.storage;
    let span = part.span();
    let locks = is_atomic && !span.is_empty();
    if locks && let Err(error) = storage.lock_range(span.start, span.end, writes) {
        return Moved { bytes: 0, error: Some(error) };
    }
    // Under a lock of its own, an access needs no other.
    let tuning = if locks { &Tuning { sieve_write: 0, ..*tuning } } else { tuning };
    let mut moved =
        if writes { access::write(storage, part, tuning) } else { access::read(storage, part, tuning) };
    if writes {
        facts.written(&span);
    }
    if locks && let Err(error) = storage.unlock(span.start, span.end) {
        moved.error.get_or_insert(error);
    }
    moved
}
