//! Which way long messages take between two ranks: through cells or by the kernel. Measured on the messages themselves, since it
//! depends on where both ranks run at the moment: on two cores of a Zen 4 that share a cache 64 KiB take 3 µs by cells and 4.2 by the
//! kernel, on two that do not 28 and 5.4; and a hypervisor or the scheduler moves ranks from the one to the other.
//!
//! The receiver chooses, and measures from there until it has the message: what takes longest may be its own copy, the sender's,
//! or the way from one to the other. An absent sender makes cells slow and the kernel only half as fast, and so it should.

use std::collections::HashMap;
use std::time::Instant;

use super::choice::Choice;
use crate::Peer;
use crate::copies::Copies;
use crate::limits::{CELLS_IN_TURN_BYTES, PACE_TRIAL_BYTES_MAX};

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
        let cells = pace.choice.next(Copies::Auto.by_cells(), len <= PACE_TRIAL_BYTES_MAX);
        let counts = !cells || pace.warm(len);
        pace.run = counts.then(|| Run { start: Instant::now(), len, left: len, cells });
        cells
    }

    /// A message, or a part of one, of so many bytes came in cells of `peer`.
    #[inline]
    pub(crate) fn by_cells_came(&mut self, peer: Peer, bytes: usize) {
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
            pace.choice.note(cells, len, time);
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

/// What is known of one peer.
#[derive(Debug, Default)]
struct Pace {
    /// Between the kernel and, as the second way, cells.
    choice: Choice,
    run: Option<Run>,
    /// Bytes of the first messages by cells.
    warmed: u64,
}

impl Pace {
    /// So many bytes are to come by cells: whether all cells that take turns have been used before. Until then what takes longest is that
    /// the system gives both sides their pages.
    fn warm(&mut self, len: u64) -> bool {
        let warm = self.warmed >= CELLS_IN_TURN_BYTES;
        if !warm {
            self.warmed += len;
        }
        warm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: u64 = 64 << 10;

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
        let kernel = Choice::measured(false);
        paces.known.insert(1, Pace { choice: kernel, warmed: CELLS_IN_TURN_BYTES, ..Pace::default() });
        assert!(paces.by_cells(1, LEN), "nothing is known of this way");
        paces.by_cells_came(2, LEN as usize);
        paces.shared(1);
        paces.by_cells_came(1, LEN as usize - 1);
        assert_eq!(paces.known[&1].choice, kernel);
        paces.by_cells_came(1, 1);
        assert!(paces.known[&1].choice.is_known());
    }

    #[test]
    fn cells_that_are_used_for_the_first_time_say_nothing() {
        let mut paces = Paces::new(Copies::Auto);
        paces.known.insert(1, Pace { choice: Choice::measured(false), ..Pace::default() });
        let mut message = |counts: bool| {
            assert!(paces.by_cells(1, LEN), "nothing is known of this way");
            paces.by_cells_came(1, LEN as usize);
            assert_eq!(paces.known[&1].choice.is_known(), counts);
        };
        (0..CELLS_IN_TURN_BYTES / LEN).for_each(|_| message(false));
        message(true);
    }

    #[test]
    fn what_both_sides_copied_is_measured_at_its_end() {
        let mut paces = Paces::new(Copies::Auto);
        paces.known.insert(1, Pace { choice: Choice::measured(true), ..Pace::default() });
        assert!(!paces.by_cells(1, LEN), "nothing is known of this way");
        paces.by_cells_came(1, LEN as usize);
        assert!(!paces.known[&1].choice.is_known());
        paces.shared(1);
        assert!(paces.known[&1].choice.is_known());
    }
}
