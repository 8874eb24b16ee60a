//! Large messages that move without an active message: gets, and copies by both sides.

use super::{Event, Network};
use crate::Picos;
use crate::params::{Distance, times};
use std::collections::BTreeMap;
use tern_mem::UserBuf;
use tern_transport::{Peer, Remote, ShareKey, Sink, Token, Transfer};

/// The transfers under way.
#[derive(Default)]
pub struct Transfers {
    under_way: BTreeMap<u32, Move>,
    begun: u32,
    /// What ranks hear of when they poll next.
    told: Vec<Ended>,
}

/// One of them.
struct Move {
    receiver: Peer,
    token: Token,
    /// The sender, if it copies too, waits for this.
    joined: Option<(Peer, Token)>,
    bytes: u64,
    begins: Picos,
    ends: Picos,
}

/// A transfer that has ended: who has to hear of it.
pub(crate) type Ended = (Peer, Token);

impl Transfers {
    pub(super) fn tell(&mut self, rank: Peer, token: Token) {
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

    fn begin(&mut self, transfer: Move) -> u32 {
        let key = self.begun;
        self.begun = self.begun.wrapping_add(1);
        self.under_way.insert(key, transfer);
        key
    }
}

impl Network {
    /// The rank that runs now gets from another rank's memory. On one machine its core does that by itself; from another
    /// machine the links do it, while the core is free.
    pub fn get(&mut self, rank: Peer, from: Peer, remote: Remote, into: &UserBuf, token: Token) -> Transfer {
        let (costs, distance) = self.costs(rank, from);
        let takes = times(remote.len, costs.get_per_byte);
        self.count(from, 0, remote.len);
        self.copy(from, remote, into);
        if matches!(distance, Distance::Core | Distance::Host) {
            self.now += costs.get + takes;
            return Transfer::Done;
        }
        let ready = self.now + costs.get;
        let begins = ready.max(self.link(from, distance).out).max(self.link(rank, distance).into);
        let ends = begins + takes;
        self.link(from, distance).out = ends;
        self.link(rank, distance).into = ends;
        let transfer = Move { receiver: rank, token, joined: None, bytes: remote.len, begins, ends };
        let key = self.transfers.begin(transfer);
        self.events.push(ends, Event::Over(key));
        Transfer::Pending
    }

    /// The rank that runs now begins a copy in which the sender may take part. Alone it copies as fast as it gets.
    pub fn share(
        &mut self,
        rank: Peer,
        from: Peer,
        remote: Remote,
        into: &UserBuf,
        token: Token,
    ) -> ShareKey {
        let (costs, distance) = self.costs(rank, from);
        self.count(from, 0, remote.len);
        self.copy(from, remote, into);
        let ready = self.now + costs.get;
        let link = self.link(rank, distance);
        let begins = ready.max(link.into);
        let ends = begins + times(remote.len, costs.get_per_byte);
        // A rank copies one message after the other.
        link.into = ends;
        let transfer = Move { receiver: rank, token, joined: None, bytes: remote.len, begins, ends };
        let key = self.transfers.begin(transfer);
        self.events.push(ends, Event::Over(key));
        ShareKey(key.into())
    }

    /// The sender, which runs now, copies what is left together with the receiver.
    pub fn join(&mut self, rank: Peer, receiver: Peer, key: ShareKey, token: Token) -> Transfer {
        let (costs, distance) = self.costs(rank, receiver);
        let free = self.now.max(self.link(rank, distance).out);
        let key = key.0 as u32;
        let Some(transfer) = self.transfers.under_way.get_mut(&key) else { return Transfer::Done };
        let begins = transfer.begins.max(free);
        let alone = times(transfer.bytes, costs.get_per_byte).max(1);
        let left = transfer.ends.saturating_sub(begins) as f64 / alone as f64;
        let together = times(transfer.bytes, costs.share_per_byte) as f64 * left;
        let before = transfer.ends;
        transfer.ends = before.min(begins + together as Picos);
        transfer.joined = Some((rank, token));
        let ends = transfer.ends;
        self.link(rank, distance).out = ends;
        let into = &mut self.link(receiver, distance).into;
        if *into == before {
            *into = ends;
        }
        self.events.push(ends, Event::Over(key));
        Transfer::Pending
    }

    /// A transfer is over, unless this is the end that it would have had if nobody had hastened it.
    pub(crate) fn over(&mut self, key: u32) -> Option<(Ended, Option<Ended>)> {
        let time = self.events.now();
        let transfer = self.transfers.under_way.get(&key).filter(|transfer| transfer.ends <= time)?;
        let ended = ((transfer.receiver, transfer.token), transfer.joined);
        self.transfers.under_way.remove(&key);
        Some(ended)
    }
}
