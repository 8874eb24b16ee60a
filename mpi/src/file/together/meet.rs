//! All ranks tell each other a record: Bruck's algorithm, as in `comm::agree`, but by steps and without waiting.

use super::super::facts::FileFacts;
use crate::core::process::Process;
use tern_engine::{Envelope, Mode, Pattern, StartedMessage};
use tern_mem::UserBuf;

/// Tag of these messages on the file's own context.
const MEET_TAG: i32 = 3;

/// An exchange under way.
pub(super) struct FileMeeting {
    known: Vec<u8>,
    record_bytes: usize,
    distance: u32,
    round: Option<MeetingRound>,
}

struct MeetingRound {
    sent: Option<StartedMessage>,
    received: Option<StartedMessage>,
    into: UserBuf,
}

impl FileMeeting {
    /// Begins with this rank's record.
    pub(super) fn new(record: Vec<u8>) -> FileMeeting {
        FileMeeting { record_bytes: record.len(), known: record, distance: 1, round: None }
    }

    /// Everybody's records in the order of ranks, once they are known.
    pub(super) fn step(&mut self, process: &mut Process, facts: &FileFacts) -> Option<Vec<u8>> {
        while self.distance < facts.size() {
            if self.round.is_none() {
                self.round = Some(self.begin(process, facts)?);
            }
            let round = self.round.as_mut()?;
            if !is_over(process, &mut round.received) || !is_over(process, &mut round.sent) {
                return None;
            }
            let mut more = vec![0; round.into.len()];
            round.into.read(0, &mut more);
            self.known.extend_from_slice(&more);
            (self.round, self.distance) = (None, self.distance * 2);
        }
        // It begins with this rank's own.
        self.known.rotate_right(facts.me as usize * self.record_bytes);
        Some(std::mem::take(&mut self.known))
    }

    fn begin(&self, process: &mut Process, facts: &FileFacts) -> Option<MeetingRound> {
        let (size, distance) = (facts.size(), self.distance);
        let bytes = distance.min(size - distance) as usize * self.record_bytes;
        let (to, from) = ((facts.me + size - distance) % size, (facts.me + distance) % size);
        let engine = process.engine_mut()?;
        let into = UserBuf::owned(bytes);
        let pattern = Pattern { context: facts.context, source: from, tag: MEET_TAG };
        let received = engine.receive(pattern, &into, 0);
        let out = UserBuf::owned(bytes);
        out.write(0, &self.known[..bytes]);
        let envelope = Envelope { context: facts.context, source: facts.me, tag: MEET_TAG };
        let sent = engine.send(Mode::Standard, facts.group.peer(to)?, envelope, &out, 0);
        Some(MeetingRound { sent: Some(sent), received: Some(received), into })
    }
}

/// Whether a message has ended; it is asked for once.
pub(super) fn is_over(process: &mut Process, started: &mut Option<StartedMessage>) -> bool {
    if let Some(going) = *started
        && process.take_started(going).is_some()
    {
        *started = None;
    }
    started.is_none()
}
