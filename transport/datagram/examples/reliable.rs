//! What the reliable multicast takes on a test network: a broadcast until the last receiver has it all. Needs root.
//!
//!     cargo run --release -p tern-datagram --example reliable [HOSTS [KIB [LOSS-PERCENT [RATE-BYTES-PER-S]]]]

#[path = "common/channels.rs"]
mod channels;
#[path = "common/hosts.rs"]
mod hosts;

use std::sync::Mutex;
use std::time::Instant;

use channels::{on_all, payload, send_to_all};
use hosts::Hosts;

const REPEAT: usize = 9;

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|text| text.parse().expect("a number")).collect();
    let number = |at: usize, usual| numbers.get(at).copied().unwrap_or(usual);
    let (count, bytes) = (number(0, 8) as u32, (number(1, 4096) << 10) as usize);
    let (loss, rate) = (number(2, 0) as u32, number(3, 125_000_000));
    let Some(hosts) = Hosts::new("mrel", count, "1gbit") else { std::process::exit(1) };
    if loss > 0 && !(1..=count).all(|host| hosts.lose(host, loss)) {
        std::process::exit(1);
    }
    let begun = Mutex::new(Instant::now());
    let runs = on_all(&hosts, rate, |rank| {
        let (data, mut got) = (payload(0, bytes), Vec::with_capacity(bytes));
        let mut times = Vec::new();
        for _ in 0..REPEAT {
            got.clear();
            rank.meet();
            if rank.me == 0 {
                *begun.lock().unwrap() = Instant::now();
                send_to_all(rank, &data);
            }
            while rank.me != 0 && got.len() < bytes {
                rank.receive(0, &mut got);
            }
            times.push(begun.lock().unwrap().elapsed());
            rank.until(|channel| channel.endpoint.is_flushed().then_some(()));
            rank.meet();
        }
        (times, *rank.channel.endpoint.counters(), rank.link_counters())
    });
    let mut last: Vec<_> =
        (0..REPEAT).map(|at| runs.iter().map(|(times, ..)| times[at]).max().expect("ranks")).collect();
    last.sort_unstable();
    let ms = |at: usize| last[at].as_secs_f64() * 1e3;
    println!(
        "{} KiB to {} hosts, {loss} % lost: median {:.2} ms, {:.2} to {:.2}",
        bytes >> 10,
        count - 1,
        ms(REPEAT / 2),
        ms(0),
        ms(REPEAT - 1)
    );
    println!("root: {:?}\n      {:?}", runs[0].1, runs[0].2);
    println!("rank 1: {:?}\n        {:?}", runs[1].1, runs[1].2);
}
