//! Ranks with something to say, and the oracle that knows what each must hear.

use crate::network::{Happening, Network, Weather};
use std::collections::VecDeque;
use std::ops::Range;
use tern_urtp::{Destination, GroupIndex, Nanos, SendError, UrtpConfig, UrtpEndpoint, UrtpEvent, WorldRank};

/// What a rank does, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Send {
        to: WorldRank,
        len: usize,
    },
    /// To the members whose index modulo 64 is a bit.
    Multicast {
        group: usize,
        addressed: u64,
        len: usize,
    },
    /// The group is held from now on, or no more; to multicast is to hold it.
    Hold(usize),
    Release(usize),
    Pause(Nanos),
}

/// What will happen.
pub(crate) struct Plan {
    pub(crate) config: UrtpConfig,
    pub(crate) weather: Weather,
    pub(crate) seed: u64,
    pub(crate) groups: Vec<Vec<WorldRank>>,
    /// Ranks hold their groups from the start.
    pub(crate) holds: bool,
    pub(crate) actions: Vec<Vec<Action>>,
    /// Whether each rank asks for what it waits for.
    pub(crate) expects: Vec<bool>,
    /// A rank that takes one packet in so many nanoseconds.
    pub(crate) slow: Option<(WorldRank, Nanos)>,
    /// A rank that is gone from some moment on.
    pub(crate) vanishes: Option<(WorldRank, Nanos)>,
    /// Ranks, a bit each, that hear no multicasts from some moment on.
    pub(crate) unreached: Option<(u64, Nanos)>,
    pub(crate) wall: Option<Wall>,
}

/// Drops all packets between some ranks.
pub(crate) struct Wall {
    /// Senders and receivers.
    pub(crate) pairs: Vec<(WorldRank, WorldRank)>,
    pub(crate) time: Range<Nanos>,
    /// How long a packet takes through the fallback tunnel.
    pub(crate) tunnel_ns: Nanos,
}

impl Plan {
    pub(crate) fn new(config: UrtpConfig, weather: Weather, seed: u64) -> Plan {
        let (groups, actions, expects) = (Vec::new(), Vec::new(), Vec::new());
        let (slow, vanishes, unreached, wall) = (None, None, None, None);
        Plan { config, weather, seed, groups, holds: true, actions, expects, slow, vanishes, unreached, wall }
    }
}

struct Rank {
    endpoint: UrtpEndpoint,
    /// Those that are held.
    groups: Vec<Option<GroupIndex>>,
    todo: VecDeque<Action>,
    resume_at: Nanos,
    /// What is to come from each rank: the numbers of messages.
    awaited: Vec<VecDeque<u32>>,
    /// Ranks of which something can be taken.
    ready: VecDeque<WorldRank>,
    wakes_at: Nanos,
    gone: bool,
}

pub(crate) struct World {
    plan: Plan,
    pub(crate) network: Network,
    ranks: Vec<Rank>,
    /// Messages so far.
    messages: u32,
    /// When the last was taken.
    pub(crate) heard_at: Nanos,
    buffer: Vec<u8>,
}

impl World {
    pub(crate) fn new(plan: Plan) -> World {
        let size = plan.config.size;
        let network = Network::new(size, plan.weather, plan.seed);
        let ranks = (0..size).map(|me| Rank::new(me, &plan)).collect();
        let buffer = vec![0; plan.config.body_bytes_max];
        World { plan, network, ranks, messages: 0, heard_at: 0, buffer }
    }

    pub(crate) fn endpoint(&self, rank: WorldRank) -> &UrtpEndpoint {
        &self.ranks[rank as usize].endpoint
    }

    /// Runs until everybody has everything, and has left.
    pub(crate) fn run(&mut self, time_max: Nanos) {
        self.deliver(time_max);
        self.leave();
    }

    /// Runs until everybody has everything, and the senders know. Returns when everybody had everything.
    pub(crate) fn deliver(&mut self, time_max: Nanos) -> Nanos {
        if let Some((rank, at)) = self.plan.vanishes {
            self.network.at(at, Happening::Vanish(rank));
        }
        (0..self.plan.config.size).for_each(|rank| self.turn(rank));
        while !self.is_done() {
            let event = self.network.next();
            assert!(event.is_some() && self.network.now < time_max, "stuck: {}", self.standing());
            self.happen(event.expect("an event"));
        }
        (0..self.plan.config.size).for_each(|rank| self.judge(rank));
        self.heard_at
    }

    fn is_done(&self) -> bool {
        self.ranks.iter().all(|rank| {
            let heard = || rank.awaited.iter().all(VecDeque::is_empty);
            rank.gone || (rank.todo.is_empty() && heard() && rank.endpoint.is_flushed())
        })
    }

    fn happen(&mut self, event: Happening) {
        let now = self.network.now;
        match event {
            Happening::Arrive { from, to, .. } if self.is_walled(from, to) => {}
            Happening::Tunnel { from, to, reachability, body } => {
                let endpoint = &mut self.ranks[to as usize].endpoint;
                endpoint.handle_tunneled(now, from, reachability, &body).expect("a packet of this version");
                self.turn(to);
            }
            Happening::Arrive { from, to, group, body } => {
                let rank = &mut self.ranks[to as usize];
                if rank.gone {
                    return;
                }
                let is_slow = self.plan.slow.is_some_and(|(slow, _)| slow == to);
                // Some receivers take what they can at once, and some not.
                let (at_once, mut heard) = (!is_slow && body.len() % 3 > 0, None);
                let mut take = |payload: &[u8]| {
                    heard = at_once.then(|| payload.to_vec());
                    at_once
                };
                let result = rank.endpoint.handle_late((now, 0), from, group, &body, &mut take);
                assert!(result.is_ok(), "{result:?} of {from} to {to}, group {group:?}: {body:?}");
                if let Some(heard) = heard {
                    self.hear(to, from, &heard);
                }
                self.turn(to);
            }
            Happening::Wake(rank) if self.ranks[rank as usize].wakes_at <= now => self.turn(rank),
            Happening::Wake(_) => {}
            Happening::Take(rank) => {
                self.take_one(rank);
                self.turn(rank);
            }
            Happening::Vanish(rank) => self.vanish(rank),
        }
    }

    /// A rank does what it can do now.
    fn turn(&mut self, rank: WorldRank) {
        if self.ranks[rank as usize].gone {
            return;
        }
        self.act(rank);
        self.collect(rank);
        self.transmit(rank);
        while let Some(UrtpEvent::Lost(lost)) = self.ranks[rank as usize].endpoint.poll_event() {
            assert!(self.ranks[lost as usize].gone, "rank {rank} has lost rank {lost}: {}", self.standing());
            // What waited for the lost one can go on.
            self.act(rank);
            self.transmit(rank);
        }
        let now = self.network.now;
        let (bound, r) = (self.plan.config.receive_buffers_max(), &mut self.ranks[rank as usize]);
        assert!(r.endpoint.held() <= bound, "{} buffers, not {bound}", r.endpoint.held());
        let pause = (!r.todo.is_empty() && r.resume_at > now).then_some(r.resume_at);
        if let Some(at) = r.endpoint.poll_timeout().into_iter().chain(pause).min() {
            // A deadline that has passed is not served again at the same moment.
            let at = at.max(now + 1);
            if at < r.wakes_at || r.wakes_at <= now {
                r.wakes_at = at;
                self.network.at(at, Happening::Wake(rank));
            }
        }
    }

    fn act(&mut self, rank: WorldRank) {
        while self.ranks[rank as usize].resume_at <= self.network.now {
            let Some(action) = self.ranks[rank as usize].todo.front().copied() else { return };
            let result = match action {
                Action::Pause(time) => {
                    self.ranks[rank as usize].resume_at = self.network.now + time;
                    Ok(())
                }
                Action::Send { to, len } => self.send(rank, to, len),
                Action::Multicast { group, addressed, len } => self.multicast(rank, group, addressed, len),
                Action::Hold(group) => {
                    self.hold(rank, group);
                    Ok(())
                }
                Action::Release(group) => {
                    self.release(rank, group);
                    Ok(())
                }
            };
            if result == Err(SendError::Full) {
                return;
            }
            result.expect("an action that is allowed");
            self.ranks[rank as usize].todo.pop_front();
        }
    }

    fn send(&mut self, rank: WorldRank, to: WorldRank, len: usize) -> Result<(), SendError> {
        let id = self.messages;
        let fill = |bytes: &mut [u8]| bytes.copy_from_slice(&message(id, len));
        self.ranks[rank as usize].endpoint.send(to, len + 4, fill)?;
        self.messages += 1;
        self.await_message(rank, to, id);
        Ok(())
    }

    fn multicast(
        &mut self,
        rank: WorldRank,
        group: usize,
        addressed: u64,
        len: usize,
    ) -> Result<(), SendError> {
        let id = self.messages;
        let wanted = |index: u32| addressed >> (index % 64) & 1 == 1;
        let index = self.hold(rank, group);
        self.ranks[rank as usize].endpoint.multicast(index, wanted, &message(id, len))?;
        self.messages += 1;
        let members = self.plan.groups[group].clone();
        for (index, to) in members.into_iter().enumerate() {
            if to != rank && wanted(index as u32) {
                self.await_message(rank, to, id);
            }
        }
        Ok(())
    }

    fn hold(&mut self, rank: WorldRank, group: usize) -> GroupIndex {
        let (members, r) = (&self.plan.groups[group], &mut self.ranks[rank as usize]);
        let index = r.endpoint.add_group(members).expect("a group of this rank");
        assert!(r.groups[group].is_none_or(|held| held == index), "a group that is held has ended");
        r.groups[group] = Some(index);
        index
    }

    fn release(&mut self, rank: WorldRank, group: usize) {
        let r = &mut self.ranks[rank as usize];
        if let Some(index) = r.groups[group].take() {
            r.endpoint.release_group(index);
        }
        r.endpoint
            .end_groups(|ended, _| assert!(!r.groups.contains(&Some(ended)), "a group that is held ends"));
    }

    /// Groups that each rank knows when all that can end have.
    pub(crate) fn end_groups(&mut self) -> Vec<usize> {
        let each = self.ranks.iter_mut().map(|rank| &mut rank.endpoint);
        each.map(|endpoint| {
            endpoint.end_groups(|_, _| {});
            endpoint.groups_known()
        })
        .collect()
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, time: Nanos) {
        let until = self.network.now + time;
        while self.network.now <= until {
            let Some(event) = self.network.next() else { return };
            self.happen(event);
        }
    }

    fn await_message(&mut self, from: WorldRank, to: WorldRank, id: u32) {
        let now = self.network.now;
        let gone = self.ranks[from as usize].gone;
        let receiver = &mut self.ranks[to as usize];
        if receiver.gone || gone {
            return;
        }
        receiver.awaited[from as usize].push_back(id);
        if self.plan.expects.get(to as usize) == Some(&true) {
            receiver.endpoint.expect_multicast(from, now);
            let at = receiver.endpoint.poll_timeout().unwrap_or(now);
            self.network.at(at, Happening::Wake(to));
            receiver.wakes_at = receiver.wakes_at.min(at.max(now + 1));
        }
    }

    /// Takes what has come; a slow rank later, one by one.
    fn collect(&mut self, rank: WorldRank) {
        let r = &mut self.ranks[rank as usize];
        while let Some(from) = r.endpoint.poll_ready() {
            r.ready.push_back(from);
            if let Some((_, time)) = self.plan.slow.filter(|(slow, _)| *slow == rank) {
                self.network.at(self.network.now + time, Happening::Take(rank));
            }
        }
        if self.plan.slow.is_none_or(|(slow, _)| slow != rank) {
            while self.take_one(rank) {}
        }
    }

    fn take_one(&mut self, rank: WorldRank) -> bool {
        let now = self.network.now;
        let r = &mut self.ranks[rank as usize];
        let Some(&from) = r.ready.front() else { return false };
        let mut heard = Vec::new();
        if r.gone || !r.endpoint.receive(from, |bytes| heard.extend_from_slice(bytes)) {
            r.ready.pop_front();
            return !r.ready.is_empty();
        }
        self.hear(rank, from, &heard);
        if let Some((_, time)) = self.plan.slow.filter(|(slow, _)| *slow == rank) {
            self.network.at(now + time, Happening::Take(rank));
        }
        true
    }

    /// Judges what a rank has taken.
    fn hear(&mut self, rank: WorldRank, from: WorldRank, heard: &[u8]) {
        let now = self.network.now;
        self.heard_at = now;
        let id = u32::from_le_bytes(heard[..4].try_into().expect("a number"));
        // What a rank that is gone had sent may come or not.
        if !self.ranks[from as usize].gone {
            let r = &mut self.ranks[rank as usize];
            let due = r.awaited[from as usize].pop_front();
            assert_eq!(due, Some(id), "rank {rank} hears from rank {from}");
            assert!(heard == message(id, heard.len() - 4), "the message has changed");
        }
        let more = &mut self.ranks[rank as usize];
        if !more.awaited[from as usize].is_empty() && self.plan.expects.get(rank as usize) == Some(&true) {
            more.endpoint.expect_multicast(from, now);
        }
    }

    fn transmit(&mut self, rank: WorldRank) {
        let now = self.network.now;
        let mut buffer = std::mem::take(&mut self.buffer);
        while let Some(transmit) = self.ranks[rank as usize].endpoint.poll_transmit(now, &mut buffer) {
            let body = &buffer[..transmit.len];
            match transmit.to {
                Destination::Rank(to) => {
                    self.network.send(rank, &[to], None, body);
                    if let (Some(reachability), Some(wall)) = (transmit.tunnel, &self.plan.wall) {
                        let (at, body) = (now + wall.tunnel_ns, body.into());
                        self.network.at(at, Happening::Tunnel { from: rank, to, reachability, body });
                    }
                }
                Destination::Group { id, addressed } => {
                    // The network's address has more listeners than the group: what the kernel would drop comes as well.
                    let unreached =
                        self.plan.unreached.filter(|(_, from)| *from <= now).map_or(0, |(ranks, _)| ranks);
                    let hears = |to: &WorldRank| {
                        *to != rank
                            && (*to >= 64 || unreached >> to & 1 == 0)
                            && (addressed >> (to % 64) & 1 == 1 || self.plan.seed % 2 == 0)
                    };
                    let all: Vec<_> = (0..self.plan.config.size).filter(hears).collect();
                    self.network.send(rank, &all, Some(id), body);
                }
            }
            // The window may have room for more.
            self.act(rank);
        }
        self.buffer = buffer;
    }

    fn is_walled(&self, from: WorldRank, to: WorldRank) -> bool {
        let Some(wall) = &self.plan.wall else { return false };
        wall.time.contains(&self.network.now) && wall.pairs.contains(&(from, to))
    }

    fn vanish(&mut self, rank: WorldRank) {
        self.ranks[rank as usize].gone = true;
        self.ranks.iter_mut().for_each(|other| other.awaited[rank as usize].clear());
        self.ranks[rank as usize].awaited.iter_mut().for_each(VecDeque::clear);
    }

    /// What an endpoint may have cost, whatever it met.
    fn judge(&self, rank: WorldRank) {
        let counters = self.endpoint(rank).counters();
        assert_eq!(counters.malformed, 0);
        assert!(counters.held_max <= self.plan.config.receive_buffers_max());
        let seconds = self.network.now / 1_000_000_000 + 1;
        let peers = u64::from(self.plan.config.size);
        // Each interval doubles up to half a second, so time alone costs few packets.
        let by_time = peers * (40 + 8 * seconds);
        let came = counters.accepted + counters.duplicates + counters.no_buffer + counters.outside;
        assert!(counters.requests <= 2 * came + by_time, "{} requests for {came} packets", counters.requests);
        let acks = counters.acks + counters.reports;
        assert!(acks <= 2 * came + counters.requests + by_time, "{acks} acknowledgements of {came} packets");
    }

    /// What all have sent has all been taken, unless somebody who counted is gone.
    fn judge_ahead(&self) {
        let count = |rank: &Rank| rank.endpoint.packets_ahead().filter(|_| !rank.gone);
        let ahead: Option<i64> = self.ranks.iter().map(count).sum();
        assert!(ahead.is_none_or(|ahead| ahead == 0), "{ahead:?} ahead: {}", self.standing());
    }

    /// Everybody leaves, at different moments, and nobody stays for ever.
    pub(crate) fn leave(&mut self) {
        self.judge_ahead();
        let size = self.plan.config.size;
        for rank in 0..size {
            let now = self.network.now;
            if !self.ranks[rank as usize].gone {
                self.ranks[rank as usize].endpoint.close(now);
                self.turn(rank);
            }
        }
        let end = self.network.now + 10_000_000_000;
        while let Some(event) = self.network.next() {
            self.happen(event);
            let now = self.network.now;
            self.ranks.iter_mut().for_each(|rank| rank.gone |= rank.endpoint.is_closed(now));
            if self.ranks.iter().all(|rank| rank.gone) {
                return;
            }
            assert!(now < end, "somebody cannot leave: {}", self.standing());
        }
        let closed = |rank: &Rank| rank.gone || rank.endpoint.is_closed(end);
        assert!(self.ranks.iter().all(closed), "somebody cannot leave: {}", self.standing());
    }

    fn standing(&self) -> String {
        let rank = |(me, rank): (usize, &Rank)| {
            let awaited: Vec<_> = rank.awaited.iter().map(VecDeque::len).collect();
            let flushed = rank.endpoint.is_flushed();
            format!(
                "rank {me}: gone {}, {} to do, awaits {awaited:?}, flushed {flushed}, {:?}\n",
                rank.gone,
                rank.todo.len(),
                rank.endpoint.counters()
            )
        };
        format!("{} ns\n{}", self.network.now, self.ranks.iter().enumerate().map(rank).collect::<String>())
    }
}

impl Rank {
    fn new(me: WorldRank, plan: &Plan) -> Rank {
        let config = UrtpConfig { me, seed: plan.seed ^ u64::from(me) << 32, ..plan.config.clone() };
        let mut endpoint = UrtpEndpoint::new(config);
        let add = |members: &Vec<WorldRank>| if plan.holds { endpoint.add_group(members) } else { None };
        let groups = plan.groups.iter().map(add).collect();
        let todo = plan.actions.get(me as usize).into_iter().flatten().copied().collect();
        let awaited = vec![VecDeque::new(); plan.config.size as usize];
        Rank {
            endpoint,
            groups,
            todo,
            resume_at: 0,
            awaited,
            ready: VecDeque::new(),
            wakes_at: Nanos::MAX,
            gone: false,
        }
    }
}

/// The bytes of a message: its number, and bytes that follow from it.
pub(crate) fn message(id: u32, len: usize) -> Vec<u8> {
    let mut bytes = id.to_le_bytes().to_vec();
    bytes.extend((0..len).map(|at| (id as usize + at) as u8));
    bytes
}
