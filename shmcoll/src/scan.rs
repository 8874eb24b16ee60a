//! Scans. Operands are combined in the order of the ranks, so the operation may be any.
//!
//! Nobody needs what higher ranks have: these ways are eager steps, in which the low ranks go on. What fits beside a flag, and what is
//! long, goes from rank to rank, the latter piece by piece. What lies in between is laid out by all, and each rank combines what lies
//! below it; among many ranks that would be too much work, so all synchronize, and who comes last combines for all.

use crate::direct::part;
use crate::limits::{SHM_REDUCE_BYTES_MAX, SHM_SCAN_EACH_RANKS_MAX};
use crate::reduce::step_of;
use crate::{CallHost, CallResult, NO_PAYLOAD, Operand, ShmCall, payload_of};
use tern_coll::{Span, TypedCount};
use tern_mem::UserBuf;
use tern_shm::{EagerStep, ShmComm};

/// Bytes that go from rank to rank at once: a rank reads one half of an eager slot and writes the other.
const PIECE_BYTES: usize = ShmComm::EAGER_SLOT_BYTES / 2;

/// Which operands a rank gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScanReach {
    /// Its own and all below (`MPI_Scan`).
    Inclusive,
    /// All below its own (`MPI_Exscan`); of rank 0 the receive buffer is not touched.
    Exclusive,
}

use ScanReach::Inclusive;

/// The arguments of one call at one rank.
struct Scan {
    own: UserBuf,
    result: UserBuf,
    count: u64,
    bytes: usize,
    reach: ScanReach,
}

impl<S: CallHost> ShmCall<'_, S> {
    pub(crate) fn scan(&mut self, data: TypedCount, in_place: bool, reach: ScanReach) -> CallResult {
        let (own, result, bytes) = (data.operand(in_place), data.in_recv(), data.bytes() as usize);
        let few = self.size() <= SHM_SCAN_EACH_RANKS_MAX;
        if Self::fits_flag_payload(bytes) {
            self.scan_payloads(&self.scan_of(own, result, reach))
        } else if few && step_of(bytes) * self.size() <= ShmComm::EAGER_SLOT_BYTES {
            self.scan_slot(&self.scan_of(own, result, reach))
        } else if bytes <= SHM_REDUCE_BYTES_MAX {
            self.scan_sync_buffer(&self.scan_of(own, result, reach))
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

    fn scan_of(&self, own: Span, result: Span, reach: ScanReach) -> Scan {
        let (bytes, count) = (own.bytes() as usize, own.count);
        Scan { own: self.buffer(own), result: self.buffer(result), count, bytes, reach }
    }

    fn is_highest(&self) -> bool {
        self.me() + 1 == self.size()
    }

    /// Sums travel from rank to rank in the lines of the flags. That is one line for each rank to read: if each read those of all ranks
    /// below, the last would not have its own sum sooner, and calls in a row would take as much longer as there are ranks. Without a slot,
    /// the low ranks may be many calls ahead: where ranks share cores, each wait for a higher one is a change of core for all of them.
    fn scan_payloads(&mut self, scan: &Scan) -> CallResult {
        let eager = self.shm_comm.begin_eager_payload();
        if !self.is_highest() {
            self.free(eager)?;
        }
        let (mut sum, mut below) = (payload_of(&scan.own, 0, scan.bytes), None);
        if let Some(before) = self.shm_comm.rank().checked_sub(1) {
            self.wait(self.shm_comm.contributed(eager, before))?;
            let mut left = self.shm_comm.contributed_payload(eager, before);
            below = Some(left);
            self.host.combine(Operand::payload(&mut left), Operand::payload(&mut sum), scan.count);
        }
        if !self.is_highest() {
            self.shm_comm.contribute(eager, &sum);
        }
        self.shm_comm.end_eager(eager);
        let result = if scan.reach == Inclusive { Some(sum) } else { below };
        if let Some(result) = result {
            scan.result.write(0, &result[..scan.bytes]);
        }
        Ok(())
    }

    /// Operands lie side by side in an eager slot.
    fn scan_slot(&mut self, scan: &Scan) -> CallResult {
        let (eager, step) = (self.begin_eager_writing()?, step_of(scan.bytes));
        let slot = self.shm_comm.eager_slot(eager);
        if !self.is_highest() {
            self.host.copy(&scan.own, 0, slot.buf(), self.me() * step, scan.bytes);
            self.shm_comm.contribute(eager, &NO_PAYLOAD);
        }
        let mut is_begun = scan.reach == Inclusive;
        if is_begun {
            self.host.copy(&scan.own, 0, &scan.result, 0, scan.bytes);
        }
        for rank in (0..self.me()).rev() {
            self.wait(self.shm_comm.contributed(eager, rank as u32))?;
            match is_begun {
                true => {
                    let left = Operand::within(&slot, rank * step, scan.bytes);
                    self.host.combine(left, Operand::of(&scan.result), scan.count);
                }
                false => self.host.copy(slot.buf(), rank * step, &scan.result, 0, scan.bytes),
            }
            is_begun = true;
        }
        self.shm_comm.end_eager(eager);
        Ok(())
    }

    /// Operands lie side by side in the sync buffer, and become results there.
    fn scan_sync_buffer(&mut self, scan: &Scan) -> CallResult {
        let (sync, step) = (self.begin_sync_writing()?, step_of(scan.bytes));
        let area = self.shm_comm.sync_buffer(sync);
        area.will_write(self.me() * step, scan.bytes);
        self.host.copy(&scan.own, 0, area.buf(), self.me() * step, scan.bytes);
        self.all_come_after(sync, || {
            for rank in 1..self.size() {
                let place = |rank| Operand::within(&area, rank * step, scan.bytes);
                self.host.combine(place(rank - 1), place(rank), scan.count);
            }
        })?;
        let from = if scan.reach == Inclusive { Some(self.me()) } else { self.me().checked_sub(1) };
        if let Some(from) = from {
            self.host.copy(area.buf(), from * step, &scan.result, 0, scan.bytes);
        }
        Ok(())
    }

    /// A piece goes from each rank to the next, which combines it with its own.
    fn scan_piece(&mut self, scan: &Scan) -> CallResult {
        let me = self.me();
        // Who gets something from below knows by it that the eager slot is free.
        let eager = if me == 0 { self.begin_eager_writing()? } else { self.shm_comm.begin_eager() };
        if me == 0 {
            self.begin_piece(eager, scan);
        } else {
            self.wait(self.shm_comm.contributed(eager, me as u32 - 1))?;
            self.add_to_piece(eager, scan);
        }
        self.shm_comm.end_eager(eager);
        Ok(())
    }

    fn begin_piece(&self, eager: EagerStep, scan: &Scan) {
        self.host.copy(&scan.own, 0, self.shm_comm.eager_slot(eager).buf(), 0, scan.bytes);
        self.shm_comm.contribute(eager, &NO_PAYLOAD);
        if scan.reach == Inclusive {
            self.host.copy(&scan.own, 0, &scan.result, 0, scan.bytes);
        }
    }

    fn add_to_piece(&self, eager: EagerStep, scan: &Scan) {
        let slot = self.shm_comm.eager_slot(eager);
        let place = |rank: usize| rank % 2 * PIECE_BYTES;
        let (before, after) = (place(self.me() - 1), place(self.me()));
        let (left, own) = (Operand::within(&slot, before, scan.bytes), Operand::of(&scan.own));
        if scan.reach == Inclusive {
            self.host.combine_into(left, own, Operand::of(&scan.result), scan.count);
            if !self.is_highest() {
                self.host.copy(&scan.result, 0, slot.buf(), after, scan.bytes);
            }
        } else {
            if !self.is_highest() {
                let sum = Operand::within(&slot, after, scan.bytes);
                self.host.combine_into(left, own, sum, scan.count);
            }
            self.host.copy(slot.buf(), before, &scan.result, 0, scan.bytes);
        }
        if !self.is_highest() {
            self.shm_comm.contribute(eager, &NO_PAYLOAD);
        }
    }
}
