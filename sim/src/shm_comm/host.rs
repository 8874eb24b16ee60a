//! A rank's call: where its buffers are, and what moving and combining them costs.

use super::lines::PricedLines;
use super::scheduler::Scheduler;
use super::{moves_bytes, share_of};
use crate::definition;
use crate::memory::{SimulatedMemory, contents};
use crate::params::{Costs, Distance, Params, Price};
use crate::program::RankProgram;
use crate::{Picos, picos};
use std::sync::{Mutex, PoisonError};
use tern_coll::Slice;
use tern_mem::UserBuf;
use tern_shm::limits::LINE_BYTES;
use tern_shm::{Mismatch, ShmComm, ShmWatch};
use tern_shmcoll::{CallHost, Operand};
use tern_transport::Remote;

/// One rank.
pub(super) struct ShmRank<'a> {
    rank: u32,
    scheduler: &'a Scheduler,
    memory: &'a Mutex<SimulatedMemory>,
    element_bytes: u64,
    /// Bytes that a call moves at a rank: what is no longer in a cache before the next call comes.
    call_bytes: u64,
    prices: WorkPrices,
    /// Bytes are moved.
    real: bool,
}

/// What its work costs.
struct WorkPrices {
    /// The first line of data that comes from another core.
    first_line: Picos,
    /// Bytes whose lines another core has, written and read.
    store: Price,
    load: Price,
    copy: Price,
    reduce: Price,
    get: Picos,
    get_bytes: Price,
    can_get: bool,
}

impl<'a> ShmRank<'a> {
    /// A rank of a job.
    pub(super) fn new(
        rank: u32,
        scheduler: &'a Scheduler,
        params: &Params,
        program: &'a RankProgram,
        memory: &'a Mutex<SimulatedMemory>,
    ) -> ShmRank<'a> {
        let costs = Costs::of(&params.levels[Distance::Host as usize], params.compute.cache_bytes);
        let prices = WorkPrices {
            first_line: picos(params.shm_comm.lines_ns),
            store: params.shm_comm.store(),
            load: params.shm_comm.load(),
            copy: params.compute.copy(),
            reduce: params.compute.reduce(),
            get: costs.get,
            get_bytes: costs.get_bytes,
            can_get: costs.limits.get,
        };
        let (real, element_bytes) = (moves_bytes(program.job()), program.element_bytes());
        ShmRank { rank, scheduler, memory, element_bytes, call_bytes: program.buffer_bytes(), prices, real }
    }

    /// Where memory lies in the shm communicator's data, if it does.
    fn place(&self, address: usize, bytes: usize) -> Option<usize> {
        let (base, len) = self.scheduler.data.as_contiguous()?;
        address.checked_sub(base).filter(|at| at + bytes <= len)
    }

    /// What it takes beyond the work itself that lines of the shared buffer come from another core, or go to it.
    fn read(&self, address: usize, bytes: usize) -> Picos {
        let Some(at) = self.place(address, bytes) else { return 0 };
        let (lines, is_first) = self.scheduler.read(self.rank, at, bytes);
        let first = if is_first { self.prices.first_line } else { 0 };
        first + bytes_of(lines, bytes, self.prices.load)
    }

    fn written(&self, address: usize, bytes: usize) -> Picos {
        let Some(at) = self.place(address, bytes) else { return 0 };
        bytes_of(self.scheduler.write(self.rank, at, bytes), bytes, self.prices.store)
    }

    /// What it takes that the kernel copies from or to another rank's memory.
    fn copies_by_kernel(&self, len: u64) {
        let bytes = share_of(self.prices.get_bytes, len, self.call_bytes.max(len));
        self.scheduler.got(self.rank, len);
        self.scheduler.charge(self.rank, self.prices.get + bytes);
    }

    fn reduces(&self, operands: [&Operand<'_>; 2], out: &Operand<'_>, count: u64) {
        let bytes = (count * self.element_bytes) as usize;
        let comes: Picos = operands.iter().map(|operand| self.read(operand.address().addr(), bytes)).sum();
        let goes = self.written(out.address().addr(), bytes);
        // A line that was read to be written is there already.
        let is_read = operands.iter().any(|operand| operand.address() == out.address());
        let moves = if is_read { comes.max(goes) } else { comes + goes };
        let work = share_of(self.prices.reduce, bytes as u64, self.call_bytes.max(bytes as u64));
        // While lines come, others that have come are combined.
        self.scheduler.charge(self.rank, moves.max(work));
    }

    fn sum(&self, left: &Operand<'_>, right: &Operand<'_>, out: &Operand<'_>, count: u64) {
        if !self.real {
            return;
        }
        let bytes = (count * self.element_bytes) as usize;
        let of = |operand: &Operand<'_>| contents(&operand.buf())[..bytes].to_vec();
        out.buf().write(0, &definition::sum(&of(left), &of(right), self.element_bytes));
    }
}

/// What lines cost of which some bytes are wanted.
fn bytes_of(lines: u64, bytes: usize, price: Price) -> Picos {
    price.of((lines * LINE_BYTES as u64).min(bytes as u64))
}

impl CallHost for ShmRank<'_> {
    type Lines = PricedLines;

    fn buffer(&self, slice: &Slice) -> UserBuf {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.buffer(self.rank, slice, self.element_bytes).expect("a call names memory that it has")
    }

    fn wait(&self, _: &ShmComm<PricedLines>, watch: ShmWatch, _: usize) -> Result<(), Mismatch> {
        self.scheduler.wait(self.rank, watch);
        Ok(())
    }

    fn copy(&self, from: &UserBuf, at: usize, into: &UserBuf, place: usize, len: usize) {
        let address = |buf: &UserBuf, at: usize| buf.as_contiguous().map_or(0, |(base, _)| base + at);
        let len = len.min(from.len().saturating_sub(at)).min(into.len().saturating_sub(place));
        let (comes, goes) = (self.read(address(from, at), len), self.written(address(into, place), len));
        let work = share_of(self.prices.copy, len as u64, self.call_bytes.max(len as u64));
        // A line that comes from another core, or goes, is copied meanwhile.
        self.scheduler.charge(self.rank, work.max(comes + goes));
        if self.real {
            UserBuf::copy(from, at, into, place, len);
        }
    }

    fn combine(&self, left: Operand<'_>, right: Operand<'_>, count: u64) {
        self.reduces([&left, &right], &right, count);
        self.sum(&left, &right, &right, count);
    }

    fn combine_into(&self, left: Operand<'_>, right: Operand<'_>, out: Operand<'_>, count: u64) {
        self.reduces([&left, &right], &out, count);
        self.sum(&left, &right, &out, count);
    }

    /// Each has a core of its own.
    fn is_crowded(&self) -> bool {
        false
    }

    fn has_fast_cells(&self) -> bool {
        false
    }

    fn can_get(&self, _: impl Iterator<Item = u32>) -> bool {
        self.prices.can_get
    }

    fn get(&self, rank: u32, from: Remote, into: &UserBuf) -> bool {
        self.copies_by_kernel(from.len);
        if self.real {
            let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
            memory.copy_from(rank, from, into);
        }
        true
    }

    fn put(&self, rank: u32, from: &UserBuf, into: Remote) -> bool {
        self.copies_by_kernel(into.len);
        if self.real {
            let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
            memory.copy_to(rank, from, into);
        }
        true
    }
}
