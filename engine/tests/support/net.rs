//! A network of several ranks in one process, bad on purpose: queues are short, payloads land in pieces, gets and
//! puts take their time and are refused from some moment on, the sender of a cooperative copy comes late or never.

use super::job::{Plan, World};
use super::rng::Rng;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use tern_engine::wire::HeaderKind;
use tern_mem::{ContiguousBuf, UserBuf};
use tern_transport::*;

const EPERM: i32 = 1;

/// How the network behaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions {
    pub limits: Limits,
    /// Messages on their way between two ranks; beyond, the transport is full.
    pub queue_max: usize,
    /// Payloads land over several polls.
    pub piecewise: bool,
    /// Gets, puts and cooperative copies go on over several polls.
    pub slow: bool,
    /// Gets and puts that work; those after are refused.
    pub transfers_max: usize,
    /// Shared copies fail in the receiver's hands.
    pub shares_fail: bool,
}

impl Conditions {
    /// A network without malice that can do what `limits` says.
    pub(crate) fn good(limits: Limits) -> Self {
        let (queue_max, transfers_max) = (usize::MAX, usize::MAX);
        Conditions { limits, queue_max, piecewise: false, slow: false, transfers_max, shares_fail: false }
    }
}

/// The network, shared by its ends.
#[derive(Clone)]
pub(crate) struct Net(Rc<RefCell<Wires>>);

/// One rank's end of the network.
pub(crate) struct End {
    rank: Peer,
    net: Net,
    /// The payload that [`Transport::next_short`] shows.
    shown: Vec<u8>,
}

struct Wires {
    size: usize,
    conditions: Conditions,
    rng: Rng,
    /// From each rank to each, `from * size + to`.
    queues: Vec<VecDeque<Message>>,
    /// What is landing between each two.
    landings: Vec<Option<Land>>,
    /// By the rank that asked for them.
    transfers: Vec<Vec<Slow>>,
    shares: BTreeMap<u64, Share>,
    shares_opened: u64,
    transfers_done: usize,
    /// Memory that others may access now, by rank.
    memory: Vec<Vec<UserBuf>>,
    /// All messages that were ever sent: their sender and kind. A multicast is one.
    sent: Vec<(Peer, u8)>,
    groups: Vec<Vec<Peer>>,
    /// How often anybody has looked.
    polls: usize,
}

struct Message {
    header: Header,
    payload: Vec<u8>,
}

/// A payload that is landing.
struct Land {
    payload: Vec<u8>,
    at: usize,
    place: Option<(UserBuf, usize, usize, Token)>,
}

/// A get or a put that goes on.
struct Slow {
    polls_left: usize,
    end: Outcome,
    token: Token,
}

/// How a transfer is going to end.
enum Outcome {
    Copied(Copy),
    Refused,
    /// The other side has copied.
    Over,
}

/// Bytes `0..len` of one buffer to bytes from `at` of another.
struct Copy {
    from: Place,
    into: Place,
    len: usize,
}

enum Place {
    Here(UserBuf),
    There(Peer, Remote),
}

/// A cooperative copy that is not over.
struct Share {
    receiver: Peer,
    sender: Peer,
    from: Remote,
    into: UserBuf,
    copied: usize,
    token: Token,
    joined: Option<Token>,
}

impl Net {
    pub(crate) fn of(size: usize, conditions: Conditions, seed: u64) -> Self {
        Net(Rc::new(RefCell::new(Wires {
            size,
            conditions,
            rng: Rng::new(seed),
            queues: (0..size * size).map(|_| VecDeque::new()).collect(),
            landings: (0..size * size).map(|_| None).collect(),
            transfers: (0..size).map(|_| Vec::new()).collect(),
            shares: BTreeMap::new(),
            shares_opened: 0,
            transfers_done: 0,
            memory: vec![Vec::new(); size],
            sent: Vec::new(),
            groups: Vec::new(),
            polls: 0,
        })))
    }

    /// How often anybody has looked since the last time.
    pub(crate) fn polls(&self) -> usize {
        std::mem::take(&mut self.0.borrow_mut().polls)
    }

    /// All messages that were sent since the last time: their sender and kind.
    pub(crate) fn sent(&self) -> Vec<(Peer, HeaderKind)> {
        let sent = std::mem::take(&mut self.0.borrow_mut().sent);
        sent.into_iter().map(|(from, kind)| (from, HeaderKind::parse(kind).expect("a kind"))).collect()
    }
}

impl World for Net {
    type Transport = End;

    fn new(plan: &Plan) -> Self {
        Net::of(plan.ranks, plan.conditions, plan.seed ^ 1)
    }

    fn end(&mut self, rank: Peer) -> End {
        End { rank, net: self.clone(), shown: Vec::new() }
    }

    fn open(&self, rank: Peer, buf: &UserBuf) {
        if buf.as_contiguous().is_some() && !buf.is_empty() {
            self.0.borrow_mut().memory[rank as usize].push(buf.clone());
        }
    }

    fn close(&self, rank: Peer, buf: &UserBuf) {
        let memory = &mut self.0.borrow_mut().memory[rank as usize];
        if let Some(at) = memory.iter().position(|open| open.as_contiguous() == buf.as_contiguous()) {
            memory.swap_remove(at);
        }
    }

    fn is_empty(&self) -> bool {
        let wires = self.0.borrow();
        wires.queues.iter().all(VecDeque::is_empty)
            && wires.landings.iter().all(Option::is_none)
            && wires.transfers.iter().all(Vec::is_empty)
            && wires.shares.is_empty()
    }
}

impl Wires {
    fn has_room(&self, from: Peer, to: Peer) -> bool {
        self.queues[from as usize * self.size + to as usize].len() < self.conditions.queue_max
    }

    fn queue(&mut self, from: Peer, to: Peer, am: &Am<'_>) {
        let mut payload = am.extended.to_vec();
        payload.resize(am.payload_len(), 0);
        am.body.read(am.offset, &mut payload[am.extended.len()..]);
        self.queues[from as usize * self.size + to as usize]
            .push_back(Message { header: am.header, payload });
    }

    fn find(&self, rank: Peer, remote: Remote) -> Option<(UserBuf, usize)> {
        let (addr, len) = (remote.addr as usize, remote.len as usize);
        self.memory[rank as usize].iter().find_map(|buf| {
            let (base, room) = buf.as_contiguous()?;
            let offset = addr.checked_sub(base)?;
            (offset + len <= room).then(|| (buf.clone(), offset))
        })
    }

    fn copy(&self, copy: &Copy) {
        let resolve = |place: &Place| match place {
            Place::Here(buf) => (buf.clone(), 0),
            Place::There(rank, remote) => {
                self.find(*rank, *remote).expect("a transfer touches memory that is not open")
            }
        };
        let ((from, from_at), (into, into_at)) = (resolve(&copy.from), resolve(&copy.into));
        assert!(copy.len <= from.len() - from_at && copy.len <= into.len() - into_at);
        UserBuf::copy(&from, from_at, &into, into_at, copy.len);
    }

    /// Whether one more transfer is allowed.
    fn refused(&mut self) -> bool {
        self.transfers_done += 1;
        self.transfers_done > self.conditions.transfers_max
    }

    fn transfer(&mut self, rank: Peer, copy: Copy, token: Token) -> Transfer {
        let refused = self.refused();
        if self.conditions.slow && self.rng.chance(70) {
            let polls_left = self.rng.below(20);
            let end = if refused { Outcome::Refused } else { Outcome::Copied(copy) };
            self.transfers[rank as usize].push(Slow { polls_left, end, token });
            return Transfer::Pending;
        }
        if refused {
            return Transfer::Failed(TransferError::Os(EPERM));
        }
        self.copy(&copy);
        Transfer::Done
    }

    fn advance_transfers(&mut self, rank: Peer, sink: &mut impl Sink) -> bool {
        let slow = std::mem::take(&mut self.transfers[rank as usize]);
        let moved = !slow.is_empty();
        for mut transfer in slow {
            if transfer.polls_left > 0 {
                transfer.polls_left -= 1;
                self.transfers[rank as usize].push(transfer);
                continue;
            }
            if let Outcome::Copied(copy) = &transfer.end {
                self.copy(copy);
            }
            let refused = matches!(transfer.end, Outcome::Refused);
            sink.done(transfer.token, if refused { Err(TransferError::Os(EPERM)) } else { Ok(()) });
        }
        moved
    }

    /// Copies `n` more bytes of a cooperative copy; whether it is over.
    fn pull(&mut self, key: u64, n: usize) -> bool {
        let share = &self.shares[&key];
        let (buf, at) =
            self.find(share.sender, share.from).expect("a cooperative copy reads memory that is not open");
        let n = n.min(share.from.len as usize - share.copied);
        UserBuf::copy(&buf, at + share.copied, &share.into, share.copied, n);
        let share = self.shares.get_mut(&key).expect("just seen");
        share.copied += n;
        share.copied == share.from.len as usize
    }

    /// A rank is told at its next poll that the other has copied all.
    fn over(&mut self, rank: Peer, token: Token) {
        self.transfers[rank as usize].push(Slow { polls_left: 0, end: Outcome::Over, token });
    }

    fn advance_shares(&mut self, rank: Peer, sink: &mut impl Sink) -> bool {
        let keys: Vec<u64> =
            self.shares.iter().filter(|(_, share)| share.receiver == rank).map(|(&key, _)| key).collect();
        for &key in &keys {
            let n = 1 + self.rng.below(1000);
            if self.pull(key, n)
                && let Some(share) = self.shares.remove(&key)
            {
                sink.done(share.token, Ok(()));
                if let Some(token) = share.joined {
                    self.over(share.sender, token);
                }
            }
        }
        !keys.is_empty()
    }

    fn deliver(&mut self, from: Peer, to: Peer, sink: &mut impl Sink) -> bool {
        let pair = from as usize * self.size + to as usize;
        let mut moved = false;
        for _ in 0..1 + self.rng.below(8) {
            if self.landings[pair].is_some() {
                moved = true;
                self.land(pair, from, sink);
                continue;
            }
            let Some(message) = self.queues[pair].pop_front() else { break };
            moved = true;
            if message.payload.len() <= AM_INLINE_BYTES_MAX {
                sink.short(from, &message.header, &message.payload);
                continue;
            }
            let place = match sink.header(from, &message.header, message.payload.len()) {
                Landing::Place { buf, offset, len, token, .. } => Some((buf, offset, len, token)),
                Landing::Nothing => None,
            };
            self.landings[pair] = Some(Land { payload: message.payload, at: 0, place });
            self.land(pair, from, sink);
        }
        moved
    }

    /// A piece of what is landing, or all of it.
    fn land(&mut self, pair: usize, from: Peer, sink: &mut impl Sink) {
        let Some(mut land) = self.landings[pair].take() else { return };
        let all = land.payload.len();
        let end = if self.conditions.piecewise { (land.at + 1 + self.rng.below(all)).min(all) } else { all };
        if let Some((buf, offset, len, _)) = &land.place {
            assert!(*len <= all && offset + len <= buf.len(), "a landing beyond its buffer");
            let end = end.min(*len);
            if land.at < end {
                buf.write(offset + land.at, &land.payload[land.at..end]);
            }
        }
        land.at = end;
        if end < all {
            self.landings[pair] = Some(land);
        } else if let Some((.., token)) = land.place {
            sink.landed(from, token);
        }
    }
}

impl Transport for End {
    fn limits(&mut self, _: Peer) -> Limits {
        self.net.0.borrow().conditions.limits
    }

    fn send(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        let wires = &mut *self.net.0.borrow_mut();
        let room = wires.conditions.limits.eager_bytes_max.max(AM_INLINE_BYTES_MAX);
        assert!(am.payload_len() <= room, "the transport takes {room} bytes, not {}", am.payload_len());
        if !wires.has_room(self.rank, peer) {
            return Err(Full);
        }
        wires.sent.push((self.rank, am.header.kind));
        wires.queue(self.rank, peer, am);
        Ok(())
    }

    fn send_short(&mut self, peer: Peer, header: &Header, payload: ContiguousBuf) -> bool {
        let body = UserBuf::from(payload);
        let am = Am { header: *header, extended: &[], body: &body, offset: 0, len: payload.len() };
        self.send(peer, &am).is_ok()
    }

    fn next_short(&mut self, peer: Peer) -> Option<(Header, ShortPayload<'_>)> {
        let wires = &mut *self.net.0.borrow_mut();
        let pair = peer as usize * wires.size + self.rank as usize;
        let next = wires.queues[pair].front().filter(|_| wires.landings[pair].is_none())?;
        if next.payload.len() > AM_INLINE_BYTES_MAX || wires.rng.chance(20) {
            return None;
        }
        self.shown.clone_from(&next.payload);
        Some((next.header, ShortPayload::from(&self.shown[..])))
    }

    fn pass_short(&mut self, peer: Peer) {
        let wires = &mut *self.net.0.borrow_mut();
        wires.queues[peer as usize * wires.size + self.rank as usize].pop_front();
    }

    fn multicast_group(&mut self, members: &[Peer]) -> Option<MulticastGroup> {
        let groups = &mut self.net.0.borrow_mut().groups;
        groups.push(members.to_vec());
        Some(MulticastGroup::new(groups.len() as u32 - 1))
    }

    fn multicast(
        &mut self,
        group: &MulticastGroup,
        to: &[Peer],
        am: &Am<'_>,
        done: Token,
    ) -> Result<Taken, Full> {
        let wires = &mut *self.net.0.borrow_mut();
        let members = &wires.groups[group.number() as usize];
        assert!(to.iter().all(|peer| *peer != self.rank && members.contains(peer)));
        if !to.iter().all(|peer| wires.has_room(self.rank, *peer)) {
            return Err(Full);
        }
        wires.sent.push((self.rank, am.header.kind));
        to.iter().for_each(|peer| wires.queue(self.rank, *peer, am));
        if wires.conditions.slow && wires.rng.chance(50) {
            let polls_left = wires.rng.below(20);
            wires.transfers[self.rank as usize].push(Slow { polls_left, end: Outcome::Over, token: done });
            return Ok(Taken::Kept);
        }
        Ok(Taken::Copied)
    }

    fn get(&mut self, peer: Peer, from: Remote, into: &UserBuf, done: Token) -> Transfer {
        let wires = &mut *self.net.0.borrow_mut();
        assert!(wires.conditions.limits.get, "get was said not to work");
        let len = from.len as usize;
        let copy = Copy { from: Place::There(peer, from), into: Place::Here(into.clone()), len };
        wires.transfer(self.rank, copy, done)
    }

    fn put(&mut self, peer: Peer, from: &UserBuf, into: Remote, done: Token) -> Transfer {
        let wires = &mut *self.net.0.borrow_mut();
        assert!(wires.conditions.limits.put, "put was said not to work");
        let len = into.len as usize;
        let copy = Copy { from: Place::Here(from.clone()), into: Place::There(peer, into), len };
        wires.transfer(self.rank, copy, done)
    }

    fn open_cooperative_copy(
        &mut self,
        peer: Peer,
        from: Remote,
        into: &UserBuf,
        done: Token,
    ) -> Option<CooperativeCopyKey> {
        let wires = &mut *self.net.0.borrow_mut();
        assert!(wires.conditions.limits.cooperative_copy, "cooperative copies were said not to work");
        if wires.conditions.slow && wires.rng.chance(20) {
            return None;
        }
        let key = wires.shares_opened;
        wires.shares_opened += 1;
        let (receiver, into) = (self.rank, into.clone());
        let share = Share { receiver, sender: peer, from, into, copied: 0, token: done, joined: None };
        wires.shares.insert(key, share);
        Some(CooperativeCopyKey(key))
    }

    fn pull_cooperative_copy(&mut self, key: CooperativeCopyKey) -> Transfer {
        let wires = &mut *self.net.0.borrow_mut();
        if wires.conditions.shares_fail {
            wires.shares.remove(&key.0);
            return Transfer::Failed(TransferError::Os(EPERM));
        }
        let n = if wires.conditions.slow { wires.rng.below(2000) } else { usize::MAX };
        if !wires.pull(key.0, n) {
            return Transfer::Pending;
        }
        wires.shares.remove(&key.0);
        Transfer::Done
    }

    fn join_cooperative_copy(
        &mut self,
        peer: Peer,
        key: CooperativeCopyKey,
        _: &UserBuf,
        into: Remote,
        done: Token,
    ) -> Transfer {
        let wires = &mut *self.net.0.borrow_mut();
        let Some(share) = wires.shares.get_mut(&key.0) else {
            return Transfer::Done;
        };
        assert_eq!((share.receiver, share.sender), (peer, self.rank));
        assert_eq!(share.into.as_contiguous().map(|(addr, _)| addr as u64), Some(into.addr));
        share.joined = Some(done);
        let n = wires.rng.below(2000);
        if !wires.pull(key.0, n) {
            return Transfer::Pending;
        }
        // The receiver hears of it when it polls.
        if let Some(share) = wires.shares.remove(&key.0) {
            wires.over(peer, share.token);
        }
        Transfer::Done
    }

    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        let wires = &mut *self.net.0.borrow_mut();
        wires.polls += 1;
        let mut moved = wires.advance_transfers(self.rank, sink);
        moved |= wires.advance_shares(self.rank, sink);
        let first = wires.rng.below(wires.size);
        for from in 0..wires.size {
            let from = (first + from) % wires.size;
            moved |= wires.deliver(from as Peer, self.rank, sink);
        }
        moved
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        Arc::new(Silent)
    }
}
