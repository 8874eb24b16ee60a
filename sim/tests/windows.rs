//! Windows: what puts leave behind, and that prices are near to what a run takes.

use tern_sim::windows::{WindowJob, price};
use tern_sim::{InjectedFaults, Params, PayloadBytes, RankWork, SimulatedJob, run};

fn machine(ranks_per_host: u32) -> Params {
    Params { ranks_per_host, ..Params::default() }
}

/// Messages of any length, near and far, under loss and jitter, with ranks that begin late: each byte is where it belongs.
#[test]
fn puts_are_there_after_the_fence() {
    let faults =
        InjectedFaults { seed: 5, loss: 0.01, jitter_ns: 3000.0, skew_ns: 9000.0, ..Default::default() };
    for (ranks, ranks_per_host) in [(1, 1), (2, 1), (5, 2), (12, 4), (16, 16)] {
        for bytes in [0, 1, 8, 200, 70_001] {
            for targets in [0, 1, ranks / 2, ranks - 1] {
                let job = SimulatedJob {
                    payload: PayloadBytes::Bytes,
                    repeats: 2,
                    faults: faults.clone(),
                    ..SimulatedJob::new(RankWork::Window(targets.min(ranks - 1)), ranks, bytes)
                };
                let outcome = run(&job, &machine(ranks_per_host), &mut |_| {}).expect("no defect");
                assert_eq!(outcome.hang, None, "{job:?}");
            }
        }
    }
}

/// A rank that stops leaves others that wait for its answers, and the report says so.
#[test]
fn who_waits_for_a_stopped_target_is_named() {
    let crashes = vec![tern_sim::faults::Crash { rank: 3, at_ns: 0.0 }];
    let faults = InjectedFaults { crashes, ..InjectedFaults::default() };
    let job = SimulatedJob { faults, ..SimulatedJob::new(RankWork::Window(1), 4, 8) };
    let hang = run(&job, &machine(1), &mut |_| {}).expect("no defect").hang.expect("rank 2 waits");
    let text = hang.to_string();
    assert!(text.contains("rank 2, call 1, waits for the end of its accesses to rank 3"), "{text}");
}

/// What is too long to be run has the price of who is busy longest. Where both are known they agree.
#[test]
fn prices_are_near_to_runs() {
    for (ranks, ranks_per_host, ranks_per_core) in [(32, 1, 1), (64, 8, 1), (64, 16, 4), (96, 32, 1)] {
        let params = Params { ranks_per_core, ..machine(ranks_per_host) };
        for bytes in [8, 4096, 100_000] {
            let job = WindowJob { ranks, bytes, targets: None };
            let found = price(&job, &params).expect("a price");
            assert!(found.is_run);
            let priced = tern_sim::windows::busiest_ns(&job, &params) + found.fence_ns;
            let ratio = priced / found.puts_ns;
            assert!(
                (0.75..1.3).contains(&ratio),
                "{job:?} of {ranks_per_host} a host: {ratio:.2}, {found:?}"
            );
        }
    }
}

/// Thousands of ranks: a fence is some rounds of messages, and puts to all are what the links carry.
#[test]
fn thousands_of_ranks_put_to_all() {
    const RANKS: u32 = 1 << 12;
    let params = machine(64);
    let found = price(&WindowJob { ranks: RANKS, bytes: 8, targets: None }, &params).expect("a price");
    let far = u64::from(RANKS) - 64;
    assert!(!found.is_run && found.puts == RANKS - 1);
    assert_eq!(found.messages, u64::from(RANKS) * far * 3);
    let least = 64.0 * far as f64 * 3.0 * params.levels[3].gap_ns;
    assert!(found.puts_ns > least && found.puts_ns < 4.0 * least, "{found:?}, {least}");
    assert!(found.fence_ns < 100_000.0, "{found:?}");
    let few = price(&WindowJob { ranks: RANKS, bytes: 8, targets: Some(4) }, &params).expect("a price");
    assert!(few.is_run && few.puts_ns < 3.0 * few.fence_ns, "{few:?}");
}
