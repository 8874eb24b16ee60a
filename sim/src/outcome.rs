//! What a run has found.

use crate::hang::Hang;
use crate::{Picos, nanos};

/// What a run has found.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutcome {
    /// When the last rank was through.
    pub time: Picos,
    /// What has happened in virtual time: beginnings of ranks, messages sent, messages that arrived, ends of transfers.
    pub events: u64,
    /// Active messages, those of the protocols included.
    pub messages: u64,
    /// Bytes that were sent or got.
    pub bytes: u64,
    /// The most bytes that one rank has sent.
    pub rank_bytes_max: u64,
    /// The ranks.
    pub ranks: u32,
    /// The most memory that a rank has held for messages before their receive.
    pub unexpected_bytes_max: u64,
    /// Who waits for whom, if not all ranks are through.
    pub hang: Option<Hang>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunProgress {
    /// Virtual time.
    pub time: Picos,
    /// Events.
    pub events: u64,
    /// Messages that were sent.
    pub messages: u64,
    /// Ranks that are through.
    pub finished: u32,
}

impl RunOutcome {
    /// Bytes that a rank has sent, on average.
    pub fn rank_bytes_mean(&self) -> f64 {
        self.bytes as f64 / f64::from(self.ranks)
    }

    /// The time in nanoseconds.
    pub fn time_ns(&self) -> f64 {
        nanos(self.time)
    }
}
