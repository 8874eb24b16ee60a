//! The ranks' standard output and standard error on their way to `mpirun`'s own.

use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::io::Errno;

use crate::limits::{PROMPT_DELAY, READ_BYTES};
use crate::lines::Lines;
use crate::poller::{Poller, Token};
use crate::sink::{OWN, Sink, same_place};

/// All streams of all ranks, and the sinks into which they flow. The streams of rank r are 2 r (standard
/// output) and 2 r + 1 (standard error).
#[derive(Debug)]
pub struct Outputs {
    streams: Vec<Stream>,
    sinks: Vec<Gate>,
    /// Which sink is standard output and which standard error: the same one if both lead to one place.
    sink_of: [usize; 2],
    /// Streams that are not read because their sink is full.
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
    pipe: Option<OwnedFd>,
    lines: Lines,
}

#[derive(Debug)]
struct Gate {
    sink: Sink,
    /// Whether the poller waits for the sink to take more.
    waiting: bool,
}

/// What reading a stream led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    Something,
    /// Nothing now, or nothing any more, or the sink is full.
    Nothing,
}

impl Outputs {
    /// Starts to read these pipes, two of each rank.
    pub fn new(
        pipes: impl Iterator<Item = [OwnedFd; 2]>,
        tagged: bool,
        poller: &Poller,
    ) -> Result<Outputs, Errno> {
        let streams: Vec<_> =
            pipes.flatten().map(|pipe| Stream { pipe: Some(pipe), lines: Lines::default() }).collect();
        let (stdout, stderr) = (rustix::stdio::stdout(), rustix::stdio::stderr());
        let one_place = same_place(stdout, stderr);
        let gate = |fd| Gate { sink: Sink::new(fd, tagged), waiting: false };
        let sinks: Vec<_> = if one_place { vec![gate(stdout)] } else { vec![gate(stdout), gate(stderr)] };
        let terminal = sinks.iter().any(|gate| gate.sink.is_terminal());
        let outputs = Outputs {
            open: streams.len(),
            streams,
            sink_of: [0, usize::from(!one_place)],
            sinks,
            paused: Vec::new(),
            prompts: Vec::new(),
            interactive: terminal || rustix::termios::isatty(rustix::stdio::stdin()),
            buffer: vec![0; READ_BYTES],
        };
        for index in 0..outputs.streams.len() {
            outputs.wait_for(index, poller)?;
        }
        Ok(outputs)
    }

    /// A stream has output, or has ended.
    pub fn on_stream(&mut self, index: u32, poller: &Poller) {
        self.read(index as usize, poller);
    }

    /// Takes what a rank has said until now: its last words before its end is reported.
    pub fn drain_rank(&mut self, rank: u32, poller: &Poller) {
        for index in [2 * rank as usize, 2 * rank as usize + 1] {
            while self.read(index, poller) == Read::Something {}
        }
    }

    /// Says something of `mpirun`'s own.
    pub fn say(&mut self, text: &str) {
        self.sinks[self.sink_of[1]].sink.push(OWN, format!("mpirun: {text}\n").as_bytes());
    }

    /// Writes what the sinks take. An error names the stream: 0 is standard output.
    pub fn flush(&mut self, poller: &Poller) -> Result<(), (usize, Errno)> {
        let mut result = Ok(());
        for (index, gate) in self.sinks.iter_mut().enumerate() {
            if let Err(error) = gate.flush(index as u32, poller) {
                result = Err((index, error));
            }
        }
        self.resume(poller);
        result
    }

    /// When a line without an end is to be shown.
    pub fn due(&self) -> Option<Instant> {
        self.prompts.first().map(|&(_, since)| since + PROMPT_DELAY)
    }

    /// Shows lines that have waited long enough for their ends.
    pub fn tick(&mut self, now: Instant) {
        while self.due().is_some_and(|due| now >= due) {
            let (index, _) = self.prompts.remove(0);
            self.flush_line(index);
        }
    }

    /// Whether every stream has ended.
    pub fn are_closed(&self) -> bool {
        self.open == 0
    }

    /// Whether something waits to be written.
    pub fn has_pending(&self) -> bool {
        self.sinks.iter().any(|gate| gate.sink.has_pending())
    }

    /// Reads no more from streams that others still hold open.
    pub fn close_all(&mut self, poller: &Poller) {
        for index in 0..self.streams.len() {
            self.close(index, poller);
        }
        self.paused.clear();
    }

    fn read(&mut self, index: usize, poller: &Poller) -> Read {
        let Some(pipe) = &self.streams[index].pipe else { return Read::Nothing };
        if self.sinks[self.sink_of[index % 2]].sink.is_full() {
            self.pause(index, poller);
            return Read::Nothing;
        }
        match rustix::io::read(pipe, &mut self.buffer[..]) {
            Ok(0) => self.close(index, poller),
            Ok(count) => {
                self.take(index, count);
                return Read::Something;
            }
            Err(Errno::AGAIN) => {}
            Err(Errno::INTR) => return Read::Something,
            Err(_) => self.close(index, poller),
        }
        Read::Nothing
    }

    fn take(&mut self, index: usize, count: usize) {
        let sink = &mut self.sinks[self.sink_of[index % 2]].sink;
        let lines = &mut self.streams[index].lines;
        lines.take(&self.buffer[..count], |bytes| sink.push(index as u32 / 2, bytes));
        if self.interactive {
            let partial = lines.is_partial();
            self.prompts.retain(|&(other, _)| other != index);
            if partial {
                self.prompts.push((index, Instant::now()));
            }
        }
    }

    fn flush_line(&mut self, index: usize) {
        let sink = &mut self.sinks[self.sink_of[index % 2]].sink;
        self.streams[index].lines.flush(|bytes| sink.push(index as u32 / 2, bytes));
    }

    fn close(&mut self, index: usize, poller: &Poller) {
        if let Some(pipe) = self.streams[index].pipe.take() {
            poller.remove(&pipe);
            self.open -= 1;
            self.flush_line(index);
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

    fn resume(&mut self, poller: &Poller) {
        for index in std::mem::take(&mut self.paused) {
            let full = self.sinks[self.sink_of[index % 2]].sink.is_full();
            if full || self.wait_for(index, poller).is_err() {
                self.paused.push(index);
            }
        }
    }

    fn wait_for(&self, index: usize, poller: &Poller) -> Result<(), Errno> {
        match &self.streams[index].pipe {
            Some(pipe) => poller.add_reader(pipe, Token::Output(index as u32)),
            None => Ok(()),
        }
    }
}

impl Gate {
    fn flush(&mut self, index: u32, poller: &Poller) -> Result<(), Errno> {
        let result = self.sink.flush();
        let wait = self.sink.has_pending();
        if wait && !self.waiting {
            self.waiting = poller.add_writer(&self.sink, Token::Sink(index)).is_ok();
        } else if !wait && self.waiting {
            poller.remove(&self.sink);
            self.waiting = false;
        }
        result
    }
}
