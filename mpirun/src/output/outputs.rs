//! The table of sinks: which line of which rank goes to standard output, to standard error, or to a file.

use std::time::Duration;

use rustix::io::Errno;
use tern_job::NodeMap;

use crate::output::files::{OutputFiles, Style, Writer};
use crate::output::sink::{OWN, OutputSink, same_place};
use crate::output::streams::LineSink;
use crate::poller::{PollToken, Poller};
use crate::watch::exit_cause::Refusal;

/// The sinks into which all lines flow.
#[derive(Debug)]
pub(crate) struct Outputs {
    sinks: Vec<Gate>,
    /// Which sink is standard output and which standard error: the same one if both lead to one place.
    sink_of: [usize; 2],
    style: Style,
    files: OutputFiles,
    places: RankHosts,
    /// A file could not be written; 0 is standard output.
    failure: Option<(usize, Errno)>,
    /// Bytes that have been taken.
    taken: u64,
}

/// Where the ranks run: files can be named by it.
#[derive(Debug)]
pub(crate) struct RankHosts {
    /// Names of the hosts.
    pub names: Vec<String>,
    /// The host of each rank.
    pub map: NodeMap,
}

impl RankHosts {
    fn writer(&self, rank: u32) -> Writer<'_> {
        let host = self.map.host_of(rank);
        let digits = (self.map.size() - 1).to_string().len();
        Writer { rank, digits, host, host_name: &self.names[host as usize] }
    }
}

#[derive(Debug)]
struct Gate {
    sink: OutputSink,
    /// Whether the poller waits for the sink to take more.
    waiting: bool,
}

impl Outputs {
    /// The process's own, for lines in this form.
    pub(crate) fn new(style: Style, places: RankHosts) -> Outputs {
        let (stdout, stderr) = (rustix::stdio::stdout(), rustix::stdio::stderr());
        let one_place = same_place(stdout, stderr);
        let gate = |fd| Gate { sink: OutputSink::new(fd, style.tag, style.timestamp), waiting: false };
        let sinks: Vec<_> = if one_place { vec![gate(stdout)] } else { vec![gate(stdout), gate(stderr)] };
        let sink_of = [0, usize::from(!one_place)];
        Outputs { sinks, sink_of, style, files: OutputFiles::default(), places, failure: None, taken: 0 }
    }

    /// Whether a person sits at the terminal.
    pub(crate) fn is_interactive(&self) -> bool {
        let terminal = self.sinks.iter().any(|gate| gate.sink.is_terminal());
        terminal || rustix::termios::isatty(rustix::stdio::stdin())
    }

    /// Says something of `mpirun`'s own.
    pub(crate) fn say(&mut self, text: &str) {
        self.sinks[self.sink_of[1]].sink.push(OWN, format!("mpirun: {text}\n").as_bytes());
    }

    /// Writes what the sinks take. An error names the stream: 0 is standard output.
    pub(crate) fn flush(&mut self, poller: &Poller) -> Result<(), (usize, Errno)> {
        let mut result = self.failure.take().map_or(Ok(()), Err);
        for (index, gate) in self.sinks.iter_mut().enumerate() {
            if let Err(error) = gate.flush(index as u32, poller) {
                result = Err((index, error));
            }
        }
        result
    }

    /// Writes all that there is, however long it takes.
    pub(crate) fn flush_at_once(&mut self) {
        while self.has_pending() && self.sinks.iter_mut().all(|gate| gate.sink.flush().is_ok()) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Makes the files of all ranks, before they run: one that cannot be written is told at once.
    pub(crate) fn begin_files(&mut self) -> Result<(), Refusal> {
        let streams = if self.style.merge { 1 } else { 2 };
        for pattern in self.style.files.iter().take(streams).flatten() {
            for rank in 0..self.places.map.size() {
                let begun = self.files.begin(pattern, &self.places.writer(rank));
                begun.map_err(|(path, error)| {
                    Refusal::usage(format!("cannot write {}: {error}", path.display()))
                })?;
            }
        }
        Ok(())
    }

    /// Writes to the rank's file, if there is one. Whether `mpirun`'s own output gets the same.
    fn write_file(&mut self, rank: u32, error: bool, bytes: &[u8]) -> bool {
        let Some(pattern) = &self.style.files[usize::from(error)] else { return true };
        let copies = pattern.copies;
        if let Err((path, error)) = self.files.write(pattern, &self.places.writer(rank), bytes) {
            self.style.files = [None, None];
            self.say(&format!("cannot write {}: {error}", path.display()));
            self.failure = Some((0, Errno::from_io_error(&error).unwrap_or(Errno::IO)));
        }
        copies
    }

    /// Bytes of the ranks that have been taken until now.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether something waits to be written.
    pub(crate) fn has_pending(&self) -> bool {
        self.sinks.iter().any(|gate| gate.sink.has_pending())
    }
}

impl LineSink for Outputs {
    fn take(&mut self, rank: u32, error: bool, bytes: &[u8]) {
        self.taken += bytes.len() as u64;
        let error = error && !self.style.merge;
        if !self.write_file(rank, error, bytes) {
            return;
        }
        self.sinks[self.sink_of[usize::from(error)]].sink.push(rank, bytes);
    }

    fn is_full(&self, error: bool) -> bool {
        let error = error && !self.style.merge;
        self.sinks[self.sink_of[usize::from(error)]].sink.is_full()
    }
}

impl Gate {
    fn flush(&mut self, index: u32, poller: &Poller) -> Result<(), Errno> {
        let result = self.sink.flush();
        let wait = self.sink.has_pending();
        if wait && !self.waiting {
            self.waiting = poller.add_writer(&self.sink, PollToken::Sink(index)).is_ok();
        } else if !wait && self.waiting {
            poller.remove(&self.sink);
            self.waiting = false;
        }
        result
    }
}
