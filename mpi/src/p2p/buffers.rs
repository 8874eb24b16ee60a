//! The buffers of buffered mode: who has attached what, and which parts of it hold messages that have not left.

use crate::core::engine::ProcessEngine;
use std::ffi::c_void;
use std::ops::Range;
use tern_abi::*;
use tern_engine::{RequestId, StartedMessage, Status};
use tern_mem::UserBuf;

/// Whose buffer it is (MPI 5.0 section 3.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BufferOwner {
    /// The process's.
    Process,
    /// A communicator's.
    Comm(MPI_Comm),
    /// A session's.
    Session(MPI_Session),
}

/// All attached buffers.
pub(crate) struct Buffers {
    attached: Vec<Attached>,
    /// Messages that were ever kept in a buffer.
    messages: u64,
}

/// An attached buffer.
pub(crate) struct Attached {
    owner: BufferOwner,
    base: *mut u8,
    /// Bytes; 0 if the library finds the memory.
    pub size: usize,
    /// The messages in it, by address.
    messages: Vec<BufferedMessage>,
    /// How a message ended that could not be sent.
    pub fault: Option<Status>,
}

// SAFETY: the address is the program's memory, given to the library until it is detached, whichever thread calls.
unsafe impl Send for Attached {}

/// A message in a buffer.
struct BufferedMessage {
    place: Range<usize>,
    request: RequestId,
    number: u64,
}

/// A cache line, for wide copies.
const ALIGN: usize = 64;

/// What a message takes beside its packed bytes: Tern keeps its records elsewhere, and uses the room to align the message.
pub(crate) const OVERHEAD: usize = ALIGN;

/// What MPICH 3 lets a program count for each message. Programs of other ABIs count no less, those of the standard's more.
const OVERHEAD_ELSEWHERE: usize = 88;

const _: () = assert!(OVERHEAD <= OVERHEAD_ELSEWHERE && OVERHEAD <= MPI_BSEND_OVERHEAD as usize);

impl Buffers {
    /// None.
    pub(crate) const fn new() -> Self {
        Buffers { attached: Vec::new(), messages: 0 }
    }

    /// Whether a buffer is attached there.
    pub(crate) fn has(&self, owner: BufferOwner) -> bool {
        self.attached.iter().any(|attached| attached.owner == owner)
    }

    /// The buffer that is attached there.
    pub(crate) fn get(&mut self, owner: BufferOwner) -> Option<&mut Attached> {
        self.attached.iter_mut().find(|attached| attached.owner == owner)
    }

    /// Who has a buffer.
    pub(crate) fn owners(&self) -> Vec<BufferOwner> {
        self.attached.iter().map(|attached| attached.owner).collect()
    }

    /// Takes a buffer in.
    pub(crate) fn attach(&mut self, attached: Attached) {
        self.attached.push(attached);
    }

    /// Gives a buffer back: address and bytes.
    pub(crate) fn detach(&mut self, owner: BufferOwner) -> Option<(*mut c_void, usize)> {
        let index = self.attached.iter().position(|attached| attached.owner == owner)?;
        let attached = self.attached.swap_remove(index);
        Some((attached.base.cast(), attached.size))
    }

    /// The number of the next message.
    pub(crate) fn next_number(&self) -> u64 {
        self.messages
    }

    /// A message was sent from `place` and stays there until it has left.
    pub(crate) fn note(&mut self, owner: BufferOwner, place: Range<usize>, started: StartedMessage) {
        let number = self.messages;
        let Some(attached) = self.get(owner) else { return };
        match started {
            StartedMessage::Pending(request) => attached.keep(BufferedMessage { place, request, number }),
            StartedMessage::Done(status) => attached.ended(&status),
        }
        self.messages += 1;
    }
}

impl Attached {
    /// An empty buffer of `size` bytes.
    pub(crate) fn new(owner: BufferOwner, base: *mut u8, size: usize) -> Self {
        Attached { owner, base, size, messages: Vec::new(), fault: None }
    }

    /// Room for a message of `len` bytes: the first gap that is large enough.
    pub(crate) fn place(&self, len: usize) -> Option<Range<usize>> {
        let need = len.checked_add(OVERHEAD)?;
        if self.is_automatic() {
            return Some(0..0);
        }
        self.gaps().find(|gap| gap.len() >= need).map(|gap| gap.start..gap.start + need)
    }

    /// Bytes of the largest gap.
    pub(crate) fn largest_gap(&self) -> usize {
        self.gaps().map(|gap| gap.len()).max().unwrap_or(0)
    }

    /// Copies a message to its place.
    pub(crate) fn copy_to(&self, place: &Range<usize>, message: &UserBuf) -> UserBuf {
        let len = message.len();
        let copy = if self.is_automatic() {
            UserBuf::owned(len)
        } else {
            let start = self.base.wrapping_add(place.start);
            let start = start.wrapping_add(start.addr().wrapping_neg() % ALIGN);
            // SAFETY: the program has given this memory to the library until it is detached, which waits for the
            // message. The place has room for the message and its alignment, and no other message is there.
            unsafe { UserBuf::contiguous(start, len) }
        };
        UserBuf::copy(message, 0, &copy, 0, len);
        copy
    }

    /// Frees the places of messages that have left.
    pub(crate) fn reap(&mut self, engine: &mut ProcessEngine) {
        let mut fault = None;
        self.messages.retain(|message| match engine.test(message.request) {
            Some(status) => {
                fault = fault.or(status.fault.map(|_| status));
                false
            }
            None => true,
        });
        self.fault = self.fault.or(fault);
    }

    /// Whether all messages have left.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Whether all messages with lower numbers than this have left.
    pub(crate) fn is_empty_before(&self, number: u64) -> bool {
        self.messages.iter().all(|message| message.number >= number)
    }

    fn is_automatic(&self) -> bool {
        self.base.addr() == MPI_BUFFER_AUTOMATIC
    }

    fn keep(&mut self, message: BufferedMessage) {
        let at = self.messages.partition_point(|other| other.place.start < message.place.start);
        self.messages.insert(at, message);
    }

    fn ended(&mut self, status: &Status) {
        self.fault = self.fault.or(status.fault.map(|_| *status));
    }

    /// What is free, by address.
    fn gaps(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(0).chain(self.messages.iter().map(|message| message.place.end));
        let ends = self.messages.iter().map(|message| message.place.start).chain(std::iter::once(self.size));
        starts.zip(ends).map(|(start, end)| start..end)
    }
}
