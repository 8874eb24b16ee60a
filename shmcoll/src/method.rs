//! Which blocking collectives go over shared memory, by what all ranks know alike.

use crate::limits::*;
use crate::{Remainder, whole_lines};
use tern_coll::{CollectiveCall, CommView, Member, Root, Schedule, Slice, TypeLayout, TypedCount, Vector};
use tern_shm::{CommonFacts, ShmComm};

/// A collective that goes over shared memory.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the fields are the standard's arguments, as in `tern_coll::Call`")]
pub enum Method {
    Bcast {
        data: TypedCount,
        root: u32,
    },
    Reduce {
        data: TypedCount,
        in_place: bool,
        root: u32,
    },
    Allreduce {
        data: TypedCount,
        in_place: bool,
    },
    /// A reduction of more bytes than one sync step can hold for each rank: to the root, or without one to all.
    Accumulate {
        data: TypedCount,
        in_place: bool,
        root: Option<u32>,
    },
    /// `MPI_Reduce_scatter` and its form for equal blocks; the blocks are in [`VectorBlocks`].
    ReduceScatter {
        layout: TypeLayout,
        /// Elements of the longest block.
        longest: u64,
        in_place: bool,
    },
    Scan {
        data: TypedCount,
        in_place: bool,
    },
    Exscan {
        data: TypedCount,
        in_place: bool,
    },
    Gather {
        send: Option<TypedCount>,
        recv: TypedCount,
        root: u32,
    },
    Scatter {
        send: TypedCount,
        recv: Option<TypedCount>,
        root: u32,
    },
    Allgather {
        send: Option<TypedCount>,
        recv: TypedCount,
    },
    Alltoall {
        send: Option<TypedCount>,
        recv: TypedCount,
    },
    /// The blocks are in [`VectorBlocks`].
    Allgatherv {
        send: Option<TypedCount>,
        /// Bytes of the longest block.
        longest: usize,
    },
    /// `MPI_Alltoallv` and `MPI_Alltoallw`; the blocks are in [`VectorBlocks`].
    Alltoallv {
        /// As in [`Habits`].
        by_cells: bool,
        /// As in [`Habits`].
        sends_rest: bool,
    },
    /// The root's blocks are in [`VectorBlocks`].
    Gatherv {
        send: Option<TypedCount>,
        root: u32,
    },
    /// The same.
    Scatterv {
        recv: Option<TypedCount>,
        root: u32,
    },
}

/// The blocks of a vector form, by rank.
#[derive(Debug, Default)]
pub struct VectorBlocks {
    /// For each rank, if the call has them.
    pub to: Vec<Slice>,
    /// From each rank; of a scattered reduction, the result.
    pub from: Vec<Slice>,
}

impl VectorBlocks {
    /// Of a call that has none.
    pub const NONE: VectorBlocks = VectorBlocks { to: Vec::new(), from: Vec::new() };

    /// Takes the blocks of a call to or from `size` ranks; of one that has none, nothing.
    pub fn fill(&mut self, call: &CollectiveCall, comm: &CommView) {
        let size = comm.size;
        match call {
            CollectiveCall::ReduceScatter { counts, layout, in_place, .. } => {
                let count_of = |rank: u32| counts.count(rank as usize);
                self.fill_scattered(*layout, *in_place, comm, count_of);
            }
            CollectiveCall::ReduceScatterBlock { data, in_place, .. } => {
                self.fill_scattered(data.layout, *in_place, comm, |_| data.count);
            }
            CollectiveCall::Allgatherv { recv, .. } => self.fill_from(recv, size),
            CollectiveCall::Gatherv { recv, root, .. } if *root == Root::Rank(comm.rank) => {
                self.fill_from(recv, size);
            }
            CollectiveCall::Scatterv { send, root, .. } if *root == Root::Rank(comm.rank) => {
                self.fill_to(send, size);
            }
            CollectiveCall::Alltoallv { send: Some(send), recv }
            | CollectiveCall::Alltoallw { send: Some(send), recv } => {
                self.fill_to(send, size);
                self.fill_from(recv, size);
            }
            _ => {}
        }
    }

    fn fill_scattered(
        &mut self,
        layout: TypeLayout,
        in_place: bool,
        comm: &CommView,
        count_of: impl Fn(u32) -> u64,
    ) {
        let all = TypedCount::new(0, layout).operand(in_place);
        let mut first = 0;
        self.to.clear();
        self.to.extend((0..comm.size).map(|rank| {
            let block = all.part(first, count_of(rank));
            first += block.count;
            block.slice()
        }));
        self.from.clear();
        self.from.push(TypedCount::new(count_of(comm.rank), layout).in_recv().slice());
    }

    fn fill_to(&mut self, send: &Vector, size: u32) {
        self.to.clear();
        self.to.extend((0..size).map(|rank| send.in_send(rank).slice()));
    }

    fn fill_from(&mut self, recv: &Vector, size: u32) {
        self.from.clear();
        self.from.extend((0..size).map(|rank| recv.in_recv(rank).slice()));
    }
}

/// In which order a predefined operation may take its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperandOrder {
    /// In any.
    Any,
    /// In that of the ranks.
    Ranks,
}

/// What else decides, on all ranks alike.
#[derive(Clone, Copy, Debug, Default)]
pub struct Habits {
    /// Types are checked: then vector forms go by messages, which carry signatures, since that is where programs go wrong.
    pub check_types: bool,
    /// Payloads go by cells rather than by the kernel.
    pub by_cells: bool,
    /// Who runs the steps sends what they leave to messages ([`Method::send_rest`]).
    pub sends_rest: bool,
}

impl Method {
    /// How `call` goes among the ranks of a shm communicator; `None`: by messages. `order` is that of a predefined operation; there is none
    /// for a function of the program's. The answer is the same at all ranks of a correct
    /// program.
    #[inline(always)]
    pub fn of(
        call: &CollectiveCall,
        comm: &CommView,
        order: Option<OperandOrder>,
        habits: Habits,
    ) -> Option<Method> {
        let (method, size) = (Method::named(call, comm.size, order)?, comm.size as usize);
        // How much there is to move, no rank knows of all.
        match method {
            Method::Alltoallv { .. }
            | Method::Allgatherv { .. }
            | Method::Gatherv { .. }
            | Method::Scatterv { .. }
                if habits.check_types =>
            {
                return None;
            }
            Method::Alltoallv { .. } => {
                return Some(Method::Alltoallv { by_cells: habits.by_cells, sends_rest: habits.sends_rest });
            }
            // Between two ranks this is a message.
            Method::Gatherv { .. } | Method::Scatterv { .. } => {
                return (size > 2 && habits.sends_rest).then_some(method);
            }
            _ => {}
        }
        let bytes = method.block_bytes(comm.rank)?;
        let fits =
            method.fits(bytes, size, habits) && !(habits.by_cells && method.is_faster_by_cells(bytes, size));
        fits.then(|| method.for_bytes(bytes, size, habits.by_cells))
    }

    /// The way without regard to bytes.
    #[inline(always)]
    fn named(call: &CollectiveCall, size: u32, order: Option<OperandOrder>) -> Option<Method> {
        Some(match *call {
            CollectiveCall::Bcast { data, root: Root::Rank(root) } => Method::Bcast { data, root },
            CollectiveCall::Gather { send, recv, root: Root::Rank(root) } => {
                Method::Gather { send, recv, root }
            }
            CollectiveCall::Scatter { send, recv, root: Root::Rank(root) } => {
                Method::Scatter { send, recv, root }
            }
            CollectiveCall::Allgather { send, recv } => Method::Allgather { send, recv },
            CollectiveCall::Alltoall { send, recv } => Method::Alltoall { send, recv },
            CollectiveCall::Allgatherv { send, recv } => {
                let longest = (0..size).map(|rank| recv.in_recv(rank).bytes()).max()?;
                Method::Allgatherv { send, longest: usize::try_from(longest).ok()? }
            }
            CollectiveCall::Alltoallv { send: Some(_), .. }
            | CollectiveCall::Alltoallw { send: Some(_), .. } => {
                Method::Alltoallv { by_cells: false, sends_rest: false }
            }
            CollectiveCall::Gatherv { send, root: Root::Rank(root), .. } => Method::Gatherv { send, root },
            CollectiveCall::Scatterv { recv, root: Root::Rank(root), .. } => Method::Scatterv { recv, root },
            CollectiveCall::Reduce { data, in_place, root: Root::Rank(root), .. }
                if combines(&data, order) =>
            {
                Method::Reduce { data, in_place, root }
            }
            CollectiveCall::Allreduce { data, in_place, .. } if combines(&data, order) => {
                Method::Allreduce { data, in_place }
            }
            CollectiveCall::ReduceScatter { counts, layout, in_place, .. }
                if combines(&TypedCount::new(1, layout), order) =>
            {
                let longest = (0..size).map(|rank| counts.count(rank as usize)).max()?;
                Method::ReduceScatter { layout, longest, in_place }
            }
            CollectiveCall::ReduceScatterBlock { data, in_place, .. } if combines(&data, order) => {
                Method::ReduceScatter { layout: data.layout, longest: data.count, in_place }
            }
            CollectiveCall::Scan { data, in_place } if combines_in_order(&data, order) => {
                Method::Scan { data, in_place }
            }
            CollectiveCall::Exscan { data, in_place } if combines_in_order(&data, order) => {
                Method::Exscan { data, in_place }
            }
            _ => return None,
        })
    }

    /// Bytes of one rank's block, or of the longest, which the standard wants to be the same at all ranks (section 6.1).
    #[inline(always)]
    fn block_bytes(&self, me: u32) -> Option<usize> {
        let bytes = match self {
            Method::Allgatherv { longest, .. } => return Some(*longest),
            Method::Alltoallv { .. } | Method::Gatherv { .. } | Method::Scatterv { .. } => return None,
            Method::Bcast { data, .. }
            | Method::Reduce { data, .. }
            | Method::Allreduce { data, .. }
            | Method::Accumulate { data, .. }
            | Method::Scan { data, .. }
            | Method::Exscan { data, .. } => data.bytes(),
            Method::ReduceScatter { layout, longest, .. } => longest.checked_mul(layout.size)?,
            Method::Allgather { recv, .. } | Method::Alltoall { recv, .. } => recv.bytes(),
            Method::Gather { send, recv, root } => if *root == me { *recv } else { (*send)? }.bytes(),
            Method::Scatter { send, recv, root } => if *root == me { *send } else { (*recv)? }.bytes(),
        };
        usize::try_from(bytes).ok()
    }

    /// Whether shared memory is the better way for blocks of so many bytes.
    #[inline(always)]
    fn fits(&self, bytes: usize, size: usize, habits: Habits) -> bool {
        let leaves_rest = habits.by_cells && habits.sends_rest && size > 2;
        let in_pieces = leaves_rest || habits.by_cells && size > SHM_FEW_RANKS_MAX;
        match self {
            Method::Bcast { .. } => size > 2 || bytes <= SHM_PAIR_BYTES_MAX,
            Method::Reduce { .. } | Method::Allreduce { .. } | Method::Accumulate { .. } => true,
            Method::ReduceScatter { .. } => size > 2 || bytes <= ShmComm::FLAG_PAYLOAD_BYTES,
            Method::Scan { .. } => true,
            // Between two ranks this is a message.
            Method::Exscan { .. } => size > 2 || bytes <= SHM_PAIR_BYTES_MAX,
            Method::Gather { .. } => {
                let all = bytes.saturating_mul(size);
                let in_pieces = in_pieces && (leaves_rest || all <= SHM_CELLS_GATHERED_BYTES_MAX);
                in_pieces || all <= ShmComm::EAGER_SLOT_BYTES || gathers_directly(bytes, size, false)
            }
            Method::Scatter { .. } => {
                let all = bytes.saturating_mul(size);
                in_pieces || all <= ShmComm::EAGER_SLOT_BYTES || scatters_directly(bytes, size, false)
            }
            Method::Allgather { .. }
            | Method::Allgatherv { .. }
            | Method::Alltoall { .. }
            | Method::Alltoallv { .. }
            | Method::Gatherv { .. }
            | Method::Scatterv { .. } => true,
        }
    }

    /// Whether messages are faster if they go by cells, though shared memory fits.
    #[inline(always)]
    fn is_faster_by_cells(&self, bytes: usize, size: usize) -> bool {
        let is_long_block = bytes >= SHM_CELLS_BLOCK_BYTES_MIN;
        match self {
            Method::Bcast { .. } | Method::Exscan { .. } => size == 2 && bytes > SHM_CELLS_PAIR_BYTES_MAX,
            // What does not fit the line of a flag.
            Method::Gather { .. } => size == 2 && bytes > ShmComm::FLAG_PAYLOAD_BYTES,
            Method::Scatter { .. } => size == 2 && 2 * bytes > ShmComm::FLAG_PAYLOAD_BYTES,
            Method::Allgather { .. } | Method::Allgatherv { .. } => size == 2 && is_long_block,
            Method::Alltoall { .. } => alltoall_goes_by_message(bytes, size),
            _ => false,
        }
    }

    /// Whether the call has [`VectorBlocks`] that its steps look at.
    #[inline(always)]
    pub fn has_blocks(&self) -> bool {
        use Method::{Allgatherv, Alltoallv, Gatherv, ReduceScatter, Scatterv};
        matches!(
            self,
            Alltoallv { .. } | Allgatherv { .. } | Gatherv { .. } | Scatterv { .. } | ReduceScatter { .. }
        )
    }

    /// Puts what the steps of this call have left to messages into the schedule of a rank: see [`CallOutcome`](crate::CallOutcome).
    #[cold]
    pub fn send_rest(&self, me: Member, rest: Remainder, blocks: &VectorBlocks, schedule: &mut Schedule) {
        match *self {
            Method::Alltoallv { .. } => {
                let from = rest.from.ranks_from(me.rank);
                from.for_each(|rank| schedule.recv_slice(me.peer(rank), blocks.from[rank as usize]));
                let to = rest.to.ranks_from(me.rank);
                to.for_each(|rank| schedule.send_slice(me.peer(rank), blocks.to[rank as usize]));
            }
            Method::Gather { recv, root, .. } if root == me.rank => {
                rest.from.ranks().for_each(|rank| schedule.recv(me.peer(rank), recv.in_recv().block(rank)));
            }
            Method::Scatter { send, root, .. } if root == me.rank => {
                rest.to.ranks().for_each(|rank| schedule.send(me.peer(rank), send.in_send().block(rank)));
            }
            Method::Gatherv { root, .. } if root == me.rank => {
                rest.from
                    .ranks()
                    .for_each(|rank| schedule.recv_slice(me.peer(rank), blocks.from[rank as usize]));
            }
            Method::Scatterv { root, .. } if root == me.rank => {
                rest.to.ranks().for_each(|rank| schedule.send_slice(me.peer(rank), blocks.to[rank as usize]));
            }
            Method::Gather { send: Some(own), root, .. } | Method::Gatherv { send: Some(own), root } => {
                schedule.send(me.peer(root), own.in_send());
            }
            Method::Scatter { recv: Some(own), root, .. } | Method::Scatterv { recv: Some(own), root } => {
                schedule.recv(me.peer(root), own.in_recv());
            }
            _ => debug_assert!(rest.is_empty(), "{self:?} leaves nothing"),
        }
        schedule.wait();
    }

    #[inline(always)]
    fn for_bytes(self, bytes: usize, size: usize, by_cells: bool) -> Method {
        let slot_share = whole_lines(ShmComm::EAGER_SLOT_BYTES / size);
        let reduced_bytes_max = match by_cells && size > SHM_FEW_RANKS_MAX {
            true => SHM_CELLS_REDUCE_BYTES_MAX,
            false => SHM_REDUCE_BYTES_MAX.min(slot_share),
        };
        let sum_bytes_max = match by_cells && size == 2 {
            true => SHM_CELLS_PAIR_BYTES_MAX,
            false => SHM_REDUCE_BYTES_MAX,
        };
        match self {
            Method::Allreduce { data, in_place } if bytes > sum_bytes_max => {
                Method::Accumulate { data, in_place, root: None }
            }
            Method::Reduce { data, in_place, root }
                if bytes > reduced_bytes_max || data.layout.size as usize > slot_share =>
            {
                Method::Accumulate { data, in_place, root: Some(root) }
            }
            other => other,
        }
    }
}

/// Whether blocks are too long for an eager slot: for their share of it, or to be copied twice.
fn exceeds_slot(bytes: usize, size: usize) -> bool {
    let is_apart =
        bytes > SHM_SHORT_BLOCK_BYTES_MAX && bytes.saturating_mul(size) > ShmComm::EAGER_SLOT_BYTES;
    is_apart || bytes > SHM_SLOT_BLOCK_BYTES_MAX
}

/// Whether a block of a gather or a scatter goes by a message where the kernel does not move it. Where ranks share cores, who waits for a
/// piece of an eager slot gives its core away for each; elsewhere, only what few ranks cannot lay side by side is a message.
pub(crate) fn goes_by_message(bytes: usize, size: usize, is_crowded: bool) -> bool {
    match is_crowded {
        true => exceeds_slot(bytes, size),
        false => size <= SHM_FEW_RANKS_MAX && bytes.saturating_mul(size) > ShmComm::EAGER_SLOT_BYTES,
    }
}

/// Whether one copy of a block by the kernel is better than two by the processors, since ranks share cores: who sends and who receives need
/// not have a core at once. Where cells are fast, that holds for long blocks alone.
pub(crate) fn pays_one_copy(bytes: usize, common: CommonFacts) -> bool {
    common.is_crowded && !(common.fast_cells && bytes <= SHM_CROWDED_CELLS_BYTES_MAX)
}

/// Whether each rank but the root moves its block of a gather by the kernel, which reaches all. `one_copy`: see
/// [`pays_one_copy`].
pub(crate) fn gathers_directly(bytes: usize, size: usize, one_copy: bool) -> bool {
    let is_long = bytes >= SHM_DIRECT_GATHER_BYTES_MIN;
    let are_long = bytes.saturating_mul(size) > SHM_CELLS_GATHERED_BYTES_MAX;
    scatters_directly(bytes, size, one_copy) && (is_long || are_long || one_copy && exceeds_slot(bytes, size))
}

/// The same of a scatter.
pub(crate) fn scatters_directly(bytes: usize, size: usize, one_copy: bool) -> bool {
    size > 2 && (bytes >= SHM_DIRECT_SCATTER_BYTES_MIN || one_copy && exceeds_slot(bytes, size))
}

/// Whether the blocks of an all-to-all, the longest of which has so many bytes, go by messages where payloads go by cells.
pub(crate) fn alltoall_goes_by_message(bytes: usize, size: usize) -> bool {
    match size {
        ..=2 => bytes >= SHM_CELLS_BLOCK_BYTES_MIN,
        _ => {
            SHM_CELLS_ALLTOALL_BYTES.contains(&bytes)
                && all_to_all_fits(bytes, size, tern_mem::cache::last_level_bytes())
        }
    }
}

/// Whether what all ranks of an all-to-all send and receive fits into a cache of so many bytes. In memory, a second copy costs more than
/// the kernel's.
pub(crate) fn all_to_all_fits(bytes: usize, size: usize, cache_bytes: Option<u64>) -> bool {
    let all = bytes.saturating_mul(2 * size).saturating_mul(size);
    cache_bytes.is_none_or(|cache_bytes| (all as u64) < cache_bytes)
}

/// Whether elements can be combined here and now, in any order.
fn combines(data: &TypedCount, order: Option<OperandOrder>) -> bool {
    combines_in_order(data, order) && order == Some(OperandOrder::Any)
}

/// Whether elements can be combined here and now: by a predefined operation, and without gaps between them.
fn combines_in_order(data: &TypedCount, order: Option<OperandOrder>) -> bool {
    data.layout.contiguous && order.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a call of so many bytes among `size` ranks goes over shared memory.
    fn joins(
        call: impl Fn(TypedCount) -> CollectiveCall<'static>,
        bytes: u64,
        size: u32,
        by_cells: bool,
    ) -> bool {
        let comm = CommView::intra(0, size);
        let habits = Habits { by_cells, ..Habits::default() };
        Method::of(
            &call(TypedCount::new(bytes, TypeLayout::contiguous(1))),
            &comm,
            Some(OperandOrder::Any),
            habits,
        )
        .is_some()
    }

    #[test]
    fn long_blocks_go_by_messages_where_these_go_by_cells() {
        let alltoall = |recv| CollectiveCall::Alltoall { send: Some(recv), recv };
        let bcast = |data| CollectiveCall::Bcast { data, root: Root::Rank(0) };
        assert!(joins(alltoall, (8 << 10) - 1, 2, true) && !joins(alltoall, 8 << 10, 2, true));
        for size in [3, 16] {
            assert!(joins(alltoall, (32 << 10) - 1, size, true) && joins(alltoall, 128 << 10, size, true));
        }
        let fits_in = |bytes, size| all_to_all_fits(bytes, size, Some(8 << 20));
        assert!(fits_in((128 << 10) - 1, 4) && fits_in((64 << 10) - 1, 8) && !fits_in(64 << 10, 8));
        assert!(!fits_in(32 << 10, 16) && all_to_all_fits(64 << 10, 16, None));
        for bytes in [32 << 10, (128 << 10) - 1] {
            let by_messages = all_to_all_fits(bytes, 3, tern_mem::cache::last_level_bytes());
            assert_eq!(joins(alltoall, bytes as u64, 3, true), !by_messages);
        }
        assert!((1..24).all(|power| joins(alltoall, 1 << power, 4, false)));
        assert!(joins(bcast, 4096, 2, true) && !joins(bcast, 8192, 2, true) && joins(bcast, 8192, 2, false));
        assert!(joins(bcast, 8192, 3, true));
    }

    #[test]
    fn among_many_ranks_blocks_go_in_pieces_where_messages_go_by_cells() {
        let gather = |recv| CollectiveCall::Gather { send: Some(recv), recv, root: Root::Rank(0) };
        let scatter = |send| CollectiveCall::Scatter { send, recv: Some(send), root: Root::Rank(0) };
        let (pieces, long) = (48 << 10, SHM_DIRECT_SCATTER_BYTES_MIN as u64);
        assert!(
            joins(scatter, pieces, 16, true)
                && joins(gather, pieces, 8, true)
                && !joins(gather, pieces, 16, true)
        );
        for size in [2, 4] {
            assert!(!joins(gather, pieces, size, true) && !joins(scatter, pieces, size, true));
        }
        assert!(!joins(gather, pieces, 8, false) && !joins(scatter, pieces, 8, false));
        assert!(
            joins(scatter, long, 3, true) && joins(scatter, long, 3, false) && !joins(scatter, long, 2, true)
        );
        assert!(joins(gather, long, 9, true) && !joins(gather, long, 4, true));
        let long = SHM_DIRECT_GATHER_BYTES_MIN as u64;
        assert!(
            joins(gather, long, 3, true) && joins(gather, long, 3, false) && !joins(gather, long, 2, true)
        );
    }

    const KIB: usize = 1024;

    #[test]
    fn where_cells_are_fast_long_blocks_alone_pay_for_one_copy() {
        let pays = |bytes, is_crowded, fast_cells| {
            pays_one_copy(bytes, CommonFacts { all_reach: true, is_crowded, fast_cells })
        };
        assert!(pays(9 * KIB, true, false) && !pays(9 * KIB, true, true) && !pays(1 << 20, false, false));
        assert!(!pays(64 * KIB, true, true) && pays(64 * KIB + 1, true, true));
    }

    #[test]
    fn where_ranks_share_cores_what_exceeds_a_slot_goes_straight() {
        for directly in [gathers_directly, scatters_directly] {
            assert!(directly(9 * KIB, 4, true) && !directly(9 * KIB, 4, false));
            assert!(directly(5 * KIB, 16, true) && !directly(5 * KIB, 8, true), "what fits lies in the slot");
            assert!(!directly(SHM_SHORT_BLOCK_BYTES_MAX, 64, true), "nobody asks for so few bytes");
            assert!(directly(128 * KIB, 3, false) && !directly(128 * KIB, 2, true));
        }
    }

    #[test]
    fn without_the_kernel_it_is_a_message() {
        assert!(goes_by_message(9 * KIB, 4, true) && !goes_by_message(9 * KIB, 4, false));
        assert!(goes_by_message(32 * KIB, 4, false), "three blocks do not fit, and the ranks are few");
        assert!(!goes_by_message(32 * KIB, 16, false));
    }

    #[test]
    fn vector_forms_with_a_root_take_steps_where_messages_can_follow() {
        let one = TypedCount::new(3, TypeLayout::contiguous(4));
        let gatherv =
            CollectiveCall::Gatherv { send: Some(one), recv: Vector::default(), root: Root::Rank(0) };
        let way = |size, habits| Method::of(&gatherv, &CommView::intra(1, size), None, habits);
        let sends_rest = Habits { sends_rest: true, ..Habits::default() };
        assert!(matches!(way(3, sends_rest), Some(Method::Gatherv { root: 0, .. })));
        assert!(way(2, sends_rest).is_none() && way(3, Habits::default()).is_none());
        assert!(way(3, Habits { check_types: true, ..sends_rest }).is_none(), "messages carry signatures");
    }
}
