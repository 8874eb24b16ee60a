//! Which blocking collectives go over shared memory, by what all ranks know alike.

use crate::limits::*;
use tern_coll::{Call, Comm, Data, Layout, Root, Slice, Vector};
use tern_transport::Team;

/// A collective that goes over shared memory.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the fields are the standard's arguments, as in `tern_coll::Call`")]
pub enum Way {
    Bcast {
        data: Data,
        root: u32,
    },
    Reduce {
        data: Data,
        in_place: bool,
        root: u32,
    },
    Allreduce {
        data: Data,
        in_place: bool,
    },
    /// A reduction of more bytes than one meeting can hold for each rank: to the root, or without one to all.
    Accumulate {
        data: Data,
        in_place: bool,
        root: Option<u32>,
    },
    /// `MPI_Reduce_scatter` and its form for equal blocks; the blocks are in [`Blocks`].
    ReduceScatter {
        layout: Layout,
        /// Elements of the longest block.
        longest: u64,
        in_place: bool,
    },
    Scan {
        data: Data,
        in_place: bool,
    },
    Exscan {
        data: Data,
        in_place: bool,
    },
    Gather {
        send: Option<Data>,
        recv: Data,
        root: u32,
    },
    Scatter {
        send: Data,
        recv: Option<Data>,
        root: u32,
    },
    Allgather {
        send: Option<Data>,
        recv: Data,
    },
    Alltoall {
        send: Option<Data>,
        recv: Data,
    },
    /// The blocks are in [`Blocks`].
    Allgatherv {
        send: Option<Data>,
        /// Bytes of the longest block.
        longest: usize,
    },
    /// `MPI_Alltoallv` and `MPI_Alltoallw`; the blocks are in [`Blocks`].
    Alltoallv,
}

/// The blocks of a vector form, by rank.
#[derive(Debug, Default)]
pub struct Blocks {
    /// For each rank, if the call has them.
    pub to: Vec<Slice>,
    /// From each rank; of a scattered reduction, the result.
    pub from: Vec<Slice>,
}

impl Blocks {
    /// Takes the blocks of a call to or from `size` ranks; of one that has none, nothing.
    pub fn fill(&mut self, call: &Call, comm: &Comm) {
        let size = comm.size;
        match call {
            Call::ReduceScatter { counts, layout, in_place, .. } => {
                let count_of = |rank: u32| counts.count(rank as usize);
                self.fill_scattered(*layout, *in_place, comm, count_of);
            }
            Call::ReduceScatterBlock { data, in_place, .. } => {
                self.fill_scattered(data.layout, *in_place, comm, |_| data.count);
            }
            Call::Allgatherv { recv, .. } => self.fill_from(recv, size),
            Call::Alltoallv { send: Some(send), recv } | Call::Alltoallw { send: Some(send), recv } => {
                self.to.clear();
                self.to.extend((0..size).map(|rank| send.in_send(rank).slice()));
                self.fill_from(recv, size);
            }
            _ => {}
        }
    }

    fn fill_scattered(&mut self, layout: Layout, in_place: bool, comm: &Comm, count_of: impl Fn(u32) -> u64) {
        let all = Data::new(0, layout).operand(in_place);
        let mut first = 0;
        self.to.clear();
        self.to.extend((0..comm.size).map(|rank| {
            let block = all.part(first, count_of(rank));
            first += block.count;
            block.slice()
        }));
        self.from.clear();
        self.from.push(Data::new(count_of(comm.rank), layout).in_recv().slice());
    }

    fn fill_from(&mut self, recv: &Vector, size: u32) {
        self.from.clear();
        self.from.extend((0..size).map(|rank| recv.in_recv(rank).slice()));
    }
}

/// In which order a predefined operation may take its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
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
}

impl Way {
    /// How `call` goes among the ranks of a team; `None`: by messages. `order` is that of a predefined operation; there is none
    /// for a function of the program's. The answer is the same at all ranks of a correct
    /// program.
    pub fn of(call: &Call, comm: &Comm, order: Option<Order>, habits: Habits) -> Option<Way> {
        let (way, size) = (Way::named(call, comm.size, order)?, comm.size as usize);
        if habits.check_types && matches!(way, Way::Alltoallv | Way::Allgatherv { .. }) {
            return None;
        }
        if let Way::Alltoallv = way {
            // How much there is to move, no rank knows of all.
            return Some(way);
        }
        let bytes = way.block_bytes(comm.rank)?;
        let fits = way.fits(bytes, size) && !(habits.by_cells && way.is_faster_by_cells(bytes, size));
        fits.then(|| way.for_bytes(bytes, size, habits.by_cells))
    }

    /// The way without regard to bytes.
    fn named(call: &Call, size: u32, order: Option<Order>) -> Option<Way> {
        Some(match *call {
            Call::Bcast { data, root: Root::Rank(root) } => Way::Bcast { data, root },
            Call::Gather { send, recv, root: Root::Rank(root) } => Way::Gather { send, recv, root },
            Call::Scatter { send, recv, root: Root::Rank(root) } => Way::Scatter { send, recv, root },
            Call::Allgather { send, recv } => Way::Allgather { send, recv },
            Call::Alltoall { send, recv } => Way::Alltoall { send, recv },
            Call::Allgatherv { send, recv } => {
                let longest = (0..size).map(|rank| recv.in_recv(rank).bytes()).max()?;
                Way::Allgatherv { send, longest: usize::try_from(longest).ok()? }
            }
            Call::Alltoallv { send: Some(_), .. } | Call::Alltoallw { send: Some(_), .. } => Way::Alltoallv,
            Call::Reduce { data, in_place, root: Root::Rank(root), .. } if combines(&data, order) => {
                Way::Reduce { data, in_place, root }
            }
            Call::Allreduce { data, in_place, .. } if combines(&data, order) => {
                Way::Allreduce { data, in_place }
            }
            Call::ReduceScatter { counts, layout, in_place, .. }
                if combines(&Data::new(1, layout), order) =>
            {
                let longest = (0..size).map(|rank| counts.count(rank as usize)).max()?;
                Way::ReduceScatter { layout, longest, in_place }
            }
            Call::ReduceScatterBlock { data, in_place, .. } if combines(&data, order) => {
                Way::ReduceScatter { layout: data.layout, longest: data.count, in_place }
            }
            Call::Scan { data, in_place } if combines_in_order(&data, order) => Way::Scan { data, in_place },
            Call::Exscan { data, in_place } if combines_in_order(&data, order) => {
                Way::Exscan { data, in_place }
            }
            _ => return None,
        })
    }

    /// Bytes of one rank's block, or of the longest, which the standard wants to be the same at all ranks (section 6.1).
    fn block_bytes(&self, me: u32) -> Option<usize> {
        let bytes = match self {
            Way::Allgatherv { longest, .. } => return Some(*longest),
            Way::Alltoallv => return None,
            Way::Bcast { data, .. }
            | Way::Reduce { data, .. }
            | Way::Allreduce { data, .. }
            | Way::Accumulate { data, .. }
            | Way::Scan { data, .. }
            | Way::Exscan { data, .. } => data.bytes(),
            Way::ReduceScatter { layout, longest, .. } => longest.checked_mul(layout.size)?,
            Way::Allgather { recv, .. } | Way::Alltoall { recv, .. } => recv.bytes(),
            Way::Gather { send, recv, root } => if *root == me { *recv } else { (*send)? }.bytes(),
            Way::Scatter { send, recv, root } => if *root == me { *send } else { (*recv)? }.bytes(),
        };
        usize::try_from(bytes).ok()
    }

    /// Whether shared memory is the better way for blocks of so many bytes.
    fn fits(&self, bytes: usize, size: usize) -> bool {
        match self {
            Way::Bcast { .. } => size > 2 || bytes <= JOINT_PAIR_BYTES_MAX,
            Way::Reduce { .. } | Way::Allreduce { .. } | Way::Accumulate { .. } => true,
            Way::ReduceScatter { .. } => size > 2 || bytes <= Team::NOTE_BYTES,
            Way::Scan { .. } => true,
            // Between two ranks this is a message.
            Way::Exscan { .. } => size > 2 || bytes <= JOINT_PAIR_BYTES_MAX,
            Way::Gather { .. } | Way::Scatter { .. } => bytes.saturating_mul(size) <= Team::TRAY_BYTES,
            Way::Allgather { .. } | Way::Allgatherv { .. } => size == 2 || bytes <= JOINT_ALLGATHER_BYTES_MAX,
            Way::Alltoall { .. } | Way::Alltoallv => true,
        }
    }

    /// Whether messages are faster if they go by cells, though shared memory fits.
    fn is_faster_by_cells(&self, bytes: usize, size: usize) -> bool {
        let is_long_block = bytes >= JOINT_CELLS_BLOCK_BYTES_MIN;
        match self {
            Way::Bcast { .. } | Way::Exscan { .. } => size == 2 && bytes > JOINT_CELLS_PAIR_BYTES_MAX,
            Way::Allgather { .. } | Way::Allgatherv { .. } => size == 2 && is_long_block,
            Way::Alltoall { .. } if size > JOINT_CELLS_ALLTOALL_RANKS_MAX => {
                bytes >= JOINT_ALLTOALL_FETCH_BYTES_MIN
            }
            Way::Alltoall { .. } => is_long_block,
            _ => false,
        }
    }

    fn for_bytes(self, bytes: usize, size: usize, by_cells: bool) -> Way {
        let tray_share = Team::TRAY_BYTES / size;
        let sum_bytes_max = match by_cells && size == 2 {
            true => JOINT_CELLS_PAIR_BYTES_MAX,
            false => JOINT_REDUCE_BYTES_MAX,
        };
        match self {
            Way::Allreduce { data, in_place } if bytes > sum_bytes_max => {
                Way::Accumulate { data, in_place, root: None }
            }
            Way::Reduce { data, in_place, root } if bytes > JOINT_REDUCE_BYTES_MAX.min(tray_share) => {
                Way::Accumulate { data, in_place, root: Some(root) }
            }
            other => other,
        }
    }
}

/// Whether elements can be combined here and now, in any order.
fn combines(data: &Data, order: Option<Order>) -> bool {
    combines_in_order(data, order) && order == Some(Order::Any)
}

/// Whether elements can be combined here and now: by a predefined operation, and without gaps between them.
fn combines_in_order(data: &Data, order: Option<Order>) -> bool {
    data.layout.dense && order.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a call of so many bytes among `size` ranks goes over shared memory.
    fn joins(call: impl Fn(Data) -> Call<'static>, bytes: u64, size: u32, by_cells: bool) -> bool {
        let comm = Comm::intra(0, size);
        let habits = Habits { check_types: false, by_cells };
        Way::of(&call(Data::new(bytes, Layout::dense(1))), &comm, Some(Order::Any), habits).is_some()
    }

    #[test]
    fn long_blocks_go_by_messages_where_these_go_by_cells() {
        let alltoall = |recv| Call::Alltoall { send: Some(recv), recv };
        let bcast = |data| Call::Bcast { data, root: Root::Rank(0) };
        for (size, shared_bytes_max) in [(2, 8 << 10), (4, 8 << 10), (8, 32 << 10), (32, 32 << 10)] {
            assert!(joins(alltoall, shared_bytes_max - 1, size, true));
            assert!(!joins(alltoall, shared_bytes_max, size, true));
            assert!(joins(alltoall, 1 << 16, size, false));
        }
        assert!(joins(bcast, 4096, 2, true) && !joins(bcast, 8192, 2, true) && joins(bcast, 8192, 2, false));
        assert!(joins(bcast, 8192, 3, true));
    }
}
