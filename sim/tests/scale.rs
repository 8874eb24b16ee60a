//! More ranks than any machine here could start: what each takes of memory, events and time. The only test of its process,
//! which is therefore what it measures.

use tern_coll::{Algorithm, Collective};
use tern_sim::limits::SCHEDULE_BYTES_MAX;
use tern_sim::{Params, RankWork, SimulatedJob, run};

const RANKS: u32 = 1 << 16;

/// Memory of a rank, without the parts of schedules that all ranks share a bounded room for: a million must fit in 4 GiB.
const RANK_BYTES_MAX: u64 = 4096;

/// Events of a rank's message: it arrives, and perhaps its receiver is busy.
const EVENTS_PER_MESSAGE_MAX: f64 = 2.1;

/// Events in a second of the processor, optimized: half of the goal of a million, for slower nodes.
const EVENTS_PER_SECOND_MIN: f64 = 500_000.0;

/// A number in a file of `/proc/self`, after its name.
fn number(file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/self/{file}")).expect("Linux");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("a line of that name");
    line.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
}

/// Time that this thread has been on a core, seconds.
fn core_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux with schedstat");
    text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok()).expect("a number") * 1e-9
}

#[test]
fn sixty_five_thousand_ranks_agree_in_little_memory_and_time() {
    let begin = core_seconds();
    let mut reports = 0;
    let job = SimulatedJob::new(RankWork::Collective(Collective::Allreduce), RANKS, 8);
    let choice = Some(Algorithm::RecursiveDoubling.into());
    let outcome =
        run(&SimulatedJob { choice, ..job }, &Params::default(), &mut |_| reports += 1).expect("an outcome");
    let seconds = core_seconds() - begin;
    assert_eq!((outcome.hang, outcome.messages), (None, 16 * u64::from(RANKS)));
    assert_eq!((outcome.rank_bytes_max, outcome.bytes), (16 * 8, 8 * 16 * u64::from(RANKS)));
    assert!(reports > 10);
    let events = outcome.events as f64;
    assert!(events <= EVENTS_PER_MESSAGE_MAX * outcome.messages as f64, "{events} events");
    let most = number("status", "VmHWM:") * 1024;
    let of_rank = most.saturating_sub(SCHEDULE_BYTES_MAX as u64) / u64::from(RANKS);
    assert!(of_rank <= RANK_BYTES_MAX, "{most} bytes in all, {of_rank} a rank");
    let least = if cfg!(debug_assertions) { EVENTS_PER_SECOND_MIN / 20.0 } else { EVENTS_PER_SECOND_MIN };
    assert!(events / seconds >= least, "{:.0} events a second", events / seconds);
}
