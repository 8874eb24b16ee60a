//! Sleeping until a socket is ready: one epoll set of all sockets of a rank, and an eventfd that its own threads ring.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::doorbell::Doorbell;
use crate::own_event::OwnEvent;

/// What a rank sleeps on whose messages come over sockets.
pub struct SocketBell {
    epoll: OwnedFd,
    /// In the set; readable while it rings.
    event: OwnEvent,
    rings: AtomicU32,
    state: Mutex<BellState>,
    /// Wakes those who sleep here while another thread sleeps on the sockets.
    rung: Condvar,
    /// Somebody slept since the transport last looked at what is rare.
    slept: AtomicBool,
}

#[derive(Default)]
struct BellState {
    /// A thread sleeps on the sockets. Others wait for a ring, or for its place: an event in the set that rings for all
    /// would go on ringing until the last of them had run, and whoever comes back meanwhile would not sleep.
    watching: bool,
    /// How many they are.
    waiting: u32,
    /// The event rings.
    ringing: bool,
    /// Nobody sleeps longer: a timer of the connections is due.
    deadline: Option<Instant>,
    /// The same for datagrams, whose timers are shorter than a millisecond at times.
    packet_deadline: Option<Instant>,
    /// See [`SocketBell::unregister`].
    unregister: Vec<RawFd>,
    /// Sockets that the kernel had no room for in the set (`fs.epoll.max_user_watches`, memory), and whether room to write
    /// should wake as well. While there are any, sleeps are short.
    refused: Vec<(RawFd, bool)>,
    /// A [`SocketWatch`] may look at the set at any time.
    is_watched: bool,
}

impl BellState {
    fn first(&self) -> Option<Instant> {
        self.deadline.into_iter().chain(self.packet_deadline).min()
    }

    fn time_left(&self) -> Option<Duration> {
        self.first().map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// The socket is about to be closed, or to be put into the set anew. Whether the set lacked it.
    fn forget(&mut self, fd: RawFd) -> bool {
        let before = self.unregister.len() + self.refused.len();
        self.unregister.retain(|other| *other != fd);
        self.refused.retain(|(other, _)| *other != fd);
        self.unregister.len() + self.refused.len() < before
    }

    /// Whether the first timer is due earlier after the change.
    fn change(&mut self, change: impl FnOnce(&mut BellState)) -> bool {
        let before = self.first();
        change(self);
        self.first().is_some_and(|first| before.is_none_or(|before| first < before))
    }
}

impl SocketBell {
    /// A bell of no socket yet.
    pub fn new() -> io::Result<Self> {
        let bell = SocketBell {
            epoll: new_epoll()?,
            event: OwnEvent::new()?,
            rings: AtomicU32::new(0),
            state: Mutex::default(),
            rung: Condvar::new(),
            slept: AtomicBool::new(false),
        };
        bell.control(libc::EPOLL_CTL_ADD, bell.event.as_raw_fd(), false)?;
        Ok(bell)
    }

    fn state(&self) -> MutexGuard<'_, BellState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes sleepers when there is something to read, or room to write as well. Closing the socket ends it.
    pub fn watch(&self, fd: RawFd, write: bool) {
        self.add(&mut self.state(), fd, write);
    }

    fn add(&self, state: &mut BellState, fd: RawFd, write: bool) {
        let failed = self.control(libc::EPOLL_CTL_ADD, fd, write).err();
        match failed.and_then(|error| error.raw_os_error()) {
            Some(libc::ENOSPC | libc::ENOMEM) => state.refused.push((fd, write)),
            // It stands for a closed socket of the same number.
            Some(libc::EEXIST) => drop(self.control(libc::EPOLL_CTL_MOD, fd, write)),
            _ => {}
        }
    }

    /// The socket wakes nobody for now.
    pub fn unwatch(&self, fd: RawFd) {
        if !self.forget(fd) {
            let _ = self.control(libc::EPOLL_CTL_DEL, fd, false);
        }
    }

    /// Changes whether room to write wakes sleepers. From now on the socket wakes them in any case.
    pub fn change(&self, fd: RawFd, write: bool) {
        let mut state = self.state();
        if state.forget(fd) || self.control(libc::EPOLL_CTL_MOD, fd, write).is_err() {
            self.add(&mut state, fd, write);
        }
    }

    /// Takes a socket out of the set until somebody is about to sleep: for a program that does not, what it would tell the set costs each
    /// packet 0.1 µs. Does nothing while somebody sleeps, or where another thread may watch at any time. Before such a
    /// socket is closed it must be forgotten.
    pub fn unregister(&self, fd: RawFd) {
        let mut state = self.state();
        let needed = state.watching || state.waiting > 0 || state.is_watched;
        if !needed && !state.unregister.contains(&fd) {
            state.refused.retain(|(other, _)| *other != fd);
            state.unregister.push(fd);
            let _ = self.control(libc::EPOLL_CTL_DEL, fd, false);
        }
    }

    /// The socket is about to be closed. Whether the set lacked it.
    pub fn forget(&self, fd: RawFd) -> bool {
        self.state().forget(fd)
    }

    /// All sockets wake sleepers again.
    pub fn watch_all(&self) {
        self.watch_unregister(&mut self.state());
    }

    fn watch_unregister(&self, state: &mut BellState) {
        std::mem::take(&mut state.unregister).into_iter().for_each(|fd| self.add(state, fd, false));
    }

    /// Tries again what was refused. How long a sleep may last for the sake of those that still are.
    fn watch_refused(&self, state: &mut BellState) -> Option<Duration> {
        std::mem::take(&mut state.refused).into_iter().for_each(|(fd, write)| self.add(state, fd, write));
        (!state.refused.is_empty()).then_some(UNWATCHED)
    }

    /// Fails where the kernel has no room for another socket.
    fn control(&self, operation: i32, fd: RawFd, write: bool) -> io::Result<()> {
        let events = if write { libc::EPOLLIN | libc::EPOLLOUT } else { libc::EPOLLIN };
        let mut event = libc::epoll_event { events: events as u32, u64: fd as u64 };
        changed(&self.epoll, operation, fd, &mut event)
    }

    /// The descriptors that are ready; waits for at most so long, or for ever.
    pub fn ready(&self, timeout: Option<Duration>, ready: &mut Vec<RawFd>) -> bool {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 32];
        let count = usize::try_from(wait(self.epoll.as_raw_fd(), &mut events, timeout)).unwrap_or(0);
        ready.extend(events[..count].iter().map(|event| event.u64 as RawFd));
        count > 0
    }

    /// Nobody who goes to sleep from now on sleeps beyond that. Whether it is earlier than what sleepers know.
    pub fn set_deadline(&self, deadline: Option<Instant>) -> bool {
        self.state().change(|state| state.deadline = deadline)
    }

    /// As [`SocketBell::set_deadline`], for what comes in datagrams.
    pub fn set_packet_deadline(&self, deadline: Option<Instant>) -> bool {
        self.state().change(|state| state.packet_deadline = deadline)
    }

    /// Whether somebody slept since this was asked: what is rare may have woken it.
    #[inline]
    pub fn take_slept(&self) -> bool {
        self.slept.load(Ordering::Relaxed) && self.slept.swap(false, Ordering::Relaxed)
    }

    /// Whether somebody slept, or armed to sleep on something else, since [`SocketBell::take_slept`] was asked.
    #[inline]
    pub fn has_slept(&self) -> bool {
        self.slept.load(Ordering::Relaxed)
    }

    /// Somebody slept, though on something else, or is about to.
    pub fn set_slept(&self) {
        self.slept.store(true, Ordering::Relaxed);
    }

    /// How long a sleep may last at most.
    pub fn time_left(&self) -> Option<Duration> {
        self.state().time_left()
    }

    /// As [`Doorbell::ring`], if anybody sleeps; without a system call otherwise.
    pub fn ring_sleepers(&self) {
        let mut state = self.state();
        self.rings.fetch_add(1, Ordering::SeqCst);
        if state.watching && !state.ringing {
            state.ringing = true;
            self.event.ring();
        }
        if state.waiting > 0 {
            self.rung.notify_all();
        }
    }

    /// Sleeps until it rings or, if nobody else sleeps on the sockets or whoever does leaves, until one is ready.
    fn sleep_for(&self, armed: u32, mut timeout: Option<Duration>) -> bool {
        let mut state = self.state();
        while self.rings.load(Ordering::SeqCst) == armed {
            if !state.watching {
                return self.watch_sockets(state, timeout);
            }
            if timeout == Some(Duration::ZERO) {
                return false;
            }
            let began = Instant::now();
            state.waiting += 1;
            let waited = self.rung.wait_timeout(state, timeout.unwrap_or(LONG));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.waiting -= 1;
            timeout = timeout.map(|timeout| timeout.saturating_sub(began.elapsed()));
        }
        true
    }

    fn watch_sockets(&self, mut state: MutexGuard<'_, BellState>, timeout: Option<Duration>) -> bool {
        state.watching = true;
        self.watch_unregister(&mut state);
        let refused = self.watch_refused(&mut state);
        let timeout = timeout.into_iter().chain(state.time_left()).chain(refused).min();
        drop(state);
        let woken = self.ready(timeout, &mut Vec::new());
        let mut state = self.state();
        state.watching = false;
        if std::mem::take(&mut state.ringing) {
            self.event.silence();
        }
        woken
    }

    /// Somebody else may have to take the place at the sockets.
    fn leave(&self) {
        let state = self.state();
        if state.waiting > 0 && !state.watching {
            self.rung.notify_one();
        }
    }
}

/// How long a sleep lasts while the set lacks a socket: then the sleeper looks for itself.
const UNWATCHED: Duration = Duration::from_millis(1);

/// A wait without an end of its own, in parts that every system knows.
const LONG: Duration = Duration::from_secs(3600);

impl Doorbell for SocketBell {
    fn arm(&self) -> u32 {
        self.rings.load(Ordering::SeqCst)
    }

    fn disarm(&self) {}

    fn sleep(&self, armed: u32, timeout: Option<Duration>) -> bool {
        let woken = self.sleep_for(armed, timeout);
        self.slept.store(true, Ordering::Relaxed);
        self.leave();
        woken
    }

    fn ring(&self) {
        self.ring_sleepers();
    }
}

/// For a thread that watches the sockets for those who sleep on something else. Each time that it is armed it tells once that
/// a socket is ready, so that it does not run while nobody sleeps.
pub struct SocketWatch {
    /// Holds the set of all sockets, for one event at a time, and `end`.
    outer: OwnedFd,
    end: OwnEvent,
    sockets: Arc<SocketBell>,
}

impl SocketWatch {
    /// Watches the sockets of a bell.
    pub fn new(sockets: Arc<SocketBell>) -> io::Result<Self> {
        let (outer, end) = (new_epoll()?, OwnEvent::new()?);
        sockets.state().is_watched = true;
        sockets.watch_all();
        let watch = SocketWatch { outer, end, sockets };
        watch.control(libc::EPOLL_CTL_ADD, watch.end.as_raw_fd(), libc::EPOLLIN)?;
        watch.control(libc::EPOLL_CTL_ADD, watch.sockets.epoll.as_raw_fd(), libc::EPOLLONESHOT)?;
        Ok(watch)
    }

    fn control(&self, operation: i32, fd: RawFd, events: i32) -> io::Result<()> {
        let mut event = libc::epoll_event { events: events as u32, u64: fd as u64 };
        changed(&self.outer, operation, fd, &mut event)
    }

    /// The next socket that is ready is told, or one that is ready already.
    pub fn arm(&self) {
        let fd = self.sockets.epoll.as_raw_fd();
        // What is in the set already can be changed without memory.
        let _ = self.control(libc::EPOLL_CTL_MOD, fd, libc::EPOLLIN | libc::EPOLLONESHOT);
    }

    /// Waits until a socket is ready. `false` at the end.
    pub fn wait(&self) -> bool {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 2];
        // SAFETY: the events live during the call.
        let count = unsafe { libc::epoll_wait(self.outer.as_raw_fd(), events.as_mut_ptr(), 2, -1) };
        let told = &events[..usize::try_from(count).unwrap_or(0)];
        !told.iter().any(|event| event.u64 == self.end.as_raw_fd() as u64)
    }

    /// Ends the wait.
    pub fn end(&self) {
        self.end.ring();
    }
}

/// Changes an epoll set.
fn changed(set: &OwnedFd, operation: i32, fd: RawFd, event: &mut libc::epoll_event) -> io::Result<()> {
    // SAFETY: the event lives during the call.
    match unsafe { libc::epoll_ctl(set.as_raw_fd(), operation, fd, event) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits for events, to the nanosecond where the kernel can (Linux 5.11).
fn wait(epoll: RawFd, events: &mut [libc::epoll_event], timeout: Option<Duration>) -> i32 {
    let room = events.len() as i32;
    let brief = timeout.filter(|time| !time.is_zero() && time.subsec_nanos() % 1_000_000 != 0);
    if let Some(time) = brief {
        let time = libc::timespec {
            tv_sec: time.as_secs() as libc::time_t,
            tv_nsec: time.subsec_nanos() as libc::c_long,
        };
        let no_signals = std::ptr::null::<libc::sigset_t>();
        // SAFETY: the events and the time live during the call.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                epoll,
                events.as_mut_ptr(),
                room,
                &raw const time,
                no_signals,
                size_of::<libc::sigset_t>(),
            )
        };
        if count >= 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS) {
            return count as i32;
        }
    }
    // SAFETY: the events live during the call.
    unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), room, timeout.map_or(-1, milliseconds)) }
}

/// Rounded up: who wakes too early would have to sleep again.
fn milliseconds(time: Duration) -> i32 {
    i32::try_from(time.as_micros().div_ceil(1000)).unwrap_or(i32::MAX)
}

fn new_epoll() -> io::Result<OwnedFd> {
    // SAFETY: a plain system call.
    owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })
}

/// What a system call has answered that makes a descriptor.
pub(crate) fn owned(fd: RawFd) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made, and owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_the_set_had_no_room_for_is_tried_again() {
        let bell = SocketBell::new().unwrap();
        let (mut out, inside) = UnixStream::pair().unwrap();
        bell.state().refused.push((inside.as_raw_fd(), false));
        out.write_all(b"x").unwrap();
        assert!(bell.sleep(bell.arm(), Some(Duration::from_secs(10))), "the socket did not wake the sleeper");
        assert!(bell.state().refused.is_empty());
    }

    #[test]
    fn a_refused_socket_that_is_closed_is_not_watched() {
        let bell = SocketBell::new().unwrap();
        let (mut out, inside) = UnixStream::pair().unwrap();
        bell.state().refused.push((inside.as_raw_fd(), false));
        assert!(bell.forget(inside.as_raw_fd()));
        out.write_all(b"x").unwrap();
        assert!(!bell.sleep(bell.arm(), Some(Duration::from_millis(20))));
    }

    #[test]
    fn a_number_that_is_used_again_wakes_for_its_new_socket() {
        let bell = SocketBell::new().unwrap();
        let (_peer, inside) = UnixStream::pair().unwrap();
        bell.watch(inside.as_raw_fd(), true);
        bell.watch(inside.as_raw_fd(), false);
        assert!(!bell.sleep(bell.arm(), Some(Duration::from_millis(20))), "room to write still wakes");
    }
}
