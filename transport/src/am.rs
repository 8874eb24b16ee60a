//! The active message: a fixed small header and a payload.

use std::marker::PhantomData;

use tern_mem::{ContiguousBuf, UserBuf};

/// Payload bytes that travel in the same cache line as the header over shared memory.
/// 64 bytes less 8 of flags and lengths, 8 of context, 8 of source and tag.
pub const AM_INLINE_BYTES_MAX: usize = 40;

/// What every active message begins with. The meaning of `kind` and `flags` is the engine's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// Which handler runs at the receiver.
    pub kind: u8,
    /// The handler's own bits.
    pub flags: u8,
    /// Credits given back to the receiver of this message (MPI-BIP, section 3: piggy-backed), in the engine's units.
    pub credits: u16,
    /// Communicator context.
    pub context: u64,
    /// Rank of the sender in the communicator's group.
    pub source: u32,
    /// Message tag.
    pub tag: i32,
}

/// An active message on its way out: the payload is `extended` (few bytes of the protocol's own, at most
/// [`AM_INLINE_BYTES_MAX`]) followed by `len` packed bytes of `body` from `offset`.
#[derive(Clone, Copy, Debug)]
pub struct Am<'a> {
    /// The header.
    pub header: Header,
    /// The protocol's own bytes, first in the payload.
    pub extended: &'a [u8],
    /// The user's data.
    pub body: &'a UserBuf,
    /// First packed byte of `body` to send.
    pub offset: usize,
    /// Packed bytes of `body` to send.
    pub len: usize,
}

/// The payload of a short message where it lies in the transport: at most [`AM_INLINE_BYTES_MAX`] bytes.
#[derive(Clone, Copy, Debug)]
pub struct ShortPayload<'a> {
    at: *const u8,
    len: usize,
    memory: PhantomData<&'a [u8]>,
}

impl<'a> From<&'a [u8]> for ShortPayload<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        ShortPayload { at: bytes.as_ptr(), len: bytes.len(), memory: PhantomData }
    }
}

impl ShortPayload<'_> {
    /// # Safety
    /// `len` bytes must be readable at `at` as long as the result lives. Another process may change them: no reference to them is made.
    #[inline(always)]
    pub unsafe fn new(at: *const u8, len: usize) -> Self {
        ShortPayload { at, len, memory: PhantomData }
    }

    /// Bytes.
    #[inline(always)]
    pub fn len(self) -> usize {
        self.len
    }

    /// True if there are no bytes.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Copies it to the beginning of a buffer. False, and nothing has happened, if that is too short.
    #[inline(always)]
    pub fn write_to(self, buf: ContiguousBuf) -> bool {
        // SAFETY: `new` was promised so many bytes.
        unsafe { buf.write_from(self.at, self.len) }
    }
}

impl Am<'_> {
    /// Bytes of the payload.
    #[inline]
    pub fn payload_len(&self) -> usize {
        self.extended.len() + self.len
    }

    /// Packs the payload bytes from `from` on to `to`, as many as it holds.
    pub fn read_payload(&self, from: usize, to: &mut [u8]) {
        debug_assert!(from + to.len() <= self.payload_len());
        // SAFETY: the slice is writable.
        unsafe { self.write_payload(to.as_mut_ptr(), from, to.len()) }
    }

    /// Packs payload bytes `[from, from + n)` to `to`.
    ///
    /// # Safety
    /// `n` bytes must be writable at `to`.
    #[inline(always)]
    pub unsafe fn write_payload(&self, to: *mut u8, from: usize, n: usize) {
        // SAFETY: the caller's promise, passed on.
        unsafe {
            if self.extended.is_empty() {
                self.body.read_to(self.offset + from, to, n);
            } else {
                // A copy, so that a message without an extended header stays in registers.
                let am = *self;
                am.write_both(to, from, n);
            }
        }
    }

    /// Where the payload lies, if it is one run of memory.
    #[inline]
    pub fn run(&self) -> Option<*const u8> {
        if self.extended.is_empty() {
            self.body.contiguous_at(self.offset, self.len).map(|run| run.cast_const())
        } else {
            None
        }
    }

    /// The extended header's part and then the body's.
    ///
    /// # Safety
    /// As [`Am::write_payload`].
    unsafe fn write_both(&self, to: *mut u8, from: usize, n: usize) {
        let extended = self.extended.get(from..).unwrap_or_default();
        let extended = &extended[..extended.len().min(n)];
        let rest = n - extended.len();
        // SAFETY: the two parts are `n` bytes together.
        unsafe {
            to.copy_from_nonoverlapping(extended.as_ptr(), extended.len());
            if rest > 0 {
                let skipped = (from + extended.len()) - self.extended.len();
                self.body.read_to(self.offset + skipped, to.add(extended.len()), rest);
            }
        }
    }
}
