//! No rank leaves a barrier before all have entered it.
//!
//! Signals are followed by hand: each carries what its sender knew when it started it, the set of ranks that have
//! entered. At its end a rank must know of all.

mod common;

use std::collections::{BTreeSet, HashMap, VecDeque};

use common::case::{Case, cases};
use tern_coll::{Collective, CollectiveCall, CommView, Schedule, Step, StepPeer, build, build_with};

/// A group and a rank in it.
type Process = (u32, u32);
type Known = BTreeSet<Process>;

struct Rank {
    process: Process,
    schedule: Schedule,
    next: usize,
    known: Known,
    awaited: Vec<Process>,
}

impl Rank {
    fn new(group: u32, comm: CommView, case: &Case) -> Rank {
        let mut schedule = Schedule::new();
        let comm = case.place(comm);
        match case.choice {
            Some(choice) => build_with(choice, &comm, &CollectiveCall::Barrier, &mut schedule),
            None => build(&comm, &CollectiveCall::Barrier, &[], &mut schedule),
        }
        let process = (group, comm.rank);
        Rank { process, schedule, next: 0, known: Known::from([process]), awaited: vec![] }
    }

    fn peer(&self, peer: StepPeer) -> Process {
        match peer {
            StepPeer::Local(rank) => (self.process.0, rank),
            StepPeer::Remote(rank) => (1 - self.process.0, rank),
        }
    }

    /// Goes on as far as the signals on their way allow; whether anything happened.
    fn advance(&mut self, signals: &mut HashMap<(Process, Process), VecDeque<Known>>) -> bool {
        let start = self.next;
        while let Some(step) = self.schedule.steps().get(self.next).copied() {
            match step {
                Step::Send { to, .. } => {
                    let pair = (self.process, self.peer(to));
                    signals.entry(pair).or_default().push_back(self.known.clone());
                }
                Step::Multicast { to, .. } => {
                    for to in self.schedule.listeners(&to) {
                        let pair = (self.process, self.peer(StepPeer::Local(*to)));
                        signals.entry(pair).or_default().push_back(self.known.clone());
                    }
                }
                Step::Recv { from, .. } | Step::Listen { from, .. } => self.awaited.push(self.peer(from)),
                Step::Wait if !self.hear(signals) => break,
                Step::Wait => {}
                Step::Reduce { .. } | Step::Copy { .. } => panic!("a barrier moves no data"),
            }
            self.next += 1;
        }
        self.next > start
    }

    fn hear(&mut self, signals: &mut HashMap<(Process, Process), VecDeque<Known>>) -> bool {
        let process = self.process;
        let known = &mut self.known;
        self.awaited.retain(|from| {
            let heard = signals.get_mut(&(*from, process)).and_then(VecDeque::pop_front);
            known.extend(heard.iter().flatten());
            heard.is_none()
        });
        self.awaited.is_empty()
    }
}

fn check(mut ranks: Vec<Rank>) {
    let everyone: Known = ranks.iter().map(|rank| rank.process).collect();
    let mut signals = HashMap::new();
    let mut moved = true;
    while moved {
        moved = false;
        ranks.iter_mut().for_each(|rank| moved |= rank.advance(&mut signals));
    }
    for rank in &ranks {
        assert_eq!(rank.next, rank.schedule.steps().len(), "{:?} is stuck", rank.process);
        assert_eq!(rank.known, everyone, "{:?} left too early", rank.process);
    }
}

#[test]
fn within_a_group() {
    for size in (1..=40).chain([64, 100]) {
        for case in cases(Collective::Barrier, size) {
            check((0..size).map(|rank| Rank::new(0, CommView::intra(rank, size), &case)).collect());
        }
    }
}

#[test]
fn between_groups() {
    for (left, right) in [(1, 1), (1, 3), (3, 2), (4, 4), (9, 5)] {
        let side = |group, size, remote| {
            (0..size).map(move |rank| Rank::new(group, CommView::inter(rank, size, remote), &Case::table()))
        };
        check(side(0, left, right).chain(side(1, right, left)).collect());
    }
}
