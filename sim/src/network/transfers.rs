//! Large messages that move without an active message: gets, and copies by both sides.

use super::{NetworkEvent, SimulatedNetwork};
use crate::Picos;
use crate::params::{COOPERATIVE_NEAR_BYTES, Costs, Distance};
use std::collections::{BTreeMap, VecDeque};
use tern_mem::UserBuf;
use tern_shm::cooperative_chunks;
use tern_transport::{CooperativeCopyKey, Peer, Remote, Sink, Token, Transfer};

/// The transfers under way.
#[derive(Default)]
pub struct Transfers {
    under_way: BTreeMap<u32, Move>,
    begun: u32,
    /// What ranks hear of when they poll next.
    told: Vec<EndedTransfer>,
    /// Ranks that copy, and until when; as long as another is not through with the same copy they may stay here.
    copying: BTreeMap<Peer, Picos>,
    /// What ranks that copy do afterwards.
    put_off: BTreeMap<Peer, VecDeque<Act>>,
}

/// Something that a rank does after a copy. Its engine has done it already: a real one would have copied first.
pub(super) enum Act {
    /// It sends this flight.
    Send(u32),
    /// It multicasts these flights.
    Multicast(Box<[u32]>),
    /// It begins this transfer.
    Pull(u32),
}

/// One of them.
struct Move {
    receiver: Peer,
    token: Token,
    /// The sender, if it copies too, waits for this.
    joined: Option<(Peer, Token)>,
    chunks: ClaimedChunks,
    begins: Picos,
    ends: Picos,
}

/// A message as both sides claim it: so many pieces, and what one of them takes a rank.
#[derive(Clone, Copy)]
struct ClaimedChunks {
    count: u64,
    /// While nobody else copies.
    alone: Picos,
    /// While both do.
    together: Picos,
    /// What it takes to come to an end together.
    agree: Picos,
}

impl ClaimedChunks {
    /// The pieces of the library itself. Each is one call to the kernel, which has its price.
    fn of(bytes: u64, costs: &Costs) -> ClaimedChunks {
        let count = cooperative_chunks(bytes).max(1);
        // Two copy twice as much in the time.
        let together = costs.get + 2 * costs.cooperative_bytes.of(bytes) / count;
        let near = bytes.min(COOPERATIVE_NEAR_BYTES) as f64 / COOPERATIVE_NEAR_BYTES as f64;
        let agree = (costs.cooperative as f64 * near) as Picos;
        ClaimedChunks { count, alone: costs.get + costs.get_bytes.of(bytes) / count, together, agree }
    }

    /// When a receiver that has copied since `begins`, and a sender that joins it at a later moment, have nothing left
    /// to claim. Whoever is free first claims next.
    fn divide(self, begins: Picos, joins: Picos) -> (Picos, Picos) {
        let claimed = (joins.saturating_sub(begins) / self.alone.max(1) + 1).min(self.count);
        // The last of them is copied while the sender copies, too.
        let first = (claimed - 1) * self.alone + self.alone.min(self.together);
        let (mut receiver, mut sender) = ((begins + first).max(joins), joins);
        for _ in claimed..self.count {
            let first = if sender <= receiver { &mut sender } else { &mut receiver };
            *first += self.together;
        }
        (receiver, sender)
    }
}

/// A transfer that has ended: who has to hear of it.
pub(crate) type EndedTransfer = (Peer, Token);

impl Transfers {
    pub(super) fn complete_transfer(&mut self, rank: Peer, token: Token) {
        self.told.push((rank, token));
    }

    pub(super) fn hand_over(&mut self, rank: Peer, sink: &mut impl Sink) -> bool {
        let before = self.told.len();
        self.told.retain(|&(told, token)| {
            if told == rank {
                sink.done(token, Ok(()));
            }
            told != rank
        });
        self.told.len() < before
    }

    /// Whether a rank has to do something before all else.
    fn is_late(&self, rank: Peer) -> bool {
        !self.put_off.is_empty() && self.put_off.contains_key(&rank)
    }

    pub(super) fn put_off(&mut self, rank: Peer, act: Act) {
        self.put_off.entry(rank).or_default().push_back(act);
    }

    /// What a rank does next of what it has put off.
    fn next_act(&mut self, rank: Peer) -> Option<Act> {
        let acts = self.put_off.get_mut(&rank)?;
        let act = acts.pop_front();
        if acts.is_empty() {
            self.put_off.remove(&rank);
        }
        act
    }

    fn begin(&mut self, transfer: Move) -> u32 {
        let key = self.begun;
        self.begun = self.begun.wrapping_add(1);
        self.under_way.insert(key, transfer);
        key
    }
}

impl SimulatedNetwork {
    /// The rank that runs now gets from another rank's memory. On one node its core does that by itself; from another
    /// node the links do it, while the core is free.
    pub fn get(&mut self, rank: Peer, from: Peer, remote: Remote, into: &UserBuf, token: Token) -> Transfer {
        let (costs, distance) = self.costs(rank, from);
        let takes = costs.get_bytes.of(remote.len);
        self.count(from, 0, remote.len);
        self.copy(from, remote, into);
        if matches!(distance, Distance::Core | Distance::Host) {
            return self.get_by_itself(rank, token, costs.get + takes);
        }
        let ready = self.now + costs.get;
        let begins = ready.max(self.link(from, distance).out).max(self.link(rank, distance).into);
        let ends = begins + takes;
        self.link(from, distance).out = ends;
        self.link(rank, distance).into = ends;
        let chunks = ClaimedChunks { count: 1, alone: takes, together: takes, agree: 0 };
        let transfer = Move { receiver: rank, token, joined: None, chunks, begins, ends };
        let key = self.transfers.begin(transfer);
        self.events.push(ends, NetworkEvent::Over(key));
        Transfer::Pending
    }

    fn get_by_itself(&mut self, rank: Peer, token: Token, takes: Picos) -> Transfer {
        if !self.is_busy(rank) {
            self.now += takes;
            return Transfer::Done;
        }
        let chunks = ClaimedChunks { count: 1, alone: takes, together: takes, agree: 0 };
        let transfer =
            Move { receiver: rank, token, joined: None, chunks, begins: Picos::MAX, ends: Picos::MAX };
        let key = self.transfers.begin(transfer);
        self.transfers.put_off(rank, Act::Pull(key));
        Transfer::Pending
    }

    /// Whether the rank that runs now has begun a copy that is not over: what it does now happens after that.
    pub(super) fn is_busy(&self, rank: Peer) -> bool {
        self.copies_until > self.now || self.transfers.is_late(rank)
    }

    /// The rank that runs now is about to begin a copy in which the sender may take part.
    pub fn copy_together(
        &mut self,
        rank: Peer,
        from: Peer,
        remote: Remote,
        into: &UserBuf,
        token: Token,
    ) -> CooperativeCopyKey {
        let chunks = ClaimedChunks::of(remote.len, &self.costs(rank, from).0);
        self.count(from, 0, remote.len);
        self.copy(from, remote, into);
        let (begins, ends) = (self.now, Picos::MAX);
        let transfer = Move { receiver: rank, token, joined: None, chunks, begins, ends };
        CooperativeCopyKey(self.transfers.begin(transfer).into())
    }

    /// It begins, and does nothing else until there is nothing left to claim.
    pub fn pull(&mut self, rank: Peer, key: CooperativeCopyKey) -> Transfer {
        match self.is_busy(rank) {
            true => self.transfers.put_off(rank, Act::Pull(key.0 as u32)),
            false => self.start(key.0 as u32),
        }
        Transfer::Pending
    }

    fn start(&mut self, key: u32) {
        let now = self.now;
        let Some(transfer) = self.transfers.under_way.get_mut(&key) else { return };
        transfer.begins = now;
        let (rank, ends) = (transfer.receiver, now + transfer.chunks.count * transfer.chunks.alone);
        transfer.ends = ends;
        self.copies_until = ends;
        self.transfers.copying.insert(rank, ends);
        self.events.push(ends, NetworkEvent::Over(key));
    }

    /// A copy is over in which a rank took part. It does what it has put off meanwhile, until that is another copy.
    pub(crate) fn go_on(&mut self, rank: Peer, time: Picos) {
        if self.transfers.copying.get(&rank).is_some_and(|&until| until > time) {
            // It takes part in another one by now.
            return;
        }
        self.transfers.copying.remove(&rank);
        (self.now, self.copies_until) = (time, 0);
        while self.copies_until == 0 {
            match self.transfers.next_act(rank) {
                Some(Act::Send(flight)) => self.launch(&[flight]),
                Some(Act::Multicast(flights)) => self.launch(&flights),
                Some(Act::Pull(key)) => self.start(key),
                None => break,
            }
        }
        let core = self.topology.core(rank);
        self.cores[core] = self.cores[core].max(self.now).max(self.copies_until);
    }

    /// The sender, which runs now, copies what is left together with the receiver.
    pub fn join(&mut self, rank: Peer, receiver: Peer, key: CooperativeCopyKey, token: Token) -> Transfer {
        let (key, now) = (key.0 as u32, self.now);
        let Some(transfer) = self.transfers.under_way.get_mut(&key) else { return Transfer::Done };
        debug_assert!(transfer.receiver == receiver && transfer.joined.is_none());
        let (its_end, my_end) = transfer.chunks.divide(transfer.begins, now);
        transfer.joined = Some((rank, token));
        transfer.ends = its_end.max(my_end) + transfer.chunks.agree;
        let ends = transfer.ends;
        // The receiver has less to do than it thought when it began.
        self.cores[self.topology.core(receiver)] = its_end;
        self.copies_until = my_end;
        self.transfers.copying.insert(receiver, its_end);
        self.transfers.copying.insert(rank, my_end);
        self.events.push(ends, NetworkEvent::Over(key));
        Transfer::Pending
    }

    /// A transfer is over, unless this is the end that it would have had if nobody had hastened it.
    pub(crate) fn over(&mut self, key: u32) -> Option<(EndedTransfer, Option<EndedTransfer>)> {
        let time = self.events.now();
        let transfer = self.transfers.under_way.get(&key).filter(|transfer| transfer.ends <= time)?;
        let ended = ((transfer.receiver, transfer.token), transfer.joined);
        self.transfers.under_way.remove(&key);
        Some(ended)
    }
}
