//! The words that ranks share in the segment, apart from rings, flags and data: what lies where [`super::layout`] says.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::limits::{FLAG_SLEEPERS, LINE_BYTES, PARTED_RANKS_MAX, PARTS_MAX};

use super::bell_words::BellWords;
use super::shm_comm::Arrivals;

/// First words of a rank's region, each group on a line of its own by who writes it.
#[repr(C)]
pub(crate) struct RegionControl {
    pub(crate) hello: Hello,
    pub(crate) bell: BellWords,
    pub(crate) queue_tail: LineWord,
    pub(crate) queue_stub: LineWord,
}

/// What a rank says of itself when it attaches; `ready` last.
#[repr(C, align(64))]
pub(crate) struct Hello {
    pub(crate) ready: AtomicU32,
    pub(crate) pid: AtomicU32,
    /// Address, in the rank's own memory, of a word that holds [`super::cma::PROBE_WORD`].
    pub(crate) probe_addr: AtomicU64,
    /// One more than the core that the rank was on last, where ranks share cores; 0 as long as it has not said.
    pub(crate) core: AtomicU32,
}

/// One word that has a line for itself.
#[repr(C, align(64))]
pub(crate) struct LineWord(pub(crate) AtomicU32);

/// A cell's state and, while it is in a queue, its link and its message's header.
#[derive(Default)]
#[repr(C, align(64))]
pub(crate) struct CellLine {
    /// [`CELL_FREE`] or [`CELL_BUSY`]: the owner sets busy, the receiver sets free.
    pub(crate) state: AtomicU32,
    pub(crate) next: AtomicU32,
    /// Written by the owner before the cell is queued, read by the receiver once.
    pub(crate) head: [AtomicU64; 4],
    /// Nanoseconds in which the receiver has copied it out, if its owner asked for that; 0 until then.
    pub(crate) took: AtomicU32,
}

/// The cell is its owner's to fill. Zero, so that a new segment is all free cells.
pub(crate) const CELL_FREE: u32 = 0;
/// The cell is on its way to a receiver.
pub(crate) const CELL_BUSY: u32 = 1;

/// A copy in which both sides take part, see `cooperative_copy.rs`.
#[repr(C, align(64))]
pub(crate) struct CooperativeCopySlot {
    /// Generation in the upper half, next chunk in the lower.
    pub(crate) claim: AtomicU64,
    /// Generation in the upper half, the first error number in the next 16 bits, finished chunks in the lowest.
    pub(crate) done: AtomicU64,
    /// Bytes of the whole copy.
    pub(crate) len: AtomicU64,
}

/// Where the ranks of a shm communicator synchronize, see `shm_comm.rs`: what each of them writes at each sync step, and apart from
/// that what is mostly read.
#[repr(C, align(128))]
pub(crate) struct ShmCommWords {
    /// Who has arrived at the sync step under way, and with which mark.
    pub(crate) arrivals: Arrivals,
    /// The last sync step that all have come to.
    pub(crate) gate: AtomicU64,
    /// The mark that all came with.
    pub(crate) gate_mark: AtomicU64,
    apart: [u64; 5],
    /// In steps of two: who sleeps until the gate opens; the lowest bit: sleepers cannot make others fence.
    pub(crate) gate_sleepers: AtomicU32,
    /// Ranks that have left for good.
    pub(crate) left: AtomicU32,
    /// The same of those who sleep on flags: on one of those whose number has the same remainder.
    pub(crate) flag_sleepers: [AtomicU8; FLAG_SLEEPERS],
    /// Not zero: there are ranks that sleep on their bells even while they wait for the gate or a flag.
    pub(crate) by_bell: AtomicU32,
    /// Into how many parts the ranks are divided; 0 while they are not.
    pub(crate) parts: AtomicU32,
}

/// What the ranks of one part write, apart from the lines of others.
#[repr(C, align(128))]
pub(crate) struct PartWords {
    pub(crate) arrivals: Arrivals,
    pub(crate) gate: AtomicU64,
    pub(crate) gate_mark: AtomicU64,
}

/// The parts of a shm communicator, see `shm_comm/parts.rs`.
#[repr(C, align(128))]
pub(crate) struct ShmCommParts {
    pub(crate) parts: [PartWords; PARTS_MAX],
    /// Where each rank is, as [`super::shm_comm::BoundPlace`] is written.
    pub(crate) places: [AtomicU32; PARTED_RANKS_MAX],
    /// The part of each rank.
    pub(crate) part_of: [AtomicU8; PARTED_RANKS_MAX],
}

impl ShmCommParts {
    /// For the next shm communicator.
    pub(crate) fn clear(&self) {
        for part in &self.parts {
            part.arrivals.clear();
            part.gate.store(0, Ordering::Relaxed);
        }
        self.places.iter().for_each(|place| place.store(0, Ordering::Relaxed));
    }
}

const _: () = assert!(size_of::<RegionControl>() == 4 * LINE_BYTES && size_of::<CellLine>() == LINE_BYTES);
const _: () =
    assert!(size_of::<CooperativeCopySlot>() == LINE_BYTES && size_of::<ShmCommWords>() == 2 * LINE_BYTES);
