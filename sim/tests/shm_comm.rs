//! Collectives over shared memory: the library's own steps give what the standard says, and cost what the parameters say.

use tern_coll::{Algorithm, Collective};
use tern_sim::faults::Crash;
use tern_sim::params::Distance;
use tern_sim::{InjectedFaults, Params, PayloadBytes, RankWork, RunOutcome, SimulatedJob, run, shm_comm};

fn quiet(job: &SimulatedJob, params: &Params) -> RunOutcome {
    run(job, params, &mut |_| {}).unwrap_or_else(|error| panic!("{job:?}: {error}"))
}

fn shared(collective: Collective, ranks: u32, bytes: u64) -> SimulatedJob {
    let choice = Some(Algorithm::Shm.into());
    SimulatedJob { choice, ..SimulatedJob::new(RankWork::Collective(collective), ranks, bytes) }
}

/// The collectives that have such a way, at so many ranks and bytes.
fn served(ranks: u32, bytes: u64) -> impl Iterator<Item = SimulatedJob> {
    let job = move |collective| shared(collective, ranks, bytes);
    Collective::ALL.into_iter().map(job).filter(|job| shm_comm::serves(job, &Params::default()))
}

#[test]
fn every_collective_gives_what_the_standard_says() {
    let mut calls = 0;
    for (ranks, bytes) in
        [(2, 8), (2, 56), (2, 100), (2, 6000), (3, 8), (5, 4000), (8, 7), (17, 640), (4, 70_000)]
    {
        for job in served(ranks, bytes) {
            let job = SimulatedJob { root: ranks / 2, repeats: 3, ..job };
            let outcome =
                quiet(&SimulatedJob { payload: PayloadBytes::Bytes, ..job.clone() }, &Params::default());
            // Where bytes are only lengths, everything else is the same; and nothing depends on which thread is faster.
            assert_eq!(quiet(&job, &Params::default()), outcome, "{job:?}");
            calls += 1;
        }
    }
    assert!(calls > 90, "{calls}");
}

#[test]
fn two_ranks_meet_in_the_time_of_a_line() {
    let params = Params::default();
    let time = |job: SimulatedJob| quiet(&SimulatedJob { repeats: 100, ..job }, &params).time_ns() / 100.0;
    let barrier = time(shared(Collective::Barrier, 2, 0));
    let expected = params.shm_comm.come_ns + params.shm_comm.exchange_ns;
    assert!((barrier / expected - 1.0).abs() < 0.02, "{barrier} for {expected}");
    // Up to what fits into a line, the same; what does not comes by lines of its own.
    let [small, line, lines] = [8, 48, 120].map(|bytes| time(shared(Collective::Allgather, 2, bytes)));
    assert!(
        (line / small - 1.0).abs() < 0.05 && lines > line + params.shm_comm.lines_ns,
        "{small} {line} {lines}"
    );
}

#[test]
fn what_each_call_puts_into_the_memory_is_counted() {
    let bytes = |job: SimulatedJob| quiet(&job, &Params::default()).bytes;
    // Each rank puts its block there once, whoever reads it; in a broadcast only the root does.
    assert_eq!(bytes(shared(Collective::Allgather, 4, 1000)), 4000);
    assert_eq!(bytes(shared(Collective::Bcast, 4, 1000)), 1000);
    // In a line there are no other bytes than the flag's.
    assert_eq!(bytes(shared(Collective::Bcast, 4, 8)), 0);
    // What is fetched from other ranks' memory is moved once.
    assert_eq!(bytes(shared(Collective::Alltoall, 4, 100_000)), 4 * 3 * 100_000);
}

#[test]
fn ranks_that_share_a_core_take_turns() {
    let alone = quiet(&shared(Collective::Allreduce, 4, 8), &Params::default());
    let oversubscribed =
        quiet(&shared(Collective::Allreduce, 4, 8), &Params { ranks_per_core: 2, ..Params::default() });
    assert!(oversubscribed.time > alone.time + 2_000_000, "{} and {}", oversubscribed.time, alone.time);
}

#[test]
fn late_ranks_are_waited_for_and_what_nobody_can_simulate_is_refused() {
    let late = |skew_ns| {
        let faults = InjectedFaults { skew_ns, ..InjectedFaults::default() };
        run(&SimulatedJob { faults, ..shared(Collective::Barrier, 8, 0) }, &Params::default(), &mut |_| {})
    };
    assert!(late(1e6).unwrap().time > late(0.0).unwrap().time);
    let with = |faults| {
        run(&SimulatedJob { faults, ..shared(Collective::Barrier, 8, 0) }, &Params::default(), &mut |_| {})
    };
    let crashes = vec![Crash { rank: 3, at_ns: 1.0 }];
    assert!(with(InjectedFaults { crashes, ..InjectedFaults::default() }).is_err());
    // What is between nodes does not matter on one.
    let faults = InjectedFaults { loss: 0.1, jitter_ns: 1e4, ..InjectedFaults::default() };
    assert_eq!(with(faults).unwrap().time, late(0.0).unwrap().time);
}

/// As the library does it: `tern_shmcoll::Method` says of which.
#[test]
fn where_messages_are_faster_by_cells_long_blocks_are_messages() {
    let mut params = Params::default();
    let (short, long) = (shared(Collective::Alltoall, 2, 4096), shared(Collective::Alltoall, 2, 65_536));
    assert!(shm_comm::serves(&short, &params) && shm_comm::serves(&long, &params));
    params.level(Distance::Host).prefers_send = true;
    assert!(shm_comm::serves(&short, &params) && !shm_comm::serves(&long, &params));
}

#[test]
fn what_is_longer_than_a_slot_goes_in_pieces() {
    let mut params = Params::default();
    params.level(Distance::Host).prefers_send = true;
    for (collective, ranks, bytes) in [
        (Collective::Gather, 5, 40_000),
        (Collective::Gather, 16, 20_000),
        (Collective::Scatter, 5, 60_001),
        (Collective::Scatter, 16, 65_536),
        (Collective::Reduce, 17, 8000),
        (Collective::Reduce, 5, 60_000),
        (Collective::Alltoallv, 16, 8192),
        (Collective::Alltoallv, 16, 20_000),
    ] {
        let job = SimulatedJob { root: ranks / 2, repeats: 3, ..shared(collective, ranks, bytes) };
        assert!(shm_comm::serves(&job, &params), "{job:?}");
        let outcome = quiet(&SimulatedJob { payload: PayloadBytes::Bytes, ..job.clone() }, &params);
        assert_eq!(quiet(&job, &params), outcome, "{job:?}");
    }
}

#[test]
fn where_there_is_no_such_way_calls_go_by_messages() {
    let params = Params { ranks_per_host: 2, ..Params::default() };
    for job in [
        shared(Collective::Bcast, 4, 8),
        shared(Collective::Gatherv, 2, 8),
        shared(Collective::Bcast, 2, 1 << 20),
    ] {
        assert!(!shm_comm::serves(&job, &params), "{job:?}");
        assert!(quiet(&job, &params).messages > 0);
    }
}
