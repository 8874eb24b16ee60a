//! When to look at what is rare: unauthenticated peers at the door, answers of the directory, dialling, timers.
//!
//! It costs as much as several polls that find nothing, and it falls between two messages. While something is about to
//! happen, housekeeping is done often; each time that finds nothing makes the next one later.

use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use crate::limits::{
    HOUSEKEEPING_PAUSE, HOUSEKEEPING_PAUSE_MAX, POLLS_PER_HOUSEKEEPING, POLLS_PER_POLL_FIRST,
};

/// Counts polls, and looks at the clock once in so many.
pub(crate) struct Housekeeping {
    polls_left: u32,
    /// It is not due before that.
    next: Instant,
    pause: Duration,
}

impl Housekeeping {
    /// The first is due at once.
    pub(crate) fn new(now: Instant) -> Self {
        Housekeeping { polls_left: 0, next: now, pause: HOUSEKEEPING_PAUSE }
    }

    /// It is due at once: something has happened that it is to begin.
    pub(crate) fn hurry(&mut self) {
        (self.polls_left, self.next, self.pause) = (0, Instant::now(), HOUSEKEEPING_PAUSE);
    }

    /// A poll. Whether housekeeping is due.
    #[inline]
    pub(crate) fn is_due(&mut self) -> bool {
        self.is_due_by(Instant::now)
    }

    #[inline]
    fn is_due_by(&mut self, clock: impl FnOnce() -> Instant) -> bool {
        if self.polls_left > 0 {
            self.polls_left -= 1;
            return false;
        }
        self.polls_left = POLLS_PER_HOUSEKEEPING;
        clock() >= self.next
    }

    /// A look at one connection of several. Whether all are to be looked at instead.
    #[inline]
    pub(crate) fn must_poll_all(&mut self) -> bool {
        let out = self.polls_left < POLLS_PER_POLL_FIRST;
        if !out {
            self.polls_left -= POLLS_PER_POLL_FIRST;
        }
        out
    }

    /// It has ended, and `began` then. `busy`: somebody is on the way in or out; `news`: something was found.
    pub(crate) fn ended(&mut self, began: Instant, busy: bool, news: bool) {
        self.polls_left = if busy { POLLS_PER_HOUSEKEEPING / 8 } else { POLLS_PER_HOUSEKEEPING };
        let more = busy || news;
        self.pause = if more { HOUSEKEEPING_PAUSE } else { (2 * self.pause).min(HOUSEKEEPING_PAUSE_MAX) };
        self.next = if more { began } else { began + self.pause };
    }
}

/// Which of these can be read. Those of which nothing can be known may be: they are to be tried.
pub(crate) fn readable<const N: usize>(fds: [Option<RawFd>; N]) -> [bool; N] {
    let look = |fd: Option<RawFd>| libc::pollfd { fd: fd.unwrap_or(-1), events: libc::POLLIN, revents: 0 };
    let mut looks = fds.map(look);
    // SAFETY: as many entries as there are; nothing is waited for.
    let answer = unsafe { libc::poll(looks.as_mut_ptr(), N as libc::nfds_t, 0) };
    looks.map(|look| answer < 0 || look.fd < 0 || look.revents != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    /// Polls until the next time, at a time that stands still.
    fn polls_until_time(housekeeping: &mut Housekeeping, now: Instant) -> Option<u32> {
        (1..=2 * POLLS_PER_HOUSEKEEPING).find(|_| housekeeping.is_due_by(|| now))
    }

    #[test]
    fn housekeeping_that_finds_nothing_becomes_rare() {
        let mut now = Instant::now();
        let mut housekeeping = Housekeeping::new(now);
        assert_eq!(polls_until_time(&mut housekeeping, now), Some(1));
        let mut pause = HOUSEKEEPING_PAUSE;
        while pause < HOUSEKEEPING_PAUSE_MAX {
            pause = (2 * pause).min(HOUSEKEEPING_PAUSE_MAX);
            housekeeping.ended(now, false, false);
            let early = now + pause - Duration::from_nanos(1);
            assert_eq!(polls_until_time(&mut housekeeping, early), None);
            now += pause;
            assert!(polls_until_time(&mut housekeeping, now).is_some());
        }
        housekeeping.ended(now, true, false);
        assert_eq!(polls_until_time(&mut housekeeping, now), Some(POLLS_PER_HOUSEKEEPING / 8 + 1));
        housekeeping.ended(now, false, false);
        housekeeping.hurry();
        assert!(housekeeping.is_due());
    }

    #[test]
    fn what_is_said_is_heard_and_what_cannot_be_asked_is_tried() {
        let (mut here, there) = UnixStream::pair().expect("a pair of sockets");
        let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
        let fds = [Some(there.as_raw_fd()), Some(silent.as_raw_fd()), None];
        assert_eq!(readable(fds), [false, false, true]);
        here.write_all(b"x").expect("room for a byte");
        assert_eq!(readable(fds), [true, false, true]);
    }
}
