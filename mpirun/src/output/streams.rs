//! The standard output and standard error of this host's ranks, cut into lines.

use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::io::{Errno, ioctl_fionread, retry_on_intr};

use crate::limits::{PROMPT_DELAY, READ_BYTES};
use crate::output::lines::OutputLines;
use crate::poller::{PollToken, Poller};

/// Where the lines go: to `mpirun`'s own output, or from an agent to `mpirun`.
pub(crate) trait LineSink {
    /// Takes whole lines of a rank, or a piece of one.
    fn take(&mut self, rank: u32, error: bool, bytes: &[u8]);

    /// Whether more should not be taken now.
    fn is_full(&self, error: bool) -> bool;
}

/// All streams of this host's ranks. Those of the rank at index i are 2 i (standard output) and 2 i + 1 (standard error).
#[derive(Debug)]
pub(crate) struct Streams {
    streams: Vec<Stream>,
    /// Streams that are not read because nobody takes what they say.
    paused: Vec<usize>,
    /// Streams whose lines have begun and not ended, and when. A person may wait for them.
    prompts: Vec<(usize, Instant)>,
    /// Whether a person sits at the terminal.
    interactive: bool,
    open: usize,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Stream {
    rank: u32,
    pipe: Option<OwnedFd>,
    lines: OutputLines,
}

/// What reading a stream led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    Something,
    /// Nothing now, or nothing any more, or nobody takes it.
    Nothing,
}

impl Streams {
    /// Starts to read these pipes, two of each rank.
    pub(crate) fn new(
        pipes: impl Iterator<Item = (u32, [OwnedFd; 2])>,
        interactive: bool,
        poller: &Poller,
    ) -> Result<Streams, Errno> {
        let stream = |rank, pipe| Stream { rank, pipe: Some(pipe), lines: OutputLines::default() };
        let streams: Vec<_> = pipes.flat_map(|(rank, pipes)| pipes.map(|pipe| stream(rank, pipe))).collect();
        let streams = Streams {
            open: streams.len(),
            streams,
            paused: Vec::new(),
            prompts: Vec::new(),
            interactive,
            buffer: vec![0; READ_BYTES],
        };
        for index in 0..streams.streams.len() {
            streams.wait_for(index, poller)?;
        }
        Ok(streams)
    }

    /// A stream has output, or has ended.
    pub(crate) fn on_stream(&mut self, index: u32, line_sink: &mut impl LineSink, poller: &Poller) {
        self.read(index as usize, line_sink, poller);
    }

    /// Takes what the rank at `index` has said until now: its last words before its end is reported.
    pub(crate) fn drain_rank(&mut self, index: usize, line_sink: &mut impl LineSink, poller: &Poller) {
        for index in [2 * index, 2 * index + 1] {
            while self.read(index, line_sink, poller) == Read::Something {}
        }
    }

    /// Reads on where more is taken again.
    pub(crate) fn resume(&mut self, line_sink: &impl LineSink, poller: &Poller) {
        for index in std::mem::take(&mut self.paused) {
            let full = line_sink.is_full(is_error(index));
            if full || self.wait_for(index, poller).is_err() {
                self.paused.push(index);
            }
        }
    }

    /// When a line without an end is to be shown.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.prompts.first().map(|&(_, since)| since + PROMPT_DELAY)
    }

    /// Shows lines that have waited long enough for their ends.
    pub(crate) fn tick(&mut self, now: Instant, line_sink: &mut impl LineSink) {
        while self.due().is_some_and(|due| now >= due) {
            let (index, _) = self.prompts.remove(0);
            self.flush_line(index, line_sink);
        }
    }

    /// Whether every stream has ended.
    pub(crate) fn are_closed(&self) -> bool {
        self.open == 0
    }

    /// Whether both streams of the rank at `index` have ended.
    pub(crate) fn is_silent(&self, index: usize) -> bool {
        self.streams[2 * index].pipe.is_none() && self.streams[2 * index + 1].pipe.is_none()
    }

    /// Whether something is not read because nobody takes it.
    pub(crate) fn are_paused(&self) -> bool {
        !self.paused.is_empty()
    }

    /// Reads no more from streams that others still hold open, but for what is in them.
    pub(crate) fn close_all(&mut self, line_sink: &mut impl LineSink, poller: &Poller) {
        for index in 0..self.streams.len() {
            self.take_rest(index, line_sink);
            self.close(index, line_sink, poller);
        }
        self.paused.clear();
    }

    fn read(&mut self, index: usize, line_sink: &mut impl LineSink, poller: &Poller) -> Read {
        let Some(pipe) = &self.streams[index].pipe else { return Read::Nothing };
        if line_sink.is_full(is_error(index)) {
            self.pause(index, poller);
            return Read::Nothing;
        }
        match rustix::io::read(pipe, &mut self.buffer[..]) {
            Ok(0) => self.close(index, line_sink, poller),
            Ok(count) => {
                self.take(index, count, line_sink);
                return Read::Something;
            }
            Err(Errno::AGAIN) => {}
            Err(Errno::INTR) => return Read::Something,
            Err(_) => self.close(index, line_sink, poller),
        }
        Read::Nothing
    }

    /// Takes what is in a pipe now, also where the sink is full: not what somebody goes on to write.
    fn take_rest(&mut self, index: usize, line_sink: &mut impl LineSink) {
        let Some(pipe) = &self.streams[index].pipe else { return };
        let mut rest = ioctl_fionread(pipe).unwrap_or(0) as usize;
        while rest > 0
            && let Some(pipe) = &self.streams[index].pipe
            && let Ok(count @ 1..) = retry_on_intr(|| rustix::io::read(pipe, &mut self.buffer[..]))
        {
            rest = rest.saturating_sub(count);
            self.take(index, count, line_sink);
        }
    }

    fn take(&mut self, index: usize, count: usize, line_sink: &mut impl LineSink) {
        let Stream { rank, lines, .. } = &mut self.streams[index];
        lines.take(&self.buffer[..count], |bytes| line_sink.take(*rank, is_error(index), bytes));
        if self.interactive {
            let partial = lines.is_partial();
            self.prompts.retain(|&(other, _)| other != index);
            if partial {
                self.prompts.push((index, Instant::now()));
            }
        }
    }

    fn flush_line(&mut self, index: usize, line_sink: &mut impl LineSink) {
        let Stream { rank, lines, .. } = &mut self.streams[index];
        lines.flush(|bytes| line_sink.take(*rank, is_error(index), bytes));
    }

    fn close(&mut self, index: usize, line_sink: &mut impl LineSink, poller: &Poller) {
        if let Some(pipe) = self.streams[index].pipe.take() {
            poller.remove(&pipe);
            self.open -= 1;
            self.flush_line(index, line_sink);
        }
    }

    /// The poller reports the end of a stream whether it is asked or not, so a stream that is not to be read
    /// has to leave it.
    fn pause(&mut self, index: usize, poller: &Poller) {
        if let Some(pipe) = &self.streams[index].pipe {
            poller.remove(pipe);
        }
        if !self.paused.contains(&index) {
            self.paused.push(index);
        }
    }

    fn wait_for(&self, index: usize, poller: &Poller) -> Result<(), Errno> {
        match &self.streams[index].pipe {
            Some(pipe) => poller.add_reader(pipe, PollToken::Output(index as u32)),
            None => Ok(()),
        }
    }
}

fn is_error(index: usize) -> bool {
    index % 2 == 1
}
