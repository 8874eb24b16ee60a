//! io_uring: the pieces of an access are given to the kernel many at a time.

use crate::access::{Moved, StreamPart};
use crate::limits::{CALL_BYTES_MAX, PACK_BYTES, PACK_PIECE_BYTES, PIECES_PER_CALL, RING_ENTRIES};
use crate::size_limit;
use crate::view::FileRun;
use io_uring::{IoUring, opcode, squeue, types};
use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use tern_mem::{IoVec, UserBuf, bounce, is_slow_shift};

/// Bytes of one request of the kernel's at most: several at once are what a disk likes.
const REQUEST_BYTES: usize = 1 << 20;
const _: () = assert!(REQUEST_BYTES <= CALL_BYTES_MAX);

/// A ring of one thread's.
pub struct Ring(IoUring);

/// Bytes that are to be moved by one request, or what is left of them.
#[derive(Clone, Copy, Debug)]
struct WantedBytes {
    /// Number of the piece, in the order of the stream.
    number: usize,
    at: usize,
    len: usize,
    offset: u64,
}

/// A request that the kernel has. What it points to stays where it is until the kernel has answered.
struct Flight {
    want: WantedBytes,
    list: Box<[IoVec]>,
    /// What was copied to a block of memory, or comes from there, and where it is in it: see [`AccessState::goes_by_block`].
    block: Option<(UserBuf, usize)>,
}

/// What is known of an access under way.
struct AccessState<'a> {
    part: &'a StreamPart,
    fd: RawFd,
    writes: bool,
    again: VecDeque<WantedBytes>,
    flights: Vec<Option<Flight>>,
    /// For each piece that did not end well: its number, bytes moved from its first on, and why.
    short: Vec<(usize, u64, Option<io::Error>)>,
    /// Lengths of all pieces so far.
    lengths: Vec<u64>,
    /// Bytes moved of each piece.
    moved: Vec<u64>,
}

impl Ring {
    /// A ring, unless the kernel has or allows none.
    pub fn new() -> io::Result<Ring> {
        IoUring::new(RING_ENTRIES).map(Ring)
    }

    /// Moves a part; `None` if nothing was done, since a limit on file sizes asks for care with each write.
    pub fn transfer(&mut self, fd: RawFd, part: &StreamPart, writes: bool) -> Option<Moved> {
        if writes && size_limit::ask() != u64::MAX {
            return None;
        }
        let mut moved = Moved::default();
        let (mut from, to) = (part.from, part.to());
        // So many pieces at a time, so that their list stays short.
        while from < to {
            let (batch, next) = batch(part, from);
            let wanted: u64 = batch.iter().map(|want| want.len as u64).sum();
            let done = self.run(AccessState::new(part, fd, writes), batch);
            moved.bytes += done.bytes;
            moved.error = done.error;
            if moved.error.is_some() || done.bytes < wanted {
                break;
            }
            from = next;
        }
        Some(moved)
    }

    fn run(&mut self, mut state: AccessState<'_>, batch: Vec<WantedBytes>) -> Moved {
        state.lengths = batch.iter().map(|want| want.len as u64).collect();
        state.moved = vec![0; batch.len()];
        state.again = batch.into();
        let mut flying = 0;
        loop {
            while flying < RING_ENTRIES as usize && !state.has_failed() {
                let Some(want) = state.again.pop_front() else { break };
                let entry = state.launch(want);
                // SAFETY: what the entry points to stays in `flights` until its answer has come.
                if unsafe { self.0.submission().push(&entry) }.is_err() {
                    state.land(entry.get_user_data() as usize);
                    state.again.push_front(want);
                    break;
                }
                flying += 1;
            }
            if flying == 0 {
                return state.outcome();
            }
            match self.0.submit_and_wait(1) {
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => continue,
                // What the kernel has it must give back first; what it did not take comes again.
                Err(error)
                    if error.raw_os_error() != Some(libc::EAGAIN)
                        && error.raw_os_error() != Some(libc::EBUSY) =>
                {
                    state.short.push((0, 0, Some(error)));
                }
                _ => {}
            }
            let answers: Vec<(usize, i32)> =
                self.0.completion().map(|answer| (answer.user_data() as usize, answer.result())).collect();
            flying -= answers.len();
            answers.into_iter().for_each(|(slot, result)| state.answer(slot, result));
        }
    }
}

/// The next pieces from byte `from` of the stream on, and where they end.
fn batch(part: &StreamPart, from: u64) -> (Vec<WantedBytes>, u64) {
    const BATCH: usize = 1024;
    let (mut wants, mut next) = (Vec::new(), from);
    part.view.runs(from, part.to(), |FileRun { offset, stream, len }| {
        let mut done = 0;
        while done < len && wants.len() < BATCH {
            let bytes = (len - done).min(REQUEST_BYTES as u64);
            let at = (stream + done - part.from) as usize;
            wants.push(WantedBytes { number: wants.len(), at, len: bytes as usize, offset: offset + done });
            done += bytes;
        }
        next = stream + done;
        wants.len() < BATCH
    });
    (wants, next)
}

impl<'a> AccessState<'a> {
    fn new(part: &'a StreamPart, fd: RawFd, writes: bool) -> AccessState<'a> {
        AccessState {
            part,
            fd,
            writes,
            again: VecDeque::new(),
            flights: Vec::new(),
            short: Vec::new(),
            lengths: Vec::new(),
            moved: Vec::new(),
        }
    }

    fn has_failed(&self) -> bool {
        !self.short.is_empty()
    }

    /// Puts a request together and keeps what it points to.
    fn launch(&mut self, want: WantedBytes) -> squeue::Entry {
        let buf = &self.part.buf;
        let mut list = [IoVec::default(); PIECES_PER_CALL];
        let (mut count, covered) = buf.iovecs(want.at, want.len, &mut list);
        let mut block = None;
        if self.goes_by_block(&want, &list[..count], covered) {
            let len = want.len.min(PACK_BYTES);
            let own = bounce::level(len);
            let place = bounce::place_of(&own, want.offset);
            if self.writes {
                UserBuf::copy(buf, want.at, &own, place, len);
            }
            (count, _) = own.iovecs(place, len, &mut list);
            block = Some((own, place));
        }
        let flight = Flight { want, list: list[..count].into(), block };
        let pieces = flight.list.as_ptr().cast::<libc::iovec>();
        let slot = self.flights.iter().position(Option::is_none).unwrap_or(self.flights.len());
        if slot == self.flights.len() {
            self.flights.push(None);
        }
        self.flights[slot] = Some(flight);
        let fd = types::Fd(self.fd);
        let entry = if self.writes {
            opcode::Writev::new(fd, pieces, count as u32).offset(want.offset).build()
        } else {
            opcode::Readv::new(fd, pieces, count as u32).offset(want.offset).build()
        };
        entry.user_data(slot as u64)
    }

    /// Whether pieces are too small for the kernel to look at each, or lie where it is slow to copy to.
    fn goes_by_block(&self, want: &WantedBytes, pieces: &[IoVec], covered: usize) -> bool {
        // Memory that is not there is left to the kernel, which gives an error where a copy would be a signal.
        let is_there =
            || self.part.buf.section(want.at, want.len).is_none_or(|own| own.is_there(!self.writes));
        match pieces {
            [all] if self.writes => is_slow_shift(all.base, want.offset as usize, all.len) && is_there(),
            [all] => is_slow_shift(want.offset as usize, all.base, all.len) && is_there(),
            several => covered.checked_div(several.len()).is_some_and(|bytes| bytes < PACK_PIECE_BYTES),
        }
    }

    fn land(&mut self, slot: usize) -> Option<Flight> {
        self.flights.get_mut(slot)?.take()
    }

    fn answer(&mut self, slot: usize, result: i32) {
        let Some(Flight { want, block, .. }) = self.land(slot) else { return };
        let error = match result {
            0 if self.writes => Some(io::Error::from_raw_os_error(libc::EIO)),
            0 => None,
            1.. => {
                let bytes = (result as usize).min(want.len);
                if let (Some((own, place)), false) = (block, self.writes) {
                    UserBuf::copy(&own, place, &self.part.buf, want.at, bytes);
                }
                self.moved[want.number] += bytes as u64;
                if bytes < want.len {
                    let offset = want.offset + bytes as u64;
                    self.again.push_front(WantedBytes {
                        at: want.at + bytes,
                        len: want.len - bytes,
                        offset,
                        ..want
                    });
                }
                return;
            }
            _ if matches!(-result, libc::EINTR | libc::EAGAIN) => return self.again.push_front(want),
            _ => Some(io::Error::from_raw_os_error(-result)),
        };
        self.short.push((want.number, self.moved[want.number], error));
    }

    /// Bytes from the first on that were moved without a gap, and the error of the first piece that failed.
    fn outcome(mut self) -> Moved {
        let whole = self.moved.iter().zip(&self.lengths).take_while(|(moved, len)| moved == len).count();
        let rest = self.moved.get(whole).copied().unwrap_or(0);
        let bytes = self.moved[..whole].iter().sum::<u64>() + rest;
        self.short.sort_by_key(|(number, ..)| *number);
        let error = self.short.into_iter().find_map(|(.., error)| error);
        Moved { bytes, error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::View;
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use tern_mem::Datatype;
    use tern_mem::basic::Basic;
    use tern_mem::datatype::ConstructorForm;

    #[test]
    fn pieces_go_out_and_come_back() {
        // Where the kernel forbids it there is nothing to test; the threads do without.
        let Ok(mut ring) = Ring::new() else { return };
        let file = scratch("ring");
        let byte = Datatype::predefined(Basic::Byte);
        let (tile, bytes) = (Datatype::vector(ConstructorForm::Int, 3, 5, 9, byte).unwrap(), 40_000);
        let view = View::new(11, 1, tile.layout(), true).unwrap();
        let (out, back) = (UserBuf::owned(bytes), UserBuf::owned(bytes));
        let pattern: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8 + 1).collect();
        out.write(0, &pattern);
        let part = |buf: &UserBuf| StreamPart { view: view.clone(), from: 7, buf: buf.clone() };
        let moved = ring.transfer(file.as_raw_fd(), &part(&out), true).unwrap();
        assert!(moved.bytes == bytes as u64 && moved.error.is_none());
        let moved = ring.transfer(file.as_raw_fd(), &part(&back), false).unwrap();
        assert!(moved.bytes == bytes as u64 && moved.error.is_none());
        let mut read = vec![0; bytes];
        back.read(0, &mut read);
        assert_eq!(read, pattern);
        let more = UserBuf::owned(2 * bytes);
        let moved = ring.transfer(file.as_raw_fd(), &part(&more), false).unwrap();
        assert!(moved.bytes == bytes as u64 && moved.error.is_none(), "the file ends: {moved:?}");
    }

    #[test]
    fn what_cannot_be_written_is_an_error() {
        let Ok(mut ring) = Ring::new() else { return };
        let file = File::open("/proc/self/exe").unwrap();
        let part = StreamPart { view: View::bytes(), from: 0, buf: UserBuf::owned(100) };
        let moved = ring.transfer(file.as_raw_fd(), &part, true).unwrap();
        assert_eq!((moved.bytes, moved.error.unwrap().raw_os_error()), (0, Some(libc::EBADF)));
    }

    fn scratch(name: &str) -> File {
        let path = std::env::temp_dir().join(format!("tern-io-{}-{name}", std::process::id()));
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file
    }

    #[test]
    fn bytes_a_little_ahead_go_out_and_come_back() {
        let Ok(mut ring) = Ring::new() else { return };
        let (file, bytes) = (scratch("ahead"), PACK_BYTES + 5000);
        let pattern: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
        for (ahead, from) in [(16, 0), (0, 16)] {
            let room = UserBuf::owned(bytes + 2 * 4096);
            let start = room.as_contiguous().unwrap().0.wrapping_neg() % 4096 + ahead;
            let part = StreamPart { view: View::bytes(), from, buf: room.part(start, bytes).unwrap() };
            part.buf.write(0, &pattern);
            assert_eq!(ring.transfer(file.as_raw_fd(), &part, true).unwrap().bytes, bytes as u64);
            part.buf.write(0, &vec![0; bytes]);
            assert_eq!(ring.transfer(file.as_raw_fd(), &part, false).unwrap().bytes, bytes as u64);
            let mut read = vec![0; bytes];
            part.buf.read(0, &mut read);
            assert!(read == pattern);
        }
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        let Ok(mut ring) = Ring::new() else { return };
        let file = scratch("bad");
        file.set_len(8192).unwrap();
        let (protection, kind) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: fresh pages that nothing else has.
        let pages = unsafe { libc::mmap(std::ptr::null_mut(), 8192, protection, kind, -1, 0) };
        // SAFETY: what is not there is what the test is about.
        let buf = unsafe { UserBuf::contiguous(pages.cast::<u8>().wrapping_add(16), 4096) };
        let part = StreamPart { view: View::bytes(), from: 0, buf };
        let moved = ring.transfer(file.as_raw_fd(), &part, false).unwrap();
        assert_eq!((moved.bytes, moved.error.unwrap().raw_os_error()), (0, Some(libc::EFAULT)));
        let ahead = StreamPart { from: 32, ..part };
        let moved = ring.transfer(file.as_raw_fd(), &ahead, true).unwrap();
        assert_eq!((moved.bytes, moved.error.unwrap().raw_os_error()), (0, Some(libc::EFAULT)));
        // SAFETY: they are this test's.
        unsafe { libc::munmap(pages, 8192) };
    }
}
