//! What the network itself can do, to compare the reliable multicast with: packets to several hosts of a test network, nothing
//! repeated, nothing acknowledged. Needs root.
//!
//!     cargo run --release -p tern-datagram --example multicast [--hosts 8] [--rate 1gbit] [--kib 4096] [--repeat 5]

#[path = "common/hosts.rs"]
mod hosts;

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hosts::Hosts;
use tern_datagram::link::{
    self, Addressed, ArrivedPacket, Interface, Link, PacketBody, PacketDestination, PacketGroup, UdpConfig,
    UdpLink,
};
use tern_datagram::pacer::Pacer;

const GROUP: PacketGroup = PacketGroup(1);
const ETHER_FRAME_BYTES: u64 = 14;
/// What a receiver that hears nothing more has lost.
const QUIET: Duration = Duration::from_millis(60);

struct Options {
    hosts: u32,
    rate: String,
    bytes: usize,
    repeat: usize,
}

/// One way to send.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    datagram_bytes: usize,
    segment: bool,
    coalesce: bool,
    /// To keep to the network's rate.
    paced: bool,
    /// To all others, or to one.
    multicast: bool,
    /// Bytes that the kernel may queue on the sending host.
    queue_bytes: usize,
}

/// What the receivers of one transfer report.
#[derive(Default)]
struct Report {
    packets: AtomicU64,
    /// Since the start of the program.
    last_ns: AtomicU64,
}

fn main() {
    let options = options();
    let Some(hosts) = Hosts::new("mcast", options.hosts, &options.rate) else { std::process::exit(1) };
    println!(
        "{} KiB, {} hosts at {}; the median of {}",
        options.bytes >> 10,
        options.hosts,
        options.rate,
        options.repeat
    );
    println!("{:48} {:>9} {:>9} {:>8}", "", "ms", "MB/s", "lost %");
    let single = Way {
        name: "multicast, single datagrams of 1,472",
        datagram_bytes: 1472,
        segment: false,
        coalesce: false,
        paced: true,
        multicast: true,
        queue_bytes: 256 << 10,
    };
    let segmented = Way { name: "multicast, segments of 1,472", segment: true, coalesce: true, ..single };
    let unpaced = Way { paced: false, queue_bytes: 16 << 20, ..segmented };
    for way in [
        single,
        Way { name: "multicast, segments of 1,472, received singly", coalesce: false, ..segmented },
        segmented,
        Way { name: "multicast, segments of 1,472, not paced", ..unpaced },
        Way { name: "to one, single datagrams of 1,472", multicast: false, ..single },
        Way { name: "to one, segments of 1,472", multicast: false, ..segmented },
    ] {
        measure(&hosts, &options, way);
    }
    plain(&hosts, &options);
    hosts.set_mtu(9000);
    let long = Way { name: "multicast, datagrams of 8,972", datagram_bytes: 8972, ..single };
    measure(&hosts, &options, long);
    measure(
        &hosts,
        &options,
        Way { name: "multicast, segments of 8,972", segment: true, coalesce: true, ..long },
    );
}

fn options() -> Options {
    let mut options = Options { hosts: 8, rate: "1gbit".into(), bytes: 4 << 20, repeat: 5 };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match (name.as_str(), value.parse::<usize>()) {
            ("--rate", _) => options.rate = value,
            ("--hosts", Ok(hosts)) => options.hosts = hosts.clamp(2, 64) as u32,
            ("--kib", Ok(kib)) => options.bytes = kib.max(1) << 10,
            ("--repeat", Ok(repeat)) => options.repeat = repeat.max(1),
            _ => panic!("{name} {value}: see the head of the source for what can be asked"),
        }
    }
    options
}

/// Rates as `tc` writes them, in bytes a second; without a limit, faster than any.
fn bytes_per_s(rate: &str) -> u64 {
    let digits = rate.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &rate[digits.len()..] {
        "gbit" => 125_000_000,
        "mbit" => 125_000,
        _ => 1,
    };
    match digits.parse::<u64>() {
        Ok(number) if number > 0 => number * unit,
        _ => 1 << 40,
    }
}

fn measure(hosts: &Hosts, options: &Options, way: Way) {
    let start = Instant::now();
    let size = hosts.count();
    let addresses = Mutex::new(vec![None; size as usize]);
    let report = Report::default();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for rank in 1..size {
            let (addresses, report, stop) = (&addresses, &report, &stop);
            scope.spawn(move || receive(hosts, rank, way, start, addresses, report, stop));
        }
        let results = scope.spawn(|| send(hosts, options, way, start, &addresses, &report)).join();
        stop.store(true, Ordering::Relaxed);
        results.expect("the sender's end")
    });
}

fn open(hosts: &Hosts, rank: u32, way: Way) -> UdpLink {
    hosts.enter(rank + 1);
    let here = IpAddr::from([10, 83, 0, rank as u8 + 1]);
    let interface = Interface::with(here).expect("the host's interface");
    let mut config = UdpConfig::new(rank, hosts.count(), &[1; 32], interface);
    config.datagram_bytes_max = way.datagram_bytes;
    (config.segment, config.coalesce) = (way.segment, way.coalesce);
    config.local_ranks = false;
    config.send_queue_bytes = way.queue_bytes;
    UdpLink::new(&config).expect("a link")
}

fn receive(
    hosts: &Hosts,
    rank: u32,
    way: Way,
    start: Instant,
    addresses: &Mutex<Vec<Option<SocketAddr>>>,
    report: &Report,
    stop: &AtomicBool,
) {
    let mut link = open(hosts, rank, way);
    link.join(GROUP).expect("a multicast address");
    addresses.lock().unwrap()[rank as usize] = link.address().ok();
    while !stop.load(Ordering::Relaxed) {
        let mut packets = 0;
        if link.receive(&mut |_: ArrivedPacket<'_>| packets += 1).expect("packets") == 0 {
            link::sleep(&link, 20_000_000);
        }
        if packets > 0 {
            report.packets.fetch_add(packets, Ordering::Relaxed);
            report.last_ns.fetch_max(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
    }
}

fn send(
    hosts: &Hosts,
    options: &Options,
    way: Way,
    start: Instant,
    addresses: &Mutex<Vec<Option<SocketAddr>>>,
    report: &Report,
) {
    let mut link = open(hosts, 0, way);
    while addresses.lock().unwrap().iter().skip(1).any(Option::is_none) {
        thread::sleep(Duration::from_millis(1));
    }
    for (rank, address) in (0..).zip(addresses.lock().unwrap().iter()) {
        address.iter().for_each(|address| link.set_peer(rank, *address));
    }
    let to = match way.multicast {
        true => PacketDestination::Group { group: GROUP, addressed: Addressed::ALL },
        false => PacketDestination::Rank(1),
    };
    let data = vec![7; options.bytes];
    let packets: Vec<_> =
        data.chunks(link.limits().body_bytes_max).map(|payload| PacketBody { head: &[], payload }).collect();
    let receivers = if way.multicast { u64::from(hosts.count()) - 1 } else { 1 };
    let expected = packets.len() as u64 * receivers;
    let rate = if way.paced { bytes_per_s(&options.rate) } else { 1 << 40 };
    let mut results = Vec::new();
    for _ in 0..=options.repeat {
        report.packets.store(0, Ordering::Relaxed);
        let began = start.elapsed();
        transfer(&mut link, to, &packets, rate);
        while report.packets.load(Ordering::Relaxed) < expected {
            let last = Duration::from_nanos(report.last_ns.load(Ordering::Relaxed)).max(began);
            if start.elapsed() > last + QUIET {
                break;
            }
            thread::sleep(Duration::from_micros(200));
        }
        let ns = report.last_ns.load(Ordering::Relaxed).saturating_sub(began.as_nanos() as u64);
        results.push((ns, report.packets.load(Ordering::Relaxed)));
    }
    // The first one learned the addresses of Ethernet.
    results.remove(0);
    results.sort_unstable();
    let (ns, came) = results[results.len() / 2];
    show(way.name, options.bytes, ns, came as f64 / expected as f64);
}

fn transfer(link: &mut UdpLink, to: PacketDestination, packets: &[PacketBody<'_>], rate: u64) {
    let cost = link.limits().packet_cost_bytes;
    let start = Instant::now();
    let now = || start.elapsed().as_nanos() as u64;
    let mut pacer = Pacer::new(rate, 128 << 10, 0);
    let mut rest = packets;
    while let Some(first) = rest.first() {
        let wire = (first.bytes() + cost) as u64;
        // Datagrams of as many segments as the kernel takes; not one by one whenever a byte is allowed.
        let least = rest.len().min((60_000 / wire) as usize) as u64 * wire;
        link::sleep(link, pacer.ready_at(least).saturating_sub(now()));
        let allowed = (pacer.allowance(now()) / wire) as usize;
        if allowed == 0 {
            continue;
        }
        let sent = link.send(to, &rest[..allowed.min(rest.len())]).expect("a network");
        pacer.spend(sent as u64 * wire, now());
        rest = &rest[sent..];
        if sent == 0 {
            link.want_room(true).expect("a descriptor");
            link::sleep(link, 1_000_000);
            link.want_room(false).expect("a descriptor");
        }
    }
}

fn show(name: &str, bytes: usize, ns: u64, came: f64) {
    let rate = bytes as f64 * came * 1e3 / ns as f64;
    println!("{name:48} {:9.1} {rate:9.1} {:8.2}", ns as f64 / 1e6, 100.0 * (1.0 - came));
}

/// The same bytes from one socket of the standard library to another: UDP without all that.
fn plain(hosts: &Hosts, options: &Options) {
    let datagrams = options.bytes.div_ceil(1472) as u64;
    let rate = bytes_per_s(&options.rate);
    thread::scope(|scope| {
        let (ready, address) = std::sync::mpsc::channel();
        let receiver = scope.spawn(move || {
            hosts.enter(2);
            let socket = UdpSocket::bind("10.83.0.2:0").expect("a socket");
            socket.set_read_timeout(Some(QUIET)).expect("a time");
            ready.send(socket.local_addr().expect("an address")).expect("a sender");
            let (mut block, mut came, mut first, mut last) = ([0; 2048], 0, None, Instant::now());
            while came < datagrams {
                match socket.recv(&mut block) {
                    Ok(_) => (came, last) = (came + 1, Instant::now()),
                    Err(_) if came > 0 => break,
                    Err(_) => continue,
                }
                first.get_or_insert(last);
            }
            (last - first.unwrap_or(last), came)
        });
        let to = address.recv().expect("the receiver's address");
        scope.spawn(move || {
            hosts.enter(1);
            let socket = UdpSocket::bind("10.83.0.1:0").expect("a socket");
            let (start, block) = (Instant::now(), [7; 1472]);
            let wire = 1472 + 28 + ETHER_FRAME_BYTES;
            let mut pacer = Pacer::new(rate, 128 << 10, 0);
            for _ in 0..datagrams {
                while pacer.allowance(start.elapsed().as_nanos() as u64) < wire {}
                pacer.spend(wire, start.elapsed().as_nanos() as u64);
                socket.send_to(&block, to).expect("a network");
            }
        });
        let (time, came) = receiver.join().expect("the receiver's end");
        let part = came as f64 / datagrams as f64;
        show("to one, plain sockets, datagrams of 1,472", options.bytes, time.as_nanos() as u64, part);
    });
}
