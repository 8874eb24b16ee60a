//! Long messages on their way out, to one rank or many: their packets go as windows and memory allow. Until the last packet has
//! been handed to the protocol, a message's memory stays as it is.

use tern_mem::UserBuf;
use tern_urtp::{GroupIndex, SendError, UrtpEndpoint};

use super::frame::{FIRST_BYTES, LANES, NEXT_BYTES, write_first};
use crate::limits::PACKETS_PER_TURN;
use tern_transport::am::AM_INLINE_BYTES_MAX;
use tern_transport::{Am, Full, Header, Peer, Token};

/// Members of a group, a bit for each.
pub(super) type Marks = Vec<u64>;

/// Sets a member's bit.
pub(super) fn mark(marks: &mut Marks, index: u32) {
    let word = index as usize / 64;
    if marks.len() <= word {
        marks.resize(word + 1, 0);
    }
    marks[word] |= 1 << (index % 64);
}

fn is_marked(marks: &[u64], index: u32) -> bool {
    marks.get(index as usize / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
}

/// To whom a message goes.
#[derive(Clone, Copy)]
pub(super) enum MessageDestination<'a> {
    Rank(Peer),
    Members(GroupIndex, &'a [u64]),
}

/// The same, kept.
enum KeptTo {
    Rank(Peer),
    Members(GroupIndex, Box<[u64]>),
}

/// All that are on their way out.
#[derive(Default)]
pub(super) struct UrtpOutbox {
    messages: Vec<QueuedMessage>,
    /// Whose turn it is.
    turn: usize,
}

/// One of them.
struct QueuedMessage {
    flow: Flow,
    to: KeptTo,
    header: Header,
    extended: [u8; AM_INLINE_BYTES_MAX],
    extended_len: usize,
    body: UserBuf,
    offset: usize,
    len: usize,
    done: Option<Token>,
}

/// How far a message's packets are.
#[derive(Clone, Copy)]
struct Flow {
    lane: u8,
    /// Bytes of the payload that have been handed to the protocol.
    at: usize,
}

impl UrtpOutbox {
    /// Whether all is out.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Whether a message to this rank alone is on its way out: the next one has to wait.
    pub(super) fn holds_for(&self, peer: Peer) -> bool {
        self.messages.iter().any(|message| matches!(message.to, KeptTo::Rank(to) if to == peer))
    }

    /// Whether a message to members of this group is on its way out.
    pub(super) fn sends_to(&self, group: GroupIndex) -> bool {
        self.messages.iter().any(|message| matches!(message.to, KeptTo::Members(to, _) if to == group))
    }

    /// Begins one. `Ok(true)`: all of it is out, and nobody will say more of it. If not even its first packet can go, nothing
    /// has happened.
    pub(super) fn begin(
        &mut self,
        endpoint: &mut UrtpEndpoint,
        to: MessageDestination<'_>,
        am: &Am<'_>,
        done: Option<Token>,
    ) -> Result<bool, Full> {
        let used = |lane: &u8| self.messages.iter().any(|message| message.flow.lane == *lane);
        let lane = (1..LANES).find(|lane| !used(lane)).ok_or(Full)?;
        let mut flow = Flow { lane, at: 0 };
        if flow.push(endpoint, to, am, usize::MAX) {
            return Ok(true);
        }
        if flow.at == 0 {
            return Err(Full);
        }
        let mut extended = [0; AM_INLINE_BYTES_MAX];
        extended[..am.extended.len()].copy_from_slice(am.extended);
        let Am { header, offset, len, .. } = *am;
        let (to, extended_len, body) = (to.keep(), am.extended.len(), am.body.clone());
        self.messages.push(QueuedMessage {
            flow,
            to,
            header,
            extended,
            extended_len,
            body,
            offset,
            len,
            done,
        });
        Ok(false)
    }

    /// Hands on what the protocol takes, in turns; `done` learns which ones are out. Whether anything went.
    pub(super) fn push(&mut self, endpoint: &mut UrtpEndpoint, done: &mut Vec<Token>) -> bool {
        let (mut moved, mut stuck) = (false, 0);
        while stuck < self.messages.len() {
            self.turn %= self.messages.len();
            let message = &mut self.messages[self.turn];
            let before = message.flow.at;
            if message.push(endpoint) {
                done.extend(self.messages.remove(self.turn).done);
                (moved, stuck) = (true, 0);
                continue;
            }
            let went = message.flow.at > before;
            (moved, stuck) = (moved || went, if went { 0 } else { stuck + 1 });
            self.turn += 1;
        }
        moved
    }
}

impl MessageDestination<'_> {
    fn keep(self) -> KeptTo {
        match self {
            MessageDestination::Rank(peer) => KeptTo::Rank(peer),
            MessageDestination::Members(group, marks) => KeptTo::Members(group, marks.into()),
        }
    }

    /// Bytes of a packet.
    fn packet_bytes_max(self, endpoint: &UrtpEndpoint) -> usize {
        match self {
            MessageDestination::Rank(_) => endpoint.config().payload_bytes_max(),
            MessageDestination::Members(group, _) => endpoint.multicast_bytes_max(group),
        }
    }

    fn send(
        self,
        endpoint: &mut UrtpEndpoint,
        len: usize,
        fill: impl FnMut(&mut [u8]),
    ) -> Result<(), SendError> {
        match self {
            MessageDestination::Rank(peer) => endpoint.send(peer, len, fill),
            MessageDestination::Members(group, marks) => {
                endpoint.multicast_with(group, |index| is_marked(marks, index), len, fill)
            }
        }
    }
}

impl QueuedMessage {
    fn push(&mut self, endpoint: &mut UrtpEndpoint) -> bool {
        let extended = &self.extended[..self.extended_len];
        let am = Am { header: self.header, extended, body: &self.body, offset: self.offset, len: self.len };
        let to = match &self.to {
            KeptTo::Rank(peer) => MessageDestination::Rank(*peer),
            KeptTo::Members(group, marks) => MessageDestination::Members(*group, marks),
        };
        self.flow.push(endpoint, to, &am, PACKETS_PER_TURN)
    }
}

impl Flow {
    /// Hands on up to so many packets. Whether the message is out.
    fn push(
        &mut self,
        endpoint: &mut UrtpEndpoint,
        to: MessageDestination<'_>,
        am: &Am<'_>,
        packets: usize,
    ) -> bool {
        let (most, all, lane) = (to.packet_bytes_max(endpoint), am.payload_len(), self.lane);
        for _ in 0..packets {
            let (at, first) = (self.at, self.at == 0);
            let head = if first { FIRST_BYTES } else { NEXT_BYTES };
            let bytes = (most - head).min(all - at);
            let sent = to.send(endpoint, head + bytes, |packet| {
                match first {
                    true => write_first(packet, lane, &am.header, all as u32),
                    false => packet[0] = lane,
                }
                am.read_payload(at, &mut packet[head..]);
            });
            match sent {
                Ok(()) => self.at += bytes,
                Err(SendError::Full) => return false,
                Err(SendError::Invalid) => unreachable!("ranks and groups are known, and lengths are kept"),
            }
            if self.at == all {
                return true;
            }
        }
        false
    }
}
