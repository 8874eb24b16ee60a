//! The costs of messages on this machine, as parameters of `tern sim`: LogGP for the levels that a machine has by
//! itself, ranks that share a core and ranks of one machine; and those of the memory that the latter share.

use std::fmt::Write;

use tern_coll::{Algorithm, Collective};
use tern_settings::Environment;
use tern_shm::cooperative_chunks;
use tern_sim::params::{COOPERATIVE_NEAR_BYTES, SHM_NEAR_BYTES, SizeCosts};

use crate::protocols::shm_limits;

use super::jobs::{CollectiveRun, Jobs, MeasuredTime, PairSetup, row_for_all};
use super::least::Least;
use super::progress::JobProgress;

/// Repetitions for a file that is kept.
pub(crate) const REPETITIONS: u64 = 3;

/// Jobs that [`measure`] runs in one repetition.
pub(crate) const JOBS: u64 = 15;

const KIB: u64 = 1024;

/// Ranks on cores of their own.
const EAGER: PairSetup = PairSetup { options: &["--bind-to", "core"], settings: &[] };
/// Large messages are copied by the receiver.
const GET: PairSetup = PairSetup { options: &["--bind-to", "core"], settings: &[("TERN_RENDEZVOUS", "get")] };
/// Large messages are copied by both.
const COOPERATIVE: PairSetup =
    PairSetup { options: &["--bind-to", "core"], settings: &[("TERN_RENDEZVOUS", "cooperative")] };
/// Large messages go by cells, in pieces.
const STREAM: PairSetup =
    PairSetup { options: &["--bind-to", "core"], settings: &[("TERN_COPIES", "cells")] };
/// Both ranks wherever the calling thread may run: on one core.
const SAME_CORE: PairSetup = PairSetup { options: &[], settings: &[] };

/// Sizes of messages at once, as far as they go so here. One that fits into a line; some lines; then where another way may begin, in
/// lines or cells, in one cell or several, and between.
const AT_ONCE_SIZES: [u64; 8] = [8, 128, 512, 2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 64 * KIB];
/// Sizes of messages in pieces: the slope between them is what a byte takes that follows others.
const STREAM_SIZES: [u64; 2] = [256 * KIB, 1024 * KIB];
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
const COOPERATIVE_SIZES: [u64; 3] = [COOPERATIVE_NEAR_BYTES, CACHE_BYTES, 1024 * KIB];

/// Sizes of blocks that two ranks pass each other in shared memory: in the flag's line; in two lines; about as many as have the
/// higher price of a byte, [`SHM_NEAR_BYTES`], but fewer than may go by messages instead.
const SHM_SIZES: [u64; 3] = [8, 128, SHM_NEAR_BYTES - 64];
/// Sizes of sums of which each rank adds up a slice there.
const SLICED_SIZES: [u64; 2] = [16 * KIB, 128 * KIB];

/// Up to so many bytes the buffers of a message, or of a sum, stay in a core's own cache: an eighth of a usual one, since
/// a call has two to four of them.
const CACHE_BYTES: u64 = 256 * KIB;
/// Operands in the cache, and beyond it.
const OPERANDS: [u64; 2] = [64 * KIB, 1024 * KIB];

/// What was measured.
#[derive(Debug, Default)]
struct MeasuredMessages {
    here: LocalLimits,
    compute: Least,
    /// Messages at once: round trips, and what they cost each side.
    eager: Least,
    /// The same both ways at once.
    both: Least,
    stream: Least,
    get: Least,
    exchange: Least,
    cooperative: Least,
    core: Least,
    /// A barrier of two ranks by messages.
    barrier: Least,
    /// The same over shared memory.
    shm_barrier: Least,
    /// An all-to-all of two ranks, likewise.
    shared: Least,
    /// Long sums of two ranks, likewise.
    sliced: Least,
}

/// How the library carries messages between the ranks of this machine.
#[derive(Clone, Copy, Debug, Default)]
struct LocalLimits {
    /// Bytes of the longest message that is sent at once.
    at_once_bytes_max: u64,
    /// It is, though the receiver could get it.
    prefers_send: bool,
}

impl LocalLimits {
    fn ask() -> Result<LocalLimits, String> {
        let all = Environment::read(|name| std::env::var_os(name)).map_err(|bad| bad.to_string())?;
        let limits = shm_limits(&all);
        let at_once_bytes_max = all.engine.eager_bytes_max(&limits) as u64;
        Ok(LocalLimits { at_once_bytes_max, prefers_send: limits.prefers_send })
    }

    fn sizes(self) -> Vec<u64> {
        AT_ONCE_SIZES.into_iter().filter(|bytes| *bytes <= self.at_once_bytes_max).collect()
    }
}

/// Measures, each number for so many seconds in each repetition; what a file for `tern sim` says of it.
pub(crate) fn measure(
    jobs: &Jobs,
    point_s: f64,
    repetitions: u64,
    progress: &JobProgress,
) -> Result<String, String> {
    let on = |setup: &PairSetup, sizes: &[u64], what: &str| {
        Least::of(progress, what, repetitions, || jobs.messages(setup, sizes, point_s))
    };
    let here = LocalLimits::ask()?;
    let overheads = |setup: &PairSetup, sizes: &[u64], what: &str, into: Least| {
        into.and(progress, what, repetitions, || jobs.overheads(setup, sizes, point_s))
    };
    let measured = MeasuredMessages {
        here,
        compute: Least::of(progress, "a rank's own work", repetitions, || jobs.compute(point_s))?,
        eager: overheads(
            &EAGER,
            &here.sizes(),
            "what they cost each side",
            on(&EAGER, &here.sizes(), "messages at once")?,
        )?,
        both: Least::of(progress, "messages at once both ways", repetitions, || {
            jobs.exchanges(&EAGER, &here.sizes(), point_s)
        })?,
        stream: on(&STREAM, &STREAM_SIZES, "messages in pieces")?,
        get: on(&GET, &GET_SIZES, "messages that the receiver gets")?,
        exchange: Least::of(progress, "messages both ways", repetitions, || {
            jobs.exchanges(&COOPERATIVE, &EXCHANGE_SIZES, point_s)
        })?,
        cooperative: on(&COOPERATIVE, &COOPERATIVE_SIZES, "messages that both sides copy")?,
        // Twice as often: a step is a small difference of this and others, and what is too high here is so in all predictions.
        barrier: Least::of(progress, "steps of a schedule", 2 * repetitions, || barrier(jobs, point_s))?,
        shm_barrier: Least::of(progress, "barriers in shared memory", repetitions, || {
            shared(jobs, Collective::Barrier, &[0], point_s)
        })?,
        shared: Least::of(progress, "memory that ranks share", repetitions, || {
            shared(jobs, Collective::Alltoall, &SHM_SIZES, point_s)
        })?,
        sliced: Least::of(progress, "long sums in it", repetitions, || {
            shared(jobs, Collective::Allreduce, &SLICED_SIZES, point_s)
        })?,
        core: on_one_core(|| {
            let one = &AT_ONCE_SIZES[..1];
            overheads(&SAME_CORE, one, "and their part", on(&SAME_CORE, one, "ranks on one core")?)
        })?,
    };
    Ok(measured.text())
}

/// A row names the algorithm, so that the call goes by a schedule.
fn barrier(jobs: &Jobs, point_s: f64) -> Result<Vec<MeasuredTime>, String> {
    let collective = Collective::Barrier;
    let run = CollectiveRun { collective, ranks: 2, sizes: vec![0], point_s, bound: true };
    jobs.collective(&run, &[row_for_all(collective, Algorithm::Dissemination.into())])
}

/// Without a row two ranks go over shared memory.
fn shared(
    jobs: &Jobs,
    collective: Collective,
    sizes: &[u64],
    point_s: f64,
) -> Result<Vec<MeasuredTime>, String> {
    jobs.collective(&CollectiveRun { collective, ranks: 2, sizes: sizes.into(), point_s, bound: true }, &[])
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
type SectionNumbers = Vec<(&'static str, f64)>;

/// What a byte more takes, between two points of bytes and nanoseconds.
fn slope((small, at_small): (u64, f64), (large, at_large): (u64, f64)) -> f64 {
    ((at_large - at_small) / (large - small) as f64).max(0.0)
}

impl MeasuredMessages {
    fn text(&self) -> String {
        let mut text = section("[compute]", &self.compute());
        let _ = writeln!(text, "cache_bytes = {CACHE_BYTES}");
        text += &section("[shm_comm]", &self.shm_comm());
        text += &section("[[level]]\nname = \"host\"", &[self.lines(), self.copies()].concat());
        text += &self.at_once(&self.sizes());
        text += &section("[[level]]\nname = \"core\"", &self.core());
        // Where nothing travels there is the work of both.
        let alone = |size: SizeCosts| SizeCosts { way_ns: 0.0, ..size };
        text + &self.at_once(&self.sizes().into_iter().map(alone).collect::<Vec<_>>())
    }

    /// How messages go at a level within the machine.
    fn at_once(&self, sizes: &[SizeCosts]) -> String {
        let (LocalLimits { at_once_bytes_max, prefers_send }, streams) = (self.here, self.streams());
        let mut text = format!(
            "eager_bytes_max = {at_once_bytes_max}\nprefers_send = {prefers_send}\nstreams = {streams}\n"
        );
        for SizeCosts { bytes, way_ns, send_ns, receive_ns } in sizes {
            let times = [("way_ns", *way_ns), ("send_ns", *send_ns), ("receive_ns", *receive_ns)];
            text += &section(&format!("[[level.size]]\nbytes = {bytes}"), &times);
        }
        text
    }

    /// Whether long messages are faster in pieces, where such go at all: the library finds out the same by itself.
    fn streams(&self) -> bool {
        let [.., longest] = STREAM_SIZES;
        self.here.prefers_send && self.stream.one_way(longest) < self.cooperative.one_way(longest)
    }

    fn compute(&self) -> SectionNumbers {
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

    /// What shared memory costs. Of two ranks, each stores what it has for the other and reads what the other has for it; which
    /// of the two takes how much of that cannot be told apart.
    fn shm_comm(&self) -> SectionNumbers {
        let [line, some, many] = SHM_SIZES.map(|bytes| (bytes, self.shared.ns("alltoall", bytes)));
        let copy = self.compute.ns("copy", OPERANDS[0]) / OPERANDS[0] as f64;
        // Beside that each copies its own block.
        let near = (slope(some, many) - copy).max(0.0);
        // Of a long sum each rank stores one half, adds to the other, reads that which the other has added to, and copies its own.
        let [short, long] = SLICED_SIZES.map(|bytes| (bytes, self.sliced.ns("allreduce", bytes)));
        let far = ((slope(short, long) - copy / 2.0) / 3.0 * 2.0).max(0.0);
        let exchange = (line.1 - self.compute.ns("call", 8)).max(0.0);
        vec![
            ("come_ns", (self.shm_barrier.ns("barrier", 0) - exchange).max(0.0)),
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

    /// A line, and bytes where no size says it.
    fn lines(&self) -> SectionNumbers {
        let (send, receive) = self.overheads();
        let (sizes, per_byte) = (self.sizes(), self.per_byte());
        let last = sizes.last().copied().unwrap_or(SizeCosts {
            bytes: 1,
            way_ns: 0.0,
            send_ns: 0.0,
            receive_ns: 0.0,
        });
        let of_byte = |ns: f64| (ns / last.bytes as f64).min(per_byte);
        vec![
            ("latency_ns", (self.eager.one_way(8) - send - receive).max(0.0)),
            ("overhead_send_ns", send),
            ("overhead_receive_ns", receive),
            ("gap_ns", self.eager.ns("gap", 8)),
            ("gap_per_byte_ns", per_byte),
            ("send_per_byte_ns", of_byte(last.send_ns)),
            ("receive_per_byte_ns", of_byte(last.receive_ns)),
            ("lines_ns", 0.0),
        ]
    }

    /// What a byte takes that follows others: of long messages in pieces, or else of those at once.
    fn per_byte(&self) -> f64 {
        let at = |times: &Least, bytes| (bytes, times.one_way(bytes));
        let pieces = STREAM_SIZES.map(|bytes| at(&self.stream, bytes));
        let sizes = self.here.sizes();
        match (self.here.prefers_send, &sizes[..]) {
            (true, _) => slope(pieces[0], pieces[1]),
            (false, &[_, some, .., most]) => slope(at(&self.eager, some), at(&self.eager, most)),
            _ => 0.0,
        }
    }

    /// What messages of several lines take beside what a line takes. The parts of both sides are measured while the other one does
    /// its own; two ranks that send to each other at once disturb each other more, and if that takes longer than the way, it is
    /// what both parts come to.
    fn sizes(&self) -> Vec<SizeCosts> {
        let beyond = |of: &dyn Fn(u64) -> f64, bytes| (of(bytes) - of(8)).max(0.0);
        let size = |bytes| {
            let way_ns = beyond(&|bytes| self.eager.one_way(bytes), bytes);
            let part = |name| beyond(&|bytes| self.eager.ns(name, bytes), bytes);
            let (send, receive) = (part("send-overhead"), part("recv-overhead"));
            let both =
                beyond(&|bytes| self.both.ns("exchange", bytes) - self.both.ns("local-sum", bytes), bytes);
            let more = if both > way_ns && send + receive > 0.0 { both / (send + receive) } else { 1.0 };
            // What a core does while both work side by side cannot take longer than the way.
            let busy = |part: f64| (more * part).min(way_ns);
            SizeCosts { bytes, way_ns, send_ns: busy(send), receive_ns: busy(receive) }
        };
        self.here.sizes().into_iter().skip(1).map(size).collect()
    }

    /// Messages that are copied by the kernel.
    fn copies(&self) -> SectionNumbers {
        let (send, receive) = self.overheads();
        // The offer comes first, and the answer leaves before the receiver goes on; its next message finds the other side
        // busy with the answer if taking that takes longer than sending another.
        let offer = self.eager.one_way(8) + send + (receive - send).max(0.0);
        let [small, middle] = GET_SIZES.map(|bytes| (bytes, self.get.one_way(bytes)));
        let get_bytes = slope(small, middle);
        let get = (small.1 - get_bytes * small.0 as f64 - offer).max(0.0);
        let [cached_alone, large_alone] = EXCHANGE_SIZES.map(|bytes| (bytes, self.alone(bytes, get)));
        let [short, cached, large] = COOPERATIVE_SIZES.map(|bytes| (bytes, self.shared(bytes, get)));
        let cooperative_bytes = slope(short, cached);
        vec![
            ("get_ns", get),
            ("get_per_byte_ns", get_bytes),
            ("get_far_per_byte_ns", slope(cached_alone, large_alone)),
            ("cooperative_ns", (short.1 - cooperative_bytes * short.0 as f64).max(0.0)),
            ("cooperative_per_byte_ns", cooperative_bytes),
            ("cooperative_far_per_byte_ns", slope(cached, large)),
        ]
    }

    /// What the bytes of an exchanged message take a rank that copies them alone: beside them there are the sum, and the calls
    /// to the kernel. (The offers are the same for all sizes.)
    fn alone(&self, bytes: u64, call: f64) -> f64 {
        let beside = self.exchange.ns("local-sum", bytes) + cooperative_chunks(bytes) as f64 * call;
        (self.exchange.ns("exchange", bytes) - beside).max(0.0)
    }

    /// What the bytes of a message take that both copy: beside them, there are the offer, the invitation, and the calls to the
    /// kernel that each side makes.
    fn shared(&self, bytes: u64, call: f64) -> f64 {
        let calls = cooperative_chunks(bytes).div_ceil(2) as f64 * call;
        (self.cooperative.one_way(bytes) - 2.0 * self.eager.one_way(8) - calls).max(0.0)
    }

    /// On one core nothing travels: the time of one way is that of the two ranks, and of the switch between them.
    fn core(&self) -> SectionNumbers {
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
    use tern_sim::{Params, RankWork, SimulatedJob, run};

    fn least(times: &[(&str, u64, f64)]) -> Least {
        let mut least = Least::default();
        for &(name, bytes, us) in times {
            let (name, best) = (name.to_string(), us * 1e-6);
            least.take(MeasuredTime { name, bytes, best, median: 2.0 * best });
        }
        least
    }

    /// A machine whose numbers are the author's.
    fn machine() -> MeasuredMessages {
        let trips = |one_ways: &[(u64, f64)]| {
            least(&one_ways.iter().map(|&(bytes, us)| ("round-trip", bytes, 2.0 * us)).collect::<Vec<_>>())
        };
        let mut eager =
            trips(&[(8, 0.3), (8, 0.2), (8, 0.25), (128, 0.26), (512, 0.3), (2 * KIB, 0.6), (4 * KIB, 0.9)]);
        eager.take(MeasuredTime { name: "send-overhead".into(), bytes: 8, best: 50e-9, median: 1.0 });
        eager.take(MeasuredTime { name: "recv-overhead".into(), bytes: 8, best: 100e-9, median: 1.0 });
        MeasuredMessages {
            here: LocalLimits { at_once_bytes_max: 4 * KIB, prefers_send: false },
            both: Least::default(),
            stream: Least::default(),
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
            cooperative: trips(&[(64 * KIB, 3.0), (256 * KIB, 9.0), (1024 * KIB, 42.0)]),
            core: trips(&[(8, 2.0)]),
            barrier: least(&[("barrier", 0, 0.43)]),
            shm_barrier: least(&[("barrier", 0, 0.16)]),
            shared: least(&[("alltoall", 8, 0.3), ("alltoall", 128, 0.4), ("alltoall", SHM_SIZES[2], 1.9)]),
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
            let job = SimulatedJob { repeats: 100, ..SimulatedJob::new(RankWork::PingPong, 2, bytes) };
            let params = Params { ranks_per_host: 2, ..params.clone() };
            run(&job, &params, &mut |_| {}).expect("an outcome").time_ns() / 200.0
        };
        // The first as messages at once, the next by a get, the others by both.
        let eager = [(8, 0.2), (128, 0.26), (512, 0.3), (KIB, 0.4), (2 * KIB, 0.6), (4 * KIB, 0.9)];
        let copied = [(8 * KIB, 1.2), (64 * KIB, 3.0), (256 * KIB, 9.0), (1024 * KIB, 42.0)];
        for (bytes, us) in eager.into_iter().chain(copied) {
            let ratio = predicted(bytes) / (us * 1000.0);
            assert!((ratio - 1.0).abs() < 0.03, "{bytes} bytes: {} ns for {us} us", predicted(bytes));
        }
    }

    /// A machine where cells are faster than the kernel, by so many microseconds for 1 MiB.
    fn machine_of_cells(cooperative_us: f64) -> MeasuredMessages {
        let mut measured = machine();
        measured.here = LocalLimits { at_once_bytes_max: 64 * KIB, prefers_send: true };
        measured.both = least(&[("exchange", 8, 0.4), ("local-sum", 8, 0.1)]);
        let mut take = |name: &str, bytes, us: f64| {
            measured.eager.take(MeasuredTime { name: name.into(), bytes, best: us * 1e-6, median: 1.0 });
        };
        for (bytes, way, send, receive) in
            [(8 * KIB, 1.1, 0.5, 0.6), (16 * KIB, 1.7, 0.9, 0.9), (64 * KIB, 4.0, 2.8, 2.9)]
        {
            take("round-trip", bytes, 2.0 * way);
            take("send-overhead", bytes, send);
            take("recv-overhead", bytes, receive);
            // A line takes 0.05 and 0.1 of that, which are among the 0.3 of what is not the bytes.
            let best = (0.3 + (send - 0.05) + (receive - 0.1) + 0.2) * 1e-6;
            measured.both.take(MeasuredTime { name: "exchange".into(), bytes, best, median: 1.0 });
            measured.both.take(MeasuredTime { name: "local-sum".into(), bytes, best: 0.2e-6, median: 1.0 });
        }
        let trip = |bytes, us: f64| ("round-trip", bytes, 2.0 * us);
        measured.stream = least(&[trip(256 * KIB, 13.3), trip(1024 * KIB, 48.7)]);
        measured.cooperative =
            least(&[trip(64 * KIB, 3.0), trip(256 * KIB, 9.0), trip(1024 * KIB, cooperative_us)]);
        measured
    }

    #[test]
    fn ranks_that_disturb_each_other_are_busy_for_longer() {
        let mut measured = machine_of_cells(60.0);
        let last = |measured: &MeasuredMessages| *measured.sizes().last().expect("64 KiB");
        let quiet = last(&measured);
        assert!((quiet.send_ns - 2750.0).abs() < 1.0 && (quiet.receive_ns - 2800.0).abs() < 1.0, "{quiet:?}");
        measured.both = least(&[("exchange", 8, 0.3), ("exchange", 64 * KIB, 0.3 + 6.66)]);
        let SizeCosts { send_ns, receive_ns, .. } = last(&measured);
        assert!((send_ns / quiet.send_ns - 1.2).abs() < 0.001, "{send_ns}");
        assert!((receive_ns / quiet.receive_ns - 1.2).abs() < 0.001, "{receive_ns}");
        measured.both = least(&[("exchange", 8, 0.3), ("exchange", 64 * KIB, 2.3)]);
        assert_eq!(last(&measured), quiet, "what both do side by side says nothing of their parts");
    }

    #[test]
    fn where_cells_are_faster_messages_are_predicted_as_they_go_there() {
        for (cooperative_us, longest_us) in [(60.0, 48.7), (42.0, 42.0)] {
            let measured = machine_of_cells(cooperative_us);
            assert_eq!(measured.streams(), cooperative_us > 48.7);
            let params = Params::parse(&measured.text()).expect("what tern sim reads");
            let params = Params { ranks_per_host: 2, ..params };
            let time = |work, bytes| {
                let job = SimulatedJob { repeats: 100, ..SimulatedJob::new(work, 2, bytes) };
                run(&job, &params, &mut |_| {}).expect("an outcome").time_ns() / 100_000.0
            };
            let one_ways = [
                (128, 0.26),
                (KIB, 0.4),
                (8 * KIB, 1.1),
                (16 * KIB, 1.7),
                (32 * KIB, 2.4667),
                (64 * KIB, 4.0),
            ];
            for (bytes, us) in one_ways.into_iter().chain([(1024 * KIB, longest_us)]) {
                let ratio = time(RankWork::PingPong, bytes) / 2.0 / us;
                assert!((ratio - 1.0).abs() < 0.03, "{bytes} bytes: {ratio}");
            }
            // Both ranks first fill cells, and then empty those of the other side.
            let allgather = time(RankWork::Collective(Collective::Allgather), 64 * KIB);
            assert!((5.7..6.7).contains(&allgather), "{allgather}");
        }
    }

    #[test]
    fn a_barrier_takes_what_was_measured() {
        let barrier = |us: f64| {
            let measured = MeasuredMessages { barrier: least(&[("barrier", 0, us)]), ..machine() };
            let params = Params::parse(&measured.text()).expect("what tern sim reads");
            let choice = Some(Algorithm::Dissemination.into());
            let job = SimulatedJob {
                choice,
                repeats: 100,
                ..SimulatedJob::new(RankWork::Collective(Collective::Barrier), 2, 0)
            };
            run(&job, &params, &mut |_| {}).expect("an outcome").time_ns() / 100_000.0
        };
        // With short steps, with long ones, and with none.
        for us in [0.43, 0.6, 0.4] {
            assert!((barrier(us) / us - 1.0).abs() < 0.03, "{} for {us}", barrier(us));
        }
        assert!(barrier(0.1) > 0.35);
    }

    #[test]
    fn calls_over_shared_memory_take_what_was_measured() {
        let params = Params::parse(&machine().text()).expect("what tern sim reads");
        let choice = Some(Algorithm::Shm.into());
        let job = SimulatedJob {
            choice,
            repeats: 100,
            ..SimulatedJob::new(RankWork::Collective(Collective::Barrier), 2, 0)
        };
        let time = run(&job, &params, &mut |_| {}).expect("an outcome").time_ns() / 100.0;
        assert!((time / 160.0 - 1.0).abs() < 0.02, "{time}");
        let time = |collective, bytes| {
            let job = SimulatedJob {
                choice,
                repeats: 100,
                ..SimulatedJob::new(RankWork::Collective(collective), 2, bytes)
            };
            run(&job, &params, &mut |_| {}).expect("an outcome").time_ns() / 100.0
        };
        for (bytes, ns) in [(8, 300.0), (128, 400.0), (SHM_SIZES[2], 1900.0)] {
            let time = time(Collective::Alltoall, bytes);
            assert!((time / ns - 1.0).abs() < 0.03, "{bytes} bytes: {time} for {ns}");
        }
        let [short, long] = SLICED_SIZES.map(|bytes| time(Collective::Allreduce, bytes));
        assert!(((long - short) / 10_600.0 - 1.0).abs() < 0.03, "{short} and {long}");
    }

    #[test]
    fn a_machine_whose_overheads_are_its_latency_has_none_beside() {
        let mut measured = machine();
        measured.eager.take(MeasuredTime { name: "round-trip".into(), bytes: 8, best: 0.2e-6, median: 1.0 });
        let (send, receive) = measured.overheads();
        assert!((send + receive - 100.0).abs() < 0.01 && (receive / send - 2.0).abs() < 0.01);
        assert!(measured.text().contains("latency_ns = 0.0000"));
    }
}
