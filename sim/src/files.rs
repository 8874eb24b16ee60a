//! What a collective access to a file would take: the library's own plan of collective buffering ([`tern_io::Plan`]), priced.
//!
//! Ranks have blocks in turn, the usual case of an array in a file. A rank copies its pieces of a window to the aggregator's memory, or
//! sends them where that is on another machine; the aggregator writes the window when all have come, and each has two windows in turn.
//! Reading goes the other way. Beside that stands what it takes if each rank accesses its blocks by itself.

use crate::params::{Distance, Params, StorageCosts};
use crate::topology::RankTopology;
use std::ops::Range;
use tern_io::limits::ALIGN_BYTES;
use tern_io::plan::{PlanReason, aggregators, choose};
use tern_io::{AccessSpan, Plan};

/// A collective access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileJob {
    /// Ranks.
    pub ranks: u32,
    /// Bytes of each.
    pub bytes: u64,
    /// Bytes of a block; rank after rank has one, and then the first again.
    pub block: u64,
    /// Ranks that aggregate; `None`: as many as the library takes.
    pub aggregators: Option<u32>,
    /// Bytes of an aggregator's memory, as the hint `cb_buffer_size` says.
    pub buffer: u64,
    /// Whether it writes.
    pub writes: bool,
}

/// What it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PricedFiles {
    /// Ranks that aggregate.
    pub aggregators: u32,
    /// Windows of the aggregator that has most.
    pub windows: u64,
    /// Nanoseconds, if ranks move their data together.
    pub together_ns: f64,
    /// Nanoseconds, if each moves its own.
    pub alone_ns: f64,
    /// What the library does.
    pub choice: PlanReason,
}

impl PricedFiles {
    /// The time of what the library does.
    pub fn chosen_ns(&self) -> f64 {
        if self.choice == PlanReason::Aggregate { self.together_ns } else { self.alone_ns }
    }
}

impl FileJob {
    /// The bytes of a rank that lie before a place in the file.
    fn before(&self, rank: u32, offset: u64) -> u64 {
        let row = self.block * u64::from(self.ranks);
        let in_row = (offset % row).saturating_sub(self.block * u64::from(rank)).min(self.block);
        (offset / row * self.block + in_row).min(self.bytes)
    }

    /// A rank's bytes in a range of the file, and in how many pieces.
    fn share(&self, rank: u32, range: &Range<u64>) -> (u64, u64) {
        let (first, last) = (self.before(rank, range.start), self.before(rank, range.end));
        let pieces = if last > first { (last - 1) / self.block - first / self.block + 1 } else { 0 };
        (last - first, pieces)
    }

    /// What a rank tells the others.
    fn span(&self, rank: u32) -> AccessSpan {
        if self.bytes == 0 {
            return AccessSpan::default();
        }
        let row = self.block * u64::from(self.ranks);
        let place = |byte: u64| byte / self.block * row + self.block * u64::from(rank) + byte % self.block;
        AccessSpan {
            start: place(0),
            end: place(self.bytes - 1) + 1,
            bytes: self.bytes,
            piece: self.block.min(self.bytes),
        }
    }

    /// The plan that all ranks make.
    fn plan(&self, params: &Params) -> (Plan, Vec<AccessSpan>) {
        let topology = RankTopology::new(params);
        let hosts: Vec<u32> = (0..self.ranks).map(|rank| topology.host(rank)).collect();
        let count =
            self.aggregators.unwrap_or_else(|| usual_aggregators(self.ranks, params)).clamp(1, self.ranks);
        let spans: Vec<AccessSpan> = (0..self.ranks).map(|rank| self.span(rank)).collect();
        let window = (self.buffer / 2 / ALIGN_BYTES * ALIGN_BYTES).max(ALIGN_BYTES);
        (Plan::new(&spans, &aggregators(&hosts, count), window, ALIGN_BYTES), spans)
    }
}

/// As the library chooses: on one node a rank of each core, otherwise one of each node.
fn usual_aggregators(ranks: u32, params: &Params) -> u32 {
    let hosts = ranks.div_ceil(params.ranks_per_host);
    if hosts > 1 { hosts } else { ranks.div_ceil(params.ranks_per_core).max(2).min(ranks) }
}

/// What an access takes.
pub fn price(job: &FileJob, params: &Params) -> PricedFiles {
    let (plan, spans) = job.plan(params);
    let meetings = 2.0 * meeting_ns(job.ranks, params);
    let windows = |domain: usize| {
        (0..plan.rounds()).filter(|round| !plan.window(domain, *round).is_empty()).count() as u64
    };
    PricedFiles {
        aggregators: plan.domains.len() as u32,
        windows: (0..plan.domains.len()).map(windows).max().unwrap_or(0),
        together_ns: meetings + BusyTimes::new(job, params, &plan).run(),
        alone_ns: meetings + alone_ns(job, params),
        choice: choose(&spans),
    }
}

/// All ranks tell each other a few words: Bruck's algorithm, whose last rounds go farthest.
fn meeting_ns(ranks: u32, params: &Params) -> f64 {
    let topology = RankTopology::new(params);
    let rounds = (0..32).map(|power| 1u32 << power).take_while(|distance| *distance < ranks);
    let one = |distance: u32| {
        let level = &params.levels[topology.distance(0, distance) as usize];
        level.overhead_send_ns + level.latency_ns + level.overhead_receive_ns + params.compute.step_ns
    };
    rounds.map(one).sum::<f64>() + params.compute.call_ns
}

/// Each rank makes a call for each block. Ranks of one core take turns.
fn alone_ns(job: &FileJob, params: &Params) -> f64 {
    let StorageCosts { call_ns, shared_per_byte_ns, .. } = params.storage;
    let calls = job.bytes.div_ceil(job.block.max(1)) as f64;
    let one = calls * call_ns + job.bytes as f64 * params.storage.per_byte_ns(job.writes);
    let turns = f64::from(params.ranks_per_core.min(job.ranks));
    let all_bytes = job.bytes as f64 * f64::from(job.ranks);
    (one * turns).max(all_bytes * shared_per_byte_ns)
}

/// Who is busy until when, nanoseconds.
struct BusyTimes<'a> {
    job: &'a FileJob,
    params: &'a Params,
    plan: &'a Plan,
    topology: RankTopology,
    /// Each core.
    cores: Vec<f64>,
    /// What arrives at each machine, and what leaves it.
    links: Vec<f64>,
    /// What all machines share of the file system.
    storage: f64,
    /// When the last two windows of each domain were done with.
    done: Vec<[f64; 2]>,
}

impl<'a> BusyTimes<'a> {
    fn new(job: &'a FileJob, params: &'a Params, plan: &'a Plan) -> Self {
        let topology = RankTopology::new(params);
        let last = job.ranks.saturating_sub(1);
        let (cores, hosts) = (topology.core(last) + 1, topology.host(last) as usize + 1);
        BusyTimes {
            job,
            params,
            plan,
            topology,
            cores: vec![0.0; cores],
            links: vec![0.0; hosts],
            storage: 0.0,
            done: vec![[0.0; 2]; plan.domains.len()],
        }
    }

    fn run(mut self) -> f64 {
        let mut end: f64 = 0.0;
        for round in 0..self.plan.rounds() {
            end = end.max(self.round(round));
        }
        end
    }

    /// The windows of one round, each from when its memory is free until its bytes are where they belong. A rank moves its pieces of all
    /// windows before it waits for the file, as it does in the library.
    fn round(&mut self, round: u64) -> f64 {
        let windows: Vec<(usize, u32, Range<u64>)> = (0..self.plan.domains.len())
            .map(|domain| (domain, self.plan.domains[domain].0, self.plan.window(domain, round)))
            .filter(|(.., range)| !range.is_empty())
            .collect();
        let mut times: Vec<f64> = windows.iter().map(|(domain, ..)| self.done[*domain][0]).collect();
        for moves in [self.job.writes, !self.job.writes] {
            for ((_, aggregator, range), time) in windows.iter().zip(&mut times) {
                *time = if moves {
                    self.move_pieces(*aggregator, range, *time)
                } else {
                    self.access(*aggregator, range, *time)
                };
            }
        }
        for ((domain, ..), time) in windows.iter().zip(&times) {
            self.done[*domain] = [self.done[*domain][1], *time];
        }
        times.into_iter().fold(0.0, f64::max)
    }

    /// All ranks move their pieces, not before a time. When the last one has.
    fn move_pieces(&mut self, aggregator: u32, range: &Range<u64>, from: f64) -> f64 {
        let mut end = from;
        for rank in 0..self.job.ranks {
            let (bytes, pieces) = self.job.share(rank, range);
            if bytes == 0 {
                continue;
            }
            let core = self.topology.core(rank);
            let copied = self.cores[core].max(from)
                + pieces as f64 * self.params.compute.step_ns
                + bytes as f64 * self.params.compute.copy_far_per_byte_ns;
            self.cores[core] = copied;
            end = end.max(self.carry(rank, aggregator, bytes, copied));
        }
        end
    }

    /// Between machines, data go over the link of the aggregator's.
    fn carry(&mut self, rank: u32, aggregator: u32, bytes: u64, copied: f64) -> f64 {
        let distance = self.topology.distance(rank, aggregator);
        if matches!(distance, Distance::Core | Distance::Host) {
            return copied;
        }
        let level = &self.params.levels[distance as usize];
        let link = &mut self.links[self.topology.host(aggregator) as usize];
        let begin = link.max(copied + level.overhead_send_ns + level.latency_ns);
        *link = begin + level.gap_ns + bytes as f64 * level.gap_per_byte_ns;
        *link + level.overhead_receive_ns
    }

    /// The aggregator reads or writes a window, not before a time.
    fn access(&mut self, aggregator: u32, range: &Range<u64>, from: f64) -> f64 {
        let bytes = (range.end - range.start) as f64;
        let core = self.topology.core(aggregator);
        let storage = self.params.storage;
        let begin = self.cores[core].max(from);
        let own = begin + storage.call_ns + bytes * storage.per_byte_ns(self.job.writes);
        self.storage = self.storage.max(begin) + bytes * storage.shared_per_byte_ns;
        let end = own.max(self.storage);
        self.cores[core] = end;
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(ranks: u32, block: u64) -> FileJob {
        FileJob { ranks, bytes: 4 << 20, block, aggregators: None, buffer: 1 << 20, writes: true }
    }

    #[test]
    fn every_byte_is_in_one_window() {
        for (ranks, block, buffer) in
            [(1, 7, 100), (3, 1000, 1 << 14), (8, 4096, 1 << 20), (5, 1 << 21, 1 << 17)]
        {
            let job = FileJob { bytes: 300_001, buffer, ..job(ranks, block) };
            let (plan, spans) = job.plan(&Params::default());
            for rank in 0..ranks {
                let mut bytes = 0;
                for domain in 0..plan.domains.len() {
                    for round in 0..plan.rounds() {
                        let range = plan.window(domain, round);
                        let (own, pieces) = job.share(rank, &range);
                        assert!(own <= range.end - range.start && pieces <= own && (own > 0) == (pieces > 0));
                        assert!(own == 0 || spans[rank as usize].meets(&range));
                        bytes += own;
                    }
                }
                assert_eq!(bytes, job.bytes, "rank {rank} of {ranks}, blocks of {block}");
            }
        }
    }

    #[test]
    fn many_small_pieces_are_better_moved_together() {
        let params = Params::default();
        let small = price(&job(8, 64), &params);
        assert!(small.together_ns < small.alone_ns && small.choice == PlanReason::Aggregate, "{small:?}");
        let long = price(&job(8, 4 << 20), &params);
        assert!(long.alone_ns < long.together_ns && long.choice == PlanReason::NotInterleaved, "{long:?}");
        assert_eq!((small.chosen_ns(), long.chosen_ns()), (small.together_ns, long.alone_ns));
    }

    #[test]
    fn the_file_system_is_the_limit_of_all() {
        let storage = StorageCosts { shared_per_byte_ns: 1.0, ..StorageCosts::default() };
        let params = Params { storage, ..Params::default() };
        for writes in [true, false] {
            for ranks in [2, 16, 200] {
                let job = FileJob { writes, ..job(ranks, 4096) };
                let least = (job.bytes * u64::from(ranks)) as f64;
                let found = price(&job, &params);
                assert!(found.together_ns >= least && found.alone_ns >= least, "{found:?}");
                assert!(found.together_ns < 2.0 * least, "{found:?}");
            }
        }
    }

    #[test]
    fn a_machine_more_is_an_aggregator_more_and_time_less() {
        let params = Params { ranks_per_host: 4, ..Params::default() };
        let all =
            [1, 2, 4].map(|count| price(&FileJob { aggregators: Some(count), ..job(16, 512) }, &params));
        assert_eq!(all.map(|found| found.aggregators), [1, 2, 4]);
        assert!(all.windows(2).all(|pair| pair[1].together_ns < pair[0].together_ns), "{all:?}");
        assert_eq!(price(&job(16, 512), &params).aggregators, 4);
        assert_eq!(price(&FileJob { bytes: 0, ..job(16, 512) }, &params).windows, 0);
    }
}
