//! Short blocking collectives on elements of predefined types, over the memory that the ranks share.
//!
//! They take the steps that [`super::shm`] takes, with nothing prepared but what these need: no schedule, no types, no peers. Whatever is
//! not as simple answers `None` and goes the general way. So do wrong calls, of which that way tells. Ranks of one call may go
//! different ways: its mark and its method are the same on both (docs/decisions/0039-a-short-way-for-short-collectives.md).

use super::operation::Operation;
use super::reduce::Operands;
use super::running::{RunningCollective, count_call};
use super::setup::{Block, Blocks, numbers};
use super::shm::{self, Habits, Method, Remainder, VectorBlocks};
use super::told::Told;
use crate::core::arguments;
use crate::core::boundary::ChoiceBuf;
use crate::core::error::Result;
use crate::core::process::{LockGuard, enter};
use crate::core::wait::{CallNumber, Waiting};
use crate::limits::SHORT_COLLECTIVE_BYTES_MAX;
use std::cell::Cell;
use std::ffi::c_int;
use tern_abi::*;
use tern_coll::{
    Buf, CollectiveCall, CommView, Member, Root, Schedule, Slice, Span, Ty, TypeLayout, TypedCount, Vector,
    VectorTypes,
};
use tern_engine::RequestId;
use tern_mem::{Basic, UserBuf};
use tern_shm::shm_comm::SharedLines;
use tern_shm::{Mismatch, ShmComm, ShmWatch};
use tern_shmcoll::{CallHost, Mark, Operand};
use tern_transport::Remote;

/// A buffer of a call and the predefined type of its elements.
#[derive(Clone, Copy)]
pub(super) struct ShortBuffer {
    /// Its address.
    pub base: *mut u8,
    element_bytes: usize,
    datatype: MPI_Datatype,
}

impl ShortBuffer {
    /// Of a rank to which it means nothing.
    pub(super) const NONE: ShortBuffer =
        ShortBuffer { base: std::ptr::null_mut(), element_bytes: 0, datatype: MPI_DATATYPE_NULL };

    /// That of a block, or of one for each rank, and what is known of the one.
    #[inline(always)]
    pub(super) fn of(block: Block) -> Option<(ShortBuffer, TypedCount)> {
        let bytes = arguments::contiguous(block.buf, block.count, block.datatype)?.len();
        if bytes == 0 || bytes > SHORT_COLLECTIVE_BYTES_MAX {
            return None;
        }
        let element_bytes = Basic::contiguous_size(block.datatype.0)?;
        let data = TypedCount::new(block.count as u64, TypeLayout::contiguous(element_bytes as u64));
        Some((ShortBuffer { base: block.buf.bytes(), element_bytes, datatype: block.datatype }, data))
    }

    /// That of blocks of which `ranks` ranks have one each, which may all be empty. Together they are as long as one block at most.
    #[inline(always)]
    pub(super) fn of_blocks<'a>(blocks: &Blocks<'a>, ranks: u32) -> Option<(ShortBuffer, Vector<'a>)> {
        ShortBuffer::of_blocks_up_to(SHORT_COLLECTIVE_BYTES_MAX, blocks, ranks)
    }

    /// The same of at most so many bytes together.
    #[inline(always)]
    pub(super) fn of_blocks_up_to<'a>(
        bytes_max: usize,
        blocks: &Blocks<'a>,
        ranks: u32,
    ) -> Option<(ShortBuffer, Vector<'a>)> {
        let element_bytes = Basic::contiguous_size(blocks.datatype.0)?;
        let (counts, displs) = (numbers(blocks.counts, ranks).ok()?, numbers(blocks.displs, ranks).ok()?);
        let mut left = (bytes_max / element_bytes) as i64;
        for rank in 0..ranks as usize {
            let count = counts.get(rank);
            if count < 0 || count > left {
                return None;
            }
            left -= count;
        }
        if arguments::is_no_address(blocks.buf.address()) {
            return None;
        }
        let types = VectorTypes::One(TypeLayout::contiguous(element_bytes as u64));
        let buffer = ShortBuffer { base: blocks.buf.bytes(), element_bytes, datatype: blocks.datatype };
        Some((buffer, Vector { counts, displs, types }))
    }

    /// Whether it begins where `all` blocks do, or this rank's among them, at an offset in bytes: then the general way says what is wrong.
    #[inline(always)]
    pub(super) fn meets(&self, all: ShortBuffer, offset: i64) -> bool {
        self.base == all.base || self.base == all.base.wrapping_offset(offset as isize)
    }
}

/// A call on a communicator whose ranks share memory for data, while nothing is checked that such a call leaves out.
pub(super) struct ShortCall {
    /// The state, held.
    pub process: LockGuard,
    /// Its name.
    pub call: &'static str,
    /// The communicator.
    pub comm: MPI_Comm,
    /// This process's rank.
    pub rank: u32,
    /// How many ranks there are.
    pub size: u32,
}

impl ShortCall {
    /// Such a call; `None` if it is another.
    #[inline(always)]
    pub(super) fn on(call: &'static str, comm: MPI_Comm) -> Option<ShortCall> {
        let process = enter();
        if process.checks.types || process.checks.collectives || !process.coll.rows.is_empty() {
            return None;
        }
        let this = process.comm(comm).ok()?;
        let has_buffer = this.shm_comm.shm_comm().is_some_and(ShmComm::has_buffer);
        let (rank, size) = (this.rank, this.group.size());
        has_buffer.then_some(ShortCall { process, call, comm, rank, size })
    }

    /// The root, if there is such a rank.
    #[inline(always)]
    pub(super) fn root(&self, root: c_int) -> Option<u32> {
        u32::try_from(root).ok().filter(|&root| root < self.size)
    }

    /// Where this rank's of equal blocks begins, in bytes.
    #[inline(always)]
    pub(super) fn offset(&self, block: TypedCount) -> i64 {
        i64::from(self.rank) * block.bytes() as i64
    }

    /// Does what all ranks do of `what` over shared memory. It is in line, since then the compiler knows the collective.
    #[inline(always)]
    pub(super) fn go(
        self,
        what: &CollectiveCall,
        buffers: (ShortBuffer, ShortBuffer),
        operation: Option<Operation>,
    ) -> Option<Result> {
        self.go_on(what, buffers, operation, |_, _, rest| debug_assert!(rest.is_empty(), "nothing is left"))
    }

    /// The same, where the steps may leave something to messages: `plan` puts those into a schedule of bytes.
    #[inline(always)]
    pub(super) fn go_on(
        mut self,
        what: &CollectiveCall,
        (send, recv): (ShortBuffer, ShortBuffer),
        operation: Option<Operation>,
        plan: impl FnOnce(&mut Schedule, Member, Remainder),
    ) -> Option<Result> {
        let view = CommView::intra(self.rank, self.size);
        let mark = Mark::of(what, &view, shm::code(operation.as_ref()));
        let method = self.method(what, operation.as_ref())?;
        if mark.is_uneven() {
            return None;
        }
        let this = self.process.comm_mut(self.comm).ok()?;
        let number = this.collectives;
        count_call(this);
        let mut told = Told::NOTHING;
        told.learn(what);
        let host = ShortHost { call: self.call, context: this.context, told, send, recv, operation };
        let place = (self.process, self.comm, mark);
        if !method.has_blocks() {
            return Some(host.run(place, &method, &VectorBlocks::NONE).0);
        }
        let mut blocks = SPARE.try_with(Cell::take).unwrap_or_default();
        blocks.fill(what, &view);
        let (outcome, rest) = host.run(place, &method, &blocks);
        let _ = SPARE.try_with(|spare| spare.set(blocks));
        if rest.is_empty() {
            return Some(outcome);
        }
        let sent = messages((self.call, number), self.comm, (what, mark), (send, recv), |schedule| {
            plan(schedule, view.member(), rest);
        });
        Some(outcome.and(sent))
    }

    /// Does what `plan` puts into a schedule of bytes, of a call that is `what`. Its first receive may be posted already.
    #[inline(always)]
    pub(super) fn by_messages(
        mut self,
        what: &CollectiveCall,
        (send, recv): (ShortBuffer, ShortBuffer),
        posted: Option<RequestId>,
        plan: impl FnOnce(&mut Schedule, Member),
    ) -> Option<Result> {
        let (view, mark) = (CommView::intra(self.rank, self.size), self.mark(what)?);
        let this = self.process.comm_mut(self.comm).ok()?;
        let mut running = RunningCollective::spare();
        running.begin_with((self.call, this.collectives), this, mark, what);
        (running.bindings.send.base, running.bindings.recv.base) = (send.base, recv.base);
        running.bindings.posted = posted;
        plan(&mut running.schedule, view.member());
        count_call(this);
        let outcome = running.run_in_shm_comm(self.process, self.comm);
        running.keep();
        Some(outcome)
    }

    /// The mark of a call without an operation, unless this rank's own block has two lengths.
    #[inline(always)]
    pub(super) fn mark(&self, what: &CollectiveCall) -> Option<Mark> {
        let mark = Mark::of(what, &CommView::intra(self.rank, self.size), None);
        (!mark.is_uneven()).then_some(mark)
    }

    /// How the call goes over shared memory, if it does.
    #[inline(always)]
    pub(super) fn method(&self, what: &CollectiveCall, operation: Option<&Operation>) -> Option<Method> {
        let habits = Habits { check_types: false, by_cells: self.process.coll.by_cells, sends_rest: true };
        Method::of(what, &CommView::intra(self.rank, self.size), shm::order(operation), habits)
    }
}

/// The same memory as bytes.
#[inline(always)]
pub(super) fn bytes(span: Span) -> Span {
    Span { count: span.bytes(), ty: Ty::Byte, layout: TypeLayout::BYTE, ..span }
}

/// Puts what steps have left to messages into a schedule: the block for each rank, and the one from each.
pub(super) fn send_rest(
    schedule: &mut Schedule,
    me: Member,
    rest: Remainder,
    to: impl Fn(u32) -> Span,
    from: impl Fn(u32) -> Span,
) {
    rest.from.ranks_from(me.rank).for_each(|rank| schedule.recv(me.peer(rank), bytes(from(rank))));
    rest.to.ranks_from(me.rank).for_each(|rank| schedule.send(me.peer(rank), bytes(to(rank))));
}

/// Sends and receives what steps have left to messages.
#[cold]
fn messages(
    call: (&'static str, u32),
    comm: MPI_Comm,
    (what, mark): (&CollectiveCall, Mark),
    (send, recv): (ShortBuffer, ShortBuffer),
    plan: impl FnOnce(&mut Schedule),
) -> Result {
    let process = enter();
    let mut running = RunningCollective::spare();
    running.begin_with(call, process.comm(comm)?, mark, what);
    (running.bindings.send.base, running.bindings.recv.base) = (send.base, recv.base);
    plan(&mut running.schedule);
    let outcome = running.run(process);
    running.keep();
    outcome
}

thread_local! {
    /// What the last vector form of this thread used, so that none need allocate.
    static SPARE: Cell<VectorBlocks> = const { Cell::new(VectorBlocks::NONE) };
}

/// What the steps of a short call need of this rank.
struct ShortHost {
    call: &'static str,
    context: u64,
    told: Told,
    send: ShortBuffer,
    recv: ShortBuffer,
    operation: Option<Operation>,
}

impl ShortHost {
    #[inline(never)]
    fn run(
        &self,
        (process, comm, mark): (LockGuard, MPI_Comm, Mark),
        method: &Method,
        blocks: &VectorBlocks,
    ) -> (Result, Remainder) {
        let mut shm_comm = match shm::begin(process, comm, self, mark) {
            Ok(shm_comm) => shm_comm,
            Err(error) => return (Err(error), Remainder::default()),
        };
        let (outcome, rest) = shm::run(&mut shm_comm, self, (self.call, mark), method, blocks);
        (outcome.and(shm::end(comm, shm_comm)), rest)
    }

    /// In this call, for a person.
    #[cold]
    fn waiting(&self) -> Waiting {
        let basic = |buffer: &ShortBuffer| Basic::from_handle(buffer.datatype.0);
        let told = self.told.waiting(self.call, self.context, basic(&self.send), basic(&self.recv));
        Waiting { number: CallNumber::Last, ..told }
    }
}

impl CallHost for ShortHost {
    type Lines = SharedLines;

    #[inline(always)]
    fn buffer(&self, slice: &Slice) -> UserBuf {
        let base = if slice.buf == Buf::Send { self.send.base } else { self.recv.base };
        let element_bytes =
            if slice.ty == Ty::Send { self.send.element_bytes } else { self.recv.element_bytes };
        let start = base.wrapping_offset(slice.offset as isize);
        // SAFETY: the program vouches for its buffers until the call is complete.
        unsafe { UserBuf::contiguous(start, slice.count as usize * element_bytes) }
    }

    #[inline]
    fn wait(&self, shm_comm: &ShmComm, watch: ShmWatch, copied: usize) -> std::result::Result<(), Mismatch> {
        shm::wait(shm_comm, watch, copied, || self.waiting())
    }

    #[inline]
    fn copy(&self, from: &UserBuf, at: usize, into: &UserBuf, place: usize, len: usize) {
        UserBuf::copy_between_cores(from, at, into, place, len);
    }

    #[inline]
    fn combine(&self, left: Operand<'_>, right: Operand<'_>, count: u64) {
        shm::combine(self.operation.as_ref(), (left, right), count);
    }

    #[inline]
    fn combine_into(&self, left: Operand<'_>, right: Operand<'_>, out: Operand<'_>, count: u64) {
        shm::combine_into(self.operation.as_ref(), (left, right), out, count);
    }

    /// What ranks tell each other once, they do in longer calls.
    fn is_crowded(&self) -> bool {
        false
    }

    fn has_fast_cells(&self) -> bool {
        false
    }

    /// Nothing so short is worth a question to the kernel.
    fn can_get(&self, _: impl Iterator<Item = u32>) -> bool {
        false
    }

    fn get(&self, _: u32, _: Remote, _: &UserBuf) -> bool {
        false
    }

    fn put(&self, _: u32, _: &UserBuf, _: Remote) -> bool {
        false
    }
}

/// `MPI_Bcast`.
pub(super) fn bcast(comm: MPI_Comm, data: Block, root: c_int) -> Option<Result> {
    let short = ShortCall::on("MPI_Bcast", comm)?;
    let (buffer, data) = ShortBuffer::of(data)?;
    let what = CollectiveCall::Bcast { data, root: Root::Rank(short.root(root)?) };
    short.go(&what, (ShortBuffer::NONE, buffer), None)
}

/// A reduction in which each rank has both buffers, of `count` elements each: `what` makes the call of them, and of whether the
/// operand is in the receive buffer.
pub(super) fn reduction(
    (call, comm): (&'static str, MPI_Comm),
    operands: Operands,
    count: i64,
    what: impl FnOnce(TypedCount, bool) -> CollectiveCall<'static>,
) -> Option<Result> {
    let short = ShortCall::on(call, comm)?;
    let operation = Operation::predefined_by(operands.op, operands.datatype)?;
    let (recv, data) = ShortBuffer::of(Block::of(operands.recvbuf, count, operands.datatype))?;
    let in_place = is_in_place(operands.sendbuf);
    let send = if in_place { recv } else { operand(operands, count)? };
    if !in_place && send.base == recv.base {
        return None;
    }
    short.go(&what(data, in_place), (send, recv), Some(operation))
}

/// `MPI_Reduce`.
pub(super) fn reduce(comm: MPI_Comm, operands: Operands, count: i64, root: c_int) -> Option<Result> {
    let short = ShortCall::on("MPI_Reduce", comm)?;
    let operation = Operation::predefined_by(operands.op, operands.datatype)?;
    let root = short.root(root)?;
    let in_place = is_in_place(operands.sendbuf);
    let (block, data) = match root == short.rank {
        true => ShortBuffer::of(Block::of(operands.recvbuf, count, operands.datatype))?,
        false => ShortBuffer::of(Block::of(operands.sendbuf, count, operands.datatype))?,
    };
    let send = if in_place { block } else { operand(operands, count)? };
    if root == short.rank && !in_place && send.base == block.base {
        return None;
    }
    let what = CollectiveCall::Reduce { data, in_place, commutative: true, root: Root::Rank(root) };
    short.go(&what, (send, block), Some(operation))
}

/// `MPI_Allgather` and `MPI_Alltoall`: `what` makes the call of what a rank sends, unless that is in the receive buffer, and of what
/// it receives from each.
pub(super) fn exchange(
    (call, comm): (&'static str, MPI_Comm),
    (send, recv): (Block, Block),
    what: impl FnOnce(Option<TypedCount>, TypedCount) -> CollectiveCall<'static>,
) -> Option<Result> {
    let short = ShortCall::on(call, comm)?;
    let (into, all) = ShortBuffer::of(recv)?;
    if is_in_place(send.buf) {
        return short.go(&what(None, all), (into, into), None);
    }
    let (from, own) = ShortBuffer::of(send)?;
    if from.meets(into, short.offset(all)) {
        return None;
    }
    short.go(&what(Some(own), all), (from, into), None)
}

/// `MPI_Allgatherv`.
pub(super) fn allgatherv(comm: MPI_Comm, send: Block, recv: Blocks<'_>) -> Option<Result> {
    let short = ShortCall::on("MPI_Allgatherv", comm)?;
    let (into, recv) = ShortBuffer::of_blocks(&recv, short.size)?;
    if is_in_place(send.buf) {
        return short.go(&CollectiveCall::Allgatherv { send: None, recv }, (into, into), None);
    }
    let (from, own) = ShortBuffer::of(send)?;
    if from.meets(into, recv.in_recv(short.rank).offset) {
        return None;
    }
    short.go(&CollectiveCall::Allgatherv { send: Some(own), recv }, (from, into), None)
}

/// `MPI_Alltoallv`, unless it is in place.
pub(super) fn alltoallv(comm: MPI_Comm, send: Blocks<'_>, recv: Blocks<'_>) -> Option<Result> {
    let short = ShortCall::on("MPI_Alltoallv", comm)?;
    let (from, send) = ShortBuffer::of_blocks(&send, short.size)?;
    let (into, recv) = ShortBuffer::of_blocks(&recv, short.size)?;
    if from.base == into.base {
        return None;
    }
    let what = CollectiveCall::Alltoallv { send: Some(send), recv };
    // This rank's own blocks are short, but others may have long ones.
    short.go_on(&what, (from, into), None, |schedule, me, rest| {
        send_rest(schedule, me, rest, |rank| send.in_send(rank), |rank| recv.in_recv(rank));
    })
}

#[inline(always)]
fn operand(operands: Operands, count: i64) -> Option<ShortBuffer> {
    ShortBuffer::of(Block::of(operands.sendbuf, count, operands.datatype)).map(|(buffer, _)| buffer)
}

#[inline(always)]
fn is_in_place(buf: ChoiceBuf) -> bool {
    buf.address() as usize == MPI_IN_PLACE
}
