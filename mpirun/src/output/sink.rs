//! One sink, such as `mpirun`'s own standard output: it takes lines, and never blocks.
//!
//! The descriptors may be shared with a shell, so they stay in blocking mode; a pipe or terminal is asked
//! by `poll` before each write and gets no more at once than it takes without blocking. What a slow
//! reader does not take yet waits here, up to a bound beyond which the ranks' output is not read.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::SystemTime;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;

use crate::limits::{SINK_BYTES_MAX, WRITE_BYTES};
use crate::output::clock;

/// Whose line it is.
pub(crate) type LineSource = u32;

/// `mpirun` itself, which has something to say too.
pub(crate) const OWN: LineSource = u32::MAX;

/// One place to which lines go.
#[derive(Debug)]
pub(crate) struct OutputSink {
    fd: BorrowedFd<'static>,
    /// Whether it can make a writer wait, as a pipe and unlike a file.
    can_wait: bool,
    terminal: bool,
    tagged: bool,
    stamped: bool,
    pending: Vec<u8>,
    /// Bytes of `pending` that have been written.
    written: usize,
    /// Who wrote last without ending the line.
    unfinished: Option<LineSource>,
    /// Writing has failed for good: what comes is dropped.
    broken: bool,
}

impl OutputSink {
    /// A sink on `fd`; if `tagged`, each line gets its rank as a prefix, and if `stamped`, the time.
    pub(crate) fn new(fd: BorrowedFd<'static>, tagged: bool, stamped: bool) -> OutputSink {
        let kind = fstat(fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
        let can_wait = matches!(kind, Ok(FileType::Fifo | FileType::Socket | FileType::CharacterDevice));
        let terminal = rustix::termios::isatty(fd);
        OutputSink {
            fd,
            can_wait,
            terminal,
            tagged,
            stamped,
            pending: Vec::new(),
            written: 0,
            unfinished: None,
            broken: false,
        }
    }

    /// Takes whole lines, or a piece of one.
    pub(crate) fn push(&mut self, source: LineSource, bytes: &[u8]) {
        if self.broken {
            return;
        }
        if self.unfinished.is_some_and(|other| other != source) {
            self.pending.push(b'\n');
            self.unfinished = None;
        }
        if (self.tagged || self.stamped) && source != OWN {
            self.push_tagged(source, bytes);
        } else {
            self.pending.extend_from_slice(bytes);
        }
        self.unfinished = (bytes.last() != Some(&b'\n')).then_some(source);
    }

    fn push_tagged(&mut self, source: LineSource, bytes: &[u8]) {
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            if self.unfinished.is_none() {
                self.push_prefix(source);
            }
            self.pending.extend_from_slice(line);
            self.unfinished = (line.last() != Some(&b'\n')).then_some(source);
        }
    }

    /// Writing to a vector cannot fail.
    fn push_prefix(&mut self, source: LineSource) {
        if self.stamped {
            let _ = write!(self.pending, "{} ", clock::utc(SystemTime::now()));
        }
        if self.tagged {
            let _ = write!(self.pending, "[{source}] ");
        }
    }

    /// Writes what can be written without waiting. An error is returned once; after it nothing is taken.
    pub(crate) fn flush(&mut self) -> Result<(), Errno> {
        let result = self.write_pending();
        if result.is_err() {
            self.broken = true;
            self.written = self.pending.len();
        }
        self.pending.drain(..self.written);
        self.pending.shrink_to(SINK_BYTES_MAX);
        self.written = 0;
        result
    }

    fn write_pending(&mut self) -> Result<(), Errno> {
        while self.written < self.pending.len() && (!self.can_wait || self.is_writable()) {
            let most = if self.can_wait { WRITE_BYTES } else { SINK_BYTES_MAX };
            let piece = &self.pending[self.written..];
            match rustix::io::write(self.fd, &piece[..piece.len().min(most)]) {
                Ok(count) => self.written += count,
                Err(Errno::INTR) => {}
                // Someone else has made it non-blocking.
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether something waits to be written.
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether more should not be taken now.
    pub(crate) fn is_full(&self) -> bool {
        self.pending.len() >= SINK_BYTES_MAX
    }

    /// Whether a person is looking.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    fn is_writable(&mut self) -> bool {
        let mut fds = [PollFd::new(&self.fd, PollFlags::OUT)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut fds, Some(&now)) {
            // An error or a closed reader shows in the write.
            Ok(ready) => ready > 0,
            // A filter of system calls may refuse to tell whether there is room: then each write waits for it.
            Err(Errno::PERM | Errno::NOSYS) => {
                self.can_wait = false;
                true
            }
            Err(_) => false,
        }
    }
}

impl AsFd for OutputSink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd
    }
}

/// Whether two descriptors lead to one place, so that their lines must not mix.
pub(crate) fn same_place(a: impl AsFd, b: impl AsFd) -> bool {
    match (fstat(a), fstat(b)) {
        (Ok(a), Ok(b)) => (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sink(tagged: bool) -> OutputSink {
        OutputSink::new(rustix::stdio::stdout(), tagged, false)
    }

    fn text(sink: &OutputSink) -> &str {
        std::str::from_utf8(&sink.pending).unwrap()
    }

    #[test]
    fn lines_of_different_ranks_do_not_share_a_line() {
        let mut sink = sink(false);
        sink.push(0, b"no end");
        sink.push(0, b" yet");
        sink.push(1, b"one\ntwo\n");
        sink.push(OWN, b"mpirun: note\n");
        assert_eq!(text(&sink), "no end yet\none\ntwo\nmpirun: note\n");
    }

    #[test]
    fn every_line_is_tagged_once() {
        let mut sink = sink(true);
        sink.push(3, b"a\nb");
        sink.push(3, b"c\n");
        sink.push(OWN, b"mpirun: note\n");
        sink.push(4, b"d\n");
        assert_eq!(text(&sink), "[3] a\n[3] bc\nmpirun: note\n[4] d\n");
    }
}
