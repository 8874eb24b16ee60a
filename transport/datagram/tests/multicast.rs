//! Links between hosts of a test network. Without root, which network namespaces need, these tests say so and do nothing.

#[path = "../examples/common/hosts.rs"]
mod hosts;

use std::net::IpAddr;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use hosts::Hosts;
use tern_datagram::link::{
    self, Addressed, ArrivedPacket, EtherConfig, EtherLink, Interface, Link, PacketBody, PacketDestination,
    PacketGroup, UdpConfig, UdpLink,
};
use tern_datagram::pacer::Pacer;
use tern_datagram::probe::{self, Observation};
use tern_transport::Peer;

const GROUP: PacketGroup = PacketGroup(3);
const OURS: [u8; 32] = [1; 32];
const THEIRS: [u8; 32] = [2; 32];
/// More than any of it takes.
const LIMIT: Duration = Duration::from_secs(20);

/// Where ranks wait for each other.
struct Room {
    size: usize,
    come: Mutex<usize>,
    more: Condvar,
}

impl Room {
    fn meet(&self) {
        let mut come = self.come.lock().unwrap();
        *come += 1;
        let round = come.div_ceil(self.size) * self.size;
        self.more.notify_all();
        let (_come, late) = self.more.wait_timeout_while(come, LIMIT, |come| *come < round).unwrap();
        assert!(!late.timed_out(), "another rank did not come");
    }
}

/// Runs a rank on every host, each in a thread of its own.
fn ranks<T: Send>(hosts: &Hosts, rank: impl Fn(Peer, &Room) -> T + Sync) -> Vec<T> {
    let room = Room { size: hosts.count() as usize, come: Mutex::new(0), more: Condvar::new() };
    thread::scope(|scope| {
        let start = |me| {
            let (rank, room) = (&rank, &room);
            scope.spawn(move || {
                hosts.enter(me + 1);
                rank(me, room)
            })
        };
        let all: Vec<_> = (0..hosts.count()).map(start).collect();
        all.into_iter().map(|rank| rank.join().expect("a rank's end")).collect()
    })
}

fn address(rank: Peer, v6: bool) -> IpAddr {
    // The script's addresses are decimal digits in both.
    let text = if v6 { format!("fd83::{}", rank + 1) } else { format!("10.83.0.{}", rank + 1) };
    text.parse().unwrap()
}

/// A link whose peers do not know each other's ports yet.
fn udp(me: Peer, size: u32, secret: &[u8], v6: bool, change: impl Fn(&mut UdpConfig<'_>)) -> UdpLink {
    let interface = Interface::towards(address((me + 1) % size, v6)).unwrap();
    assert_eq!((interface.name.as_str(), interface.address), ("eth0", address(me, v6)));
    let mut config = UdpConfig::new(me, size, secret, interface);
    change(&mut config);
    let mut link = UdpLink::new(&config).unwrap();
    link.join(GROUP).unwrap();
    link
}

fn group(ranks: &[Peer]) -> PacketDestination {
    PacketDestination::Group { group: GROUP, addressed: Addressed::of(ranks.iter().copied()) }
}

fn send_all(link: &mut impl Link, to: PacketDestination, packets: &[PacketBody<'_>]) {
    let start = Instant::now();
    let mut sent = 0;
    while sent < packets.len() {
        match link.send(to, &packets[sent..]).unwrap() {
            0 => thread::sleep(Duration::from_micros(100)),
            more => sent += more,
        }
        assert!(start.elapsed() < LIMIT, "only {sent} packets were taken");
    }
}

/// Packets and bytes that come until there are so many, and then until it has been quiet for so long.
fn received(link: &mut impl Link, awaited: usize, quiet_ms: u64) -> (usize, usize) {
    let (mut packets, mut bytes) = (0, 0);
    let (start, mut last) = (Instant::now(), Instant::now());
    let is_awaited = |packets| packets < awaited && start.elapsed() < LIMIT;
    while is_awaited(packets) || last.elapsed() < Duration::from_millis(quiet_ms) {
        let mut take =
            |arrival: ArrivedPacket<'_>| (packets, bytes) = (packets + 1, bytes + arrival.body.len());
        if link.receive(&mut take).unwrap() > 0 {
            last = Instant::now();
        }
        link::sleep(link, 1_000_000);
    }
    (packets, bytes)
}

/// Packets that come to each rank by [`multicast_and_send`].
const COMES: [usize; 4] = [0, 100, 100, 10];

/// Rank 0 multicasts to ranks 1 and 2 of four, then sends to rank 3 alone.
fn multicast_and_send(me: Peer, room: &Room, link: &mut impl Link) -> (usize, usize) {
    let payload = vec![me as u8; link.limits().body_bytes_max - 4];
    let packets = [PacketBody { head: b"head", payload: &payload }; 100];
    room.meet();
    if me == 0 {
        send_all(link, group(&[1, 2]), &packets);
        send_all(link, PacketDestination::Rank(3), &packets[..10]);
    }
    received(link, COMES[me as usize], 150)
}

fn udp_of_all(me: Peer, room: &Room, ports: &Mutex<Vec<std::net::SocketAddr>>, v6: bool) -> UdpLink {
    let mut link = udp(me, 4, &OURS, v6, |_| ());
    ports.lock().unwrap().push(link.address().unwrap());
    room.meet();
    for at in ports.lock().unwrap().iter() {
        (0..4).filter(|rank| address(*rank, v6) == at.ip()).for_each(|rank| link.set_peer(rank, *at));
    }
    link
}

#[test]
fn packets_reach_those_they_address() {
    let Some(hosts) = Hosts::new("mudp", 4, "0") else { return };
    for v6 in [false, true] {
        let ports = Mutex::new(Vec::new());
        let got = ranks(&hosts, |me, room| {
            let mut link = udp_of_all(me, room, &ports, v6);
            let full = link.limits().body_bytes_max;
            let (packets, bytes) = multicast_and_send(me, room, &mut link);
            assert_eq!(bytes, packets * full);
            (packets, link.counters())
        });
        let packets: Vec<_> = got.iter().map(|(packets, _)| *packets).collect();
        assert_eq!(packets, COMES);
        let unwanted = got[3].1;
        assert!(unwanted.filtered > 0, "the kernel drops what is for others: {unwanted:?}");
        assert_eq!((unwanted.unwanted, unwanted.received), (0, 10));
        let clean = |(_, counters): &(usize, link::LinkCounters)| counters.overrun + counters.forged == 0;
        assert!(got.iter().all(clean), "{got:?}");
    }
}

#[test]
fn ethernet_frames_do_the_same() {
    let Some(hosts) = Hosts::new("meth", 4, "0") else { return };
    let addresses = Mutex::new(Vec::new());
    let got = ranks(&hosts, |me, room| {
        let interface = Interface::with(address(me, false)).unwrap();
        let mut link = EtherLink::new(&EtherConfig { me, size: 4, secret: &OURS, interface }).unwrap();
        link.join(GROUP).unwrap();
        addresses.lock().unwrap().push((me, link.address()));
        room.meet();
        addresses.lock().unwrap().iter().for_each(|(rank, at)| link.set_peer(*rank, *at));
        assert_eq!(link.limits().body_bytes_max, 1452, "no headers of IP");
        let got = multicast_and_send(me, room, &mut link);
        room.meet();
        if me == 0 {
            send_all(&mut link, PacketDestination::Rank(1), &[PacketBody { head: b"1", payload: &[] }]);
        }
        (got, received(&mut link, usize::from(me == 1), 100), link.counters())
    });
    let packets: Vec<_> = got.iter().map(|((packets, _), ..)| *packets).collect();
    assert_eq!(packets, COMES);
    assert_eq!(got[1].1, (1, 1), "the padding of a short frame is cut off");
    assert!(got.iter().all(|(.., counters)| counters.unwanted + counters.malformed == 0), "{got:?}");
}

#[test]
fn two_jobs_on_one_network_do_not_see_each_other() {
    let Some(hosts) = Hosts::new("mjobs", 2, "0") else { return };
    let counters = ranks(&hosts, |me, room| {
        let mut ours = udp(me, 2, &OURS, false, |_| ());
        let mut theirs = udp(me, 2, &THEIRS, false, |_| ());
        let mut frames = [&OURS, &THEIRS].map(|secret| {
            let interface = Interface::with(address(me, false)).unwrap();
            let mut link = EtherLink::new(&EtherConfig { me, size: 2, secret, interface }).unwrap();
            link.join(GROUP).unwrap();
            link
        });
        let packet = [PacketBody { head: b"text", payload: &[] }; 7];
        room.meet();
        if me == 0 {
            send_all(&mut ours, group(&[1]), &packet);
            send_all(&mut theirs, group(&[1]), &packet[..5]);
            send_all(&mut frames[0], group(&[1]), &packet[..3]);
            send_all(&mut frames[1], group(&[1]), &packet[..2]);
        }
        let [one, two] = &mut frames;
        let come = if me == 0 { [0; 4] } else { [7, 5, 3, 2] };
        let came = [
            received(&mut ours, come[0], 100),
            received(&mut theirs, come[1], 100),
            received(one, come[2], 100),
            received(two, come[3], 100),
        ];
        assert_eq!(came.map(|(packets, _)| packets), come);
        [ours.counters(), theirs.counters(), one.counters(), two.counters()]
    });
    assert!(counters.as_flattened().iter().all(|counters| counters.unwanted + counters.forged == 0));
}

/// Sends 4 MiB to rank 1 at so many bytes a second. Answers how many packets were lost.
fn lost_at(hosts: &Hosts, bytes_per_s: u64) -> usize {
    let data = vec![0; 4 << 20];
    let came = ranks(hosts, |me, room| {
        let mut link = udp(me, 2, &OURS, false, |config| config.send_queue_bytes = 16 << 20);
        room.meet();
        let cost = link.limits().packet_cost_bytes;
        let packets: Vec<_> = data
            .chunks(link.limits().body_bytes_max)
            .map(|payload| PacketBody { head: &[], payload })
            .collect();
        if me == 0 {
            let start = Instant::now();
            let now = || start.elapsed().as_nanos() as u64;
            let mut pacer = Pacer::new(bytes_per_s, 64 << 10, 0);
            for run in packets.chunks(20) {
                let wire = run.iter().map(|packet| (packet.bytes() + cost) as u64).sum();
                thread::sleep(Duration::from_nanos(pacer.ready_at(wire).saturating_sub(now())));
                pacer.spend(wire, now());
                send_all(&mut link, group(&[1]), run);
            }
        }
        (received(&mut link, usize::from(me == 1), 300).0, packets.len())
    });
    came[1].1 - came[1].0
}

#[test]
fn a_burst_beyond_the_queue_of_the_network_is_dropped_and_a_paced_one_is_not() {
    let Some(hosts) = Hosts::new("mpace", 2, "200mbit") else { return };
    let burst = lost_at(&hosts, 10_000_000_000);
    assert!(burst > 500, "the queue holds a third of it, but only {burst} packets were dropped");
    assert_eq!(lost_at(&hosts, 24_000_000), 0);
}

#[test]
fn a_probe_finds_out_whether_multicast_works() {
    let Some(hosts) = Hosts::new("mprobe", 4, "1gbit") else { return };
    let members = [0, 1, 2, 3];
    let probe = |cut: Option<Peer>| {
        let all = ranks(&hosts, |me, room| {
            let mut link = udp(me, 4, &OURS, false, |_| ());
            room.meet();
            if me == 0 {
                cut.iter().for_each(|rank| hosts.cable(rank + 1, false));
            }
            room.meet();
            let start = Instant::now();
            (probe::run(&mut link, me, &members).unwrap(), start.elapsed())
        });
        let worst = all.iter().map(|(observation, _)| *observation).reduce(Observation::or_worse).unwrap();
        (worst, all.iter().map(|(_, time)| *time).max().unwrap())
    };
    // On a machine that may be busy, with ranks that may come late: one of many is as it should be.
    let early = (0..20).any(|_| {
        let (good, time) = probe(None);
        good.is_good() && time < Duration::from_millis(50)
    });
    assert!(early, "multicast works, and that is found out before the time is over");
    let (bad, time) = probe(Some(2));
    assert_eq!(bad.to_string(), "rank 2 did not hear multicasts of rank 0 and 2 others in time");
    assert!(time < LIMIT, "{time:?}");
}
