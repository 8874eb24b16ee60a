//! Requests of the point-to-point layer: what is under way.

use crate::matching::{Envelope, Pattern};
use crate::rma::{AccessFault, RefusedAccess, TargetRefusal};
use crate::slab::Id;
use tern_mem::UserBuf;
use tern_transport::{Peer, Token, TransferError};

/// A request's number.
pub type RequestId = Id;

/// How a communication ended (MPI 5.0 section 3.2.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// Context of the message received; of a send, 0.
    pub context: u64,
    /// Rank of the sender in the communicator; of a send, unspecified.
    pub source: u32,
    /// Tag of the message.
    pub tag: i32,
    /// Bytes received.
    pub bytes: u64,
    /// It was cancelled; nothing was received.
    pub cancelled: bool,
    /// What went wrong.
    pub fault: Option<MessageFault>,
}

impl Status {
    /// Of a send, or of anything that received nothing.
    pub const EMPTY: Status =
        Status { context: 0, source: 0, tag: 0, bytes: 0, cancelled: false, fault: None };

    /// Of a message of `bytes` bytes.
    #[inline]
    pub fn of(envelope: &Envelope, bytes: u64) -> Self {
        let Envelope { context, source, tag } = *envelope;
        Status { context, source, tag, bytes, cancelled: false, fault: None }
    }
}

/// What can go wrong with a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageFault {
    /// The message is longer than the buffer.
    Truncated {
        /// Bytes of the message.
        sent: u64,
        /// Bytes of the buffer.
        room: u64,
    },
    /// A copy between the processes failed.
    Transfer(TransferError),
    /// The other side of a partitioned operation has freed its request.
    PartnerFreed,
    /// An access to another rank's window did not come to pass.
    Refused(RefusedAccess),
    /// Sent in ready mode, but no receive was waiting (MPI-LAPI section 4.2; MPI 5.0 section 3.4).
    NotReady,
    /// `TERN_CHECK=types`: the sender's type signature is not the beginning of the receiver's.
    Signature {
        /// Of the whole message.
        theirs: u64,
        /// Of one element of the receive.
        ours: u64,
    },
}

impl MessageFault {
    /// What an access says of it.
    pub(crate) fn of_access(self) -> AccessFault {
        match self {
            MessageFault::Refused(refused) => AccessFault::Refused(refused),
            MessageFault::Transfer(error) => AccessFault::Buffer(error),
            _ => AccessFault::Refused(RefusedAccess {
                why: TargetRefusal::Malformed,
                at: RefusedAccess::SOMEWHERE,
            }),
        }
    }
}

// A status is copied with every message.
const _: () = assert!(size_of::<MessageFault>() == 24);

/// A request and where it stands.
#[derive(Debug)]
pub(crate) struct EngineRequest {
    pub state: RequestState,
    /// Send: destination. Receive: the sender, once matched.
    pub peer: Peer,
    pub buf: UserBuf,
    /// Type signature when types are checked, else 0.
    pub signature: u64,
    /// Receive: what it asks for. Send: its own envelope, nothing wild.
    pub pattern: Pattern,
    pub status: Status,
    /// Who asks how it ended.
    pub owner: RequestOwner,
}

/// Who asks how a request ended, and what its end brings about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RequestOwner {
    /// The caller who started it.
    Caller,
    /// The same, and its end is counted.
    CallerCounts,
    /// Nobody: it goes when it is done (`MPI_Request_free`).
    Nobody,
    /// A partitioned send, of which it is a part. Its pattern's context is the offset.
    PartitionedSend(Id),
    /// A partitioned receive, of which it is a part.
    PartitionedReceive(Id),
    /// The caller, of an access to another rank's window, which counts those under way. The pattern's context is the window's number.
    Access,
    /// As [`RequestOwner::Access`], but nobody asks: the window hears of a fault.
    AccessOfNobody,
    /// An answer out of this rank's window, as above.
    Exposed,
}

impl RequestOwner {
    /// The same, when its caller will not ask any more.
    pub(crate) fn without_caller(self) -> RequestOwner {
        match self {
            RequestOwner::Caller | RequestOwner::CallerCounts | RequestOwner::Nobody => RequestOwner::Nobody,
            RequestOwner::Access | RequestOwner::AccessOfNobody => RequestOwner::AccessOfNobody,
            part => part,
        }
    }
}

/// Where a request stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RequestState {
    /// Send: in the peer's FIFO.
    Queued(Outgoing),
    /// Send to many: not yet taken by the transport.
    Multicasts,
    /// Send: waits to be matched (TA), with the message already there.
    AwaitsAck,
    /// Send: the request is out; the receiver will say how.
    AwaitsReady,
    /// An access: its message is not all out yet.
    Accesses,
    /// Send: fragments `.. sent` of `until` are out.
    Streams { receiver: Id, sent: u64, until: u64 },
    /// Send: the receiver has its way, and this side helps or waits for a transfer to end.
    Transfers { answer: Option<Id> },
    /// Receive: posted.
    Posted,
    /// Receive: an eager message is landing.
    Lands,
    /// Receive: fragments or a put are on their way. Of `until` bytes, `begun` have been given their place and
    /// `arrived` are there.
    AwaitsData { begun: u64, arrived: u64, until: u64 },
    /// Receive: a get or cooperative copy goes on; the sender wants to hear of the end if `answer`.
    Gets { answer: Option<Id> },
    /// Done.
    Done,
}

/// What a queued send is going to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outgoing {
    Eager {
        flags: u8,
    },
    /// Eager, sent from the user's buffer without a copy.
    ZeroCopy {
        flags: u8,
    },
    EagerSync,
    Offer {
        flags: u8,
    },
}

impl EngineRequest {
    /// Whether it has ended.
    #[inline(always)]
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, RequestState::Done)
    }

    /// Its memory could not be copied from or to the peer's. Where an address was bad, this side looks whether it was its own.
    #[cold]
    pub(crate) fn fail_transfer(&mut self, error: TransferError, sends: bool) {
        let own = |buf: &UserBuf| match sends {
            true => buf.unreadable(0, buf.len()),
            false => buf.unwritable(0, buf.len()),
        };
        let error = match error.is_bad_address() {
            true => own(&self.buf).map_or(TransferError::PeersMemory, TransferError::from),
            false => error,
        };
        self.status.fault = Some(MessageFault::Transfer(error));
    }

    /// Whether it is an access to another rank's window.
    pub(crate) fn is_access(&self) -> bool {
        matches!(self.owner, RequestOwner::Access | RequestOwner::AccessOfNobody)
    }

    /// Whether it is a receive.
    pub(crate) fn is_receive(&self) -> bool {
        matches!(
            self.state,
            RequestState::Posted
                | RequestState::Lands
                | RequestState::AwaitsData { .. }
                | RequestState::Gets { .. }
        )
    }

    /// Makes a new request of a vacant one. Its peer is whoever sends or gets it; a receive learns that at the match.
    #[inline(always)]
    pub(crate) fn begin(&mut self, state: RequestState, pattern: Pattern, buf: UserBuf, signature: u64) {
        self.state = state;
        debug_assert!(self.buf.is_plain(), "vacated");
        // So there is nothing to drop, which the compiler cannot know.
        std::mem::forget(std::mem::replace(&mut self.buf, buf));
        self.signature = signature;
        self.pattern = pattern;
        self.status = Status::EMPTY;
        self.owner = RequestOwner::Caller;
    }

    /// Lets go of what it holds; its place is free from now on.
    #[inline(always)]
    pub(crate) fn vacate(&mut self) {
        if !self.buf.is_plain() {
            self.buf = UserBuf::empty();
        }
    }
}

impl Default for EngineRequest {
    fn default() -> Self {
        EngineRequest {
            state: RequestState::Done,
            peer: 0,
            buf: UserBuf::empty(),
            signature: 0,
            pattern: Pattern { context: 0, source: 0, tag: 0 },
            status: Status::EMPTY,
            owner: RequestOwner::Caller,
        }
    }
}

pub(crate) fn token(id: Id) -> Token {
    Token(u64::from(id.raw()))
}
