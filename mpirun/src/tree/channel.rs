//! Messages over a pair of pipes that do not block.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::limits::{GREETING_BYTES_MAX, READ_BYTES};
use crate::poller::{PollToken, Poller};
use crate::tree::messages::{GREETING, decode, encode};

/// The sending side.
#[derive(Debug)]
pub(crate) struct ChannelOutbox {
    fd: Option<OwnedFd>,
    token: PollToken,
    pending: Vec<u8>,
    /// Bytes of `pending` that have been written.
    written: usize,
    /// Whether the poller waits for room.
    waiting: bool,
}

impl ChannelOutbox {
    /// Sends through `fd`, and waits for room as `token`.
    pub(crate) fn new(fd: OwnedFd, token: PollToken) -> Result<ChannelOutbox, Errno> {
        set_nonblocking(&fd)?;
        Ok(ChannelOutbox { fd: Some(fd), token, pending: Vec::new(), written: 0, waiting: false })
    }

    /// Sends bytes that are no message.
    pub(crate) fn push_raw(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// Sends a message with the next [`flush`](ChannelOutbox::flush). Into a closed box it is dropped.
    pub(crate) fn push(&mut self, message: &impl Serialize) {
        if self.fd.is_some() {
            encode(message, &mut self.pending);
        }
    }

    /// There is room again.
    pub(crate) fn on_room(&mut self, poller: &Poller) {
        if let Some(fd) = self.fd.as_ref().filter(|_| self.waiting) {
            poller.remove(fd);
        }
        self.waiting = false;
    }

    /// Writes what can be written. Once nobody reads, the box is closed.
    pub(crate) fn flush(&mut self, poller: &Poller) {
        while let Some(fd) = self.fd.as_ref().filter(|_| !self.waiting && self.written < self.pending.len()) {
            match rustix::io::write(fd, &self.pending[self.written..]) {
                Ok(count) => self.written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.waiting = poller.add_writer(fd, self.token).is_ok();
                    if !self.waiting {
                        self.fd = None;
                    }
                }
                Err(_) => self.fd = None,
            }
        }
        self.pending.drain(..self.written);
        self.written = 0;
    }

    /// Sends no more: the other side reads to the end of what was sent.
    pub(crate) fn close(&mut self, poller: &Poller) {
        self.flush(poller);
        self.on_room(poller);
        self.fd = None;
        self.pending.clear();
    }
}

/// The receiving side.
#[derive(Debug)]
pub(crate) struct ChannelInbox {
    fd: OwnedFd,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that have been taken.
    taken: usize,
    /// Whether the greeting is still to come.
    awaits_greeting: bool,
}

/// Why nothing more will come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// The other side has ended.
    End,
    /// The other side speaks something else.
    Garbled,
}

impl ChannelInbox {
    /// Receives from `fd`; with a `awaits_greeting`, whatever comes before its greeting is skipped.
    pub(crate) fn new(fd: OwnedFd, awaits_greeting: bool) -> Result<ChannelInbox, Errno> {
        set_nonblocking(&fd)?;
        Ok(ChannelInbox { fd, buffer: Vec::new(), taken: 0, awaits_greeting })
    }

    /// Reads what has come, as much as one read gives. The messages are to be taken even if an error is returned.
    pub(crate) fn read(&mut self) -> Result<(), Closed> {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let old = self.buffer.len();
        self.buffer.resize(old + READ_BYTES, 0);
        let read = rustix::io::read(&self.fd, &mut self.buffer[old..]);
        self.buffer.truncate(old + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(Closed::End),
            Ok(_) => self.skip_greeting(),
            Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(_) => Err(Closed::End),
        }
    }

    /// The next message that has come whole.
    pub(crate) fn next<'a, T: Deserialize<'a>>(&'a mut self) -> Result<Option<T>, Closed> {
        if self.awaits_greeting {
            return Ok(None);
        }
        match decode(&self.buffer[self.taken..]) {
            Ok(Some((message, length))) => {
                self.taken += length;
                Ok(Some(message))
            }
            Ok(None) => Ok(None),
            Err(_) => Err(Closed::Garbled),
        }
    }

    /// Whether the other side has not greeted yet.
    pub(crate) fn awaits_greeting(&self) -> bool {
        self.awaits_greeting
    }

    /// The beginning of what came instead of a greeting.
    pub(crate) fn babble(&self) -> String {
        let end = if self.awaits_greeting { self.buffer.len().min(200) } else { 0 };
        String::from_utf8_lossy(&self.buffer[..end]).into_owned()
    }

    fn skip_greeting(&mut self) -> Result<(), Closed> {
        if !self.awaits_greeting {
            return Ok(());
        }
        // The greeting begins with a line's end, which the shell may have sent as well.
        let found = find(&self.buffer, GREETING).map(|at| at + GREETING.len());
        if let Some(end) = found {
            self.awaits_greeting = false;
            self.taken = end;
        }
        if self.awaits_greeting && self.buffer.len() > GREETING_BYTES_MAX {
            Err(Closed::Garbled)
        } else {
            Ok(())
        }
    }
}

impl AsFd for ChannelInbox {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn set_nonblocking(fd: &OwnedFd) -> Result<(), Errno> {
    fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::messages::Up;
    use rustix::pipe::{PipeFlags, pipe_with};

    fn ends(awaits_greeting: bool) -> (ChannelOutbox, ChannelInbox, Poller) {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let outbox = ChannelOutbox::new(write, PollToken::Stdin).unwrap();
        (outbox, ChannelInbox::new(read, awaits_greeting).unwrap(), Poller::new().unwrap())
    }

    #[test]
    fn more_than_a_pipe_holds_arrives_whole() {
        let (mut outbox, mut inbox, poller) = ends(false);
        let endpoint_address =
            |rank: u32| Up::EndpointAddress { rank, endpoint_address: vec![rank as u8; 500] };
        (0..1000).for_each(|rank| outbox.push(&endpoint_address(rank)));
        let mut count = 0;
        loop {
            outbox.on_room(&poller);
            outbox.flush(&poller);
            if outbox.pending.is_empty() {
                outbox.close(&poller);
            }
            let end = inbox.read();
            while let Some(message) = inbox.next::<Up>().unwrap() {
                assert_eq!(message, endpoint_address(count));
                count += 1;
            }
            if end.is_err() {
                break;
            }
        }
        assert_eq!(count, 1000);
    }

    #[test]
    fn what_a_shell_says_first_is_skipped() {
        let (mut outbox, mut inbox, poller) = ends(true);
        outbox.push_raw(b"Welcome to host b!\n\ntern-");
        outbox.flush(&poller);
        inbox.read().unwrap();
        assert!(inbox.awaits_greeting() && inbox.babble().starts_with("Welcome"));
        outbox.push_raw(&GREETING[6..]);
        outbox.push(&Up::Beat);
        outbox.flush(&poller);
        inbox.read().unwrap();
        assert_eq!(inbox.next::<Up>(), Ok(Some(Up::Beat)));
        assert_eq!(inbox.next::<Up>(), Ok(None));
        outbox.push_raw(&[0xff; 8]);
        outbox.flush(&poller);
        inbox.read().unwrap();
        assert_eq!(inbox.next::<Up>(), Err(Closed::Garbled));
    }

    #[test]
    fn who_has_not_greeted_may_not_talk_for_ever() {
        let (mut outbox, mut inbox, poller) = ends(true);
        outbox.push_raw(&vec![b'x'; GREETING_BYTES_MAX + 1]);
        let mut result = Ok(());
        while result.is_ok() {
            outbox.on_room(&poller);
            outbox.flush(&poller);
            result = inbox.read();
        }
        assert_eq!(result, Err(Closed::Garbled));
    }
}
