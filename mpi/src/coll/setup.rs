//! Checks of the arguments of collectives, and the way from arguments to a schedule.
//!
//! Only what the standard calls significant at this rank is looked at (MPI 5.0 sections 6.4 to 6.11).

use super::joint::{self, Habits, Way};
use super::operation::Operation;
use super::running::Running;
use super::shape::shape;
use crate::arguments::{self, array, present};
use crate::check::{Meaning, Record};
use crate::comm::Comm;
use crate::entry::Width;
use crate::error::{Error, Result, fail};
use crate::process::Process;
use crate::topo;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use tern_abi::*;
use tern_coll::table::forced;
use tern_coll::{Call, Data, Layout, Neighbors, Numbers, Root, Types, Vector};
use tern_joint::Mark;
use tern_mem::Datatype;

/// `(buf, count, datatype)` of a call.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Address of the buffer.
    pub buf: *const c_void,
    /// Elements.
    pub count: i64,
    /// Their type.
    pub datatype: MPI_Datatype,
}

impl Block {
    /// The arguments of an entry point.
    pub fn of(buf: *const c_void, count: impl Into<i64>, datatype: MPI_Datatype) -> Self {
        Block { buf, count: count.into(), datatype }
    }

    /// The block that lies so many elements further on.
    pub fn after(self, elements: i64, layout: Layout) -> Self {
        let bytes = elements.wrapping_mul(layout.extent) as isize;
        Block { buf: self.buf.wrapping_byte_offset(bytes), ..self }
    }
}

/// `(buf, counts, displs, datatype)` of a call, or `(buf, counts, displs, datatypes)`.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<T = MPI_Datatype> {
    /// Address of the buffer.
    pub buf: *const c_void,
    /// Elements per rank, or per neighbour.
    pub counts: Array,
    /// Where each rank's block begins.
    pub displs: Array,
    /// Their type, or the address of as many types as there are ranks.
    pub datatype: T,
}

impl<T> Blocks<T> {
    /// The arguments of an entry point.
    pub fn of<W: Width>(
        buf: *const c_void,
        counts: *const W::Count,
        displs: *const W::Displ,
        datatype: T,
    ) -> Self {
        Blocks { buf, counts: Array::counts::<W>(counts), displs: Array::displs::<W>(displs), datatype }
    }

    /// The arguments of an entry point whose displacements are addresses in both forms.
    pub fn at_addresses<W: Width>(
        buf: *const c_void,
        counts: *const W::Count,
        displs: *const MPI_Aint,
        datatype: T,
    ) -> Self {
        let displs = Array { at: displs.cast(), element: Element::Aint };
        Blocks { buf, counts: Array::counts::<W>(counts), displs, datatype }
    }
}

/// An array of counts or displacements, of the width that the entry point has.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    at: *const c_void,
    element: Element,
}

#[derive(Clone, Copy, Debug)]
enum Element {
    Int,
    Count,
    Aint,
}

impl Array {
    /// An array of counts.
    pub fn counts<W: Width>(at: *const W::Count) -> Self {
        Array { at: at.cast(), element: if W::LARGE { Element::Count } else { Element::Int } }
    }

    /// An array of displacements.
    pub fn displs<W: Width>(at: *const W::Displ) -> Self {
        Array { at: at.cast(), element: if W::LARGE { Element::Aint } else { Element::Int } }
    }

    /// The elements.
    ///
    /// # Safety
    /// There are `len`, and they stay unchanged during the call.
    unsafe fn numbers<'a>(&self, name: &str, len: u32) -> Result<Numbers<'a>> {
        let len = len as usize;
        // SAFETY: by the caller.
        unsafe {
            Ok(match self.element {
                Element::Int => Numbers::I32(array(name, self.at.cast(), len)?),
                Element::Count => Numbers::I64(array(name, self.at.cast(), len)?),
                Element::Aint => Numbers::Aint(array(name, self.at.cast(), len)?),
            })
        }
    }
}

/// Which buffer of a call an argument belongs to, to give it its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
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
pub struct Roles {
    /// The root, as schedules name it.
    pub root: Root,
    /// This rank is the root.
    pub is_root: bool,
    /// This rank is one of those that the root gathers from or scatters to. On an intracommunicator all are.
    pub is_leaf: bool,
}

/// A collective being prepared.
pub struct Setup<'a> {
    process: &'a Process,
    comm: &'a Comm,
    running: &'a mut Running,
}

impl<'a> Setup<'a> {
    /// Prepares a call on `comm`; what is found out is left in `running`.
    pub fn new(process: &'a Process, comm: &'a Comm, running: &'a mut Running) -> Self {
        Setup { process, comm, running }
    }

    /// Finds a way over shared memory, or makes the schedule of the call.
    pub fn plan(&mut self, call: &Call) {
        self.running.names.told.learn(call);
        let mut shape = shape(self.process, self.comm);
        shape.multicast = shape.multicast.filter(|_| self.running.may_multicast);
        if self.process.check_collectives {
            let names = &self.running.names;
            let (send, recv) = (names.send.datatype.as_deref(), names.recv.datatype.as_deref());
            self.running.record.fill(&shape, call, Meaning { send, recv, operation: names.operation });
        }
        if self.running.has_team {
            let operation = joint::code(self.running.names.operation.as_ref());
            self.running.mark = Mark::of(call, &shape, operation);
        }
        if self.running.has_team && forced(&self.process.coll_rows, &shape, call).is_none() {
            let order = joint::order(self.running.names.operation.as_ref());
            let &Process { check_types, by_cells, .. } = self.process;
            self.running.way = Way::of(call, &shape, order, Habits { check_types, by_cells });
            if self.running.way.is_some() {
                self.running.blocks.fill(call, &shape);
                return;
            }
        }
        tern_coll::build(&shape, call, &self.process.coll_rows, &mut self.running.schedule);
    }

    /// What this rank will tell the others, if collectives are checked.
    pub fn record(&mut self) -> &mut Record {
        &mut self.running.record
    }

    /// Whether the communicator is an intercommunicator.
    pub fn is_inter(&self) -> bool {
        self.comm.remote.is_some()
    }

    /// This process's rank.
    pub fn rank(&self) -> u32 {
        self.comm.rank
    }

    /// The ranks of the own group.
    pub fn size(&self) -> u32 {
        self.comm.group.size()
    }

    /// The ranks that data come from or go to: of an intercommunicator, the remote group.
    pub fn peers(&self) -> u32 {
        self.comm.peers().size()
    }

    /// This process's neighbours in the communicator's topology.
    pub fn neighbors(&self) -> Result<Neighbors<'a>> {
        topo::neighbors(self.comm)
    }

    /// The root, and what it means for this rank (section 6.2.3 for intercommunicators).
    pub fn roles(&self, root: c_int) -> Result<Roles> {
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
    pub fn in_place(&self, side: Side, buf: *const c_void, allowed: bool) -> Result<bool> {
        if buf as usize != MPI_IN_PLACE {
            return Ok(false);
        }
        if allowed && !self.is_inter() {
            return Ok(true);
        }
        let why = if self.is_inter() { "on an intercommunicator" } else { "at this rank, only at the root" };
        Err(fail(MPI_ERR_BUFFER, format!("{} is MPI_IN_PLACE, which is not allowed {why}", side.buf())))
    }

    /// The send buffer.
    pub fn send(&mut self, block: Block) -> Result<Data> {
        let (data, datatype) = self.data(Side::Send, &block)?;
        self.running.names.send.base = block.buf.cast_mut().cast();
        self.running.names.send.datatype = Some(datatype);
        Ok(data)
    }

    /// The receive buffer, or the only one.
    pub fn recv(&mut self, side: Side, block: Block) -> Result<Data> {
        let (data, datatype) = self.data(side, &block)?;
        self.running.names.recv.base = block.buf.cast_mut().cast();
        self.running.names.recv.datatype = Some(datatype);
        Ok(data)
    }

    /// Elements of the one type of a reduction; its buffers are told by [`Setup::operand`] and [`Setup::result`].
    pub fn elements(&mut self, count: i64, datatype: MPI_Datatype) -> Result<Data> {
        let count = arguments::count("count", count)?;
        let found = self.process.types.committed(datatype)?;
        let data = Data::new(count, layout(found));
        checked_bytes(&data)?;
        self.running.names.recv.datatype = Some(found.clone());
        Ok(data)
    }

    /// The operation of a reduction; whether its operands may change places.
    pub fn operation(&mut self, op: MPI_Op, datatype: MPI_Datatype) -> Result<bool> {
        let operation = Operation::of(self.process, op, datatype)?;
        self.running.names.operation = Some(operation);
        Ok(operation.commutative())
    }

    /// The send buffer of a reduction: `bytes` packed bytes of its [`Setup::elements`] in all.
    pub fn operand(&mut self, buf: *const c_void, bytes: u64) -> Result {
        present(Side::Send.buf(), buf, bytes, self.first_byte())?;
        self.running.names.send.base = buf.cast_mut().cast();
        Ok(())
    }

    /// The receive buffer of a reduction.
    pub fn result(&mut self, buf: *mut c_void, bytes: u64) -> Result {
        present(Side::Recv.buf(), buf, bytes, self.first_byte())?;
        self.running.names.recv.base = buf.cast();
        Ok(())
    }

    /// Where the elements of a reduction begin.
    fn first_byte(&self) -> i64 {
        self.running.names.recv.datatype.as_deref().map_or(0, Datatype::true_lb)
    }

    /// The counts of `ranks` ranks.
    ///
    /// # Safety
    /// There are as many, and they stay unchanged during the call.
    pub unsafe fn counts<'n>(&self, side: Side, counts: Array, ranks: u32) -> Result<Numbers<'n>> {
        let names = [side.count(), "s"].concat();
        // SAFETY: by the caller.
        let counts = unsafe { counts.numbers(&names, ranks)? };
        match (0..counts.len()).find(|&at| counts.get(at) < 0) {
            None => Ok(counts),
            Some(at) => Err(fail(
                MPI_ERR_COUNT,
                format!("{names}[{at}] is {}, but must not be negative", counts.get(at)),
            )),
        }
    }

    /// The send blocks of `ranks` ranks, of one type.
    ///
    /// # Safety
    /// The arrays have an element for each rank, and stay unchanged during the call.
    pub unsafe fn send_blocks<'n>(&mut self, blocks: &Blocks, ranks: u32) -> Result<Vector<'n>> {
        // SAFETY: by the caller.
        let (vector, datatype) = unsafe { self.vector(Side::Send, blocks, ranks)? };
        self.running.names.send.base = blocks.buf.cast_mut().cast();
        self.running.names.send.datatype = Some(datatype);
        Ok(vector)
    }

    /// The receive blocks of `ranks` ranks, of one type.
    ///
    /// # Safety
    /// As [`Setup::send_blocks`].
    pub unsafe fn recv_blocks<'n>(&mut self, blocks: &Blocks, ranks: u32) -> Result<Vector<'n>> {
        // SAFETY: by the caller.
        let (vector, datatype) = unsafe { self.vector(Side::Recv, blocks, ranks)? };
        self.running.names.recv.base = blocks.buf.cast_mut().cast();
        self.running.names.recv.datatype = Some(datatype);
        Ok(vector)
    }

    /// The blocks of `ranks` ranks, each of a type of its own; `layouts` is where their layouts are kept.
    ///
    /// # Safety
    /// As [`Setup::send_blocks`].
    pub unsafe fn each_blocks<'n>(
        &mut self,
        side: Side,
        blocks: &Blocks<*const MPI_Datatype>,
        ranks: u32,
        layouts: &'n mut Vec<Layout>,
    ) -> Result<Vector<'n>> {
        // SAFETY: by the caller.
        let (counts, displs, datatypes) = unsafe {
            let counts = self.counts(side, blocks.counts, ranks)?;
            let displs =
                blocks.displs.numbers(if side == Side::Send { "sdispls" } else { "rdispls" }, ranks)?;
            (counts, displs, array("the datatypes", blocks.datatype, ranks as usize)?)
        };
        let mut found = Vec::with_capacity(datatypes.len());
        for (index, &datatype) in datatypes.iter().enumerate() {
            // The type of nothing is not looked at: programs leave MPI_DATATYPE_NULL there.
            let datatype = if counts.get(index) == 0 { MPI_BYTE } else { datatype };
            let committed = self.process.types.committed(datatype)?;
            let data = Data::new(counts.count(index), layout(committed));
            let first = displs.get(index).saturating_add(committed.true_lb());
            present(side.buf(), blocks.buf, checked_bytes(&data)?, first)?;
            layouts.push(data.layout);
            found.push(committed.clone());
        }
        let names = &mut self.running.names;
        let names = if side == Side::Send { &mut names.send } else { &mut names.recv };
        (names.base, names.each) = (blocks.buf.cast_mut().cast(), found);
        Ok(Vector { counts, displs, types: Types::Each(layouts) })
    }

    fn data(&self, side: Side, block: &Block) -> Result<(Data, Arc<Datatype>)> {
        let count = arguments::count(side.count(), block.count)?;
        let datatype = self.process.types.committed(block.datatype)?;
        let data = Data::new(count, layout(datatype));
        present(side.buf(), block.buf, checked_bytes(&data)?, datatype.true_lb())?;
        Ok((data, datatype.clone()))
    }

    unsafe fn vector<'n>(
        &self,
        side: Side,
        blocks: &Blocks,
        ranks: u32,
    ) -> Result<(Vector<'n>, Arc<Datatype>)> {
        // SAFETY: by the caller.
        let (counts, displs) =
            unsafe { (self.counts(side, blocks.counts, ranks)?, blocks.displs.numbers("displs", ranks)?) };
        let datatype = self.process.types.committed(blocks.datatype)?;
        let all = Data::new(counts.sum(), layout(datatype));
        let bytes = checked_bytes(&all)?;
        // From MPI_BOTTOM on, displacements may be addresses.
        let first = if blocks.buf.is_null() { lowest(&counts, &displs, datatype.extent()) } else { 0 };
        present(side.buf(), blocks.buf, bytes, first.saturating_add(datatype.true_lb()))?;
        Ok((Vector { counts, displs, types: Types::One(all.layout) }, datatype.clone()))
    }
}

/// The lowest displacement of blocks that are not empty, in bytes.
#[cold]
fn lowest(counts: &Numbers<'_>, displs: &Numbers<'_>, extent: i64) -> i64 {
    let full = (0..counts.len()).filter(|&at| counts.get(at) > 0);
    full.map(|at| displs.get(at).saturating_mul(extent)).min().unwrap_or(0)
}

/// What schedules have to know of a datatype.
fn layout(datatype: &Datatype) -> Layout {
    let (size, extent) = (datatype.size(), datatype.extent());
    let dense = size == extent && datatype.layout().contiguous(2) == Some(0);
    Layout { size: size as u64, extent, dense }
}

fn checked_bytes(data: &Data) -> Result<u64> {
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
pub fn distinct(send: Block, recv: Block, size: u64) -> Result {
    let same = send.buf == recv.buf && send.datatype == recv.datatype;
    if same && !send.buf.is_null() && send.count > 0 && recv.count > 0 && size > 0 {
        return Err(shared());
    }
    Ok(())
}

/// The same where the one buffer is `whole`, a block of each rank in the order of ranks: the address given is that of the whole
/// or of this rank's own block.
pub fn distinct_in(setup: &Setup, whole: Block, block: Block, layout: Layout) -> Result {
    distinct(whole, block, layout.size)?;
    if setup.is_inter() {
        return Ok(());
    }
    let blocks = whole.count.wrapping_mul(setup.rank().into());
    distinct(whole.after(blocks, layout), block, layout.size)
}

/// The same where `whole` has blocks of any length at any place. The address of the whole is that of a block whose displacement
/// is 0.
pub fn distinct_in_blocks(setup: &Setup, whole: &Blocks, vector: &Vector, block: Block) -> Result {
    let Types::One(layout) = vector.types else { return Ok(()) };
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
pub fn distinct_blocks<T: PartialEq>(send: (&Blocks<T>, &Vector), recv: (&Blocks<T>, &Vector)) -> Result {
    if send.0.buf != recv.0.buf || send.0.datatype != recv.0.datatype {
        return Ok(());
    }
    let (send, recv) = (send.1, recv.1);
    let is_shared = |rank: usize| {
        let size = match recv.types {
            Types::One(layout) => layout.size,
            Types::Each(layouts) => layouts[rank].size,
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
