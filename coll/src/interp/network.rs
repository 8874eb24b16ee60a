//! Messages between the processes of the interpreter.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::{CollectiveTraffic, InterpretedProcess, RankInterpreter, ScheduleFault, UnexpectedTraffic};
use crate::schedule::Slice;

/// One side of a message.
pub(super) type MessageSide = u64;

/// How messages go from one process to another: all of a call in the same way, since there is no order between both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// To one process alone.
    Single,
    /// To several at once.
    Multicast,
}

/// What has been started and not delivered, by sender and receiver.
#[derive(Default)]
pub(super) struct UndeliveredMessages {
    pairs: BTreeMap<(InterpretedProcess, InterpretedProcess), ChannelQueue>,
    ready: Vec<(InterpretedProcess, InterpretedProcess)>,
    finished: HashSet<MessageSide>,
    /// Receivers that a multicast has not reached yet.
    missing: HashMap<MessageSide, usize>,
    next: MessageSide,
    /// Who comes last, if what is sent is taken at once.
    late: Option<InterpretedProcess>,
    unexpected: UnexpectedTraffic,
    unexpected_max: UnexpectedTraffic,
    /// Grows with everything that happens, so a standstill shows.
    pub events: u64,
    pub traffic: CollectiveTraffic,
}

#[derive(Default)]
struct ChannelQueue {
    kind: Option<MessageKind>,
    sends: VecDeque<(MessageSide, MessageData)>,
    recvs: VecDeque<(MessageSide, Slice)>,
}

/// Where the data of a message are until it is received.
enum MessageData {
    /// With the sender.
    Slice(Slice),
    /// On the way.
    Taken(Vec<u8>),
}

impl UndeliveredMessages {
    /// One on which messages wait for their receivers; with a process that is `late`, one that takes them at once.
    pub(super) fn new(late: Option<InterpretedProcess>) -> UndeliveredMessages {
        UndeliveredMessages { late, ..UndeliveredMessages::default() }
    }

    pub(super) fn takes_at_once(&self) -> bool {
        self.late.is_some()
    }

    /// The most that has waited for who is late.
    pub(super) fn unexpected_max(&self) -> UnexpectedTraffic {
        self.unexpected_max
    }

    /// Starts to send to one process or to several, whose data stay where they are until all have them.
    pub(super) fn send(
        &mut self,
        kind: MessageKind,
        from: InterpretedProcess,
        to: &[InterpretedProcess],
        slice: Slice,
    ) -> Result<MessageSide, ScheduleFault> {
        let message = self.start();
        self.missing.insert(message, to.len());
        for to in to {
            self.pair(kind, from, *to)?.sends.push_back((message, MessageData::Slice(slice)));
        }
        Ok(message)
    }

    /// Sends, and the sender is through with it.
    pub(super) fn take(
        &mut self,
        kind: MessageKind,
        from: InterpretedProcess,
        to: &[InterpretedProcess],
        packed: Vec<u8>,
    ) -> Result<(), ScheduleFault> {
        let message = self.start();
        self.missing.insert(message, to.len());
        for to in to {
            let pair = self.pair(kind, from, *to)?;
            let awaited = pair.recvs.len() > pair.sends.len();
            pair.sends.push_back((message, MessageData::Taken(packed.clone())));
            if kind == MessageKind::Multicast && Some(*to) == self.late && !awaited {
                self.unexpected.messages += 1;
                self.unexpected.bytes += packed.len() as u64;
                self.unexpected_max.messages = self.unexpected_max.messages.max(self.unexpected.messages);
                self.unexpected_max.bytes = self.unexpected_max.bytes.max(self.unexpected.bytes);
            }
        }
        Ok(())
    }

    pub(super) fn recv(
        &mut self,
        kind: MessageKind,
        from: InterpretedProcess,
        to: InterpretedProcess,
        slice: Slice,
    ) -> Result<MessageSide, ScheduleFault> {
        let message = self.start();
        let late = Some(to) == self.late && kind == MessageKind::Multicast;
        let pair = self.pair(kind, from, to)?;
        // What has come for this receive is early no longer.
        let came = pair.sends.get(pair.recvs.len()).and_then(|(_, source)| match source {
            MessageData::Taken(packed) => Some(packed.len() as u64),
            MessageData::Slice(_) => None,
        });
        pair.recvs.push_back((message, slice));
        if let Some(bytes) = came.filter(|_| late) {
            self.unexpected.messages -= 1;
            self.unexpected.bytes -= bytes;
        }
        Ok(message)
    }

    fn start(&mut self) -> MessageSide {
        self.events += 1;
        self.next += 1;
        self.next
    }

    /// The messages from one process to another, of which there is one more.
    fn pair(
        &mut self,
        kind: MessageKind,
        from: InterpretedProcess,
        to: InterpretedProcess,
    ) -> Result<&mut ChannelQueue, ScheduleFault> {
        self.ready.push((from, to));
        let pair = self.pairs.entry((from, to)).or_default();
        let to_itself = kind == MessageKind::Multicast && from == to;
        if *pair.kind.get_or_insert(kind) != kind || to_itself {
            return Err(ScheduleFault::Mixed(from, to));
        }
        Ok(pair)
    }

    /// Whether a side of a message is done; forgets it then.
    pub(super) fn finished(&mut self, message: MessageSide) -> bool {
        let finished = self.finished.remove(&message);
        self.events += u64::from(finished);
        finished
    }

    /// Moves the data of all messages that both sides have started.
    pub(super) fn deliver(&mut self, interpreters: &mut [RankInterpreter]) -> Result<(), ScheduleFault> {
        while let Some(names) = self.ready.pop() {
            let pair = self.pairs.entry(names).or_default();
            if pair.sends.is_empty() || pair.recvs.is_empty() {
                continue;
            }
            let sent = pair.sends.pop_front().into_iter().zip(pair.recvs.pop_front());
            for ((send, source), (recv, into)) in sent {
                let last = self.reached(send);
                let packed = leave(interpreters, names.0, source, last)?;
                let bytes = packed.len() as u64;
                arrive(interpreters, names, &into, packed)?;
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
    fn reached(&mut self, message: MessageSide) -> bool {
        let missing = self.missing.get_mut(&message).expect("a message that was sent");
        *missing -= 1;
        let last = *missing == 0;
        if last {
            self.missing.remove(&message);
        }
        last
    }

    /// The messages that wait for their other side, in words.
    pub(super) fn unmatched(&self) -> Vec<String> {
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
fn leave(
    interpreters: &mut [RankInterpreter],
    from: InterpretedProcess,
    source: MessageData,
    last: bool,
) -> Result<Vec<u8>, ScheduleFault> {
    let slice = match source {
        MessageData::Taken(packed) => return Ok(packed),
        MessageData::Slice(slice) => slice,
    };
    let sender = interpreter(interpreters, from);
    let packed = sender.read(&slice)?;
    if last {
        sender.unguard(&slice, false)?;
    }
    Ok(packed)
}

fn arrive(
    interpreters: &mut [RankInterpreter],
    (from, to): (InterpretedProcess, InterpretedProcess),
    target: &Slice,
    packed: Vec<u8>,
) -> Result<(), ScheduleFault> {
    let receiver = interpreter(interpreters, to);
    receiver.unguard(target, true)?;
    receiver.write(target, &packed).map_err(|fault| match fault {
        ScheduleFault::Mismatch(_, _, room, sent) => ScheduleFault::Mismatch(from, to, sent, room),
        other => other,
    })
}

fn interpreter<'m, 'a>(
    interpreters: &'m mut [RankInterpreter<'a>],
    process: InterpretedProcess,
) -> &'m mut RankInterpreter<'a> {
    let found = interpreters.iter_mut().find(|interpreter| interpreter.process == process);
    found.expect("every peer of a schedule is in the communicator")
}
