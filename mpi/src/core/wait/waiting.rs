//! What a call waits for, for a person who asks.

use tern_abi::MPI_Request;
use tern_job::status_page::{ANY_PEER, NO_PEER, NO_ROOT, NO_TAG};

/// Which of its communicator's collectives a call is. Nothing is noted for that in a call: whoever asks knows how many were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallNumber {
    /// It is none, or one that ranks leave before all have come, and that is not counted.
    Unknown,
    /// That with this number.
    Is(u32),
    /// The last one that was counted.
    Last,
    /// One that is not counted, before the next one.
    Next,
}

/// What a call waits for, for a person.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    /// The call.
    pub call: &'static str,
    /// Rank in the communicator, [`ANY_PEER`] or [`NO_PEER`].
    pub peer: i32,
    /// Tag, `ANY_TAG` or [`NO_TAG`] of the status page.
    pub tag: i32,
    /// Context of the communicator, if there is one.
    pub context: Option<u64>,
    /// Bytes of the message or buffer.
    pub bytes: Option<u64>,
    /// The collective that the call is or completes; empty if it is none.
    pub collective: &'static str,
    /// Which of the communicator's.
    pub number: CallNumber,
    /// Its root, as the status page has it.
    pub root: i32,
    /// What is waited for is a message to this rank.
    pub receives: bool,
    /// It may come from outside this world, of which no rank here knows: another one, or a person who starts it.
    pub from_outside: bool,
    /// The requests that are waited for, as far as there are any.
    pub requests: Vec<MPI_Request>,
    /// More.
    pub detail: String,
    /// More, in a line of its own. May be empty.
    pub further: String,
}

impl Waiting {
    /// In a call of which nothing more is known.
    pub(crate) fn on(call: &'static str) -> Self {
        Waiting {
            call,
            peer: NO_PEER,
            tag: NO_TAG,
            context: None,
            bytes: None,
            collective: "",
            number: CallNumber::Unknown,
            root: NO_ROOT,
            receives: false,
            from_outside: false,
            requests: Vec::new(),
            detail: String::new(),
            further: String::new(),
        }
    }

    /// In a collective.
    pub(crate) fn collective(call: &'static str, context: u64) -> Self {
        Waiting { context: Some(context), collective: call, ..Waiting::on(call) }
    }

    /// In a call that sends to or receives from a peer; wildcards as in the standard.
    pub(crate) fn message(call: &'static str, context: u64, peer: i32, tag: i32, bytes: u64) -> Self {
        let peer = if peer == tern_abi::MPI_ANY_SOURCE { ANY_PEER } else { peer };
        Waiting { peer, tag, context: Some(context), bytes: Some(bytes), ..Waiting::on(call) }
    }

    /// For a message to this rank.
    pub(crate) fn receiving(self) -> Self {
        Waiting { receives: true, ..self }
    }

    /// For what another world does, or says.
    pub(crate) fn outside(call: &'static str, detail: &str) -> Self {
        Waiting { detail: detail.into(), from_outside: true, ..Waiting::on(call) }
    }

    /// For this request.
    pub(crate) fn of(self, request: MPI_Request) -> Self {
        Waiting { requests: vec![request], ..self }
    }
}
