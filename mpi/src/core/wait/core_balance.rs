//! Ranks that outnumber the cores, spread evenly over these.
//!
//! Each rank gives its core away in every wait, so the others of the core have it in turn, and the core with the most ranks says how long
//! all take. Ranks that sleep are woken where the scheduler likes, and 6 of 8 may meet on one of two cores. The scheduler's own balance parts
//! them 80 ms later. So each rank says which core it is on, and one of too many goes to the core that has the fewest
//! (docs/decisions/0048-ranks-spread-over-cores.md).

use crate::limits::{CORE_LOOK_QUESTIONS, CORE_LOOKS_APART, CORE_SEARCHES_APART};
use std::time::Instant;
use tern_fabric::NodeCores;

/// What a rank knows of where the others of its node are.
pub(crate) struct CoreBalance {
    /// None where each rank should have a core of its own.
    node: Option<NodeCores>,
    /// Ranks of a core if all cores have as many.
    fair: usize,
    /// Questions that were answered by no, since the last note.
    questions: u32,
    /// The last look.
    looked: Option<Instant>,
    /// This rank does not look for another core again before.
    next: Option<Instant>,
}

impl CoreBalance {
    /// Nothing to balance.
    pub(crate) const fn new() -> CoreBalance {
        CoreBalance { node: None, fair: 0, questions: 0, looked: None, next: None }
    }

    /// Of ranks that share cores, so many each.
    pub(crate) fn of(node: NodeCores, fair: u32) -> CoreBalance {
        CoreBalance { node: Some(node), fair: fair as usize, ..CoreBalance::new() }
    }

    /// The program has asked, nothing had come, and this rank has given its core away.
    #[inline]
    pub(super) fn note_question(&mut self) {
        self.questions += 1;
        if self.questions >= CORE_LOOK_QUESTIONS {
            self.questions = 0;
            self.note();
        }
    }

    /// This rank has slept, or has given its core away and looked at the clock.
    #[inline]
    pub(super) fn note(&mut self) {
        if self.node.is_some() {
            self.look();
        }
    }

    /// Says where this rank is, and goes elsewhere if too many are there.
    #[cold]
    fn look(&mut self) {
        let (Some(node), now) = (&self.node, Instant::now()) else { return };
        if self.looked.is_some_and(|looked| now < looked + CORE_LOOKS_APART) {
            return;
        }
        self.looked = Some(now);
        let core = tern_job::this_core();
        node.say(core);
        if ranks_on(core, node.seen()) <= self.fair || self.next.is_some_and(|next| now < next) {
            return;
        }
        self.next = Some(now + CORE_SEARCHES_APART);
        let better = better_core(node.seen(), (node.me() as usize, core), tern_job::own_cores());
        if let Some(better) = better.filter(|&better| tern_job::go_to_core(better)) {
            node.say(better);
        }
    }
}

/// The core that rank `me` should go to, which is on `core`: one of `may` with the fewest ranks. Of all ranks of a core, the first ones go, half as
/// many as it has too many.
fn better_core(
    seen: impl Iterator<Item = Option<u32>> + Clone,
    (me, core): (usize, u32),
    may: impl Iterator<Item = u32>,
) -> Option<u32> {
    let (fewest, better) = may.map(|other| (ranks_on(other, seen.clone()), other)).min()?;
    let leaving = ranks_on(core, seen.clone()).saturating_sub(fewest) / 2;
    (ranks_on(core, seen.take(me)) < leaving).then_some(better)
}

fn ranks_on(core: u32, seen: impl Iterator<Item = Option<u32>>) -> usize {
    seen.filter(|seen| *seen == Some(core)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the ranks of some cores are once each has looked, `rounds` times.
    fn after(mut cores: Vec<u32>, may: &[u32], rounds: u32) -> Vec<u32> {
        for _ in 0..rounds {
            for me in 0..cores.len() {
                let seen = cores.clone();
                let to = better_core(seen.iter().copied().map(Some), (me, seen[me]), may.iter().copied());
                cores[me] = to.unwrap_or(cores[me]);
            }
        }
        cores.sort();
        cores
    }

    #[test]
    fn one_round_spreads_ranks_evenly() {
        assert_eq!(after(vec![1; 8], &[0, 1], 1), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(after(vec![0, 1, 1, 1, 0, 1, 1, 1], &[0, 1], 1), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(after(vec![3; 3], &[2, 3], 1), [2, 3, 3]);
        assert_eq!(after(vec![0; 9], &[0, 1, 2, 3], 3), [0, 0, 0, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn who_looks_at_the_same_time_does_not_move_too_many() {
        let cores = [0, 0, 0, 0, 0, 0, 1, 1];
        let seen = || cores.iter().copied().map(Some);
        let movers = (0..8).filter(|&me| better_core(seen(), (me, cores[me]), 0..2).is_some());
        assert!(movers.eq([0, 1]), "of six two go");
    }

    #[test]
    fn nobody_moves_for_one_rank_more() {
        assert_eq!(after(vec![0, 0, 0, 1, 1], &[0, 1], 2), [0, 0, 0, 1, 1]);
        assert_eq!(better_core([None, Some(0), None].into_iter(), (1, 0), 0..2), None);
    }

    #[test]
    fn cores_that_a_rank_may_not_use_are_left_alone() {
        assert_eq!(after(vec![0; 4], &[0], 1), [0; 4]);
    }
}
