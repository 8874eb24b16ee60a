//! Which algorithm serves which call.
//!
//! The first row of a collective that fits is taken. A row fits if the call's bytes (see
//! [`crate::Call::bytes`]) and ranks are within its bounds and its algorithm suits the number of ranks and the
//! operation.

use std::fmt;

use crate::call::Collective;

/// The algorithms, each described where it is implemented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the module of each collective describes them")]
pub enum Algorithm {
    Binomial,
    Bruck,
    Chain,
    Direct,
    Dissemination,
    Doubling,
    Linear,
    NeighbourExchange,
    Pairwise,
    Rabenseifner,
    RecursiveDoubling,
    RecursiveHalving,
    ReduceBcast,
    ReduceThenScatter,
    Ring,
    ScatterRing,
    UnbalancedTree,
}

/// One row of a selection table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The collective it is for.
    pub collective: Collective,
    /// The most bytes it is for.
    pub bytes_max: u64,
    /// The most ranks it is for.
    pub ranks_max: u32,
    /// The algorithm to use.
    pub algorithm: Algorithm,
}

/// What an algorithm is chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// The collective.
    pub collective: Collective,
    /// [`crate::Call::bytes`].
    pub bytes: u64,
    /// The number of ranks.
    pub ranks: u32,
    /// Whether operands may be taken in any order.
    pub commutative: bool,
}

const ANY: u64 = u64::MAX;
const KIB: u64 = 1024;

const fn row(collective: Collective, bytes_max: u64, ranks_max: u32, algorithm: Algorithm) -> Row {
    Row { collective, bytes_max, ranks_max, algorithm }
}

/// The built-in table. The last row of each collective fits every call.
pub static TABLE: [Row; 38] = [
    row(Collective::Barrier, ANY, u32::MAX, Algorithm::Dissemination),
    row(Collective::Bcast, 512 * KIB, u32::MAX, Algorithm::Binomial),
    row(Collective::Bcast, ANY, 3, Algorithm::Binomial),
    row(Collective::Bcast, ANY, u32::MAX, Algorithm::ScatterRing),
    row(Collective::Gather, 4 * KIB, u32::MAX, Algorithm::Binomial),
    row(Collective::Gather, ANY, u32::MAX, Algorithm::Linear),
    row(Collective::Gatherv, ANY, u32::MAX, Algorithm::Linear),
    row(Collective::Scatter, 4 * KIB, u32::MAX, Algorithm::Binomial),
    row(Collective::Scatter, ANY, u32::MAX, Algorithm::Linear),
    row(Collective::Scatterv, ANY, u32::MAX, Algorithm::Linear),
    row(Collective::Allgather, 32 * KIB, u32::MAX, Algorithm::RecursiveDoubling),
    row(Collective::Allgather, 2 * KIB, u32::MAX, Algorithm::Bruck),
    row(Collective::Allgather, 32 * KIB, u32::MAX, Algorithm::NeighbourExchange),
    row(Collective::Allgather, ANY, u32::MAX, Algorithm::Ring),
    row(Collective::Allgatherv, ANY, u32::MAX, Algorithm::Ring),
    // The T3D's measurements (section 3.3) put the direct exchange before the logarithmic one, except where the
    // messages are so many and so small that their number is all that counts.
    row(Collective::Alltoall, 32 * KIB, 8, Algorithm::Direct),
    row(Collective::Alltoall, 64, u32::MAX, Algorithm::Bruck),
    row(Collective::Alltoall, 32 * KIB, u32::MAX, Algorithm::Direct),
    row(Collective::Alltoall, ANY, u32::MAX, Algorithm::Pairwise),
    row(Collective::Alltoallv, ANY, u32::MAX, Algorithm::Direct),
    row(Collective::Alltoallw, ANY, u32::MAX, Algorithm::Direct),
    row(Collective::Reduce, ANY, u32::MAX, Algorithm::Binomial),
    row(Collective::Allreduce, 16 * KIB, u32::MAX, Algorithm::RecursiveDoubling),
    row(Collective::Allreduce, 512 * KIB, u32::MAX, Algorithm::Rabenseifner),
    row(Collective::Allreduce, ANY, u32::MAX, Algorithm::Ring),
    row(Collective::Allreduce, ANY, u32::MAX, Algorithm::ReduceBcast),
    row(Collective::ReduceScatter, 512 * KIB, u32::MAX, Algorithm::RecursiveHalving),
    row(Collective::ReduceScatter, ANY, u32::MAX, Algorithm::Pairwise),
    row(Collective::ReduceScatter, ANY, u32::MAX, Algorithm::ReduceThenScatter),
    row(Collective::ReduceScatterBlock, 512 * KIB, u32::MAX, Algorithm::RecursiveHalving),
    row(Collective::ReduceScatterBlock, ANY, u32::MAX, Algorithm::ReduceThenScatter),
    row(Collective::Scan, ANY, u32::MAX, Algorithm::Doubling),
    row(Collective::Exscan, ANY, u32::MAX, Algorithm::Doubling),
    row(Collective::NeighborAllgather, ANY, u32::MAX, Algorithm::Direct),
    row(Collective::NeighborAllgatherv, ANY, u32::MAX, Algorithm::Direct),
    row(Collective::NeighborAlltoall, ANY, u32::MAX, Algorithm::Direct),
    row(Collective::NeighborAlltoallv, ANY, u32::MAX, Algorithm::Direct),
    row(Collective::NeighborAlltoallw, ANY, u32::MAX, Algorithm::Direct),
];

/// Chooses from a table; from the built-in one where `rows` has nothing that fits.
pub fn select(rows: &[Row], query: &Query) -> Algorithm {
    let fits = |row: &&Row| row.fits(query);
    let row = rows.iter().find(fits).or_else(|| TABLE.iter().find(fits));
    row.map_or(algorithms(query.collective)[0], |row| row.algorithm)
}

/// All algorithms of a collective. The first suits every call.
pub fn algorithms(collective: Collective) -> &'static [Algorithm] {
    use Algorithm::*;
    match collective {
        Collective::Barrier => &[Dissemination, UnbalancedTree],
        Collective::Bcast => &[Binomial, ScatterRing, Chain],
        Collective::Gather | Collective::Scatter => &[Linear, Binomial],
        Collective::Gatherv | Collective::Scatterv => &[Linear],
        Collective::Allgather => &[Ring, RecursiveDoubling, Bruck, NeighbourExchange],
        Collective::Allgatherv => &[Ring],
        Collective::Alltoall => &[Direct, Pairwise, Bruck],
        Collective::Alltoallv | Collective::Alltoallw => &[Direct, Pairwise],
        Collective::Reduce => &[Binomial],
        Collective::Allreduce => &[RecursiveDoubling, ReduceBcast, Ring, Rabenseifner],
        Collective::ReduceScatter | Collective::ReduceScatterBlock => {
            &[ReduceThenScatter, Pairwise, RecursiveHalving]
        }
        Collective::Scan | Collective::Exscan => &[Doubling],
        Collective::NeighborAllgather
        | Collective::NeighborAllgatherv
        | Collective::NeighborAlltoall
        | Collective::NeighborAlltoallv
        | Collective::NeighborAlltoallw => &[Direct],
    }
}

impl Algorithm {
    /// Whether the algorithm works for a call like this.
    pub fn suits(self, query: &Query) -> bool {
        let powers_only = match query.collective {
            Collective::Allgather => self == Algorithm::RecursiveDoubling,
            _ => self == Algorithm::RecursiveHalving,
        };
        let any_order = match query.collective {
            Collective::Allreduce => matches!(self, Algorithm::Ring | Algorithm::Rabenseifner),
            Collective::ReduceScatter | Collective::ReduceScatterBlock => {
                self != Algorithm::ReduceThenScatter
            }
            _ => false,
        };
        (!powers_only || query.ranks.is_power_of_two())
            && (self != Algorithm::NeighbourExchange || query.ranks % 2 == 0)
            && (!any_order || query.commutative)
    }

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Binomial => "binomial",
            Algorithm::Bruck => "bruck",
            Algorithm::Chain => "chain",
            Algorithm::Direct => "direct",
            Algorithm::Dissemination => "dissemination",
            Algorithm::Doubling => "doubling",
            Algorithm::Linear => "linear",
            Algorithm::NeighbourExchange => "neighbour-exchange",
            Algorithm::Pairwise => "pairwise",
            Algorithm::Rabenseifner => "rabenseifner",
            Algorithm::RecursiveDoubling => "recursive-doubling",
            Algorithm::RecursiveHalving => "recursive-halving",
            Algorithm::ReduceBcast => "reduce-bcast",
            Algorithm::ReduceThenScatter => "reduce-then-scatter",
            Algorithm::Ring => "ring",
            Algorithm::ScatterRing => "scatter-ring",
            Algorithm::UnbalancedTree => "unbalanced-tree",
        }
    }

    /// What the algorithm needs, beyond the bounds of its row.
    fn needs(self, collective: Collective) -> &'static str {
        let query = |ranks, commutative| Query { collective, bytes: 0, ranks, commutative };
        if !self.suits(&query(2, false)) && !self.suits(&query(6, true)) {
            "a commutative operation, a power of two of ranks"
        } else if !self.suits(&query(2, false)) {
            "a commutative operation"
        } else if !self.suits(&query(6, true)) {
            "a power of two of ranks"
        } else if !self.suits(&query(3, true)) {
            "an even number of ranks"
        } else {
            ""
        }
    }
}

impl Row {
    fn fits(&self, query: &Query) -> bool {
        self.collective == query.collective
            && query.bytes <= self.bytes_max
            && query.ranks <= self.ranks_max
            && self.algorithm.suits(query)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One line of the printed table, under [`HEADING`].
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let any = |number: u64, most: u64| if number == most { "any".into() } else { number.to_string() };
        let bytes = any(self.bytes_max, ANY);
        let ranks = any(u64::from(self.ranks_max), u64::from(u32::MAX));
        let needs = self.algorithm.needs(self.collective);
        write!(f, "{:<22}{bytes:>10}{ranks:>8}  {:<21}{needs}", self.collective, self.algorithm)
    }
}

/// The heading of the printed table.
pub const HEADING: &str = "collective             bytes <=  ranks <=  algorithm            needs";

#[cfg(test)]
mod tests {
    use super::*;

    fn query(collective: Collective, bytes: u64, ranks: u32, commutative: bool) -> Query {
        Query { collective, bytes, ranks, commutative }
    }

    #[test]
    fn every_call_has_a_row_and_every_row_an_algorithm_of_its_collective() {
        for collective in Collective::ALL {
            for ranks in [1, 2, 3, 8, 1000] {
                for commutative in [false, true] {
                    let query = query(collective, ANY, ranks, commutative);
                    assert!(TABLE.iter().any(|row| row.fits(&query)), "{query:?}");
                    assert!(algorithms(collective)[0].suits(&query));
                }
            }
        }
        for row in &TABLE {
            assert!(algorithms(row.collective).contains(&row.algorithm), "{row}");
        }
    }

    #[test]
    fn the_operation_and_the_ranks_decide() {
        let big = 1 << 30;
        assert_eq!(select(&[], &query(Collective::Allreduce, big, 5, true)), Algorithm::Ring);
        assert_eq!(select(&[], &query(Collective::Allreduce, big, 5, false)), Algorithm::ReduceBcast);
        assert_eq!(select(&[], &query(Collective::Allgather, 8, 8, true)), Algorithm::RecursiveDoubling);
        assert_eq!(select(&[], &query(Collective::Allgather, 8, 6, true)), Algorithm::Bruck);
    }

    #[test]
    fn a_users_rows_come_first() {
        let rows = [row(Collective::Barrier, ANY, 4, Algorithm::UnbalancedTree)];
        assert_eq!(select(&rows, &query(Collective::Barrier, 0, 4, true)), Algorithm::UnbalancedTree);
        assert_eq!(select(&rows, &query(Collective::Barrier, 0, 5, true)), Algorithm::Dissemination);
    }

    #[test]
    fn a_row_prints_its_needs() {
        let row = row(Collective::Allreduce, ANY, u32::MAX, Algorithm::Ring);
        assert_eq!(
            row.to_string(),
            "allreduce                    any     any  ring                 a commutative operation"
        );
    }
}
