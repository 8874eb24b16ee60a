//! Messages between the processes of the interpreter.

use std::collections::{BTreeMap, HashSet, VecDeque};

use super::{Fault, Machine, Process, Traffic};
use crate::schedule::Slice;

/// One side of a message.
pub(super) type Message = u64;

/// What has been started and not delivered, by sender and receiver.
#[derive(Default)]
pub(super) struct Network {
    pairs: BTreeMap<(Process, Process), Pair>,
    ready: Vec<(Process, Process)>,
    finished: HashSet<Message>,
    next: Message,
    /// Grows with everything that happens, so a standstill shows.
    pub events: u64,
    pub traffic: Traffic,
}

#[derive(Default)]
struct Pair {
    sends: VecDeque<(Message, Slice)>,
    recvs: VecDeque<(Message, Slice)>,
}

impl Network {
    pub fn send(&mut self, from: Process, to: Process, slice: Slice) -> Message {
        let message = self.start(from, to);
        self.pairs.entry((from, to)).or_default().sends.push_back((message, slice));
        message
    }

    pub fn recv(&mut self, from: Process, to: Process, slice: Slice) -> Message {
        let message = self.start(from, to);
        self.pairs.entry((from, to)).or_default().recvs.push_back((message, slice));
        message
    }

    fn start(&mut self, from: Process, to: Process) -> Message {
        self.ready.push((from, to));
        self.events += 1;
        self.next += 1;
        self.next
    }

    /// Whether a side of a message is done; forgets it then.
    pub fn finished(&mut self, message: Message) -> bool {
        let finished = self.finished.remove(&message);
        self.events += u64::from(finished);
        finished
    }

    /// Moves the data of all messages that both sides have started.
    pub fn deliver(&mut self, machines: &mut [Machine]) -> Result<(), Fault> {
        while let Some(names) = self.ready.pop() {
            let pair = self.pairs.entry(names).or_default();
            if pair.sends.is_empty() || pair.recvs.is_empty() {
                continue;
            }
            let sent = pair.sends.pop_front().into_iter().zip(pair.recvs.pop_front());
            for ((send, from), (recv, into)) in sent {
                let bytes = transfer(machines, names, &from, &into)?;
                self.finished.extend([send, recv]);
                self.traffic.messages += 1;
                self.traffic.bytes += bytes;
            }
        }
        Ok(())
    }

    /// The messages that wait for their other side, in words.
    pub fn unmatched(&self) -> Vec<String> {
        let mut words = Vec::new();
        for ((from, to), pair) in &self.pairs {
            if !pair.sends.is_empty() {
                words.push(format!("{from} sends {} to {to}", pair.sends.len()));
            }
            if !pair.recvs.is_empty() {
                words.push(format!("{to} receives {} from {from}", pair.recvs.len()));
            }
        }
        words
    }
}

fn transfer(
    machines: &mut [Machine],
    (from, to): (Process, Process),
    source: &Slice,
    target: &Slice,
) -> Result<u64, Fault> {
    let packed = {
        let sender = machine(machines, from);
        let packed = sender.read(source)?;
        sender.unguard(source, false)?;
        packed
    };
    let receiver = machine(machines, to);
    receiver.unguard(target, true)?;
    receiver.write(target, &packed).map_err(|fault| match fault {
        Fault::Mismatch(_, _, room, sent) => Fault::Mismatch(from, to, sent, room),
        other => other,
    })?;
    Ok(packed.len() as u64)
}

fn machine<'m, 'a>(machines: &'m mut [Machine<'a>], process: Process) -> &'m mut Machine<'a> {
    let found = machines.iter_mut().find(|machine| machine.process == process);
    found.expect("every peer of a schedule is in the communicator")
}
