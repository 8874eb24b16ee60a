//! Reductions whose result is scattered, block by block in the order of the ranks.

use crate::limits::SHM_SCATTERED_BYTES_MAX;
use crate::method::VectorBlocks;
use crate::reduce::step_of;
use crate::{CallHost, CallResult, Operand, ShmCall, payload_of, whole_lines};
use tern_coll::{Slice, TypeLayout};
use tern_shm::{ShmComm, SyncStep};

/// A part of each block, counted in elements.
#[derive(Clone, Copy)]
struct BlockPart {
    first: u64,
    count: u64,
    layout: TypeLayout,
}

impl BlockPart {
    /// This part of a block, which may have less or nothing of it.
    fn of(&self, block: &Slice) -> Slice {
        let first = self.first.min(block.count);
        let offset = block.offset + first as i64 * self.layout.extent;
        Slice { offset, count: self.count.min(block.count - first), ..*block }
    }

    /// Bytes that it has at most.
    fn bytes(&self) -> usize {
        (self.count * self.layout.size) as usize
    }
}

impl<S: CallHost> ShmCall<'_, S> {
    /// `longest` is the number of elements of the longest block.
    pub(crate) fn reduce_scatter(
        &mut self,
        layout: TypeLayout,
        longest: u64,
        in_place: bool,
        blocks: &VectorBlocks,
    ) -> CallResult {
        let count: u64 = blocks.to.iter().map(|block| block.count).sum();
        if self.size() == 2 {
            return self.scatter_payloads(blocks);
        }
        let whole = Slice { count, ..blocks.to[0] };
        let bytes = (count * layout.size) as usize;
        if bytes <= SHM_SCATTERED_BYTES_MAX && step_of(bytes) * self.size() <= ShmComm::SYNC_BUFFER_BYTES {
            return self.scatter_whole(&whole, blocks);
        }
        let room = whole_lines(ShmComm::SYNC_BUFFER_BYTES / self.size()) as u64 / layout.size;
        for first in (0..longest).step_by(room as usize) {
            self.scatter_in_turns(BlockPart { first, count: room, layout }, in_place, blocks)?;
        }
        Ok(())
    }

    /// Two ranks tell each other what the other needs.
    fn scatter_payloads(&mut self, blocks: &VectorBlocks) -> CallResult {
        let (sync, other) = (self.shm_comm.begin_sync(), self.other());
        let [mine, theirs] = [self.me(), other as usize].map(|rank| self.host.buffer(&blocks.to[rank]));
        self.shm_comm.post(sync, &payload_of(&theirs, 0, theirs.len()));
        let mut own = payload_of(&mine, 0, mine.len());
        self.after_post(sync)?;
        let mut told = self.shm_comm.posted_payload(sync, other);
        let (left, right) = if other == 1 { (&mut own, &mut told) } else { (&mut told, &mut own) };
        self.host.combine(Operand::payload(left), Operand::payload(right), blocks.from[0].count);
        self.host.buffer(&blocks.from[0]).write(0, &right[..mine.len()]);
        Ok(())
    }

    /// All operands lie side by side in the sync buffer; who comes last combines them, and each rank takes its block.
    fn scatter_whole(&mut self, whole: &Slice, blocks: &VectorBlocks) -> CallResult {
        let own = self.host.buffer(whole);
        let (sync, bytes, step) = (self.begin_sync_writing()?, own.len(), step_of(own.len()));
        let area = self.shm_comm.sync_buffer(sync);
        let (place, last) = (self.me() * step, (self.size() - 1) * step);
        area.will_write(place, bytes);
        self.host.copy(&own, 0, area.buf(), place, bytes);
        self.all_come_after(sync, || {
            for rank in (0..self.size() - 1).rev() {
                let (left, right) =
                    (Operand::within(&area, rank * step, bytes), Operand::within(&area, last, bytes));
                self.host.combine(left, right, whole.count);
            }
        })?;
        let result = self.host.buffer(&blocks.from[0]);
        let at = (blocks.to[self.me()].offset - whole.offset) as usize;
        self.host.copy(area.buf(), last + at, &result, 0, result.len());
        Ok(())
    }

    /// The sync buffer holds one part of each block. Each rank adds its operands to one block after the other, in a ring that ends with
    /// its own: so all work at the same time, and operands need not be copied before.
    ///
    /// In place, a result may come to lie upon operands of other blocks, but only on those of this part and the ones before, to
    /// which this rank has added already.
    fn scatter_in_turns(&mut self, part: BlockPart, in_place: bool, blocks: &VectorBlocks) -> CallResult {
        let sync = self.begin_sync_writing()?;
        let (me, size) = (self.shm_comm.rank(), self.shm_comm.size());
        for turn in 0..size {
            let block = (me + size - 1 - turn) % size;
            if turn > 0 {
                self.wait(self.shm_comm.turn(sync, block, turn, (me + size - 1) % size))?;
            }
            let at = block as usize * part.bytes();
            let own = part.of(&blocks.to[block as usize]);
            if block == me {
                self.finish_block(sync, at, &own, &part.of(&blocks.from[0]), in_place);
                // Its turns went round all ranks.
                self.shm_comm.all_have_come();
                break;
            }
            self.add_to_block(sync, at, &own, turn == 0);
            self.shm_comm.pass_turn(sync, block, turn + 1);
        }
        Ok(())
    }

    fn add_to_block(&self, sync: SyncStep, at: usize, own: &Slice, is_first: bool) {
        let (from, area) = (self.host.buffer(own), self.shm_comm.sync_buffer(sync));
        match is_first {
            true => self.host.copy(&from, 0, area.buf(), at, from.len()),
            false => {
                let sum = Operand::within(&area, at, from.len());
                self.host.combine(Operand::of(&from), sum, own.count);
            }
        }
    }

    fn finish_block(&self, sync: SyncStep, at: usize, own: &Slice, result: &Slice, in_place: bool) {
        let (from, area) = (self.host.buffer(own), self.shm_comm.sync_buffer(sync));
        let (result, sum) = (self.host.buffer(result), Operand::within(&area, at, from.len()));
        if in_place {
            // Operands and result may overlap.
            self.host.combine(Operand::of(&from), sum, own.count);
            self.host.copy(area.buf(), at, &result, 0, from.len());
        } else {
            self.host.combine_into(Operand::of(&from), sum, Operand::of(&result), own.count);
        }
    }
}
