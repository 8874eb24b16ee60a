//! Which ranks of a communicator share a node.

use std::collections::HashMap;

use crate::shape::Ranks;

/// Consecutive ranks on one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRun {
    /// A number of the host; equal numbers are the same host.
    pub host: u32,
    /// How many ranks follow each other there.
    pub ranks: u32,
}

/// The nodes of a communicator, numbered by their lowest ranks, which lead them.
///
/// Where each node's ranks follow each other, which is how launchers place them, this takes 8 bytes a node;
/// otherwise also 8 bytes a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// The rank that leads each node.
    leaders: Vec<u32>,
    /// Where each node's ranks begin among all, node after node; and the number of ranks.
    starts: Vec<u32>,
    /// Ranks, node after node; empty where that is rank order.
    order: Vec<u32>,
    /// The place of each rank in `order`; empty like it.
    places: Vec<u32>,
}

impl Nodes {
    /// From the hosts of all ranks, in rank order.
    pub fn new(runs: &[NodeRun]) -> Nodes {
        let node_of_run = number_hosts(runs);
        let nodes = node_of_run.iter().max().map_or(0, |last| *last as usize + 1);
        let mut starts = vec![0; nodes + 1];
        for (run, node) in runs.iter().zip(&node_of_run) {
            starts[*node as usize + 1] += run.ranks;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut all = Nodes { leaders: starts[..nodes].to_vec(), starts, order: vec![], places: vec![] };
        if !node_of_run.is_sorted() {
            all.scatter(runs, &node_of_run);
        }
        all
    }

    /// Writes down where the ranks are, since they do not follow each other.
    fn scatter(&mut self, runs: &[NodeRun], node_of_run: &[u32]) {
        let total = self.size() as usize;
        (self.order, self.places) = (vec![0; total], Vec::with_capacity(total));
        let mut next = self.starts.clone();
        for (run, node) in runs.iter().zip(node_of_run) {
            for _ in 0..run.ranks {
                let place = &mut next[*node as usize];
                self.order[*place as usize] = self.places.len() as u32;
                self.places.push(*place);
                *place += 1;
            }
        }
        let first = |start: &u32| self.order[*start as usize];
        self.leaders = self.starts[..self.leaders.len()].iter().map(first).collect();
    }

    /// The number of nodes.
    pub fn count(&self) -> u32 {
        self.leaders.len() as u32
    }

    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Whether each node's ranks follow each other, so that working node by node keeps rank order.
    pub fn is_in_rank_order(&self) -> bool {
        self.order.is_empty()
    }

    /// The rank that leads each node: its lowest.
    pub fn leaders(&self) -> &[u32] {
        &self.leaders
    }

    /// The node of a rank.
    pub fn of(&self, rank: u32) -> u32 {
        let place = self.place(rank);
        self.starts.partition_point(|start| *start <= place) as u32 - 1
    }

    /// The place of a rank when ranks are listed node after node.
    pub fn place(&self, rank: u32) -> u32 {
        self.places.get(rank as usize).copied().unwrap_or(rank)
    }

    /// The rank at a place.
    pub fn rank_at(&self, place: u32) -> u32 {
        self.order.get(place as usize).copied().unwrap_or(place)
    }

    /// The first place of a node, and its number of ranks.
    pub fn places_of(&self, node: u32) -> (u32, u32) {
        let node = node as usize;
        (self.starts[node], self.starts[node + 1] - self.starts[node])
    }

    /// The ranks of a node, ascending.
    pub fn ranks_of(&self, node: u32) -> Ranks<'_> {
        let (first, ranks) = self.places_of(node);
        if self.is_in_rank_order() {
            Ranks::From(first)
        } else {
            Ranks::Listed(&self.order[first as usize..][..ranks as usize])
        }
    }
}

/// The node of each run.
fn number_hosts(runs: &[NodeRun]) -> Vec<u32> {
    let mut numbers = HashMap::new();
    let mut number = |run: &NodeRun| {
        let next = numbers.len() as u32;
        *numbers.entry(run.host).or_insert(next)
    };
    runs.iter().filter(|run| run.ranks > 0).for_each(|run| {
        number(run);
    });
    // A run of nobody belongs to the first node, where it changes nothing.
    runs.iter().map(|run| if run.ranks > 0 { number(run) } else { 0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(runs: &[(u32, u32)]) -> Nodes {
        Nodes::new(&runs.iter().map(|&(host, ranks)| NodeRun { host, ranks }).collect::<Vec<_>>())
    }

    #[test]
    fn nodes_in_rank_order_are_only_counted() {
        let all = nodes(&[(7, 3), (2, 1), (5, 4)]);
        assert!(all.is_in_rank_order());
        assert_eq!((all.count(), all.size(), all.leaders()), (3, 8, &[0, 3, 4][..]));
        assert_eq!((0..8).map(|rank| all.of(rank)).collect::<Vec<_>>(), [0, 0, 0, 1, 2, 2, 2, 2]);
        assert_eq!((all.places_of(2), all.ranks_of(2)), ((4, 4), Ranks::From(4)));
    }

    #[test]
    fn runs_of_one_host_are_one_node() {
        let all = nodes(&[(1, 2), (1, 2), (0, 1)]);
        assert!(all.is_in_rank_order());
        assert_eq!(all.places_of(0), (0, 4));
    }

    #[test]
    fn ranks_dealt_out_in_turns_are_listed() {
        let all = nodes(&[(9, 1), (4, 1), (9, 1), (4, 1), (9, 1)]);
        assert!(!all.is_in_rank_order());
        assert_eq!((all.count(), all.leaders()), (2, &[0, 1][..]));
        assert_eq!(all.ranks_of(0), Ranks::Listed(&[0, 2, 4]));
        assert_eq!(all.ranks_of(1), Ranks::Listed(&[1, 3]));
        assert_eq!((0..5).map(|rank| all.of(rank)).collect::<Vec<_>>(), [0, 1, 0, 1, 0]);
        assert_eq!((0..5).map(|rank| all.rank_at(all.place(rank))).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    }
}
