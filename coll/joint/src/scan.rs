//! Scans. Operands are combined in the order of the ranks, so the operation may be any.
//!
//! Nobody needs what higher ranks have: these ways are handovers, in which the low ranks go on. Little data are laid out by all, and
//! each rank combines what lies below it; much goes from rank to rank, piece by piece. In between, and among many ranks, that would
//! be too much work or too many turns, so all meet, and who comes last combines for all.

use crate::direct::part;
use crate::limits::{JOINT_REDUCE_BYTES_MAX, JOINT_SCAN_EACH_RANKS_MAX};
use crate::reduce::step_of;
use crate::{Joint, NO_NOTE, Operand, Result, Site, note_of};
use tern_coll::{Data, Span};
use tern_mem::UserBuf;
use tern_transport::shm::team::Note;
use tern_transport::{Handover, Team};

/// Bytes that go from rank to rank at once: a rank reads one half of a tray and writes the other.
const PIECE_BYTES: usize = Team::TRAY_BYTES / 2;

/// Which operands a rank gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// Its own and all below (`MPI_Scan`).
    Inclusive,
    /// All below its own (`MPI_Exscan`); of rank 0 the receive buffer is not touched.
    Exclusive,
}

use Reach::Inclusive;

/// The arguments of one call at one rank.
struct Scan {
    own: UserBuf,
    result: UserBuf,
    count: u64,
    bytes: usize,
    reach: Reach,
}

impl<S: Site> Joint<'_, S> {
    pub(crate) fn scan(&mut self, data: Data, in_place: bool, reach: Reach) -> Result {
        let (own, result, bytes) = (data.operand(in_place), data.in_recv(), data.bytes() as usize);
        let few = self.size() <= JOINT_SCAN_EACH_RANKS_MAX;
        if few && Self::fits_note(bytes) {
            self.scan_notes(&self.scan_of(own, result, reach))
        } else if few && step_of(bytes) * self.size() <= Team::TRAY_BYTES {
            self.scan_tray(&self.scan_of(own, result, reach))
        } else if bytes <= JOINT_REDUCE_BYTES_MAX {
            self.scan_table(&self.scan_of(own, result, reach))
        } else {
            let most = PIECE_BYTES as u64 / data.layout.size;
            for first in (0..data.count).step_by(most as usize) {
                let count = most.min(data.count - first);
                let (own, result) = (part(own, first, count), part(result, first, count));
                self.scan_piece(&self.scan_of(own, result, reach))?;
            }
            Ok(())
        }
    }

    fn scan_of(&self, own: Span, result: Span, reach: Reach) -> Scan {
        let (bytes, count) = (own.bytes() as usize, own.count);
        Scan { own: self.buffer(own), result: self.buffer(result), count, bytes, reach }
    }

    fn is_highest(&self) -> bool {
        self.me() + 1 == self.size()
    }

    /// Operands travel in the lines of the flags.
    fn scan_notes(&mut self, scan: &Scan) -> Result {
        let handover = self.hand_over_writing()?;
        let own = note_of(&scan.own, 0, scan.bytes);
        if !self.is_highest() {
            self.team.offer(handover, &own);
        }
        let mut sum: Option<Note> = (scan.reach == Inclusive).then_some(own);
        for rank in (0..self.team.rank()).rev() {
            self.wait(self.team.offered(handover, rank))?;
            let mut left = self.team.offer_of(handover, rank);
            if let Some(mut right) = sum {
                self.site.combine(Operand::note(&mut left), Operand::note(&mut right), scan.count);
                left = right;
            }
            sum = Some(left);
        }
        self.team.end(handover);
        if let Some(sum) = sum {
            scan.result.write(0, &sum[..scan.bytes]);
        }
        Ok(())
    }

    /// Operands lie side by side in a tray.
    fn scan_tray(&mut self, scan: &Scan) -> Result {
        let (handover, step) = (self.hand_over_writing()?, step_of(scan.bytes));
        let tray = self.team.tray(handover);
        if !self.is_highest() {
            self.site.copy(&scan.own, 0, tray.buf(), self.me() * step, scan.bytes);
            self.team.offer(handover, &NO_NOTE);
        }
        let mut is_begun = scan.reach == Inclusive;
        if is_begun {
            self.site.copy(&scan.own, 0, &scan.result, 0, scan.bytes);
        }
        for rank in (0..self.me()).rev() {
            self.wait(self.team.offered(handover, rank as u32))?;
            match is_begun {
                true => {
                    let left = Operand::within(&tray, rank * step, scan.bytes);
                    self.site.combine(left, Operand::of(&scan.result), scan.count);
                }
                false => self.site.copy(tray.buf(), rank * step, &scan.result, 0, scan.bytes),
            }
            is_begun = true;
        }
        self.team.end(handover);
        Ok(())
    }

    /// Operands lie side by side in the table, and become results there.
    fn scan_table(&mut self, scan: &Scan) -> Result {
        let (meeting, step) = (self.meet_writing()?, step_of(scan.bytes));
        let table = self.team.table(meeting);
        table.will_write(self.me() * step, scan.bytes);
        self.site.copy(&scan.own, 0, table.buf(), self.me() * step, scan.bytes);
        self.all_come_after(meeting, || {
            for rank in 1..self.size() {
                let place = |rank| Operand::within(&table, rank * step, scan.bytes);
                self.site.combine(place(rank - 1), place(rank), scan.count);
            }
        })?;
        let from = if scan.reach == Inclusive { Some(self.me()) } else { self.me().checked_sub(1) };
        if let Some(from) = from {
            self.site.copy(table.buf(), from * step, &scan.result, 0, scan.bytes);
        }
        Ok(())
    }

    /// A piece goes from each rank to the next, which combines it with its own.
    fn scan_piece(&mut self, scan: &Scan) -> Result {
        let me = self.me();
        // Who gets something from below knows by it that the tray is free.
        let handover = if me == 0 { self.hand_over_writing()? } else { self.team.hand_over() };
        if me == 0 {
            self.begin_piece(handover, scan);
        } else {
            self.wait(self.team.offered(handover, me as u32 - 1))?;
            self.add_to_piece(handover, scan);
        }
        self.team.end(handover);
        Ok(())
    }

    fn begin_piece(&self, handover: Handover, scan: &Scan) {
        self.site.copy(&scan.own, 0, self.team.tray(handover).buf(), 0, scan.bytes);
        self.team.offer(handover, &NO_NOTE);
        if scan.reach == Inclusive {
            self.site.copy(&scan.own, 0, &scan.result, 0, scan.bytes);
        }
    }

    fn add_to_piece(&self, handover: Handover, scan: &Scan) {
        let tray = self.team.tray(handover);
        let place = |rank: usize| rank % 2 * PIECE_BYTES;
        let (before, after) = (place(self.me() - 1), place(self.me()));
        let (left, own) = (Operand::within(&tray, before, scan.bytes), Operand::of(&scan.own));
        if scan.reach == Inclusive {
            self.site.combine_into(left, own, Operand::of(&scan.result), scan.count);
            if !self.is_highest() {
                self.site.copy(&scan.result, 0, tray.buf(), after, scan.bytes);
            }
        } else {
            if !self.is_highest() {
                let sum = Operand::within(&tray, after, scan.bytes);
                self.site.combine_into(left, own, sum, scan.count);
            }
            self.site.copy(tray.buf(), before, &scan.result, 0, scan.bytes);
        }
        if !self.is_highest() {
            self.team.offer(handover, &NO_NOTE);
        }
    }
}
