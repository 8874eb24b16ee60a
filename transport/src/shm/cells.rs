//! A rank's own cells: blocks of the segment that carry payloads longer than a ring's lines.
//!
//! The owner sets a cell busy and fills it; the receiver copies it out and sets it free. Neither ever makes
//! the other's change, so no locked instruction is needed. The cell used last is tried first: in an exchange
//! back and forth one cell stays hot in the cache. Long messages take them in turn, and the longest several at once.

use std::sync::atomic::Ordering;

use super::layout::Layout;
use super::segment::{CELL_BUSY, CELL_FREE, Segment};
use crate::Peer;
use crate::limits::{CELL_TURNS_BYTES_MIN, CELLS_IN_TURN, CELLS_MAX, CROWDED_CELLS_MIN};

/// Cells that a rank uses where nobody may be running who empties them: those of all ranks together are the cells that two have.
fn crowded_cells(layout: &Layout) -> u32 {
    (2 * layout.cells / layout.size).clamp(CROWDED_CELLS_MIN.min(layout.cells), layout.cells)
}

/// Which of this rank's cells are free, as far as it knows.
pub(crate) struct CellPool {
    owner: Peer,
    count: u32,
    /// Cells that were handed out and not yet seen free, one bit each.
    busy: u128,
    /// The cell handed out last.
    hot: u32,
    /// To whom each busy cell went.
    holder: [Peer; CELLS_MAX as usize],
    /// Busy cells by peer.
    held: Vec<u32>,
}

impl CellPool {
    /// `crowded`: the job's ranks outnumber the cores.
    pub(crate) fn new(segment: &Segment, owner: Peer, crowded: bool) -> Self {
        let layout = segment.layout();
        CellPool {
            owner,
            count: if crowded { crowded_cells(layout) } else { layout.cells },
            busy: 0,
            hot: 0,
            holder: [0; CELLS_MAX as usize],
            held: vec![0; layout.size as usize],
        }
    }

    /// Whether `peer` gets so many cells now.
    #[inline]
    pub(crate) fn has(&mut self, segment: &Segment, peer: Peer, cells: u32) -> bool {
        self.may_take(peer, cells) || {
            self.look_at_all(segment);
            self.may_take(peer, cells)
        }
    }

    /// A cell for some of the `len` bytes of a message to `peer`, busy from now on. No peer gets the last quarter of the cells: one that
    /// does not receive must not keep this rank from sending to others.
    #[inline]
    pub(crate) fn take(&mut self, segment: &Segment, peer: Peer, len: usize) -> Option<u32> {
        let first = if len >= CELL_TURNS_BYTES_MIN { self.next() } else { self.hot };
        if self.is_busy(first) {
            self.look(segment, first);
        }
        if !self.has(segment, peer, 1) {
            return None;
        }
        let cell = if self.is_busy(first) { self.busy.trailing_ones() } else { first };
        self.hand_out(segment, cell, peer);
        Some(cell)
    }

    fn next(&self) -> u32 {
        if self.hot + 1 < self.count.min(CELLS_IN_TURN) { self.hot + 1 } else { 0 }
    }

    fn hand_out(&mut self, segment: &Segment, cell: u32, peer: Peer) {
        segment.cell_line(self.owner, cell).state.store(CELL_BUSY, Ordering::Relaxed);
        self.busy |= 1 << cell;
        self.hot = cell;
        self.holder[cell as usize] = peer;
        self.held[peer as usize] += 1;
    }

    fn may_take(&self, peer: Peer, cells: u32) -> bool {
        let held = self.held[peer as usize];
        self.busy.count_ones() + cells <= self.count && held + cells <= self.count - self.count / 4
    }

    fn is_busy(&self, cell: u32) -> bool {
        self.busy >> cell & 1 != 0
    }

    fn look(&mut self, segment: &Segment, cell: u32) {
        if segment.cell_line(self.owner, cell).state.load(Ordering::Acquire) == CELL_FREE {
            self.busy &= !(1 << cell);
            self.held[self.holder[cell as usize] as usize] -= 1;
        }
    }

    fn look_at_all(&mut self, segment: &Segment) {
        for cell in 0..self.count {
            if self.is_busy(cell) {
                self.look(segment, cell);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn usable(size: u32, cells: u32) -> u32 {
        crowded_cells(&Layout::new(size, &Config { cells, ..Config::default() }))
    }

    #[test]
    fn ranks_that_outnumber_the_cores_share_what_two_have() {
        assert_eq!([2, 4, 8, 16, 1000].map(|size| usable(size, 128)), [128, 64, 32, 16, 16]);
        assert_eq!([2, 16, 1000].map(|size| usable(size, 12)), [12, 12, 12]);
    }
}
