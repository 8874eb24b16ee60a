//! A rank's datagram channel: packets to one rank or to many, authenticated, and lost at times.
//!
//! | part | file |
//! |---|---|
//! | the head of a packet | `link/head.rs` |
//! | the tag that nobody without the job's secret can make | `link/seal.rs` |
//! | packets on their way out, and in | `link/outbound.rs`, `link/inbound.rs` |
//! | what the kernel drops for us | `link/filter.rs` |
//! | many datagrams in one system call | `link/calls.rs` |
//! | which interface, and what it carries | `link/interface.rs` |
//! | UDP | `link/udp.rs` |
//! | Ethernet frames | `link/ether.rs` |

mod calls;
mod ether;
mod filter;
mod head;
mod inbound;
mod interface;
mod outbound;
mod seal;
mod udp;

use std::io;
use std::os::fd::RawFd;

use super::Nanos;
use crate::limits::MULTICAST_ADDRESSES;
pub use ether::{EtherAddress, EtherConfig, EtherLink, may_send_frames};
pub use head::{Addressed, PacketDestination, PacketGroup};
pub use interface::{Interface, address_for_all};
use tern_transport::Peer;
pub use udp::{UdpConfig, UdpLink};

/// The body of a packet to be sent.
#[derive(Clone, Copy, Debug)]
pub struct PacketBody<'a> {
    /// The protocol's head, at most [`crate::limits::PROTOCOL_HEAD_BYTES_MAX`]; it is copied.
    pub head: &'a [u8],
    /// What follows it; the kernel takes it from where it lies.
    pub payload: &'a [u8],
}

impl PacketBody<'_> {
    /// Bytes of head and payload.
    pub fn bytes(&self) -> usize {
        self.head.len() + self.payload.len()
    }
}

/// A packet that came, and is genuine: `from` is that rank of this job. What it says may be wrong all the same.
#[derive(Clone, Copy, Debug)]
pub struct ArrivedPacket<'a> {
    /// Who sent it.
    pub from: Peer,
    /// This rank, or a group whose packet addresses this rank, or one that looks like it from afar ([`Addressed`]).
    pub to: PacketDestination,
    /// Head and payload.
    pub body: &'a [u8],
    /// How long it has waited in this host, nanoseconds; 0 where the kernel does not say.
    pub waited: Nanos,
}

/// What a link carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkLimits {
    /// Bytes of a packet's body.
    pub body_bytes_max: usize,
    /// Packets that one [`Link::send`] takes.
    pub packets_per_call: usize,
    /// Bytes of full packets that wait here for sure while this rank does not look: what all senders together may have
    /// on their way to it.
    pub receive_queue_bytes: usize,
    /// Bytes that a packet takes on the wire besides its body.
    pub packet_cost_bytes: usize,
}

/// Packets since the link was made.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct LinkCounters {
    /// Handed to the kernel.
    pub sent: u64,
    /// Refused by the kernel or the network for good: lost.
    pub refused: u64,
    /// Genuine, and for this rank.
    pub received: u64,
    /// Dropped, since the tag is not the job's.
    pub forged: u64,
    /// Dropped, since they had come before.
    pub replayed: u64,
    /// Dropped, since they are no packets.
    pub malformed: u64,
    /// Of other jobs, own copies, or for others: dropped here, the kernel's filter having seen only what they came with.
    pub unwanted: u64,
    /// Datagrams that the kernel dropped by the filter: of other jobs, own copies, multicasts for others. Where the queue was
    /// full as well, at least so many.
    pub filtered: u64,
    /// Datagrams that the kernel dropped since the queue was full. For UDP the kernel counts them for the whole host, so it may
    /// be fewer if others' queues overran, too.
    pub overrun: u64,
}

/// A datagram channel of one rank. Nothing waits.
pub trait Link {
    /// What it carries.
    fn limits(&self) -> LinkLimits;

    /// Sends a run of packets to one destination. Answers how many the kernel has taken, from the first; less than all, and the
    /// others must come again when there is room ([`Link::want_room`]). Those that the network refuses for good count as taken:
    /// they are lost as packets are. Packets of equal length (the last may be shorter) go as segments of few datagrams.
    fn send(&mut self, to: PacketDestination, packets: &[PacketBody<'_>]) -> io::Result<usize>;

    /// Hands what has come to `take`, one packet after the other, up to a bound. Answers how many datagrams the kernel had:
    /// after 0 there is nothing left.
    fn receive(&mut self, take: &mut dyn FnMut(ArrivedPacket<'_>)) -> io::Result<usize>;

    /// Listens to the address of a group.
    fn join(&mut self, group: PacketGroup) -> io::Result<()>;

    /// Stops listening, unless another group has the same address.
    fn leave(&mut self, group: PacketGroup);

    /// Readable when something has come, or there is room that was wanted.
    fn fd(&self) -> RawFd;

    /// Whether [`Link::fd`] shall tell of room to send.
    fn want_room(&mut self, wanted: bool) -> io::Result<()>;

    /// Asks the kernel to send no faster, where its queueing discipline can.
    fn pace(&mut self, bytes_per_s: u64);

    /// Packets since the link was made.
    fn counters(&self) -> LinkCounters;
}

impl<L: Link + ?Sized> Link for Box<L> {
    fn limits(&self) -> LinkLimits {
        (**self).limits()
    }

    fn send(&mut self, to: PacketDestination, packets: &[PacketBody<'_>]) -> io::Result<usize> {
        (**self).send(to, packets)
    }

    fn receive(&mut self, take: &mut dyn FnMut(ArrivedPacket<'_>)) -> io::Result<usize> {
        (**self).receive(take)
    }

    fn join(&mut self, group: PacketGroup) -> io::Result<()> {
        (**self).join(group)
    }

    fn leave(&mut self, group: PacketGroup) {
        (**self).leave(group);
    }

    fn fd(&self) -> RawFd {
        (**self).fd()
    }

    fn want_room(&mut self, wanted: bool) -> io::Result<()> {
        (**self).want_room(wanted)
    }

    fn pace(&mut self, bytes_per_s: u64) {
        (**self).pace(bytes_per_s);
    }

    fn counters(&self) -> LinkCounters {
        (**self).counters()
    }
}

/// The group at whose address a rank hears those who do not know its own: one of the job's addresses, so that others are not
/// bothered much, and what is for it alone passes no other's filter.
fn doors(rank: Peer) -> PacketGroup {
    PacketGroup(rank % MULTICAST_ADDRESSES)
}

/// Notes where a peer is, the first time that it has proved to be there.
fn learn(peers: &mut [Option<Box<calls::SocketAddress>>], from: Option<Peer>, whence: &calls::SocketAddress) {
    if let Some(place) = from.and_then(|from| peers.get_mut(from as usize)) {
        place.get_or_insert_with(|| Box::new(*whence));
    }
}

/// Sleeps until the link has something, or so long.
pub fn sleep(link: &impl Link, ns: Nanos) {
    calls::wait(link.fd(), ns);
}

#[cfg(test)]
mod tests;
