//! Ranks within this process, over UDP on loop-back.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::super::link::{
    ArrivedPacket, Interface, LinkCounters, LinkLimits, PacketBody, PacketGroup, UdpConfig, UdpLink,
};
use super::*;
use tern_transport::conformance::{self, ConformanceWorld, Keeper, buf_of, header, pattern, send};

/// Jobs on the same addresses are told apart by their secrets; all tests have jobs of their own.
fn secret() -> [u8; 32] {
    static JOBS: AtomicU64 = AtomicU64::new(0);
    let mut secret = [7; 32];
    secret[..8].copy_from_slice(&JOBS.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    secret[8..12].copy_from_slice(&std::process::id().to_le_bytes());
    secret
}

const MANNER: Manner =
    Manner { pace_first: PACE_LOOP_BACK_BYTES_PER_S, pace_most: PACE_LOOP_BACK_BYTES_PER_S, parity: 0 };

/// A link that loses one packet in so many of those that come, without a pattern, and may not listen to further addresses.
struct Lossy {
    link: UdpLink,
    one_in: u64,
    random: u64,
    may_join: bool,
    /// Groups to which it listens.
    listens: Arc<AtomicU64>,
}

impl Link for Lossy {
    fn limits(&self) -> LinkLimits {
        self.link.limits()
    }
    fn send(
        &mut self,
        to: super::super::link::PacketDestination,
        packets: &[PacketBody<'_>],
    ) -> io::Result<usize> {
        self.link.send(to, packets)
    }
    fn receive(&mut self, take: &mut dyn FnMut(ArrivedPacket<'_>)) -> io::Result<usize> {
        let (random, one_in) = (&mut self.random, self.one_in);
        self.link.receive(&mut |arrival| {
            *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if one_in == 0 || (*random >> 33) % one_in > 0 {
                take(arrival);
            }
        })
    }
    fn join(&mut self, group: PacketGroup) -> io::Result<()> {
        if !self.may_join {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.listens.fetch_add(1, Ordering::Relaxed);
        self.link.join(group)
    }
    fn leave(&mut self, group: PacketGroup) {
        self.listens.fetch_sub(1, Ordering::Relaxed);
        self.link.leave(group);
    }
    fn fd(&self) -> std::os::fd::RawFd {
        self.link.fd()
    }
    fn want_room(&mut self, wanted: bool) -> io::Result<()> {
        self.link.want_room(wanted)
    }
    fn pace(&mut self, bytes_per_s: u64) {
        self.link.pace(bytes_per_s);
    }
    fn counters(&self) -> LinkCounters {
        self.link.counters()
    }
}

fn job(size: u32, datagram_bytes_max: usize, one_in: u64) -> Vec<Urtp> {
    job_that_may_join(size, datagram_bytes_max, one_in, |_| true)
}

fn job_that_may_join(
    size: u32,
    datagram_bytes_max: usize,
    one_in: u64,
    may_join: impl Fn(Peer) -> bool,
) -> Vec<Urtp> {
    let listens = Arc::default();
    job_that_listens(size, datagram_bytes_max, one_in, may_join, &listens)
}

/// All its ranks count together to how many groups they listen.
fn job_that_listens(
    size: u32,
    datagram_bytes_max: usize,
    one_in: u64,
    may_join: impl Fn(Peer) -> bool,
    listens: &Arc<AtomicU64>,
) -> Vec<Urtp> {
    let interface = Interface::with(IpAddr::V4(Ipv4Addr::LOCALHOST)).unwrap();
    let secret = secret();
    let rank = |me| {
        let config = UdpConfig { datagram_bytes_max, ..UdpConfig::new(me, size, &secret, interface.clone()) };
        let link = UdpLink::new(&config).unwrap();
        let (random, may_join, listens) = (u64::from(me) + 1, may_join(me), listens.clone());
        let link = Lossy { link, one_in, random, may_join, listens };
        Urtp::new(Box::new(link), me, size, MANNER, Arc::new(SocketBell::new().unwrap()))
    };
    (0..size).map(rank).collect()
}

fn poll_until(
    ranks: &mut [Urtp],
    keepers: &mut [Keeper],
    mut so: impl FnMut(&mut [Urtp], &[Keeper]) -> bool,
) {
    let until = Instant::now() + Duration::from_secs(30);
    while !so(ranks, keepers) {
        for (rank, keeper) in ranks.iter_mut().zip(keepers.iter_mut()) {
            rank.poll(keeper);
            assert_eq!(rank.failure(), None);
        }
        assert!(Instant::now() < until, "it never comes to pass");
    }
}

fn keepers(count: usize) -> Vec<Keeper> {
    (0..count).map(|_| Keeper::default()).collect()
}

struct Pair<const DATAGRAM: usize, const LOSS: u64>(Vec<Urtp>, Keeper);

impl<const DATAGRAM: usize, const LOSS: u64> ConformanceWorld for Pair<DATAGRAM, LOSS> {
    type Transport = Urtp;
    fn new() -> Self {
        Pair(job(2, DATAGRAM, LOSS), Keeper::default())
    }
    fn sender(&mut self) -> (&mut Urtp, Peer) {
        (&mut self.0[0], 1)
    }
    fn receiver(&mut self) -> (&mut Urtp, Peer) {
        (&mut self.0[1], 0)
    }
    fn help(&mut self) -> bool {
        self.0[0].poll(&mut self.1);
        !self.0[0].is_flushed()
    }
}

mod ethernet {
    use super::*;
    conformance::conformance_tests!(Pair<1472, 0>);
}
mod jumbo {
    use super::*;
    conformance::conformance_tests!(Pair<8972, 0>);
}
mod with_loss {
    use super::*;
    conformance::conformance_tests!(Pair<1472, 20>);
}

/// Multicasts one message after the other; all others get them in order, whatever was sent to them alone in between.
fn multicasts(mut ranks: Vec<Urtp>) {
    let mut keepers = keepers(4);
    let members = [0, 1, 2, 3];
    let groups: Vec<_> = ranks.iter_mut().map(|rank| rank.multicast_group(&members)).collect();
    let group = groups[0].as_ref().unwrap();
    assert!(groups.iter().all(|other| other.as_ref() == Some(group)));
    let lengths = [0, 8, 40, 41, 1300, 5000, 100_000, 1_000_000, 17, 300_000];
    let mut bodies: Vec<_> = lengths.iter().enumerate().map(|(seed, len)| pattern(seed, *len)).collect();
    let mut kept = Vec::new();
    for (seed, body) in bodies.iter_mut().enumerate() {
        let to: &[Peer] = if seed % 2 == 0 { &[1, 2, 3] } else { &[3, 1] };
        let (len, token) = (body.len(), Token(seed as u64));
        let body = buf_of(body);
        let mut taken = Err(Full);
        poll_until(&mut ranks, &mut keepers, |ranks, _| {
            let am = Am { header: header(seed), extended: &[], body: &body, offset: 0, len };
            taken = ranks[0].multicast(group, to, &am, token);
            taken.is_ok()
        });
        if taken == Ok(Taken::Kept) {
            kept.push(token);
        }
        poll_until(&mut ranks, &mut keepers, |ranks, _| {
            send(&mut ranks[0], 2, 100 + seed, &mut pattern(seed, 50)).is_ok()
        });
    }
    poll_until(&mut ranks, &mut keepers, |ranks, keepers| {
        let all = [0, 10, 5 + 10, 10];
        let has_all = keepers.iter().zip(all).all(|(keeper, count)| keeper.received.len() == count);
        has_all && ranks[0].is_flushed()
    });
    let mut done: Vec<_> = keepers[0].done.iter().map(|(token, _)| *token).collect();
    done.sort_by_key(|token| token.0);
    assert_eq!(done, kept, "who lends memory gets it back");
    assert!(!kept.is_empty(), "a megabyte does not fit in a window");
    for (rank, keeper) in keepers.iter().enumerate().skip(1) {
        for message in keeper.received.iter().filter(|message| message.header.tag < 100) {
            let seed = message.header.tag as usize;
            assert_eq!(message.payload, pattern(seed, lengths[seed]), "message {seed} at rank {rank}");
            assert!(seed % 2 == 0 || rank != 2, "it is not for this rank");
        }
    }
}

#[test]
fn multicasts_reach_those_they_are_for() {
    multicasts(job(4, 1472, 0));
}

#[test]
fn multicasts_survive_loss() {
    multicasts(job(4, 1472, 10));
}

/// The system allows a socket so many addresses (`igmp_max_memberships`). All ranks must answer alike whether they multicast.
#[test]
fn multicasts_reach_those_who_may_not_listen() {
    multicasts(job_that_may_join(4, 1472, 0, |rank| rank != 1));
}

#[test]
fn ranks_in_another_order_are_the_same_group() {
    let mut rank = job(4, 1472, 0).remove(1);
    let first = rank.multicast_group(&[0, 1, 2]).unwrap();
    assert_eq!(rank.multicast_group(&[2, 0, 1]), Some(first.clone()));
    assert_ne!(rank.multicast_group(&[3, 1, 2]), Some(first.clone()));
    assert_eq!(rank.multicast_group(&[1, 2, 0]), Some(first));
}

/// Rank 0 and others, a bit for each.
fn some_with_rank_0(bits: u32) -> Vec<Peer> {
    (0..14).filter(|peer| *peer == 0 || bits >> (peer - 1) & 1 == 1).collect()
}

#[test]
fn ranks_that_nobody_multicasts_to_any_more_are_forgotten() {
    let listens = Arc::default();
    let mut rank = job_that_listens(14, 1472, 0, |_| true, &listens).remove(0);
    let members = |bits| some_with_rank_0(bits);
    let held: Vec<_> = (1..100).map(|bits| rank.multicast_group(&members(bits)).unwrap()).collect();
    for turn in 0..2 {
        for bits in 100..1 << 13 {
            assert!(rank.multicast_group(&members(bits)).is_some(), "turn {turn}");
            let known = rank.channel.endpoint.groups_known();
            assert!(known < 1200, "{known} groups are known of {bits}");
        }
    }
    for (bits, group) in (1..100).zip(&held) {
        assert_eq!(rank.multicast_group(&members(bits)).as_ref(), Some(group));
    }
    let known = rank.channel.endpoint.groups_known() as u64;
    assert!(known > 100, "some may come again soon");
    assert_eq!(listens.load(Ordering::Relaxed), known);
    let again = rank.multicast_group(&members((1 << 13) - 1)).unwrap();
    assert_eq!(rank.channel.endpoint.groups_known() as u64, known, "the last one is still known");
    assert!(!held.contains(&again));
}

/// Its memory is sent without a copy until the last packet is in the protocol's buffers.
#[test]
fn a_message_on_its_way_goes_on_when_nobody_wants_its_group() {
    let (mut ranks, mut keepers) = (job(4, 1472, 0), keepers(4));
    let mut bytes = pattern(1, 1_000_000);
    let body = buf_of(&mut bytes);
    let am = Am { header: header(1), extended: &[], body: &body, offset: 0, len: 1_000_000 };
    let [group, ..] = [0, 1, 2].map(|rank| ranks[rank].multicast_group(&[0, 1, 2]).unwrap());
    assert_eq!(ranks[0].multicast(&group, &[1, 2], &am, Token(3)), Ok(Taken::Kept));
    let index = ranks[0].multicast_groups.group(&group);
    drop(group);
    let Urtp { multicast_groups, outbox, .. } = &mut ranks[0];
    assert!(multicast_groups.take_unwanted(|group| outbox.sends_to(group)).is_empty());
    poll_until(&mut ranks, &mut keepers, |_, keepers| {
        keepers[1].received.len() + keepers[2].received.len() == 2
    });
    let Urtp { multicast_groups, outbox, .. } = &mut ranks[0];
    assert_eq!(multicast_groups.take_unwanted(|group| outbox.sends_to(group)), [index]);
    assert!(keepers[1..3].iter().all(|keeper| keeper.received[0].payload == pattern(1, 1_000_000)));
}

#[test]
fn two_long_messages_to_one_rank_come_one_after_the_other() {
    let mut ranks = job(2, 1472, 0);
    let mut keepers = keepers(2);
    let mut bodies = [pattern(1, 2_000_000), pattern(2, 900_000)];
    for (seed, body) in bodies.iter_mut().enumerate() {
        let len = body.len();
        let body = buf_of(body);
        poll_until(&mut ranks, &mut keepers, |ranks, _| {
            let am = Am { header: header(seed), extended: &[], body: &body, offset: 0, len };
            ranks[0].send_zero_copy(1, &am, Some(Token(seed as u64))).is_ok()
        });
    }
    poll_until(&mut ranks, &mut keepers, |_, keepers| {
        keepers[1].received.len() == 2 && keepers[0].done.len() == 2
    });
    for (message, body) in keepers[1].received.iter().zip(&bodies) {
        assert!(message.payload == *body);
    }
}

#[test]
fn ranks_learn_where_the_others_are_and_the_probe_finds_them() {
    // In one thread: of several, one may not get a core for as long as a probe lasts.
    let (mut ranks, mut keepers) = (job(3, 1472, 0), keepers(3));
    for rank in &mut ranks {
        rank.begin_probe(&[0, 1, 2], 1).unwrap();
    }
    poll_until(&mut ranks, &mut keepers, |ranks, _| ranks.iter().all(Urtp::has_probed));
    let observed: Vec<_> = ranks.iter().map(|rank| rank.observed().unwrap()).collect();
    assert!(observed.iter().all(Observation::is_good), "{observed:?}");
}

#[test]
fn a_hello_to_one_who_has_found_out_is_no_fault() {
    let (mut ranks, mut keepers) = (job(3, 1472, 0), keepers(3));
    for rank in &mut ranks[..2] {
        rank.begin_probe(&[0, 1], 1).unwrap();
    }
    // Rank 0 is the first to say it, and loop-back delivers at once, so that the hello waits for rank 1.
    ranks[0].poll(&mut keepers[0]);
    ranks[1].end_probe();
    for (rank, keeper) in ranks.iter_mut().zip(&mut keepers) {
        rank.poll(keeper);
    }
    let received: Vec<u64> = ranks.iter().map(|rank| rank.counters().0.received).collect();
    assert_eq!(received, [0, 1, 0]);
    assert!(ranks.iter().all(|rank| rank.counters().1.malformed == 0));
}

#[test]
fn who_waits_for_a_lost_multicast_asks_for_it_while_the_sender_sleeps() {
    let mut ranks = job(2, 1472, 3);
    let mut keepers = keepers(2);
    let group = ranks[0].multicast_group(&[0, 1]).unwrap();
    let _known = ranks[1].multicast_group(&[0, 1]).unwrap();
    for seed in 0..40 {
        let mut body = pattern(seed, 100);
        let body = buf_of(&mut body);
        let am = Am { header: header(seed), extended: &[], body: &body, offset: 0, len: 100 };
        assert_eq!(ranks[0].multicast(&group, &[1], &am, Token(0)), Ok(Taken::Copied));
        ranks[1].expect_multicast(0);
        poll_until(&mut ranks, &mut keepers, |_, keepers| keepers[1].received.len() == seed + 1);
    }
    poll_until(&mut ranks, &mut keepers, |ranks, _| ranks[0].is_flushed());
    poll_until(&mut ranks, &mut keepers, |ranks, _| ranks.iter().all(|rank| !rank.has_unsent()));
}

/// No socket tells of messages that have been read from it: whoever sleeps before they are handed up sleeps for good.
#[test]
fn what_has_come_is_handed_up_at_each_poll_however_long_nothing_else_comes() {
    let mut ranks = job(2, 1472, 0);
    let (mut sender, mut receiver) = (Keeper::default(), Keeper::default());
    receiver.one_by_one = true;
    (0..20).for_each(|seed| send(&mut ranks[0], 1, seed, &mut pattern(seed, 8)).unwrap());
    let until = Instant::now() + Duration::from_secs(30);
    while !ranks[1].has_unsignaled() && Instant::now() < until {
        ranks[0].poll(&mut sender);
        ranks[1].poll(&mut receiver);
    }
    ranks[1].interest = 0;
    let before = receiver.received.len();
    assert!(ranks[1].has_unsignaled() && before < 20);
    for count in before..20 {
        assert_eq!(receiver.received.len(), count);
        assert!(ranks[1].poll_if_due(&mut receiver, false));
    }
    assert_eq!(receiver.received.len(), 20);
}
