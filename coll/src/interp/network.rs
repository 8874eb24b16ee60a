//! Messages between the processes of the interpreter.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::{Early, Fault, Machine, Process, Traffic};
use crate::schedule::Slice;

/// One side of a message.
pub(super) type Message = u64;

/// How messages go from one process to another: all of a call in the same way, since there is no order between both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// To one process alone.
    Single,
    /// To several at once.
    Multicast,
}

/// What has been started and not delivered, by sender and receiver.
#[derive(Default)]
pub(super) struct Network {
    pairs: BTreeMap<(Process, Process), Pair>,
    ready: Vec<(Process, Process)>,
    finished: HashSet<Message>,
    /// Receivers that a multicast has not reached yet.
    missing: HashMap<Message, usize>,
    next: Message,
    /// Who comes last, if what is sent is taken at once.
    late: Option<Process>,
    early: Early,
    early_max: Early,
    /// Grows with everything that happens, so a standstill shows.
    pub events: u64,
    pub traffic: Traffic,
}

#[derive(Default)]
struct Pair {
    kind: Option<Kind>,
    sends: VecDeque<(Message, Source)>,
    recvs: VecDeque<(Message, Slice)>,
}

/// Where the data of a message are until it is received.
enum Source {
    /// With the sender.
    Slice(Slice),
    /// On the way.
    Taken(Vec<u8>),
}

impl Network {
    /// One on which messages wait for their receivers; with a process that is `late`, one that takes them at once.
    pub fn new(late: Option<Process>) -> Network {
        Network { late, ..Network::default() }
    }

    pub fn takes_at_once(&self) -> bool {
        self.late.is_some()
    }

    /// The most that has waited for who is late.
    pub fn early_max(&self) -> Early {
        self.early_max
    }

    /// Starts to send to one process or to several, whose data stay where they are until all have them.
    pub fn send(
        &mut self,
        kind: Kind,
        from: Process,
        to: &[Process],
        slice: Slice,
    ) -> Result<Message, Fault> {
        let message = self.start();
        self.missing.insert(message, to.len());
        for to in to {
            self.pair(kind, from, *to)?.sends.push_back((message, Source::Slice(slice)));
        }
        Ok(message)
    }

    /// Sends, and the sender is through with it.
    pub fn take(&mut self, kind: Kind, from: Process, to: &[Process], packed: Vec<u8>) -> Result<(), Fault> {
        let message = self.start();
        self.missing.insert(message, to.len());
        for to in to {
            let pair = self.pair(kind, from, *to)?;
            let awaited = pair.recvs.len() > pair.sends.len();
            pair.sends.push_back((message, Source::Taken(packed.clone())));
            if kind == Kind::Multicast && Some(*to) == self.late && !awaited {
                self.early.messages += 1;
                self.early.bytes += packed.len() as u64;
                self.early_max.messages = self.early_max.messages.max(self.early.messages);
                self.early_max.bytes = self.early_max.bytes.max(self.early.bytes);
            }
        }
        Ok(())
    }

    pub fn recv(&mut self, kind: Kind, from: Process, to: Process, slice: Slice) -> Result<Message, Fault> {
        let message = self.start();
        let late = Some(to) == self.late && kind == Kind::Multicast;
        let pair = self.pair(kind, from, to)?;
        // What has come for this receive is early no longer.
        let came = pair.sends.get(pair.recvs.len()).and_then(|(_, source)| match source {
            Source::Taken(packed) => Some(packed.len() as u64),
            Source::Slice(_) => None,
        });
        pair.recvs.push_back((message, slice));
        if let Some(bytes) = came.filter(|_| late) {
            self.early.messages -= 1;
            self.early.bytes -= bytes;
        }
        Ok(message)
    }

    fn start(&mut self) -> Message {
        self.events += 1;
        self.next += 1;
        self.next
    }

    /// The messages from one process to another, of which there is one more.
    fn pair(&mut self, kind: Kind, from: Process, to: Process) -> Result<&mut Pair, Fault> {
        self.ready.push((from, to));
        let pair = self.pairs.entry((from, to)).or_default();
        let to_itself = kind == Kind::Multicast && from == to;
        if *pair.kind.get_or_insert(kind) != kind || to_itself {
            return Err(Fault::Mixed(from, to));
        }
        Ok(pair)
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
            for ((send, source), (recv, into)) in sent {
                let last = self.reached(send);
                let packed = leave(machines, names.0, source, last)?;
                let bytes = packed.len() as u64;
                arrive(machines, names, &into, packed)?;
                self.finished.insert(recv);
                if last {
                    self.finished.insert(send);
                    self.traffic.messages += 1;
                    self.traffic.bytes += bytes;
                }
            }
        }
        Ok(())
    }

    /// One more receiver has a message; whether that was the last.
    fn reached(&mut self, message: Message) -> bool {
        let missing = self.missing.get_mut(&message).expect("a message that was sent");
        *missing -= 1;
        let last = *missing == 0;
        if last {
            self.missing.remove(&message);
        }
        last
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

/// The data of a message; its sender may use their memory again after the last receiver.
fn leave(machines: &mut [Machine], from: Process, source: Source, last: bool) -> Result<Vec<u8>, Fault> {
    let slice = match source {
        Source::Taken(packed) => return Ok(packed),
        Source::Slice(slice) => slice,
    };
    let sender = machine(machines, from);
    let packed = sender.read(&slice)?;
    if last {
        sender.unguard(&slice, false)?;
    }
    Ok(packed)
}

fn arrive(
    machines: &mut [Machine],
    (from, to): (Process, Process),
    target: &Slice,
    packed: Vec<u8>,
) -> Result<(), Fault> {
    let receiver = machine(machines, to);
    receiver.unguard(target, true)?;
    receiver.write(target, &packed).map_err(|fault| match fault {
        Fault::Mismatch(_, _, room, sent) => Fault::Mismatch(from, to, sent, room),
        other => other,
    })
}

fn machine<'m, 'a>(machines: &'m mut [Machine<'a>], process: Process) -> &'m mut Machine<'a> {
    let found = machines.iter_mut().find(|machine| machine.process == process);
    found.expect("every peer of a schedule is in the communicator")
}
