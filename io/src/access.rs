//! One rank's access: a part of its stream, between a buffer and a file.

use crate::limits::{SIEVE_PIECE_BYTES, SIEVE_WASTE_MAX};
use crate::storage::{Storage, read_all, write_all, write_locked};
use crate::view::{FileRun, View};
use std::io;
use tern_mem::UserBuf;

/// What an access has come to.
#[derive(Debug, Default)]
pub struct Moved {
    /// Bytes of the stream that were moved, from the first on.
    pub bytes: u64,
    /// Why it was no more, unless the file has ended.
    pub error: Option<io::Error>,
}

/// How an access is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuning {
    /// Bytes that are read at once where small pieces lie close together; 0: each piece is read by itself.
    pub sieve_read: u64,
    /// The same for writing: what lies between the pieces is read, and written back under a lock. Where it is not 0, others may do so, too,
    /// and each write takes the lock.
    pub sieve_write: u64,
    /// Sieve whatever the pieces are like.
    pub sieve_always: bool,
}

impl Tuning {
    /// Each piece by itself.
    pub const PLAIN: Tuning = Tuning { sieve_read: 0, sieve_write: 0, sieve_always: false };

    /// Whether a part is moved by blocks of so many bytes.
    fn sieves(&self, part: &StreamPart, block_bytes: u64) -> bool {
        block_bytes > 0
            && !part.view.is_contiguous()
            && (self.sieve_always || part.is_worth_sieving(block_bytes))
    }
}

/// A part of a stream: from its byte `from` on, as many as the buffer has.
#[derive(Clone, Debug)]
pub struct StreamPart {
    /// Where the stream lies.
    pub view: View,
    /// The first byte.
    pub from: u64,
    /// The memory.
    pub buf: UserBuf,
}

impl StreamPart {
    /// Behind the last byte.
    pub fn to(&self) -> u64 {
        self.from + self.buf.len() as u64
    }

    /// The range of the file that the part lies in.
    pub fn span(&self) -> std::ops::Range<u64> {
        self.view.span(self.from, self.to())
    }

    /// Calls `each` with the runs of the part whose bytes lie in a range of the file, and where their bytes are in the buffer.
    pub fn runs_within(&self, range: &std::ops::Range<u64>, mut each: impl FnMut(FileRun, usize)) {
        if !self.is_ordered() {
            return self.any_runs_within(range, each);
        }
        let (first, last) = self.within(range);
        self.view.runs(first, last, |run| {
            each(run, (run.stream - self.from) as usize);
            true
        });
    }

    /// Which bytes of the stream, if they are in order, lie in a range of the file.
    pub fn within(&self, range: &std::ops::Range<u64>) -> (u64, u64) {
        let before = |offset| self.from + self.view.before(offset, self.from, self.to());
        (before(range.start), before(range.end).max(before(range.start)))
    }

    fn any_runs_within(&self, range: &std::ops::Range<u64>, mut each: impl FnMut(FileRun, usize)) {
        self.view.runs(self.from, self.to(), |run| {
            let (start, end) = (run.offset.max(range.start), (run.offset + run.len).min(range.end));
            if start < end {
                let stream = run.stream + (start - run.offset);
                each(FileRun { offset: start, stream, len: end - start }, (stream - self.from) as usize);
            }
            true
        });
    }

    /// Whether the places of its bytes grow with their numbers.
    pub fn is_ordered(&self) -> bool {
        self.view.is_ordered(self.from, self.to())
    }

    /// The length of a piece, as far as the first few tell.
    pub fn piece_bytes(&self) -> u64 {
        if self.view.is_contiguous() {
            return self.buf.len() as u64;
        }
        const SAMPLE: u64 = 16;
        let (mut pieces, mut bytes) = (0u64, 0u64);
        self.view.runs(self.from, self.to(), |run| {
            (pieces, bytes) = (pieces + 1, bytes + run.len);
            pieces < SAMPLE
        });
        bytes.checked_div(pieces).unwrap_or(0)
    }

    /// Whether its pieces are small and close together. What goes to and fro in the file must fit in one block.
    fn is_worth_sieving(&self, block_bytes: u64) -> bool {
        if self.piece_bytes() >= SIEVE_PIECE_BYTES {
            return false;
        }
        let span = self.span();
        let file_bytes = span.end - span.start;
        file_bytes / SIEVE_WASTE_MAX <= self.buf.len() as u64
            && (self.is_ordered() || file_bytes <= block_bytes)
    }
}

/// Writes a part.
pub fn write(storage: &dyn Storage, part: &StreamPart, tuning: &Tuning) -> Moved {
    if tuning.sieves(part, tuning.sieve_write) {
        return sieved_write(storage, part, tuning.sieve_write);
    }
    match tuning.sieve_write {
        0 => by_runs(part, |at, len, offset| write_all(storage, &part.buf, at, len, offset)),
        _ => by_runs(part, |at, len, offset| write_locked(storage, &part.buf, at, len, offset)),
    }
}

/// Reads a part, as far as the file goes.
pub fn read(storage: &dyn Storage, part: &StreamPart, tuning: &Tuning) -> Moved {
    if tuning.sieves(part, tuning.sieve_read) {
        return sieved_read(storage, part, tuning.sieve_read);
    }
    by_runs(part, |at, len, offset| read_all(storage, &part.buf, at, len, offset))
}

fn by_runs(part: &StreamPart, mut step: impl FnMut(usize, usize, u64) -> (usize, io::Result<()>)) -> Moved {
    let mut moved = Moved::default();
    part.view.runs(part.from, part.to(), |run| {
        let (bytes, outcome) = step((run.stream - part.from) as usize, run.len as usize, run.offset);
        moved.bytes += bytes as u64;
        moved.error = outcome.err();
        moved.error.is_none() && bytes as u64 == run.len
    });
    moved
}

/// A block of the file in memory.
struct FileBlock {
    buf: UserBuf,
    start: u64,
    /// Behind the last byte that the file has here.
    end: u64,
}

fn sieved_read(storage: &dyn Storage, part: &StreamPart, block_bytes: u64) -> Moved {
    let last = part.span().end;
    let room = block_bytes.min(last - part.span().start) as usize;
    let mut block = FileBlock { buf: UserBuf::owned(room), start: 0, end: 0 };
    let mut moved = Moved::default();
    part.view.runs(part.from, part.to(), |run| {
        let mut done = 0;
        while done < run.len {
            let at = run.offset + done;
            if at < block.start || at >= block.end {
                let len = room.min((last - at) as usize);
                let (bytes, outcome) = read_all(storage, &block.buf, 0, len, at);
                (block.start, block.end) = (at, at + bytes as u64);
                if bytes == 0 {
                    moved.error = outcome.err();
                    return false;
                }
            }
            let len = (run.len - done).min(block.end - at);
            let to = (run.stream + done - part.from) as usize;
            UserBuf::copy(&block.buf, (at - block.start) as usize, &part.buf, to, len as usize);
            (done, moved.bytes) = (done + len, moved.bytes + len);
        }
        true
    });
    moved
}

/// Block by block: under a lock, what is there is read, changed and written back. Behind the end of the file there is nothing to read.
fn sieved_write(storage: &dyn Storage, part: &StreamPart, block_bytes: u64) -> Moved {
    let (mut moved, span) = (Moved::default(), part.span());
    let room = block_bytes.min(span.end - span.start) as usize;
    let block = UserBuf::owned(room);
    let mut start = span.start;
    while start < span.end && moved.error.is_none() {
        let mut runs = Vec::new();
        part.runs_within(&(start..start + room as u64), |run, at| runs.push((run, at)));
        let (Some((first, _)), Some((last, _))) = (runs.first(), runs.last()) else {
            start += room as u64;
            continue;
        };
        let range = first.offset..last.offset + last.len;
        let outcome = storage.lock(range.start, range.end);
        moved.error = outcome.err();
        if moved.error.is_none() {
            rewrite(storage, part, &block, &runs, range.clone(), &mut moved);
            if let Err(error) = storage.unlock(range.start, range.end) {
                moved.error.get_or_insert(error);
            }
        }
        start += room as u64;
    }
    moved
}

fn rewrite(
    storage: &dyn Storage,
    part: &StreamPart,
    block: &UserBuf,
    runs: &[(FileRun, usize)],
    range: std::ops::Range<u64>,
    moved: &mut Moved,
) {
    let len = (range.end - range.start) as usize;
    let (known, outcome) = read_all(storage, block, 0, len, range.start);
    if let Err(error) = outcome {
        moved.error = Some(error);
        return;
    }
    let zeros = [0u8; 4096];
    for at in (known..len).step_by(zeros.len()) {
        block.write(at, &zeros[..zeros.len().min(len - at)]);
    }
    for (run, at) in runs {
        UserBuf::copy(&part.buf, *at, block, (run.offset - range.start) as usize, run.len as usize);
    }
    let (written, outcome) = write_all(storage, block, 0, len, range.start);
    moved.error = outcome.err();
    let end = range.start + written as u64;
    moved.bytes += runs.iter().map(|(run, _)| end.saturating_sub(run.offset).min(run.len)).sum::<u64>();
}
