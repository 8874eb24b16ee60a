//! Whether multicast works among the hosts: found out once, in a time that is bounded ([`PROBE_MS`]).
//!
//! Every member multicasts hellos as long as the longest packet, each with the set of members that it has heard. It is
//! over when this member has heard all and all have heard it, or when the time is. What each has observed goes to all by a way
//! that is reliable, and the worst of it is the verdict: ranks that differed in it would wait for each other for ever.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use super::Nanos;
use super::link::{self, Addressed, ArrivedPacket, Link, PacketBody, PacketDestination, PacketGroup};
use crate::limits::{HELLO_MS, HELLO_MS_MAX, HELLO_NS_PER_MEMBER, PROBE_MS, PROBE_TIMES_MAX};
use tern_transport::Peer;

/// The group of hellos, which no other group is named.
pub const PROBE_GROUP: PacketGroup = PacketGroup((1 << 31) - 1);

const NS_PER_MS: Nanos = 1_000_000;

/// Times that a member says that it has heard all: once more than needed, since one may be lost.
const LAST_WORDS: u32 = 2;

/// One member's part, without a clock and sockets. All begin at about the same time.
pub struct Probe {
    me: Peer,
    /// In the order of their ranks.
    members: Vec<ProbeMember>,
    deadline: Nanos,
    /// When the next hello goes.
    hello_at: Nanos,
    /// Until the one after it.
    pause: Nanos,
    pause_min: Nanos,
    pause_max: Nanos,
    /// Bytes of a hello.
    bytes: usize,
    /// Everybody was heard.
    has_all: bool,
    /// Hellos that say so and are still due.
    last_words: u32,
}

struct ProbeMember {
    rank: Peer,
    heard: bool,
    has_heard_me: bool,
}

/// What one member, or all members, have observed at worst; as bytes it can be reduced over all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Observation {
    /// Members that were not heard; [`Observation::NO_LINK`] if there was nothing to hear with.
    pub unheard: u32,
    /// Who has not heard them.
    pub by: Peer,
    /// The first of them.
    pub first: Peer,
}

impl Observation {
    /// In the place of a number of members.
    pub const NO_LINK: u32 = u32::MAX;
    /// Bytes of an observation.
    pub const BYTES: usize = 12;

    /// A rank that has no link.
    pub fn no_link(by: Peer) -> Observation {
        Observation { unheard: Self::NO_LINK, by, first: by }
    }

    /// Whether multicast can be used.
    pub fn is_good(&self) -> bool {
        self.unheard == 0
    }

    /// The worse of two, the same whichever is first.
    pub fn or_worse(self, other: Observation) -> Observation {
        let key = |one: &Observation| (one.unheard, std::cmp::Reverse((one.by, one.first)));
        if key(&other) > key(&self) { other } else { self }
    }

    /// To be sent.
    pub fn bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        for (to, word) in bytes.chunks_exact_mut(4).zip([self.unheard, self.by, self.first]) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// As it came.
    pub fn of_bytes(bytes: &[u8; Self::BYTES]) -> Observation {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Observation { unheard: word(0), by: word(4), first: word(8) }
    }
}

impl fmt::Display for Observation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Observation { unheard, by, first } = self;
        match *unheard {
            0 => write!(out, "multicast works among all hosts"),
            Self::NO_LINK => write!(out, "rank {by} cannot open sockets for multicast"),
            1 => write!(out, "rank {by} did not hear a multicast of rank {first} in time"),
            _ => write!(
                out,
                "rank {by} did not hear multicasts of rank {first} and {} others in time",
                unheard - 1
            ),
        }
    }
}

impl Probe {
    /// Begins. `body_bytes` is the longest body that packets shall have. So many ranks take turns on a core, the same number
    /// everywhere: who waits for its turn hears nothing and says nothing.
    pub fn new(me: Peer, members: &[Peer], body_bytes: usize, ranks_per_core: u32, now: Nanos) -> Probe {
        let mut ranks = members.to_vec();
        ranks.sort_unstable();
        ranks.dedup();
        let place = ranks.iter().position(|rank| *rank == me).unwrap_or(0) as Nanos;
        let member = |rank| ProbeMember { rank, heard: rank == me, has_heard_me: rank == me };
        let spread = HELLO_NS_PER_MEMBER * ranks.len() as Nanos;
        let turns = Nanos::from(ranks_per_core.clamp(1, PROBE_TIMES_MAX));
        let pause_min = turns * HELLO_MS * NS_PER_MS + spread;
        Probe {
            me,
            members: ranks.into_iter().map(member).collect(),
            deadline: now + turns * PROBE_MS * NS_PER_MS,
            hello_at: now + place * HELLO_NS_PER_MEMBER,
            pause: pause_min,
            pause_min,
            pause_max: turns * HELLO_MS_MAX * NS_PER_MS + spread,
            bytes: body_bytes,
            has_all: false,
            last_words: LAST_WORDS,
        }
    }

    fn addressed(&self) -> Addressed {
        Addressed::of(self.members.iter().map(|member| member.rank))
    }

    /// Whether nothing more can be learned.
    pub fn is_over(&self, now: Nanos) -> bool {
        let is_done = |member: &ProbeMember| member.heard && member.has_heard_me;
        let is_alone = self.members.len() < 2;
        // Others may wait for the last words: who has gone says no more.
        let has_said = self.last_words == 0 || is_alone;
        now >= self.deadline || has_said && self.members.iter().all(is_done)
    }

    /// When to look again, if nothing comes.
    pub fn wakes_at(&self, now: Nanos) -> Nanos {
        if now < self.deadline { self.hello_at.min(self.deadline) } else { self.hello_at }
    }

    /// Writes a hello if one is due: the set of the members heard, one bit each, and zeros.
    pub fn hello(&mut self, now: Nanos, out: &mut Vec<u8>) -> bool {
        if now < self.hello_at || self.members.len() > 8 * self.bytes {
            return false;
        }
        self.hello_at = now + self.pause;
        self.pause = (2 * self.pause).min(self.pause_max);
        self.last_words -= u32::from(self.has_all && self.last_words > 0);
        out.clear();
        out.resize(self.bytes, 0);
        for (at, _) in self.members.iter().enumerate().filter(|(_, member)| member.heard) {
            out[at / 8] |= 1 << (at % 8);
        }
        true
    }

    /// A hello of another member. What is shorter is none: long packets do not come through.
    pub fn heard(&mut self, from: Peer, body: &[u8], now: Nanos) {
        let place = |rank| self.members.binary_search_by_key(&rank, |member| member.rank).ok();
        let (Some(at), Some(mine)) = (place(from), place(self.me)) else { return };
        if body.len() != self.bytes || mine / 8 >= body.len() {
            return;
        }
        self.members[at].heard = true;
        self.members[at].has_heard_me |= body[mine / 8] & (1 << (mine % 8)) != 0;
        if !self.has_all && self.members.iter().all(|member| member.heard) {
            self.has_all = true;
            self.hello_at = now;
            self.pause = self.pause_min;
        }
    }

    /// What has been observed.
    pub fn observation(&self) -> Observation {
        let mut unheard = self.members.iter().filter(|member| !member.heard);
        let first = unheard.next();
        let count = first.iter().count() + unheard.count();
        Observation { unheard: count as u32, by: self.me, first: first.map_or(self.me, |member| member.rank) }
    }
}

/// A probe over a link.
pub struct Probing {
    probe: Probe,
    start: Instant,
    hello: Vec<u8>,
}

impl Probing {
    /// Begins; the link joins the group of hellos, [`PROBE_GROUP`].
    pub fn new(link: &mut impl Link, me: Peer, members: &[Peer], ranks_per_core: u32) -> io::Result<Probing> {
        link.join(PROBE_GROUP)?;
        let probe = Probe::new(me, members, link.limits().body_bytes_max, ranks_per_core, 0);
        Ok(Probing { probe, start: Instant::now(), hello: Vec::new() })
    }

    fn now(&self) -> Nanos {
        self.start.elapsed().as_nanos() as Nanos
    }

    /// Says hello if it is time, and takes what has come; what else comes in the meantime is dropped: those who sent it send it
    /// again. Whether anything came.
    pub fn poll(&mut self, link: &mut impl Link) -> io::Result<bool> {
        let now = self.now();
        if self.probe.hello(now, &mut self.hello) {
            // Others on this node may listen to the same address.
            let to = PacketDestination::Group { group: PROBE_GROUP, addressed: self.probe.addressed() };
            link.send(to, &[PacketBody { head: &[], payload: &self.hello }])?;
        }
        let probe = &mut self.probe;
        let mut take = |arrival: ArrivedPacket<'_>| {
            if matches!(arrival.to, PacketDestination::Group { group: PROBE_GROUP, .. }) {
                probe.heard(arrival.from, arrival.body, now);
            }
        };
        Ok(link.receive(&mut take)? > 0)
    }

    /// Whether everybody has been heard, or the time is over. It may go on all the same, for those who began late.
    pub fn is_over(&self) -> bool {
        self.probe.is_over(self.now())
    }

    /// What has been observed until now.
    pub fn observation(&self) -> Observation {
        self.probe.observation()
    }

    /// When to poll again, if nothing comes.
    pub fn wakes_at(&self) -> Instant {
        self.start + Duration::from_nanos(self.probe.wakes_at(self.now()))
    }
}

/// Runs a probe over a link to its end, among ranks with cores of their own.
pub fn run(link: &mut impl Link, me: Peer, members: &[Peer]) -> io::Result<Observation> {
    let mut probing = Probing::new(link, me, members, 1)?;
    let observed = loop {
        let came = probing.poll(link)?;
        if probing.is_over() {
            break probing.observation();
        }
        if !came {
            let left = probing.wakes_at().saturating_duration_since(Instant::now());
            link::sleep(link, left.as_nanos() as Nanos);
        }
    };
    link.leave(PROBE_GROUP);
    Ok(observed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Probes of all members over a network that delivers after 0.1 ms, or not. Answers what each observed, and when it ended.
    fn probed(ranks: &[Peer], carries: &mut dyn FnMut(Peer, Peer) -> bool) -> Vec<(Observation, Nanos)> {
        let mut probes: Vec<_> = ranks.iter().map(|rank| Probe::new(*rank, ranks, 1000, 1, 0)).collect();
        let mut ends = vec![None; ranks.len()];
        let mut on_the_way: Vec<(Nanos, usize, Vec<u8>)> = Vec::new();
        for now in (0..).step_by(50_000) {
            let (due, later) = on_the_way.into_iter().partition(|(at, ..)| *at <= now);
            on_the_way = later;
            for (_, from, hello) in due {
                for (to, probe) in probes.iter_mut().enumerate() {
                    if to != from && carries(ranks[from], ranks[to]) {
                        probe.heard(ranks[from], &hello, now);
                    }
                }
            }
            for (at, probe) in probes.iter_mut().enumerate() {
                let mut hello = Vec::new();
                if ends[at].is_none() && probe.hello(now, &mut hello) {
                    on_the_way.push((now + 100_000, at, hello));
                }
                if probe.is_over(now) {
                    ends[at].get_or_insert(now);
                }
            }
            if ends.iter().all(Option::is_some) {
                break;
            }
        }
        probes.iter().map(Probe::observation).zip(ends.into_iter().flatten()).collect()
    }

    fn verdict(all: &[(Observation, Nanos)]) -> Observation {
        all.iter().map(|(observation, _)| *observation).reduce(Observation::or_worse).unwrap()
    }

    #[test]
    fn where_all_hear_all_it_takes_little_time() {
        for size in [1, 2, 8, 300] {
            let ranks: Vec<Peer> = (0..size).map(|at| 3 * at).collect();
            let all = probed(&ranks, &mut |_, _| true);
            assert!(verdict(&all).is_good());
            let worst = all.iter().map(|(_, end)| *end).max().unwrap();
            assert!(worst < 6_000_000 + Nanos::from(size) * 4 * HELLO_NS_PER_MEMBER, "{size}: {worst} ns");
        }
    }

    #[test]
    fn who_hears_nobody_is_named_within_the_time() {
        let all = probed(&[0, 1, 2, 3], &mut |from, to| from != 1 && to != 3);
        assert!(all.iter().all(|(_, end)| *end == PROBE_MS * NS_PER_MS));
        let text = verdict(&all).to_string();
        assert_eq!(text, "rank 3 did not hear multicasts of rank 0 and 2 others in time");
        let none = all[0].0.or_worse(Observation::no_link(2)).to_string();
        assert_eq!(none, "rank 2 cannot open sockets for multicast");
    }

    proptest! {
        #[test]
        fn a_lost_hello_is_no_verdict(seed: u64) {
            let mut state = seed | 1;
            let mut lost = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % 100 < 5
            };
            prop_assert!(verdict(&probed(&[0, 1, 2, 3], &mut |_, _| !lost())).is_good());
        }

        #[test]
        fn the_worst_is_the_same_in_any_order(words in prop::collection::vec(any::<[u32; 3]>(), 1..20)) {
            let of = |[unheard, by, first]: [u32; 3]| Observation { unheard: unheard % 3, by: by % 3, first: first % 3 };
            let all: Vec<_> = words.into_iter().map(of).collect();
            let forth = all.iter().copied().reduce(Observation::or_worse);
            prop_assert_eq!(forth, all.iter().rev().copied().reduce(Observation::or_worse));
            prop_assert_eq!(all[0], Observation::of_bytes(&all[0].bytes()));
        }

        #[test]
        fn any_bytes_are_heard_safely(from: u32, body in prop::collection::vec(any::<u8>(), 0..70)) {
            let mut probe = Probe::new(1, &[0, 1, 2], 64, 1, 0);
            probe.heard(from, &body, 5);
            prop_assert!(probe.observation().unheard >= 1);
        }
    }
}
