//! A rank's cells: blocks of the segment that carry payloads longer than a ring's lines.
//!
//! The owner sets a cell busy and fills it; the receiver copies it out and sets it free. Neither ever makes
//! the other's change, so no locked instruction is needed. Long messages take cells in turn, and the longest several at once.
//!
//! # Cells that go back and forth
//!
//! A receiver may keep cells that it has copied out, and use them for what it sends to their owner. So in an exchange a cell
//! carries messages both ways, and each side writes lines that it has just read. AMD's processors move such lines from core to core;
//! lines that one core always writes and the other always reads they do not (docs/decisions/0024-cells-go-back-and-forth.md). The
//! owner says which cells may be kept, and lends few enough that it never lacks them. A cell that has come back carries the next message.

use std::sync::atomic::Ordering;

use super::layout::SegmentLayout;
use super::ring::CellName;
use super::segment::Segment;
use super::segment_words::{CELL_BUSY, CELL_FREE};
use crate::limits::{
    CELL_TURNS_BYTES_MIN, CELLS_IN_TURN, CELLS_KEPT_MAX, CELLS_LENT_PER_PEER_MIN, CELLS_MAX,
    OVERSUBSCRIBED_CELLS_MIN,
};
use tern_transport::Peer;
use tern_transport::config::message_cells_max;

/// Cells that a rank uses where nobody may be running who empties them: those of all ranks together are the cells that two have.
fn oversubscribed_cells(layout: &SegmentLayout) -> u32 {
    (2 * layout.cells / layout.size).clamp(OVERSUBSCRIBED_CELLS_MIN.min(layout.cells), layout.cells)
}

/// Most cells that are lent where there are so many: the longest message still finds as many as it needs.
fn lent_max(cells: u32) -> u32 {
    (cells - cells / 4).saturating_sub(message_cells_max(cells)).min(cells / 2)
}

/// A cell that is to be filled: whose it is, and what the receiver is told of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SendCell {
    pub(crate) owner: Peer,
    pub(crate) name: CellName,
    /// It was read here just now, so its lines are in this core's cache.
    pub(crate) is_hot: bool,
}

/// Which of this rank's cells are free, as far as it knows, and which it has of others.
pub(crate) struct CellPool {
    owner: Peer,
    count: u32,
    /// Cells that were handed out and not yet seen free, one bit each.
    busy: u128,
    /// Those of them that their receivers may keep.
    lent: u128,
    /// Most cells that are lent at once, and to one peer.
    lent_max: u32,
    lent_per_peer_max: u32,
    /// The cell handed out last.
    hot: u32,
    /// Cells that have come back with a message; some may be busy again.
    returned: Vec<u32>,
    /// Cells of others that were kept, the latest last.
    kept: Vec<(Peer, u32)>,
    /// To whom each busy cell went.
    holder: [Peer; CELLS_MAX as usize],
    /// Busy cells by peer.
    held: Vec<u32>,
    /// Lent cells by peer.
    lent_to: Vec<u32>,
}

impl CellPool {
    /// `oversubscribed`: the job's ranks outnumber the cores.
    pub(crate) fn new(segment: &Segment, owner: Peer, oversubscribed: bool) -> Self {
        let layout = segment.layout();
        let lent_max = if oversubscribed { 0 } else { lent_max(layout.cells) };
        CellPool {
            owner,
            count: if oversubscribed { oversubscribed_cells(layout) } else { layout.cells },
            busy: 0,
            lent: 0,
            lent_max,
            lent_per_peer_max: (lent_max / (layout.size - 1).max(1)).max(CELLS_LENT_PER_PEER_MIN),
            hot: 0,
            returned: Vec::with_capacity(CELLS_MAX as usize),
            kept: Vec::with_capacity(CELLS_KEPT_MAX),
            holder: [0; CELLS_MAX as usize],
            held: vec![0; layout.size as usize],
            lent_to: vec![0; layout.size as usize],
        }
    }

    /// Whose pool it is.
    #[inline]
    pub(crate) fn owner(&self) -> Peer {
        self.owner
    }

    /// Whether a message to `peer` gets so many cells now, kept ones among them.
    #[inline]
    pub(crate) fn has_for_ring(&mut self, segment: &Segment, peer: Peer, cells: u32) -> bool {
        let kept = self.kept.iter().filter(|(owner, _)| *owner == peer).count() as u32;
        self.has(segment, peer, cells.saturating_sub(kept))
    }

    /// Whether `peer` gets so many cells of this rank now.
    #[inline]
    pub(crate) fn has(&mut self, segment: &Segment, peer: Peer, cells: u32) -> bool {
        self.may_take(peer, cells) || {
            self.look_at_all(segment);
            self.may_take(peer, cells)
        }
    }

    /// Cells for a message to `peer` that were read here just now.
    pub(crate) fn hot_for(&self, peer: Peer) -> u32 {
        let kept = self.kept.iter().filter(|(owner, _)| *owner == peer).count();
        let returned = self.returned.iter().filter(|&&cell| !self.is_busy(cell)).count();
        (kept + returned) as u32
    }

    /// A cell for some of the `len` bytes of a message that goes by a ring: one of the peer's own that was kept, or one that has come
    /// back, or any.
    #[inline]
    pub(crate) fn take_for_ring(&mut self, segment: &Segment, peer: Peer, len: usize) -> Option<SendCell> {
        if let Some(at) = self.kept.iter().rposition(|(owner, _)| *owner == peer) {
            let (owner, cell) = self.kept.remove(at);
            return Some(SendCell { owner, name: CellName::of_receiver(cell), is_hot: true });
        }
        let returned = self.take_returned(segment, peer);
        let cell = returned.or_else(|| self.take(segment, peer, len))?;
        let is_lent = self.lend(cell, peer);
        Some(SendCell { owner: self.owner, name: CellName::new(cell, is_lent), is_hot: returned.is_some() })
    }

    fn take_returned(&mut self, segment: &Segment, peer: Peer) -> Option<u32> {
        while let Some(cell) = self.returned.pop() {
            if !self.is_busy(cell) && self.may_take(peer, 1) {
                self.hand_out(segment, cell, peer);
                return Some(cell);
            }
        }
        None
    }

    /// Whether the peer may keep a cell.
    fn lend(&mut self, cell: u32, peer: Peer) -> bool {
        let may =
            self.lent.count_ones() < self.lent_max && self.lent_to[peer as usize] < self.lent_per_peer_max;
        if may {
            self.lent |= 1 << cell;
            self.lent_to[peer as usize] += 1;
        }
        may
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

    /// The next one in turn. Those that are lent have none.
    fn next(&self) -> u32 {
        let turns = self.count.min(CELLS_IN_TURN + self.lent.count_ones());
        let after = |cell: u32| if cell + 1 < turns { cell + 1 } else { 0 };
        let mut cell = after(self.hot);
        for _ in 0..turns {
            if self.lent >> cell & 1 == 0 {
                break;
            }
            cell = after(cell);
        }
        cell
    }

    fn hand_out(&mut self, segment: &Segment, cell: u32, peer: Peer) {
        segment.cell_line(self.owner, cell).state.store(CELL_BUSY, Ordering::Relaxed);
        self.busy |= 1 << cell;
        self.hot = cell;
        self.holder[cell as usize] = peer;
        self.held[peer as usize] += 1;
    }

    /// All of a cell of a message from a peer has been copied out.
    #[inline]
    pub(crate) fn emptied(&mut self, segment: &Segment, from: Peer, name: CellName) {
        if name.is_receivers() {
            return self.come_back(from, name.cell());
        }
        if !name.is_lent() {
            return free(segment, from, name.cell());
        }
        if self.kept.len() == CELLS_KEPT_MAX {
            let (owner, cell) = self.kept.remove(0);
            free(segment, owner, cell);
        }
        self.kept.push((from, name.cell()));
    }

    /// A peer has used a cell that it had kept. It may only name one of those.
    fn come_back(&mut self, from: Peer, cell: u32) {
        let is_lent = self.lent >> cell & 1 != 0 && self.holder[cell as usize] == from;
        if is_lent {
            self.seen_free(cell);
            self.returned.push(cell);
        }
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
            self.seen_free(cell);
        }
    }

    fn seen_free(&mut self, cell: u32) {
        let holder = self.holder[cell as usize] as usize;
        self.busy &= !(1 << cell);
        self.held[holder] -= 1;
        if self.lent >> cell & 1 != 0 {
            self.lent &= !(1 << cell);
            self.lent_to[holder] -= 1;
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

/// Gives a cell back to its owner.
fn free(segment: &Segment, owner: Peer, cell: u32) {
    segment.cell_line(owner, cell).state.store(CELL_FREE, Ordering::Release);
}

#[cfg(test)]
mod tests;
