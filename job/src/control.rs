//! Notices from a rank to its launcher, written to the control pipe.
//!
//! A notice has a fixed size below `PIPE_BUF`, so that one `write` is atomic and the reader needs no
//! framing: what several ranks write at once arrives whole, one after the other.

use std::borrow::Cow;
use std::os::fd::AsFd;

use crate::limits::{ASKED_AT_ONCE_MAX, ENDPOINT_ADDRESS_BYTES_MAX, NOTICE_BYTES};

const MAGIC: u32 = u32::from_le_bytes(*b"Tern");
const HEADER_BYTES: usize = 16;
const BODY_BYTES_MAX: usize = NOTICE_BYTES - HEADER_BYTES;

const ABORT: u16 = 1;
const PUBLISH: u16 = 2;
const ASK: u16 = 3;
const TELL: u16 = 4;
const NUMBERS: u16 = 5;
const FINALIZED: u16 = 6;

/// What a rank tells its launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice<'a> {
    /// It called `MPI_Abort`, or an error was fatal.
    Abort(AbortNotice<'a>),
    /// Its endpoint address: how other ranks reach it.
    Publish {
        /// Whose endpoint address it is.
        rank: u32,
        /// What stands on it.
        endpoint_address: Cow<'a, [u8]>,
    },
    /// It wants the endpoint addresses of others.
    Ask {
        /// Who asks.
        rank: u32,
        /// Whose endpoint addresses it wants.
        wanted: Vec<u32>,
    },
    /// It has found something out that a person may want to know.
    Tell {
        /// Who says so.
        rank: u32,
        /// What it is.
        text: Cow<'a, str>,
    },
    /// What it has done, in numbers: a name and a number in a line.
    Numbers {
        /// Who says so.
        rank: u32,
        /// The lines.
        text: Cow<'a, str>,
    },
    /// It uses MPI no more, and cannot say so on the status page.
    Finalized {
        /// Which one.
        rank: u32,
    },
}

/// A rank called `MPI_Abort`, or ended the job for an error that its error handler made fatal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbortNotice<'a> {
    /// Who aborts.
    pub rank: u32,
    /// The error code that it gave.
    pub code: i32,
    /// Why, for a person. May be empty.
    pub message: Cow<'a, str>,
}

impl Notice<'_> {
    /// The bytes that go through the pipe. What does not fit loses its end.
    pub fn encode(&self) -> [u8; NOTICE_BYTES] {
        match self {
            Notice::Abort(abort) => {
                encode(ABORT, abort.rank, abort.code as u32, clip(&abort.message, BODY_BYTES_MAX).as_bytes())
            }
            Notice::Tell { rank, text } => encode(TELL, *rank, 0, clip(text, BODY_BYTES_MAX).as_bytes()),
            Notice::Numbers { rank, text } => {
                encode(NUMBERS, *rank, 0, clip(text, BODY_BYTES_MAX).as_bytes())
            }
            Notice::Finalized { rank } => encode(FINALIZED, *rank, 0, &[]),
            Notice::Publish { rank, endpoint_address } => {
                encode(PUBLISH, *rank, 0, clip_bytes(endpoint_address))
            }
            Notice::Ask { rank, wanted } => {
                let wanted = &wanted[..wanted.len().min(ASKED_AT_ONCE_MAX)];
                let body: Vec<u8> = wanted.iter().flat_map(|wanted| wanted.to_le_bytes()).collect();
                encode(ASK, *rank, 0, &body)
            }
        }
    }

    /// Reads a notice; `None` if these bytes are not one.
    pub fn decode(bytes: &[u8; NOTICE_BYTES]) -> Option<Notice<'_>> {
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        if word(bytes, 0)? != MAGIC {
            return None;
        }
        let body = bytes.get(HEADER_BYTES..HEADER_BYTES + usize::from(half(4)))?;
        let (kind, rank, code) = (half(6), word(bytes, 8)?, word(bytes, 12)? as i32);
        match kind {
            ABORT => Some(Notice::Abort(AbortNotice { rank, code, message: String::from_utf8_lossy(body) })),
            TELL => Some(Notice::Tell { rank, text: String::from_utf8_lossy(body) }),
            NUMBERS => Some(Notice::Numbers { rank, text: String::from_utf8_lossy(body) }),
            FINALIZED if body.is_empty() => Some(Notice::Finalized { rank }),
            PUBLISH if body.len() <= ENDPOINT_ADDRESS_BYTES_MAX => {
                Some(Notice::Publish { rank, endpoint_address: body.into() })
            }
            ASK if body.len() % 4 == 0 => {
                let wanted = (0..body.len()).step_by(4).filter_map(|at| word(body, at)).collect();
                Some(Notice::Ask { rank, wanted })
            }
            _ => None,
        }
    }

    /// Writes the notice. A pipe that nobody empties is no reason to hang: the descriptor does not block.
    pub fn send(&self, pipe: impl AsFd) -> rustix::io::Result<()> {
        rustix::io::write(pipe, &self.encode()).map(|_| ())
    }

    /// The same, without a borrow.
    pub fn into_owned(self) -> Notice<'static> {
        match self {
            Notice::Abort(AbortNotice { rank, code, message }) => {
                Notice::Abort(AbortNotice { rank, code, message: message.into_owned().into() })
            }
            Notice::Publish { rank, endpoint_address } => {
                Notice::Publish { rank, endpoint_address: endpoint_address.into_owned().into() }
            }
            Notice::Ask { rank, wanted } => Notice::Ask { rank, wanted },
            Notice::Finalized { rank } => Notice::Finalized { rank },
            Notice::Tell { rank, text } => Notice::Tell { rank, text: text.into_owned().into() },
            Notice::Numbers { rank, text } => Notice::Numbers { rank, text: text.into_owned().into() },
        }
    }
}

fn encode(kind: u16, rank: u32, code: u32, body: &[u8]) -> [u8; NOTICE_BYTES] {
    let mut bytes = [0; NOTICE_BYTES];
    bytes[0..4].copy_from_slice(&MAGIC.to_le_bytes());
    bytes[4..6].copy_from_slice(&(body.len() as u16).to_le_bytes());
    bytes[6..8].copy_from_slice(&kind.to_le_bytes());
    bytes[8..12].copy_from_slice(&rank.to_le_bytes());
    bytes[12..16].copy_from_slice(&code.to_le_bytes());
    bytes[HEADER_BYTES..HEADER_BYTES + body.len()].copy_from_slice(body);
    bytes
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn clip_bytes(endpoint_address: &[u8]) -> &[u8] {
    &endpoint_address[..endpoint_address.len().min(ENDPOINT_ADDRESS_BYTES_MAX)]
}

/// The first `bytes_max` bytes of `text`, less what would cut a character in two.
pub(crate) fn clip(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn abort(message: &str) -> Notice<'static> {
        Notice::Abort(AbortNotice { rank: 7, code: -3, message: message.to_owned().into() })
    }

    #[test]
    fn what_is_written_is_read_back() {
        let notices = [
            abort("no input file"),
            Notice::Publish { rank: 1, endpoint_address: vec![7; ENDPOINT_ADDRESS_BYTES_MAX].into() },
            Notice::Publish { rank: 1, endpoint_address: vec![].into() },
            Notice::Ask { rank: 2, wanted: (0..ASKED_AT_ONCE_MAX as u32).collect() },
            Notice::Tell { rank: 3, text: "all is well".into() },
            Notice::Numbers { rank: 3, text: "a 1\nb 2".into() },
            Notice::Finalized { rank: 4 },
        ];
        for notice in notices {
            assert_eq!(Notice::decode(&notice.encode()), Some(notice));
        }
    }

    #[test]
    fn a_long_message_loses_its_end_between_characters() {
        let bytes = abort(&"é".repeat(2000)).encode();
        assert_eq!(Notice::decode(&bytes), Some(abort(&"é".repeat(BODY_BYTES_MAX / 2))));
    }

    const KINDS: [u16; 6] = [ABORT, PUBLISH, ASK, TELL, NUMBERS, FINALIZED];

    /// Mostly some that a notice can have.
    fn lengths() -> impl Strategy<Value = u16> {
        prop_oneof![4 => 0..BODY_BYTES_MAX as u16 + 2, 1 => any::<u16>()]
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_notice_or_none(start in vec(any::<u8>(), 16), kind in 0..8_u16, length in lengths()) {
            let mut bytes = [0xa5; NOTICE_BYTES];
            bytes[..16].copy_from_slice(&start);
            bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
            bytes[4..6].copy_from_slice(&length.to_le_bytes());
            bytes[6..8].copy_from_slice(&kind.to_le_bytes());
            if let Some(notice) = Notice::decode(&bytes) {
                prop_assert!(KINDS.contains(&kind) && usize::from(length) <= BODY_BYTES_MAX);
                let again = notice.encode();
                // What is no text becomes longer as text, and may lose its end.
                let same = Notice::decode(&again) == Some(notice.clone());
                let is_text = matches!(notice, Notice::Abort(_) | Notice::Tell { .. } | Notice::Numbers { .. });
                prop_assert!(same || is_text);
            }
        }
    }

    #[test]
    fn garbage_is_no_notice() {
        assert_eq!(Notice::decode(&[0xff; NOTICE_BYTES]), None);
        let good = abort("x").encode();
        for (at, value) in [(4, 0xffff_u16), (6, 0), (6, 9)] {
            let mut bytes = good;
            bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
            assert_eq!(Notice::decode(&bytes), None, "{value} at {at}");
        }
        let mut long_address = good;
        long_address[4..8].copy_from_slice(&[0xff, 3, PUBLISH as u8, 0]);
        assert_eq!(Notice::decode(&long_address), None);
        let mut odd = good;
        odd[4..8].copy_from_slice(&[3, 0, ASK as u8, 0]);
        assert_eq!(Notice::decode(&odd), None);
    }
}
