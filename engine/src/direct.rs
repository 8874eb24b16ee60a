//! The shortest way of a blocking receive: no request is made where its message is the next one to arrive anyway, as in a
//! program that receives one message after the other from a sender who is ahead.

use crate::arrival::{can_match, envelope};
use crate::engine::{Core, Engine};
use crate::matching::Pattern;
use crate::request::Status;
use crate::wire::Kind;
use tern_mem::UserBuf;
use tern_transport::{Header, Landing, Peer, Sink, Token, TransferError, Transport};

impl<T: Transport> Engine<T> {
    /// Polls once, and receives what arrives first if it is what a receive of `pattern` into `buf` would get. `None`: this
    /// receive must go the usual way, and nothing is lost. Types are not checked.
    #[inline(always)]
    pub fn receive_at_once(&mut self, pattern: Pattern, buf: &UserBuf) -> Option<Status> {
        if !self.core.posted.is_empty() || !self.core.unexpected.is_empty() {
            return None;
        }
        let mut direct = Direct { core: &mut self.core, pattern, buf, got: None, over: false };
        self.transport.poll(&mut direct);
        let got = direct.got;
        if !self.core.has_nothing_to_do() {
            self.advance();
        }
        got
    }
}

/// What takes the messages of that poll: the one receive, and the engine for all that is not for it.
struct Direct<'a> {
    core: &'a mut Core,
    pattern: Pattern,
    buf: &'a UserBuf,
    got: Option<Status>,
    /// A message went to the engine. One that follows must not overtake it, so the receive goes there too.
    over: bool,
}

impl Sink for Direct<'_> {
    #[inline(always)]
    fn short(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        let is_plain = header.kind == Kind::Eager as u8 && header.flags == 0 && can_match(header);
        let envelope = envelope(header);
        if is_plain && !self.enough() && self.pattern.fits(&envelope) && self.buf.write_to_flat(payload) {
            if header.credits != 0 {
                self.core.earn(from, header.credits);
            }
            self.core.owe(from, payload.len());
            self.got = Some(Status::of(&envelope, payload.len() as u64));
            return;
        }
        let header = *header;
        self.short_for_engine(from, &header, payload);
    }

    fn header(&mut self, from: Peer, header: &Header, len: usize) -> Landing {
        self.over = true;
        self.core.header(from, header, len)
    }

    fn landed(&mut self, from: Peer, token: Token) {
        self.core.landed(from, token);
    }

    #[inline(always)]
    fn enough(&self) -> bool {
        self.over || self.got.is_some()
    }

    fn done(&mut self, token: Token, result: Result<(), TransferError>) {
        self.core.done(token, result);
    }
}

impl Direct<'_> {
    #[cold]
    #[inline(never)]
    fn short_for_engine(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        self.over = true;
        self.core.short(from, header, payload);
    }
}
