//! The built-in selection table beyond what machines at hand can run: its choice is nearly the best that the simulator
//! finds with its default parameters, on one machine of 64 ranks and on several of 16. `tern sim --choose` prints the same
//! for any calls.

use tern_coll::table::select;
use tern_coll::{Choice, Collective, Query, algorithms};
use tern_sim::topology::Topology;
use tern_sim::{Job, Params, Work, run};

/// The table's choice may take so many times what the best algorithm takes. Nearer would be false precision: a
/// parameter that is a fifth off moves a threshold by as much.
const RATIO_MAX: f64 = 1.3;

/// Ranks, and how many of them are on one machine. Few ranks are measured; these are not.
const PLACES: [(u32, u32); 5] = [(16, 64), (64, 64), (64, 16), (192, 16), (512, 16)];
/// Those on several machines.
const SPREAD: &[(u32, u32)] = PLACES.split_at(2).1;
const SIZES: [u64; 5] = [8, 2 << 10, 16 << 10, 64 << 10, 512 << 10];

fn time(collective: Collective, choice: Choice, params: &Params, ranks: u32, bytes: u64) -> f64 {
    let job = Job { choice: Some(choice), ..Job::new(Work::Collective(collective), ranks, bytes) };
    let outcome = run(&job, params, &mut |_| {}).expect("an outcome");
    assert_eq!(outcome.hang, None);
    outcome.time_ns()
}

fn compare(collective: Collective, (ranks, ranks_per_host): (u32, u32), bytes: u64) -> Option<String> {
    let params = Params { ranks_per_host, ..Params::default() };
    let machines = Topology::new(&params).machines(ranks).count();
    let query = Query { machines, ..Query::new(collective, bytes, ranks) };
    let time = |choice: Choice| time(collective, choice, &params, ranks, bytes);
    let chosen = select(&[], &query);
    let suitable = algorithms(collective).iter().copied().filter(|algorithm| algorithm.suits(&query));
    let timed = suitable.map(|algorithm| (time(algorithm.into()), algorithm));
    let (least, best) = timed.min_by(|a, b| a.0.total_cmp(&b.0)).expect("there is an algorithm");
    let (ratio, chosen) = (time(chosen) / least, chosen.algorithm);
    let what = format!("{collective} of {bytes} on {ranks}, {ranks_per_host} each");
    (ratio > RATIO_MAX).then(|| format!("{what}: {chosen} takes {ratio:.2} of {best}"))
}

fn judge(collectives: &[Collective], places: &[(u32, u32)], sizes: &[u64]) {
    let calls =
        collectives.iter().flat_map(|&collective| places.iter().map(move |&place| (collective, place)));
    let sized =
        calls.flat_map(|(collective, place)| sizes.iter().map(move |&bytes| (collective, place, bytes)));
    let far: Vec<String> =
        sized.filter_map(|(collective, place, bytes)| compare(collective, place, bytes)).collect();
    assert!(far.is_empty(), "{}", far.join("\n"));
}

#[test]
fn the_choice_is_nearly_the_best_of_what_moves_data_from_one_or_to_one() {
    judge(&[Collective::Bcast, Collective::Reduce, Collective::Barrier], &PLACES, &SIZES);
}

#[test]
fn the_choice_is_nearly_the_best_of_reductions_for_all() {
    // The leaders of machines choose by the rows of one machine, but their messages take longer. So those rows are for
    // them; ranks that share memory use it instead, except in non-blocking calls.
    judge(&[Collective::Allreduce], SPREAD, &SIZES);
}

#[test]
fn the_choice_is_nearly_the_best_of_gathering() {
    // Of large blocks a linear gather needs the least memory, so the table is not after the best time.
    judge(&[Collective::Gather], &PLACES, &SIZES[..4]);
}
