//! Matching as the standard defines it (MPI 5.0 section 3.5): two lists, searched from their beginnings.

use tern_engine::{Envelope, Pattern};

/// One rank's receives and messages, by the numbers that the job gives them.
#[derive(Default)]
pub(crate) struct Oracle {
    pub posted: Vec<(Pattern, usize)>,
    pub unexpected: Vec<(Envelope, usize)>,
}

impl Oracle {
    /// A receive is called: the message that it gets at once, if any.
    pub(crate) fn receive(&mut self, pattern: Pattern, receive: usize) -> Option<usize> {
        let message = self.take(&pattern);
        if message.is_none() {
            self.posted.push((pattern, receive));
        }
        message
    }

    /// A message arrives: the receive that gets it at once, if any.
    pub(crate) fn arrive(&mut self, envelope: Envelope, message: usize) -> Option<usize> {
        let at = self.posted.iter().position(|(pattern, _)| pattern.fits(&envelope));
        if at.is_none() {
            self.unexpected.push((envelope, message));
        }
        at.map(|at| self.posted.remove(at).1)
    }

    /// The message that a probe finds.
    pub(crate) fn probe(&self, pattern: &Pattern) -> Option<usize> {
        self.unexpected.iter().find(|(envelope, _)| pattern.fits(envelope)).map(|&(_, message)| message)
    }

    /// The message that a matched probe takes.
    pub(crate) fn take(&mut self, pattern: &Pattern) -> Option<usize> {
        let at = self.unexpected.iter().position(|(envelope, _)| pattern.fits(envelope))?;
        Some(self.unexpected.remove(at).1)
    }

    /// A message is called back; whether that was in time.
    pub(crate) fn withdraw(&mut self, message: usize) -> bool {
        let at = self.unexpected.iter().position(|&(_, other)| other == message);
        at.map(|at| self.unexpected.remove(at)).is_some()
    }

    /// A receive is cancelled; whether that was in time.
    pub(crate) fn cancel(&mut self, receive: usize) -> bool {
        let at = self.posted.iter().position(|&(_, other)| other == receive);
        at.map(|at| self.posted.remove(at)).is_some()
    }
}
