//! The connections of which one becomes the lifeline to the host above.
//!
//! They are made while that host still waits for this one in `MPI_Init`. Its kernel takes them and what they say, so this host's death
//! is noticed from then on. The answer comes when the host above begins to watch.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use crate::limits::{LIFELINE_DIAL_AT_START, LIFELINE_DIALS_MAX, LIFELINE_REDIAL};
use crate::node_map::JobSecret;
use crate::watch::proof::{LifelineClaim, PROOF_BYTES};

/// The way to the host above.
#[derive(Debug)]
pub(super) struct Dial {
    secret: JobSecret,
    host: u32,
    parent: u32,
    addresses: Vec<SocketAddr>,
    candidates: Vec<LineCandidate>,
    rounds_left: u32,
    /// In this round somebody has taken a claim.
    reached: bool,
    /// In a round before somebody has.
    was_there: bool,
}

/// What has become of the connections.
#[derive(Debug)]
pub(super) enum Dialed {
    /// Nothing yet, or nobody can be reached: then nobody watches over this host from above, and the job goes on.
    Nothing,
    /// This one is the lifeline.
    Proven(TcpStream),
    /// Somebody was there, and is no more.
    Lost,
}

impl Dial {
    /// Connects from `host` to all `addresses` of `parent`. Waits until somebody has taken the claim, a moment at most.
    pub(super) fn begin(secret: JobSecret, host: u32, parent: u32, addresses: Vec<SocketAddr>) -> Dial {
        let mut dial = Dial {
            secret,
            host,
            parent,
            addresses,
            candidates: Vec::new(),
            rounds_left: LIFELINE_DIALS_MAX,
            reached: false,
            was_there: false,
        };
        dial.open_all(LIFELINE_DIAL_AT_START);
        dial
    }

    /// The host above.
    pub(super) fn parent(&self) -> u32 {
        self.parent
    }

    /// What to wait for.
    pub(super) fn fds(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        self.candidates.iter().map(LineCandidate::event)
    }

    /// Goes on with what has come. Waits only for an answer to whether somebody who was there still is, a second or so.
    pub(super) fn serve(&mut self) -> Dialed {
        loop {
            self.advance();
            if let Some(index) = self.candidates.iter().position(LineCandidate::is_proven) {
                return Dialed::Proven(self.choose(index));
            }
            let goes_on = !self.candidates.is_empty() && !self.reached;
            if goes_on || self.is_claimed() || self.rounds_left == 0 {
                return Dialed::Nothing;
            }
            self.was_there |= self.reached;
            self.open_all(LIFELINE_REDIAL);
            if self.was_there && !self.reached {
                self.give_up();
                return Dialed::Lost;
            }
        }
    }

    /// Says something to whoever has taken the claim: it counts if that is the host above.
    pub(super) fn say(&mut self, words: &[u8]) {
        for candidate in self.candidates.iter_mut().filter(|candidate| candidate.is_claimed) {
            let _ = candidate.stream.write_all(words);
        }
    }

    /// Takes the lifeline out. Those that are left are to be told, and closed.
    fn choose(&mut self, index: usize) -> TcpStream {
        self.rounds_left = 0;
        self.candidates.swap_remove(index).stream
    }

    /// Closes what is left.
    pub(super) fn give_up(&mut self) {
        self.rounds_left = 0;
        self.candidates.clear();
    }

    fn open_all(&mut self, limit: Duration) {
        self.rounds_left -= 1;
        self.reached = false;
        let claim = || LifelineClaim::new(&self.secret, self.host, self.parent);
        let open = |address: &SocketAddr| LineCandidate::open(*address, claim()?);
        self.candidates = self.addresses.iter().filter_map(|address| open(address).ok()).collect();
        self.wait_for_claim(Instant::now() + limit);
    }

    fn advance(&mut self) {
        let mut reached = self.reached;
        self.candidates.retain_mut(|candidate| {
            let goes_on = candidate.advance().is_ok();
            reached |= candidate.is_claimed;
            goes_on
        });
        self.reached = reached;
    }

    fn is_claimed(&self) -> bool {
        self.candidates.iter().any(|candidate| candidate.is_claimed)
    }

    fn wait_for_claim(&mut self, end: Instant) {
        loop {
            self.advance();
            let left = end.saturating_duration_since(Instant::now());
            if self.candidates.is_empty() || self.reached || left.is_zero() {
                return;
            }
            let mut fds: Vec<_> = self.fds().map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags)).collect();
            let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            let _ = poll(&mut fds, Some(&left));
        }
    }
}

/// One of the connections.
#[derive(Debug)]
struct LineCandidate {
    stream: TcpStream,
    claim: LifelineClaim,
    /// The claim is with the other end's kernel, or on its way.
    is_claimed: bool,
    answer: Vec<u8>,
}

impl LineCandidate {
    /// Begins to connect.
    fn open(address: SocketAddr, claim: LifelineClaim) -> io::Result<LineCandidate> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        match connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(LineCandidate { stream: socket.into(), claim, is_claimed: false, answer: Vec::new() })
    }

    fn event(&self) -> (BorrowedFd<'_>, PollFlags) {
        (self.stream.as_fd(), if self.is_claimed { PollFlags::IN } else { PollFlags::OUT })
    }

    fn is_proven(&self) -> bool {
        self.answer.len() == PROOF_BYTES
    }

    /// Goes on. An error if that is over: nobody is there, or somebody else.
    fn advance(&mut self) -> io::Result<()> {
        match self.exchange() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            result => result,
        }
    }

    fn exchange(&mut self) -> io::Result<()> {
        if !self.is_claimed {
            // The first bytes on a connection find room, all of them.
            self.stream.write_all(self.claim.words())?;
            self.is_claimed = true;
        }
        let mut bytes = [0; PROOF_BYTES];
        while !self.is_proven() {
            // Not more: what follows is for the lifeline.
            match self.stream.read(&mut bytes[self.answer.len()..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => self.answer.extend(&bytes[self.answer.len()..][..count]),
            }
        }
        if !self.claim.is_answered_by(&self.answer) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(())
    }
}
