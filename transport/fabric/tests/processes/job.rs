//! Forked ranks, and what they share.

use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use tern_fabric::{Fabric, JobPlace};
use tern_mem::UserBuf;
use tern_transport::{
    Am, Header, Landing, Peer, Remote, Sink, Token, Transfer, TransferError, Transport, TransportConfig,
};

/// A sleep this long means that a wake-up was lost.
pub(crate) const LOST: Duration = Duration::from_secs(5);

/// Ends this process, and with it the test, if `test` takes longer.
pub(crate) fn with_time_limit(seconds: u32, test: &fn()) {
    // SAFETY: takes no addresses.
    unsafe { libc::alarm(seconds) };
    test();
    // SAFETY: as above.
    unsafe { libc::alarm(0) };
}

/// An empty memfd.
pub(crate) fn memfd() -> OwnedFd {
    // SAFETY: a new descriptor that nobody else owns.
    unsafe {
        let fd = libc::memfd_create(c"tern-test".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        assert!(fd >= 0, "memfd_create: {}", std::io::Error::last_os_error());
        OwnedFd::from_raw_fd(fd)
    }
}

/// The file's memory, shared by all who map it, for the rest of the program.
pub(crate) fn map(file: &OwnedFd, bytes: usize) -> &'static [AtomicU64] {
    // SAFETY: a new mapping, never unmapped, of a file that is large enough; zeroes are valid.
    unsafe {
        libc::ftruncate(file.as_raw_fd(), bytes as libc::off_t);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let base = libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, file.as_raw_fd(), 0);
        assert!(base != libc::MAP_FAILED);
        std::slice::from_raw_parts(base.cast(), bytes / 8)
    }
}

/// A process that runs `body`.
pub(crate) fn fork(body: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the program has one thread.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    if pid == 0 {
        // SAFETY: takes no addresses. The child dies with its parent, also when that one's time is over.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        body();
        std::process::exit(0);
    }
    pid
}

/// Waits for a child; its status as `waitpid` gives it.
pub(crate) fn wait(pid: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: waits for a child of this process.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    status
}

pub(crate) fn attach(segment: &OwnedFd, me: Peer, size: u32, oversubscribed: bool) -> Fabric {
    attach_with(segment, me, size, oversubscribed, &TransportConfig::default())
}

pub(crate) fn attach_with(
    segment: &OwnedFd,
    me: Peer,
    size: u32,
    oversubscribed: bool,
    config: &TransportConfig,
) -> Fabric {
    let segment = segment.as_fd().try_clone_to_owned().expect("a descriptor");
    let place =
        JobPlace { me, size, local_ranks: None, segment: Some(segment), oversubscribed, outside: None };
    Fabric::attach(place, config).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs `rank` in `size` processes, of which this is none, and expects all to end well.
pub(crate) fn run(size: u32, oversubscribed: bool, rank: impl Fn(Fabric, Peer)) {
    run_with(size, oversubscribed, &TransportConfig::default(), rank);
}

/// As `run`, with other settings.
pub(crate) fn run_with(
    size: u32,
    oversubscribed: bool,
    config: &TransportConfig,
    rank: impl Fn(Fabric, Peer),
) {
    let segment = memfd();
    let start = |me| fork(|| rank(attach_with(&segment, me, size, oversubscribed, config), me));
    let ranks: Vec<_> = (0..size).map(start).collect();
    for (me, pid) in ranks.into_iter().enumerate() {
        assert_eq!(wait(pid), 0, "rank {me} failed");
    }
}

/// Bytes that tell messages apart.
pub(crate) fn pattern(seed: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(31) ^ seed.wrapping_mul(101) ^ (i >> 8)) as u8).collect()
}

pub(crate) fn flat(bytes: &mut [u8]) -> UserBuf {
    // SAFETY: the tests keep the bytes while the buffer is used.
    unsafe { UserBuf::contiguous(bytes.as_mut_ptr(), bytes.len()) }
}

pub(crate) fn remote(bytes: &mut [u8]) -> Remote {
    Remote { addr: bytes.as_mut_ptr().expose_provenance() as u64, len: bytes.len() as u64 }
}

/// Everything that came, in order: from whom, which tag, which payload.
#[derive(Default)]
pub(crate) struct Mail {
    pub messages: VecDeque<(Peer, i32, Vec<u8>)>,
    pub done: Vec<Result<(), TransferError>>,
    /// By token: messages of several peers may be under way at once.
    landing: HashMap<u64, (i32, UserBuf)>,
    next_token: u64,
}

impl Sink for Mail {
    fn short(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        self.messages.push_back((from, header.tag, payload.to_vec()));
    }

    fn header(&mut self, _from: Peer, header: &Header, len: usize) -> Landing {
        let (buf, token) = (UserBuf::owned(len), Token(self.next_token));
        self.next_token += 1;
        self.landing.insert(token.0, (header.tag, buf.clone()));
        Landing::place(buf, 0, len, token)
    }

    fn landed(&mut self, from: Peer, token: Token) {
        let (tag, buf) = self.landing.remove(&token.0).expect("what lands has been given a place");
        let mut payload = vec![0; buf.len()];
        buf.read(0, &mut payload);
        self.messages.push_back((from, tag, payload));
    }

    fn spoiled(&mut self, _: Peer, _: Token, error: TransferError) {
        panic!("{error:?}");
    }

    fn done(&mut self, _token: Token, result: Result<(), TransferError>) {
        self.done.push(result);
    }
}

/// A rank with its mail.
pub(crate) struct Rank {
    pub fabric: Fabric,
    pub mail: Mail,
}

impl Rank {
    pub(crate) fn new(fabric: Fabric) -> Self {
        Rank { fabric, mail: Mail::default() }
    }

    pub(crate) fn try_send(&mut self, peer: Peer, tag: i32, payload: &mut [u8]) -> bool {
        let len = payload.len();
        let header = Header { tag, ..Header::default() };
        self.fabric.send(peer, &Am { header, extended: &[], body: &flat(payload), offset: 0, len }).is_ok()
    }

    pub(crate) fn send(&mut self, peer: Peer, tag: i32, payload: &mut [u8]) {
        while !self.try_send(peer, tag, payload) {
            if !self.fabric.poll(&mut self.mail) {
                std::thread::yield_now();
            }
        }
    }

    /// Sends, asleep while there is no room and nothing comes. Nothing but the bell may end the sleep.
    pub(crate) fn send_or_sleep(&mut self, peer: Peer, tag: i32, payload: &mut [u8]) {
        let bell = self.fabric.doorbell();
        while !self.try_send(peer, tag, payload) {
            let armed = bell.arm();
            let sent = self.try_send(peer, tag, payload);
            if sent || self.fabric.poll(&mut self.mail) {
                bell.disarm();
                if sent {
                    return;
                }
                continue;
            }
            let start = Instant::now();
            let rang = bell.sleep(armed, Some(LOST));
            assert!(rang || start.elapsed() < LOST, "no room for {LOST:?}, or nobody rang");
        }
    }

    /// Sleeps until something came; a sleep of seconds means that a wake-up was lost. A shorter one may end unrung: whoever
    /// rang for the message before counts first and wakes later, and may meet this sleep with the second half.
    pub(crate) fn sleep(&mut self) {
        let bell = self.fabric.doorbell();
        let armed = bell.arm();
        if self.fabric.poll(&mut self.mail) {
            return bell.disarm();
        }
        let start = Instant::now();
        let rang = bell.sleep(armed, Some(LOST));
        let was_lost = !rang && start.elapsed() >= LOST;
        let came = self.fabric.poll(&mut self.mail);
        assert!(!(was_lost && came), "a message came but nobody rang");
    }

    /// Sleeps whenever nothing is here.
    pub(crate) fn receive(&mut self) -> (Peer, i32, Vec<u8>) {
        loop {
            if let Some(message) = self.mail.messages.pop_front() {
                return message;
            }
            if !self.fabric.poll(&mut self.mail) {
                self.sleep();
            }
        }
    }

    /// Waits for the end of what `transfer` began.
    pub(crate) fn finish(&mut self, transfer: Transfer) -> Result<(), TransferError> {
        match transfer {
            Transfer::Done => return Ok(()),
            Transfer::Failed(error) => return Err(error),
            Transfer::Pending => {}
        }
        loop {
            if let Some(result) = self.mail.done.pop() {
                return result;
            }
            if !self.fabric.poll(&mut self.mail) {
                self.sleep();
            }
        }
    }
}
