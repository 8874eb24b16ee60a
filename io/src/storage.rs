//! What holds a file's bytes: the system's files, and in tests memory that fails on purpose.

use std::io;
use tern_mem::UserBuf;

/// A file as reads and writes see it. Each call may move fewer bytes than it is asked for.
pub trait Storage: Send + Sync {
    /// Reads at most `len` bytes from `offset` of the file to `at` of the buffer. How many; 0 at the end of the file.
    fn read(&self, buf: &UserBuf, at: usize, len: usize, offset: u64) -> io::Result<usize>;

    /// Writes at most `len` bytes from `at` of the buffer to `offset` of the file. How many.
    fn write(&self, buf: &UserBuf, at: usize, len: usize, offset: u64) -> io::Result<usize>;

    /// Keeps others who ask away from bytes `[from, to)`; waits for those who have them.
    fn lock(&self, _from: u64, _to: u64) -> io::Result<()> {
        Ok(())
    }

    /// Gives them back.
    fn unlock(&self, _from: u64, _to: u64) -> io::Result<()> {
        Ok(())
    }

    /// Bytes `[from, to)` will be read soon.
    fn will_need(&self, _from: u64, _to: u64) {}

    /// Bytes `[from, to)` were written and will have to be on the medium soon: it may begin with them now.
    fn begin_writeback(&self, _from: u64, _to: u64) {}

    /// The system's file behind it, if there is one.
    fn descriptor(&self) -> Option<std::os::fd::RawFd> {
        None
    }
}

/// Reads as much as there is of `len` bytes. How many, and the error that ended it.
#[inline]
pub fn read_all<S: Storage + ?Sized>(
    storage: &S,
    buf: &UserBuf,
    at: usize,
    len: usize,
    offset: u64,
) -> (usize, io::Result<()>) {
    move_all(len, |done| storage.read(buf, at + done, len - done, offset + done as u64), Ok(()))
}

/// Writes `len` bytes. How many were written, and the error that ended it.
#[inline]
pub fn write_all<S: Storage + ?Sized>(
    storage: &S,
    buf: &UserBuf,
    at: usize,
    len: usize,
    offset: u64,
) -> (usize, io::Result<()>) {
    // A write of nothing, without an error, would come again and again.
    let stuck = || Err(io::Error::from_raw_os_error(libc::EIO));
    let write = |done| storage.write(buf, at + done, len - done, offset + done as u64);
    let (done, outcome) = move_all(len, write, Ok(()));
    if done < len && outcome.is_ok() { (done, stuck()) } else { (done, outcome) }
}

/// The same under a lock of the range, where others read and write back what lies between their pieces.
pub fn write_locked<S: Storage + ?Sized>(
    storage: &S,
    buf: &UserBuf,
    at: usize,
    len: usize,
    offset: u64,
) -> (usize, io::Result<()>) {
    let (from, to) = (offset, offset + len as u64);
    if len == 0 {
        return (0, Ok(()));
    }
    if let Err(error) = storage.lock(from, to) {
        return (0, Err(error));
    }
    let (done, outcome) = write_all(storage, buf, at, len, offset);
    let unlocked = storage.unlock(from, to);
    (done, outcome.and(unlocked))
}

#[inline]
fn move_all(
    len: usize,
    mut step: impl FnMut(usize) -> io::Result<usize>,
    at_end: io::Result<()>,
) -> (usize, io::Result<()>) {
    let mut done = 0;
    while done < len {
        match step(done) {
            Ok(0) => return (done, at_end),
            Ok(more) => done += more.min(len - done),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (done, Err(error)),
        }
    }
    (done, Ok(()))
}
