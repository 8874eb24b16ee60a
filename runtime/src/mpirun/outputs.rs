//! `mpirun`'s own standard output and standard error, into which the lines of all ranks flow.

use rustix::io::Errno;

use crate::poller::{Poller, Token};
use crate::sink::{OWN, Sink, same_place};
use crate::streams::Mouth;

/// The sinks into which all lines flow.
#[derive(Debug)]
pub struct Outputs {
    sinks: Vec<Gate>,
    /// Which sink is standard output and which standard error: the same one if both lead to one place.
    sink_of: [usize; 2],
}

#[derive(Debug)]
struct Gate {
    sink: Sink,
    /// Whether the poller waits for the sink to take more.
    waiting: bool,
}

impl Outputs {
    /// The process's own; if `tagged`, each line gets its rank as a prefix.
    pub fn new(tagged: bool) -> Outputs {
        let (stdout, stderr) = (rustix::stdio::stdout(), rustix::stdio::stderr());
        let one_place = same_place(stdout, stderr);
        let gate = |fd| Gate { sink: Sink::new(fd, tagged), waiting: false };
        let sinks: Vec<_> = if one_place { vec![gate(stdout)] } else { vec![gate(stdout), gate(stderr)] };
        Outputs { sinks, sink_of: [0, usize::from(!one_place)] }
    }

    /// Whether a person sits at the terminal.
    pub fn is_interactive(&self) -> bool {
        let terminal = self.sinks.iter().any(|gate| gate.sink.is_terminal());
        terminal || rustix::termios::isatty(rustix::stdio::stdin())
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
        result
    }

    /// Why the kernel does not tell whether there is room for output; once.
    pub fn take_refused(&mut self) -> Option<String> {
        self.sinks.iter_mut().find_map(|gate| gate.sink.take_refused())
    }

    /// Whether something waits to be written.
    pub fn has_pending(&self) -> bool {
        self.sinks.iter().any(|gate| gate.sink.has_pending())
    }
}

impl Mouth for Outputs {
    fn take(&mut self, rank: u32, error: bool, bytes: &[u8]) {
        self.sinks[self.sink_of[usize::from(error)]].sink.push(rank, bytes);
    }

    fn is_full(&self, error: bool) -> bool {
        self.sinks[self.sink_of[usize::from(error)]].sink.is_full()
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
