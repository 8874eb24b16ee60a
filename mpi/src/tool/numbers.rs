//! The performance variables: one table, which the tool interface and `mpirun --stats` show.

use crate::comm::object::Lane;
use crate::core::process::{Process, ProcessEngine};
use std::sync::LazyLock;
use tern_abi::{MPI_Comm, MPI_DOUBLE, MPI_Datatype, MPI_UNSIGNED_LONG_LONG};
use tern_abi::{MPI_T_PVAR_CLASS_COUNTER, MPI_T_PVAR_CLASS_HIGHWATERMARK};
use tern_abi::{MPI_T_PVAR_CLASS_LEVEL, MPI_T_PVAR_CLASS_TIMER};
use tern_engine::EngineCounters;
use tern_engine::counters::{Levels, Protocol, Traffic};
use tern_engine::protocol::RendezvousMethod;
use tern_fabric::Tally;
use tern_transport::Peer;

/// A performance variable.
pub(super) struct Number {
    /// Its name.
    pub name: &'static str,
    /// What it says, in a sentence.
    pub meaning: &'static str,
    /// What kind of number it is.
    pub kind: NumberKind,
    /// Whose number it is, and how it is found.
    pub source: NumberSource,
}

/// What kind of number a variable is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NumberKind {
    /// How many there are now.
    Level,
    /// The most that there ever were.
    Peak,
    /// How many there have been.
    Counter,
    /// Nanoseconds here, seconds for a tool.
    Time,
}

/// Whose number a variable is.
#[derive(Clone, Copy)]
pub(super) enum NumberSource {
    /// This rank's.
    Rank(fn(&NumbersView) -> u64),
    /// Of a communicator: one number.
    Comm(fn(&ProcessEngine, u64) -> u64),
    /// Of a communicator: one for each rank of it (of the remote group, if it has one).
    Peers(fn(&EngineCounters) -> &[Traffic], fn(&Traffic) -> u64),
}

/// What the numbers of a rank are taken from.
pub(super) struct NumbersView<'a> {
    counters: &'a EngineCounters,
    levels: Levels,
    tally: Tally,
    blocked_ns: u64,
    polls: u64,
}

impl NumberKind {
    /// The standard's class.
    pub(super) fn class(self) -> i32 {
        match self {
            NumberKind::Level => MPI_T_PVAR_CLASS_LEVEL,
            NumberKind::Peak => MPI_T_PVAR_CLASS_HIGHWATERMARK,
            NumberKind::Counter => MPI_T_PVAR_CLASS_COUNTER,
            NumberKind::Time => MPI_T_PVAR_CLASS_TIMER,
        }
    }

    /// The type of a value in a caller's buffer.
    pub(super) fn datatype(self) -> MPI_Datatype {
        if self == NumberKind::Time { MPI_DOUBLE } else { MPI_UNSIGNED_LONG_LONG }
    }

    /// Whether it runs by itself, so that a handle neither starts nor resets it.
    pub(super) fn is_continuous(self) -> bool {
        matches!(self, NumberKind::Level | NumberKind::Peak)
    }
}

impl Number {
    /// Whether a handle is bound to a communicator.
    pub(super) fn is_of_comm(&self) -> bool {
        !matches!(self.source, NumberSource::Rank(_))
    }

    /// How many values it has for a communicator.
    pub(super) fn count(&self, process: &Process, comm: MPI_Comm) -> usize {
        match self.source {
            NumberSource::Rank(_) | NumberSource::Comm(_) => 1,
            NumberSource::Peers(..) => {
                process.objects.comms.get(comm).map_or(0, |comm| comm.peers().size() as usize)
            }
        }
    }

    /// Reads its values; they stay as they are where MPI does not run, or the communicator is gone. It allocates nothing: a signal
    /// handler may have interrupted whoever allocates.
    pub(super) fn read(&self, process: &Process, comm: MPI_Comm, to: &mut [u64]) {
        let Some(engine) = process.engine_ref() else { return };
        match self.source {
            NumberSource::Rank(read) => to.fill(read(&NumbersView::of(process))),
            NumberSource::Comm(read) => {
                if let Some(comm) = process.objects.comms.get(comm) {
                    to.fill(read(engine, comm.lane(Lane::P2p)));
                }
            }
            NumberSource::Peers(all, read) => {
                let Some((comm, counters)) = process.objects.comms.get(comm).zip(engine.counters()) else {
                    return;
                };
                let of = |peer: Peer| all(counters).get(peer as usize).map_or(0, read);
                to.iter_mut().zip(comm.peers().members()).for_each(|(value, peer)| *value = of(peer));
            }
        }
    }
}

static NOTHING: LazyLock<EngineCounters> = LazyLock::new(EngineCounters::default);

impl<'a> NumbersView<'a> {
    fn of(process: &'a Process) -> Self {
        let engine = process.engine_ref();
        NumbersView {
            counters: engine.and_then(|engine| engine.counters()).unwrap_or(&NOTHING),
            levels: engine.map(|engine| engine.levels()).unwrap_or_default(),
            tally: engine.map(|engine| engine.transport_ref().tally()).unwrap_or_default(),
            blocked_ns: process.waiting.blocked.as_nanos() as u64,
            polls: process.waiting.polls,
        }
    }

    fn sent(&self, protocol: Protocol) -> Traffic {
        self.counters.sent[protocol as usize]
    }

    fn moved(&self, way: RendezvousMethod) -> Traffic {
        self.counters.moved[way as usize]
    }
}

fn messages(all: &[Traffic]) -> u64 {
    all.iter().map(|traffic| traffic.messages).sum()
}

fn bytes(all: &[Traffic]) -> u64 {
    all.iter().map(|traffic| traffic.bytes).sum()
}

const fn rank(
    name: &'static str,
    kind: NumberKind,
    read: fn(&NumbersView) -> u64,
    meaning: &'static str,
) -> Number {
    Number { name, meaning, kind, source: NumberSource::Rank(read) }
}

const fn of_comm(name: &'static str, read: fn(&ProcessEngine, u64) -> u64, meaning: &'static str) -> Number {
    Number { name, meaning, kind: NumberKind::Level, source: NumberSource::Comm(read) }
}

const fn of_peers(
    name: &'static str,
    all: fn(&EngineCounters) -> &[Traffic],
    read: fn(&Traffic) -> u64,
    meaning: &'static str,
) -> Number {
    Number { name, meaning, kind: NumberKind::Counter, source: NumberSource::Peers(all, read) }
}

/// All of them. The order is that of their indices.
pub(super) const NUMBERS: &[Number] = &[
    rank(
        "tern_sent_messages",
        NumberKind::Counter,
        |v| messages(&v.counters.sent),
        "Messages sent, by all protocols.",
    ),
    rank("tern_sent_bytes", NumberKind::Counter, |v| bytes(&v.counters.sent), "Bytes of messages sent."),
    rank(
        "tern_received_messages",
        NumberKind::Counter,
        |v| messages(&v.counters.received_from),
        "Messages received.",
    ),
    rank(
        "tern_received_bytes",
        NumberKind::Counter,
        |v| bytes(&v.counters.received_from),
        "Bytes of messages received.",
    ),
    rank(
        "tern_sent_short_messages",
        NumberKind::Counter,
        |v| v.sent(Protocol::Short).messages,
        "Messages sent in one cache line.",
    ),
    rank("tern_sent_short_bytes", NumberKind::Counter, |v| v.sent(Protocol::Short).bytes, "Bytes of these."),
    rank(
        "tern_sent_eager_messages",
        NumberKind::Counter,
        |v| v.sent(Protocol::Eager).messages,
        "Longer messages sent at once.",
    ),
    rank("tern_sent_eager_bytes", NumberKind::Counter, |v| v.sent(Protocol::Eager).bytes, "Bytes of these."),
    rank(
        "tern_sent_synchronous_messages",
        NumberKind::Counter,
        |v| v.sent(Protocol::Synchronous).messages,
        "Synchronous messages sent at once, which are answered at the match.",
    ),
    rank(
        "tern_sent_synchronous_bytes",
        NumberKind::Counter,
        |v| v.sent(Protocol::Synchronous).bytes,
        "Bytes of these.",
    ),
    rank(
        "tern_sent_rendezvous_messages",
        NumberKind::Counter,
        |v| v.sent(Protocol::Rendezvous).messages,
        "Messages that were sent after a request.",
    ),
    rank(
        "tern_sent_rendezvous_bytes",
        NumberKind::Counter,
        |v| v.sent(Protocol::Rendezvous).bytes,
        "Bytes of these.",
    ),
    rank(
        "tern_copied_cooperatively_messages",
        NumberKind::Counter,
        |v| v.moved(RendezvousMethod::Cooperative).messages,
        "Messages to this rank that both sides copy.",
    ),
    rank(
        "tern_copied_cooperatively_bytes",
        NumberKind::Counter,
        |v| v.moved(RendezvousMethod::Cooperative).bytes,
        "Bytes of these.",
    ),
    rank(
        "tern_copied_by_get_messages",
        NumberKind::Counter,
        |v| v.moved(RendezvousMethod::Get).messages,
        "Messages that this rank got from the sender's memory.",
    ),
    rank(
        "tern_copied_by_get_bytes",
        NumberKind::Counter,
        |v| v.moved(RendezvousMethod::Get).bytes,
        "Bytes of these.",
    ),
    rank(
        "tern_copied_by_put_messages",
        NumberKind::Counter,
        |v| v.moved(RendezvousMethod::Put).messages,
        "Messages that senders put to this rank's memory.",
    ),
    rank(
        "tern_copied_by_put_bytes",
        NumberKind::Counter,
        |v| v.moved(RendezvousMethod::Put).bytes,
        "Bytes of these.",
    ),
    rank(
        "tern_copied_by_fragments_messages",
        NumberKind::Counter,
        |v| v.moved(RendezvousMethod::Stream).messages,
        "Messages that came to this rank in fragments after a request.",
    ),
    rank(
        "tern_copied_by_fragments_bytes",
        NumberKind::Counter,
        |v| v.moved(RendezvousMethod::Stream).bytes,
        "Bytes of these.",
    ),
    rank(
        "tern_unexpected_messages",
        NumberKind::Level,
        |v| v.levels.unexpected,
        "Messages that wait for their receive: the length of the unexpected queue.",
    ),
    rank(
        "tern_unexpected_messages_peak",
        NumberKind::Peak,
        |v| v.counters.unexpected_peak,
        "The most messages that ever waited for their receive.",
    ),
    rank(
        "tern_unexpected_messages_ever",
        NumberKind::Counter,
        |v| v.levels.unexpected_ever,
        "Messages that came before their receive.",
    ),
    rank(
        "tern_unexpected_bytes",
        NumberKind::Level,
        |v| v.levels.unexpected_bytes,
        "Memory that messages before their receive take.",
    ),
    rank(
        "tern_unexpected_bytes_peak",
        NumberKind::Peak,
        |v| v.levels.unexpected_bytes_peak,
        "The most memory that messages before their receive ever took.",
    ),
    rank(
        "tern_posted_receives",
        NumberKind::Level,
        |v| v.levels.posted,
        "Receives that wait for their message: the length of the posted queue.",
    ),
    rank(
        "tern_posted_receives_peak",
        NumberKind::Peak,
        |v| v.counters.posted_peak,
        "The most receives that ever waited for their message.",
    ),
    rank(
        "tern_requests",
        NumberKind::Level,
        |v| v.levels.requests,
        "Messages under way that have a request.",
    ),
    rank(
        "tern_unsent_messages",
        NumberKind::Level,
        |v| v.levels.unsent,
        "Messages that wait for the transport.",
    ),
    rank(
        "tern_transport_full",
        NumberKind::Counter,
        |v| v.counters.transport_full,
        "Messages that the transport could not take at once.",
    ),
    rank(
        "tern_credits_ran_out",
        NumberKind::Counter,
        |v| v.counters.credits_ran_out,
        "Messages that were sent after a request since no credits were left.",
    ),
    rank(
        "tern_time_blocked",
        NumberKind::Time,
        |v| v.blocked_ns,
        "Time in which calls waited and had given the core to others: they yielded or slept.",
    ),
    rank(
        "tern_polls",
        NumberKind::Counter,
        |v| v.polls,
        "How often a call has looked whether something had arrived.",
    ),
    rank(
        "tern_partitions_ready",
        NumberKind::Counter,
        |v| v.counters.partitions_ready,
        "Partitions of partitioned sends that became ready.",
    ),
    rank(
        "tern_partition_messages",
        NumberKind::Counter,
        |v| v.counters.partition_messages,
        "Messages in which partitions left: fewer where adjacent ones left together.",
    ),
    rank(
        "tern_connections_resumed",
        NumberKind::Counter,
        |v| v.tally.mended,
        "Connections to other hosts that broke and were made again.",
    ),
    rank(
        "tern_packets_sent",
        NumberKind::Counter,
        |v| v.tally.packets.unwrap_or_default().0.sent,
        "Datagrams sent.",
    ),
    rank(
        "tern_packets_received",
        NumberKind::Counter,
        |v| v.tally.packets.unwrap_or_default().0.received,
        "Datagrams received.",
    ),
    rank(
        "tern_packets_resent",
        NumberKind::Counter,
        |v| {
            let protocol = v.tally.packets.unwrap_or_default().1;
            protocol.resent + protocol.multicast_again
        },
        "Datagrams sent again, since they were lost.",
    ),
    of_comm(
        "tern_comm_unexpected_messages",
        |engine, context| engine.levels_of(context).0,
        "Messages of this communicator that wait for their receive.",
    ),
    of_comm(
        "tern_comm_posted_receives",
        |engine, context| engine.levels_of(context).1,
        "Receives in this communicator that wait for their message.",
    ),
    of_peers(
        "tern_comm_sent_messages",
        |counters| &counters.sent_to,
        |traffic| traffic.messages,
        "Messages sent to each process of this communicator, in all communicators together.",
    ),
    of_peers(
        "tern_comm_sent_bytes",
        |counters| &counters.sent_to,
        |traffic| traffic.bytes,
        "Bytes sent to each process of this communicator.",
    ),
    of_peers(
        "tern_comm_received_messages",
        |counters| &counters.received_from,
        |traffic| traffic.messages,
        "Messages received from each process of this communicator, in all communicators together.",
    ),
    of_peers(
        "tern_comm_received_bytes",
        |counters| &counters.received_from,
        |traffic| traffic.bytes,
        "Bytes received from each process of this communicator.",
    ),
];

/// The numbers of this rank that are not zero, a line each: for `mpirun --stats`.
pub(crate) fn lines(process: &Process) -> Vec<String> {
    let view = NumbersView::of(process);
    let shown = NUMBERS.iter().filter_map(|number| match number.source {
        NumberSource::Rank(read) if number.kind != NumberKind::Level => Some((number.name, read(&view))),
        _ => None,
    });
    shown.filter(|(_, value)| *value > 0).map(|(name, value)| format!("{name} {value}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_tell_what_they_are() {
        let names: BTreeSet<_> = NUMBERS.iter().map(|number| number.name).collect();
        assert_eq!(names.len(), NUMBERS.len());
        for number in NUMBERS {
            assert!(number.name.starts_with("tern_") && number.meaning.ends_with('.'), "{}", number.name);
            assert_eq!(number.name.ends_with("_peak"), number.kind == NumberKind::Peak, "{}", number.name);
            assert_eq!(number.name.starts_with("tern_comm_"), number.is_of_comm(), "{}", number.name);
        }
    }
}
