//! Every collective by every algorithm, with real bytes, against the definition; and at sizes that no machine here has.

use tern_coll::{Algorithm, Collective, algorithms};
use tern_sim::faults::{Crash, LinkCut};
use tern_sim::params::Distance;
use tern_sim::{InjectedFaults, Params, PayloadBytes, RankWork, RunOutcome, SimulatedJob, run};

fn quiet(job: &SimulatedJob, params: &Params) -> RunOutcome {
    run(job, params, &mut |_| {}).unwrap_or_else(|error| panic!("{job:?}: {error}"))
}

fn collective(collective: Collective, ranks: u32, bytes: u64) -> SimulatedJob {
    SimulatedJob::new(RankWork::Collective(collective), ranks, bytes)
}

fn choices(collective: Collective) -> impl Iterator<Item = Option<Algorithm>> {
    algorithms(collective).iter().copied().map(Some).chain([None])
}

/// Machines of three ranks, so that ranks are near and far from each other.
fn small_machines() -> Params {
    Params { ranks_per_core: 1, ranks_per_host: 3, hosts_per_switch: 2, ..Params::default() }
}

/// The nodes that an algorithm is tried on: for multicasts those of three ranks, and of one.
fn machines_for(algorithm: Option<Algorithm>) -> Vec<Params> {
    match algorithm {
        Some(Algorithm::Multicast) => {
            [3, 1].map(|ranks_per_host| Params { ranks_per_host, multicast: true, ..small_machines() }).into()
        }
        _ => vec![small_machines()],
    }
}

fn checked(job: SimulatedJob, params: &Params) {
    let outcome = quiet(&SimulatedJob { payload: PayloadBytes::Bytes, ..job.clone() }, params);
    assert_eq!(outcome.hang, None, "{job:?}");
    // Where bytes are only lengths, everything else is the same.
    assert_eq!(quiet(&job, params), outcome, "{job:?}");
}

#[test]
fn every_collective_gives_what_the_standard_says() {
    for kind in Collective::ALL {
        for (algorithm, params) in
            choices(kind).flat_map(|choice| machines_for(choice).into_iter().map(move |on| (choice, on)))
        {
            for (ranks, bytes) in [(1, 8), (2, 24), (3, 0), (5, 8), (8, 56), (9, 7), (17, 16)] {
                let root = ranks / 2;
                let choice = algorithm.map(Into::into);
                checked(SimulatedJob { choice, root, ..collective(kind, ranks, bytes) }, &params);
            }
        }
    }
}

#[test]
fn large_messages_go_by_every_protocol() {
    for kind in Collective::ALL {
        for (algorithm, params) in
            choices(kind).flat_map(|choice| machines_for(choice).into_iter().map(move |on| (choice, on)))
        {
            for bytes in [6000, 40_000, 100_001] {
                let choice = algorithm.map(Into::into);
                checked(SimulatedJob { choice, root: 1, repeats: 2, ..collective(kind, 7, bytes) }, &params);
            }
        }
    }
}

#[test]
fn faults_delay_and_change_nothing_else() {
    let params = Params { ranks_per_host: 1, ..Params::default() };
    let cut = LinkCut { hosts: (1, 4), from_ns: 0.0, until_ns: Some(5e6) };
    for kind in Collective::ALL {
        let calm = quiet(&collective(kind, 9, 20_000), &params);
        for seed in 1..4 {
            let faults = InjectedFaults {
                seed,
                loss: 0.1,
                jitter_ns: 1e5,
                skew_ns: 1e5,
                cuts: vec![cut],
                ..InjectedFaults::default()
            };
            let job = SimulatedJob { faults, payload: PayloadBytes::Bytes, ..collective(kind, 9, 20_000) };
            let outcome = quiet(&job, &params);
            assert_eq!(outcome.hang, None, "{job:?}");
            assert!(outcome.time > calm.time, "{job:?}");
        }
    }
}

#[test]
fn a_seed_gives_the_same_run_and_another_one_another() {
    let params = Params { ranks_per_host: 4, ..Params::default() };
    let with_seed = |seed| {
        let faults =
            InjectedFaults { seed, loss: 0.01, jitter_ns: 1e4, skew_ns: 1e4, ..InjectedFaults::default() };
        quiet(&SimulatedJob { faults, ..collective(Collective::Alltoall, 100, 1000) }, &params)
    };
    assert_eq!(with_seed(1), with_seed(1));
    assert_ne!(with_seed(1), with_seed(2));
}

#[test]
fn a_ping_pong_takes_what_the_parameters_say() {
    let mut params = Params { ranks_per_host: 2, hosts_per_switch: 2, ..Params::default() };
    for (ranks, distance) in [(2, Distance::Host), (4, Distance::Switch), (6, Distance::Far)] {
        for bytes in [8, 4000] {
            let level = params.level(distance).clone();
            let one_way = level.overhead_send_ns
                + level.latency_ns
                + if bytes > 40 { level.lines_ns } else { 0.0 }
                + level.gap_per_byte_ns * bytes as f64
                + level.overhead_receive_ns;
            let job = SimulatedJob { repeats: 10, ..SimulatedJob::new(RankWork::PingPong, ranks, bytes) };
            let outcome = quiet(&job, &params);
            let error = (outcome.time_ns() / 20.0 - one_way).abs();
            assert!(error < 0.01, "{bytes} bytes over {distance:?}: {error} ns off {one_way}");
            assert_eq!((outcome.messages, outcome.bytes), (20, 20 * bytes));
        }
    }
}

/// Where messages are there sooner by sending, what could be got is sent at once, and what is longer in pieces.
#[test]
fn what_is_sent_rather_than_got_goes_as_in_the_library() {
    let mut params = Params { ranks_per_host: 2, ..Params::default() };
    let messages =
        |params: &Params, bytes| quiet(&SimulatedJob::new(RankWork::PingPong, 2, bytes), params).messages / 2;
    let long = 100_000;
    assert_eq!(messages(&params, 10_000), 2, "an offer, and that it was got");
    params.level(Distance::Host).prefers_send = true;
    assert_eq!(messages(&params, 10_000), 1);
    assert_eq!(messages(&params, long), 2, "an offer and an invitation; the copies are no messages");
    params.level(Distance::Host).streams = true;
    let pieces = long.div_ceil(params.level(Distance::Host).eager_bytes_max as u64);
    assert_eq!(messages(&params, long), 2 + pieces, "an offer, its answer, the pieces");
}

/// The root's core and link carry a multicast once, each receiver's once, at the same time: whatever their number, one
/// segment takes as long as a message to one.
#[test]
fn a_multicast_takes_as_long_as_one_message() {
    let mut params =
        Params { ranks_per_host: 1, hosts_per_switch: 100, multicast: true, ..Params::default() };
    (params.compute.call_ns, params.compute.step_ns) = (0.0, 0.0);
    let level = params.level(Distance::Switch).clone();
    let bcast = |ranks, bytes| {
        let choice = Some(Algorithm::Multicast.into());
        quiet(&SimulatedJob { choice, ..collective(Collective::Bcast, ranks, bytes) }, &params)
    };
    let wire = |bytes: u64| level.gap_per_byte_ns * bytes as f64;
    let one_way = level.overhead_send_ns + level.latency_ns + level.overhead_receive_ns;
    for ranks in [2, 8, 64] {
        let (one, segments) = (bcast(ranks, 8000), 4);
        assert!((one.time_ns() - (one_way + wire(8000))).abs() < 0.01, "{ranks}: {one:?}");
        assert_eq!((one.messages, one.bytes), (1, 8000));
        // The wire is busy until the last segment has gone; what it takes to send the others is hidden behind it.
        let bytes = segments * tern_coll::limits::MULTICAST_SEGMENT_BYTES;
        let long = bcast(ranks, bytes);
        assert!((long.time_ns() - (one_way + wire(bytes))).abs() < 0.01, "{ranks}: {long:?}");
        assert_eq!((long.messages, long.rank_bytes_max), (segments, bytes));
    }
}

#[test]
fn machines_share_their_link() {
    let time = |ranks_per_host| {
        let params = Params { ranks_per_host, hosts_per_switch: 1000, ..Params::default() };
        let choice = Some(Algorithm::Direct.into());
        quiet(&SimulatedJob { choice, ..collective(Collective::Alltoall, 16, 10_000) }, &params).time
    };
    // Of the fifteen messages of a rank, eight leave the machine, and all eight ranks of it want to send theirs.
    assert!(time(8) > 3 * time(1), "{} {}", time(8), time(1));
}

#[test]
fn a_rank_that_stops_is_named_by_those_that_wait_for_it() {
    let faults = InjectedFaults { crashes: vec![Crash { rank: 5, at_ns: 1.0 }], ..InjectedFaults::default() };
    let job = SimulatedJob { faults, ..collective(Collective::Allreduce, 16, 8) };
    let hang = quiet(&job, &Params::default()).hang.expect("ranks that wait");
    assert_eq!((hang.dead.as_slice(), hang.waits[0].peer), ([5].as_slice(), 5));
    let text = hang.to_string();
    assert!(text.contains("rank 5 has stopped"), "{text}");
    assert!(text.contains("waits to receive 8 bytes from rank 5, which has stopped"), "{text}");
}

/// A root sends all its messages in one event: only those before it stops leave it, and a rank that is through stays so.
#[test]
fn a_rank_stops_when_it_is_said_to() {
    let stopped = |at_ns| {
        let faults = InjectedFaults { crashes: vec![Crash { rank: 0, at_ns }], ..InjectedFaults::default() };
        let choice = Some(Algorithm::Linear.into());
        quiet(&SimulatedJob { faults, choice, ..collective(Collective::Scatter, 16, 8) }, &Params::default())
    };
    let end = stopped(1e9);
    assert_eq!(end.hang, None, "it was through long before");
    let waiting = |at_ns| stopped(at_ns).hang.map(|hang| (hang.dead, hang.unfinished));
    assert_eq!(waiting(0.0), Some((vec![0], 15)), "it did not even begin");
    let half = waiting(300.0 + 8.0 * 40.0).expect("some wait");
    assert!((1..15).contains(&half.1), "{half:?}");
}

#[test]
fn a_link_that_is_cut_for_ever_is_named() {
    let cut = LinkCut { hosts: (0, 2), from_ns: 0.0, until_ns: None };
    let params = Params { ranks_per_host: 1, ..Params::default() };
    let faults = InjectedFaults { cuts: vec![cut], ..InjectedFaults::default() };
    let job = SimulatedJob { faults, ..collective(Collective::Allreduce, 4, 8) };
    let hang = quiet(&job, &params).hang.expect("ranks that wait");
    // Ranks 1 and 3 need nobody else in the second round.
    assert_eq!(hang.unfinished, 2);
    assert!(hang.to_string().contains("from rank 0 to rank 2"), "{hang}");
}

#[test]
fn a_root_that_gathers_holds_what_comes_early() {
    let job =
        SimulatedJob { choice: Some(Algorithm::Linear.into()), ..collective(Collective::Gather, 64, 64) };
    let skewed =
        SimulatedJob { faults: InjectedFaults { skew_ns: 1e5, ..InjectedFaults::default() }, ..job.clone() };
    assert_eq!(quiet(&job, &Params::default()).rank_bytes_max, 64);
    assert!(quiet(&skewed, &Params::default()).unexpected_bytes_max <= 64 * 128);
}

/// Two ranks that send to each other are both busy with storing lines, and only then with reading them.
#[test]
fn an_exchange_takes_longer_than_one_way() {
    let mut params = Params { ranks_per_host: 2, ..Params::default() };
    // Of the call, only the exchange counts: the copy of the own block hides in its travels, and would shorten them.
    (params.compute.call_ns, params.compute.copy_per_byte_ns) = (0.0, 0.0);
    let (bytes, choice) = (4000, Some(Algorithm::Pairwise.into()));
    let time = |params: &Params| {
        quiet(&SimulatedJob { choice, ..collective(Collective::Alltoall, 2, bytes) }, params).time_ns()
    };
    let both = time(&params);
    let level = params.level(Distance::Host);
    let busy = (level.send_per_byte_ns + level.receive_per_byte_ns) * bytes as f64;
    let travels = level.latency_ns + level.lines_ns + level.gap_per_byte_ns * bytes as f64;
    (level.send_per_byte_ns, level.receive_per_byte_ns) = (0.0, 0.0);
    let longer = both - time(&params);
    assert!(busy > travels + 100.0 && (longer - (busy - travels)).abs() < 20.0, "{longer} {busy} {travels}");
}

/// A core copies one thing at a time: two messages that both sides could copy together take twice as long as one.
#[test]
fn who_copies_does_nothing_else() {
    let params = Params { ranks_per_host: 2, ..Params::default() };
    let bytes = 1 << 20;
    let one_way =
        quiet(&SimulatedJob { repeats: 10, ..SimulatedJob::new(RankWork::PingPong, 2, bytes) }, &params)
            .time_ns()
            / 20.0;
    let choice = Some(Algorithm::Pairwise.into());
    let both_ways =
        quiet(&SimulatedJob { choice, ..collective(Collective::Alltoall, 2, bytes) }, &params).time_ns();
    assert!(both_ways > 1.7 * one_way, "{both_ways} {one_way}");
}

/// The root of a linear gather receives one large block after the other, with the help of one sender each time.
#[test]
fn a_root_copies_one_block_after_the_other() {
    let params = Params::default();
    let time = |ranks| {
        let choice = Some(Algorithm::Linear.into());
        quiet(&SimulatedJob { choice, ..collective(Collective::Gather, ranks, 1 << 18) }, &params).time_ns()
    };
    let (few, many) = (time(5), time(17));
    assert!((3.0..5.0).contains(&(many / few)), "{few} {many}");
}
