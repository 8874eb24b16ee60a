//! What it saves that the kernel drops packets for others (MPI-CCL section 3.3, figure 3): one rank of a test network multicasts to
//! half of the hosts, and the other half listens to the same address for multicasts of its own, which do not come. Needs root.
//!
//!     cargo run --release -p tern-datagram --example unneeded [--hosts 8] [--rate 1gbit] [--kib 4096]

#[path = "common/hosts.rs"]
mod hosts;

use std::net::IpAddr;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hosts::Hosts;
use tern_datagram::link::{
    self, Addressed, ArrivedPacket, Interface, Link, LinkCounters, PacketBody, PacketDestination, PacketGroup,
};
use tern_datagram::link::{UdpConfig, UdpLink};
use tern_datagram::pacer::Pacer;

/// Its receivers are hosts of the first half. A job has 16 multicast addresses; here all listen to one.
const GROUP: PacketGroup = PacketGroup(1);
/// Bytes of a short packet.
const SHORT: usize = 64;
/// Short packets: as many as a second of small collectives.
const SHORT_PACKETS: usize = 5000;
/// Short packets a second, so that each comes alone and wakes whom it reaches.
const SHORT_PER_S: u64 = 10_000;

#[derive(Clone, Copy)]
struct Load {
    name: &'static str,
    packets: usize,
    bytes: usize,
    /// Bytes a second, and how many may go at once.
    pace: (u64, u64),
}

/// What one rank has to tell.
#[derive(Clone, Copy, Default)]
struct Told {
    counters: LinkCounters,
    /// Processor time of the rank's thread.
    cpu: Duration,
}

fn main() {
    let (count, rate, kib) = options();
    let Some(hosts) = Hosts::new("unneed", count, &rate) else { std::process::exit(1) };
    println!(
        "one host of {count} multicasts to {} others, and as many listen to the same address",
        count / 2 - 1
    );
    println!("{:36} {:>9} {:>9} {:>9} {:>12}", "", "for them", "dropped", "reached", "CPU of each");
    let long = Load {
        name: "long, segments of 1,424",
        packets: (kib << 10) / 1424,
        bytes: 1424,
        pace: (125_000_000, 128 << 10),
    };
    let pace = (SHORT_PER_S * SHORT as u64, SHORT as u64);
    let short = Load { name: "short, one by one", packets: SHORT_PACKETS, bytes: SHORT, pace };
    for load in [long, short] {
        for filter in [true, false] {
            let told = measure(&hosts, load, filter);
            let bystanders = &told[told.len() / 2..];
            let name = format!("{}{}", load.name, if filter { "" } else { ", no filter" });
            let each = |number: fn(&Told) -> u64| {
                bystanders.iter().map(number).sum::<u64>() / bystanders.len() as u64
            };
            let cpu = each(|told| told.cpu.as_micros() as u64);
            let (dropped, reached) =
                (each(|told| told.counters.filtered), each(|told| told.counters.unwanted));
            println!("{name:36} {:9} {dropped:9} {reached:9} {:9.1} ms", load.packets, cpu as f64 / 1e3);
        }
    }
}

fn options() -> (u32, String, usize) {
    let (mut hosts, mut rate, mut kib) = (8, "1gbit".to_string(), 4096);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match (name.as_str(), value.parse::<usize>()) {
            ("--rate", _) => rate = value,
            ("--hosts", Ok(count)) => hosts = count.clamp(4, 64) as u32,
            ("--kib", Ok(size)) => kib = size.max(1),
            _ => panic!("{name} {value}: see the head of the source for what can be asked"),
        }
    }
    (hosts, rate, kib)
}

fn measure(hosts: &Hosts, load: Load, filter: bool) -> Vec<Told> {
    let size = hosts.count();
    let (ready, over) = (Barrier::new(size as usize), AtomicBool::new(false));
    thread::scope(|scope| {
        let (ready, over) = (&ready, &over);
        let rank = |rank| move || play(hosts, rank, load, filter, ready, over);
        let all: Vec<_> = (0..size).map(|at| scope.spawn(rank(at))).collect();
        all.into_iter().map(|rank| rank.join().expect("a rank's end")).collect()
    })
}

fn play(hosts: &Hosts, rank: u32, load: Load, filter: bool, ready: &Barrier, over: &AtomicBool) -> Told {
    hosts.enter(rank + 1);
    let here = IpAddr::from([10, 83, 0, rank as u8 + 1]);
    let interface = Interface::with(here).expect("the host's interface");
    let config = UdpConfig { filter, ..UdpConfig::new(rank, hosts.count(), &[1; 32], interface) };
    let mut link = UdpLink::new(&config).expect("a link");
    link.join(GROUP).expect("a multicast address");
    ready.wait();
    let before = cpu_time();
    if rank == 0 {
        send(&mut link, load, hosts.count() / 2);
        // The last packets are on their way.
        thread::sleep(Duration::from_millis(50));
        over.store(true, Ordering::Relaxed);
    } else {
        while !over.load(Ordering::Relaxed) {
            if link.receive(&mut |_: ArrivedPacket<'_>| ()).expect("packets") == 0 {
                link::sleep(&link, 20_000_000);
            }
        }
    }
    Told { counters: link.counters(), cpu: cpu_time() - before }
}

/// To the ranks below `below`.
fn send(link: &mut UdpLink, load: Load, below: u32) {
    let to = PacketDestination::Group { group: GROUP, addressed: Addressed::of(1..below) };
    let payload = vec![7; load.bytes.min(link.limits().body_bytes_max)];
    let packets = vec![PacketBody { head: &[], payload: &payload }; load.packets];
    let start = Instant::now();
    let now = || start.elapsed().as_nanos() as u64;
    let mut pacer = Pacer::new(load.pace.0, load.pace.1, 0);
    let run = (load.pace.1 / 2).max(load.bytes as u64) as usize / load.bytes;
    let mut rest = &packets[..];
    while !rest.is_empty() {
        let next = run.min(rest.len());
        link::sleep(link, pacer.ready_at((next * load.bytes) as u64).saturating_sub(now()));
        let sent = link.send(to, &rest[..next]).expect("a network");
        pacer.spend((sent * load.bytes) as u64, now());
        rest = &rest[sent..];
    }
}

fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time, which lives during the call.
    let answer = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(answer, 0, "the kernel counts the time of threads");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
