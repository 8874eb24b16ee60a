//! Many datagrams in one system call.

use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::{from_mut, from_ref};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tern_mem::IoVec;

use crate::Nanos;
use crate::limits::{DATAGRAMS_PER_CALL, INTAKE_BYTES};
use tern_transport::sockopt::set_option;

/// A datagram of some packets, two pieces each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Datagram {
    pub packets: usize,
    /// Bytes of each packet but the last.
    pub segment: usize,
    /// Bytes of all.
    pub bytes: usize,
}

/// An address as the kernel reads it.
#[derive(Clone, Copy)]
pub(crate) struct SocketAddress {
    storage: libc::sockaddr_storage,
    bytes: libc::socklen_t,
}

impl SocketAddress {
    /// Of nobody.
    pub(crate) const NONE: SocketAddress = SocketAddress {
        // SAFETY: numbers and arrays.
        storage: unsafe { zeroed() },
        bytes: 0,
    };

    pub(crate) fn of_socket(address: std::net::SocketAddr) -> SocketAddress {
        let address = socket2::SockAddr::from(address);
        let mut storage = zeros::<libc::sockaddr_storage>();
        // SAFETY: both are a `sockaddr_storage`, of which so many bytes count.
        unsafe {
            from_mut(&mut storage).cast::<u8>().copy_from(address.as_ptr().cast(), address.len() as usize);
        }
        SocketAddress { storage, bytes: address.len() }
    }

    pub(crate) fn of_link(link: libc::sockaddr_ll) -> SocketAddress {
        let mut storage = zeros::<libc::sockaddr_storage>();
        // SAFETY: the storage is larger than every address and as aligned.
        unsafe { from_mut(&mut storage).cast::<libc::sockaddr_ll>().write(link) };
        SocketAddress { storage, bytes: size_of::<libc::sockaddr_ll>() as libc::socklen_t }
    }
}

/// What the kernel's structures are before anything is said in them.
pub(crate) fn zeros<T: Zero>() -> T {
    // SAFETY: all types of `Zero` are numbers, arrays of them and pointers.
    unsafe { zeroed() }
}

/// Types of the kernel whose bytes may all be zero.
///
/// # Safety
/// They must be made of numbers, arrays of them, and raw pointers.
pub(crate) unsafe trait Zero {}
// SAFETY: numbers and arrays.
unsafe impl Zero for libc::sockaddr_storage {}
// SAFETY: numbers and arrays.
unsafe impl Zero for libc::sockaddr_ll {}
// SAFETY: numbers and raw pointers.
unsafe impl Zero for libc::mmsghdr {}
// SAFETY: numbers and arrays.
unsafe impl Zero for libc::ifreq {}
// SAFETY: numbers and arrays.
unsafe impl Zero for libc::packet_mreq {}

/// Control data of one message: a header and a word, aligned as the kernel wants it.
#[repr(C)]
#[derive(Clone, Copy)]
struct ControlMessage {
    header: libc::cmsghdr,
    value: [u8; 8],
}

const _: () = assert!(size_of::<ControlMessage>() == size_of::<libc::cmsghdr>() + 8);

impl ControlMessage {
    const EMPTY: ControlMessage =
        ControlMessage { header: libc::cmsghdr { cmsg_len: 0, cmsg_level: 0, cmsg_type: 0 }, value: [0; 8] };

    fn segment(bytes: u16) -> ControlMessage {
        let cmsg_len = size_of::<libc::cmsghdr>() + size_of::<u16>();
        let mut control = ControlMessage::EMPTY;
        control.header = libc::cmsghdr {
            cmsg_len: cmsg_len as _,
            cmsg_level: libc::SOL_UDP,
            cmsg_type: libc::UDP_SEGMENT,
        };
        control.value[..2].copy_from_slice(&bytes.to_ne_bytes());
        control
    }
}

/// What the kernel says of a datagram that came: some headers, each with its value, in words.
#[derive(Clone, Copy)]
struct Remarks([u64; Remarks::WORDS]);

impl Remarks {
    /// A time of two words and a length of one, each behind a header of two.
    const WORDS: usize = 7;
    const EMPTY: Remarks = Remarks([0; Remarks::WORDS]);

    /// Takes them from the first so many bytes: the length of segments that came together, and when they came to this host, since
    /// 1970.
    fn read(&self, bytes: usize) -> (Option<usize>, Option<Duration>) {
        let words = &self.0[..(bytes / size_of::<u64>()).min(Remarks::WORDS)];
        let (mut segment, mut time, mut at) = (None, None, 0);
        while let Some(&[length, kind, value, ..]) = words.get(at..) {
            let rest = words.get(at + 3).copied();
            let [a, b, c, d, e, f, g, h] = kind.to_ne_bytes();
            match (i32::from_ne_bytes([a, b, c, d]), i32::from_ne_bytes([e, f, g, h]), rest) {
                (libc::SOL_UDP, libc::UDP_GRO, _) => {
                    let [a, b, c, d, ..] = value.to_ne_bytes();
                    let length = usize::try_from(i32::from_ne_bytes([a, b, c, d])).ok();
                    segment = length.filter(|bytes| *bytes > 0);
                }
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, Some(ns)) => {
                    time = u32::try_from(ns).ok().map(|ns| Duration::new(value, ns));
                }
                _ => {}
            }
            at += (length as usize).div_ceil(size_of::<u64>()).max(1);
        }
        (segment, time)
    }
}

const _: () = assert!(size_of::<libc::cmsghdr>() == 2 * size_of::<u64>());

/// Sends datagrams to one address, as many as go into a call. Answers how many the kernel took; an error if none.
///
/// # Safety
/// The pieces, two for each packet, must be readable.
pub(crate) unsafe fn send(
    fd: RawFd,
    to: &SocketAddress,
    pieces: &[IoVec],
    datagrams: &[Datagram],
) -> io::Result<usize> {
    let mut messages = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; DATAGRAMS_PER_CALL];
    let mut controls = [const { MaybeUninit::<ControlMessage>::uninit() }; DATAGRAMS_PER_CALL];
    let mut rest = pieces;
    let count = datagrams.len().min(DATAGRAMS_PER_CALL);
    for ((message, control), datagram) in messages.iter_mut().zip(&mut controls).zip(&datagrams[..count]) {
        let (these, others) = rest.split_at(2 * datagram.packets);
        rest = others;
        let head = &mut message.write(zeros::<libc::mmsghdr>()).msg_hdr;
        head.msg_name = from_ref(&to.storage).cast_mut().cast();
        head.msg_namelen = to.bytes;
        head.msg_iov = these.as_ptr().cast::<libc::iovec>().cast_mut();
        head.msg_iovlen = these.len() as _;
        if datagram.packets > 1 {
            let control = control.write(ControlMessage::segment(datagram.segment as u16));
            head.msg_control = from_mut(control).cast();
            head.msg_controllen = size_of::<ControlMessage>() as _;
        }
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: so many messages were written; what they point to lives during the call, the pieces by the caller's promise.
    let sent = unsafe { libc::sendmmsg(fd, messages.as_mut_ptr().cast(), count as u32, flags as _) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// The blocks into which datagrams are received.
pub(crate) struct Intake {
    memory: Box<[u8]>,
    /// Bytes of each block.
    stride: usize,
    /// What the last call brought.
    came: Vec<Came>,
    /// Whence it came.
    names: Box<[SocketAddress]>,
}

/// A datagram that came.
#[derive(Clone, Copy)]
struct Came {
    bytes: usize,
    /// Bytes of each segment but the last.
    segment: usize,
    /// How long it has waited in this host.
    waited: Nanos,
}

/// A datagram that came, or several of one sender that the kernel hands out together.
#[derive(Clone, Copy)]
pub(crate) struct IncomingDatagrams<'a> {
    pub bytes: &'a [u8],
    /// Bytes of each segment but the last.
    pub segment: usize,
    pub from: &'a SocketAddress,
    /// How long it has waited in this host, nanoseconds; 0 where the kernel does not say.
    pub waited: Nanos,
}

impl Intake {
    /// For datagrams of at most so many bytes.
    pub(crate) fn new(stride: usize) -> Intake {
        Intake {
            memory: vec![0; INTAKE_BYTES].into(),
            stride,
            came: Vec::with_capacity(DATAGRAMS_PER_CALL),
            names: vec![SocketAddress::NONE; DATAGRAMS_PER_CALL].into(),
        }
    }

    /// Takes what waits at a socket, up to what a call brings. Answers how many datagrams.
    pub(crate) fn fill(&mut self, fd: RawFd) -> io::Result<usize> {
        let mut messages = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; DATAGRAMS_PER_CALL];
        let mut controls = [Remarks::EMPTY; DATAGRAMS_PER_CALL];
        let mut pieces = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; DATAGRAMS_PER_CALL];
        let count = self.room();
        let blocks = self.memory.chunks_exact_mut(self.stride);
        for ((((message, control), piece), block), name) in
            messages.iter_mut().zip(&mut controls).zip(&mut pieces).zip(blocks).zip(&mut self.names)
        {
            *piece = libc::iovec { iov_base: block.as_mut_ptr().cast(), iov_len: block.len() };
            let head = &mut message.write(zeros::<libc::mmsghdr>()).msg_hdr;
            head.msg_name = from_mut(&mut name.storage).cast();
            head.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            head.msg_iov = piece;
            head.msg_iovlen = 1;
            head.msg_control = from_mut(control).cast();
            head.msg_controllen = size_of::<Remarks>() as _;
        }
        self.came.clear();
        let none = std::ptr::null_mut();
        // SAFETY: so many messages were written, each with a block of its own; all live during the call.
        let got = unsafe {
            libc::recvmmsg(fd, messages.as_mut_ptr().cast(), count as u32, libc::MSG_DONTWAIT as _, none)
        };
        let Ok(got) = usize::try_from(got) else { return nothing_or(io::Error::last_os_error()) };
        let now = if got > 0 { since_1970() } else { Duration::ZERO };
        for ((message, control), name) in messages[..got].iter().zip(&controls).zip(&mut self.names) {
            // SAFETY: it is among the first `count`, which were written.
            let message = unsafe { message.assume_init_ref() };
            let bytes = (message.msg_len as usize).min(self.stride);
            let (segment, time) = control.read(message.msg_hdr.msg_controllen);
            let waited = time.map_or(0, |time| now.saturating_sub(time).as_nanos() as Nanos);
            name.bytes = message.msg_hdr.msg_namelen;
            self.came.push(Came { bytes, segment: segment.unwrap_or(bytes), waited });
        }
        Ok(got)
    }

    /// Datagrams that a call can bring.
    pub(crate) fn room(&self) -> usize {
        (self.memory.len() / self.stride).min(DATAGRAMS_PER_CALL)
    }

    /// What the last call brought.
    pub(crate) fn datagrams(&self) -> impl Iterator<Item = IncomingDatagrams<'_>> {
        let blocks = self.memory.chunks_exact(self.stride).zip(&self.names);
        blocks.zip(&self.came).map(|((block, from), came)| {
            let Came { bytes, segment, waited } = *came;
            IncomingDatagrams { bytes: &block[..bytes], segment, from, waited }
        })
    }
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Has the kernel say when each datagram came, where it can.
pub(crate) fn stamp(fd: RawFd) {
    set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1i32).ok();
}

/// Errors of earlier packets that their receivers' hosts have sent back are no errors of receiving.
fn nothing_or(error: io::Error) -> io::Result<usize> {
    let gone = [libc::ECONNREFUSED, libc::EHOSTUNREACH, libc::ENETUNREACH, libc::ENETDOWN];
    // The kernel lacks memory for now, or a signal came.
    let later = [libc::EINTR, libc::ENOMEM, libc::ENOBUFS];
    let nothing = error.kind() == io::ErrorKind::WouldBlock;
    if nothing || error.raw_os_error().is_some_and(|number| gone.contains(&number) || later.contains(&number))
    {
        return Ok(0);
    }
    Err(error)
}

/// A piece of memory as the kernel sees it.
pub(crate) fn piece(bytes: &[u8]) -> IoVec {
    IoVec { base: bytes.as_ptr().expose_provenance(), len: bytes.len() }
}

/// A set of sockets to sleep on.
pub(crate) struct Sleeper(OwnedFd);

impl Sleeper {
    /// Of sockets that have something to read.
    pub(crate) fn new(sockets: &[RawFd]) -> io::Result<Sleeper> {
        // SAFETY: a new descriptor that nobody else owns.
        let epoll = unsafe { OwnedFd::from_raw_fd(checked(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        let sleeper = Sleeper(epoll);
        for fd in sockets {
            sleeper.control(libc::EPOLL_CTL_ADD, *fd, false)?;
        }
        Ok(sleeper)
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Which of these sockets of the set have something to take, be it an error. One call tells, at a tenth of the cost of trying
    /// each.
    pub(crate) fn ready<const N: usize>(&self, sockets: [RawFd; N]) -> [bool; N] {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; N];
        // SAFETY: so many events live during the call.
        let count = unsafe { libc::epoll_wait(self.fd(), events.as_mut_ptr(), N as i32, 0) };
        // A filter of system calls may refuse it: then each is tried.
        let Ok(count) = usize::try_from(count) else { return [true; N] };
        let told = &events[..count];
        let more_than_room = |event: &libc::epoll_event| event.events & !(libc::EPOLLOUT as u32) != 0;
        sockets.map(|fd| told.iter().any(|event| event.u64 == fd as u64 && more_than_room(event)))
    }

    /// Whether room to write at one of the sockets counts as well.
    pub(crate) fn want_room(&self, socket: RawFd, wanted: bool) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, socket, wanted)
    }

    fn control(&self, operation: i32, fd: RawFd, write: bool) -> io::Result<()> {
        let events = if write { libc::EPOLLIN | libc::EPOLLOUT } else { libc::EPOLLIN };
        let mut event = libc::epoll_event { events: events as u32, u64: fd as u64 };
        // SAFETY: the event lives during the call.
        checked(unsafe { libc::epoll_ctl(self.fd(), operation, fd, &mut event) }).map(drop)
    }
}

/// What an interface carries: IP's bytes.
pub(crate) fn mtu_of(socket: RawFd, name: &str) -> io::Result<usize> {
    let mut request = zeros::<libc::ifreq>();
    // The last byte stays zero.
    for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    // SAFETY: the request lives during the call, and the kernel fills in its union's MTU.
    let mtu = unsafe {
        checked(libc::ioctl(socket, libc::SIOCGIFMTU as _, from_mut(&mut request)))?;
        request.ifr_ifru.ifru_mtu
    };
    usize::try_from(mtu).map_err(|_| io::ErrorKind::InvalidData.into())
}

fn checked(answer: i32) -> io::Result<i32> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// Gives a socket an address that the standard library does not know.
pub(crate) fn bind(socket: &socket2::Socket, address: &SocketAddress) -> io::Result<()> {
    let storage = from_ref(&address.storage).cast();
    // SAFETY: the address lives during the call and is as long as is said.
    checked(unsafe { libc::bind(socket.as_raw_fd(), storage, address.bytes) }).map(drop)
}

/// Waits until a descriptor is readable, for at most so many nanoseconds.
pub(crate) fn wait(fd: RawFd, ns: u64) -> bool {
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let second = 1_000_000_000;
    let time =
        libc::timespec { tv_sec: (ns / second) as libc::time_t, tv_nsec: (ns % second) as libc::c_long };
    // SAFETY: the entry and the time live during the call. Signals end it early, which costs its caller one round.
    unsafe { libc::ppoll(&mut poll, 1, &time, std::ptr::null()) == 1 }
}
