//! What a collective access needs next.

use tern_io::Moved;

/// What is to be done next.
pub(crate) enum AccessStep {
    /// Nothing, until something comes.
    Wait,
    /// This, by somebody who can wait for the file; then [`CollectiveTransfer::worked`](super::CollectiveTransfer::worked).
    Work(Box<dyn FnOnce() -> Moved + Send>),
    /// Nothing: it has ended.
    Ended,
}

/// How data are exchanged through windows.
#[derive(Clone, Copy)]
pub(crate) struct ExchangeWay {
    /// Whether they go to the file.
    pub writes: bool,
    /// Whether each write takes a lock, since other accesses may read and write back what lies around.
    pub locks: bool,
}

impl AccessStep {
    /// The aggregator's step, of a rank whose own data have all been moved if it `has_ended`: it ends when both sides have.
    pub(crate) fn of_both(has_ended: bool, aggregator: Option<AccessStep>) -> Option<AccessStep> {
        aggregator.filter(|step| has_ended || !matches!(step, AccessStep::Ended))
    }
}
