//! What ranks have done, in numbers (`mpirun --stats`): summed, and of each rank.

use std::collections::BTreeMap;

use crate::limits::{NUMBERS_MAX, RANKS_SHOWN_MAX};

/// The numbers of all ranks, in the order in which they were first told of.
#[derive(Debug, Default)]
pub(crate) struct JobNumbers {
    names: Vec<String>,
    /// By name's place and rank.
    values: BTreeMap<(usize, u32), u64>,
}

/// How a name ends whose numbers are not added up: the most of all ranks counts.
const PEAK: &str = "_peak";
/// How the names of the library's numbers begin, which a person need not see.
const PREFIX: &str = "tern_";

impl JobNumbers {
    /// Takes what a rank says: a name and a number in each line. What makes no sense is left out.
    pub(crate) fn take(&mut self, rank: u32, text: &str) {
        for line in text.lines() {
            let Some((name, value)) = line.split_once(' ') else { continue };
            let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if let (true, Ok(value)) = (is_name, value.parse())
                && let Some(at) = self.place(name)
            {
                self.values.insert((at, rank), value);
            }
        }
    }

    fn place(&mut self, name: &str) -> Option<usize> {
        if let Some(at) = self.names.iter().position(|known| known == name) {
            return Some(at);
        }
        if self.names.len() == NUMBERS_MAX {
            return None;
        }
        self.names.push(name.into());
        Some(self.names.len() - 1)
    }

    /// A table of all, for a job of `size` ranks: of few ranks each, of many the least and the most.
    pub(crate) fn lines(&self, size: u32) -> Vec<String> {
        if self.names.is_empty() {
            return vec![
                "no rank has told what it has done: none ended MPI by MPI_Finalize, or none uses this MPI"
                    .into(),
            ];
        }
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.sort_by_key(|&at| &self.names[at]);
        let head = match size {
            ..=RANKS_SHOWN_MAX => (0..size).map(|rank| format!("rank {rank}")).collect(),
            _ => vec!["least".into(), "most".into()],
        };
        let mut rows = vec![[vec!["counted".into(), "all ranks".into()], head].concat()];
        rows.extend(order.into_iter().map(|at| self.row(at, size)));
        aligned(&rows)
    }

    fn row(&self, at: usize, size: u32) -> Vec<String> {
        let name = &self.names[at];
        let each: Vec<u64> =
            (0..size).map(|rank| self.values.get(&(at, rank)).copied().unwrap_or(0)).collect();
        let most = each.iter().copied().max().unwrap_or(0);
        let least = each.iter().copied().min().unwrap_or(0);
        let all = if name.ends_with(PEAK) { most } else { each.iter().sum() };
        let shown = if size <= RANKS_SHOWN_MAX { each } else { vec![least, most] };
        let says = |value: &u64| {
            if name.contains("time") { format!("{:.3} ms", *value as f64 / 1e6) } else { value.to_string() }
        };
        let name = name.strip_prefix(PREFIX).unwrap_or(name).replace('_', " ");
        [vec![name, says(&all)], shown.iter().map(says).collect()].concat()
    }
}

/// Rows with their columns below each other: the first to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(String::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let cell = |(at, text): (usize, &String)| match at {
        0 => format!("{text:<0$}", widths[at]),
        _ => format!("  {text:>0$}", widths[at]),
    };
    rows.iter().map(|row| row.iter().enumerate().map(cell).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_summed_and_peaks_are_not() {
        let mut numbers = JobNumbers::default();
        numbers.take(0, "tern_sent_messages 3\ntern_queue_peak 7\nnonsense\nbad! 4\nx y");
        numbers.take(1, "tern_queue_peak 5");
        numbers.take(1, "tern_sent_messages 40");
        assert_eq!(
            numbers.lines(2),
            [
                "counted        all ranks  rank 0  rank 1",
                "queue peak             7       7       5",
                "sent messages         43       3      40",
            ]
        );
    }

    #[test]
    fn of_many_ranks_the_least_and_the_most_are_shown() {
        let mut numbers = JobNumbers::default();
        (1..100).for_each(|rank| numbers.take(rank, &format!("tern_time_blocked {}", rank * 1_000_000)));
        assert_eq!(
            numbers.lines(100),
            [
                "counted         all ranks     least       most",
                "time blocked  4950.000 ms  0.000 ms  99.000 ms"
            ]
        );
    }

    #[test]
    fn a_job_that_counts_nothing_says_so() {
        assert!(JobNumbers::default().lines(4)[0].starts_with("no rank has told"));
    }
}
