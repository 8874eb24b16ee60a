//! The way of a rank to itself: a queue in its own memory.

use std::collections::VecDeque;
use std::sync::Arc;

use tern_mem::UserBuf;

use crate::limits::{CELL_BYTES, HEAD_PAYLOAD_BYTES, LOOPBACK_MESSAGES_MAX};
use tern_shm::bell::Bell;
use tern_transport::{
    Am, Doorbell, Full, Header, Landing, Limits, Peer, Remote, Sink, Token, Transfer, Transport,
};

/// The loop-back transport of one rank.
pub struct Loopback {
    me: Peer,
    queue: VecDeque<LoopbackMessage>,
    /// Blocks of messages that were received, for those to come.
    spare: Vec<Vec<u8>>,
    /// Other threads of this process may sleep while one sends.
    bell: Arc<Bell>,
}

struct LoopbackMessage {
    header: Header,
    payload: Payload,
}

/// A copy of what was sent; most messages need no block.
enum Payload {
    Short([u8; HEAD_PAYLOAD_BYTES], usize),
    Long(Vec<u8>),
}

impl Loopback {
    /// For rank `me`, with a bell of its own.
    pub fn new(me: Peer) -> Self {
        Loopback::with_bell(me, Arc::new(Bell::private()))
    }

    pub(crate) fn with_bell(me: Peer, bell: Arc<Bell>) -> Self {
        Loopback { me, queue: VecDeque::new(), spare: Vec::new(), bell }
    }

    /// Another bell from now on.
    pub(crate) fn use_bell(&mut self, bell: Arc<Bell>) {
        self.bell = bell;
    }

    fn keep(&mut self, am: &Am<'_>) -> Payload {
        let len = am.payload_len();
        if len <= HEAD_PAYLOAD_BYTES {
            let mut bytes = [0; HEAD_PAYLOAD_BYTES];
            // SAFETY: `len` is at most the array's.
            unsafe { am.write_payload(bytes.as_mut_ptr(), 0, len) };
            return Payload::Short(bytes, len);
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.resize(len, 0);
        // SAFETY: just made `len` bytes long.
        unsafe { am.write_payload(bytes.as_mut_ptr(), 0, len) };
        Payload::Long(bytes)
    }

    #[inline(never)]
    fn drain(&mut self, sink: &mut impl Sink) {
        for _ in 0..self.queue.len() {
            if let Some(message) = self.queue.pop_front() {
                self.deliver(message, sink);
            }
        }
    }

    fn deliver(&mut self, message: LoopbackMessage, sink: &mut impl Sink) {
        let from = self.me;
        let bytes = match message.payload {
            Payload::Short(bytes, len) => return sink.short(from, &message.header, &bytes[..len]),
            Payload::Long(bytes) => bytes,
        };
        if let Landing::Place { buf, offset, len, token, .. } =
            sink.header(from, &message.header, bytes.len())
        {
            buf.write(offset, &bytes[..len.min(bytes.len())]);
            sink.landed(from, token);
        }
        self.spare.push(bytes);
    }
}

/// What a remote address means within one process.
///
/// # Safety
/// The address must be of this process and valid for `remote.len` bytes.
unsafe fn own_memory(remote: Remote) -> UserBuf {
    // SAFETY: the caller's promise.
    unsafe {
        UserBuf::contiguous(std::ptr::with_exposed_provenance_mut(remote.addr as usize), remote.len as usize)
    }
}

impl Transport for Loopback {
    fn limits(&mut self, _peer: Peer) -> Limits {
        Limits {
            eager_bytes_max: CELL_BYTES as usize,
            get: true,
            put: true,
            cooperative_copy: false,
            prefers_send: false,
        }
    }

    fn send(&mut self, _peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        if self.queue.len() >= LOOPBACK_MESSAGES_MAX {
            return Err(Full);
        }
        let payload = self.keep(am);
        self.queue.push_back(LoopbackMessage { header: am.header, payload });
        self.bell.sent();
        Ok(())
    }

    fn get(&mut self, _peer: Peer, from: Remote, into: &UserBuf, _done: Token) -> Transfer {
        // SAFETY: the address came from this rank's own engine, in a message that never left the process, and
        // names the buffer of a send that is pending.
        let from_here = unsafe { own_memory(from) };
        UserBuf::copy(&from_here, 0, into, 0, from.len as usize);
        Transfer::Done
    }

    fn put(&mut self, _peer: Peer, from: &UserBuf, into: Remote, _done: Token) -> Transfer {
        // SAFETY: as in `get`, of a receive that is pending.
        let into_here = unsafe { own_memory(into) };
        UserBuf::copy(from, 0, &into_here, 0, into.len as usize);
        Transfer::Done
    }

    #[inline]
    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        if self.queue.is_empty() {
            return false;
        }
        self.drain(sink);
        true
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        self.bell.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_transport::conformance::{ConformanceWorld, conformance_tests};

    struct Alone(Loopback);

    impl ConformanceWorld for Alone {
        type Transport = Loopback;
        fn new() -> Self {
            Alone(Loopback::new(5))
        }
        fn sender(&mut self) -> (&mut Loopback, Peer) {
            (&mut self.0, 5)
        }
        fn receiver(&mut self) -> (&mut Loopback, Peer) {
            (&mut self.0, 5)
        }
    }

    conformance_tests!(Alone);
}
