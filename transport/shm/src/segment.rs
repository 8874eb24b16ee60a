//! The job's shared segment: one memfd for all ranks of a machine, mapped sparsely.
//!
//! Every address is a base and an offset that [`SegmentLayout`] computes and checks. What lies there is reached
//! through atomics and raw pointers only, never through references to plain data: other processes write here,
//! and nothing that they write is used as an index or a length before it was copied and checked.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::resource::{Resource, getrlimit};

use crate::limits::{LINE_BYTES, PAGE_BYTES, SHARED_BUFFER_DATA_BYTES, SHARED_BUFFER_FLAGS};
use tern_transport::config::TransportConfig;

use super::bell_words::BellWords;
use super::first_page::LAYOUT_AT;
use super::flag::Flag;
use super::layout::SegmentLayout;
use super::ring::RingMemory;
use super::segment_words::{CellLine, CooperativeCopySlot, RegionControl, ShmCommParts, ShmCommWords};

/// Why a rank cannot attach to the job's segment.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The numbers are beyond what can be addressed.
    #[error("a shared segment for {0} ranks cannot be addressed; lower TERN_RING_SLOTS or TERN_CELL_BYTES")]
    TooLarge(u32),
    /// The job has no segment although it has several ranks.
    #[error(
        "{0} ranks on this node but no shared segment was handed over; start the program with Tern's mpirun"
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
    /// What a process of another world has told of its memory cannot be used.
    #[error("the memory of a process of another world cannot be opened: {0}")]
    Process(io::Error),
    /// Ranks were started with different settings.
    #[error(
        "this rank was started with other settings than the ranks that came before it on this node: {0}; they must be the \
         same on all ranks (mpirun -x NAME passes a variable to all)"
    )]
    Settings(String),
}

/// The mapped segment.
pub(crate) struct Segment {
    base: NonNull<u8>,
    bytes: usize,
    layout: SegmentLayout,
    /// Of the other process, in the memory of two of different worlds: each sleeps where the ranks of its world ring.
    far_bell: Option<FarBell>,
}

// SAFETY: the mapping is plain memory that belongs to the process, not to a thread, and is reached through
// atomics, or through raw pointers by the protocols of this module that say who may write when.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// Maps the segment behind `fd`, giving it its size if it has none yet. Each rank does the same.
    pub(crate) fn attach(fd: &OwnedFd, size: u32, config: &TransportConfig) -> Result<Segment, AttachError> {
        let layout = SegmentLayout::new(size, config);
        let bytes = layout.segment_bytes().ok_or(AttachError::TooLarge(size))?;
        grow(fd, bytes).map_err(|error| AttachError::Size { bytes, error })?;
        let base = map(fd, bytes).map_err(|error| AttachError::Map { bytes, error })?;
        let segment = Segment { base, bytes, layout, far_bell: None };
        segment.agree()?;
        Ok(segment)
    }

    /// The first rank leaves the layout's fingerprint; the others compare.
    fn agree(&self) -> Result<(), AttachError> {
        let mine = self.layout.fingerprint();
        // SAFETY: the job's page begins the mapping.
        let there = unsafe { self.view::<AtomicU64>(LAYOUT_AT) };
        match there.compare_exchange(0, mine, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(()),
            Err(other) if other == mine => Ok(()),
            Err(_) => Err(AttachError::Mismatch),
        }
    }

    /// The same with the bell of the other one of two processes.
    pub(crate) fn with_far_bell(mut self, bell: FarBell) -> Segment {
        self.far_bell = Some(bell);
        self
    }

    pub(crate) fn layout(&self) -> &SegmentLayout {
        &self.layout
    }

    /// # Safety
    /// At `offset` there must lie a `T`, which is made of atomics only.
    #[inline]
    unsafe fn view<T>(&self, offset: usize) -> &T {
        // SAFETY: within the mapping by `at`; mapped pages are initialized, and aligned as the layout's test
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
    pub(crate) fn control(&self, rank: u32) -> &RegionControl {
        // SAFETY: the layout puts a `RegionControl` there.
        unsafe { self.view(self.layout.control(rank)) }
    }

    /// What wakes a rank: a peer, where the segment is that of two processes of different worlds.
    #[inline]
    pub(crate) fn bell(&self, rank: u32) -> &BellWords {
        match &self.far_bell {
            None => &self.control(rank).bell,
            Some(far) => far.words(),
        }
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

    pub(crate) fn cooperative_copy_slot(&self, rank: u32, slot: usize) -> &CooperativeCopySlot {
        // SAFETY: the layout puts a `CooperativeCopySlot` there.
        unsafe { self.view(self.layout.cooperative_copy_slot(rank, slot)) }
    }

    #[inline]
    pub(crate) fn shm_comm(&self, leader: u32, slot: u32) -> &ShmCommWords {
        // SAFETY: the layout puts `ShmCommWords` there.
        unsafe { self.view(self.layout.shm_comm(leader, slot as usize)) }
    }

    #[inline]
    pub(crate) fn shm_comm_parts(&self, leader: u32, slot: u32) -> &ShmCommParts {
        // SAFETY: the layout puts `ShmCommParts` there.
        unsafe { self.view(self.layout.shm_comm_parts(leader, slot as usize)) }
    }

    /// The flags of a shared buffer: [`SHARED_BUFFER_FLAGS`].
    pub(crate) fn shared_flags(&self, leader: u32, slot: u32) -> NonNull<Flag> {
        let at = self.layout.shared_flag(leader, slot as usize, 0);
        self.at(at, SHARED_BUFFER_FLAGS * size_of::<Flag>()).cast()
    }

    /// The data of a shared buffer: [`SHARED_BUFFER_DATA_BYTES`].
    pub(crate) fn shared_data(&self, leader: u32, slot: u32) -> NonNull<u8> {
        self.at(self.layout.shared_data(leader, slot as usize), SHARED_BUFFER_DATA_BYTES)
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

/// The bell of a process of another world, mapped here.
#[derive(Debug)]
pub struct FarBell {
    page: NonNull<u8>,
}

/// The bell's words lie in the first page of a rank's region.
const BELL_AT: usize = std::mem::offset_of!(RegionControl, bell);

const _: () = assert!(BELL_AT + size_of::<BellWords>() <= PAGE_BYTES);

// SAFETY: the mapping belongs to the process and not to a thread, and is reached through atomics.
unsafe impl Send for FarBell {}
// SAFETY: as above.
unsafe impl Sync for FarBell {}

impl FarBell {
    /// Maps the page of another process's memory file in which its region begins.
    pub(crate) fn map(file: &OwnedFd, page: u64) -> io::Result<FarBell> {
        let end = page.checked_add(PAGE_BYTES as u64);
        let is_there = end.is_some_and(|end| end <= stat(file).map_or(0, |stat| stat.st_size as u64));
        if !is_there || !page.is_multiple_of(PAGE_BYTES as u64) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(FarBell { page: map_range(Some(file), page, PAGE_BYTES)? })
    }

    pub(crate) fn words(&self) -> &BellWords {
        // SAFETY: within the page, which is mapped as long as `self`; the words are atomics, and any bytes are some.
        unsafe { self.page.add(BELL_AT).cast().as_ref() }
    }
}

impl Drop for FarBell {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped; whoever keeps pointers into it keeps the segment that has this bell.
        unsafe { libc::munmap(self.page.as_ptr().cast(), PAGE_BYTES) };
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
    stat(fd).map(|stat| stat.st_size)
}

/// What the system says of an open file.
pub(super) fn stat(fd: &OwnedFd) -> io::Result<libc::stat> {
    // SAFETY: all zeros is a `stat`, which the call fills in.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a plain system call on a descriptor that is open.
    match unsafe { libc::fstat(fd.as_raw_fd(), &mut stat) } {
        0 => Ok(stat),
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

/// Maps the beginning of the file.
pub(super) fn map(fd: &OwnedFd, bytes: usize) -> io::Result<NonNull<u8>> {
    map_range(Some(fd), 0, bytes)
}

/// Maps a range of a file, or without one memory that is nobody else's. `place` is a multiple of the size of a page.
pub(super) fn map_range(fd: Option<&OwnedFd>, place: u64, bytes: usize) -> io::Result<NonNull<u8>> {
    map_at(fd, place, bytes, None)
}

/// The same at an address that is a multiple of `align`, a power of two.
pub(super) fn map_aligned(
    fd: Option<&OwnedFd>,
    place: u64,
    bytes: usize,
    align: usize,
) -> io::Result<NonNull<u8>> {
    let room = bytes.checked_add(align).ok_or(io::ErrorKind::OutOfMemory)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice, which nobody can use yet.
    let first = unsafe { libc::mmap(std::ptr::null_mut(), room, libc::PROT_NONE, flags, -1, 0) };
    if first == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let first = first.cast::<u8>();
    let before = first.addr().next_multiple_of(align) - first.addr();
    let base = first.wrapping_add(before);
    let mapped = map_at(fd, place, bytes, Some(base));
    let used = if mapped.is_ok() { bytes } else { 0 };
    for (from, bytes) in [(first, before), (base.wrapping_add(used), room - before - used)] {
        // SAFETY: what is left of the new mapping, a whole number of pages.
        _ = unsafe { bytes > 0 && libc::munmap(from.cast(), bytes) == 0 };
    }
    mapped
}

fn map_at(fd: Option<&OwnedFd>, place: u64, bytes: usize, at: Option<*mut u8>) -> io::Result<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let of_nothing = if fd.is_none() { libc::MAP_ANONYMOUS } else { 0 };
    let fixed = if at.is_some() { libc::MAP_FIXED } else { 0 };
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE | of_nothing | fixed;
    let (fd, place) = (fd.map_or(-1, |fd| fd.as_raw_fd()), place as libc::off_t);
    let at = at.map_or(std::ptr::null_mut(), <*mut u8>::cast);
    // SAFETY: a new mapping at an address of the kernel's choice, or in place of one that nobody uses.
    let base = unsafe { libc::mmap(at, bytes, protection, flags, fd, place) };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(base.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}
