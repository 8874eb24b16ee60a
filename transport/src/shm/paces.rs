//! Which way long messages take between two ranks: through cells or by the kernel. Measured on the messages themselves, since it
//! depends on where both ranks run at the moment: on two cores of a Zen 4 that share a cache 64 KiB take 3 µs by cells and 4.2 by the
//! kernel, on two that do not 14 and 5.4; and a hypervisor or the scheduler moves ranks from the one to the other.
//!
//! The receiver chooses, and measures what it copies itself: cells out of the segment, its chunks of what both sides copy.
//! The sender works beside it either way.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::Peer;
use crate::copies::Copies;
use crate::limits::{
    PACE_BYTES_MIN, PACE_CELLS_PER_SAMPLE, PACE_TRIAL_BYTES_MAX, PACE_TRIAL_MESSAGES,
    PACE_TRIAL_MESSAGES_MAX, PAGE_BYTES,
};

/// What was measured of all peers.
pub(crate) struct Paces {
    copies: Copies,
    /// Cells since the last one that was measured.
    cells: u32,
    known: HashMap<Peer, Pace>,
}

impl Paces {
    pub(crate) fn new(copies: Copies) -> Self {
        Paces { copies, cells: 0, known: HashMap::new() }
    }

    /// Whether the next long message of `peer`, of `len` bytes, had better come by cells.
    pub(crate) fn by_cells(&mut self, peer: Peer, len: u64) -> bool {
        match self.copies {
            Copies::Auto => self.pace(peer).by_cells(len),
            forced => forced.by_cells(),
        }
    }

    /// Begins to measure how `len` bytes are copied out of a cell, once in a while.
    ///
    /// # Safety
    /// They must be readable at `cell`.
    #[inline]
    pub(crate) unsafe fn start(&mut self, cell: *const u8, len: usize) -> Option<Instant> {
        if len < PACE_BYTES_MIN || self.copies != Copies::Auto {
            return None;
        }
        self.cells += 1;
        if self.cells < PACE_CELLS_PER_SAMPLE {
            return None;
        }
        self.cells = 0;
        // The first touch of a page costs as much as a copy of it, once.
        for at in (0..len).step_by(PAGE_BYTES) {
            // SAFETY: promised.
            unsafe { cell.add(at).read_volatile() };
        }
        Some(Instant::now())
    }

    /// So many bytes of a cell of `peer` were copied out.
    pub(crate) fn copied_out(&mut self, peer: Peer, bytes: usize, time: Duration) {
        note(&mut self.pace(peer).cells, bytes, time);
    }

    /// So many bytes were copied by the kernel, while `peer` copied others.
    pub(crate) fn shared(&mut self, peer: Peer, bytes: usize, time: Duration) {
        // Half of the message is the peer's.
        note(&mut self.pace(peer).kernel, 2 * bytes, time);
    }

    fn pace(&mut self, peer: Peer) -> &mut Pace {
        self.known.entry(peer).or_default()
    }
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
}

impl Default for Pace {
    fn default() -> Self {
        let (left, between) = (PACE_TRIAL_MESSAGES, PACE_TRIAL_MESSAGES);
        Pace { cells: None, kernel: None, left, between, last: false }
    }
}

impl Pace {
    fn by_cells(&mut self, len: u64) -> bool {
        let best = match (self.cells, self.kernel) {
            (Some(cells), Some(kernel)) => cells < kernel,
            _ if len > PACE_TRIAL_BYTES_MAX => return Copies::Auto.by_cells(),
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

/// A shorter time counts by half, a longer one, which may be an interruption, by an eighth and as four times what was known at most.
fn note(known: &mut Option<f32>, bytes: usize, time: Duration) {
    let new = time.as_nanos() as f32 * 1024.0 / bytes.max(1) as f32;
    *known = Some(match *known {
        None => new,
        Some(old) if new < old => (old + new) / 2.0,
        Some(old) => old + (new.min(4.0 * old) - old) / 8.0,
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
    fn the_longest_messages_try_nothing() {
        let mut pace = Pace::default();
        let guess = Copies::Auto.by_cells();
        assert!((0..100).all(|_| pace.by_cells(PACE_TRIAL_BYTES_MAX + 1) == guess));
        receive(&mut pace, 100, 60, 30);
        assert!((0..1000).all(|_| !pace.by_cells(PACE_TRIAL_BYTES_MAX + 1)));
    }

    #[test]
    fn what_the_user_wants_is_done() {
        for (copies, by_cells) in [(Copies::Cells, true), (Copies::Kernel, false)] {
            let mut paces = Paces::new(copies);
            paces.shared(1, 1024, Duration::from_nanos(1));
            assert!((0..100).all(|_| paces.by_cells(1, LEN) == by_cells));
        }
    }
}
