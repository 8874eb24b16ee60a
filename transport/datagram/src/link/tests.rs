//! Links of several ranks on loop-back. What needs hosts is in `tests/multicast.rs`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::*;
use crate::limits::*;

const GROUP: PacketGroup = PacketGroup(7);

/// Another for each job of each run of the tests: all share loop-back, and would hear each other.
fn secret() -> Vec<u8> {
    static JOBS: AtomicU32 = AtomicU32::new(0);
    let job = JOBS.fetch_add(1, Ordering::Relaxed);
    [std::process::id(), job].map(u32::to_ne_bytes).concat()
}

/// The ranks of a job, all on loop-back.
fn job(secret: &[u8], size: u32, change: impl Fn(&mut UdpConfig<'_>)) -> Option<Vec<UdpLink>> {
    job_at(Ipv4Addr::LOCALHOST.into(), secret, size, change)
}

/// `None`, with a message, where the kernel does not let us multicast.
fn job_at(
    address: IpAddr,
    secret: &[u8],
    size: u32,
    change: impl Fn(&mut UdpConfig<'_>),
) -> Option<Vec<UdpLink>> {
    let interface = Interface::towards(address).ok()?;
    let link = |me| {
        let mut config = UdpConfig::new(me, size, secret, interface.clone());
        change(&mut config);
        let mut link = UdpLink::new(&config)?;
        link.join(GROUP)?;
        Ok(link)
    };
    let mut links = (0..size)
        .map(link)
        .collect::<io::Result<Vec<_>>>()
        .inspect_err(|error| eprintln!("skipped: no multicast at {address}: {error}"))
        .ok()?;
    let addresses: Vec<_> = links.iter().map(|link| link.address().unwrap()).collect();
    for link in &mut links {
        (0..).zip(&addresses).for_each(|(rank, address)| link.set_peer(rank, *address));
    }
    Some(links)
}

#[test]
fn the_kernel_says_how_long_a_packet_has_waited() {
    let Some(mut links) = job(&secret(), 2, |_| {}) else { return };
    let payload = [7; 100];
    send_all(&mut links[0], PacketDestination::Rank(1), &[PacketBody { head: &[], payload: &payload }; 3]);
    std::thread::sleep(Duration::from_millis(30));
    let mut waited = Vec::new();
    links[1].receive(&mut |arrival: ArrivedPacket<'_>| waited.push(arrival.waited)).unwrap();
    let plausible = 25_000_000..10_000_000_000;
    assert!(waited.len() == 3 && waited.iter().all(|ns| plausible.contains(ns)), "{waited:?} ns");
}

fn group(ranks: &[Peer]) -> PacketDestination {
    PacketDestination::Group { group: GROUP, addressed: Addressed::of(ranks.iter().copied()) }
}

/// All that comes until it has been quiet for a while.
fn received(link: &mut impl Link) -> Vec<(Peer, PacketDestination, Vec<u8>)> {
    let mut all = Vec::new();
    let mut quiet = Instant::now();
    while quiet.elapsed() < Duration::from_millis(20) {
        let mut take =
            |arrival: ArrivedPacket<'_>| all.push((arrival.from, arrival.to, arrival.body.to_vec()));
        if link.receive(&mut take).unwrap() > 0 {
            quiet = Instant::now();
        }
    }
    all
}

fn send_all(link: &mut impl Link, to: PacketDestination, packets: &[PacketBody<'_>]) {
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut sent = 0;
    while sent < packets.len() {
        sent += link.send(to, &packets[sent..]).unwrap();
        assert!(Instant::now() < deadline, "only {sent} packets were taken");
    }
}

fn bodies(packets: &[PacketBody<'_>]) -> Vec<Vec<u8>> {
    packets.iter().map(|packet| [packet.head, packet.payload].concat()).collect()
}

#[test]
fn a_run_of_packets_arrives_whole_whichever_way_the_kernel_takes_it() {
    let payload: Vec<u8> = (0..100_000u32).map(|at| (at / 3) as u8).collect();
    for (segment, coalesce) in [(true, true), (true, false), (false, true), (false, false)] {
        let change = |config: &mut UdpConfig<'_>| {
            (config.segment, config.coalesce, config.datagram_bytes_max) = (segment, coalesce, 1472);
        };
        let Some(mut links) = job(&secret(), 3, change) else { return };
        let packets: Vec<_> =
            payload.chunks(1400).map(|payload| PacketBody { head: b"head", payload }).collect();
        for to in [PacketDestination::Rank(2), group(&[1, 2])] {
            send_all(&mut links[0], to, &packets);
            let came = received(&mut links[2]);
            assert!(came.iter().all(|(from, at, _)| (*from, *at) == (0, to)));
            assert_eq!(came.into_iter().map(|(_, _, body)| body).collect::<Vec<_>>(), bodies(&packets));
        }
        assert_eq!(links[0].is_segmenting(), segment, "loop-back can segment");
        assert_eq!(links[2].counters().received, 2 * packets.len() as u64);
    }
}

#[test]
fn a_kernel_that_cuts_no_datagrams_gets_packets() {
    let Some(mut links) = job(&secret(), 2, |config| config.datagram_bytes_max = 1472) else { return };
    // Without checksums it refuses to.
    tern_transport::sockopt::set_option(links[0].own.as_raw_fd(), libc::SOL_SOCKET, libc::SO_NO_CHECK, &1i32)
        .unwrap();
    let packets = [PacketBody { head: b"head", payload: &[1; 1000] }; 100];
    send_all(&mut links[0], PacketDestination::Rank(1), &packets);
    assert!(!links[0].is_segmenting());
    assert_eq!(received(&mut links[1]).len(), packets.len());
    assert_eq!((links[0].counters().sent, links[0].counters().refused), (100, 0));
}

#[test]
fn lengths_may_change_within_a_run() {
    let Some(mut links) = job(&secret(), 2, |_| ()) else { return };
    let full = links[0].limits().body_bytes_max;
    let payload = vec![3; full];
    let lengths = [0, 1, full, full, 17, full, 300, 300, 300, 299, 300];
    let packets: Vec<_> = lengths.map(|len| PacketBody { head: &[], payload: &payload[..len] }).into();
    send_all(&mut links[0], PacketDestination::Rank(1), &packets);
    let came: Vec<_> = received(&mut links[1]).into_iter().map(|(_, _, body)| body.len()).collect();
    assert_eq!(came, lengths);
}

#[test]
fn the_kernel_drops_multicasts_for_others_and_own_copies() {
    let Some(mut links) = job(&secret(), 4, |_| ()) else { return };
    let packet = [PacketBody { head: b"text", payload: &[] }];
    for _ in 0..5 {
        send_all(&mut links[0], group(&[1, 3]), &packet);
    }
    let came: Vec<_> = links.iter_mut().map(|link| received(link).len()).collect();
    assert_eq!(came, [0, 5, 0, 5]);
    for (link, filtered) in links.iter().zip([5, 0, 5, 0]) {
        assert_eq!((link.counters().filtered, link.counters().unwanted), (filtered, 0));
    }
}

#[test]
fn two_jobs_at_one_address_do_not_see_each_other() {
    let Some(mut ours) = job(&secret(), 2, |_| ()) else { return };
    let Some(mut theirs) = job(&secret(), 2, |_| ()) else { return };
    // The worst case: the same port and multicast addresses, and peers that are taken for each other.
    let (ours_at, theirs_at) = (ours[1].address().unwrap(), theirs[1].address().unwrap());
    theirs[0].set_peer(1, ours_at);
    theirs[0].groups = ours[0].groups.clone();
    let packet = [PacketBody { head: b"theirs", payload: &[] }];
    send_all(&mut theirs[0], group(&[1]), &packet);
    send_all(&mut theirs[0], PacketDestination::Rank(1), &packet);
    assert_eq!(received(&mut ours[1]), []);
    let counters = ours[1].counters();
    assert_eq!(
        (counters.filtered, counters.unwanted, counters.forged),
        (2, 0, 0),
        "all were dropped in the kernel"
    );
    ours[0].set_peer(1, theirs_at);
    send_all(&mut ours[0], PacketDestination::Rank(1), &packet);
    assert_eq!(received(&mut theirs[1]), []);
}

#[test]
fn forged_and_repeated_packets_are_dropped_and_counted() {
    let Some(mut links) = job(&secret(), 2, |_| ()) else { return };
    // A spy takes the place of rank 1, and so gets a genuine packet.
    let spy = UdpSocket::bind("127.0.0.1:0").unwrap();
    spy.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let rank_1 = links[1].address().unwrap();
    links[0].set_peer(1, spy.local_addr().unwrap());
    send_all(&mut links[0], PacketDestination::Rank(1), &[PacketBody { head: b"genuine", payload: &[] }]);
    let mut packet = [0; 200];
    let bytes = spy.recv(&mut packet).unwrap();
    let mut forged = packet;
    forged[HEAD_BYTES] ^= 1;
    for packet in [&forged[..bytes], &packet[..bytes], &packet[..bytes], &packet[..bytes - 1]] {
        spy.send_to(packet, rank_1).unwrap();
    }
    assert_eq!(received(&mut links[1]).len(), 1);
    let counters = links[1].counters();
    assert_eq!((counters.received, counters.forged, counters.replayed, counters.malformed), (1, 1, 1, 1));
}

#[test]
fn what_overruns_the_queue_is_counted() {
    let Some(mut links) = job(&secret(), 2, |_| ()) else { return };
    let payload = vec![0; links[0].limits().body_bytes_max];
    let packets = [PacketBody { head: &[], payload: &payload }; PACKETS_PER_CALL_MAX];
    let runs = 2 * RECEIVE_QUEUE_BYTES / (payload.len() * packets.len()) + 1;
    for _ in 0..2 * runs {
        send_all(&mut links[0], PacketDestination::Rank(1), &packets);
    }
    let sure = links[1].limits().receive_queue_bytes;
    let came = received(&mut links[1]).iter().map(|(_, _, body)| body.len()).sum::<usize>();
    assert!(came >= sure, "{came} bytes were kept, {sure} should be for sure");
    assert!(links[1].counters().overrun > 0, "{:?}", links[1].counters());
}

#[test]
fn a_rank_sleeps_until_a_packet_comes() {
    let Some(mut links) = job(&secret(), 2, |_| ()) else { return };
    assert!(!is_ready(links[1].fd(), 0));
    send_all(&mut links[0], PacketDestination::Rank(1), &[PacketBody { head: b"1", payload: &[] }]);
    assert!(is_ready(links[1].fd(), 5000));
    assert_eq!(received(&mut links[1]).len(), 1);
    send_all(&mut links[0], group(&[1]), &[PacketBody { head: b"2", payload: &[] }]);
    assert!(is_ready(links[1].fd(), 5000));
    assert_eq!(received(&mut links[1]).len(), 1);
    assert!(!is_ready(links[1].fd(), 0));
    links[1].want_room(true).unwrap();
    assert!(is_ready(links[1].fd(), 0), "there is room to send");
}

fn is_ready(fd: RawFd, timeout_ms: u64) -> bool {
    calls::wait(fd, timeout_ms * 1_000_000)
}

#[test]
fn whoever_leaves_a_group_hears_no_more_of_it() {
    let Some(mut links) = job(&secret(), 2, |_| ()) else { return };
    let same_address = PacketGroup(GROUP.0 + MULTICAST_ADDRESSES);
    links[1].join(same_address).unwrap();
    links[1].leave(GROUP);
    let packet = [PacketBody { head: b"text", payload: &[] }];
    send_all(&mut links[0], group(&[1]), &packet);
    assert_eq!(received(&mut links[1]).len(), 1, "another group listens there");
    links[1].leave(same_address);
    send_all(&mut links[0], group(&[1]), &packet);
    assert_eq!(received(&mut links[1]).len(), 0);
}

#[test]
fn ipv6_carries_the_same() {
    let Some(mut links) = job_at(Ipv6Addr::LOCALHOST.into(), &secret(), 3, |_| ()) else { return };
    let packet = [PacketBody { head: b"text", payload: b" and more" }; 3];
    send_all(&mut links[0], PacketDestination::Rank(1), &packet);
    assert_eq!(received(&mut links[1]).len(), 3);
    // Loop-back carries IPv6 multicasts on few machines. `tests/multicast.rs` has a network that does everywhere.
    send_all(&mut links[0], group(&[2]), &packet);
    if !received(&mut links[2]).is_empty() {
        assert_eq!(links[1].counters().filtered, 1, "a run is one datagram");
    }
}

#[test]
fn a_packet_to_nobody_is_lost_as_packets_are() {
    let Some(mut links) = job(&secret(), 3, |_| ()) else { return };
    let packet = [PacketBody { head: b"text", payload: &[] }];
    assert_eq!(links[0].send(PacketDestination::Rank(9), &packet).unwrap(), 1);
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    links[0].set_peer(1, closed);
    let nowhere: SocketAddr = "255.255.255.255:9".parse().unwrap();
    links[0].set_peer(2, nowhere);
    for rank in [1, 2, 1, 2] {
        assert_eq!(links[0].send(PacketDestination::Rank(rank), &packet).unwrap(), 1);
    }
    assert_eq!(received(&mut links[0]), []);
    assert!(links[0].counters().refused >= 3, "{:?}", links[0].counters());
}
