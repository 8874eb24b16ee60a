#![allow(dead_code, reason = "each test program uses its part")]

//! What a call is tried with: sizes, roots, algorithms with their segments, and nodes.

use std::sync::Arc;

use tern_coll::{Algorithm, Choice, Collective, CommView, NodeRun, Nodes, Query, algorithms};

/// An algorithm, or what the table chooses, and where the ranks are.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub choice: Option<Choice>,
    pub nodes: Option<Arc<Nodes>>,
    /// Bytes of a multicast at most, where that works.
    pub multicast: Option<u64>,
}

impl Case {
    /// What the table chooses on one node.
    pub(crate) fn table() -> Case {
        Case { choice: None, nodes: None, multicast: None }
    }

    /// An algorithm on one node.
    pub(crate) fn of(choice: impl Into<Choice>) -> Case {
        Case { choice: Some(choice.into()), ..Case::table() }
    }

    /// The same on these nodes.
    pub(crate) fn on(&self, nodes: &Arc<Nodes>) -> Case {
        Case { nodes: Some(nodes.clone()), ..self.clone() }
    }

    /// A rank's communicator on the nodes of the case.
    pub(crate) fn place<'a>(&'a self, comm: CommView<'a>) -> CommView<'a> {
        let comm = CommView { nodes: self.nodes.as_deref(), ..comm };
        self.multicast.map_or(comm, |bytes_max| comm.with_multicast(bytes_max))
    }

    /// Whether the algorithm can serve a call; the table always can.
    pub(crate) fn suits(&self, query: Query) -> bool {
        let query = Query { multicast: self.multicast.is_some(), ..query };
        let query = match &self.nodes {
            None => query,
            Some(nodes) => Query { nodes: nodes.count(), in_rank_order: nodes.is_in_rank_order(), ..query },
        };
        self.choice.is_none_or(|choice| choice.algorithm.suits(&query))
    }
}

/// All algorithms of a collective that suit so many ranks, and the table; with segments of the usual length and with
/// short ones; those by node on several sets of nodes.
pub(crate) fn cases(collective: Collective, size: u32) -> Vec<Case> {
    let places = places(size);
    let mut all = vec![Case::table()];
    all.extend(places.iter().map(|nodes| Case::table().on(nodes)));
    for algorithm in algorithms(collective) {
        for choice in choices(collective, *algorithm) {
            let case = Case::of(choice);
            match algorithm {
                Algorithm::Hierarchical | Algorithm::HierarchicalChain => {
                    all.extend(places.iter().map(|nodes| case.on(nodes)));
                }
                Algorithm::Multicast => all.extend(multicasts(&case, &places, size)),
                _ => all.push(case),
            }
        }
    }
    all.retain(|case| case.suits(Query::new(collective, 0, size)));
    all
}

/// By multicast on every set of nodes, and on one for each rank: with messages as long as they like, and with short ones.
fn multicasts(case: &Case, places: &[Arc<Nodes>], size: u32) -> Vec<Case> {
    let apart: Vec<NodeRun> = (0..size).map(|host| NodeRun { host, ranks: 1 }).collect();
    let apart = Arc::new(Nodes::new(&apart));
    let on = |nodes: &Arc<Nodes>, bytes_max| Case { multicast: Some(bytes_max), ..case.on(nodes) };
    // Segments that are cut short already need no short messages.
    let lengths = if case.choice.is_some_and(|choice| choice.segment_bytes > 0) { 1 } else { 2 };
    let each = |nodes| [1 << 20, 20].into_iter().take(lengths).map(move |most| on(nodes, most));
    places.iter().chain([&apart]).flat_map(each).collect()
}

fn choices(collective: Collective, algorithm: Algorithm) -> Vec<Choice> {
    let usual = Choice::from(algorithm);
    let short = [24, 72].map(|segment_bytes| Choice { segment_bytes, ..usual });
    match algorithm.segment_bytes(collective) {
        None => vec![usual],
        Some(_) if algorithm == Algorithm::Multicast => vec![usual, short[1]],
        Some(_) => vec![usual, short[0], short[1]],
    }
}

/// Nodes for so many ranks: of three ranks each; the first with one rank and the second with most; and two that
/// take turns, so that neither has consecutive ranks.
fn places(size: u32) -> Vec<Arc<Nodes>> {
    if size < 3 {
        return vec![];
    }
    let run = |host, ranks| NodeRun { host, ranks };
    let threes: Vec<NodeRun> =
        (0..size.div_ceil(3)).map(|host| run(host, (size - 3 * host).min(3))).collect();
    let uneven = vec![run(5, 1), run(3, size - 2), run(4, 1)];
    let turns: Vec<NodeRun> = (0..size).map(|rank| run(rank % 2, 1)).collect();
    [threes, uneven, turns].map(|runs| Arc::new(Nodes::new(&runs))).into()
}

/// 1 to 17 ranks, 32, 33 and 64, and some drawn by chance.
pub(crate) fn sizes() -> impl Iterator<Item = u32> {
    let mut random = SEED;
    let drawn = std::iter::repeat_with(move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        18 + ((random >> 33) % 63) as u32
    });
    (1..=ALL_TRIED_MAX).chain([32, 33, 64]).chain(drawn.take(2))
}

/// Where the sizes drawn by chance begin; the same ones in every run, so that a failure can be repeated.
const SEED: u64 = 2026;

/// Communicators of up to so many ranks are tried with all roots and lengths.
const ALL_TRIED_MAX: u32 = 17;

/// All roots of up to 17 ranks, and each seventh of more: seven is no divisor of a power of two, so they stand at all kinds of places of
/// a binomial tree.
pub(crate) fn roots(size: u32) -> impl Iterator<Item = u32> + Clone {
    (0..size).step_by(if size > ALL_TRIED_MAX { 7 } else { 1 })
}

/// The lengths of `all` that communicators of this size are tried with: all of them up to 17 ranks, then the last.
pub(crate) fn lengths<const N: usize>(size: u32, all: [u64; N]) -> impl Iterator<Item = u64> {
    let skipped = if size > ALL_TRIED_MAX { N - 2 } else { 0 };
    all.into_iter().skip(skipped)
}
