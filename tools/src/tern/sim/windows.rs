//! `tern sim --rma`: what `MPI_Win_fence` would take, and puts of all ranks that end with one.

use super::options::SimOptions;
use super::units;
use crate::table::TextTable;
use tern_sim::windows::{WindowJob, price};

/// For each number of ranks and bytes: a fence, and puts.
pub(super) fn list(options: &SimOptions) -> Result<String, String> {
    let mut table = TextTable::default();
    table.row(["ranks", "bytes", "puts of a rank", "messages", "fence", "puts and fence", "of a put", "how"]);
    for &ranks in &options.ranks {
        for &bytes in &options.bytes {
            table.row(row(options, ranks, bytes)?.each_ref().map(String::as_str));
        }
    }
    Ok(table.text())
}

fn row(options: &SimOptions, ranks: u32, bytes: u64) -> Result<[String; 8], String> {
    let job = WindowJob { ranks, bytes, targets: options.targets };
    let found = price(&job, &options.params).map_err(|error| error.to_string())?;
    let of_put = (found.puts_ns - found.fence_ns) / f64::from(found.puts.max(1));
    Ok([
        units::count(ranks.into()),
        units::count(bytes),
        units::count(found.puts.into()),
        units::count(found.messages),
        units::time(found.fence_ns),
        units::time(found.puts_ns),
        units::time(of_put),
        if found.is_run { "run" } else { "priced" }.into(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::options::tests::parse;

    #[test]
    fn few_messages_are_run_and_many_priced() {
        let text = |line: &str| list(&parse(line).unwrap()).unwrap();
        let both = text("--rma --ranks 64,4k --ranks-per-host 8 --bytes 8");
        let lines: Vec<&str> = both.lines().collect();
        assert_eq!(lines.len(), 3, "{both}");
        assert!(lines[1].ends_with("run") && lines[2].ends_with("priced"), "{both}");
        let few = text("--rma --ranks 64 --ranks-per-host 8 --targets 4");
        assert!(
            few.lines().nth(1).is_some_and(|line| line.contains(" 4 ") && line.ends_with("run")),
            "{few}"
        );
        assert!(list(&parse("--rma --ranks 4 --targets 4").unwrap()).is_err());
        assert!(parse("allreduce --targets 4").is_err() && parse("allreduce --rma").is_err());
    }
}
