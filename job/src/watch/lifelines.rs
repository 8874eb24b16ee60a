//! Connections between the first ranks of all hosts, on which an end without a word is a death.
//!
//! They form a tree. Each end proves the job's secret ([`proof`]), the lower one when it connects ([`dial`](super::dial)). A message is a
//! kind, a rank and a code.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use rustix::event::{EventfdFlags, PollFlags, eventfd};
use rustix::net::sockopt::{
    set_socket_keepalive, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl, set_tcp_nodelay,
};

use crate::limits::{
    LIFELINE_ADDRESSES_MAX, LIFELINE_ARITY, LIFELINE_CLAIM, LIFELINE_IDLE, LIFELINE_PROBE, LIFELINE_PROBES,
    LIFELINE_UNAUTHENTICATED_MAX,
};
use crate::node_map::JobSecret;
use crate::reserved_fd::ReservedFd;
use crate::watch::dial::{Dial, Dialed};
use crate::watch::proof;

/// The variable with the ports that a site lets through.
const PORTS_VARIABLE: &str = "TERN_PORTS";

const FRAME_BYTES: usize = 9;
const LEAVES: u8 = 1;
const DEATH: u8 = 2;

/// The host to which the first rank of this one holds a lifeline.
pub fn parent_of(host: u32) -> Option<u32> {
    Some(host.checked_sub(1)? / LIFELINE_ARITY)
}

/// Where lifelines from other hosts end.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    port: u16,
}

impl Listener {
    /// Opens one at a port that may be used.
    pub fn open() -> io::Result<Listener> {
        let ports = std::env::var(PORTS_VARIABLE).ok().and_then(|text| parse_ports(&text)).unwrap_or(0..=0);
        let mut failed = io::ErrorKind::AddrNotAvailable.into();
        for port in ports {
            match bind(port) {
                Ok(socket) => {
                    socket.set_nonblocking(true)?;
                    let port = socket.local_addr()?.port();
                    return Ok(Listener { socket, port });
                }
                Err(error) => failed = error,
            }
        }
        Err(io::Error::new(failed.kind(), format!("no port for the watch over other hosts: {failed}")))
    }

    /// The port, and all addresses of this machine, as a text without blanks.
    pub fn addresses(&self) -> String {
        let addresses = own_addresses().into_iter().take(LIFELINE_ADDRESSES_MAX);
        addresses.fold(self.port.to_string(), |text, address| format!("{text},{address}"))
    }
}

/// Both families of addresses, or IPv4 alone where there is no other.
fn bind(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
        .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))
}

/// `first-last`.
fn parse_ports(text: &str) -> Option<std::ops::RangeInclusive<u16>> {
    let (first, last) = text.split_once('-')?;
    Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
}

fn own_addresses() -> Vec<IpAddr> {
    let up = getifaddrs().into_iter().flatten().filter(|entry| entry.flags.contains(InterfaceFlags::IFF_UP));
    let addresses = up.filter_map(|entry| {
        let address = entry.address?;
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
        v4.or(address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip())))
    });
    let link_local = |ip: &IpAddr| matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local());
    let mut found: Vec<IpAddr> = addresses.filter(|ip| !ip.is_loopback() && !link_local(ip)).collect();
    // Hosts that are hosts by name alone share this one.
    found.push(Ipv4Addr::LOCALHOST.into());
    found
}

/// What [`Listener::addresses`] has written.
pub(crate) fn parse_addresses(text: &str) -> Option<Vec<SocketAddr>> {
    let mut words = text.split(',');
    let port = words.next()?.parse().ok()?;
    words.map(|word| Some(SocketAddr::new(word.parse().ok()?, port))).collect()
}

/// What the lifelines tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifelineNews {
    /// Another host says that a rank has died or aborted.
    Death {
        /// Which.
        rank: u32,
        /// With which exit code the job ends.
        code: i32,
    },
    /// A lifeline has ended without a word.
    Lost {
        /// The other end.
        host: u32,
        /// The first rank there.
        rank: u32,
    },
}

/// The lifelines of the first rank of a host.
#[derive(Debug)]
pub struct Lifelines {
    listener: Listener,
    shared: Arc<LifelineOpener>,
    /// The way to the host above this one.
    dial: Option<Dial>,
    /// The first rank of each host.
    firsts: Vec<u32>,
    lines: Vec<Lifeline>,
    new: Receiver<Lifeline>,
}

/// What the threads that open lifelines need.
#[derive(Debug)]
struct LifelineOpener {
    secret: JobSecret,
    host: u32,
    believed: proof::Believed,
    /// Those who have not proven anything yet.
    unauthenticated: AtomicUsize,
    open: Sender<Lifeline>,
    /// Rings when a lifeline has been opened.
    bell: ReservedFd,
}

#[derive(Debug)]
struct Lifeline {
    stream: TcpStream,
    host: u32,
    /// What has come of a message.
    buffer: VecDeque<u8>,
}

impl Lifelines {
    /// `parent` is the host above, and where it is reached; `firsts` are the first ranks of all hosts. Connects to the host above. Where
    /// that cannot be reached, nobody watches over it from here, and the job goes on.
    pub fn new(
        listener: Listener,
        secret: JobSecret,
        host: u32,
        parent: Option<(u32, String)>,
        firsts: Vec<u32>,
    ) -> io::Result<Lifelines> {
        let (open, new) = channel();
        let dial = parent.map(|(parent, addresses)| {
            Dial::begin(secret, host, parent, parse_addresses(&addresses).unwrap_or_default())
        });
        let (believed, unauthenticated) = (proof::Believed::default(), AtomicUsize::new(0));
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?.into();
        let shared = Arc::new(LifelineOpener { secret, host, believed, unauthenticated, open, bell });
        Ok(Lifelines { listener, shared, dial, firsts, lines: Vec::new(), new })
    }

    /// What to wait for.
    pub fn fds(&self) -> Vec<(BorrowedFd<'_>, PollFlags)> {
        let own = [self.listener.socket.as_fd(), self.shared.bell.as_fd()];
        let lines = self.lines.iter().map(|line| line.stream.as_fd());
        let read = own.into_iter().chain(lines).map(|fd| (fd, PollFlags::IN));
        read.chain(self.dial.iter().flat_map(Dial::fds)).collect()
    }

    /// Takes what has come.
    pub fn serve(&mut self) -> Vec<LifelineNews> {
        let _ = self.shared.bell.with(|bell| rustix::io::read(bell, &mut [0; 8]));
        self.lines.extend(self.new.try_iter());
        while let Ok((stream, _)) = self.listener.socket.accept() {
            self.admit(stream);
        }
        let mut news: Vec<LifelineNews> = self.serve_dial().into_iter().collect();
        let mut ended = Vec::new();
        self.lines.retain_mut(|line| match line.read() {
            Heard::Nothing => true,
            Heard::Leave => false,
            Heard::Death { rank, code } => {
                news.push(LifelineNews::Death { rank, code });
                false
            }
            Heard::End => {
                ended.push(line.host);
                false
            }
        });
        // A host has connected to several addresses at once, and keeps one of the connections.
        ended.retain(|host| !self.lines.iter().any(|line| line.host == *host));
        ended.dedup();
        news.extend(ended.into_iter().map(|host| self.lost(host)));
        news
    }

    fn serve_dial(&mut self) -> Option<LifelineNews> {
        let dial = self.dial.as_mut()?;
        match dial.serve() {
            Dialed::Nothing => None,
            Dialed::Proven(stream) => {
                dial.say(&frame(LEAVES, 0, 0));
                dial.give_up();
                let host = dial.parent();
                self.shared.open(stream, host);
                self.lines.extend(self.new.try_iter());
                None
            }
            Dialed::Lost => {
                let host = dial.parent();
                Some(self.lost(host))
            }
        }
    }

    fn lost(&self, host: u32) -> LifelineNews {
        LifelineNews::Lost { host, rank: self.firsts.get(host as usize).copied().unwrap_or_default() }
    }

    /// This rank ends well.
    pub fn take_leave(&mut self) {
        self.say(&frame(LEAVES, 0, 0));
    }

    /// A rank has died or aborted.
    pub fn tell_death(&mut self, rank: u32, code: i32) {
        self.say(&frame(DEATH, rank, code));
    }

    /// A few bytes always find room; who has gone need not hear them.
    fn say(&mut self, words: &[u8]) {
        self.lines.extend(self.new.try_iter());
        self.dial.iter_mut().for_each(|dial| dial.say(words));
        self.lines.iter_mut().for_each(|line| drop(line.stream.write_all(words)));
    }

    /// Somebody has connected. A thread hears the proof, so that who says nothing holds nobody.
    fn admit(&self, stream: TcpStream) {
        let shared = self.shared.clone();
        if shared.unauthenticated.fetch_add(1, Ordering::Relaxed) >= LIFELINE_UNAUTHENTICATED_MAX {
            shared.unauthenticated.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let accept = move || {
            let mut stream = stream;
            let accepted = limit_time(&stream)
                .and_then(|()| proof::accept(&mut stream, &shared.secret, shared.host, &shared.believed));
            shared.unauthenticated.fetch_sub(1, Ordering::Relaxed);
            if let Ok(host) = accepted {
                shared.open(stream, host);
            }
        };
        let _ = std::thread::Builder::new().name("tern-lifeline".into()).spawn(accept);
    }
}

impl LifelineOpener {
    fn open(&self, stream: TcpStream, host: u32) {
        if probe(&stream).is_ok()
            && self.open.send(Lifeline { stream, host, buffer: VecDeque::new() }).is_ok()
        {
            let _ = self.bell.with(|bell| rustix::io::write(bell, &1_u64.to_ne_bytes()));
        }
    }
}

fn limit_time(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(LIFELINE_CLAIM))?;
    stream.set_write_timeout(Some(LIFELINE_CLAIM))
}

/// A machine that has lost its power closes nothing: the kernel asks now and then whether the other end is there.
fn probe(stream: &TcpStream) -> io::Result<()> {
    set_socket_keepalive(stream, true)?;
    set_tcp_keepidle(stream, LIFELINE_IDLE)?;
    set_tcp_keepintvl(stream, LIFELINE_PROBE)?;
    set_tcp_keepcnt(stream, LIFELINE_PROBES)?;
    set_tcp_nodelay(stream, true)?;
    stream.set_nonblocking(true)
}

enum Heard {
    Nothing,
    Leave,
    Death { rank: u32, code: i32 },
    End,
}

impl Lifeline {
    fn read(&mut self) -> Heard {
        let mut bytes = [0; 64];
        loop {
            if self.buffer.len() >= FRAME_BYTES {
                return self.message();
            }
            match self.stream.read(&mut bytes) {
                Ok(0) => return Heard::End,
                Ok(count) => self.buffer.extend(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Heard::Nothing,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Heard::End,
            }
        }
    }

    fn message(&mut self) -> Heard {
        let frame: Vec<u8> = self.buffer.drain(..FRAME_BYTES).collect();
        let number = |at: usize| u32::from_le_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
        match frame[0] {
            LEAVES => Heard::Leave,
            DEATH => Heard::Death { rank: number(1), code: number(5) as i32 },
            _ => Heard::End,
        }
    }
}

fn frame(kind: u8, rank: u32, code: i32) -> Vec<u8> {
    let mut frame = vec![kind];
    frame.extend(rank.to_le_bytes());
    frame.extend(code.to_le_bytes());
    frame
}

/// For tests and other rooms: how long a death may stay unnoticed where the other end's machine is gone.
pub const SILENCE_MAX: Duration =
    Duration::from_secs(LIFELINE_IDLE.as_secs() + LIFELINE_PROBE.as_secs() * LIFELINE_PROBES as u64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::LIFELINE_DIALS_MAX;
    use rustix::event::{PollFd, poll};

    fn lines(listener: Listener, host: u32, parent: Option<(u32, String)>) -> Lifelines {
        Lifelines::new(listener, [1; 32], host, parent, vec![0, 4]).unwrap()
    }

    /// Host 1 has connected to host 0, which has not looked yet.
    fn pair() -> (Lifelines, Lifelines) {
        let (above, below) = (Listener::open().unwrap(), Listener::open().unwrap());
        let parent = Some((0, above.addresses()));
        (lines(above, 0, None), lines(below, 1, parent))
    }

    fn next(
        lines: &mut Lifelines,
        wanted: impl Fn(&Lifelines, &[LifelineNews]) -> bool,
    ) -> Vec<LifelineNews> {
        loop {
            let news = lines.serve();
            if wanted(lines, &news) {
                return news;
            }
            let fds = lines.fds();
            let mut fds: Vec<_> =
                fds.into_iter().map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags)).collect();
            poll(&mut fds, None).unwrap();
        }
    }

    fn connected() -> (Lifelines, Lifelines) {
        let (mut above, mut below) = pair();
        next(&mut above, |lines, _| !lines.lines.is_empty());
        next(&mut below, |lines, _| !lines.lines.is_empty());
        // The connections to other addresses of the host above.
        await_threads(&above);
        above.serve();
        assert_eq!((above.lines.len(), below.lines.len()), (1, 1));
        (above, below)
    }

    /// What was accepted is open after that.
    fn await_threads(lines: &Lifelines) {
        while Arc::strong_count(&lines.shared) > 1 {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_host_that_dies_before_it_is_answered_is_missed() {
        let (mut above, below) = pair();
        drop(below);
        assert_eq!(next(&mut above, |_, news| !news.is_empty()), [LifelineNews::Lost { host: 1, rank: 4 }]);
    }

    #[test]
    fn a_host_above_that_dies_before_it_answers_is_missed() {
        let (above, mut below) = pair();
        drop(above);
        assert_eq!(next(&mut below, |_, news| !news.is_empty()), [LifelineNews::Lost { host: 0, rank: 0 }]);
    }

    #[test]
    fn words_before_an_answer_are_heard() {
        let (mut above, mut below) = pair();
        below.tell_death(5, 9);
        drop(below);
        assert_eq!(next(&mut above, |_, news| !news.is_empty())[0], LifelineNews::Death { rank: 5, code: 9 });
        let (mut above, mut below) = pair();
        below.take_leave();
        drop(below);
        assert_eq!(above.serve(), []);
        await_threads(&above);
        assert_eq!(above.serve(), []);
        assert!(above.lines.is_empty());
    }

    #[test]
    fn another_at_the_same_port_is_not_the_host_above() {
        let other = Listener::open().unwrap();
        let port = other.port;
        // Another job's host, which refuses the claim, and then ends.
        let mut other = Lifelines::new(other, [2; 32], 0, None, vec![0, 4]).unwrap();
        let mut below = lines(Listener::open().unwrap(), 1, Some((0, format!("{port},127.0.0.1"))));
        for _ in 0..2 * LIFELINE_DIALS_MAX {
            other.serve();
            await_threads(&other);
            assert_eq!(below.serve(), []);
        }
        drop(other);
        assert_eq!(below.serve(), []);
        assert!(below.lines.is_empty());
    }

    #[test]
    fn an_end_without_a_word_is_a_loss() {
        let (mut above, below) = connected();
        drop(below);
        assert_eq!(next(&mut above, |_, news| !news.is_empty()), [LifelineNews::Lost { host: 1, rank: 4 }]);
    }

    #[test]
    fn an_end_with_a_word_is_none() {
        let (mut above, mut below) = connected();
        below.take_leave();
        drop(below);
        assert_eq!(next(&mut above, |lines, _| lines.lines.is_empty()), []);
    }

    #[test]
    fn deaths_are_told_both_ways() {
        let (mut above, mut below) = connected();
        above.tell_death(3, 7);
        assert_eq!(next(&mut below, |_, news| !news.is_empty()), [LifelineNews::Death { rank: 3, code: 7 }]);
    }

    #[test]
    fn an_unauthenticated_peer_is_no_host() {
        let (mut above, _) = pair();
        let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), above.listener.port);
        let mut connection = TcpStream::connect(address).unwrap();
        connection.write_all(&[0; 200]).unwrap();
        // It is closed in answer.
        above.serve();
        let mut rest = Vec::new();
        let _ = connection.read_to_end(&mut rest);
        assert!(rest.is_empty());
        assert!(above.lines.iter().all(|line| line.host == 1));
    }

    #[test]
    fn addresses_are_read_as_they_are_written() {
        let listener = Listener::open().unwrap();
        let parsed = parse_addresses(&listener.addresses()).unwrap();
        assert!(parsed.iter().all(|address| address.port() == listener.port));
        assert!(parsed.contains(&SocketAddr::new(Ipv4Addr::LOCALHOST.into(), listener.port)));
        assert_eq!(parse_addresses("x,1.2.3.4"), None);
        assert_eq!(parse_ports("40000-40100"), Some(40000..=40100));
        assert_eq!(parent_of(0), None);
        assert_eq!([1, 16, 17].map(parent_of), [Some(0), Some(0), Some(1)]);
    }
}
