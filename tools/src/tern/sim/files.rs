//! `tern sim --io`: what collective accesses to a file would take, together and by each rank alone.

use super::options::SimOptions;
use super::units;
use crate::table::TextTable;
use tern_sim::files::{FileJob, PricedFiles, price};

/// For each way, number of ranks and bytes: what the library would do, and with how many aggregators it would be best.
pub(super) fn list(options: &SimOptions) -> String {
    let mut table = TextTable::default();
    table.row([
        "access",
        "ranks",
        "bytes",
        "block",
        "aggregators",
        "windows",
        "together",
        "alone",
        "the library",
        "best with",
        "time",
    ]);
    for writes in [true, false] {
        for &ranks in &options.ranks {
            for &bytes in &options.bytes {
                table.row(row(options, writes, ranks, bytes).each_ref().map(String::as_str));
            }
        }
    }
    table.text()
}

fn row(options: &SimOptions, writes: bool, ranks: u32, bytes: u64) -> [String; 11] {
    let files = options.files;
    let job = FileJob {
        ranks,
        bytes,
        block: files.block,
        aggregators: files.aggregators,
        buffer: files.buffer,
        writes,
    };
    let found = price(&job, &options.params);
    let (best, best_ns) = best(&job, options);
    let library = if found.chosen_ns() == found.together_ns { "together" } else { "alone" };
    [
        if writes { "write" } else { "read" }.into(),
        units::count(ranks.into()),
        units::count(bytes),
        units::count(files.block),
        found.aggregators.to_string(),
        found.windows.to_string(),
        units::time(found.together_ns),
        units::time(found.alone_ns),
        library.into(),
        if best == 0 { "none".into() } else { best.to_string() },
        units::time(best_ns),
    ]
}

/// The number of aggregators with which it takes least, powers of two tried; 0: each rank alone.
fn best(job: &FileJob, options: &SimOptions) -> (u32, f64) {
    let counts =
        std::iter::successors(Some(1), |count| Some(2 * count)).take_while(|count| *count <= job.ranks);
    let together =
        |count| -> PricedFiles { price(&FileJob { aggregators: Some(count), ..*job }, &options.params) };
    let all = counts.map(together).map(|found| (found.aggregators, found.together_ns));
    let alone = (0, price(job, &options.params).alone_ns);
    all.chain([alone]).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(alone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::options::tests::parse;

    #[test]
    fn small_blocks_go_together_and_long_ones_alone() {
        let text = |line: &str| list(&parse(line).unwrap());
        let small = text("--io --ranks 8 --bytes 1m --block 64");
        assert_eq!(small.lines().count(), 3, "{small}");
        assert!(small.lines().skip(1).all(|line| line.contains("together")), "{small}");
        let long = text("--io --ranks 8 --bytes 4m --block 4m");
        assert!(long.lines().skip(1).all(|line| line.contains("alone") && line.contains("none")), "{long}");
    }
}
