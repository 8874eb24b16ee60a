//! Active messages in packets. The link has proved who sent them, and the protocol has put them in order; what they say may be
//! anything.

#[path = "../driver.rs"]
pub(crate) mod driver;
#[path = "../input.rs"]
#[allow(dead_code, reason = "other rooms need more of it")]
pub(crate) mod input;

use tern_mem::UserBuf;

pub use driver::Target;

use super::frame::{FIRST_BYTES, write_first};
use super::inbox::UrtpInbox;
use input::Input;
use tern_transport::am::AM_INLINE_BYTES_MAX;
use tern_transport::{Header, Landing, Peer, Sink, Token, TransferError};

/// All targets of this room.
pub const TARGETS: &[Target] = &[Target { name: "urtp-messages", run: messages, seeds: conversations }];

/// Receives like the engine: what is too long for it is refused.
#[derive(Default)]
struct Receiver {
    begun: u64,
    landed: u64,
}

const LEN_MAX: usize = 1 << 16;

impl Sink for Receiver {
    fn short(&mut self, _: Peer, _: &Header, payload: &[u8]) {
        assert!(payload.len() <= AM_INLINE_BYTES_MAX);
    }

    fn header(&mut self, _: Peer, header: &Header, len: usize) -> Landing {
        if len > LEN_MAX {
            return Landing::Nothing;
        }
        self.begun += 1;
        // Receives are shorter than their messages at times.
        let wanted = if header.flags & 1 == 1 { len / 2 } else { len };
        Landing::place(UserBuf::owned(wanted), 0, wanted, Token(self.begun))
    }

    fn landed(&mut self, _: Peer, token: Token) {
        assert!(token.0 <= self.begun);
        self.landed += 1;
    }

    fn spoiled(&mut self, _: Peer, _: Token, error: TransferError) {
        panic!("{error:?}");
    }

    fn done(&mut self, _: Token, _: Result<(), TransferError>) {}
}

/// Packets of a few peers, each behind two bytes that say whose it is and how long.
fn messages(bytes: &[u8]) {
    let (mut input, mut inbox, mut receiver) = (Input(bytes), UrtpInbox::default(), Receiver::default());
    while !input.is_empty() {
        let (from, len) = ((input.byte() % 3) as Peer, input.byte());
        inbox.take(from, input.take(len), &mut receiver);
    }
    assert!(receiver.landed <= receiver.begun);
}

/// Two messages in turns, one of which is longer than its receive.
fn conversations() -> Vec<Vec<u8>> {
    let mut first = [0; FIRST_BYTES + 20];
    write_first(&mut first, 1, &Header { flags: 1, ..Header::default() }, 100);
    let packet = |from: u8, body: &[u8]| [&[from, body.len() as u8], body].concat();
    let mut next = [7; 81];
    next[0] = 1;
    vec![[packet(0, &first), packet(1, &first), packet(0, &next), packet(1, &next)].concat()]
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_bytes_are_survived() {
        super::driver::bounded(super::TARGETS);
    }
}
