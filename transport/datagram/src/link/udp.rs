//! The link over UDP, which needs no privilege.
//!
//! A rank has two sockets: one with a port of its own, which sends everything and receives what is for this rank alone; and one
//! with the port of the job's multicasts, which it shares with other ranks on this node.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{SystemTime, UNIX_EPOCH};

use socket2::{Domain, Protocol, Socket, Type};

use super::calls::{Intake, Sleeper, SocketAddress, send};
use super::filter::WantedPackets;
use super::head::{PacketDestination, PacketGroup};
use super::inbound::PacketJudge;
use super::outbound::OutboundPacket;
use super::seal::SealKeys;
use super::{ArrivedPacket, Interface, Link, LinkCounters, LinkLimits, PacketBody, doors, learn};
use crate::limits::*;
use tern_transport::Peer;
use tern_transport::reach::Ports;
use tern_transport::sockopt::{set_option, words_of_option};

const UDP_HEADER_BYTES: usize = 8;
/// Address, type and what precedes it are counted as a switch does; the rest of Ethernet is no concern of queues.
const ETHER_HEADER_BYTES: usize = 14;

const OWN: usize = 0;
const SHARED: usize = 1;

/// What a UDP link is told when it is made.
#[derive(Clone, Debug)]
pub struct UdpConfig<'a> {
    /// This rank.
    pub me: Peer,
    /// Ranks of the job.
    pub size: u32,
    /// Of the job.
    pub secret: &'a [u8],
    /// Leads to the peers.
    pub interface: Interface,
    /// Where it may be reached.
    pub ports: Ports,
    /// Whether other ranks of the job on this node shall hear what this one multicasts.
    pub local_ranks: bool,
    /// Bytes of a datagram at most, if fewer than the interface carries.
    pub datagram_bytes_max: usize,
    /// Let the kernel cut datagrams into segments, if it can (`UDP_SEGMENT`).
    pub segment: bool,
    /// Let the kernel hand out segments together, if it can (`UDP_GRO`).
    pub coalesce: bool,
    /// Bytes that the kernel queues on their way out.
    pub send_queue_bytes: usize,
    /// Let the kernel drop what is for others; without it they are dropped here, which is for measuring what that saves.
    pub filter: bool,
}

impl<'a> UdpConfig<'a> {
    /// The usual settings.
    pub fn new(me: Peer, size: u32, secret: &'a [u8], interface: Interface) -> UdpConfig<'a> {
        UdpConfig {
            me,
            size,
            secret,
            interface,
            ports: Ports::default(),
            local_ranks: true,
            datagram_bytes_max: DATAGRAM_BYTES_MAX,
            segment: true,
            coalesce: true,
            send_queue_bytes: SEND_QUEUE_BYTES,
            filter: true,
        }
    }
}

/// See the file's head.
pub struct UdpLink {
    pub(super) own: Socket,
    shared: Socket,
    /// The shared one's whole filter, until it has it.
    whole_filter: Option<WantedPackets>,
    /// Of the two.
    backlogs: [SocketBacklog; 2],
    sleeper: Sleeper,
    interface: Interface,
    /// By rank, of those that are known: an address takes 136 bytes.
    peers: Vec<Option<Box<SocketAddress>>>,
    /// Multicast addresses, and how many groups listen to each.
    pub(super) groups: Vec<(SocketAddr, SocketAddress, u32)>,
    outbound: OutboundPacket,
    inbound: PacketJudge,
    intake: Intake,
    limits: LinkLimits,
    segment: bool,
    counters: LinkCounters,
    /// Overruns of the host before the link was made.
    overrun_before: u64,
}

impl UdpLink {
    /// Opens the sockets. Peers are told by [`UdpLink::set_peer`].
    pub fn new(config: &UdpConfig<'_>) -> io::Result<UdpLink> {
        let keys = SealKeys::new(config.secret);
        let interface = config.interface.clone();
        let wanted = WantedPackets { job: keys.job, me: config.me, skipped_bytes: UDP_HEADER_BYTES as u32 };
        let own = config.ports.bind(|port| open(config, wanted, SocketAddr::new(interface.address, port)))?;
        let shared = open_shared(config, wanted, keys.job)?;
        let coalesced = [&own, &shared].map(|socket| config.coalesce && coalesce(socket));
        let limits = limits(config, &own, &shared)?;
        let datagram = limits.body_bytes_max + HEAD_BYTES;
        let mut link = UdpLink {
            sleeper: Sleeper::new(&[own.as_raw_fd(), shared.as_raw_fd()])?,
            peers: vec![None; config.size as usize],
            groups: group_addresses(&interface, keys.job, multicast_port(config.ports, keys.job)),
            outbound: OutboundPacket::new(config.me, keys.clone(), first_count()),
            inbound: PacketJudge::new(config.me, config.size, keys),
            intake: Intake::new(if coalesced.contains(&true) { 1 << 16 } else { datagram }),
            segment: config.segment,
            backlogs: [SocketBacklog::default(); 2],
            counters: LinkCounters::default(),
            overrun_before: overruns(interface.address),
            own,
            shared,
            whole_filter: None,
            interface,
            limits,
        };
        link.join(doors(config.me))?;
        link.whole_filter = config.filter.then_some(wanted);
        Ok(link)
    }

    /// Where peers reach this rank.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.own.local_addr()?.as_socket().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    }

    /// Where a peer is reached.
    pub fn set_peer(&mut self, rank: Peer, address: SocketAddr) {
        if let Some(peer) = self.peers.get_mut(rank as usize) {
            *peer = Some(Box::new(SocketAddress::of_socket(address)));
        }
    }

    /// Whether packets go and come as segments of longer datagrams.
    pub fn is_segmenting(&self) -> bool {
        self.segment
    }

    fn destination(&self, to: PacketDestination) -> Option<SocketAddress> {
        match to {
            // Its answer tells where it is.
            PacketDestination::Rank(rank) => {
                let known = self.peers.get(rank as usize)?.as_deref().copied();
                Some(known.unwrap_or(self.groups[slot(doors(rank))].1))
            }
            PacketDestination::Group { group, .. } => Some(self.groups[slot(group)].1),
        }
    }

    /// Sends what was loaded. Answers how many packets are no longer ours.
    fn send_loaded(&mut self, to: &SocketAddress) -> io::Result<usize> {
        let (mut datagrams, mut packets) = (0, 0);
        while datagrams < self.outbound.datagrams.len() {
            let rest = &self.outbound.datagrams[datagrams..];
            // SAFETY: the pieces are the outbound's own and the packets', which the caller has borrowed.
            let sent = unsafe { send(self.own.as_raw_fd(), to, &self.outbound.pieces[2 * packets..], rest) };
            let (gone, lost) = match sent {
                Ok(sent) => (sent, false),
                Err(error) if is_full(&error) => break,
                Err(error) if self.segment && rest[0].packets > 1 && refuses_segments(&error) => {
                    self.segment = false;
                    break;
                }
                Err(error) if is_lost(&error) => (1, true),
                Err(error) => return Err(error),
            };
            let these = rest[..gone].iter().map(|datagram| datagram.packets).sum::<usize>();
            let counter = if lost { &mut self.counters.refused } else { &mut self.counters.sent };
            *counter += these as u64;
            packets += these;
            datagrams += gone;
        }
        Ok(packets)
    }

    fn drain(&mut self, which: usize, take: &mut dyn FnMut(ArrivedPacket<'_>)) -> io::Result<usize> {
        let socket = [&self.own, &self.shared][which].as_raw_fd();
        let got = self.intake.fill(socket)?;
        let backlog = &mut self.backlogs[which];
        for datagram in self.intake.datagrams() {
            backlog.add(datagram.bytes.len());
            let from = self.inbound.open(&datagram, &mut self.counters, take);
            learn(&mut self.peers, from, datagram.from);
        }
        if got < self.intake.room() {
            backlog.end(self.limits.receive_queue_bytes);
        }
        Ok(got)
    }

    fn change_membership(&self, address: SocketAddr, joins: bool) -> io::Result<()> {
        let index = self.interface.index;
        match address.ip() {
            IpAddr::V4(group) => {
                let interface = socket2::InterfaceIndexOrAddress::Index(index);
                if joins {
                    self.shared.join_multicast_v4_n(&group, &interface)
                } else {
                    self.shared.leave_multicast_v4_n(&group, &interface)
                }
            }
            IpAddr::V6(group) if joins => self.shared.join_multicast_v6(&group, index),
            IpAddr::V6(group) => self.shared.leave_multicast_v6(&group, index),
        }
    }
}

/// What was found in a socket's queue between two times that it was empty: tells whether it may have been full, since the
/// kernel does not tell datagrams that it filters from those that overrun the queue.
#[derive(Clone, Copy, Default)]
struct SocketBacklog {
    /// What the kernel counts for it, at most.
    bytes: usize,
    was_full: bool,
}

impl SocketBacklog {
    /// A datagram takes a record besides, and its memory may be four times as long as it is.
    fn add(&mut self, datagram: usize) {
        self.bytes += 4 * datagram + 2048;
    }

    /// The queue is empty.
    fn end(&mut self, queue: usize) {
        self.was_full = self.may_have_been_full(queue);
        self.bytes = 0;
    }

    fn may_have_been_full(&self, queue: usize) -> bool {
        self.was_full || self.bytes >= queue
    }
}

impl Link for UdpLink {
    fn limits(&self) -> LinkLimits {
        self.limits
    }

    fn send(&mut self, to: PacketDestination, packets: &[PacketBody<'_>]) -> io::Result<usize> {
        let packets = &packets[..packets.len().min(PACKETS_PER_CALL_MAX)];
        let Some(address) = self.destination(to) else {
            self.counters.refused += packets.len() as u64;
            return Ok(packets.len());
        };
        let segment = self.segment;
        self.outbound.load(to, packets, segment);
        let mut taken = self.send_loaded(&address)?;
        if self.segment != segment {
            self.outbound.load(to, &packets[taken..], self.segment);
            taken += self.send_loaded(&address)?;
        }
        Ok(taken)
    }

    fn receive(&mut self, take: &mut dyn FnMut(ArrivedPacket<'_>)) -> io::Result<usize> {
        let ready = self.sleeper.ready([&self.own, &self.shared].map(Socket::as_raw_fd));
        let mut got = 0;
        for which in [SHARED, OWN] {
            match ready[which] {
                true => got += self.drain(which, take)?,
                false => self.backlogs[which].end(self.limits.receive_queue_bytes),
            }
        }
        Ok(got)
    }

    fn join(&mut self, group: PacketGroup) -> io::Result<()> {
        let (address, _, listeners) = self.groups[slot(group)];
        if let Some(wanted) = self.whole_filter.take() {
            self.shared.attach_filter(&wanted.program())?;
        }
        if listeners == 0 {
            self.change_membership(address, true)?;
        }
        self.groups[slot(group)].2 += 1;
        Ok(())
    }

    fn leave(&mut self, group: PacketGroup) {
        let (address, _, listeners) = &mut self.groups[slot(group)];
        let address = *address;
        let last = *listeners == 1;
        *listeners = listeners.saturating_sub(1);
        if last {
            // The socket goes on listening at worst, and the filter drops what is for others.
            self.change_membership(address, false).ok();
        }
    }

    fn fd(&self) -> RawFd {
        self.sleeper.fd()
    }

    fn want_room(&mut self, wanted: bool) -> io::Result<()> {
        self.sleeper.want_room(self.own.as_raw_fd(), wanted)
    }

    fn pace(&mut self, bytes_per_s: u64) {
        set_option(self.own.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &bytes_per_s).ok();
    }

    fn counters(&self) -> LinkCounters {
        let dropped = [&self.own, &self.shared].map(drops);
        let suspect = |which: usize| {
            let was_full = self.backlogs[which].may_have_been_full(self.limits.receive_queue_bytes);
            if was_full { dropped[which] } else { 0 }
        };
        let of_host = overruns(self.interface.address).wrapping_sub(self.overrun_before);
        let overrun = of_host.min(suspect(OWN) + suspect(SHARED));
        let dropped: u64 = dropped.iter().sum();
        LinkCounters { filtered: dropped - overrun, overrun, ..self.counters }
    }
}

/// One of the multicast addresses.
fn slot(group: PacketGroup) -> usize {
    (group.0 % MULTICAST_ADDRESSES) as usize
}

/// A socket with all that both have.
fn open(config: &UdpConfig<'_>, wanted: WantedPackets, bind: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(bind), Type::DGRAM.nonblocking(), Some(Protocol::UDP))?;
    let fd = socket.as_raw_fd();
    if config.filter {
        // Before it is bound: nothing gets past the filter.
        socket.attach_filter(&wanted.first_program())?;
    }
    socket.set_send_buffer_size(config.send_queue_bytes)?;
    // More than the limit is given to the privileged; the others get the limit.
    let bytes = RECEIVE_QUEUE_BYTES as i32;
    if set_option(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes).is_err() {
        socket.set_recv_buffer_size(RECEIVE_QUEUE_BYTES)?;
    }
    if bind.ip().is_unspecified() {
        socket.set_reuse_address(true)?;
    }
    prepare_multicast(&socket, config)?;
    super::calls::stamp(fd);
    socket.bind(&bind.into())?;
    Ok(socket)
}

/// Packets stay on the network of the interface, and are never fragments.
fn prepare_multicast(socket: &Socket, config: &UdpConfig<'_>) -> io::Result<()> {
    let fd = socket.as_raw_fd();
    match config.interface.address {
        IpAddr::V4(address) => {
            socket.set_multicast_if_v4(&address)?;
            socket.set_multicast_ttl_v4(1)?;
            socket.set_multicast_loop_v4(config.local_ranks)?;
            socket.set_multicast_all_v4(false)?;
            set_option(fd, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, &libc::IP_PMTUDISC_DO)
        }
        IpAddr::V6(_) => {
            socket.set_only_v6(true)?;
            socket.set_multicast_if_v6(config.interface.index)?;
            socket.set_multicast_hops_v6(1)?;
            socket.set_multicast_loop_v6(config.local_ranks)?;
            socket.set_multicast_all_v6(false)?;
            set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, &libc::IPV6_PMTUDISC_DO)
        }
    }
}

fn open_shared(config: &UdpConfig<'_>, wanted: WantedPackets, job: u32) -> io::Result<Socket> {
    let any: IpAddr = match config.interface.address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let port = multicast_port(config.ports, job);
    open(config, wanted, SocketAddr::new(any, port)).map_err(|error| {
        io::Error::new(error.kind(), format!("no socket for multicasts at port {port}: {error}"))
    })
}

/// The same on all hosts. Jobs that share one do not see each other all the same.
fn multicast_port(ports: Ports, job: u32) -> u16 {
    let usual = || MULTICAST_PORT_MIN + (job % u32::from(u16::MAX - MULTICAST_PORT_MIN)) as u16;
    ports.multicast().unwrap_or_else(usual)
}

/// The job's multicast addresses: of the local scope of RFC 2365, and of a link for a time (RFC 4291 section 2.7).
fn group_addresses(interface: &Interface, job: u32, port: u16) -> Vec<(SocketAddr, SocketAddress, u32)> {
    let [a, b, c, d] = job.to_be_bytes();
    let address = |slot: u32| -> SocketAddr {
        let last = (d & 0xf0) | slot as u8;
        match interface.address {
            IpAddr::V4(_) => (Ipv4Addr::new(239, 255, c, last), port).into(),
            IpAddr::V6(_) => {
                let [upper, lower] = [[a, b], [c, last]].map(u16::from_be_bytes);
                let group = Ipv6Addr::new(0xff12, 0, 0, 0, 0, 0x7465, upper, lower);
                SocketAddrV6::new(group, port, 0, interface.index).into()
            }
        }
    };
    let with_bytes = |address| (address, SocketAddress::of_socket(address), 0);
    (0..MULTICAST_ADDRESSES).map(address).map(with_bytes).collect()
}

fn coalesce(socket: &Socket) -> bool {
    set_option(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_GRO, &1i32).is_ok()
}

fn limits(config: &UdpConfig<'_>, own: &Socket, shared: &Socket) -> io::Result<LinkLimits> {
    let ip = if config.interface.address.is_ipv4() { 20 } else { 40 };
    let headers = ip + UDP_HEADER_BYTES;
    let datagram = config.interface.mtu.saturating_sub(headers).min(config.datagram_bytes_max);
    if datagram < HEAD_BYTES + PROTOCOL_HEAD_BYTES_MAX {
        let text = format!("{} carries only {} bytes", config.interface.name, config.interface.mtu);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    // The kernel tells twice what was asked for, since it counts its own records, which take as much as the data at most.
    let queue = own.recv_buffer_size()?.min(shared.recv_buffer_size()?) / 2;
    Ok(LinkLimits {
        body_bytes_max: datagram - HEAD_BYTES,
        packets_per_call: PACKETS_PER_CALL_MAX,
        receive_queue_bytes: queue,
        packet_cost_bytes: HEAD_BYTES + headers + ETHER_HEADER_BYTES,
    })
}

/// Counts begin with the time, so that a rank that makes a second link uses none twice: no link sends a packet in each
/// nanosecond.
pub(super) fn first_count() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}

/// No room now.
pub(super) fn is_full(error: &io::Error) -> bool {
    let numbers = [libc::EAGAIN, libc::ENOBUFS, libc::ENOMEM, libc::EINTR];
    error.raw_os_error().is_some_and(|number| numbers.contains(&number))
}

/// The packet is lost, others may not be: no route, a firewall, a datagram too long for the path, a port without a socket.
pub(super) fn is_lost(error: &io::Error) -> bool {
    let numbers = [
        libc::ECONNREFUSED,
        libc::EHOSTUNREACH,
        libc::ENETUNREACH,
        libc::ENETDOWN,
        libc::EHOSTDOWN,
        libc::EPERM,
        libc::EACCES,
        libc::EMSGSIZE,
        libc::ENODEV,
    ];
    error.raw_os_error().is_some_and(|number| numbers.contains(&number))
}

/// Kernels and interfaces that cannot cut datagrams say so.
fn refuses_segments(error: &io::Error) -> bool {
    let numbers = [libc::EIO, libc::EINVAL, libc::EOPNOTSUPP, libc::ENOPROTOOPT, libc::EMSGSIZE];
    error.raw_os_error().is_some_and(|number| numbers.contains(&number))
}

/// Datagrams that the kernel had for a socket and dropped.
pub(super) fn drops(socket: &Socket) -> u64 {
    let mut words = [0; 16];
    let read = words_of_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO, &mut words);
    let at = libc::SK_MEMINFO_DROPS as usize;
    if read.is_ok_and(|count| count > at) { words[at].into() } else { 0 }
}

/// Datagrams that overran the queues of the sockets of this host (network namespace), since the kernel counts them nowhere else
/// apart from filtered ones.
fn overruns(address: IpAddr) -> u64 {
    let number = |file: &str, find: fn(&str) -> Option<u64>| {
        std::fs::read_to_string(file).ok().and_then(|text| find(&text)).unwrap_or(0)
    };
    match address {
        IpAddr::V4(_) => number("/proc/thread-self/net/snmp", |text| {
            let mut lines = text.lines().filter(|line| line.starts_with("Udp:"));
            let at = lines.next()?.split(' ').position(|name| name == "RcvbufErrors")?;
            lines.next()?.split(' ').nth(at)?.parse().ok()
        }),
        IpAddr::V6(_) => number("/proc/thread-self/net/snmp6", |text| {
            let line = text.lines().find(|line| line.starts_with("Udp6RcvbufErrors"))?;
            line.split_whitespace().nth(1)?.parse().ok()
        }),
    }
}
