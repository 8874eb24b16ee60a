//! `tern sim --choose`: the selection table's choice beside the best algorithm of the simulator, and beside what a blocking call
//! takes over shared memory, which asks no table.

use super::options::SimOptions;
use super::series::{SeriesPoint, hang, job, query, simulate, suitable};
use super::units;
use crate::table::TextTable;
use tern_coll::table::select;
use tern_coll::{Algorithm, Collective};
use tern_sim::RankWork;

/// For each collective, size and number of ranks: what the table takes, and what would be best.
pub(super) fn list(options: &SimOptions) -> Result<String, String> {
    let (mut table, mut notes) = (TextTable::default(), String::new());
    table.row(["call", "bytes", "ranks", "table", "time", "best", "time", "ratio", "shm"]);
    for work in &options.works {
        let RankWork::Collective(collective) = *work else { continue };
        for &bytes in &options.bytes {
            for &ranks in &options.ranks {
                if let Some(row) = compare(options, collective, bytes, ranks, &mut notes)? {
                    table.row(row.each_ref().map(String::as_str));
                }
            }
        }
    }
    Ok(table.text() + &notes)
}

fn compare(
    options: &SimOptions,
    collective: Collective,
    bytes: u64,
    ranks: u32,
    notes: &mut String,
) -> Result<Option<[String; 9]>, String> {
    let query = query(collective, &options.params, ranks, bytes);
    let chosen = select(&[], &query);
    let mut points = Vec::new();
    for algorithm in suitable(collective, &query, options) {
        // The table may say how to cut messages.
        let choice = if algorithm == chosen.algorithm { chosen } else { algorithm.into() };
        match simulate(job(options, RankWork::Collective(collective), Some(choice), ranks, bytes), options)? {
            Ok(point) => points.push(point),
            Err(left_out) => notes.push_str(&left_out),
        }
    }
    if let Some(hang) = points.iter().find_map(hang) {
        return Err(hang);
    }
    let of_shm = |point: &SeriesPoint| point.algorithm == Algorithm::Shm.name();
    let shared =
        points.iter().find(|point| of_shm(point)).map_or("-".into(), |point| units::time(point.time_ns()));
    points.retain(|point| !of_shm(point));
    let best = points.iter().min_by(|a, b| a.time_ns().total_cmp(&b.time_ns()));
    let table = points.iter().find(|point| point.algorithm == chosen.algorithm.name());
    let (Some(best), Some(table)) = (best, table) else { return Ok(None) };
    Ok(Some([
        collective.name().into(),
        units::count(bytes),
        units::count(ranks.into()),
        table.algorithm.into(),
        units::time(table.time_ns()),
        best.algorithm.into(),
        units::time(best.time_ns()),
        format!("{:.2}", table.time_ns() / best.time_ns()),
        shared,
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::options::tests::parse;

    fn listed(line: &str) -> Result<String, String> {
        list(&parse(line).unwrap())
    }

    #[test]
    fn what_was_asked_besides_counts() {
        let text = listed("--choose alltoall --ranks 8 --messages-max 10").unwrap();
        assert!(text.contains("left out: alltoall direct"), "{text}");
        assert!(listed("--choose bcast --ranks 4 --root 4").unwrap_err().contains("root is 4"));
        assert!(listed("--choose bcast --ranks 4 --crash 0@0").unwrap_err().contains("rank 0 has stopped"));
    }

    #[test]
    fn the_choice_stands_beside_the_best() {
        let text = listed("--choose bcast barrier --ranks 4,5 --bytes 8").unwrap();
        assert_eq!(text.lines().count(), 5, "{text}");
        assert!(text.contains("binomial") && text.contains("dissemination"), "{text}");
        // On one machine there is the way over shared memory, too; on several there is none.
        let last_word = |text: &str| {
            text.lines().nth(1).and_then(|line| line.split_whitespace().last().map(String::from))
        };
        assert!(last_word(&text).is_some_and(|time| time.ends_with('s')), "{text}");
        let text = listed("--choose bcast --ranks 4 --bytes 8 --ranks-per-host 2").unwrap();
        assert_eq!(last_word(&text).as_deref(), Some("-"), "{text}");
    }
}
