//! `tern tune`: measures on the user's machine which algorithms of collectives are faster than those of the built-in
//! table, and what messages cost.
//!
//! [`grid`] says what is tried, [`jobs`] runs it, [`tuner`] goes through it, [`decide`] judges, and [`messages`] measures
//! for the simulator.

mod decide;
mod grid;
pub(crate) mod jobs;
pub(crate) mod least;
pub(crate) mod messages;
mod options;
pub(crate) mod progress;
mod tuner;

use std::cell::RefCell;
use std::fmt::Write;

use crate::output;
use rustix::system::uname;
use rustix::time::{ClockId, clock_gettime};
use tern_coll::TableRow;
use tern_coll::table::{HEADING, NumberRange};

use decide::Winner;
use grid::Effort;
use jobs::Jobs;
use progress::JobProgress;
use tuner::{CollectiveTuner, RankRange};

pub(crate) use options::{TuneArguments, TuneOptions};

/// Measures and writes both files; returns what there is to say.
pub(crate) fn run(options: &TuneOptions) -> Result<String, String> {
    // Before a minute is spent.
    [&options.params, &options.output].into_iter().try_for_each(|file| output::check(file))?;
    let jobs = Jobs::find()?;
    let ranks = brackets(&options.ranks(tern_job::cores() as u32));
    let effort = Effort::new(options.quick);
    let all = || {
        options.collectives.iter().flat_map(|collective| ranks.iter().map(move |ranks| (*collective, *ranks)))
    };
    let jobs_of = |(collective, ranks): (_, RankRange)| effort.jobs_of(collective, ranks.measured);
    let mut done = messages::JOBS * messages::REPETITIONS;
    let progress = JobProgress::new(done + all().map(jobs_of).sum::<u64>());
    let costs = messages::measure(&jobs, effort.point_s, messages::REPETITIONS, &progress)?;
    output::write(&options.params, &format!("{}{costs}", header("What messages cost", "for tern sim")))?;
    let tuner = CollectiveTuner { jobs: &jobs, effort, progress: &progress, scatter: RefCell::default() };
    let mut rows = Vec::new();
    for (collective, ranks) in all() {
        match tuner.tune(collective, ranks) {
            Ok(found) => rows.extend(found),
            Err(error) => progress.say(&format!(
                "tern tune: {collective} of {} ranks is left as it is: {error}",
                ranks.measured
            )),
        }
        done += jobs_of((collective, ranks));
        progress.reach(done);
        // What has been found so far is kept, should the user lose patience.
        output::write(&options.output, &table(&rows))?;
    }
    progress.end();
    Ok(format!("{}{}", summary(options, &rows), caution(decide::median(tuner.scatter.take()))))
}

/// Two measurements of the same thing may be so many times apart.
const SCATTER_MAX: f64 = 1.25;

/// What to know of the result if the machine was busy.
fn caution(scatter: f64) -> String {
    let percent = (scatter - 1.0) * 100.0;
    if !(SCATTER_MAX..f64::INFINITY).contains(&scatter) {
        return String::new();
    }
    format!(
        "Two measurements of the same thing were {percent:.0} % apart (the median): other programs were running. Tune again\n\
         when the machine is quiet; only what stood out of this noise was chosen.\n"
    )
}

/// Each number of ranks stands for those above the one before.
fn brackets(ranks: &[u32]) -> Vec<RankRange> {
    let before = std::iter::once(1).chain(ranks.iter().copied());
    let bounds =
        |before: u32, measured: u32| NumberRange { min: u64::from(before) + 1, max: measured.into() };
    ranks
        .iter()
        .zip(before)
        .map(|(&measured, before)| RankRange { measured, bounds: bounds(before, measured) })
        .collect()
}

fn header(what: &str, use_of_it: &str) -> String {
    let name = uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    format!(
        "# {what} on {} ({} {}, {} cores), {use_of_it}.\n# Measured by tern tune {} on {}.\n",
        text(name.nodename()),
        text(name.sysname()),
        text(name.machine()),
        tern_job::cores(),
        env!("CARGO_PKG_VERSION"),
        date(clock_gettime(ClockId::Realtime).tv_sec)
    )
}

fn table(rows: &[(TableRow, Vec<Winner>)]) -> String {
    let mut text = header("Algorithms that are faster than the built-in choice", "for TERN_COLL_TABLE");
    let _ = writeln!(text, "{HEADING}");
    for (row, winners) in rows {
        let found: Vec<String> = winners.iter().map(said).collect();
        let _ = writeln!(text, "{:<90}  # {}", row.to_string(), found.join("; "));
    }
    text
}

/// `8 B: 1.2 us, not 1.6`
fn said(winner: &Winner) -> String {
    let us = |seconds: f64| seconds * 1e6;
    format!("{} B: {:.1} us, not {:.1}", winner.bytes, us(winner.after_s), us(winner.before_s))
}

fn summary(options: &TuneOptions, rows: &[(TableRow, Vec<Winner>)]) -> String {
    let costs = format!("What messages cost: {}\n", options.params.display());
    if rows.is_empty() {
        return format!(
            "{costs}Nothing is clearly faster than the built-in choice; {} has no rows.\n",
            options.output.display()
        );
    }
    let rows: String = rows.iter().map(|(row, _)| format!("{row}\n")).collect();
    format!(
        "{HEADING}\n{rows}\n{costs}To use these rows: export TERN_COLL_TABLE={}\n",
        options.output.canonicalize().unwrap_or_else(|_| options.output.clone()).display()
    )
}

/// The date of a time in seconds since 1970, in the Gregorian calendar, UTC. The days are counted from 1 March of year
/// 0, so that leap days end a cycle.
pub(crate) fn date(seconds: i64) -> String {
    let days = seconds.div_euclid(86_400) + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = 400 * era + year_of_era + i64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_coll::{Algorithm, Collective};

    #[test]
    fn dates() {
        let days =
            [(0, "1970-01-01"), (11_016, "2000-02-29"), (11_017, "2000-03-01"), (20_454, "2026-01-01")];
        days.iter().for_each(|(days, text)| assert_eq!(date(days * 86_400 + 5), *text));
    }

    #[test]
    fn ranks_between_go_with_the_next_number() {
        let bounds: Vec<_> = brackets(&[2, 4, 6]).iter().map(|ranks| ranks.bounds.to_string()).collect();
        assert_eq!(bounds, ["2", "3-4", "5-6"]);
    }

    #[test]
    fn what_is_written_is_a_table() {
        let winner = Winner { bytes: 8, choice: Algorithm::Chain.into(), before_s: 2e-6, after_s: 1e-6 };
        let mut row = jobs::row_for_all(Collective::Bcast, winner.choice);
        row.ranks = NumberRange { min: 3, max: 4 };
        let text = table(&[(row, vec![winner])]);
        assert_eq!(tern_coll::table::parse(&text), Ok(vec![row]));
        assert!(text.contains("8 B: 1.0 us, not 2.0"), "{text}");
    }
}
