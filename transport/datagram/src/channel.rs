//! The protocol over a link: reliable packets to one rank or many.
//!
//! What the protocol has to send goes to the link in runs of packets with one destination, so that a run becomes few system
//! calls. What the link does not take at once waits here, before anything newer.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use tern_mem::UserBuf;
use tern_urtp::{Destination, GroupIndex, Reachability, Transmit, UrtpConfig, UrtpEndpoint};

use super::Nanos;
use super::link::{Addressed, ArrivedPacket, Link, PacketBody, PacketDestination, PacketGroup};
use super::probe::PROBE_GROUP;
use crate::limits::TUNNELED_PACKETS_MAX;
use tern_transport::Peer;

/// A rank's reliable channel.
pub struct Channel<L> {
    /// The protocol: what is sent and received goes through it; [`Channel::poll`] moves it on.
    pub endpoint: UrtpEndpoint,
    link: L,
    start: Instant,
    /// Bodies of the run.
    bodies: Box<[u8]>,
    run: Vec<Range<usize>>,
    /// Packets of the run that the link has taken.
    taken: usize,
    to: PacketDestination,
    /// The packet that did not belong to the run begins the next one.
    next: Option<(PacketDestination, Range<usize>)>,
    /// The link tells when there is room.
    wants_room: bool,
    /// What shall also go through a fallback tunnel.
    tunneled: VecDeque<Tunneled>,
    /// Groups to whose addresses the link listens.
    heard: BTreeSet<GroupIndex>,
}

/// A packet that shall go through a fallback tunnel.
pub type Tunneled = (Peer, Reachability, UserBuf);

impl<L: Link> Channel<L> {
    /// Over a link. `change` may change the settings that follow from it.
    pub fn new(link: L, me: Peer, size: u32, change: impl FnOnce(&mut UrtpConfig)) -> Channel<L> {
        let limits = link.limits();
        let mut config = UrtpConfig::new(me, size);
        config.body_bytes_max = limits.body_bytes_max;
        config.packet_cost_bytes = limits.packet_cost_bytes as u64;
        // One sender alone must not overrun the queue of a receiver that looks away for a moment.
        let queued = (limits.receive_queue_bytes / limits.body_bytes_max).max(1) as u32;
        config.window = config.window.min(1 << queued.ilog2());
        change(&mut config);
        let endpoint = UrtpEndpoint::new(config);
        let packets = limits.packets_per_call.max(1) + 1;
        Channel {
            bodies: vec![0; packets * endpoint.config().body_bytes_max].into(),
            endpoint,
            link,
            start: Instant::now(),
            run: Vec::with_capacity(packets),
            taken: 0,
            to: PacketDestination::Rank(me),
            next: None,
            wants_room: false,
            tunneled: VecDeque::new(),
            heard: BTreeSet::new(),
        }
    }

    /// The link below.
    pub fn link(&self) -> &L {
        &self.link
    }

    /// As [`Channel::link`], while nothing else uses it: for a probe.
    pub fn link_mut(&mut self) -> &mut L {
        &mut self.link
    }

    /// When the protocol has something to do though nothing comes. `None`: it has nothing to do. Where the link is full, it
    /// tells when there is room.
    pub fn wakes_at(&mut self) -> Option<Instant> {
        let until = self.endpoint.poll_timeout()?;
        let until = if self.wants_room { until.max(self.now() + ROOM_NS) } else { until };
        Some(self.start + Duration::from_nanos(until))
    }

    /// The time as the protocol counts it.
    pub fn now(&self) -> Nanos {
        self.start.elapsed().as_nanos() as Nanos
    }

    /// Makes a group known, and listens to its address. Who cannot do that, since the system allows no more addresses, is in the group
    /// all the same: it lacks every packet, and gets each by itself.
    pub fn add_group(&mut self, members: &[Peer]) -> Option<GroupIndex> {
        let group = self.endpoint.add_group(members)?;
        if !self.heard.contains(&group)
            && self.link.join(PacketGroup(self.endpoint.group_id(group).0)).is_ok()
        {
            self.heard.insert(group);
        }
        Some(group)
    }

    /// This rank sends nothing more to these groups until they are added again. They, or others that were released before, may end.
    pub fn release_groups(&mut self, groups: &[GroupIndex]) {
        groups.iter().for_each(|group| self.endpoint.release_group(*group));
        let (link, heard) = (&mut self.link, &mut self.heard);
        self.endpoint.end_groups(|group, id| {
            if heard.remove(&group) {
                link.leave(PacketGroup(id.0));
            }
        });
    }

    /// Takes what has come, and sends what may go now. Whether anything has come.
    pub fn poll(&mut self) -> io::Result<bool> {
        let came = self.receive(&mut |_, _| false)?;
        self.transmit()?;
        Ok(came)
    }

    /// Takes what has come to the protocol. Whether that was anything. `take` may have what a peer sent next at once, and says so.
    pub fn receive(&mut self, take_next: &mut dyn FnMut(Peer, &[u8]) -> bool) -> io::Result<bool> {
        let now = self.now();
        let endpoint = &mut self.endpoint;
        let mut take = |arrival: ArrivedPacket<'_>| {
            let group = match arrival.to {
                // From one who still asks what this rank has found out, or has nothing to do with.
                PacketDestination::Group { group: PROBE_GROUP, .. } => return,
                PacketDestination::Group { group, .. } => Some(tern_urtp::GroupId(group.0)),
                PacketDestination::Rank(_) => None,
            };
            // What makes no sense is counted by the protocol, and nobody else's concern.
            let ArrivedPacket { from, body, waited, .. } = arrival;
            let _ = endpoint.handle_late((now, waited), from, group, body, &mut |next| take_next(from, next));
        };
        Ok(self.link.receive(&mut take)? > 0)
    }

    /// Sends until nothing may go now, or the link is full.
    pub fn transmit(&mut self) -> io::Result<()> {
        loop {
            if self.taken == self.run.len() {
                self.gather();
            }
            if self.run.is_empty() {
                return self.want_room(false);
            }
            if !self.send_run()? {
                return self.want_room(true);
            }
        }
    }

    /// Whether nothing waits that the link did not take.
    pub fn has_sent_all(&self) -> bool {
        self.taken == self.run.len() && self.next.is_none()
    }

    /// The next run of packets with one destination.
    fn gather(&mut self) {
        (self.taken, self.to) = (0, PacketDestination::Rank(self.endpoint.config().me));
        self.run.clear();
        let mut end = 0;
        if let Some((to, body)) = self.next.take() {
            end = body.len();
            self.bodies.copy_within(body, 0);
            self.to = to;
            self.run.push(0..end);
        }
        let body_bytes_max = self.endpoint.config().body_bytes_max;
        let now = self.now();
        while self.bodies.len() - end >= 2 * body_bytes_max {
            let Some(transmit) = self.endpoint.poll_transmit(now, &mut self.bodies[end..]) else { return };
            let (to, body) = (destination(transmit.to), end..end + transmit.len);
            if transmit.tunnel.is_some() {
                self.keep_for_tunnel(&transmit, body.clone());
            }
            if !self.run.is_empty() && to != self.to {
                self.next = Some((to, body));
                return;
            }
            (self.to, end) = (to, body.end);
            self.run.push(body);
        }
    }

    #[cold]
    fn keep_for_tunnel(&mut self, transmit: &Transmit, body: Range<usize>) {
        if let (Destination::Rank(to), Some(reachability)) = (transmit.to, transmit.tunnel)
            && self.tunneled.len() < TUNNELED_PACKETS_MAX
        {
            let packet = UserBuf::owned(body.len());
            packet.write(0, &self.bodies[body]);
            self.tunneled.push_back((to, reachability, packet));
        }
    }

    /// The next packet that shall go through a fallback tunnel as well; whoever takes none loses them.
    #[inline]
    pub fn take_tunneled(&mut self) -> Option<Tunneled> {
        self.tunneled.pop_front()
    }

    /// Whether all of the run is sent.
    fn send_run(&mut self) -> io::Result<bool> {
        while self.taken < self.run.len() {
            let rest = self.run[self.taken..].iter();
            let packet = |body: &Range<usize>| PacketBody { head: &[], payload: &self.bodies[body.clone()] };
            let mut packets = [PacketBody { head: &[], payload: &[] }; PACKETS_MAX];
            let mut count = 0;
            for (to, body) in packets.iter_mut().zip(rest) {
                *to = packet(body);
                count += 1;
            }
            match self.link.send(self.to, &packets[..count])? {
                0 => return Ok(false),
                taken => self.taken += taken,
            }
        }
        Ok(true)
    }

    fn want_room(&mut self, wanted: bool) -> io::Result<()> {
        if self.wants_room != wanted {
            self.wants_room = wanted;
            self.link.want_room(wanted)?;
        }
        Ok(())
    }

    /// Sleeps until something comes, the protocol has something to do, or so long.
    pub fn sleep(&mut self, ns_max: Nanos) {
        let now = self.now();
        let until = self.endpoint.poll_timeout().unwrap_or(Nanos::MAX);
        let ns = if self.wants_room { ns_max } else { until.saturating_sub(now).min(ns_max) };
        if ns > 0 {
            super::link::sleep(&self.link, ns);
        }
    }
}

/// How long to wait for room that the link tells of by itself, nanoseconds.
const ROOM_NS: Nanos = 10_000_000;

/// Packets handed to the link at once: a run of segments has 64.
const PACKETS_MAX: usize = 64;

fn destination(to: Destination) -> PacketDestination {
    match to {
        Destination::Rank(rank) => PacketDestination::Rank(rank),
        Destination::Group { id, addressed } => {
            PacketDestination::Group { group: PacketGroup(id.0), addressed: Addressed(addressed) }
        }
    }
}
