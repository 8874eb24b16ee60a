//! The costs of messages on this machine, as parameters of `tern sim`: LogGP for the levels that a machine has by
//! itself, ranks that share a core and ranks of one machine; and those of the memory that the latter share.

use std::fmt::Write;

use tern_coll::{Algorithm, Collective};
use tern_sim::params::{SHARE_NEAR_BYTES, TEAM_NEAR_BYTES};
use tern_transport::shm::share_chunks;

use super::jobs::{Jobs, Run, Setup, Time, row_for_all};
use super::least::Least;
use super::progress::Progress;

/// Repetitions for a file that is kept.
pub const REPETITIONS: u64 = 3;

/// Jobs that [`measure`] runs in one repetition.
pub const JOBS: u64 = 11;

const KIB: u64 = 1024;

/// Ranks on cores of their own.
const EAGER: Setup = Setup { options: &["--bind-to", "core"], settings: &[] };
/// Large messages are copied by the receiver.
const GET: Setup = Setup { options: &["--bind-to", "core"], settings: &[("TERN_RENDEZVOUS", "get")] };
/// Large messages are copied by both.
const SHARE: Setup = Setup { options: &["--bind-to", "core"], settings: &[("TERN_RENDEZVOUS", "both")] };
/// Both ranks wherever the calling thread may run: on one core.
const CROWDED: Setup = Setup { options: &[], settings: &[] };

/// Sizes of messages at once: one line; some lines; as many as go by lines at all.
const EAGER_SIZES: [u64; 3] = [8, 128, 4 * KIB];
/// Sizes of messages that the receiver gets: the slope between them is the price of a byte, what the first takes beyond
/// its bytes that of the beginning.
const GET_SIZES: [u64; 2] = [8 * KIB, 64 * KIB];
/// Sizes of messages that each rank copies for itself, since the other has its own to copy, without and with bytes beyond
/// [`CACHE_BYTES`]. A ping-pong of gets would not do here: what its receiver has just written lies modified in the cache of
/// its core, however long it is, from where it comes more slowly than from the cache that both cores share. Ranks that copy
/// long messages alone have computed in between.
const EXCHANGE_SIZES: [u64; 2] = [CACHE_BYTES, 1024 * KIB];
/// Sizes of messages that both copy: the slope between the first two is the price of a byte, what the first takes beyond
/// its bytes is for dividing the message and for what lies in the nearest cache of one side; the last has bytes beyond [`CACHE_BYTES`].
const SHARE_SIZES: [u64; 3] = [SHARE_NEAR_BYTES, CACHE_BYTES, 1024 * KIB];

/// Sizes of blocks that two ranks pass each other in their team's memory: in the flag's line; in two lines; as many as have the
/// higher price of a byte, [`TEAM_NEAR_BYTES`].
const TEAM_SIZES: [u64; 3] = [8, 128, TEAM_NEAR_BYTES];
/// Sizes of sums of which each rank adds up a slice there.
const SLICED_SIZES: [u64; 2] = [16 * KIB, 128 * KIB];

/// Up to so many bytes the buffers of a message, or of a sum, stay in a core's own cache: an eighth of a usual one, since
/// a call has two to four of them.
const CACHE_BYTES: u64 = 256 * KIB;
/// Operands in the cache, and beyond it.
const OPERANDS: [u64; 2] = [64 * KIB, 1024 * KIB];

/// What was measured.
#[derive(Debug, Default)]
struct Measured {
    compute: Least,
    eager: Least,
    get: Least,
    exchange: Least,
    share: Least,
    core: Least,
    /// A barrier of two ranks by messages.
    barrier: Least,
    /// The same over their team's memory.
    meeting: Least,
    /// An all-to-all of two ranks, likewise.
    shared: Least,
    /// Long sums of two ranks, likewise.
    sliced: Least,
}

/// Measures, each number for so many seconds in each repetition; what a file for `tern sim` says of it.
pub fn measure(jobs: &Jobs, point_s: f64, repetitions: u64, progress: &Progress) -> Result<String, String> {
    let on = |setup: &Setup, sizes: &[u64], what: &str| {
        Least::of(progress, what, repetitions, || jobs.messages(setup, sizes, point_s))
    };
    let measured = Measured {
        compute: Least::of(progress, "a rank's own work", repetitions, || jobs.compute(point_s))?,
        eager: on(&EAGER, &EAGER_SIZES, "messages at once")?,
        get: on(&GET, &GET_SIZES, "messages that the receiver gets")?,
        exchange: Least::of(progress, "messages both ways", repetitions, || {
            jobs.exchanges(&SHARE, &EXCHANGE_SIZES, point_s)
        })?,
        share: on(&SHARE, &SHARE_SIZES, "messages that both sides copy")?,
        // Twice as often: a step is a small difference of this and others, and what is too high here is so in all predictions.
        barrier: Least::of(progress, "steps of a schedule", 2 * repetitions, || barrier(jobs, point_s))?,
        meeting: Least::of(progress, "meetings", repetitions, || {
            shared(jobs, Collective::Barrier, &[0], point_s)
        })?,
        shared: Least::of(progress, "memory that ranks share", repetitions, || {
            shared(jobs, Collective::Alltoall, &TEAM_SIZES, point_s)
        })?,
        sliced: Least::of(progress, "long sums in it", repetitions, || {
            shared(jobs, Collective::Allreduce, &SLICED_SIZES, point_s)
        })?,
        core: on_one_core(|| on(&CROWDED, &EAGER_SIZES[..1], "ranks on one core"))?,
    };
    Ok(measured.text())
}

/// A row names the algorithm, so that the call goes by a schedule.
fn barrier(jobs: &Jobs, point_s: f64) -> Result<Vec<Time>, String> {
    let collective = Collective::Barrier;
    let run = Run { collective, ranks: 2, sizes: vec![0], point_s, bound: true };
    jobs.collective(&run, &[row_for_all(collective, Algorithm::Dissemination.into())])
}

/// Without a row two ranks go over their team's memory.
fn shared(jobs: &Jobs, collective: Collective, sizes: &[u64], point_s: f64) -> Result<Vec<Time>, String> {
    jobs.collective(&Run { collective, ranks: 2, sizes: sizes.into(), point_s, bound: true }, &[])
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

/// Names and numbers of a section.
type Numbers = Vec<(&'static str, f64)>;

/// What a byte more takes, between two points of bytes and nanoseconds.
fn slope((small, at_small): (u64, f64), (large, at_large): (u64, f64)) -> f64 {
    ((at_large - at_small) / (large - small) as f64).max(0.0)
}

impl Measured {
    fn text(&self) -> String {
        let mut text = section("[compute]", &self.compute());
        let _ = writeln!(text, "cache_bytes = {CACHE_BYTES}");
        text += &section("[team]", &self.team());
        text += &section("[[level]]\nname = \"host\"", &[self.lines(), self.copies()].concat());
        text + &section("[[level]]\nname = \"core\"", &self.core())
    }

    fn compute(&self) -> Numbers {
        let [small, large] = OPERANDS;
        // Up to the size of the cache all bytes have the price of the small operands.
        let prices = |name| {
            let near = self.compute.ns(name, small) / small as f64;
            let cached = (CACHE_BYTES, near * CACHE_BYTES as f64);
            (near, slope(cached, (large, self.compute.ns(name, large))))
        };
        let ((reduce, reduce_far), (copy, copy_far)) = (prices("local-sum"), prices("copy"));
        vec![
            ("call_ns", self.compute.ns("call", 8)),
            ("step_ns", self.step()),
            ("reduce_per_byte_ns", reduce),
            ("reduce_far_per_byte_ns", reduce_far),
            ("copy_per_byte_ns", copy),
            ("copy_far_per_byte_ns", copy_far),
        ]
    }

    /// What a team's memory costs. Of two ranks, each stores what it has for the other and reads what the other has for it; which
    /// of the two takes how much of that cannot be told apart.
    fn team(&self) -> Numbers {
        let [line, some, many] = TEAM_SIZES.map(|bytes| (bytes, self.shared.ns("alltoall", bytes)));
        let copy = self.compute.ns("copy", OPERANDS[0]) / OPERANDS[0] as f64;
        // Beside that each copies its own block.
        let near = (slope(some, many) - copy).max(0.0);
        // Of a long sum each rank stores one half, adds to the other, reads that which the other has added to, and copies its own.
        let [short, long] = SLICED_SIZES.map(|bytes| (bytes, self.sliced.ns("allreduce", bytes)));
        let far = ((slope(short, long) - copy / 2.0) / 3.0 * 2.0).max(0.0);
        let exchange = (line.1 - self.compute.ns("call", 8)).max(0.0);
        vec![
            ("come_ns", (self.meeting.ns("barrier", 0) - exchange).max(0.0)),
            ("exchange_ns", exchange),
            ("lines_ns", (some.1 - line.1 - (near + copy) * some.0 as f64).max(0.0)),
            ("store_per_byte_ns", near / 2.0),
            ("load_per_byte_ns", near / 2.0),
            ("store_long_per_byte_ns", far),
            ("load_long_per_byte_ns", far),
        ]
    }

    /// What a step takes. A barrier of two ranks is a call with two steps: one sends, and one receives while the message of the
    /// other side travels.
    fn step(&self) -> f64 {
        let (send, receive) = self.overheads();
        let travels = (self.eager.one_way(8) - send - receive).max(0.0);
        let left = self.barrier.ns("barrier", 0) - self.compute.ns("call", 8) - send - receive;
        let first = (left - travels).max(0.0);
        if first <= travels { first } else { left / 2.0 }
    }

    /// The overheads of both sides. A receiver that finds its message fetches the line from the sender's core, which in a
    /// ping-pong is the way that it travels: together they take no longer than that.
    fn overheads(&self) -> (f64, f64) {
        let (send, receive) = (self.eager.ns("send-overhead", 8), self.eager.ns("recv-overhead", 8));
        let part = (self.eager.one_way(8) / (send + receive)).min(1.0);
        (send * part, receive * part)
    }

    /// Messages at once.
    fn lines(&self) -> Numbers {
        let [line, some, many] = EAGER_SIZES.map(|bytes| (bytes, self.eager.one_way(bytes)));
        let per_byte = slope(some, many);
        let (send, receive) = self.overheads();
        // What a core does with a byte while both work side by side cannot take longer than the way.
        let busy =
            |name| slope((8, self.eager.ns(name, 8)), (many.0, self.eager.ns(name, many.0))).min(per_byte);
        vec![
            ("latency_ns", (line.1 - send - receive).max(0.0)),
            ("overhead_send_ns", send),
            ("overhead_receive_ns", receive),
            ("gap_ns", self.eager.ns("gap", 8)),
            ("gap_per_byte_ns", per_byte),
            ("send_per_byte_ns", busy("send-overhead")),
            ("receive_per_byte_ns", busy("recv-overhead")),
            ("lines_ns", (some.1 - line.1 - per_byte * (some.0 - line.0) as f64).max(0.0)),
        ]
    }

    /// Messages that are copied by the kernel.
    fn copies(&self) -> Numbers {
        let (send, receive) = self.overheads();
        // The offer comes first, and the answer leaves before the receiver goes on; its next message finds the other side
        // busy with the answer if taking that takes longer than sending another.
        let offer = self.eager.one_way(8) + send + (receive - send).max(0.0);
        let [small, middle] = GET_SIZES.map(|bytes| (bytes, self.get.one_way(bytes)));
        let get_bytes = slope(small, middle);
        let get = (small.1 - get_bytes * small.0 as f64 - offer).max(0.0);
        let [cached_alone, large_alone] = EXCHANGE_SIZES.map(|bytes| (bytes, self.alone(bytes, get)));
        let [short, cached, large] = SHARE_SIZES.map(|bytes| (bytes, self.shared(bytes, get)));
        let share_bytes = slope(short, cached);
        vec![
            ("get_ns", get),
            ("get_per_byte_ns", get_bytes),
            ("get_far_per_byte_ns", slope(cached_alone, large_alone)),
            ("share_ns", (short.1 - share_bytes * short.0 as f64).max(0.0)),
            ("share_per_byte_ns", share_bytes),
            ("share_far_per_byte_ns", slope(cached, large)),
        ]
    }

    /// What the bytes of an exchanged message take a rank that copies them alone: beside them there are the sum, and the calls
    /// to the kernel. (The offers are the same for all sizes.)
    fn alone(&self, bytes: u64, call: f64) -> f64 {
        let beside = self.exchange.ns("local-sum", bytes) + share_chunks(bytes) as f64 * call;
        (self.exchange.ns("exchange", bytes) - beside).max(0.0)
    }

    /// What the bytes of a message take that both copy: beside them, there are the offer, the invitation, and the calls to the
    /// kernel that each side makes.
    fn shared(&self, bytes: u64, call: f64) -> f64 {
        let calls = share_chunks(bytes).div_ceil(2) as f64 * call;
        (self.share.one_way(bytes) - 2.0 * self.eager.one_way(8) - calls).max(0.0)
    }

    /// On one core nothing travels: the time of one way is that of the two ranks, and of the switch between them.
    fn core(&self) -> Numbers {
        let send = self.core.ns("send-overhead", 8);
        vec![
            ("latency_ns", 0.0),
            ("overhead_send_ns", send),
            ("overhead_receive_ns", (self.core.one_way(8) - send).max(0.0)),
        ]
    }
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
    use tern_sim::{Job, Params, Work, run};

    fn least(times: &[(&str, u64, f64)]) -> Least {
        let mut least = Least::default();
        for &(name, bytes, us) in times {
            let (name, best) = (name.to_string(), us * 1e-6);
            least.take(Time { name, bytes, best, median: 2.0 * best });
        }
        least
    }

    /// A machine whose numbers are the author's.
    fn machine() -> Measured {
        let trips = |one_ways: &[(u64, f64)]| {
            least(&one_ways.iter().map(|&(bytes, us)| ("round-trip", bytes, 2.0 * us)).collect::<Vec<_>>())
        };
        let mut eager = trips(&[(8, 0.3), (8, 0.2), (8, 0.25), (128, 0.26), (4 * KIB, 0.9)]);
        eager.take(Time { name: "send-overhead".into(), bytes: 8, best: 50e-9, median: 1.0 });
        eager.take(Time { name: "recv-overhead".into(), bytes: 8, best: 100e-9, median: 1.0 });
        Measured {
            compute: least(&[
                ("call", 8, 0.2),
                ("local-sum", 64 * KIB, 2.0),
                ("local-sum", 1024 * KIB, 100.0),
            ]),
            eager,
            get: trips(&[(8 * KIB, 1.2), (64 * KIB, 4.2)]),
            exchange: least(&[
                ("exchange", 256 * KIB, 20.0),
                ("local-sum", 256 * KIB, 5.0),
                ("exchange", 1024 * KIB, 110.0),
                ("local-sum", 1024 * KIB, 25.0),
            ]),
            share: trips(&[(64 * KIB, 3.0), (256 * KIB, 9.0), (1024 * KIB, 42.0)]),
            core: trips(&[(8, 2.0)]),
            barrier: least(&[("barrier", 0, 0.43)]),
            meeting: least(&[("barrier", 0, 0.16)]),
            shared: least(&[
                ("alltoall", 8, 0.3),
                ("alltoall", 128, 0.4),
                ("alltoall", TEAM_NEAR_BYTES, 1.9),
            ]),
            sliced: least(&[("allreduce", 16 * KIB, 3.4), ("allreduce", 128 * KIB, 14.0)]),
        }
    }

    #[test]
    fn the_least_of_all_repetitions_counts() {
        let params = Params::parse(&machine().text()).expect("what tern sim reads");
        let host = &params.levels[1];
        assert!((host.latency_ns - 50.0).abs() < 0.01, "{host:?}");
        assert!((host.overhead_send_ns - 50.0).abs() < 0.01, "{host:?}");
        assert!((params.levels[0].overhead_receive_ns - 2000.0).abs() < 0.01, "{params:?}");
        assert_eq!((params.compute.call_ns, params.compute.cache_bytes), (200.0, CACHE_BYTES));
        assert!((params.compute.step_ns - 30.0).abs() < 0.01, "{params:?}");
        assert!(params.compute.reduce_far_per_byte_ns > 2.0 * params.compute.reduce_per_byte_ns);
    }

    /// The simulator, given the numbers, says what was measured: the fit is the model turned round.
    #[test]
    fn what_was_measured_is_what_is_predicted() {
        let params = Params::parse(&machine().text()).expect("what tern sim reads");
        let predicted = |bytes| {
            let job = Job { repeats: 100, ..Job::new(Work::PingPong, 2, bytes) };
            let params = Params { ranks_per_host: 2, ..params.clone() };
            run(&job, &params, &mut |_| {}).expect("an outcome").time_ns() / 200.0
        };
        // The first three as messages at once, the next by a get, the others by both.
        let eager = [(8, 0.2), (128, 0.26), (4 * KIB, 0.9)];
        let copied = [(8 * KIB, 1.2), (64 * KIB, 3.0), (256 * KIB, 9.0), (1024 * KIB, 42.0)];
        for (bytes, us) in eager.into_iter().chain(copied) {
            let ratio = predicted(bytes) / (us * 1000.0);
            assert!((ratio - 1.0).abs() < 0.03, "{bytes} bytes: {} ns for {us} us", predicted(bytes));
        }
    }

    #[test]
    fn a_barrier_takes_what_was_measured() {
        let barrier = |us: f64| {
            let measured = Measured { barrier: least(&[("barrier", 0, us)]), ..machine() };
            let params = Params::parse(&measured.text()).expect("what tern sim reads");
            let choice = Some(Algorithm::Dissemination.into());
            let job = Job { choice, repeats: 100, ..Job::new(Work::Collective(Collective::Barrier), 2, 0) };
            run(&job, &params, &mut |_| {}).expect("an outcome").time_ns() / 100_000.0
        };
        // With short steps, with long ones, and with none.
        for us in [0.43, 0.6, 0.4] {
            assert!((barrier(us) / us - 1.0).abs() < 0.03, "{} for {us}", barrier(us));
        }
        assert!(barrier(0.1) > 0.35);
    }

    #[test]
    fn a_meeting_takes_what_was_measured() {
        let params = Params::parse(&machine().text()).expect("what tern sim reads");
        let choice = Some(Algorithm::Shm.into());
        let job = Job { choice, repeats: 100, ..Job::new(Work::Collective(Collective::Barrier), 2, 0) };
        let time = run(&job, &params, &mut |_| {}).expect("an outcome").time_ns() / 100.0;
        assert!((time / 160.0 - 1.0).abs() < 0.02, "{time}");
        let time = |collective, bytes| {
            let job = Job { choice, repeats: 100, ..Job::new(Work::Collective(collective), 2, bytes) };
            run(&job, &params, &mut |_| {}).expect("an outcome").time_ns() / 100.0
        };
        for (bytes, ns) in [(8, 300.0), (128, 400.0), (TEAM_NEAR_BYTES, 1900.0)] {
            let time = time(Collective::Alltoall, bytes);
            assert!((time / ns - 1.0).abs() < 0.03, "{bytes} bytes: {time} for {ns}");
        }
        let [short, long] = SLICED_SIZES.map(|bytes| time(Collective::Allreduce, bytes));
        assert!(((long - short) / 10_600.0 - 1.0).abs() < 0.03, "{short} and {long}");
    }

    #[test]
    fn a_machine_whose_overheads_are_its_latency_has_none_beside() {
        let mut measured = machine();
        measured.eager.take(Time { name: "round-trip".into(), bytes: 8, best: 0.2e-6, median: 1.0 });
        let (send, receive) = measured.overheads();
        assert!((send + receive - 100.0).abs() < 0.01 && (receive / send - 2.0).abs() < 0.01);
        assert!(measured.text().contains("latency_ns = 0.0000"));
    }
}
