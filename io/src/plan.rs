//! Plans of collective buffering (Thakur, Gropp, Lusk 1999): who reads or writes which ranges of the file for all.
//!
//! A plan is a function of what every rank has told the others, so all ranks have the same one. An aggregator owns a domain, one range of
//! the file, and goes through it window by window. Domains are disjoint and begin at multiples of the alignment, so nobody needs a lock.

use std::ops::Range;

/// What a rank tells of its part of a collective access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AccessSpan {
    /// The first byte in the file.
    pub start: u64,
    /// Behind the last one; not above `start`: the rank has nothing.
    pub end: u64,
    /// Bytes of data in between.
    pub bytes: u64,
    /// Bytes of a piece, on the average.
    pub piece: u64,
}

impl AccessSpan {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0 || self.end <= self.start
    }

    /// Whether it may have bytes in a range.
    pub fn meets(&self, range: &Range<u64>) -> bool {
        !self.is_empty() && self.start < range.end && range.start < self.end
    }
}

/// Pieces of this many bytes are best moved by their own rank, whatever lies between them.
pub const LONG_PIECE_BYTES: u64 = 1 << 20;

/// Data may be so much scattered, in bytes of file for each byte of data, before windows would be mostly empty.
pub const SCATTER_MAX: u64 = 64;

/// The smallest domain that is worth an aggregator.
pub const DOMAIN_BYTES_MIN: u64 = 64 << 10;

/// Why ranks do, or do not, move their data together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlanReason {
    /// Together.
    Aggregate,
    /// They read pieces of some length from the page cache of their host.
    PageCache,
    /// Nobody has data between another's.
    NotInterleaved,
    /// Pieces are long.
    LongPieces,
    /// Data are scattered over too much of the file.
    Scattered,
}

impl PlanReason {
    /// The sentence for a person.
    pub fn why(self) -> &'static str {
        match self {
            PlanReason::Aggregate => "together, since the ranks' pieces interleave",
            PlanReason::PageCache => "each rank by itself from the page cache, which all fill",
            PlanReason::NotInterleaved => "each rank by itself, since no rank has data between another's",
            PlanReason::LongPieces => "each rank by itself, since the pieces are long",
            PlanReason::Scattered => {
                "each rank by itself, since the data are scattered over much of the file"
            }
        }
    }
}

/// What is best for ranks with these spans.
pub fn choose(spans: &[AccessSpan]) -> PlanReason {
    let mut full: Vec<&AccessSpan> = spans.iter().filter(|span| !span.is_empty()).collect();
    full.sort_by_key(|span| span.start);
    if full.windows(2).all(|pair| pair[0].end <= pair[1].start) {
        return PlanReason::NotInterleaved;
    }
    if full.iter().all(|span| span.piece >= LONG_PIECE_BYTES) {
        return PlanReason::LongPieces;
    }
    let whole = whole(spans);
    let bytes: u64 = full.iter().map(|span| span.bytes).sum();
    if (whole.end - whole.start) / SCATTER_MAX > bytes {
        PlanReason::Scattered
    } else {
        PlanReason::Aggregate
    }
}

/// From the first byte of all to behind the last.
pub(crate) fn whole(spans: &[AccessSpan]) -> Range<u64> {
    let full = || spans.iter().filter(|span| !span.is_empty());
    let start = full().map(|span| span.start).min().unwrap_or(0);
    start..full().map(|span| span.end).max().unwrap_or(start)
}

/// Who owns what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The aggregators' ranks, each with its domain.
    pub domains: Vec<(u32, Range<u64>)>,
    window: u64,
}

impl Plan {
    /// Divides what the spans cover among the aggregators. `window`: bytes that an aggregator has in memory at a time.
    pub fn new(spans: &[AccessSpan], aggregators: &[u32], window: u64, align: u64) -> Plan {
        let align = align.max(1);
        let window = (window / align * align).max(align);
        let whole = whole(spans);
        let base = whole.start / align * align;
        let blocks = (whole.end - base).div_ceil(align);
        let most = ((whole.end - whole.start) / DOMAIN_BYTES_MIN).max(1);
        let count = (aggregators.len() as u64).min(most).min(blocks.max(1));
        let bound = |number: u64| (base + blocks * number / count * align).clamp(whole.start, whole.end);
        let domains =
            (0..count).map(|number| (aggregators[number as usize], bound(number)..bound(number + 1)));
        Plan { domains: domains.filter(|(_, range)| !range.is_empty()).collect(), window }
    }

    /// How often the windows move on.
    pub fn rounds(&self) -> u64 {
        let rounds = |(_, domain): &(u32, Range<u64>)| {
            (domain.end - domain.start / self.window * self.window).div_ceil(self.window)
        };
        self.domains.iter().map(rounds).max().unwrap_or(0)
    }

    /// The window of the domain of a number, in a round; empty if it has come to its end.
    pub fn window(&self, domain: usize, round: u64) -> Range<u64> {
        let domain = &self.domains[domain].1;
        let base = domain.start / self.window * self.window;
        let start = (base + round * self.window).clamp(domain.start, domain.end);
        start..(base + (round + 1) * self.window).clamp(domain.start, domain.end)
    }
}

/// Which ranks aggregate, of ranks on these hosts: so many on each, the hosts in turn.
pub fn aggregators(hosts: &[u32], count: u32) -> Vec<u32> {
    let mut names: Vec<u32> = Vec::new();
    hosts.iter().for_each(|host| {
        if !names.contains(host) {
            names.push(*host);
        }
    });
    let ranks_of = |name: &u32| -> Vec<u32> {
        // The last one first: they are taken from the end.
        (0..hosts.len() as u32).rev().filter(|rank| hosts[*rank as usize] == *name).collect()
    };
    let mut by_host: Vec<Vec<u32>> = names.iter().map(ranks_of).collect();
    let mut chosen = Vec::new();
    while chosen.len() < count as usize && by_host.iter().any(|ranks| !ranks.is_empty()) {
        for ranks in &mut by_host {
            if let Some(rank) = ranks.pop().filter(|_| chosen.len() < count as usize) {
                chosen.push(rank);
            }
        }
    }
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u64, end: u64) -> AccessSpan {
        AccessSpan { start, end, bytes: (end - start) / 2, piece: 100 }
    }

    #[test]
    fn windows_cover_every_byte_once() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..2_000 {
            let spans: Vec<AccessSpan> = (0..random.u64(1..6))
                .map(|_| {
                    let start = random.u64(0..500_000);
                    span(start, start + random.u64(0..500_000))
                })
                .collect();
            let aggregators: Vec<u32> = (0..random.u32(1..9)).collect();
            let (window, align) = (random.u64(1..200_000), 1 << random.u32(0..16));
            let plan = Plan::new(&spans, &aggregators, window, align);
            let mut next = whole(&spans).start;
            for number in 0..plan.domains.len() {
                assert!(number == 0 || plan.domains[number].1.start % align == 0);
                for round in 0..plan.rounds() {
                    let range = plan.window(number, round);
                    assert!(range.is_empty() || range.start == next);
                    assert!(range.end - range.start <= window.max(align));
                    next = next.max(range.end);
                }
            }
            assert_eq!(next, whole(&spans).end, "{plan:?}");
        }
    }

    #[test]
    fn only_what_interleaves_moves_together() {
        let long = |start, end| AccessSpan { piece: 2 << 20, ..span(start, end) };
        assert_eq!(choose(&[]), PlanReason::NotInterleaved);
        assert_eq!(choose(&[span(0, 10), span(10, 20), AccessSpan::default()]), PlanReason::NotInterleaved);
        assert_eq!(choose(&[span(5, 30), span(0, 10)]), PlanReason::Aggregate);
        assert_eq!(choose(&[long(0, 10 << 20), long(1, 9 << 20)]), PlanReason::LongPieces);
        let wide = AccessSpan { bytes: 100, ..span(0, 1 << 30) };
        assert_eq!(choose(&[wide, span(5, 10)]), PlanReason::Scattered);
    }

    #[test]
    fn aggregators_are_spread_over_the_hosts() {
        assert_eq!(aggregators(&[0, 0, 0, 0], 2), [0, 1]);
        assert_eq!(aggregators(&[0, 0, 1, 1], 2), [0, 2]);
        assert_eq!(aggregators(&[7, 7, 3, 3], 3), [0, 1, 2]);
        assert_eq!(aggregators(&[1, 2], 9), [0, 1]);
    }
}
