//! Whether a buffer's memory can be used at all, asked of the kernel: it answers with an error number where this process would
//! get a signal.
//!
//! A pipe takes one byte of every page. That is how the processor would see the memory, so memory of a device that is mapped
//! for the processor passes, which `process_vm_readv` would refuse. It is for use after something has gone wrong; before a long
//! copy, one call asks for the first byte.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::OnceLock;

use super::{BufKind, IoVec, UserBuf};
use crate::limits::{PAGE_BYTES, PROBED_PIECES};

/// Memory that cannot be used as it was asked to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadMemory {
    /// Where the buffer begins.
    pub base: usize,
    /// Bytes of the buffer.
    pub len: usize,
    /// The first page that cannot be used begins here, or the first byte if that lies within the page.
    pub bad: usize,
}

impl UserBuf {
    /// The first byte, by pages, among `[offset, offset + len)` that this process may not read.
    pub fn unreadable(&self, offset: usize, len: usize) -> Option<BadMemory> {
        self.first_bad(offset, len, ProbePipe::first_unreadable)
    }

    /// The first byte, by pages, among `[offset, offset + len)` that this process may not write. The bytes stay what they are.
    pub fn unwritable(&self, offset: usize, len: usize) -> Option<BadMemory> {
        self.first_bad(offset, len, ProbePipe::first_unwritable)
    }

    /// The whole buffer is bad, as far as one system call of some 0.1 µs can tell: its first byte cannot be read.
    pub fn is_unreadable(&self) -> Option<BadMemory> {
        let BufKind::Contiguous { base, len } = self.0 else { return None };
        // Within the page of the first byte, since the kernel reads eight.
        let word = base.addr() & !7;
        const NONSENSE: i32 = -1;
        // SAFETY: the kernel checks the address, copies the mask, and then refuses what is to be done with it.
        unsafe { libc::syscall(libc::SYS_rt_sigprocmask, NONSENSE, word, 0, 8) };
        is_bad_address().then_some(BadMemory { base: base.addr(), len, bad: base.addr() })
    }

    /// As [`UserBuf::is_unreadable`], for a byte that is to be written next: it gets any value.
    pub fn is_unwritable(&self, offset: usize) -> Option<BadMemory> {
        let BufKind::Contiguous { base, len } = self.0 else { return None };
        let byte = self.contiguous_at(offset, 1)?;
        // SAFETY: the kernel checks the address, and the byte is this caller's to write.
        let stored = unsafe { libc::syscall(libc::SYS_getrandom, byte, 1, libc::GRND_NONBLOCK) };
        (stored < 0 && is_bad_address()).then_some(BadMemory { base: base.addr(), len, bad: byte.addr() })
    }

    /// Whether all bytes are there to be read or, if it `writes`, to be written: the kernel makes their pages present, by one call for
    /// each piece. They stay what they are.
    pub fn is_there(&self, writes: bool) -> bool {
        self.all_pieces(|piece| is_present(piece, writes))
    }

    /// Whether something holds of each piece of memory in which the bytes lie; no other one is looked at after the first of which it does
    /// not.
    pub fn all_pieces(&self, holds: impl Fn(&IoVec) -> bool) -> bool {
        let mut pieces = [IoVec::default(); PROBED_PIECES];
        let mut done = 0;
        while done < self.len() {
            let (count, covered) = self.iovecs(done, self.len() - done, &mut pieces);
            if covered == 0 || !pieces[..count].iter().all(&holds) {
                return false;
            }
            done += covered;
        }
        true
    }

    fn first_bad(
        &self,
        offset: usize,
        len: usize,
        find: fn(&ProbePipe, &IoVec) -> Option<usize>,
    ) -> Option<BadMemory> {
        // Without a pipe nothing is known, and then nothing is bad.
        let probe = ProbePipe::new().ok()?;
        let mut pieces = [IoVec::default(); PROBED_PIECES];
        let mut done = 0;
        while done < len {
            let (count, covered) = self.iovecs(offset + done, len - done, &mut pieces);
            if covered == 0 {
                return None;
            }
            for piece in &pieces[..count] {
                if let Some(bad) = find(&probe, piece) {
                    return Some(BadMemory { base: self.base_or(pieces[0].base), len: self.len(), bad });
                }
            }
            done += covered;
        }
        None
    }

    fn base_or(&self, first: usize) -> usize {
        self.as_contiguous().map_or(first, |(base, _)| base)
    }
}

/// Since Linux 5.14. Before, and where something else answers for Linux and takes every advice, a pipe tells.
fn is_present(piece: &IoVec, writes: bool) -> bool {
    let made_present = if populating_tells() { populate(piece, writes) } else { None };
    made_present.unwrap_or_else(|| {
        let base = std::ptr::with_exposed_provenance_mut(piece.base);
        // SAFETY: nothing uses it but the probe, which asks the kernel.
        let buf = unsafe { UserBuf::contiguous(base, piece.len) };
        let bad = if writes { buf.unwritable(0, piece.len) } else { buf.unreadable(0, piece.len) };
        bad.is_none()
    })
}

/// Whether the pages could be made present, where the kernel knows how to and may.
fn populate(piece: &IoVec, writes: bool) -> Option<bool> {
    let first = piece.base & !(PAGE_BYTES - 1);
    let Some(end) = piece.base.checked_add(piece.len) else { return Some(false) };
    let page = std::ptr::with_exposed_provenance_mut::<libc::c_void>(first);
    let advice = if writes { libc::MADV_POPULATE_WRITE } else { libc::MADV_POPULATE_READ };
    // SAFETY: the kernel checks the addresses, and changes no byte.
    if unsafe { libc::madvise(page, end - first, advice) } == 0 {
        return Some(true);
    }
    // Whatever else is refused says nothing of the memory: a kernel that is too old, or a filter of system calls.
    let bad = [libc::ENOMEM, libc::EFAULT, libc::EHWPOISON].map(Some);
    bad.contains(&io::Error::last_os_error().raw_os_error()).then_some(false)
}

/// Whether the kernel refuses to make pages present where there is nothing. The emulator qemu refuses nothing.
fn populating_tells() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| populate(&IoVec { base: 0, len: 1 }, false) != Some(true))
}

fn is_bad_address() -> bool {
    io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

/// A byte of each page of a piece.
fn pages(piece: &IoVec) -> impl Iterator<Item = usize> + use<> {
    let (first, end) = (piece.base, piece.base.saturating_add(piece.len));
    let next = (first / PAGE_BYTES + 1).saturating_mul(PAGE_BYTES);
    std::iter::once(first).chain((next..end).step_by(PAGE_BYTES))
}

/// A pipe whose both ends are here.
struct ProbePipe {
    out: File,
    into: File,
}

impl ProbePipe {
    fn new() -> io::Result<ProbePipe> {
        let mut ends = [0; 2];
        // SAFETY: two descriptors are stored where there is room for two.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptors are new, and nobody else has them.
        let [out, into] = ends.map(|end| unsafe { File::from_raw_fd(end) });
        Ok(ProbePipe { out, into })
    }

    /// Many pages at a time, and one by one where that fails.
    fn first_unreadable(&self, piece: &IoVec) -> Option<usize> {
        let (mut all, mut bytes) = (pages(piece), [IoVec::default(); PROBED_PIECES]);
        loop {
            let mut count = 0;
            for base in all.by_ref().take(PROBED_PIECES) {
                bytes[count] = IoVec { base, len: 1 };
                count += 1;
            }
            if count == 0 {
                return None;
            }
            let bytes = &bytes[..count];
            if !self.are_readable(bytes) {
                let bad = bytes.iter().map(|byte| byte.base).find(|byte| !self.is_readable(*byte));
                if bad.is_some() {
                    return bad;
                }
            }
        }
    }

    fn first_unwritable(&self, piece: &IoVec) -> Option<usize> {
        pages(piece).find(|byte| !self.is_writable(*byte))
    }

    /// Whether all of them went through the pipe, which is empty again.
    fn are_readable(&self, bytes: &[IoVec]) -> bool {
        let mut forgotten = [0u8; PROBED_PIECES];
        // SAFETY: the kernel checks the addresses; `IoVec` has the layout of `iovec`.
        let sent = unsafe { libc::writev(self.into.as_raw_fd(), bytes.as_ptr().cast(), bytes.len() as i32) };
        let _ = (&self.out).read(&mut forgotten);
        usize::try_from(sent) == Ok(bytes.len())
    }

    /// The byte goes through the pipe and is forgotten.
    fn is_readable(&self, byte: usize) -> bool {
        let mut forgotten = 0u8;
        self.send(byte) && self.take((&raw mut forgotten).expose_provenance())
    }

    /// The byte goes through the pipe and back to where it was.
    fn is_writable(&self, byte: usize) -> bool {
        self.send(byte) && self.take(byte)
    }

    fn send(&self, byte: usize) -> bool {
        let from = std::ptr::with_exposed_provenance::<libc::c_void>(byte);
        // SAFETY: the kernel checks the address.
        retried(|| unsafe { libc::write(self.into.as_raw_fd(), from, 1) })
    }

    fn take(&self, byte: usize) -> bool {
        let to = std::ptr::with_exposed_provenance_mut::<libc::c_void>(byte);
        // SAFETY: the kernel checks the address. The byte is a local one, or gets the value that it has, of a buffer that is
        // this caller's to write.
        retried(|| unsafe { libc::read(self.out.as_raw_fd(), to, 1) })
    }
}

/// Whether the call fails for no fault of the memory's, or succeeds.
fn retried(call: impl Fn() -> isize) -> bool {
    loop {
        match call() {
            1.. => return true,
            _ => match io::Error::last_os_error().raw_os_error() {
                Some(libc::EINTR) => {}
                error => return error != Some(libc::EFAULT),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of which the second is as it is told.
    fn pages_with(protection: i32) -> UserBuf {
        let (len, flags) = (3 * PAGE_BYTES, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory, which stays until the test ends; the middle page belongs to it.
        unsafe {
            let base =
                libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_eq!(libc::mprotect(base.add(PAGE_BYTES), PAGE_BYTES, protection), 0);
            UserBuf::contiguous(base.cast(), len)
        }
    }

    #[test]
    fn the_first_page_that_cannot_be_used_is_named() {
        let buf = pages_with(libc::PROT_NONE);
        let (base, len) = buf.as_contiguous().expect("it is contiguous");
        let bad = Some(BadMemory { base, len, bad: base + PAGE_BYTES });
        assert_eq!(buf.unreadable(0, len), bad);
        assert_eq!(buf.unwritable(5, len - 5), bad);
        assert_eq!((buf.unreadable(0, PAGE_BYTES), buf.unreadable(2 * PAGE_BYTES, PAGE_BYTES)), (None, None));
    }

    #[test]
    fn what_can_only_be_read_is_told_from_what_can_be_written() {
        let buf = pages_with(libc::PROT_READ);
        assert_eq!(buf.unreadable(0, buf.len()), None);
        assert!(buf.is_unwritable(PAGE_BYTES + 1).is_some() && buf.is_unwritable(1).is_none());
        assert!(buf.unwritable(0, buf.len()).is_some());
    }

    #[test]
    fn pages_that_are_not_there_are_known() {
        let (hole, fixed) = (pages_with(libc::PROT_NONE), pages_with(libc::PROT_READ));
        assert!(!hole.is_there(false) && !hole.is_there(true));
        assert!(fixed.is_there(false) && !fixed.is_there(true));
        let mut bytes = [7u8; 9];
        // SAFETY: the bytes live for as long as the buffer is used.
        let buf = unsafe { UserBuf::contiguous(bytes.as_mut_ptr(), 9) };
        assert!(buf.is_there(true) && bytes == [7; 9]);
    }

    #[test]
    fn one_call_tells_of_the_first_byte() {
        let buf = pages_with(libc::PROT_NONE);
        let (base, len) = buf.as_contiguous().expect("it is contiguous");
        // SAFETY: nothing reads it but the kernel, which checks.
        let bad =
            unsafe { UserBuf::contiguous(std::ptr::with_exposed_provenance_mut(base + PAGE_BYTES), len) };
        assert_eq!((buf.is_unreadable(), buf.is_unwritable(0)), (None, None));
        assert!(bad.is_unreadable().is_some() && bad.is_unwritable(0).is_some());
        assert_eq!(UserBuf::owned(100).is_unreadable(), None);
    }

    #[test]
    fn good_memory_keeps_its_bytes() {
        let mut bytes: Vec<u8> = (0..20_000u32).map(|i| i as u8).collect();
        let before = bytes.clone();
        // SAFETY: the bytes live for as long as the buffer is used.
        let buf = unsafe { UserBuf::contiguous(bytes.as_mut_ptr(), bytes.len()) };
        assert_eq!((buf.unreadable(0, buf.len()), buf.unwritable(0, buf.len())), (None, None));
        assert_eq!(bytes, before);
    }
}
