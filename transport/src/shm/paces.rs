//! Which way long messages take between two ranks: through cells or by the kernel. Measured on the messages themselves, since it
//! depends on where both ranks run at the moment: on two cores of a Zen 4 that share a cache 64 KiB take 3 µs by cells and 4.2 by the
//! kernel, on two that do not 28 and 5.4; and a hypervisor or the scheduler moves ranks from the one to the other.
//!
//! The receiver chooses, and measures from there until it has the message: what takes longest may be its own copy, the sender's,
//! or the way from one to the other. An absent sender makes cells slow and the kernel only half as fast, and so it should.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::Peer;
use crate::copies::Copies;
use crate::limits::{PACE_TRIAL_BYTES_MAX, PACE_TRIAL_MESSAGES, PACE_TRIAL_MESSAGES_MAX};

/// What was measured of all peers.
pub(crate) struct Paces {
    copies: Copies,
    known: HashMap<Peer, Pace>,
}

impl Paces {
    pub(crate) fn new(copies: Copies) -> Self {
        Paces { copies, known: HashMap::new() }
    }

    /// Whether the next long message of `peer`, of `len` bytes, had better come by cells. It begins now.
    pub(crate) fn by_cells(&mut self, peer: Peer, len: u64) -> bool {
        if self.copies != Copies::Auto {
            return self.copies.by_cells();
        }
        let pace = self.known.entry(peer).or_default();
        let cells = pace.by_cells(len);
        pace.run = Some(Run { start: Instant::now(), len, left: len, cells });
        cells
    }

    /// So many bytes came in a cell of `peer`.
    #[inline]
    pub(crate) fn cell(&mut self, peer: Peer, bytes: usize) {
        if !self.known.is_empty() {
            self.came(peer, true, bytes as u64);
        }
    }

    /// All that both sides copied has come from `peer`.
    pub(crate) fn shared(&mut self, peer: Peer) {
        self.came(peer, false, u64::MAX);
    }

    fn came(&mut self, peer: Peer, cells: bool, bytes: u64) {
        let Some(pace) = self.known.get_mut(&peer) else { return };
        let Some(run) = pace.run.as_mut().filter(|run| run.cells == cells) else { return };
        run.left = run.left.saturating_sub(bytes);
        if run.left == 0 {
            let (len, time) = (run.len, run.start.elapsed());
            pace.run = None;
            note(if cells { &mut pace.cells } else { &mut pace.kernel }, len, time);
        }
    }
}

/// The long message that began last.
#[derive(Debug)]
struct Run {
    start: Instant,
    len: u64,
    left: u64,
    cells: bool,
}

/// What was measured of one peer.
#[derive(Debug)]
struct Pace {
    /// Nanoseconds for each KiB of a message; `None` as long as nothing was measured.
    cells: Option<f32>,
    kernel: Option<f32>,
    /// Messages until the slower way is tried again, and how many there were between the last two trials.
    left: u32,
    between: u32,
    /// Which way was the faster one at the last message.
    last: bool,
    run: Option<Run>,
}

impl Default for Pace {
    fn default() -> Self {
        let (left, between) = (PACE_TRIAL_MESSAGES, PACE_TRIAL_MESSAGES);
        Pace { cells: None, kernel: None, left, between, last: false, run: None }
    }
}

impl Pace {
    fn by_cells(&mut self, len: u64) -> bool {
        let best = match (self.cells, self.kernel) {
            (Some(cells), Some(kernel)) => cells < kernel,
            (None, None) => return Copies::Auto.by_cells(),
            (cells, _) => return cells.is_none(),
        };
        if best != self.last {
            (self.last, self.left, self.between) = (best, PACE_TRIAL_MESSAGES, PACE_TRIAL_MESSAGES);
        }
        self.left -= 1;
        if self.left > 0 {
            return best;
        }
        self.between = (2 * self.between).min(PACE_TRIAL_MESSAGES_MAX);
        self.left = self.between;
        best == (len > PACE_TRIAL_BYTES_MAX)
    }
}

/// A shorter time counts at once; a longer one, which may be an interruption, by an eighth and as four times what was known at most.
fn note(known: &mut Option<f32>, bytes: u64, time: Duration) {
    let new = time.as_nanos() as f32 * 1024.0 / bytes.max(1) as f32;
    *known = Some(match *known {
        Some(old) if new > old => old + (new.min(4.0 * old) - old) / 8.0,
        _ => new,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: u64 = 64 << 10;

    /// Receives messages at these paces in ns for each KiB; how many of the last half came by cells.
    fn receive(pace: &mut Pace, messages: u32, cells_ns: u64, kernel_ns: u64) -> u32 {
        let mut by_cells = 0;
        for message in 0..messages {
            let cells = pace.by_cells(LEN);
            let (known, ns) = if cells { (&mut pace.cells, cells_ns) } else { (&mut pace.kernel, kernel_ns) };
            note(known, 1024, Duration::from_nanos(ns));
            by_cells += u32::from(cells && message >= messages / 2);
        }
        by_cells
    }

    #[test]
    fn the_faster_way_is_taken_and_the_other_one_tried_ever_more_rarely() {
        let mut pace = Pace::default();
        assert!(receive(&mut pace, 4000, 30, 60) > 1990);
        let mut pace = Pace::default();
        let tries = receive(&mut pace, 4000, 60, 30);
        assert!((1..10).contains(&tries), "{tries}");
    }

    #[test]
    fn a_rank_that_moves_is_found_out() {
        let mut pace = Pace::default();
        receive(&mut pace, 1000, 30, 60);
        assert!(receive(&mut pace, 100, 200, 60) < 5, "what is used is measured all the time");
        assert!(receive(&mut pace, 4 * PACE_TRIAL_MESSAGES_MAX, 30, 60) > PACE_TRIAL_MESSAGES_MAX);
    }

    #[test]
    fn one_interruption_changes_nothing() {
        let mut pace = Pace::default();
        receive(&mut pace, 100, 30, 60);
        note(&mut pace.cells, 1024, Duration::from_millis(5));
        assert!(pace.by_cells(LEN));
    }

    #[test]
    fn the_longest_messages_try_each_way_once() {
        let mut pace = Pace::default();
        let first = pace.by_cells(PACE_TRIAL_BYTES_MAX + 1);
        note(if first { &mut pace.cells } else { &mut pace.kernel }, 1024, Duration::from_nanos(60));
        let second = pace.by_cells(PACE_TRIAL_BYTES_MAX + 1);
        assert_ne!(first, second);
        note(if second { &mut pace.cells } else { &mut pace.kernel }, 1024, Duration::from_nanos(30));
        assert!((0..1000).all(|_| pace.by_cells(PACE_TRIAL_BYTES_MAX + 1) == second));
    }

    #[test]
    fn what_the_user_wants_is_done() {
        for (copies, by_cells) in [(Copies::Cells, true), (Copies::Kernel, false)] {
            let mut paces = Paces::new(copies);
            assert!((0..100).all(|_| paces.by_cells(1, LEN) == by_cells));
        }
    }

    #[test]
    fn a_message_is_measured_until_all_of_it_has_come() {
        let mut paces = Paces::new(Copies::Auto);
        paces.known.insert(1, Pace { kernel: Some(60.0), ..Pace::default() });
        assert!(paces.by_cells(1, LEN), "nothing is known of this way");
        paces.cell(2, LEN as usize);
        paces.shared(1);
        paces.cell(1, LEN as usize - 1);
        assert!(paces.known[&1].cells.is_none());
        paces.cell(1, 1);
        assert!(paces.known[&1].cells.is_some());
        paces.known.insert(1, Pace { cells: Some(60.0), ..Pace::default() });
        assert!(!paces.by_cells(1, LEN), "now the other one");
        paces.shared(1);
        assert!(paces.known[&1].kernel.is_some());
    }
}
