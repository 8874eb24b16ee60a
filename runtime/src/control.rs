//! Notices from a rank to its launcher, written to the control pipe.
//!
//! A notice has a fixed size below `PIPE_BUF`, so that one `write` is atomic and the reader needs no
//! framing: what several ranks write at once arrives whole, one after the other.

use std::borrow::Cow;
use std::os::fd::AsFd;

use crate::limits::NOTICE_BYTES;

const MAGIC: u32 = u32::from_le_bytes(*b"Tern");
const HEADER_BYTES: usize = 16;
const TEXT_BYTES_MAX: usize = NOTICE_BYTES - HEADER_BYTES;

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

impl AbortNotice<'_> {
    /// The bytes that go through the pipe; a message that is too long loses its end.
    pub fn encode(&self) -> [u8; NOTICE_BYTES] {
        let text = clip(&self.message, TEXT_BYTES_MAX).as_bytes();
        let mut bytes = [0; NOTICE_BYTES];
        bytes[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4..8].copy_from_slice(&(text.len() as u32).to_le_bytes());
        bytes[8..12].copy_from_slice(&self.rank.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.code.to_le_bytes());
        bytes[HEADER_BYTES..HEADER_BYTES + text.len()].copy_from_slice(text);
        bytes
    }

    /// Reads a notice; `None` if these bytes are not one.
    pub fn decode(bytes: &[u8; NOTICE_BYTES]) -> Option<AbortNotice<'_>> {
        let word = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if u32::from_le_bytes(word(0)) != MAGIC {
            return None;
        }
        let length = u32::from_le_bytes(word(4)) as usize;
        let text = bytes.get(HEADER_BYTES..HEADER_BYTES.checked_add(length)?)?;
        Some(AbortNotice {
            rank: u32::from_le_bytes(word(8)),
            code: i32::from_le_bytes(word(12)),
            message: String::from_utf8_lossy(text),
        })
    }

    /// Writes the notice. A pipe that nobody empties is no reason to hang: the descriptor does not block.
    pub fn send(&self, pipe: impl AsFd) -> rustix::io::Result<()> {
        rustix::io::write(pipe, &self.encode()).map(|_| ())
    }
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

    #[test]
    fn what_is_written_is_read_back() {
        let notice = AbortNotice { rank: 7, code: -3, message: "no input file".into() };
        assert_eq!(AbortNotice::decode(&notice.encode()), Some(notice));
    }

    #[test]
    fn a_long_message_loses_its_end_between_characters() {
        let notice = AbortNotice { rank: 0, code: 1, message: "é".repeat(2000).into() };
        let bytes = notice.encode();
        let read = AbortNotice::decode(&bytes).unwrap();
        assert_eq!(read.message, "é".repeat(TEXT_BYTES_MAX / 2));
    }

    #[test]
    fn garbage_is_no_notice() {
        assert_eq!(AbortNotice::decode(&[0xff; NOTICE_BYTES]), None);
        let mut bytes = AbortNotice { rank: 0, code: 0, message: "".into() }.encode();
        bytes[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(AbortNotice::decode(&bytes), None);
    }
}
