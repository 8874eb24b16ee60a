//! Checks of the arguments of collectives, and the way from arguments to a schedule.
//!
//! Only what the standard calls significant at this rank is looked at (MPI 5.0 sections 6.4 to 6.11).

use super::differ::unequal_to_itself;
use super::operation::Operation;
use super::running::RunningCollective;
use super::shape::shape;
use super::shm::{self, Habits, Method};
use crate::check::{CallRecord, Meaning};
use crate::comm::object::Comm;
use crate::core::arguments::{self, present};
use crate::core::boundary::{Array, ChoiceBuf, ChoiceBufMut, CountInteger, Integers};
use crate::core::error::{Error, Result, fail};
use crate::core::process::Process;
use crate::topo::neighbors::neighbors;
use std::ffi::c_int;
use std::sync::Arc;
use tern_abi::*;
use tern_coll::table::forced;
use tern_coll::{CollectiveCall, Neighbors, NumberArray, Root, TypeLayout, TypedCount, Vector, VectorTypes};
use tern_mem::Datatype;
use tern_shmcoll::Mark;

/// `(buf, count, datatype)` of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    /// Address of the buffer.
    pub buf: ChoiceBuf,
    /// Elements.
    pub count: i64,
    /// Their type.
    pub datatype: MPI_Datatype,
}

impl Block {
    /// The arguments of an entry point.
    pub(crate) fn of(buf: impl Into<ChoiceBuf>, count: impl Into<i64>, datatype: MPI_Datatype) -> Self {
        Block { buf: buf.into(), count: count.into(), datatype }
    }

    /// The block that lies so many elements further on.
    pub(crate) fn after(self, elements: i64, layout: TypeLayout) -> Self {
        let bytes = elements.wrapping_mul(layout.extent) as isize;
        Block { buf: self.buf.after(bytes), ..self }
    }
}

/// `(buf, counts, displs, datatype)` of a call, or `(buf, counts, displs, datatypes)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks<'a, T = MPI_Datatype> {
    /// Address of the buffer.
    pub buf: ChoiceBuf,
    /// Elements per rank, or per neighbor.
    pub counts: Integers<'a>,
    /// Where each rank's block begins.
    pub displs: Integers<'a>,
    /// Their type, or as many types as there are ranks.
    pub datatype: T,
}

impl<'a, T> Blocks<'a, T> {
    /// The arguments of an entry point.
    pub(crate) fn of<C: CountInteger, D: CountInteger>(
        buf: impl Into<ChoiceBuf>,
        counts: Array<'a, C>,
        displs: Array<'a, D>,
        datatype: T,
    ) -> Self {
        Blocks { buf: buf.into(), counts: C::array(counts), displs: D::array(displs), datatype }
    }
}

/// The elements of an array, for `len` ranks.
pub(super) fn numbers<'a>(integers: Integers<'a>, len: u32) -> Result<NumberArray<'a>> {
    let len = len as usize;
    Ok(match integers {
        Integers::Int(array) => NumberArray::I32(array.of(len)?),
        Integers::Count(array) => NumberArray::I64(array.of(len)?),
        Integers::Aint(array) => NumberArray::Aint(array.of(len)?),
    })
}

/// Which buffer of a call an argument belongs to, to give it its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// `sendbuf`, `sendcount`
    Send,
    /// `recvbuf`, `recvcount`
    Recv,
    /// The one buffer of a broadcast.
    Only,
}

impl Side {
    fn buf(self) -> &'static str {
        match self {
            Side::Send => "sendbuf",
            Side::Recv => "recvbuf",
            Side::Only => "buffer",
        }
    }

    fn count(self) -> &'static str {
        match self {
            Side::Send => "sendcount",
            Side::Recv => "recvcount",
            Side::Only => "count",
        }
    }
}

/// What this rank does for a call with a root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Roles {
    /// The root, as schedules name it.
    pub root: Root,
    /// This rank is the root.
    pub is_root: bool,
    /// This rank is one of those that the root gathers from or scatters to. On an intracommunicator all are.
    pub is_leaf: bool,
}

/// A collective being prepared.
pub(crate) struct Setup<'a> {
    process: &'a Process,
    comm: &'a Comm,
    running: &'a mut RunningCollective,
}

impl<'a> Setup<'a> {
    /// Prepares a call on `comm`; what is found out is left in `running`.
    pub(crate) fn new(process: &'a Process, comm: &'a Comm, running: &'a mut RunningCollective) -> Self {
        Setup { process, comm, running }
    }

    /// Finds a way over shared memory, or makes the schedule of the call.
    pub(crate) fn plan(&mut self, call: &CollectiveCall) {
        self.running.bindings.told.learn(call);
        let mut shape = shape(self.process, self.comm);
        shape.multicast = shape.multicast.filter(|_| self.running.may_multicast);
        if self.process.checks.collectives {
            let names = &self.running.bindings;
            let (send, recv) = (names.send.datatype.as_deref(), names.recv.datatype.as_deref());
            self.running.record.fill(&shape, call, Meaning { send, recv, operation: names.operation });
        }
        if self.running.has_shm_comm {
            let operation = shm::code(self.running.bindings.operation.as_ref());
            self.running.mark = Mark::of(call, &shape, operation);
            if self.running.mark.is_uneven() {
                // It takes part, so that the others learn of it.
                let uneven = call.to_itself(&shape).filter(|(sent, room)| sent != room);
                self.running.bindings.failure = uneven.map(|(sent, room)| unequal_to_itself(sent, room));
            }
        }
        if self.running.has_shm_comm && forced(&self.process.coll.rows, &shape, call).is_none() {
            let order = shm::order(self.running.bindings.operation.as_ref());
            let Process { checks, coll, .. } = self.process;
            let habits = Habits { check_types: checks.types, by_cells: coll.by_cells, sends_rest: true };
            self.running.method = Method::of(call, &shape, order, habits);
            if self.running.method.is_some() {
                self.running.blocks.fill(call, &shape);
                return;
            }
        }
        tern_coll::build(&shape, call, &self.process.coll.rows, &mut self.running.schedule);
    }

    /// What this rank will tell the others, if collectives are checked.
    pub(crate) fn record(&mut self) -> &mut CallRecord {
        &mut self.running.record
    }

    /// Whether the communicator is an intercommunicator.
    pub(crate) fn is_inter(&self) -> bool {
        self.comm.remote.is_some()
    }

    /// This process's rank.
    pub(crate) fn rank(&self) -> u32 {
        self.comm.rank
    }

    /// The ranks of the own group.
    pub(crate) fn size(&self) -> u32 {
        self.comm.group.size()
    }

    /// The ranks that data come from or go to: of an intercommunicator, the remote group.
    pub(crate) fn peers(&self) -> u32 {
        self.comm.peers().size()
    }

    /// This process's neighbors in the communicator's topology.
    pub(crate) fn neighbors(&self) -> Result<Neighbors<'a>> {
        neighbors(self.comm)
    }

    /// The root, and what it means for this rank (section 6.2.3 for intercommunicators).
    pub(crate) fn roles(&self, root: c_int) -> Result<Roles> {
        let Some(remote) = &self.comm.remote else {
            let root = arguments::root(self.comm, root)?;
            return Ok(Roles { root: Root::Rank(root), is_root: root == self.comm.rank, is_leaf: true });
        };
        match (root, u32::try_from(root)) {
            (MPI_ROOT, _) => Ok(Roles { root: Root::Here, is_root: true, is_leaf: false }),
            (MPI_PROC_NULL, _) => Ok(Roles { root: Root::Elsewhere, is_root: false, is_leaf: false }),
            (_, Ok(rank)) if rank < remote.size() => {
                Ok(Roles { root: Root::Rank(rank), is_root: false, is_leaf: true })
            }
            _ => Err(fail(
                MPI_ERR_ROOT,
                format!(
                    "root is {root}, but must be MPI_ROOT, MPI_PROC_NULL or a rank of the remote group (0 to {})",
                    remote.size().saturating_sub(1)
                ),
            )),
        }
    }

    /// Whether `buf` says that a call is in place, which only `allowed` ranks of an intracommunicator may say.
    pub(crate) fn in_place(&self, side: Side, buf: ChoiceBuf, allowed: bool) -> Result<bool> {
        if buf.address() as usize != MPI_IN_PLACE {
            return Ok(false);
        }
        if allowed && !self.is_inter() {
            return Ok(true);
        }
        let why = if self.is_inter() { "on an intercommunicator" } else { "at this rank, only at the root" };
        Err(fail(MPI_ERR_BUFFER, format!("{} is MPI_IN_PLACE, which is not allowed {why}", side.buf())))
    }

    /// The send buffer.
    pub(crate) fn send(&mut self, block: Block) -> Result<TypedCount> {
        let (data, datatype) = self.data(Side::Send, &block)?;
        self.running.bindings.send.base = block.buf.bytes();
        self.running.bindings.send.datatype = Some(datatype);
        Ok(data)
    }

    /// The receive buffer, or the only one.
    pub(crate) fn recv(&mut self, side: Side, block: Block) -> Result<TypedCount> {
        let (data, datatype) = self.data(side, &block)?;
        self.running.bindings.recv.base = block.buf.bytes();
        self.running.bindings.recv.datatype = Some(datatype);
        Ok(data)
    }

    /// Elements of the one type of a reduction; its buffers are told by [`Setup::operand`] and [`Setup::result`].
    pub(crate) fn elements(&mut self, count: i64, datatype: MPI_Datatype) -> Result<TypedCount> {
        let count = arguments::count("count", count)?;
        let found = self.process.objects.types.committed(datatype)?;
        let data = TypedCount::new(count, layout(found));
        checked_bytes(&data)?;
        self.running.bindings.recv.datatype = Some(found.clone());
        Ok(data)
    }

    /// The operation of a reduction; whether its operands may change places.
    pub(crate) fn operation(&mut self, op: MPI_Op, datatype: MPI_Datatype) -> Result<bool> {
        let operation = Operation::of(self.process, op, datatype)?;
        self.running.bindings.operation = Some(operation);
        Ok(operation.commutative())
    }

    /// The send buffer of a reduction: `bytes` packed bytes of its [`Setup::elements`] in all.
    pub(crate) fn operand(&mut self, buf: ChoiceBuf, bytes: u64) -> Result {
        present(Side::Send.buf(), buf.address(), bytes, self.first_byte())?;
        self.running.bindings.send.base = buf.bytes();
        Ok(())
    }

    /// The receive buffer of a reduction.
    pub(crate) fn result(&mut self, buf: ChoiceBufMut, bytes: u64) -> Result {
        present(Side::Recv.buf(), ChoiceBuf::from(buf).address(), bytes, self.first_byte())?;
        self.running.bindings.recv.base = buf.bytes();
        Ok(())
    }

    /// Where the elements of a reduction begin.
    fn first_byte(&self) -> i64 {
        self.running.bindings.recv.datatype.as_deref().map_or(0, Datatype::true_lb)
    }

    /// The counts of `ranks` ranks.
    pub(crate) fn counts<'n>(&self, side: Side, counts: Integers<'n>, ranks: u32) -> Result<NumberArray<'n>> {
        let counts = numbers(counts, ranks)?;
        match (0..counts.len()).find(|&at| counts.get(at) < 0) {
            None => Ok(counts),
            Some(at) => Err(fail(
                MPI_ERR_COUNT,
                format!("{}s[{at}] is {}, but must not be negative", side.count(), counts.get(at)),
            )),
        }
    }

    /// The send blocks of `ranks` ranks, of one type.
    pub(crate) fn send_blocks<'n>(&mut self, blocks: &Blocks<'n>, ranks: u32) -> Result<Vector<'n>> {
        let (vector, datatype) = self.vector(Side::Send, blocks, ranks)?;
        self.running.bindings.send.base = blocks.buf.bytes();
        self.running.bindings.send.datatype = Some(datatype);
        Ok(vector)
    }

    /// The receive blocks of `ranks` ranks, of one type.
    pub(crate) fn recv_blocks<'n>(&mut self, blocks: &Blocks<'n>, ranks: u32) -> Result<Vector<'n>> {
        let (vector, datatype) = self.vector(Side::Recv, blocks, ranks)?;
        self.running.bindings.recv.base = blocks.buf.bytes();
        self.running.bindings.recv.datatype = Some(datatype);
        Ok(vector)
    }

    /// The blocks of `ranks` ranks, each of a type of its own; `layouts` is where their layouts are kept.
    pub(crate) fn each_blocks<'n>(
        &mut self,
        side: Side,
        blocks: &Blocks<'n, Array<'n, MPI_Datatype>>,
        ranks: u32,
        layouts: &'n mut Vec<TypeLayout>,
    ) -> Result<Vector<'n>> {
        let (counts, displs) = (self.counts(side, blocks.counts, ranks)?, numbers(blocks.displs, ranks)?);
        let datatypes = blocks.datatype.of(ranks as usize)?;
        let mut found = Vec::with_capacity(datatypes.len());
        for (index, &datatype) in datatypes.iter().enumerate() {
            // The type of nothing is not looked at: programs leave MPI_DATATYPE_NULL there.
            let datatype = if counts.get(index) == 0 { MPI_BYTE } else { datatype };
            let committed = self.process.objects.types.committed(datatype)?;
            let data = TypedCount::new(counts.count(index), layout(committed));
            let first = displs.get(index).saturating_add(committed.true_lb());
            present(side.buf(), blocks.buf.address(), checked_bytes(&data)?, first)?;
            layouts.push(data.layout);
            found.push(committed.clone());
        }
        let names = &mut self.running.bindings;
        let names = if side == Side::Send { &mut names.send } else { &mut names.recv };
        (names.base, names.each) = (blocks.buf.bytes(), found);
        Ok(Vector { counts, displs, types: VectorTypes::Each(layouts) })
    }

    fn data(&self, side: Side, block: &Block) -> Result<(TypedCount, Arc<Datatype>)> {
        let count = arguments::count(side.count(), block.count)?;
        let datatype = self.process.objects.types.committed(block.datatype)?;
        let data = TypedCount::new(count, layout(datatype));
        present(side.buf(), block.buf.address(), checked_bytes(&data)?, datatype.true_lb())?;
        Ok((data, datatype.clone()))
    }

    fn vector<'n>(&self, side: Side, blocks: &Blocks<'n>, ranks: u32) -> Result<(Vector<'n>, Arc<Datatype>)> {
        let (counts, displs) = (self.counts(side, blocks.counts, ranks)?, numbers(blocks.displs, ranks)?);
        let datatype = self.process.objects.types.committed(blocks.datatype)?;
        let all = TypedCount::new(counts.sum(), layout(datatype));
        let bytes = checked_bytes(&all)?;
        // From MPI_BOTTOM on, displacements may be addresses.
        let first = if blocks.buf.is_null() { lowest(&counts, &displs, datatype.extent()) } else { 0 };
        present(side.buf(), blocks.buf.address(), bytes, first.saturating_add(datatype.true_lb()))?;
        Ok((Vector { counts, displs, types: VectorTypes::One(all.layout) }, datatype.clone()))
    }
}

/// The lowest displacement of blocks that are not empty, in bytes.
#[cold]
fn lowest(counts: &NumberArray<'_>, displs: &NumberArray<'_>, extent: i64) -> i64 {
    let full = (0..counts.len()).filter(|&at| counts.get(at) > 0);
    full.map(|at| displs.get(at).saturating_mul(extent)).min().unwrap_or(0)
}

/// What schedules have to know of a datatype.
fn layout(datatype: &Datatype) -> TypeLayout {
    let (size, extent) = (datatype.size(), datatype.extent());
    let contiguous = size == extent && datatype.layout().contiguous(2) == Some(0);
    TypeLayout { size: size as u64, extent, contiguous }
}

fn checked_bytes(data: &TypedCount) -> Result<u64> {
    let bytes = data.count.checked_mul(data.layout.size).filter(|&bytes| bytes <= i64::MAX as u64);
    bytes.ok_or_else(|| {
        fail(
            MPI_ERR_COUNT,
            format!(
                "{} elements of {} bytes are more than an address space has",
                data.count, data.layout.size
            ),
        )
    })
}

/// The two buffers of a call must not be the same memory (section 6.1): refuses what is certainly wrong. Different
/// datatypes at one address may name different bytes of it, and elements without bytes, of `size` 0, none.
///
/// Programs make this mistake at all ranks of a call alike. So every rank that has both buffers asks, and asks for what they
/// all have in common, or some are refused and the others wait.
pub(crate) fn distinct(send: Block, recv: Block, size: u64) -> Result {
    let same = send.buf == recv.buf && send.datatype == recv.datatype;
    if same && !send.buf.is_null() && send.count > 0 && recv.count > 0 && size > 0 {
        return Err(shared());
    }
    Ok(())
}

/// The same where the one buffer is `whole`, a block of each rank in the order of ranks: the address given is that of the whole
/// or of this rank's own block.
pub(crate) fn distinct_in(setup: &Setup, whole: Block, block: Block, layout: TypeLayout) -> Result {
    distinct(whole, block, layout.size)?;
    if setup.is_inter() {
        return Ok(());
    }
    let blocks = whole.count.wrapping_mul(setup.rank().into());
    distinct(whole.after(blocks, layout), block, layout.size)
}

/// The same where `whole` has blocks of any length at any place. The address of the whole is that of a block whose displacement
/// is 0.
pub(crate) fn distinct_in_blocks(setup: &Setup, whole: &Blocks<'_>, vector: &Vector, block: Block) -> Result {
    let VectorTypes::One(layout) = vector.types else { return Ok(()) };
    let at = |rank: usize| {
        let first = Block { buf: whole.buf, count: vector.counts.get(rank), datatype: whole.datatype };
        first.after(vector.displs.get(rank), layout)
    };
    if !setup.is_inter() {
        distinct(at(setup.rank() as usize), block, layout.size)?;
    }
    if whole.buf == block.buf {
        (0..vector.counts.len()).try_for_each(|rank| distinct(at(rank), block, layout.size))?;
    }
    Ok(())
}

/// The same of calls with blocks on both sides: what goes to a rank lies where something comes from it.
pub(crate) fn distinct_blocks<T: PartialEq>(
    send: (&Blocks<'_, T>, &Vector),
    recv: (&Blocks<'_, T>, &Vector),
) -> Result {
    if send.0.buf != recv.0.buf || send.0.datatype != recv.0.datatype {
        return Ok(());
    }
    let (send, recv) = (send.1, recv.1);
    let is_shared = |rank: usize| {
        let size = match recv.types {
            VectorTypes::One(layout) => layout.size,
            VectorTypes::Each(layouts) => layouts[rank].size,
        };
        let counts = send.counts.get(rank).min(recv.counts.get(rank));
        size > 0 && counts > 0 && send.displs.get(rank) == recv.displs.get(rank)
    };
    if (0..recv.counts.len()).any(is_shared) { Err(shared()) } else { Ok(()) }
}

#[cold]
fn shared() -> Box<Error> {
    fail(
        MPI_ERR_BUFFER,
        "sendbuf and recvbuf are the same memory: use MPI_IN_PLACE to have one buffer for both",
    )
}
