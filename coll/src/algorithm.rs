//! The algorithms by name, and what each of them needs.

use std::fmt;

use crate::call::Collective;
use crate::limits;
use crate::table::Query;

/// The algorithms, each described where it is implemented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the module of each collective describes them")]
pub enum Algorithm {
    BinaryTree,
    Binomial,
    Bruck,
    Chain,
    Direct,
    Dissemination,
    Doubling,
    Hierarchical,
    HierarchicalChain,
    Linear,
    Multicast,
    NeighborExchange,
    Pairwise,
    Rabenseifner,
    RecursiveDoubling,
    RecursiveHalving,
    ReduceBcast,
    ReduceThenScatter,
    Ring,
    ScatterRing,
    SegmentedRing,
    /// The way over slots in shared memory, without a schedule: what serves it is not in this crate. A table
    /// may name it; where a call cannot go that way, the next row is taken.
    Shm,
    UnbalancedTree,
}

/// All algorithms of a collective that are schedules. The first suits every call.
pub fn algorithms(collective: Collective) -> &'static [Algorithm] {
    use Algorithm::*;
    match collective {
        Collective::Barrier => &[Dissemination, UnbalancedTree, Hierarchical, Multicast],
        Collective::Bcast => {
            &[Binomial, ScatterRing, Chain, BinaryTree, Hierarchical, HierarchicalChain, Multicast]
        }
        // What many send to one is not what one sends to many.
        Collective::Gather => &[Linear, Binomial, Hierarchical],
        Collective::Scatter => &[Linear, Binomial, Hierarchical, Multicast],
        Collective::Gatherv | Collective::Scatterv => &[Linear],
        Collective::Allgather => &[Ring, RecursiveDoubling, Bruck, NeighborExchange, Hierarchical, Multicast],
        Collective::Allgatherv => &[Ring, Multicast],
        Collective::Alltoall => &[Direct, Pairwise, Bruck],
        Collective::Alltoallv | Collective::Alltoallw => &[Direct, Pairwise],
        Collective::Reduce => &[Binomial, Chain, Rabenseifner, Hierarchical],
        Collective::Allreduce => {
            &[RecursiveDoubling, ReduceBcast, Ring, SegmentedRing, Rabenseifner, Hierarchical, Multicast]
        }
        Collective::ReduceScatter | Collective::ReduceScatterBlock => {
            &[ReduceThenScatter, Pairwise, RecursiveHalving, Hierarchical, Multicast]
        }
        Collective::Scan | Collective::Exscan => &[Doubling],
        Collective::NeighborAllgather
        | Collective::NeighborAllgatherv
        | Collective::NeighborAlltoall
        | Collective::NeighborAlltoallv
        | Collective::NeighborAlltoallw => &[Direct],
    }
}

/// Whether a collective may go over slots in shared memory ([`Algorithm::Shm`]).
pub fn has_shm(collective: Collective) -> bool {
    matches!(
        collective,
        Collective::Barrier
            | Collective::Bcast
            | Collective::Gather
            | Collective::Scatter
            | Collective::Allgather
            | Collective::Allgatherv
            | Collective::Alltoall
            | Collective::Alltoallv
            | Collective::Alltoallw
            | Collective::Reduce
            | Collective::Allreduce
            | Collective::ReduceScatter
            | Collective::ReduceScatterBlock
            | Collective::Scan
            | Collective::Exscan
    )
}

/// Whether the result of a reduction is scattered, block by block in rank order.
fn scatters_result(collective: Collective) -> bool {
    matches!(collective, Collective::ReduceScatter | Collective::ReduceScatterBlock)
}

/// Whether working node by node takes operands in an order that the call allows, and leaves blocks in theirs.
fn keeps_order(query: &Query) -> bool {
    query.in_rank_order || query.commutative && !scatters_result(query.collective)
}

impl Algorithm {
    /// The algorithm of this name that a collective has.
    pub fn named(collective: Collective, name: &str) -> Option<Algorithm> {
        let shm = has_shm(collective).then_some(Algorithm::Shm);
        algorithms(collective).iter().copied().chain(shm).find(|algorithm| algorithm.name() == name)
    }

    /// Whether the algorithm works for a call like this.
    pub fn suits(self, query: &Query) -> bool {
        let ranks = query.ranks;
        (query.commutative || !self.reorders(query.collective))
            && (!self.halves(query.collective) || ranks.is_power_of_two())
            && match self {
                Algorithm::NeighborExchange => ranks % 2 == 0,
                Algorithm::Hierarchical | Algorithm::HierarchicalChain => {
                    (2..ranks).contains(&query.nodes) && keeps_order(query)
                }
                Algorithm::Multicast => query.multicast && query.nodes >= 2 && keeps_order(query),
                Algorithm::Shm => query.shm,
                _ => true,
            }
    }

    /// Whether operands are combined in another order than that of the ranks.
    fn reorders(self, collective: Collective) -> bool {
        use Algorithm::{Hierarchical, Pairwise, Rabenseifner, RecursiveHalving, Ring, SegmentedRing};
        let reduces = matches!(
            collective,
            Collective::Reduce
                | Collective::Allreduce
                | Collective::ReduceScatter
                | Collective::ReduceScatterBlock
        );
        let scattered = self == Hierarchical && scatters_result(collective);
        reduces
            && (scattered
                || matches!(self, Ring | SegmentedRing | Rabenseifner | RecursiveHalving | Pairwise))
    }

    /// Whether only powers of two of ranks will do. (Allreduce folds its first ranks in pairs.)
    fn halves(self, collective: Collective) -> bool {
        match self {
            Algorithm::RecursiveHalving => true,
            Algorithm::RecursiveDoubling => collective == Collective::Allgather,
            _ => false,
        }
    }

    /// The segments that the algorithm cuts a message into unless told otherwise, bytes; `None` if it cuts none.
    pub fn segment_bytes(self, collective: Collective) -> Option<u64> {
        match (collective, self) {
            (Collective::Bcast | Collective::Reduce, Algorithm::Chain) => Some(limits::CHAIN_SEGMENT_BYTES),
            (Collective::Bcast, Algorithm::HierarchicalChain) => Some(limits::FAR_SEGMENT_BYTES),
            (Collective::Bcast, Algorithm::BinaryTree) => Some(limits::TREE_SEGMENT_BYTES),
            (
                Collective::Bcast | Collective::Allgather | Collective::Allgatherv | Collective::Allreduce,
                Algorithm::Multicast,
            ) => Some(limits::MULTICAST_SEGMENT_BYTES),
            (Collective::Allreduce, Algorithm::SegmentedRing) => Some(limits::RING_SEGMENT_BYTES),
            _ => None,
        }
    }

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::BinaryTree => "binary-tree",
            Algorithm::Binomial => "binomial",
            Algorithm::Bruck => "bruck",
            Algorithm::Chain => "chain",
            Algorithm::Direct => "direct",
            Algorithm::Dissemination => "dissemination",
            Algorithm::Doubling => "doubling",
            Algorithm::Hierarchical => "hierarchical",
            Algorithm::HierarchicalChain => "hierarchical-chain",
            Algorithm::Linear => "linear",
            Algorithm::Multicast => "multicast",
            Algorithm::NeighborExchange => "neighbor-exchange",
            Algorithm::Pairwise => "pairwise",
            Algorithm::Rabenseifner => "rabenseifner",
            Algorithm::RecursiveDoubling => "recursive-doubling",
            Algorithm::RecursiveHalving => "recursive-halving",
            Algorithm::ReduceBcast => "reduce-bcast",
            Algorithm::ReduceThenScatter => "reduce-then-scatter",
            Algorithm::Ring => "ring",
            Algorithm::ScatterRing => "scatter-ring",
            Algorithm::SegmentedRing => "segmented-ring",
            Algorithm::Shm => "shm",
            Algorithm::UnbalancedTree => "unbalanced-tree",
        }
    }

    /// What the algorithm needs, beyond the bounds of its row, in words.
    pub fn needs(self, collective: Collective) -> String {
        let needs = [
            (self.reorders(collective), "a commutative operation"),
            (self.halves(collective), "a power of two of ranks"),
            (self == Algorithm::NeighborExchange, "an even number of ranks"),
            (
                matches!(self, Algorithm::Hierarchical | Algorithm::HierarchicalChain),
                "several nodes, one with several ranks",
            ),
            (self == Algorithm::Multicast, "multicast among nodes"),
            (self == Algorithm::Shm, "slots of shared memory"),
        ];
        let needs: Vec<_> = needs.iter().filter(|(needed, _)| *needed).map(|(_, what)| *what).collect();
        needs.join(", ")
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_algorithm_suits_every_call() {
        for collective in Collective::ALL {
            for ranks in [1, 2, 3, 8, 1000] {
                let query = Query { commutative: false, ..Query::new(collective, u64::MAX, ranks) };
                assert!(algorithms(collective)[0].suits(&query), "{query:?}");
            }
        }
    }

    #[test]
    fn names_are_found_again_and_only_where_they_belong() {
        for collective in Collective::ALL {
            for algorithm in algorithms(collective) {
                assert_eq!(Algorithm::named(collective, algorithm.name()), Some(*algorithm));
            }
        }
        assert_eq!(Algorithm::named(Collective::Barrier, "shm"), Some(Algorithm::Shm));
        assert_eq!(Algorithm::named(Collective::Gatherv, "shm"), None);
        assert_eq!(Algorithm::named(Collective::Barrier, "ring"), None);
    }

    #[test]
    fn multicasts_need_nodes_but_no_two_ranks_on_one() {
        let query = Query { multicast: true, ..Query::new(Collective::Allreduce, 8, 8) };
        let on = |nodes| Algorithm::Multicast.suits(&Query { nodes, ..query });
        assert_eq!([1, 2, 8].map(on), [false, true, true]);
        let query = Query { nodes: 4, ..query };
        assert!(!Algorithm::Multicast.suits(&Query { multicast: false, ..query }));
        assert!(Algorithm::Multicast.suits(&Query { commutative: false, ..query }));
        assert!(!Algorithm::Multicast.suits(&Query { commutative: false, in_rank_order: false, ..query }));
        assert_eq!(Algorithm::Multicast.needs(Collective::Bcast), "multicast among nodes");
    }

    #[test]
    fn nodes_must_be_several_and_shared() {
        let on = |nodes, ranks| {
            Algorithm::Hierarchical.suits(&Query { nodes, ..Query::new(Collective::Barrier, 0, ranks) })
        };
        assert_eq!([on(1, 8), on(2, 8), on(7, 8), on(8, 8)], [false, true, true, false]);
        let query = Query { nodes: 2, in_rank_order: false, ..Query::new(Collective::Reduce, 8, 4) };
        assert!(Algorithm::Hierarchical.suits(&query));
        assert!(!Algorithm::Hierarchical.suits(&Query { commutative: false, ..query }));
    }
}
