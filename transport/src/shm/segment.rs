//! The job's shared segment: one memfd for all ranks of a machine, mapped sparsely.
//!
//! Every address is a base and an offset that [`Layout`] computes and checks. What lies there is reached
//! through atomics and raw pointers only, never through references to plain data: other processes write here,
//! and nothing that they write is used as an index or a length before it was copied and checked.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use nix::sys::resource::{Resource, getrlimit};

use crate::config::Config;
use crate::limits::{LINE_BYTES, TEAM_BYTES, TEAM_FLAGS};

use super::bell::BellWords;
use super::flag::Flag;
use super::layout::Layout;
use super::ring::RingMemory;
use super::team::Arrivals;

/// First words of a rank's region, each group on a line of its own by who writes it.
#[repr(C)]
pub(crate) struct Control {
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

/// A copy in which both sides take part, see `share.rs`.
#[repr(C, align(64))]
pub(crate) struct ShareSlot {
    /// Generation in the upper half, next chunk in the lower.
    pub(crate) claim: AtomicU64,
    /// Generation in the upper half, the first error number in the next 16 bits, finished chunks in the lowest.
    pub(crate) done: AtomicU64,
    /// Bytes of the whole copy.
    pub(crate) len: AtomicU64,
}

/// Where the ranks of a team meet, see `team.rs`: what each of them writes at each meeting, and apart from that what is
/// mostly read.
#[repr(C, align(128))]
pub(crate) struct TeamLines {
    /// Who has arrived at the meeting under way, and with which mark.
    pub(crate) arrivals: Arrivals,
    /// The last meeting that all have come to.
    pub(crate) gate: AtomicU64,
    /// The mark that all came with.
    pub(crate) gate_mark: AtomicU64,
    apart: [u64; 5],
    /// In steps of two: who sleeps; the lowest bit: sleepers cannot make others fence.
    pub(crate) sleepers: AtomicU32,
    /// Ranks that have left for good.
    pub(crate) left: AtomicU32,
}

const _: () = assert!(size_of::<Control>() == 4 * LINE_BYTES && size_of::<CellLine>() == LINE_BYTES);
const _: () = assert!(size_of::<ShareSlot>() == LINE_BYTES && size_of::<TeamLines>() == 2 * LINE_BYTES);

/// Why a rank cannot attach to the job's segment.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The numbers are beyond what can be addressed.
    #[error("a shared segment for {0} ranks cannot be addressed; lower TERN_RING_SLOTS or TERN_CELL_BYTES")]
    TooLarge(u32),
    /// The job has no segment although it has several ranks.
    #[error(
        "{0} ranks on this machine but no shared segment was handed over; start the program with Tern's mpirun"
    )]
    NoSegment(u32),
    /// This rank is not one of the job.
    #[error("rank {0} of a job of {1} ranks")]
    NotARank(u32, u32),
    /// `ftruncate` failed.
    #[error(
        "cannot size the shared segment to {bytes} bytes: {error}; is memory limited (ulimit -f, cgroup)?"
    )]
    Size {
        /// What was asked for.
        bytes: usize,
        /// The system's answer.
        error: io::Error,
    },
    /// `mmap` failed.
    #[error("cannot map the shared segment of {bytes} bytes: {error}; is address space limited (ulimit -v)?")]
    Map {
        /// What was asked for.
        bytes: usize,
        /// The system's answer.
        error: io::Error,
    },
    /// Ranks were started with different settings or libraries.
    #[error(
        "another rank of this job uses other TERN_RING_SLOTS, TERN_CELLS or TERN_CELL_BYTES, or another version \
         of the library; they must be the same on all ranks"
    )]
    Mismatch,
    /// Ranks were started with different settings.
    #[error(
        "this rank was started with other settings than the ranks that came before it on this machine: {0}; they must be the \
         same on all ranks (mpirun -x NAME passes a variable to all)"
    )]
    Settings(String),
}

/// The mapped segment.
pub(crate) struct Segment {
    base: NonNull<u8>,
    bytes: usize,
    layout: Layout,
}

// SAFETY: the mapping is plain memory that belongs to the process, not to a thread, and is reached through
// atomics, or through raw pointers by the protocols of this module that say who may write when.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// Maps the segment behind `fd`, giving it its size if it has none yet. Each rank does the same.
    pub(crate) fn attach(fd: &OwnedFd, size: u32, config: &Config) -> Result<Segment, AttachError> {
        let layout = Layout::new(size, config);
        let bytes = layout.segment_bytes().ok_or(AttachError::TooLarge(size))?;
        grow(fd, bytes).map_err(|error| AttachError::Size { bytes, error })?;
        let base = map(fd, bytes).map_err(|error| AttachError::Map { bytes, error })?;
        let segment = Segment { base, bytes, layout };
        segment.agree()?;
        Ok(segment)
    }

    /// The first rank leaves the layout's fingerprint; the others compare.
    fn agree(&self) -> Result<(), AttachError> {
        let mine = self.layout.fingerprint();
        // SAFETY: the job's page begins the mapping.
        let there = unsafe { self.view::<AtomicU64>(0) };
        match there.compare_exchange(0, mine, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(()),
            Err(other) if other == mine => Ok(()),
            Err(_) => Err(AttachError::Mismatch),
        }
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// # Safety
    /// At `offset` there must lie a `T`, which is made of atomics only.
    #[inline]
    unsafe fn view<T>(&self, offset: usize) -> &T {
        // SAFETY: within the mapping by `at`; mapped pages are initialised, and aligned as the layout's test
        // shows; the memory lives as long as `self`.
        unsafe { self.at(offset, size_of::<T>()).cast::<T>().as_ref() }
    }

    #[inline]
    fn at(&self, offset: usize, bytes: usize) -> NonNull<u8> {
        assert!(offset <= self.bytes && bytes <= self.bytes - offset, "offset {offset} of {}", self.bytes);
        // SAFETY: just checked to be within the one mapping.
        unsafe { self.base.add(offset) }
    }

    #[inline]
    pub(crate) fn control(&self, rank: u32) -> &Control {
        // SAFETY: the layout puts a `Control` there.
        unsafe { self.view(self.layout.control(rank)) }
    }

    #[inline]
    pub(crate) fn cell_line(&self, rank: u32, cell: u32) -> &CellLine {
        // SAFETY: the layout puts a `CellLine` there.
        unsafe { self.view(self.layout.cell_line(rank, cell)) }
    }

    /// The payload of a cell: `cell_bytes` bytes.
    #[inline]
    pub(crate) fn cell(&self, rank: u32, cell: u32) -> *mut u8 {
        self.at(self.layout.cell(rank, cell), self.layout.cell_bytes as usize).as_ptr()
    }

    pub(crate) fn share(&self, rank: u32, slot: usize) -> &ShareSlot {
        // SAFETY: the layout puts a `ShareSlot` there.
        unsafe { self.view(self.layout.share(rank, slot)) }
    }

    #[inline]
    pub(crate) fn team(&self, leader: u32, slot: u32) -> &TeamLines {
        // SAFETY: the layout puts `TeamLines` there.
        unsafe { self.view(self.layout.team(leader, slot as usize)) }
    }

    /// The flags of a team's room: [`TEAM_FLAGS`].
    pub(crate) fn team_flags(&self, leader: u32, slot: u32) -> NonNull<Flag> {
        let at = self.layout.team_flag(leader, slot as usize, 0);
        self.at(at, TEAM_FLAGS * size_of::<Flag>()).cast()
    }

    /// The data of a team's room: [`TEAM_BYTES`].
    pub(crate) fn team_data(&self, leader: u32, slot: u32) -> NonNull<u8> {
        self.at(self.layout.team_area(leader, slot as usize), TEAM_BYTES)
    }

    /// The ring that `sender` writes and `receiver` reads.
    ///
    /// # Safety
    /// The result must not be used after the segment is unmapped.
    pub(crate) unsafe fn ring(&self, receiver: u32, sender: u32) -> RingMemory {
        let count = self.layout.ring_lines;
        let lines_bytes = count as usize * LINE_BYTES;
        let consumed = self.at(self.layout.ring(receiver, sender), LINE_BYTES + lines_bytes);
        // SAFETY: the reader's line and the lines lie side by side in the mapping, just checked; a new segment is
        // zero.
        unsafe { RingMemory::new(consumed.add(LINE_BYTES).cast(), consumed.cast(), count) }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped; whoever keeps pointers into it keeps the segment.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// Gives the file its size unless it is longer, as when a rank that came earlier has made a window. Where its maker allows seals,
/// keeps any rank from shrinking it under the others (which would be a SIGBUS for them).
fn grow(fd: &OwnedFd, bytes: usize) -> io::Result<()> {
    let length = libc::off_t::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
    within_file_limit(bytes)?;
    if length_of(fd)? >= length {
        return Ok(());
    }
    // SAFETY: plain system calls on a descriptor that is open.
    unsafe {
        // Refused where another rank has sealed it and made it longer since the look.
        if libc::ftruncate(fd.as_raw_fd(), length) != 0 {
            let error = io::Error::last_os_error();
            return if length_of(fd)? >= length { Ok(()) } else { Err(error) };
        }
        libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK);
    }
    Ok(())
}

fn length_of(fd: &OwnedFd) -> io::Result<libc::off_t> {
    // SAFETY: all zeros is a `stat`, which the call fills in.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a plain system call on a descriptor that is open.
    match unsafe { libc::fstat(fd.as_raw_fd(), &mut stat) } {
        0 => Ok(stat.st_size),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Beyond the limit for files, which counts for shared memory too, the kernel would not refuse but kill (SIGXFSZ).
pub(super) fn within_file_limit(bytes: usize) -> io::Result<()> {
    match getrlimit(Resource::RLIMIT_FSIZE) {
        Ok((limit, _)) if bytes as u64 > limit => Err(io::Error::from_raw_os_error(libc::EFBIG)),
        _ => Ok(()),
    }
}

pub(super) fn map(fd: &OwnedFd, bytes: usize) -> io::Result<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, fd.as_raw_fd(), 0) };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(base.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}
