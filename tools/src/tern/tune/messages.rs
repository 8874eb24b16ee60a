//! The costs of messages on this machine, as parameters of `tern sim`: LogGP for the levels that a machine has by
//! itself, ranks that share a core and ranks of one machine.

use std::fmt::Write;

use super::jobs::{Jobs, Setup, Time};
use super::progress::Progress;

/// Repetitions; of each number the least counts, since all that disturbs makes it longer.
const REPETITIONS: usize = 3;

/// Jobs that [`measure`] runs.
pub const JOBS: u64 = 5 * REPETITIONS as u64;

const KIB: u64 = 1024;

/// Ranks on cores of their own, all messages at once: two copies, through memory that both share.
const EAGER: Setup = Setup { options: &["--bind-to", "core"], settings: &[("TERN_GET_MIN", "1g")] };
/// Large messages are copied by the receiver.
const GET: Setup = Setup { options: &["--bind-to", "core"], settings: &[("TERN_RENDEZVOUS", "get")] };
/// Large messages are copied by both.
const SHARE: Setup = Setup { options: &["--bind-to", "core"], settings: &[("TERN_RENDEZVOUS", "both")] };
/// Both ranks wherever the calling thread may run: on one core.
const CROWDED: Setup = Setup { options: &[], settings: &[] };

/// Sizes of messages at once: what a byte takes is measured in the middle of them, since larger ones are fetched.
const EAGER_SIZES: [u64; 2] = [8, 2 * KIB];
/// Sizes of large messages; the slope between the last two is the price of a byte, and what the first of them takes beyond
/// its bytes that of the beginning.
const LARGE_SIZES: [u64; 4] = [8, 8 * KIB, 64 * KIB, 1024 * KIB];

/// Numbers by name and bytes, the least of all repetitions, seconds.
#[derive(Debug, Default)]
struct Least(Vec<Time>);

/// Measures, each number for so many seconds in each repetition; what a file for `tern sim` says of it.
pub fn measure(jobs: &Jobs, point_s: f64, progress: &Progress) -> Result<String, String> {
    let on = |setup: &Setup, sizes: &[u64], what: &str| {
        repeat(progress, what, || jobs.messages(setup, sizes, point_s))
    };
    let compute = repeat(progress, "a rank's own work", || jobs.compute(point_s))?;
    let eager = on(&EAGER, &EAGER_SIZES, "messages at once")?;
    let get = on(&GET, &LARGE_SIZES, "messages that the receiver gets")?;
    let share = on(&SHARE, &LARGE_SIZES, "messages that both sides copy")?;
    let core = on_one_core(|| on(&CROWDED, &EAGER_SIZES[..1], "ranks on one core"))?;
    Ok(text(&compute, &eager, &get, &share, &core))
}

fn repeat(
    progress: &Progress,
    what: &str,
    mut run: impl FnMut() -> Result<Vec<Time>, String>,
) -> Result<Least, String> {
    let mut least = Least::default();
    for _ in 0..REPETITIONS {
        progress.step(what);
        run()?.into_iter().for_each(|time| least.take(time));
    }
    Ok(least)
}

/// Runs something with this thread, and so the processes that it starts, bound to one core.
fn on_one_core<T>(run: impl FnOnce() -> T) -> T {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let Ok(before) = sched_getaffinity(None) else { return run() };
    let first = (0..CpuSet::MAX_CPU).find(|cpu| before.is_set(*cpu)).unwrap_or(0);
    let mut one = CpuSet::new();
    one.set(first);
    // If this is refused, what is measured is what two ranks have anyway.
    let _ = sched_setaffinity(None, &one);
    let outcome = run();
    let _ = sched_setaffinity(None, &before);
    outcome
}

impl Least {
    fn take(&mut self, (name, bytes, seconds): Time) {
        match self.0.iter_mut().find(|known| known.0 == name && known.1 == bytes) {
            Some(known) => known.2 = known.2.min(seconds),
            None => self.0.push((name, bytes, seconds)),
        }
    }

    /// A number in nanoseconds.
    fn ns(&self, name: &str, bytes: u64) -> f64 {
        let found = self.0.iter().find(|known| known.0 == name && known.1 == bytes);
        found.map_or(0.0, |known| known.2 * 1e9)
    }

    /// Time of one way, nanoseconds.
    fn one_way(&self, bytes: u64) -> f64 {
        self.ns("round-trip", bytes) / 2.0
    }

    /// What a byte more takes, between two sizes.
    fn per_byte(&self, small: u64, large: u64) -> f64 {
        ((self.one_way(large) - self.one_way(small)) / (large - small) as f64).max(0.0)
    }
}

fn text(compute: &Least, eager: &Least, get: &Least, share: &Least, core: &Least) -> String {
    let byte = |name| compute.ns(name, 64 * KIB) / (64 * KIB) as f64;
    let [_, first, small, large] = LARGE_SIZES;
    let get_per_byte = get.per_byte(small, large);
    let (send, receive) = (eager.ns("send-overhead", 8), eager.ns("recv-overhead", 8));
    // The sender's offer comes first, and the receiver's answer leaves before it goes on.
    let get_start = get.one_way(first) - get_per_byte * first as f64 - get.one_way(8) - send;
    let host = [
        ("latency_ns", (eager.one_way(8) - send - receive).max(0.0)),
        ("overhead_send_ns", send),
        ("overhead_receive_ns", receive),
        ("gap_ns", eager.ns("gap", 8)),
        ("gap_per_byte_ns", eager.per_byte(EAGER_SIZES[0], EAGER_SIZES[1])),
        ("get_ns", get_start.max(0.0)),
        ("get_per_byte_ns", get_per_byte),
        ("share_per_byte_ns", share.per_byte(small, large)),
    ];
    let core_send = core.ns("send-overhead", 8);
    // On one core nothing travels: the time of one way is that of the two ranks, and of the switch between them.
    let core = [
        ("latency_ns", 0.0),
        ("overhead_send_ns", core_send),
        ("overhead_receive_ns", (core.one_way(8) - core_send).max(0.0)),
    ];
    let compute = [
        ("call_ns", compute.ns("call", 8)),
        ("reduce_per_byte_ns", byte("local-sum")),
        ("copy_per_byte_ns", byte("copy")),
    ];
    let mut text = section("[compute]", &compute);
    text += &section("[[level]]\nname = \"host\"", &host);
    text += &section("[[level]]\nname = \"core\"", &core);
    text
}

fn section(head: &str, numbers: &[(&str, f64)]) -> String {
    let mut text = format!("\n{head}\n");
    for (name, number) in numbers {
        let _ = writeln!(text, "{name} = {number:.4}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn least(times: &[(&str, u64, f64)]) -> Least {
        let mut least = Least::default();
        times.iter().for_each(|(name, bytes, us)| least.take((name.to_string(), *bytes, us * 1e-6)));
        least
    }

    #[test]
    fn the_least_of_all_repetitions_counts() {
        let eager = least(&[
            ("round-trip", 8, 0.9),
            ("round-trip", 8, 0.6),
            ("round-trip", 8, 0.7),
            ("send-overhead", 8, 0.05),
            ("recv-overhead", 8, 0.1),
            ("round-trip", 2 * KIB, 0.6 + 2.0 * 2.04),
        ]);
        let get = least(&[
            ("round-trip", 8, 0.6),
            ("round-trip", 8 * KIB, 3.0),
            ("round-trip", 64 * KIB, 10.0),
            ("round-trip", 1024 * KIB, 160.0),
        ]);
        let text = text(&Least::default(), &eager, &get, &get, &least(&[("round-trip", 8, 4.0)]));
        // 1,500 less 625 for the bytes, 300 for the offer, 50 for the answer.
        let start = "get_ns = 525.0000";
        for expected in
            [start, "latency_ns = 150.0000", "gap_per_byte_ns = 1.0000", "get_per_byte_ns = 0.0763"]
        {
            assert!(text.contains(expected), "{expected} in {text}");
        }
        assert!(text.ends_with("overhead_receive_ns = 2000.0000\n"), "{text}");
        let params = tern_sim::Params::parse(&text).expect("what tern sim reads");
        assert!((params.levels[1].latency_ns - 150.0).abs() < 0.01, "{params:?}");
    }
}
