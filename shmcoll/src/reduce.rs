//! Reductions. Operands are combined in an order that depends on nothing but the rank and the place in the buffer: every
//! run gives the same bits, for every root.

use crate::direct::{Fetch, part};
use crate::limits::SHM_FETCH_BYTES_MIN;
use crate::{CallHost, CallResult, NO_PAYLOAD, Operand, ShmCall, payload_of, whole_lines};
use tern_coll::{Span, TypedCount};
use tern_mem::UserBuf;
use tern_shm::limits::LINE_BYTES;
use tern_shm::shm_comm::FlagPayload;
use tern_shm::{Area, EagerStep, ShmComm, SyncStep};

/// The operands of one call.
struct ReduceOperands {
    own: UserBuf,
    bytes: usize,
    count: u64,
}

impl<S: CallHost> ShmCall<'_, S> {
    fn operands(&self, data: TypedCount, in_place: bool) -> ReduceOperands {
        ReduceOperands {
            own: self.buffer(data.operand(in_place)),
            bytes: data.bytes() as usize,
            count: data.count,
        }
    }

    /// Combines what lies side by side, each at a multiple of `step`, from the last to the first into the last.
    fn combine_all(&self, area: &Area<'_>, step: usize, operands: &ReduceOperands) -> usize {
        let last = (self.size() - 1) * step;
        for rank in (0..self.size() - 1).rev() {
            let (left, right) = (
                Operand::within(area, rank * step, operands.bytes),
                Operand::within(area, last, operands.bytes),
            );
            self.host.combine(left, right, operands.count);
        }
        last
    }
}

/// To all.
impl<S: CallHost> ShmCall<'_, S> {
    pub(crate) fn allreduce(&mut self, data: TypedCount, in_place: bool) -> CallResult {
        let operands = self.operands(data, in_place);
        let result = self.buffer(data.in_recv());
        if self.size() == 2 && self.reduce_pair(&operands, &result)? {
            return Ok(());
        }
        let (sync, step) = (self.begin_sync_writing()?, step_of(operands.bytes));
        let area = self.shm_comm.sync_buffer(sync);
        let place = self.me() * step;
        area.will_write(place, operands.bytes);
        self.host.copy(&operands.own, 0, area.buf(), place, operands.bytes);
        if self.size() == 2 {
            self.all_come(sync)?;
            let place = |at| Operand::within(&area, at, operands.bytes);
            let result = Operand::of(&result);
            self.host.combine_into(place(0), place(step), result, operands.count);
            return Ok(());
        }
        let last = (self.size() - 1) * step;
        self.all_come_after(sync, || {
            self.combine_all(&area, step, &operands);
        })?;
        self.host.copy(area.buf(), last, &result, 0, operands.bytes);
        Ok(())
    }

    /// Each of two ranks gets the other's operands and combines. False if another way is better, or the only one.
    fn reduce_pair(&mut self, operands: &ReduceOperands, result: &UserBuf) -> CallResult<bool> {
        let (other, place) = (self.other(), self.me() * step_of(operands.bytes));
        // This rank's own place in a sync buffer, once both have come to a sync step that needs none: what was there
        // has been read, and nobody else writes there.
        let theirs = self.shm_comm.scratch().part(place, operands.bytes);
        if self.swaps(operands.bytes) {
            self.swap((&operands.own, 0, operands.bytes), (&theirs, 0, operands.bytes))?;
        } else if operands.bytes < SHM_FETCH_BYTES_MIN || !self.fetch_operands(operands, &theirs)? {
            return Ok(false);
        }
        let (own, theirs) = (Operand::of(&operands.own), Operand::of(&theirs));
        let (left, right) = if other == 1 { (own, theirs) } else { (theirs, own) };
        self.host.combine_into(left, right, Operand::of(result), operands.count);
        Ok(true)
    }

    fn fetch_operands(&mut self, operands: &ReduceOperands, into: &UserBuf) -> CallResult<bool> {
        self.fetch_all(Some(&operands.own), |_| Fetch { offset: 0, into: into.clone() })
    }
}

/// To the root.
impl<S: CallHost> ShmCall<'_, S> {
    pub(crate) fn reduce(&mut self, data: TypedCount, in_place: bool, root: u32) -> CallResult {
        let is_root = self.shm_comm.rank() == root;
        let operands = self.operands(data, in_place && is_root);
        if Self::fits_flag_payload(operands.bytes) {
            return match is_root {
                true => self.reduce_contributions(&operands, &self.buffer(data.in_recv())),
                false => self.contribute_payload(&operands),
            };
        }
        let (own, result) = (data.operand(in_place && is_root), data.in_recv());
        let most = whole_lines(ShmComm::EAGER_SLOT_BYTES / self.size()) as u64 / data.layout.size;
        for first in (0..data.count).step_by(most as usize) {
            let count = most.min(data.count - first);
            let own = part(own, first, count);
            let operands = ReduceOperands { own: self.buffer(own), bytes: own.bytes() as usize, count };
            match is_root {
                true => self.reduce_slot(&operands, &self.buffer(part(result, first, count)))?,
                false => self.contribute_operands(&operands)?,
            }
        }
        Ok(())
    }

    fn contribute_payload(&mut self, operands: &ReduceOperands) -> CallResult {
        let eager = self.begin_eager_writing()?;
        self.shm_comm.contribute(eager, &payload_of(&operands.own, 0, operands.bytes));
        self.shm_comm.end_eager(eager);
        Ok(())
    }

    fn contribute_operands(&mut self, operands: &ReduceOperands) -> CallResult {
        let (eager, step) = (self.begin_eager_writing()?, step_of(operands.bytes));
        let slot = self.shm_comm.eager_slot(eager);
        self.host.copy(&operands.own, 0, slot.buf(), self.me() * step, operands.bytes);
        self.shm_comm.contribute(eager, &NO_PAYLOAD);
        self.shm_comm.end_eager(eager);
        Ok(())
    }

    fn reduce_contributions(&mut self, operands: &ReduceOperands, result: &UserBuf) -> CallResult {
        let eager = self.shm_comm.begin_eager();
        let mut sum: Option<FlagPayload> = None;
        for rank in (0..self.shm_comm.size()).rev() {
            let mut left = self.contribution_of(eager, rank, operands)?;
            if let Some(mut right) = sum {
                self.host.combine(Operand::payload(&mut left), Operand::payload(&mut right), operands.count);
                left = right;
            }
            sum = Some(left);
        }
        result.write(0, &sum.unwrap_or(NO_PAYLOAD)[..operands.bytes]);
        self.shm_comm.end_eager(eager);
        Ok(())
    }

    fn contribution_of(
        &self,
        eager: EagerStep,
        rank: u32,
        operands: &ReduceOperands,
    ) -> CallResult<FlagPayload> {
        if rank == self.shm_comm.rank() {
            return Ok(payload_of(&operands.own, 0, operands.bytes));
        }
        self.wait(self.shm_comm.contributed(eager, rank))?;
        Ok(self.shm_comm.contributed_payload(eager, rank))
    }

    fn reduce_slot(&mut self, operands: &ReduceOperands, result: &UserBuf) -> CallResult {
        let (eager, step) = (self.begin_eager_writing()?, step_of(operands.bytes));
        let slot = self.shm_comm.eager_slot(eager);
        self.host.copy(&operands.own, 0, slot.buf(), self.me() * step, operands.bytes);
        for rank in (0..self.shm_comm.size()).filter(|&rank| rank != self.shm_comm.rank()) {
            self.wait(self.shm_comm.contributed(eager, rank))?;
        }
        let last = self.combine_all(&slot, step, operands);
        self.host.copy(slot.buf(), last, result, 0, operands.bytes);
        self.shm_comm.end_eager(eager);
        Ok(())
    }
}

/// Of many bytes.
impl<S: CallHost> ShmCall<'_, S> {
    /// The sync buffer holds one set of operands, in as many slices as there are ranks. Slice `s` is written by rank `s`; the
    /// ranks after it, in a ring, add theirs one after the other: so all work at the same time, each reads its operands once,
    /// and they need not be copied before.
    pub(crate) fn accumulate(&mut self, data: TypedCount, in_place: bool, root: Option<u32>) -> CallResult {
        let takes = root.is_none_or(|root| root == self.shm_comm.rank());
        let own = data.operand(in_place && takes);
        let room = (ShmComm::SYNC_BUFFER_BYTES as u64 / data.layout.size).max(1);
        for first in (0..data.count).step_by(room as usize) {
            let count = room.min(data.count - first);
            let result = takes.then(|| part(data.in_recv(), first, count));
            self.accumulate_round(part(own, first, count), result)?;
        }
        Ok(())
    }

    fn accumulate_round(&mut self, own: Span, result: Option<Span>) -> CallResult {
        let sync = self.begin_sync_writing()?;
        let (me, size) = (self.shm_comm.rank(), self.shm_comm.size());
        let slices = Slices { count: own.count, size };
        for turn in 0..size {
            let slice = (me + size - turn) % size;
            if turn > 0 {
                // Rank `slice + turn - 1` had it before: in the ring, the one before this.
                self.wait(self.shm_comm.turn(sync, slice, turn, (me + size - 1) % size))?;
            }
            self.add_to(sync, slices.of(slice), own, turn == 0);
            self.shm_comm.pass_turn(sync, slice, turn + 1);
        }
        // The last turn comes after those of all others.
        self.shm_comm.all_have_come();
        let Some(result) = result else { return Ok(()) };
        for slice in (1..=size).map(|step| (me + step) % size) {
            self.wait(self.shm_comm.turn(sync, slice, size, (slice + size - 1) % size))?;
            let (first, count) = slices.of(slice);
            let into = self.buffer(part(result, first, count));
            let at = (first * own.layout.size) as usize;
            self.host.copy(self.shm_comm.sync_buffer(sync).buf(), at, &into, 0, into.len());
        }
        Ok(())
    }

    fn add_to(&self, sync: SyncStep, (first, count): (u64, u64), own: Span, is_first: bool) {
        let from = self.buffer(part(own, first, count));
        let (area, at) = (self.shm_comm.sync_buffer(sync), (first * own.layout.size) as usize);
        if count == 0 {
            return;
        }
        match is_first {
            true => self.host.copy(&from, 0, area.buf(), at, from.len()),
            false => {
                let sum = Operand::within(&area, at, from.len());
                self.host.combine(Operand::of(&from), sum, count);
            }
        }
    }
}

/// How a number of elements is divided among the ranks, in whole cache lines.
struct Slices {
    count: u64,
    size: u32,
}

impl Slices {
    /// First element and number of elements of a slice.
    fn of(&self, slice: u32) -> (u64, u64) {
        // So many elements of any size are whole lines.
        let len = self.count.div_ceil(u64::from(self.size)).next_multiple_of(LINE_BYTES as u64);
        let first = (u64::from(slice) * len).min(self.count);
        (first, len.min(self.count - first))
    }
}

/// Whole cache lines for so many bytes.
pub(crate) fn step_of(bytes: usize) -> usize {
    bytes.next_multiple_of(LINE_BYTES)
}
