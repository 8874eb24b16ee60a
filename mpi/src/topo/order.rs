//! Which process gets which rank of a topology, where the program lets ranks be reordered (MPI 5.0 section 8.1): so that
//! few neighbors are on different hosts.
//!
//! What is chosen follows from the topology and the hosts alone, which all members know alike, so nobody asks. A grid
//! is cut into blocks, which are dealt out to the hosts; in a graph, each host is filled with the node that has
//! most edges into it. If that saves nothing, the ranks stay as they are.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tern_coll::Nodes;

use crate::limits::REORDER_STEPS_MAX;

/// The old rank of each new one.
pub(super) type RankOrder = Vec<u32>;

/// For a grid in row-major order, among members on these hosts; `None`: as they are.
pub(super) fn of_grid(dims: &[u32], periods: &[bool], hosts: &Nodes) -> Option<RankOrder> {
    let grid = OrderedGrid { dims, periods };
    let members = MembersByHost::new(hosts);
    let cost = |blocks: &GridBlocks| grid.crossings(|place| members.host[blocks.turn(place)]);
    let best = candidates(dims, &members).into_iter().min_by_key(cost)?;
    let as_they_are = grid.crossings(|place| hosts.of(place));
    let order = (0..hosts.size()).map(|place| hosts.rank_at(best.turn(place) as u32));
    (cost(&best) < as_they_are).then(|| order.collect())
}

/// For a graph: the neighbors of each node, and the weights of the edges to them. An edge may be there at both ends.
pub(super) fn of_graph(neighbors: &[Vec<(u32, u64)>], hosts: &Nodes) -> Option<RankOrder> {
    let members = MembersByHost::new(hosts);
    let filled = fill(neighbors, &members);
    let mut order = vec![0; filled.len()];
    for (turn, &node) in (0..).zip(&filled) {
        order[node as usize] = hosts.rank_at(turn);
    }
    let cost = |rank_of: &dyn Fn(u32) -> u32| -> u64 {
        let host = |node| hosts.of(rank_of(node));
        let edges = (0..).zip(neighbors).flat_map(|(node, near)| near.iter().map(move |edge| (node, edge)));
        edges.filter(|(node, (other, _))| host(*node) != host(*other)).map(|(_, (_, weight))| weight).sum()
    };
    (cost(&|node| order[node as usize]) < cost(&|node| node)).then_some(order)
}

/// The members, host after host: the turns in which places are given away.
struct MembersByHost {
    /// The host of each turn.
    host: Vec<u32>,
    /// How many members each host has.
    sizes: Vec<u32>,
}

impl MembersByHost {
    fn new(hosts: &Nodes) -> MembersByHost {
        let sizes: Vec<u32> = (0..hosts.count()).map(|host| hosts.places_of(host).1).collect();
        let all = (0u32..).zip(&sizes);
        let host = all.flat_map(|(host, &size)| std::iter::repeat_n(host, size as usize)).collect();
        MembersByHost { host, sizes }
    }

    fn largest(&self) -> u64 {
        self.sizes.iter().copied().max().unwrap_or(1).into()
    }
}

/// A grid.
struct OrderedGrid<'a> {
    dims: &'a [u32],
    periods: &'a [bool],
}

impl OrderedGrid<'_> {
    /// How many pairs of neighbors are on different hosts.
    fn crossings(&self, host: impl Fn(u32) -> u32) -> u64 {
        let places: u32 = self.dims.iter().product();
        let mut crossings = 0;
        for place in 0..places {
            let mut stride = places;
            for (&length, &ring) in self.dims.iter().zip(self.periods) {
                stride /= length;
                let at = place / stride % length;
                let next = match at + 1 < length {
                    true => place + stride,
                    false if ring => place - at * stride,
                    false => continue,
                };
                crossings += u64::from(host(place) != host(next));
            }
        }
        crossings
    }
}

/// Blocks that a grid is cut into, all of one shape: row-major among each other, and within.
#[derive(Clone)]
struct GridBlocks {
    /// For each dimension: its length, that of a block, and how far apart in turns two neighbors within a block are, and
    /// two neighboring blocks.
    dims: Vec<[u32; 4]>,
}

impl GridBlocks {
    /// `shape` divides `dims`.
    fn new(dims: &[u32], shape: &[u32]) -> GridBlocks {
        let (mut within, mut among) = (1, shape.iter().product());
        let mut all = Vec::with_capacity(dims.len());
        for (&length, &block) in dims.iter().zip(shape).rev() {
            all.push([length, block, within, among]);
            within *= block;
            among *= length / block;
        }
        GridBlocks { dims: all }
    }

    /// When it is the turn of a place.
    fn turn(&self, mut place: u32) -> usize {
        let mut turn = 0;
        for &[length, block, within, among] in &self.dims {
            let at = place % length;
            place /= length;
            turn += at % block * within + at / block * among;
        }
        turn as usize
    }
}

/// The blocks to try: all that a host has room for, or only those that fill it where trying all would take long.
fn candidates(dims: &[u32], members: &MembersByHost) -> Vec<GridBlocks> {
    let all = shapes(dims, members.largest());
    let steps = all.len() as u64 * members.host.len() as u64 * dims.len() as u64;
    let volume = |shape: &[u32]| shape.iter().map(|&length| u64::from(length)).product::<u64>();
    let tried = |shape: &&Vec<u32>| steps <= REORDER_STEPS_MAX || volume(shape) == members.largest();
    all.iter().filter(tried).map(|shape| GridBlocks::new(dims, shape)).collect()
}

/// All shapes that divide a grid and have no more than so many places.
fn shapes(dims: &[u32], places_max: u64) -> Vec<Vec<u32>> {
    let Some((&length, rest)) = dims.split_first() else { return vec![vec![]] };
    let divisors = (1..=length).filter(|divisor| length % divisor == 0 && u64::from(*divisor) <= places_max);
    let with = |divisor: u32| {
        let others = shapes(rest, places_max / u64::from(divisor));
        others.into_iter().map(move |other| [vec![divisor], other].concat())
    };
    divisors.flat_map(with).collect()
}

/// All nodes, those of the first host first. Who has most edges to those that a host has already is next, and among
/// equals who has been a neighbor for the longest time, so that a host's part grows evenly to all sides.
fn fill(neighbors: &[Vec<(u32, u64)>], members: &MembersByHost) -> Vec<u32> {
    let mut filling = Filling {
        taken: vec![false; neighbors.len()],
        near: vec![Near::default(); neighbors.len()],
        next: BinaryHeap::new(),
        lowest: 0,
    };
    let mut order = Vec::with_capacity(neighbors.len());
    for (host, &size) in (0..).zip(&members.sizes) {
        filling.next.clear();
        for _ in 0..size {
            let node = filling.choose();
            filling.take(host, node, &neighbors[node as usize]);
            order.push(node);
        }
    }
    order
}

/// Nodes on their way to hosts.
struct Filling {
    taken: Vec<bool>,
    near: Vec<Near>,
    /// Those near the host that is being filled; who has come nearer since is there once more.
    next: BinaryHeap<(Near, u32)>,
    /// No node below is left.
    lowest: u32,
}

/// How near a node is to a host, the nearest last.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Near {
    host: u32,
    /// Of its edges into the host.
    weight: u64,
    /// How many neighbors there were when it became one.
    since: Reverse<usize>,
}

impl Filling {
    /// The node that is nearest, or the lowest if none is near.
    fn choose(&mut self) -> u32 {
        while let Some((near, node)) = self.next.pop() {
            if !self.taken[node as usize] && self.near[node as usize] == near {
                return node;
            }
        }
        self.lowest += self.taken[self.lowest as usize..].iter().take_while(|taken| **taken).count() as u32;
        self.lowest
    }

    fn take(&mut self, host: u32, node: u32, neighbors: &[(u32, u64)]) {
        self.taken[node as usize] = true;
        for &(other, weight) in neighbors {
            let near = &mut self.near[other as usize];
            // Nobody is near at first, and then perhaps to another host.
            if near.host != host || near.weight == 0 {
                *near = Near { host, weight: 0, since: Reverse(self.next.len()) };
            }
            near.weight += weight;
            self.next.push((*near, other));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_coll::NodeRun;

    fn hosts(sizes: &[u32]) -> Nodes {
        Nodes::new(&(0..).zip(sizes).map(|(host, &ranks)| NodeRun { host, ranks }).collect::<Vec<_>>())
    }

    /// Ranks are dealt out to hosts by turns.
    fn by_turns(count: u32, ranks: u32) -> Nodes {
        Nodes::new(&(0..ranks).map(|rank| NodeRun { host: rank % count, ranks: 1 }).collect::<Vec<_>>())
    }

    fn crossings(dims: &[u32], periods: &[bool], hosts: &Nodes, order: Option<&RankOrder>) -> u64 {
        let rank = |place: u32| order.map_or(place, |order| order[place as usize]);
        OrderedGrid { dims, periods }.crossings(|place| hosts.of(rank(place)))
    }

    /// The hosts of the first eight places.
    fn upper_half(order: &RankOrder, hosts: &Nodes) -> [u32; 8] {
        std::array::from_fn(|place| hosts.of(order[place]))
    }

    fn is_permutation(order: &RankOrder) -> bool {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        sorted.iter().copied().eq(0..order.len() as u32)
    }

    #[test]
    fn a_machine_gets_a_block_of_a_grid() {
        let (dims, open) = ([4, 4], [false; 2]);
        let hosts = hosts(&[4; 4]);
        let order = of_grid(&dims, &open, &hosts).expect("rows are worse than squares");
        assert!(is_permutation(&order));
        assert_eq!(upper_half(&order, &hosts), [0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(crossings(&dims, &open, &hosts, None), 12);
        assert_eq!(crossings(&dims, &open, &hosts, Some(&order)), 8);
    }

    #[test]
    fn ranks_stay_where_nothing_is_saved() {
        assert_eq!(of_grid(&[4, 2], &[true, false], &hosts(&[4, 4])), None);
        assert_eq!(of_grid(&[8], &[true], &hosts(&[4, 4])), None);
        assert_eq!(of_grid(&[8, 8], &[true; 2], &hosts(&[64])), None);
        assert_eq!(of_grid(&[], &[], &hosts(&[1])), None);
    }

    #[test]
    fn ranks_dealt_out_by_turns_come_together() {
        for (dims, periods) in
            [(vec![8], vec![true]), (vec![4, 6], vec![false; 2]), (vec![2, 3, 4], vec![true; 3])]
        {
            let hosts = by_turns(2, dims.iter().product());
            let order = of_grid(&dims, &periods, &hosts).expect("all neighbors were apart");
            assert!(is_permutation(&order));
            let [before, after] = [None, Some(&order)].map(|order| crossings(&dims, &periods, &hosts, order));
            assert!(2 * after <= before, "{dims:?}: {before} {after}");
        }
    }

    #[test]
    fn machines_of_different_sizes_share_a_grid() {
        for sizes in [[5, 3, 4], [1, 1, 10], [6, 3, 3]] {
            let hosts = hosts(&sizes);
            if let Some(order) = of_grid(&[4, 3], &[false; 2], &hosts) {
                assert!(is_permutation(&order));
                let [before, after] =
                    [None, Some(&order)].map(|order| crossings(&[4, 3], &[false; 2], &hosts, order));
                assert!(after < before, "{sizes:?}: {before} {after}");
            }
        }
    }

    #[test]
    fn large_grids_are_placed_in_no_time() {
        let hosts = hosts(&[64; 512]);
        let order = of_grid(&[32; 3], &[true; 3], &hosts).expect("cubes are better than rows");
        assert_eq!(crossings(&[32; 3], &[true; 3], &hosts, Some(&order)), 3 * 32 * 32 * 8);
    }

    /// The graph of a grid, with each edge at both ends.
    fn graph(dims: [u32; 2]) -> Vec<Vec<(u32, u64)>> {
        let mut all = vec![vec![]; (dims[0] * dims[1]) as usize];
        let mut link = |a: u32, b: u32| {
            all[a as usize].push((b, 1));
            all[b as usize].push((a, 1));
        };
        for row in 0..dims[0] {
            for column in 0..dims[1] {
                let place = row * dims[1] + column;
                if column + 1 < dims[1] {
                    link(place, place + 1);
                }
                if row + 1 < dims[0] {
                    link(place, place + dims[1]);
                }
            }
        }
        all
    }

    #[test]
    fn a_machine_gets_a_part_of_a_graph_that_hangs_together() {
        let order = of_graph(&graph([4, 4]), &hosts(&[4; 4])).expect("squares are better than rows");
        assert!(is_permutation(&order));
        assert_eq!(upper_half(&order, &hosts(&[4; 4])), [0, 0, 1, 1, 0, 0, 1, 1]);
        // Pairs far apart.
        let pairs: Vec<_> = (0..6u32).map(|node| vec![((node + 3) % 6, 1)]).collect();
        let hosts = hosts(&[2; 3]);
        let order = of_graph(&pairs, &hosts).expect("all pairs were apart");
        assert!(is_permutation(&order));
        assert!((0..3).all(|node| hosts.of(order[node]) == hosts.of(order[node + 3])), "{order:?}");
    }

    #[test]
    fn the_heavier_edges_stay_within_hosts() {
        let edges = vec![vec![(1, 1), (2, 9)], vec![(0, 1), (3, 9)], vec![(0, 9)], vec![(1, 9)]];
        let hosts = hosts(&[2, 2]);
        let order = of_graph(&edges, &hosts).expect("heavy edges were cut");
        assert_eq!(hosts.of(order[0]), hosts.of(order[2]));
        assert_eq!(of_graph(&graph([2, 2]), &hosts), None);
        assert_eq!(of_graph(&vec![vec![]; 4], &hosts), None);
    }
}
