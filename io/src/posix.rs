//! Files of the system, by vectored reads and writes at offsets.

use crate::limits::{
    CALL_BYTES_MAX, EXPECTED_BYTES, PACK_BYTES, PACK_PIECE_BYTES, PIECES_PER_CALL, SAMPLE_PIECES,
    SHIFTED_BLOCK_BYTES,
};
use crate::size_limit;
use crate::storage::Storage;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use tern_mem::{IoVec, UserBuf, bounce, exceeds_cache_share, is_slow_shift};

/// An open file.
#[derive(Debug)]
pub struct PosixFile(pub File, LockedRanges);

/// Ranges that accesses of this process have locked. The system tells files apart that were opened, not who uses one of them:
/// there such locks never wait for each other, and one unlock ends all.
#[derive(Debug, Default)]
struct LockedRanges {
    ranges: Mutex<Vec<(u64, u64)>>,
    freed: Condvar,
}

impl LockedRanges {
    fn ranges(&self) -> MutexGuard<'_, Vec<(u64, u64)>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nobody has a part of the range, and takes it.
    fn take(&self, (from, to): (u64, u64)) {
        let is_taken =
            |ranges: &mut Vec<(u64, u64)>| ranges.iter().any(|other| from < other.1 && other.0 < to);
        let free = self.freed.wait_while(self.ranges(), is_taken);
        free.unwrap_or_else(PoisonError::into_inner).push((from, to));
    }

    fn give_back(&self, range: (u64, u64)) {
        let mut ranges = self.ranges();
        if let Some(at) = ranges.iter().position(|other| *other == range) {
            ranges.swap_remove(at);
        }
        self.freed.notify_all();
    }
}

/// The range of a lock; an end of 0 is the largest there is.
fn locked_range(from: u64, to: u64) -> (u64, u64) {
    (from, if to == 0 { u64::MAX } else { to })
}

impl PosixFile {
    /// That of an open descriptor.
    pub fn new(file: File) -> PosixFile {
        PosixFile(file, LockedRanges::default())
    }

    /// Its descriptor.
    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Lets nobody else who asks access bytes `[from, to)` until they are unlocked; `to` 0: to the end. Waits for others. Those of this
    /// process wait for each other also where both read.
    pub fn lock_range(&self, from: u64, to: u64, exclusive: bool) -> io::Result<()> {
        self.1.take(locked_range(from, to));
        let locked = self.set_lock(if exclusive { libc::F_WRLCK } else { libc::F_RDLCK }, from, to);
        if locked.is_err() {
            self.1.give_back(locked_range(from, to));
        }
        locked
    }

    /// A lock of the open file, not of the process: other ranks and other opened files of this one are told apart.
    fn set_lock(&self, kind: i32, from: u64, to: u64) -> io::Result<()> {
        // SAFETY: all zeros is a value of this structure.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = kind as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_start = from as libc::off_t;
        lock.l_len = to.saturating_sub(from) as libc::off_t;
        loop {
            // SAFETY: a plain system call on an open descriptor, with a structure that lives through it.
            if unsafe { libc::fcntl(self.fd(), libc::F_OFD_SETLKW, &raw mut lock) } == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    /// Whether a byte can be read without waiting for the medium, or is not there.
    fn is_cached(&self, at: u64) -> bool {
        let mut byte = 0u8;
        let piece = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        // SAFETY: one piece of one byte, which lives through the call.
        unsafe { libc::preadv2(self.fd(), &raw const piece, 1, at as libc::off_t, libc::RWF_NOWAIT) >= 0 }
    }

    /// Says how the file will be used, by advice of `posix_fadvise`, instead of what was said before.
    pub fn advise(&self, advice: &[libc::c_int]) {
        for one in [libc::POSIX_FADV_NORMAL].iter().chain(advice) {
            // SAFETY: a plain system call on an open descriptor. It is advice: what it says of errors changes nothing.
            unsafe { libc::posix_fadvise(self.fd(), 0, 0, *one) };
        }
    }

    /// Makes sure that the first `size` bytes have room on the medium. The file becomes no shorter.
    pub fn preallocate(&self, size: u64) -> io::Result<()> {
        loop {
            // SAFETY: a plain system call on an open descriptor.
            match unsafe { libc::posix_fallocate(self.fd(), 0, size as libc::off_t) } {
                0 => return Ok(()),
                libc::EINTR => {}
                error => return Err(io::Error::from_raw_os_error(error)),
            }
        }
    }

    /// A read of bytes that go to their places by a block, which lies in its page as they do in the file's. The first and the last go at
    /// once: the kernel gives an error where they cannot be written, and a copy would be a signal.
    #[inline(never)]
    fn read_shifted(&self, buf: &UserBuf, at: usize, len: usize, offset: u64) -> io::Result<usize> {
        let Some(to) = buf.contiguous_at(at, len).filter(|_| len > 2) else { return Ok(0) };
        bounce::with(len, offset, |block, place| {
            let Some(within) = block.contiguous_at(place + 1, len - 2) else { return Ok(0) };
            // While the kernel copies, the lines come for which the second copy would wait.
            buf.expect(at, len.min(EXPECTED_BYTES));
            let piece = |base: *mut u8, len| IoVec { base: base.expose_provenance(), len };
            let list = [piece(to, 1), piece(within, len - 2), piece(to.wrapping_add(len - 1), 1)];
            // SAFETY: the pieces are of the buffer, whose maker has promised it, and of the block; `IoVec` has the layout of `iovec`.
            let bytes =
                moved(unsafe { libc::preadv(self.fd(), list.as_ptr().cast(), 3, offset as libc::off_t) })?;
            UserBuf::copy(block, place + 1, buf, at + 1, bytes.saturating_sub(1).min(len - 2));
            Ok(bytes)
        })
    }

    /// A read of bytes that go to their places by such a block, where these have gaps.
    #[inline(never)]
    fn read_by_block(&self, buf: &UserBuf, at: usize, len: usize, offset: u64) -> io::Result<usize> {
        bounce::with(len, offset, |block, place| {
            // A long access leaves little of itself in the cache, so it goes past it: no line is fetched before it is stored to.
            let past_cache = exceeds_cache_share(buf.len());
            if !past_cache {
                // While the kernel copies, the lines come for which the second copy would wait.
                buf.expect(at, len.min(EXPECTED_BYTES));
            }
            let bytes = self.read(block, place, len, offset)?;
            let copy = if past_cache { UserBuf::copy_past_cache } else { UserBuf::copy };
            copy(block, place, buf, at, bytes);
            Ok(bytes)
        })
    }

    /// A write of bytes that come from their places by such a block. Memory that is not there is an error, as the kernel has it.
    #[inline(never)]
    fn write_by_block(&self, buf: &UserBuf, at: usize, len: usize, offset: u64) -> io::Result<usize> {
        if [at, at + len - 1].into_iter().any(|byte| is_unreadable(buf, byte)) {
            return Err(io::Error::from_raw_os_error(libc::EFAULT));
        }
        bounce::with(len, offset, |block, place| {
            UserBuf::copy(buf, at, block, place, len);
            self.write(block, place, len, offset)
        })
    }

    /// A read to memory with gaps. Its list takes a page of stack, which others do without.
    #[inline(never)]
    fn read_gaps(&self, buf: &UserBuf, at: usize, len: usize, offset: u64) -> io::Result<usize> {
        if are_small(buf, at, len) {
            return self.read_by_block(buf, at, len.min(PACK_BYTES), offset);
        }
        let mut list = [IoVec::default(); PIECES_PER_CALL];
        let (count, _) = buf.iovecs(at, len, &mut list);
        // SAFETY: the pieces are of the buffer, whose maker has promised it; `IoVec` has the layout of `iovec`.
        moved(unsafe { libc::preadv(self.fd(), list.as_ptr().cast(), count as i32, offset as libc::off_t) })
    }

    /// A write from memory with gaps.
    #[inline(never)]
    fn write_gaps(&self, buf: &UserBuf, at: usize, len: usize, offset: u64) -> io::Result<usize> {
        if are_small(buf, at, len) {
            return self.write_by_block(buf, at, len.min(PACK_BYTES), offset);
        }
        let mut list = [IoVec::default(); PIECES_PER_CALL];
        let (count, _) = buf.iovecs(at, len, &mut list);
        // SAFETY: as in `read`.
        moved(unsafe { libc::pwritev(self.fd(), list.as_ptr().cast(), count as i32, offset as libc::off_t) })
    }
}

/// Whether pieces of memory, as far as the first few tell, are too small for the kernel to look at each.
fn are_small(buf: &UserBuf, at: usize, len: usize) -> bool {
    let mut first = [IoVec::default(); SAMPLE_PIECES];
    let (count, covered) = buf.iovecs(at, len, &mut first);
    count > 1 && covered / count < PACK_PIECE_BYTES
}

/// Of a buffer without gaps, whether this byte cannot be read.
fn is_unreadable(buf: &UserBuf, byte: usize) -> bool {
    let alone = buf.as_contiguous().and_then(|_| buf.section(byte, 1));
    alone.is_some_and(|byte| byte.is_unreadable().is_some())
}

#[inline]
fn moved(bytes: isize) -> io::Result<usize> {
    usize::try_from(bytes).map_err(|_| io::Error::last_os_error())
}

impl Storage for PosixFile {
    #[inline]
    fn read(&self, buf: &UserBuf, at: usize, len: usize, offset: u64) -> io::Result<usize> {
        let len = len.min(CALL_BYTES_MAX);
        if let Some(to) = buf.contiguous_at(at, len) {
            if is_slow_shift(offset as usize, to.addr(), len) {
                return self.read_shifted(buf, at, len.min(SHIFTED_BLOCK_BYTES), offset);
            }
            // SAFETY: these are bytes of the buffer, whose maker has promised them.
            return moved(unsafe { libc::pread(self.fd(), to.cast(), len, offset as libc::off_t) });
        }
        self.read_gaps(buf, at, len, offset)
    }

    fn lock(&self, from: u64, to: u64) -> io::Result<()> {
        self.lock_range(from, to, true)
    }

    fn unlock(&self, from: u64, to: u64) -> io::Result<()> {
        let unlocked = self.set_lock(libc::F_UNLCK, from, to);
        self.1.give_back(locked_range(from, to));
        unlocked
    }

    fn will_need(&self, from: u64, to: u64) {
        if self.is_cached(from) {
            return;
        }
        let (from, len) = (from as libc::off_t, to.saturating_sub(from) as libc::off_t);
        // SAFETY: a plain system call on an open descriptor. It is advice: what it says of errors changes nothing.
        unsafe { libc::posix_fadvise(self.fd(), from, len, libc::POSIX_FADV_WILLNEED) };
    }

    fn begin_writeback(&self, from: u64, to: u64) {
        let (from, len) = (from as libc::off_t, to.saturating_sub(from) as libc::off_t);
        // SAFETY: a plain system call on an open descriptor. An error is told by the next `fsync`.
        unsafe { libc::sync_file_range(self.fd(), from, len, libc::SYNC_FILE_RANGE_WRITE) };
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.fd())
    }

    #[inline]
    fn write(&self, buf: &UserBuf, at: usize, len: usize, offset: u64) -> io::Result<usize> {
        let len = size_limit::allowed(offset, len.min(CALL_BYTES_MAX))?;
        if let Some(from) = buf.contiguous_at(at, len) {
            if is_slow_shift(from.addr(), offset as usize, len) {
                return self.write_by_block(buf, at, len.min(SHIFTED_BLOCK_BYTES), offset);
            }
            // SAFETY: as in `read`.
            return moved(unsafe { libc::pwrite(self.fd(), from.cast(), len, offset as libc::off_t) });
        }
        self.write_gaps(buf, at, len, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{read_all, write_all};
    use std::sync::Arc;
    use tern_mem::Datatype;
    use tern_mem::basic::Basic;
    use tern_mem::datatype::ConstructorForm;

    fn scratch(name: &str) -> PosixFile {
        let path = std::env::temp_dir().join(format!("tern-io-{}-{name}", std::process::id()));
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        PosixFile::new(file)
    }

    fn typed(bytes: &mut [u8], of: &Arc<Datatype>, count: u64) -> UserBuf {
        // SAFETY: the tests keep the bytes for as long as the buffer, and use types that stay within.
        unsafe { of.buffer(bytes.as_mut_ptr(), count) }
    }

    #[test]
    fn buffers_with_gaps_go_out_and_come_back() {
        let file = scratch("gaps");
        for block in [1i64, 8, 3000] {
            let tile = Datatype::vector(
                ConstructorForm::Int,
                400,
                block,
                2 * block,
                Datatype::predefined(Basic::Byte),
            );
            let tile = tile.unwrap();
            let mut from: Vec<u8> = (0..tile.extent()).map(|at| (at * 7 % 251) as u8).collect();
            let mut to = vec![0; from.len()];
            let len = tile.size() as usize;
            let (out, back) = (typed(&mut from, &tile, 1), typed(&mut to, &tile, 1));
            assert_eq!(write_all(&file, &out, 0, len, 77).0, len);
            assert_eq!(read_all(&file, &back, 0, len, 77).0, len);
            for (at, (sent, read)) in from.iter().zip(&to).enumerate() {
                let is_data = (at as i64 / block) % 2 == 0;
                assert_eq!(*read, if is_data { *sent } else { 0 }, "{at} of blocks of {block}");
            }
        }
    }

    #[test]
    fn bytes_go_by_a_block_wherever_they_lie() {
        let file = scratch("block");
        let len = SHIFTED_BLOCK_BYTES + 333;
        for (place, offset) in [(0, 0), (16, 0), (31, 4096), (5, 77), (0, 16), (4090, 3)] {
            let out = UserBuf::owned(place + len);
            let sent: Vec<u8> = (0..len).map(|at| (at * 7 % 251) as u8).collect();
            out.write(place, &sent);
            file.0.set_len(0).unwrap();
            assert_eq!(file.write_by_block(&out, place, len, offset).unwrap(), len);
            let back = UserBuf::owned(place + len + 1);
            assert_eq!(file.read_by_block(&back, place, len, offset).unwrap(), len);
            let again = UserBuf::owned(place + len + 1);
            assert_eq!(file.read_shifted(&again, place, len, offset).unwrap(), len);
            assert_eq!(file.read_shifted(&again, place, len, offset + 7).unwrap(), len - 7, "the file ends");
            assert_eq!(file.read_shifted(&again, place, len, offset).unwrap(), len);
            let mut same = vec![0; place + len + 1];
            again.read(0, &mut same);
            let mut read = vec![0; place + len + 1];
            back.read(0, &mut read);
            assert!(read[place..place + len] == sent && same == read);
            assert!(read[..place].iter().chain(&read[place + len..]).all(|byte| *byte == 0));
        }
    }

    #[test]
    fn memory_that_is_not_there_is_an_error_by_a_block_too() {
        let file = scratch("bad");
        assert_eq!(write_all(&file, &UserBuf::owned(5000), 0, 5000, 0).0, 5000);
        // SAFETY: fresh pages that nothing else has.
        let pages = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                8192,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        // SAFETY: what is not there is what the test is about.
        let bad = unsafe { UserBuf::contiguous(pages.cast(), 8192) };
        let number = |outcome: io::Result<usize>| outcome.unwrap_err().raw_os_error();
        assert_eq!(number(file.read_shifted(&bad, 16, 4096, 0)), Some(libc::EFAULT));
        assert_eq!(number(file.write_by_block(&bad, 16, 4096, 0)), Some(libc::EFAULT));
        assert_eq!(file.read_shifted(&bad, 16, 4096, 6000).unwrap(), 0, "behind the end");
        // SAFETY: they are this test's.
        unsafe { libc::munmap(pages, 8192) };
    }

    #[test]
    fn reads_end_where_the_file_ends() {
        let file = scratch("end");
        let buf = UserBuf::owned(100);
        assert_eq!(write_all(&file, &buf, 0, 30, 0).0, 30);
        let (bytes, outcome) = read_all(&file, &buf, 0, 100, 10);
        assert!(bytes == 20 && outcome.is_ok());
        file.preallocate(50).unwrap();
        assert_eq!(file.0.metadata().unwrap().len(), 50);
        file.lock(0, 10).unwrap();
        file.unlock(0, 10).unwrap();
    }

    #[test]
    fn accesses_of_one_process_wait_for_each_others_ranges() {
        let file = scratch("ranges");
        file.lock(0, 10).unwrap();
        file.lock(10, 20).unwrap();
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                file.lock_range(5, 0, false).unwrap();
                order.lock().unwrap().push("taken");
                file.unlock(5, 0).unwrap();
            });
            for (from, word) in [(10, "one is free"), (0, "both are free")] {
                std::thread::sleep(std::time::Duration::from_millis(20));
                order.lock().unwrap().push(word);
                file.unlock(from, from + 10).unwrap();
            }
        });
        assert_eq!(*order.lock().unwrap(), ["one is free", "both are free", "taken"]);
        assert!(file.1.ranges().is_empty());
    }
}
