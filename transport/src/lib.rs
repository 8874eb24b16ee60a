//! The channel between ranks: one trait, [`Transport`], and what all that implement it have in common. Each of them is a crate in a
//! folder beside this one's sources:
//!
//! | crate | reaches |
//! |---|---|
//! | `tern-shm` | ranks of one node, by shared memory |
//! | `tern-tcp` | ranks of other nodes |
//! | `tern-datagram` | the same by datagrams and multicast, with the protocol of `tern-urtp` |
//! | `tern-ofi` | the same by libfabric, with the calls of `tern-libfabric` |
//! | `tern-fabric` | all: it has a table of routes, and the way of a rank to itself |
//!
//! It is the channel of the MP_Lite thesis (chapter 5: five operations that carry a full MPI), grown by what
//! the other papers need: active messages whose header handler names the landing place (MPI-LAPI, section 4),
//! remote get and put (MPI for the T3D, section 3.2), a bounded queue that says when it is full
//! (MPI-BIP, section 3), and a copy in which both sides take part.
//!
//! A transport moves bytes. It knows nothing of communicators or matching: that is the [`Sink`]'s work.

#![warn(missing_docs)]

pub mod am;
pub mod config;
pub mod conformance;
pub mod copies;
pub mod directory;
pub mod doorbell;
pub mod fence;
pub mod fingerprint;
pub mod limits;
mod own_event;
pub mod reach;
pub mod signals;
pub mod socket_bell;
pub mod sockopt;
pub mod threads;
pub mod ticks;
mod void;

pub use am::{AM_INLINE_BYTES_MAX, Am, Header, ShortPayload};
pub use config::{Medium, TransportConfig, TransportSetting};
pub use doorbell::{Doorbell, Silent};
pub use fingerprint::SettingsFingerprint;
use std::sync::Arc;
use tern_mem::{BadMemory, ContiguousBuf, UserBuf};
pub use void::Void;

/// A process, by its number among the peers of this one: the ranks of this world come first and have their rank as number. Processes of
/// other worlds follow, in whatever order this one has met them, so that a number means something within one process only.
pub type Peer = u32;

/// Why the job cannot go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The peer that cannot be reached any more, or this rank itself if it cannot let others in.
    pub peer: Peer,
    /// Why, in words.
    pub why: String,
}

/// What the engine calls a transfer or a landing by; a transport hands it back untouched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token(pub u64);

/// Memory of another process. Nothing is read from or written to it except through the operating system's
/// checks, so a false address is an error and no crash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remote {
    /// Address in the other process.
    pub addr: u64,
    /// Bytes there.
    pub len: u64,
}

/// Memory of a window as others name it that read and write it at once, without its rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowMemory {
    /// Where it begins, or a byte of it lies.
    pub start: u64,
    /// What allows to use it.
    pub key: u64,
}

/// What a transport can do towards one peer. Asked once when the engine first needs the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Payload bytes that [`Transport::send`] takes in one active message.
    pub eager_bytes_max: usize,
    /// [`Transport::get`] works.
    pub get: bool,
    /// [`Transport::put`] works.
    pub put: bool,
    /// [`Transport::open_cooperative_copy`] works: both sides can copy one message at once.
    pub cooperative_copy: bool,
    /// What [`Transport::send`] takes is there sooner by it than by get.
    pub prefers_send: bool,
}

/// The transport cannot take this message now; the engine keeps it in the peer's FIFO (MPI-BIP, section 3). If this
/// was said while the doorbell was armed, the bell rings when there may be room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// Why a get, a put or a cooperative copy could not be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransferError {
    /// The operating system refused or the address was not mapped: the error number.
    Os(i32),
    /// The peer named something that does not exist.
    BadKey,
    /// This rank's own memory cannot be used.
    OwnMemory {
        /// Where the buffer begins.
        base: usize,
        /// Bytes of the buffer.
        len: usize,
    },
    /// The peer's memory cannot be used.
    PeersMemory,
}

impl TransferError {
    /// Whether an address could not be used, of whichever side.
    pub fn is_bad_address(self) -> bool {
        self == TransferError::Os(libc::EFAULT)
    }
}

impl From<BadMemory> for TransferError {
    fn from(BadMemory { base, len, .. }: BadMemory) -> Self {
        TransferError::OwnMemory { base, len }
    }
}

/// How far a get, a put or a cooperative copy has come when the call returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transfer {
    /// Finished within the call; [`Sink::done`] will not be called.
    Done,
    /// Goes on; [`Sink::done`] is called with the token at the end.
    Pending,
    /// Failed within the call; [`Sink::done`] will not be called.
    Failed(TransferError),
}

/// Ranks among which a transport can multicast, under its own number. While somebody has it, the transport knows these ranks; what is
/// known of those that nobody has any more it may forget, and no call says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MulticastGroup(Arc<u32>);

impl MulticastGroup {
    /// A group of a transport, which keeps it as well.
    pub fn new(number: u32) -> MulticastGroup {
        MulticastGroup(Arc::new(number))
    }

    /// The transport's number for it.
    #[inline]
    pub fn number(&self) -> u32 {
        *self.0
    }

    /// Whether anybody has it but the transport, which alone gives it out.
    pub fn is_wanted(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

/// What became of the memory of a message that was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// It may be reused; [`Sink::done`] will not be called.
    Copied,
    /// It stays as it is until [`Sink::done`] is called with the token.
    Kept,
}

/// Names a cooperative copy that a receiver has opened; travels in the message that invites the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CooperativeCopyKey(pub u64);

/// Where the payload of an active message must land: the header handler's answer (MPI-LAPI, section 4.1).
#[derive(Debug)]
pub enum Landing {
    /// Bytes `offset .. offset + len` of `buf`; the payload beyond `len` is dropped.
    /// [`Sink::landed`] follows when all has landed.
    Place {
        /// The user's buffer or an early-arrival buffer.
        buf: UserBuf,
        /// First packed byte.
        offset: usize,
        /// Bytes wanted.
        len: usize,
        /// Handed back by [`Sink::landed`].
        token: Token,
        /// Bytes of the message of which the payload may be a part: who copies more than a cache holds does it past the cache.
        whole: usize,
    },
    /// The payload is not wanted; nothing follows.
    Nothing,
}

impl Landing {
    /// The place of all that is wanted of a message.
    #[inline]
    pub fn place(buf: UserBuf, offset: usize, len: usize, token: Token) -> Landing {
        Landing::Place { buf, offset, len, token, whole: len }
    }
}

/// The answer to a message that is all at hand.
#[derive(Debug)]
pub enum WholeLanding {
    /// The transport fills this memory before it asks for anything else. For the sink the message has landed.
    Now(ContiguousBuf),
    /// As [`Sink::header`] answers.
    Later(Landing),
}

/// Who receives: the engine. Called only from within [`Transport::poll`].
pub trait Sink {
    /// A whole active message whose payload fits in one cache line slot
    /// ([`AM_INLINE_BYTES_MAX`]); `payload` is a private copy.
    fn short(&mut self, from: Peer, header: &Header, payload: &[u8]);
    /// The header of a longer message with `len` payload bytes: where must they land?
    fn header(&mut self, from: Peer, header: &Header, len: usize) -> Landing;
    /// As [`Sink::header`], of a message all of whose payload the transport has at hand.
    fn whole(&mut self, from: Peer, header: &Header, len: usize) -> WholeLanding {
        WholeLanding::Later(self.header(from, header, len))
    }
    /// The payload is in its place: the completion handler, run inline.
    fn landed(&mut self, from: Peer, token: Token);
    /// As [`Sink::landed`], but what is in the place is not the message: the peer could not read it, or this rank not write it.
    fn spoiled(&mut self, from: Peer, token: Token, error: TransferError);
    /// Whether the rest had better stay where it is for now: asked after each message. What nobody waits for
    /// costs an early-arrival buffer here, and nothing in the sender's queue.
    #[inline]
    fn backpressure(&self) -> bool {
        false
    }
    /// A transfer that was [`Transfer::Pending`] has ended.
    fn done(&mut self, token: Token, result: Result<(), TransferError>);
    /// There is a shorter way to a peer, for [`Transport::approach`]. Said again until it is taken.
    fn nearer(&mut self, _peer: Peer) {}
}

/// A channel to the other ranks. All calls are made by one thread at a time.
pub trait Transport {
    /// What can be done towards `peer`.
    fn limits(&mut self, peer: Peer) -> Limits;

    /// Whether the next long message of `peer`, of `len` bytes, is here sooner in fragments than by get, put or a cooperative
    /// copy.
    fn prefers_fragments(&mut self, _peer: Peer, _len: u64) -> bool {
        false
    }

    /// Sends one active message, in order after all earlier ones to `peer`. On return the payload's memory may
    /// be reused. Never waits.
    fn send(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full>;

    /// As [`Transport::send`], for a payload of at most [`AM_INLINE_BYTES_MAX`] bytes that goes at once, by a line of memory. False where
    /// that cannot be: nothing has happened, and [`Transport::send`] may do it.
    #[inline(always)]
    fn send_short(&mut self, _peer: Peer, _header: &Header, _payload: ContiguousBuf) -> bool {
        false
    }

    /// As [`Transport::send_short`], where it may take a few instructions more to find the peer's route.
    #[inline]
    fn send_short_by_route(&mut self, peer: Peer, header: &Header, payload: ContiguousBuf) -> bool {
        self.send_short(peer, header, payload)
    }

    /// As [`Transport::send_short_by_route`], for a payload of more bytes that goes by lines of memory.
    #[inline]
    fn send_run(&mut self, _peer: Peer, _header: &Header, _payload: ContiguousBuf) -> bool {
        false
    }

    /// The next message of `peer`, if it is here and such a one. It stays until [`Transport::pass_short`]. What has come from others, and
    /// what else there is to do, is left to [`Transport::poll`].
    #[inline(always)]
    fn next_short(&mut self, _peer: Peer) -> Option<(Header, ShortPayload<'_>)> {
        None
    }

    /// Goes past what [`Transport::next_short`] has just shown.
    #[inline(always)]
    fn pass_short(&mut self, _peer: Peer) {}

    /// Shows `take` what [`Transport::next_short`] would, and goes past it if that answers with something. It may take a few instructions more
    /// to find the peer's route.
    #[inline]
    fn take_short_by_route<R>(
        &mut self,
        peer: Peer,
        take: impl FnOnce(Header, ShortPayload<'_>) -> Option<R>,
    ) -> Option<R> {
        let (header, payload) = self.next_short(peer)?;
        let taken = take(header, payload)?;
        self.pass_short(peer);
        Some(taken)
    }

    /// Looks up to so many times whether the next message of `peer` is here, of whatever length, and at nothing else. False also where
    /// messages do not come by lines of memory.
    fn await_next(&mut self, _peer: Peer, _looks: u32) -> bool {
        false
    }

    /// After [`Transport::send`] has said [`Full`]: the message's memory could not be read. The peer is told that it does not
    /// come. Until this is asked for, the peer is sent nothing more.
    fn take_bad_send(&mut self, _peer: Peer) -> Option<TransferError> {
        None
    }

    /// Whether the next short message to a peer is followed by another one, or by a poll, so that it may wait for that: one system call
    /// is enough for both. Without `more`, the next one goes at once.
    #[inline(always)]
    fn expect_more(&mut self, _peer: Peer, _more: bool) {}

    /// Payload bytes that [`Transport::send`] would take now faster than a receiver who was asked first: then the engine does not ask, though
    /// the [`Limits`] of the peer are lower. 0 where it is never so.
    fn eager_bytes_at_hand(&mut self, _peer: Peer) -> usize {
        0
    }

    /// Bytes that [`Transport::send_zero_copy`] takes at once from a contiguous buffer; 0 where it is not to be had.
    fn zero_copy_fragment_bytes_max(&mut self, _peer: Peer) -> usize {
        0
    }

    /// Payload bytes of the longest message that may go at once if its buffer is sent without a copy; 0 where only short ones go
    /// at once.
    fn zero_copy_eager_bytes_max(&mut self, _peer: Peer) -> usize {
        0
    }

    /// As [`Transport::send`], but without a copy: the body, which is contiguous, stays as it is until the peer has it.
    /// Then [`Sink::done`] is called with the token, if there is one; it ends earlier zero-copy sends to the peer as well.
    fn send_zero_copy(&mut self, _peer: Peer, _am: &Am<'_>, _done: Option<Token>) -> Result<(), Full> {
        Err(Full)
    }

    /// Makes ranks known among which multicasts may go, this one among them. All of them call it with the same list, in the
    /// same order, but not at the same time. `None`: they go another way.
    fn multicast_group(&mut self, _members: &[Peer]) -> Option<MulticastGroup> {
        None
    }

    /// Sends one active message to several other members of a group, who receive it as if each had been sent it. It is in order
    /// after earlier multicasts to each of them, but not after what was sent to it alone.
    fn multicast(
        &mut self,
        _group: &MulticastGroup,
        _to: &[Peer],
        _am: &Am<'_>,
        _done: Token,
    ) -> Result<Taken, Full> {
        Err(Full)
    }

    /// As [`Transport::poll`], for a caller who waits for `peer`'s next message: others may be looked at less often.
    #[inline]
    fn poll_first(&mut self, _peer: Peer, sink: &mut impl Sink) -> bool {
        self.poll(sink)
    }

    /// This rank waits for a multicast of a peer: what is lost of it will be asked for (MPI-CCL section 3.1). Whoever goes on
    /// waiting says so with every look, since a part of what came may have been all that was not lost.
    fn expect_multicast(&mut self, _peer: Peer) {}

    /// Reads `from` into bytes `0..from.len` of `into` (protocol RTA: the receiver gets). This and what follows fails where
    /// [`Limits`] do not promise it.
    fn get(&mut self, _peer: Peer, _from: Remote, _into: &UserBuf, _done: Token) -> Transfer {
        Transfer::Failed(TransferError::Os(libc::EOPNOTSUPP))
    }

    /// Writes bytes `0..into.len` of `from` to `into` (protocol RAT: the sender puts).
    fn put(&mut self, _peer: Peer, _from: &UserBuf, _into: Remote, _done: Token) -> Transfer {
        Transfer::Failed(TransferError::Os(libc::EOPNOTSUPP))
    }

    /// Lets peers read and write memory of a window at once, if they can be let: what they have to know. The memory stays until
    /// [`Transport::hide_window`].
    fn expose_window(&mut self, _memory: &UserBuf) -> Option<WindowMemory> {
        None
    }

    /// Nobody uses a window's memory so any more.
    fn hide_window(&mut self, _memory: WindowMemory) {}

    /// Reads a peer's window, from a byte of its memory on, into all of a contiguous buffer. [`Sink::done`] follows with the token.
    /// [`Full`]: not now or not so at all, and a message does the same. It is in no order with messages.
    fn read_window(
        &mut self,
        _: Peer,
        _from: WindowMemory,
        _into: &UserBuf,
        _done: Token,
    ) -> Result<(), Full> {
        Err(Full)
    }

    /// Writes all of a contiguous buffer to a peer's window; the bytes are there when [`Sink::done`] follows.
    fn write_window(
        &mut self,
        _: Peer,
        _from: &UserBuf,
        _to: WindowMemory,
        _done: Token,
    ) -> Result<(), Full> {
        Err(Full)
    }

    /// Receiver: opens a cooperative copy from the peer's `from` into `into` (contiguous, `from.len` bytes). The key goes to the
    /// sender, who may help by [`Transport::join_cooperative_copy`]; no byte is copied yet. `None`: no room for another one
    /// now, use get.
    fn open_cooperative_copy(
        &mut self,
        _peer: Peer,
        _from: Remote,
        _into: &UserBuf,
        _done: Token,
    ) -> Option<CooperativeCopyKey> {
        None
    }

    /// Receiver: claims and copies chunks until none is left.
    fn pull_cooperative_copy(&mut self, _key: CooperativeCopyKey) -> Transfer {
        Transfer::Failed(TransferError::BadKey)
    }

    /// Sender: claims and copies chunks until none is left, if the cooperative copy `key` of `peer` still exists;
    /// if it is over already, that is [`Transfer::Done`].
    fn join_cooperative_copy(
        &mut self,
        _peer: Peer,
        _key: CooperativeCopyKey,
        _from: &UserBuf,
        _into: Remote,
        _done: Token,
    ) -> Transfer {
        Transfer::Failed(TransferError::BadKey)
    }

    /// Takes the shorter way to a peer of which [`Sink::nearer`] told. What the peer gets stays in order. The [`Limits`] are others
    /// then, so the caller has nothing waiting that was measured by the old ones. False: not yet.
    fn approach(&mut self, _peer: Peer) -> bool {
        false
    }

    /// Nothing more goes to or comes from a peer, and its number may be given to another.
    fn forget(&mut self, _peer: Peer) {}

    /// Wakes a peer that may sleep, after something was published to it otherwise than by a message, where that can be done. Whether it is
    /// known to have slept.
    fn ring(&self, _peer: Peer) -> bool {
        false
    }

    /// Takes what has arrived, to the sink. Returns whether anything was there.
    fn poll(&mut self, sink: &mut impl Sink) -> bool;

    /// How to sleep until something arrives for this rank.
    fn doorbell(&self) -> Arc<dyn Doorbell>;
}
