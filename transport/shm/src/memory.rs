//! Memory that the program's windows share: ranges behind the segment in the job's memory file.
//!
//! The file has no name and grows as ranges are reserved. A range is never given out twice: what is released goes back to the
//! system as a hole, and addresses in a file are plenty. So no rank has to know what others hold.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::abroad::{FileOf, out_of_the_way};
use super::first_page::RESERVED_AT;
use super::segment::{map_aligned, map_range, stat, within_file_limit};
use crate::limits::{MEMORY_GROWTH_BYTES, PAGE_BYTES, RELEASED_BYTES_MAX, RELEASED_RANGES_MAX};

/// Ranges begin here, behind every segment: 16 TiB.
const FIRST: u64 = 1 << 44;
/// Ranges end before this: what a memory file can hold.
const END: u64 = 1 << 62;
/// No range is longer: what a process can map, of which some is in use already.
const RANGE_BYTES_MAX: u64 = 1 << 47;

/// The job's memory file, for windows. Any thread may use it.
#[derive(Debug)]
pub struct JobMemory {
    /// `None` in a job of one rank, whose ranges are its own.
    file: Option<MemoryFile>,
}

#[derive(Debug)]
struct MemoryFile {
    fd: OwnedFd,
    /// Device and number: a program may close all its descriptors, and get others by the same number.
    name: (u64, u64),
    /// The first page, from the first reservation on.
    first_page: OnceLock<SharedRange>,
    /// How far the file reaches at least. It never gets shorter.
    reached: AtomicU64,
    /// Ranges (place, bytes) that this rank has released and that are no holes yet.
    released: Mutex<VecDeque<(u64, usize)>>,
}

/// A range of the file that is mapped here; unmapped with this value. Other ranks write to it at any time, so it is reached through
/// atomics, and through raw pointers by the rules of a window.
#[derive(Debug)]
pub struct SharedRange {
    base: NonNull<u8>,
    bytes: usize,
    /// The range that this is a part of, which keeps the mapping.
    whole: Option<Arc<SharedRange>>,
}

// SAFETY: the mapping belongs to the process and not to a thread; what gives access to it are atomics and raw pointers.
unsafe impl Send for SharedRange {}
// SAFETY: as above.
unsafe impl Sync for SharedRange {}

impl JobMemory {
    /// The memory behind `fd`, which all ranks of this machine have; without it, of this process alone.
    pub fn new(fd: Option<&OwnedFd>) -> io::Result<JobMemory> {
        Ok(JobMemory { file: fd.map(MemoryFile::new).transpose()? })
    }

    /// The file, as other processes of this host find it. None in a job of one rank.
    pub fn file_of(&self) -> Option<FileOf> {
        let MemoryFile { fd, name, .. } = self.file.as_ref()?;
        Some(FileOf { pid: std::process::id(), fd: fd.as_raw_fd() as u32, inode: name.1 })
    }

    /// Takes a range of `bytes`, rounded up to whole pages. It reads as zeros.
    pub fn reserve(self: &Arc<Self>, bytes: usize) -> io::Result<Reservation> {
        let bytes = whole_pages(bytes)?;
        let memory = self.clone();
        let Some(file) = &self.file else { return Ok(Reservation { memory, place: 0, bytes }) };
        // What nobody could map is not counted: places are never used again, so that a few such ranges would leave no others.
        if bytes as u64 > RANGE_BYTES_MAX {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let reserved = file.first_page()?.word(RESERVED_AT);
        let fits = |before: u64| before.checked_add(bytes as u64).filter(|after| *after < END - FIRST);
        let before = reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        let place = FIRST + before.map_err(|_| io::ErrorKind::OutOfMemory)?;
        if let Err(error) = file.reach(place + bytes as u64) {
            // Unless another rank has reserved meanwhile, as if nothing had happened.
            let after = place - FIRST + bytes as u64;
            let _ = reserved.compare_exchange(after, place - FIRST, Ordering::Relaxed, Ordering::Relaxed);
            return Err(error);
        }
        Ok(Reservation { memory, place, bytes })
    }

    /// Maps a range that some rank of this machine has reserved.
    pub fn map(&self, place: u64, bytes: usize) -> io::Result<SharedRange> {
        self.map_aligned(place, bytes, PAGE_BYTES)
    }

    /// The same at an address that is a multiple of `align`, a power of two.
    pub fn map_aligned(&self, place: u64, bytes: usize, align: usize) -> io::Result<SharedRange> {
        let bytes = whole_pages(bytes)?;
        match &self.file {
            Some(file) => file.map_aligned(place, bytes, align),
            None => SharedRange::map(None, 0, bytes, align),
        }
    }
}

/// A range that this rank has taken. With this value its memory goes back to the system, if it is small some releases later; nobody may
/// use it any more then, mapped or not.
#[derive(Debug)]
pub struct Reservation {
    memory: Arc<JobMemory>,
    place: u64,
    bytes: usize,
}

impl Reservation {
    /// Where it is in the file, by which all ranks of this machine can map it.
    pub fn place(&self) -> u64 {
        self.place
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let Some(file) = self.memory.file.as_ref() else { return };
        file.release(self.place, self.bytes);
    }
}

fn whole_pages(bytes: usize) -> io::Result<usize> {
    let pages = bytes.max(1).checked_next_multiple_of(PAGE_BYTES);
    pages.filter(|bytes| isize::try_from(*bytes).is_ok()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

impl MemoryFile {
    fn new(fd: &OwnedFd) -> io::Result<MemoryFile> {
        let fd = out_of_the_way(fd)?;
        let name = name_of(&fd)?;
        Ok(MemoryFile {
            fd,
            name,
            first_page: OnceLock::new(),
            reached: AtomicU64::new(0),
            released: Mutex::default(),
        })
    }

    fn first_page(&self) -> io::Result<&SharedRange> {
        if let Some(page) = self.first_page.get() {
            return Ok(page);
        }
        let page = self.map(0, PAGE_BYTES)?;
        Ok(self.first_page.get_or_init(|| page))
    }

    /// Makes a range a hole, if it is small later. A hole takes its pages from all who have them mapped, which interrupts their cores;
    /// ranks that free a window together have unmapped it soon.
    fn release(&self, place: u64, bytes: usize) {
        let due = if bytes > RELEASED_BYTES_MAX {
            Some((place, bytes))
        } else {
            let mut released = self.released.lock().unwrap_or_else(PoisonError::into_inner);
            released.push_back((place, bytes));
            if released.len() > RELEASED_RANGES_MAX { released.pop_front() } else { None }
        };
        let Some((place, bytes)) = due.filter(|_| self.is_there()) else { return };
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: a plain system call on the file's own descriptor. What it cannot do, the end of the job does.
        unsafe { libc::fallocate(self.fd.as_raw_fd(), mode, place as libc::off_t, bytes as libc::off_t) };
    }

    fn is_there(&self) -> bool {
        name_of(&self.fd).is_ok_and(|name| name == self.name)
    }

    fn map(&self, place: u64, bytes: usize) -> io::Result<SharedRange> {
        self.map_aligned(place, bytes, PAGE_BYTES)
    }

    fn map_aligned(&self, place: u64, bytes: usize, align: usize) -> io::Result<SharedRange> {
        if !self.is_there() {
            return Err(closed());
        }
        SharedRange::map(Some(&self.fd), place, bytes, align)
    }

    /// Makes the file reach so far at least, whatever other ranks do.
    fn reach(&self, end: u64) -> io::Result<()> {
        if end <= self.reached.load(Ordering::Relaxed) {
            return Ok(());
        }
        within_file_limit(usize::try_from(end).unwrap_or(usize::MAX))?;
        let found = stat(&self.fd)?;
        if (found.st_dev, found.st_ino) != self.name {
            return Err(closed());
        }
        let mut reached = found.st_size as u64;
        if end > reached {
            reached = self.grow(end)?;
        }
        self.reached.fetch_max(reached, Ordering::Relaxed);
        Ok(())
    }

    /// Makes the file longer; its length. More than is asked for, so that most reservations find it long enough. Nothing here writes
    /// where another rank may have written, and nothing makes the file shorter.
    fn grow(&self, end: u64) -> io::Result<u64> {
        let ahead = end.next_multiple_of(MEMORY_GROWTH_BYTES).min(END);
        if within_file_limit(usize::try_from(ahead).unwrap_or(usize::MAX)).is_ok() {
            // SAFETY: a plain system call on the file's own descriptor. It keeps the byte, if there is one.
            let grown = unsafe { libc::fallocate(self.fd.as_raw_fd(), 0, ahead as libc::off_t - 1, 1) };
            if grown == 0 {
                return Ok(ahead);
            }
        }
        // The last byte of a range that this rank alone has yet.
        // SAFETY: one byte is read from where a byte is.
        let written =
            unsafe { libc::pwrite(self.fd.as_raw_fd(), [0u8].as_ptr().cast(), 1, end as libc::off_t - 1) };
        if written == 1 { Ok(end) } else { Err(io::Error::last_os_error()) }
    }
}

#[cold]
fn closed() -> io::Error {
    io::Error::other("the program has closed the descriptor of the job's memory")
}

fn name_of(fd: &OwnedFd) -> io::Result<(u64, u64)> {
    stat(fd).map(|stat| (stat.st_dev, stat.st_ino))
}

impl SharedRange {
    /// No bytes: in place of what another machine has.
    pub const fn none() -> SharedRange {
        SharedRange { base: NonNull::dangling(), bytes: 0, whole: None }
    }

    /// Whether it has none.
    pub fn is_none(&self) -> bool {
        self.bytes == 0
    }

    fn map(fd: Option<&OwnedFd>, place: u64, bytes: usize, align: usize) -> io::Result<SharedRange> {
        let base = match align {
            0..=PAGE_BYTES => map_range(fd, place, bytes)?,
            _ => map_aligned(fd, place, bytes, align)?,
        };
        Ok(SharedRange { base, bytes, whole: None })
    }

    /// Some of its bytes, which stay mapped as long as this part.
    ///
    /// # Panics
    /// If they are not all within the range.
    pub fn part(self: &Arc<Self>, offset: usize, bytes: usize) -> SharedRange {
        let base = NonNull::new(self.at(offset, bytes)).expect("a mapping is not at null");
        SharedRange { base, bytes, whole: Some(self.clone()) }
    }

    /// Address of the byte at `offset`, which may be the first behind the range.
    ///
    /// # Panics
    /// If `bytes` from there are not within the range.
    #[inline]
    pub fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(
            offset <= self.bytes && bytes <= self.bytes - offset,
            "{bytes} at {offset} of {}",
            self.bytes
        );
        // SAFETY: just checked to be within the one mapping.
        unsafe { self.base.add(offset).as_ptr() }
    }

    /// The word at `offset`, which is a multiple of 8.
    ///
    /// # Panics
    /// If it is not within the range.
    #[inline]
    pub fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(align_of::<AtomicU64>()));
        // SAFETY: within the mapping, aligned, initialized by the system, and as long there as `self`.
        unsafe { &*self.at(offset, size_of::<AtomicU64>()).cast::<AtomicU64>() }
    }

    /// The first words.
    ///
    /// # Panics
    /// If they are not all within the range.
    #[inline(always)]
    pub fn first_words<const COUNT: usize>(&self) -> &[AtomicU64; COUNT] {
        self.expect_bytes(size_of::<[AtomicU64; COUNT]>());
        // SAFETY: as above, for each of them.
        unsafe { self.base.cast().as_ref() }
    }

    /// The same as halves of words.
    ///
    /// # Panics
    /// If they are not all within the range.
    #[inline(always)]
    pub fn first_half_words<const COUNT: usize>(&self) -> &[AtomicU32; COUNT] {
        self.expect_bytes(size_of::<[AtomicU32; COUNT]>());
        // SAFETY: as above.
        unsafe { self.base.cast().as_ref() }
    }

    /// Panics if there are fewer bytes. What it says is made apart, so that the look is one comparison.
    #[inline(always)]
    fn expect_bytes(&self, bytes: usize) {
        #[cold]
        #[inline(never)]
        fn fail(bytes: usize, all: usize) -> ! {
            panic!("{bytes} at 0 of {all}")
        }
        if bytes > self.bytes {
            fail(bytes, self.bytes);
        }
    }

    /// Half a word at `offset`, which is a multiple of 4.
    ///
    /// # Panics
    /// If it is not within the range.
    #[inline]
    pub fn half_word(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(align_of::<AtomicU32>()));
        // SAFETY: as above.
        unsafe { &*self.at(offset, size_of::<AtomicU32>()).cast::<AtomicU32>() }
    }
}

impl Drop for SharedRange {
    fn drop(&mut self) {
        if self.is_none() || self.whole.is_some() {
            return;
        }
        // SAFETY: exactly what was mapped; references to it have ended, and pointers are no longer used by the rules of a window.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::os::fd::FromRawFd;

    fn file() -> OwnedFd {
        // SAFETY: the name is a C string; the descriptor is new.
        let fd = unsafe { libc::memfd_create(c"memory".as_ptr(), libc::MFD_CLOEXEC) };
        assert!(fd >= 0);
        // SAFETY: as above.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: a plain system call.
        assert_eq!(unsafe { libc::ftruncate(fd.as_raw_fd(), PAGE_BYTES as libc::off_t) }, 0);
        fd
    }

    fn blocks(fd: &OwnedFd) -> i64 {
        stat(fd).unwrap().st_blocks
    }

    fn memory(fd: &OwnedFd) -> Arc<JobMemory> {
        Arc::new(JobMemory::new(Some(fd)).unwrap())
    }

    #[test]
    fn ranges_are_shared_apart_and_given_back() {
        let fd = file();
        let (one, two) = (memory(&fd), memory(&fd));
        let bytes = RELEASED_BYTES_MAX + 1;
        let (a, b) = (one.reserve(bytes).unwrap(), two.reserve(1).unwrap());
        assert_eq!(b.place() - a.place(), (RELEASED_BYTES_MAX + PAGE_BYTES) as u64);
        let (here, there) = (one.map(a.place(), bytes).unwrap(), two.map(a.place(), bytes).unwrap());
        here.word(9_992).store(7, Ordering::Relaxed);
        assert_eq!(there.word(9_992).load(Ordering::Relaxed), 7);
        assert_eq!(two.map(b.place(), 1).unwrap().word(0).load(Ordering::Relaxed), 0);
        drop((here, there));
        let before = blocks(&fd);
        drop(a);
        assert!(blocks(&fd) < before, "the memory went back to the system");
    }

    /// A part outlives the value that it is a part of, and has no bytes but its own.
    #[test]
    fn parts_keep_what_they_are_parts_of() {
        let fd = file();
        let memory = memory(&fd);
        let (a, b) = (memory.reserve(1).unwrap(), memory.reserve(1).unwrap());
        let whole = Arc::new(memory.map(a.place(), 2 * PAGE_BYTES).unwrap());
        let (first, second) = (whole.part(0, PAGE_BYTES), whole.part(PAGE_BYTES, PAGE_BYTES));
        drop(whole);
        drop(first);
        second.word(8).store(5, Ordering::Relaxed);
        assert_eq!(memory.map(b.place(), 16).unwrap().word(8).load(Ordering::Relaxed), 5);
        assert!(std::panic::catch_unwind(move || _ = second.at(0, PAGE_BYTES + 1)).is_err());
    }

    #[test]
    fn a_process_alone_has_its_own() {
        let memory = Arc::new(JobMemory::new(None).unwrap());
        let (a, b) = (memory.map(memory.reserve(8).unwrap().place(), 8), memory.map(0, 8));
        let (a, b) = (a.unwrap(), b.unwrap());
        a.half_word(4).store(1, Ordering::Relaxed);
        assert_eq!(b.word(0).load(Ordering::Relaxed), 0);
        assert_eq!(a.first_words::<2>()[0].load(Ordering::Relaxed), 1 << 32);
        assert_eq!(a.first_half_words::<512>()[1].load(Ordering::Relaxed), 1);
    }

    #[test]
    fn ranges_begin_where_they_are_wanted() {
        let fd = file();
        for memory in [memory(&fd), Arc::new(JobMemory::new(None).unwrap())] {
            let range = memory.reserve(10_000).unwrap();
            for align in [1, PAGE_BYTES, 1 << 16, 1 << 21] {
                let mapped = memory.map_aligned(range.place(), 10_000, align).unwrap();
                assert!(mapped.at(0, 10_000).addr().is_multiple_of(align));
                mapped.word(9_992).store(1, Ordering::Relaxed);
            }
        }
    }

    #[test]
    #[should_panic(expected = "8 at 4096 of 4096")]
    fn nothing_behind_the_range_is_reached() {
        JobMemory::new(None).unwrap().map(0, 8).unwrap().word(PAGE_BYTES);
    }

    #[test]
    #[should_panic(expected = "4104 at 0 of 4096")]
    fn no_first_words_are_behind_the_range() {
        JobMemory::new(None).unwrap().map(0, 8).unwrap().first_words::<513>();
    }

    /// The file grows ahead, which costs a page, and never over what another rank has written.
    #[test]
    fn growing_ahead_writes_nothing() {
        let fd = file();
        let (one, two) = (memory(&fd), memory(&fd));
        let late = two.file.as_ref().unwrap();
        let whole = one.reserve(MEMORY_GROWTH_BYTES as usize).unwrap();
        assert_eq!(stat(&fd).unwrap().st_size as u64, FIRST + MEMORY_GROWTH_BYTES);
        let range = one.map(whole.place(), MEMORY_GROWTH_BYTES as usize).unwrap();
        let last = MEMORY_GROWTH_BYTES as usize - 8;
        range.word(last).store(u64::MAX, Ordering::Relaxed);
        // As if the other rank had seen the file before it grew.
        assert_eq!(late.grow(FIRST + 1).unwrap(), FIRST + MEMORY_GROWTH_BYTES);
        assert_eq!(range.word(last).load(Ordering::Relaxed), u64::MAX);
        assert_eq!(stat(&fd).unwrap().st_size as u64, FIRST + MEMORY_GROWTH_BYTES, "no shorter");
    }

    #[test]
    fn windows_in_a_loop_leave_nothing() {
        let fd = file();
        let memories = [memory(&fd), memory(&fd)];
        let before = blocks(&fd);
        for _ in 0..5_000 {
            let ranges = memories.each_ref().map(|memory| memory.reserve(2 * PAGE_BYTES).unwrap());
            for (memory, range) in memories.iter().zip(&ranges) {
                memory
                    .map(range.place(), 2 * PAGE_BYTES)
                    .unwrap()
                    .word(PAGE_BYTES)
                    .store(1, Ordering::Relaxed);
            }
        }
        let pages = (blocks(&fd) - before) * 512 / PAGE_BYTES as i64;
        let most = 2 + 2 * RELEASED_RANGES_MAX as i64;
        assert!(
            pages <= most,
            "{pages} pages: reservations, the last page, and one of each range that is released later"
        );
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let fd = file();
        let memory = memory(&fd);
        assert!(memory.reserve(usize::MAX).is_err() && memory.map(0, usize::MAX).is_err());
    }
}
