//! The link of a rank to its launcher: it publishes how others reach this rank, and finds out how this rank
//! reaches them, one at a time and only those that it talks to.
//!
//! A rank writes notices to the control pipe ([`control`](crate::control)) and reads answers from a pipe of its
//! own; under another launcher both are its store of values. An answer is the number of a rank, the length of its endpoint
//! address (both little-endian) and the endpoint address.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::control::Notice;
use crate::limits::{ANSWER_BYTES_MAX, ASKED_AT_ONCE_MAX, ENDPOINT_ADDRESS_BYTES_MAX, PUBLISH_SECONDS};
use crate::reserved_fd::ReservedFd;

/// Whoever knows where the others are.
pub(crate) trait RankDirectory: Send {
    /// See [`DirectoryLink::publish`].
    fn publish(&mut self, endpoint_address: &[u8]) -> io::Result<()>;

    /// See [`DirectoryLink::ask`].
    fn ask(&mut self, rank: u32);

    /// See [`DirectoryLink::answer`].
    fn answer(&mut self) -> Option<(u32, Vec<u8>)>;

    /// See [`DirectoryLink::fd`].
    fn fd(&self) -> RawFd;

    /// See [`DirectoryLink::has_unsent`].
    fn has_unsent(&self) -> bool {
        false
    }
}

/// A rank's connection to whoever knows where the others are: Tern's `mpirun`, its agent on this host, or another launcher.
pub struct DirectoryLink(Box<dyn RankDirectory>);

impl std::fmt::Debug for DirectoryLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DirectoryLink").finish_non_exhaustive()
    }
}

impl DirectoryLink {
    pub(crate) fn new(rank: u32, control: Arc<ReservedFd>, answers: OwnedFd) -> DirectoryLink {
        DirectoryLink(Box::new(Pipes { rank, control, answers, unsent: VecDeque::new(), buffer: Vec::new() }))
    }

    pub(crate) fn over(directory: Box<dyn RankDirectory>) -> DirectoryLink {
        DirectoryLink(directory)
    }

    /// Makes this rank's endpoint address known to whoever asks for it: at most 512 bytes, which nobody but the other ranks'
    /// transports looks at. Waits only while the launcher is busy; under another launcher than Tern's it waits for all other
    /// ranks to publish theirs.
    pub fn publish(&mut self, endpoint_address: &[u8]) -> io::Result<()> {
        if endpoint_address.len() > ENDPOINT_ADDRESS_BYTES_MAX {
            let text = format!(
                "an endpoint address of {} bytes is longer than {ENDPOINT_ADDRESS_BYTES_MAX}",
                endpoint_address.len()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        self.0.publish(endpoint_address)
    }

    /// Asks for the endpoint address of `rank`. Never waits; the answer comes out of [`answer`](DirectoryLink::answer)
    /// some time after that rank has published its endpoint address.
    pub fn ask(&mut self, rank: u32) {
        self.0.ask(rank);
    }

    /// The next answer that has come: a rank and its endpoint address. Never waits.
    pub fn answer(&mut self) -> Option<(u32, Vec<u8>)> {
        self.0.answer()
    }

    /// Readable when an answer has come.
    pub fn fd(&self) -> RawFd {
        self.0.fd()
    }

    /// Whether questions wait for room in the pipe: [`answer`](DirectoryLink::answer) sends them, so it must be called
    /// again.
    pub fn has_unsent(&self) -> bool {
        self.0.has_unsent()
    }
}

/// The control pipe and the rank's own pipe for answers.
#[derive(Debug)]
struct Pipes {
    rank: u32,
    control: Arc<ReservedFd>,
    answers: OwnedFd,
    /// Questions that the control pipe had no room for.
    unsent: VecDeque<u32>,
    /// What has come of an answer.
    buffer: Vec<u8>,
}

impl RankDirectory for Pipes {
    fn publish(&mut self, endpoint_address: &[u8]) -> io::Result<()> {
        let notice = Notice::Publish { rank: self.rank, endpoint_address: endpoint_address.into() };
        loop {
            match self.control.with(|control| notice.send(control)) {
                Ok(()) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait_for_room()?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn ask(&mut self, rank: u32) {
        self.unsent.push_back(rank);
        self.send_questions();
    }

    fn answer(&mut self) -> Option<(u32, Vec<u8>)> {
        self.send_questions();
        loop {
            if let Some(answer) = take_answer(&mut self.buffer) {
                return Some(answer);
            }
            let mut bytes = [0; ANSWER_BYTES_MAX];
            match rustix::io::read(&self.answers, &mut bytes) {
                Ok(0) | Err(Errno::AGAIN) => return None,
                Ok(count) => self.buffer.extend_from_slice(&bytes[..count]),
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }

    fn fd(&self) -> RawFd {
        self.answers.as_raw_fd()
    }

    fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }
}

impl Pipes {
    fn send_questions(&mut self) {
        while !self.unsent.is_empty() {
            let wanted: Vec<u32> = self.unsent.iter().take(ASKED_AT_ONCE_MAX).copied().collect();
            let count = wanted.len();
            let notice = Notice::Ask { rank: self.rank, wanted };
            match self.control.with(|control| notice.send(control)) {
                Ok(()) => drop(self.unsent.drain(..count)),
                Err(Errno::INTR) => {}
                // No room, or no launcher: in either case this rank cannot do more.
                Err(_) => return,
            }
        }
    }

    fn wait_for_room(&self) -> io::Result<()> {
        let limit = Timespec { tv_sec: PUBLISH_SECONDS, tv_nsec: 0 };
        let wait = |control: BorrowedFd<'_>| {
            poll(&mut [PollFd::from_borrowed_fd(control, PollFlags::OUT)], Some(&limit))
        };
        match self.control.with(wait) {
            Ok(0) => Err(io::Error::new(io::ErrorKind::TimedOut, "mpirun does not read the control pipe")),
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(io::Error::other(format!("poll: {error}"))),
        }
    }
}

const ANSWER_HEADER_BYTES: usize = 6;

/// The bytes of an answer. `endpoint_address` has at most [`ENDPOINT_ADDRESS_BYTES_MAX`] bytes.
pub fn encode_answer(rank: u32, endpoint_address: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ANSWER_HEADER_BYTES + endpoint_address.len());
    bytes.extend_from_slice(&rank.to_le_bytes());
    bytes.extend_from_slice(&(endpoint_address.len() as u16).to_le_bytes());
    bytes.extend_from_slice(endpoint_address);
    bytes
}

/// Takes a whole answer from the front of what has come.
pub(crate) fn take_answer(buffer: &mut Vec<u8>) -> Option<(u32, Vec<u8>)> {
    let header: [u8; ANSWER_HEADER_BYTES] = buffer.get(..ANSWER_HEADER_BYTES)?.try_into().ok()?;
    let rank = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
    let end = ANSWER_HEADER_BYTES + usize::from(u16::from_le_bytes([header[4], header[5]]));
    let endpoint_address = buffer.get(ANSWER_HEADER_BYTES..end)?.to_vec();
    buffer.drain(..end);
    Some((rank, endpoint_address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::NOTICE_BYTES;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use rustix::pipe::{PipeFlags, pipe_with};

    /// A link, and the launcher's ends of it.
    fn link() -> (DirectoryLink, OwnedFd, OwnedFd) {
        let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
        let (notices, control) = pipe_with(flags).unwrap();
        let (answers, launcher) = pipe_with(flags).unwrap();
        (DirectoryLink::new(5, Arc::new(control.into()), answers), notices, launcher)
    }

    fn next_notice(notices: &OwnedFd) -> Option<Notice<'static>> {
        let mut bytes = [0; NOTICE_BYTES];
        rustix::io::read(notices, &mut bytes).ok()?;
        Notice::decode(&bytes).map(Notice::into_owned)
    }

    #[test]
    fn an_endpoint_address_goes_out_and_one_comes_in() {
        let (mut link, notices, launcher) = link();
        link.publish(b"here").unwrap();
        assert_eq!(
            next_notice(&notices),
            Some(Notice::Publish { rank: 5, endpoint_address: b"here".as_slice().into() })
        );
        link.ask(3);
        assert_eq!(next_notice(&notices), Some(Notice::Ask { rank: 5, wanted: vec![3] }));
        assert_eq!(link.answer(), None);
        let answers = [encode_answer(3, b"there"), encode_answer(4, b"")].concat();
        for piece in answers.chunks(4) {
            rustix::io::write(&launcher, piece).unwrap();
        }
        assert_eq!(link.answer(), Some((3, b"there".to_vec())));
        assert_eq!(link.answer(), Some((4, Vec::new())));
        assert_eq!(link.answer(), None);
        assert!(link.publish(&[0; ENDPOINT_ADDRESS_BYTES_MAX + 1]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_answers_or_wait_for_more(bytes in vec(any::<u8>(), 0..300)) {
            let (mut buffer, mut taken) = (bytes.clone(), 0);
            while let Some((_, endpoint_address)) = take_answer(&mut buffer) {
                taken += ANSWER_HEADER_BYTES + endpoint_address.len();
            }
            prop_assert_eq!(taken + buffer.len(), bytes.len());
        }
    }

    #[test]
    fn questions_wait_for_room_and_none_is_lost() {
        let (mut link, notices, _launcher) = link();
        (0..1000).for_each(|rank| link.ask(rank));
        assert!(link.has_unsent());
        let mut asked = Vec::new();
        while let Some(notice) = next_notice(&notices) {
            let Notice::Ask { rank: 5, wanted } = notice else { panic!("{notice:?}") };
            asked.extend(wanted);
            assert_eq!(link.answer(), None);
        }
        assert_eq!(asked, (0..1000).collect::<Vec<_>>());
    }
}
