//! Who waits for whom, when nobody can go on.

use crate::limits::WAITS_SHOWN;
use crate::nanos;
use crate::network::SimulatedNetwork;
use crate::rank::SimulatedRank;
use std::fmt;
use tern_transport::Peer;

/// Why a run did not end for all ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Hang {
    /// Ranks that stopped.
    pub dead: Vec<Peer>,
    /// How many others did not finish.
    pub unfinished: usize,
    /// What some of them wait for, those that wait for a dead rank or a message that was swallowed first.
    pub waits: Vec<RankWait>,
    /// Messages that will never arrive: sender and receiver, and when they were sent, nanoseconds.
    pub swallowed: Vec<(Peer, Peer, f64)>,
}

/// What one rank waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankWait {
    /// The rank that waits.
    pub rank: Peer,
    /// The call it is in, from 1.
    pub call: u32,
    /// Whom it waits for.
    pub peer: Peer,
    /// Whether it wants to receive.
    pub receives: bool,
    /// It waits to hear that its accesses to the peer's memory are done.
    pub accesses: bool,
    /// Bytes of the message.
    pub bytes: u64,
    /// Messages that have arrived and wait to be taken.
    pub queued: usize,
}

impl Hang {
    pub(crate) fn new(
        ranks: &[SimulatedRank],
        unfinished: &[usize],
        dead: &[Peer],
        network: &SimulatedNetwork,
    ) -> Hang {
        let mut waits: Vec<RankWait> =
            unfinished.iter().flat_map(|&rank| waits_of(&ranks[rank], rank as Peer, network)).collect();
        let causes = |wait: &RankWait| {
            let swallowed = |(from, to, _): &(Peer, Peer, _)| (*from, *to) == (wait.peer, wait.rank);
            dead.contains(&wait.peer) || network.swallowed.iter().any(swallowed)
        };
        waits.sort_by_key(|wait| !causes(wait));
        waits.truncate(WAITS_SHOWN);
        let swallowed = network.swallowed.iter().map(|&(from, to, time)| (from, to, nanos(time)));
        Hang {
            dead: dead.to_vec(),
            unfinished: unfinished.len(),
            waits,
            swallowed: swallowed.take(WAITS_SHOWN).collect(),
        }
    }
}

fn waits_of(rank: &SimulatedRank, me: Peer, network: &SimulatedNetwork) -> Vec<RankWait> {
    let (call, queued) = (rank.call(), network.queued(me));
    let described = rank.pending().iter().filter_map(|handle| rank.engine.describe(handle.id));
    let wait = |what: tern_engine::engine::Description| RankWait {
        rank: me,
        call,
        peer: what.peer,
        receives: what.receive,
        accesses: false,
        bytes: what.bytes,
        queued,
    };
    let access = |peer| RankWait { rank: me, call, peer, receives: false, accesses: true, bytes: 0, queued };
    described.map(wait).chain(rank.awaited_target(me).map(access)).collect()
}

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for rank in &self.dead {
            writeln!(f, "rank {rank} has stopped")?;
        }
        for (from, to, ns) in &self.swallowed {
            writeln!(
                f,
                "a message from rank {from} to rank {to}, sent at {ns} ns, met a link that is cut for ever"
            )?;
        }
        match self.unfinished {
            0 => writeln!(f, "all other ranks have finished")?,
            1 => writeln!(f, "1 other rank cannot finish")?,
            many => writeln!(f, "{many} other ranks cannot finish")?,
        }
        for wait in &self.waits {
            writeln!(
                f,
                "  {wait}{}",
                if self.dead.contains(&wait.peer) { ", which has stopped" } else { "" }
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for RankWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RankWait { rank, call, peer, receives, accesses, bytes, queued } = self;
        let what = if *receives { "to receive" } else { "to send" };
        let toward = if *receives { "from" } else { "to" };
        if *accesses {
            write!(f, "rank {rank}, call {call}, waits for the end of its accesses to rank {peer}")?;
        } else {
            write!(f, "rank {rank}, call {call}, waits {what} {bytes} bytes {toward} rank {peer}")?;
        }
        if *queued > 0 {
            write!(f, " ({queued} messages wait to be taken)")?;
        }
        Ok(())
    }
}
