//! The link over Ethernet frames of Tern's own type, without IP: the paper's own way (section 3.2.1). It needs `CAP_NET_RAW`.
//!
//! The kernel brings frames to no other rank of the same node, unless the interface is loop-back: a node has one rank
//! on this link.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use socket2::{Domain, Protocol, Socket, Type};

use super::calls::{Intake, Sleeper, SocketAddress, send, zeros};
use super::filter::WantedPackets;
use super::head::{PacketDestination, PacketGroup};
use super::inbound::PacketJudge;
use super::outbound::OutboundPacket;
use super::seal::SealKeys;
use super::udp::{first_count, is_full, is_lost};
use super::{ArrivedPacket, Interface, Link, LinkCounters, LinkLimits, PacketBody, doors, learn};
use crate::limits::*;
use tern_transport::Peer;
use tern_transport::sockopt::set_option;

/// One of the two types that IEEE 802 leaves to local experiments.
const ETHER_TYPE: u16 = 0x88B5;
const ETHER_HEADER_BYTES: usize = 14;

/// An Ethernet address.
pub type EtherAddress = [u8; 6];

/// What an Ethernet link is told when it is made.
#[derive(Clone, Debug)]
pub struct EtherConfig<'a> {
    /// This rank.
    pub me: Peer,
    /// Ranks of the job.
    pub size: u32,
    /// Of the job.
    pub secret: &'a [u8],
    /// Leads to the peers.
    pub interface: Interface,
}

/// See the file's head.
pub struct EtherLink {
    socket: Socket,
    sleeper: Sleeper,
    interface: Interface,
    /// By rank.
    peers: Vec<Option<Box<SocketAddress>>>,
    /// Multicast addresses, and how many groups listen to each.
    groups: Vec<(EtherAddress, SocketAddress, u32)>,
    outbound: OutboundPacket,
    inbound: PacketJudge,
    intake: Intake,
    limits: LinkLimits,
    counters: LinkCounters,
}

impl EtherLink {
    /// Opens the socket. Peers are told by [`EtherLink::set_peer`].
    pub fn new(config: &EtherConfig<'_>) -> io::Result<EtherLink> {
        let keys = SealKeys::new(config.secret);
        let interface = config.interface.clone();
        if interface.ether.is_none() {
            let text = format!("{} carries no Ethernet frames", interface.name);
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        let socket = open(config, keys.job)?;
        let body = interface.mtu.min(DATAGRAM_BYTES_MAX).saturating_sub(HEAD_BYTES);
        let groups = (0..MULTICAST_ADDRESSES).map(|slot| {
            let address = group_address(keys.job, slot);
            (address, frame_address(interface.index, address), 0)
        });
        let mut link = EtherLink {
            sleeper: Sleeper::new(&[socket.as_raw_fd()])?,
            peers: vec![None; config.size as usize],
            groups: groups.collect(),
            limits: LinkLimits {
                body_bytes_max: body,
                packets_per_call: DATAGRAMS_PER_CALL,
                receive_queue_bytes: socket.recv_buffer_size()? / 2,
                packet_cost_bytes: HEAD_BYTES + ETHER_HEADER_BYTES,
            },
            outbound: OutboundPacket::new(config.me, keys.clone(), first_count()),
            inbound: PacketJudge::new(config.me, config.size, keys),
            // Short frames are padded.
            intake: Intake::new(body + HEAD_BYTES),
            counters: LinkCounters::default(),
            socket,
            interface,
        };
        link.join(doors(config.me))?;
        Ok(link)
    }

    /// Where peers reach this rank.
    pub fn address(&self) -> EtherAddress {
        self.interface.ether.unwrap_or_default()
    }

    /// Where a peer is reached.
    pub fn set_peer(&mut self, rank: Peer, address: EtherAddress) {
        if let Some(peer) = self.peers.get_mut(rank as usize) {
            *peer = Some(Box::new(frame_address(self.interface.index, address)));
        }
    }

    fn change_membership(&self, address: EtherAddress, option: i32) -> io::Result<()> {
        let mut request = zeros::<libc::packet_mreq>();
        request.mr_ifindex = self.interface.index as i32;
        request.mr_type = libc::PACKET_MR_MULTICAST as u16;
        request.mr_alen = address.len() as u16;
        request.mr_address[..address.len()].copy_from_slice(&address);
        set_option(self.socket.as_raw_fd(), libc::SOL_PACKET, option, &request)
    }
}

impl Link for EtherLink {
    fn limits(&self) -> LinkLimits {
        self.limits
    }

    fn send(&mut self, to: PacketDestination, packets: &[PacketBody<'_>]) -> io::Result<usize> {
        let packets = &packets[..packets.len().min(DATAGRAMS_PER_CALL)];
        let address = match to {
            // Its answer tells where it is.
            PacketDestination::Rank(rank) => {
                let door = self.groups[slot(doors(rank))].1;
                self.peers.get(rank as usize).map(|known| known.as_deref().copied().unwrap_or(door))
            }
            PacketDestination::Group { group, .. } => Some(self.groups[slot(group)].1),
        };
        let Some(address) = address else {
            self.counters.refused += packets.len() as u64;
            return Ok(packets.len());
        };
        self.outbound.load(to, packets, false);
        let OutboundPacket { pieces, datagrams, .. } = &self.outbound;
        // SAFETY: the pieces are the outbound's own and the packets', which are borrowed.
        match unsafe { send(self.socket.as_raw_fd(), &address, pieces, datagrams) } {
            Ok(sent) => {
                self.counters.sent += sent as u64;
                Ok(sent)
            }
            Err(error) if is_full(&error) => Ok(0),
            Err(error) if is_lost(&error) => {
                self.counters.refused += 1;
                Ok(1)
            }
            Err(error) => Err(error),
        }
    }

    fn receive(&mut self, take: &mut dyn FnMut(ArrivedPacket<'_>)) -> io::Result<usize> {
        if self.sleeper.ready([self.socket.as_raw_fd()]) == [false] {
            return Ok(0);
        }
        let got = self.intake.fill(self.socket.as_raw_fd())?;
        for frame in self.intake.datagrams() {
            let from = self.inbound.open(&frame, &mut self.counters, take);
            learn(&mut self.peers, from, frame.from);
        }
        Ok(got)
    }

    fn join(&mut self, group: PacketGroup) -> io::Result<()> {
        let (address, _, listeners) = self.groups[slot(group)];
        if listeners == 0 {
            self.change_membership(address, libc::PACKET_ADD_MEMBERSHIP)?;
        }
        self.groups[slot(group)].2 += 1;
        Ok(())
    }

    fn leave(&mut self, group: PacketGroup) {
        let (address, _, listeners) = self.groups[slot(group)];
        if listeners == 1 {
            // The socket goes on listening at worst, and the filter drops what is for others.
            self.change_membership(address, libc::PACKET_DROP_MEMBERSHIP).ok();
        }
        self.groups[slot(group)].2 = listeners.saturating_sub(1);
    }

    fn fd(&self) -> RawFd {
        self.sleeper.fd()
    }

    fn want_room(&mut self, wanted: bool) -> io::Result<()> {
        self.sleeper.want_room(self.socket.as_raw_fd(), wanted)
    }

    fn pace(&mut self, bytes_per_s: u64) {
        set_option(self.socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &bytes_per_s).ok();
    }

    /// The kernel does not count what the filter of such a socket drops.
    fn counters(&self) -> LinkCounters {
        LinkCounters { overrun: super::udp::drops(&self.socket), ..self.counters }
    }
}

fn slot(group: PacketGroup) -> usize {
    (group.0 % MULTICAST_ADDRESSES) as usize
}

/// Whether this process may send and receive Ethernet frames: `CAP_NET_RAW`.
pub fn may_send_frames() -> io::Result<()> {
    silent().map(|_| ())
}

/// A socket for frames; without a type it hears nothing.
fn silent() -> io::Result<Socket> {
    Socket::new(Domain::PACKET, Type::DGRAM.nonblocking(), Some(Protocol::from(0)))
        .map_err(|error| io::Error::new(error.kind(), format!("no socket for Ethernet frames: {error}")))
}

/// It hears nothing until the filter is there.
fn open(config: &EtherConfig<'_>, job: u32) -> io::Result<Socket> {
    let socket = silent()?;
    socket.attach_filter(&WantedPackets { job, me: config.me, skipped_bytes: 0 }.program())?;
    socket.set_send_buffer_size(SEND_QUEUE_BYTES)?;
    let bytes = RECEIVE_QUEUE_BYTES as i32;
    if set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes).is_err() {
        socket.set_recv_buffer_size(RECEIVE_QUEUE_BYTES)?;
    }
    super::calls::stamp(socket.as_raw_fd());
    super::calls::bind(&socket, &frame_address(config.interface.index, [0; 6]))?;
    Ok(socket)
}

/// A locally administered multicast address of the job.
fn group_address(job: u32, slot: u32) -> EtherAddress {
    let [_, b, c, d] = job.to_be_bytes();
    [0x03, 0x54, 0x65, b, c, (d & 0xf0) | slot as u8]
}

fn frame_address(interface: u32, address: EtherAddress) -> SocketAddress {
    let mut link = zeros::<libc::sockaddr_ll>();
    link.sll_family = libc::AF_PACKET as u16;
    link.sll_protocol = ETHER_TYPE.to_be();
    link.sll_ifindex = interface as i32;
    link.sll_halen = address.len() as u8;
    link.sll_addr[..address.len()].copy_from_slice(&address);
    SocketAddress::of_link(link)
}
