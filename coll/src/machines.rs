//! Which ranks of a communicator share a machine.

use std::collections::HashMap;

use crate::shape::Ranks;

/// Consecutive ranks on one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// A number of the host; equal numbers are the same host.
    pub host: u32,
    /// How many ranks follow each other there.
    pub ranks: u32,
}

/// The machines of a communicator, numbered by their lowest ranks, which lead them.
///
/// Where each machine's ranks follow each other, which is how launchers place them, this takes 8 bytes a machine;
/// otherwise also 8 bytes a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machines {
    /// The rank that leads each machine.
    leaders: Vec<u32>,
    /// Where each machine's ranks begin among all, machine after machine; and the number of ranks.
    starts: Vec<u32>,
    /// Ranks, machine after machine; empty where that is rank order.
    order: Vec<u32>,
    /// The place of each rank in `order`; empty like it.
    places: Vec<u32>,
}

impl Machines {
    /// From the hosts of all ranks, in rank order.
    pub fn new(runs: &[Run]) -> Machines {
        let machine_of_run = number_hosts(runs);
        let machines = machine_of_run.iter().max().map_or(0, |last| *last as usize + 1);
        let mut starts = vec![0; machines + 1];
        for (run, machine) in runs.iter().zip(&machine_of_run) {
            starts[*machine as usize + 1] += run.ranks;
        }
        for machine in 0..machines {
            starts[machine + 1] += starts[machine];
        }
        let mut all =
            Machines { leaders: starts[..machines].to_vec(), starts, order: vec![], places: vec![] };
        if !machine_of_run.is_sorted() {
            all.scatter(runs, &machine_of_run);
        }
        all
    }

    /// Writes down where the ranks are, since they do not follow each other.
    fn scatter(&mut self, runs: &[Run], machine_of_run: &[u32]) {
        let total = self.size() as usize;
        (self.order, self.places) = (vec![0; total], Vec::with_capacity(total));
        let mut next = self.starts.clone();
        for (run, machine) in runs.iter().zip(machine_of_run) {
            for _ in 0..run.ranks {
                let place = &mut next[*machine as usize];
                self.order[*place as usize] = self.places.len() as u32;
                self.places.push(*place);
                *place += 1;
            }
        }
        let first = |start: &u32| self.order[*start as usize];
        self.leaders = self.starts[..self.leaders.len()].iter().map(first).collect();
    }

    /// The number of machines.
    pub fn count(&self) -> u32 {
        self.leaders.len() as u32
    }

    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Whether each machine's ranks follow each other, so that working machine by machine keeps rank order.
    pub fn is_in_rank_order(&self) -> bool {
        self.order.is_empty()
    }

    /// The rank that leads each machine: its lowest.
    pub fn leaders(&self) -> &[u32] {
        &self.leaders
    }

    /// The machine of a rank.
    pub fn of(&self, rank: u32) -> u32 {
        let place = self.place(rank);
        self.starts.partition_point(|start| *start <= place) as u32 - 1
    }

    /// The place of a rank when ranks are listed machine after machine.
    pub fn place(&self, rank: u32) -> u32 {
        self.places.get(rank as usize).copied().unwrap_or(rank)
    }

    /// The rank at a place.
    pub fn rank_at(&self, place: u32) -> u32 {
        self.order.get(place as usize).copied().unwrap_or(place)
    }

    /// The first place of a machine, and its number of ranks.
    pub fn places_of(&self, machine: u32) -> (u32, u32) {
        let machine = machine as usize;
        (self.starts[machine], self.starts[machine + 1] - self.starts[machine])
    }

    /// The ranks of a machine, ascending.
    pub fn ranks_of(&self, machine: u32) -> Ranks<'_> {
        let (first, ranks) = self.places_of(machine);
        if self.is_in_rank_order() {
            Ranks::From(first)
        } else {
            Ranks::Listed(&self.order[first as usize..][..ranks as usize])
        }
    }
}

/// The machine of each run.
fn number_hosts(runs: &[Run]) -> Vec<u32> {
    let mut numbers = HashMap::new();
    let mut number = |run: &Run| {
        let next = numbers.len() as u32;
        *numbers.entry(run.host).or_insert(next)
    };
    runs.iter().filter(|run| run.ranks > 0).for_each(|run| {
        number(run);
    });
    // A run of nobody belongs to the first machine, where it changes nothing.
    runs.iter().map(|run| if run.ranks > 0 { number(run) } else { 0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machines(runs: &[(u32, u32)]) -> Machines {
        Machines::new(&runs.iter().map(|&(host, ranks)| Run { host, ranks }).collect::<Vec<_>>())
    }

    #[test]
    fn machines_in_rank_order_are_only_counted() {
        let all = machines(&[(7, 3), (2, 1), (5, 4)]);
        assert!(all.is_in_rank_order());
        assert_eq!((all.count(), all.size(), all.leaders()), (3, 8, &[0, 3, 4][..]));
        assert_eq!((0..8).map(|rank| all.of(rank)).collect::<Vec<_>>(), [0, 0, 0, 1, 2, 2, 2, 2]);
        assert_eq!((all.places_of(2), all.ranks_of(2)), ((4, 4), Ranks::From(4)));
    }

    #[test]
    fn runs_of_one_host_are_one_machine() {
        let all = machines(&[(1, 2), (1, 2), (0, 1)]);
        assert!(all.is_in_rank_order());
        assert_eq!(all.places_of(0), (0, 4));
    }

    #[test]
    fn ranks_dealt_out_in_turns_are_listed() {
        let all = machines(&[(9, 1), (4, 1), (9, 1), (4, 1), (9, 1)]);
        assert!(!all.is_in_rank_order());
        assert_eq!((all.count(), all.leaders()), (2, &[0, 1][..]));
        assert_eq!(all.ranks_of(0), Ranks::Listed(&[0, 2, 4]));
        assert_eq!(all.ranks_of(1), Ranks::Listed(&[1, 3]));
        assert_eq!((0..5).map(|rank| all.of(rank)).collect::<Vec<_>>(), [0, 1, 0, 1, 0]);
        assert_eq!((0..5).map(|rank| all.rank_at(all.place(rank))).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    }
}
