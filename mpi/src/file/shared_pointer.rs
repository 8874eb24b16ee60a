//! The pointer that all ranks of a file share (MPI 5.0 section 14.4.4), in elementary types.
//!
//! On one host it is a word of memory that the ranks share. Otherwise rank 0 has it, and answers who asks, while it waits in any call or by
//! its progress thread. No file holds it.

use super::facts::FileFacts;
use super::object::Served;
use super::pointer_place::SharedPointer;
use crate::comm::agree::{number, record};
use crate::core::error::{Result, fail};
use crate::core::process::{Process, enter};
use crate::core::wait::{self, Waiting};
use std::sync::Arc;
use tern_abi::*;
use tern_engine::{ANY_SOURCE, Envelope, Mode, Pattern, StartedMessage};
use tern_mem::UserBuf;
use tern_shm::{JobMemory, Reservation};

/// Tags of messages about the pointer, on the file's own context.
const ASK_TAG: i32 = 1;
const ANSWER_TAG: i32 = 2;

/// What a rank has of the pointer before it knows whether all can share it.
pub(crate) struct PointerOffer {
    memory: Option<Arc<JobMemory>>,
    /// Rank 0's word.
    own: Option<Reservation>,
}

impl PointerOffer {
    /// That of a rank of a file whose ranks run on one host, or not.
    pub(crate) fn new(rank: u32, one_host: bool) -> Result<PointerOffer> {
        let memory = enter().engine()?.transport().memory().ok().filter(|_| one_host);
        let own = memory.as_ref().filter(|_| rank == 0).and_then(|memory| memory.reserve(8).ok());
        Ok(PointerOffer { memory, own })
    }

    /// Whether this rank could share, and where rank 0 has the pointer.
    pub(crate) fn words(&self) -> [u64; 2] {
        [u64::from(self.memory.is_some()), self.own.as_ref().map_or(u64::MAX, Reservation::place)]
    }

    /// The pointer in memory that all share, if all could and this rank can map it.
    pub(crate) fn accept(self, told: &[[u64; 2]]) -> Option<SharedPointer> {
        let place = told[0][1];
        let alike = told.iter().all(|words| words[0] == 1) && place != u64::MAX;
        let range = self.memory.filter(|_| alike)?.map(place, 8).ok()?;
        Some(SharedPointer::Word(range, self.own))
    }
}

impl SharedPointer {
    fn is_here(&self, facts: &FileFacts) -> bool {
        matches!(self, SharedPointer::Word(..)) || facts.me == 0
    }

    /// Where it is, after `more` elements were added.
    pub(crate) fn advance(&self, call: &'static str, facts: &FileFacts, more: u64) -> Result<u64> {
        if self.is_here(facts) {
            return Ok(self.advance_here(more));
        }
        ask(call, facts, more)
    }

    /// Moves it back from behind an access that was refused. Where rank 0 alone has it, it stays for the others.
    pub(crate) fn refuse(&self, facts: &FileFacts, position: u64, elements: u64) {
        if self.is_here(facts) {
            self.take_back(position, elements);
        }
    }

    /// Where it is.
    pub(crate) fn get(&self, call: &'static str, facts: &FileFacts) -> Result<u64> {
        self.advance(call, facts, 0)
    }
}

/// Asks rank 0.
fn ask(call: &'static str, facts: &FileFacts, more: u64) -> Result<u64> {
    let answer = UserBuf::owned(8);
    let mut process = enter();
    let engine = process.engine()?;
    let pattern = Pattern { context: facts.context, source: 0, tag: ANSWER_TAG };
    let received = engine.receive(pattern, &answer, 0);
    let question = UserBuf::owned(8);
    question.write(0, &record(&[more]));
    let envelope = Envelope { context: facts.context, source: facts.me, tag: ASK_TAG };
    let first = facts.group.peer(0).expect("a file has a rank 0");
    let sent = engine.send(Mode::Standard, first, envelope, &question, 0);
    process.detach_started(sent);
    let waiting = |_: &Process| Waiting {
        detail: "for the shared file pointer, which rank 0 has".into(),
        ..Waiting::collective(call, facts.context)
    };
    let status = wait::until(process, waiting, |process| process.take_started(received));
    if status.fault.is_some() {
        return Err(fail(MPI_ERR_INTERN, "rank 0 has not told where the shared pointer is"));
    }
    let mut bytes = [0; 8];
    answer.read(0, &mut bytes);
    Ok(number(&bytes, 0))
}

/// What rank 0 does for the others.
pub(crate) struct SharedPointerServer {
    facts: Arc<FileFacts>,
    question: UserBuf,
    asked: Option<StartedMessage>,
}

impl SharedPointerServer {
    /// One, if this rank is asked about the pointer of this file.
    pub(crate) fn of(facts: &Arc<FileFacts>) -> Option<SharedPointerServer> {
        let is_asked = facts.me == 0 && facts.size() > 1 && matches!(facts.shared, SharedPointer::AtFirst(_));
        is_asked.then(|| SharedPointerServer {
            facts: facts.clone(),
            question: UserBuf::owned(8),
            asked: None,
        })
    }

    /// Whether it serves this file.
    fn is_of(&self, facts: &Arc<FileFacts>) -> bool {
        Arc::ptr_eq(&self.facts, facts)
    }
}

impl SharedPointerServer {
    /// Answers those who have asked.
    fn answer(&mut self, process: &mut Process) {
        loop {
            let Some(engine) = process.engine_mut() else { return };
            let pattern = Pattern { context: self.facts.context, source: ANY_SOURCE, tag: ASK_TAG };
            let asked = *self.asked.get_or_insert_with(|| engine.receive(pattern, &self.question, 0));
            let Some(status) = process.take_started(asked) else { return };
            self.asked = None;
            let mut bytes = [0; 8];
            self.question.read(0, &mut bytes);
            let old = self.facts.shared.advance_here(number(&bytes, 0));
            let answer = UserBuf::owned(8);
            answer.write(0, &record(&[old]));
            let envelope = Envelope { context: self.facts.context, source: 0, tag: ANSWER_TAG };
            let (Some(peer), Some(engine)) = (self.facts.group.peer(status.source), process.engine_mut())
            else {
                return;
            };
            let sent = engine.send(Mode::Standard, peer, envelope, &answer, 0);
            process.detach_started(sent);
        }
    }

    /// Nobody asks any more.
    fn stop(&mut self, process: &mut Process) {
        if let Some(asked) = self.asked.take() {
            process.cancel_started(asked);
            if process.take_started(asked).is_none() {
                process.detach_started(asked);
            }
        }
    }
}

impl Served<Process> for SharedPointerServer {
    fn serve(&mut self, process: &mut Process) -> bool {
        self.answer(process);
        true
    }

    fn end(&mut self, process: &mut Process, facts: &Arc<FileFacts>) -> bool {
        let is_its = self.is_of(facts);
        if is_its {
            self.stop(process);
        }
        is_its
    }
}
