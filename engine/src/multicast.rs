//! One message to many, where the transport can multicast (MPI-CCL section 2).
//!
//! To its receivers it is a message like any other. To the sender it costs credits of every receiver; while one of them has
//! too few, it waits. It never becomes several messages on its way: a message that was sent to one rank alone may overtake it.

use crate::engine::Engine;
use crate::matching::{Envelope, Pattern};
use crate::multicast_queue::PendingMulticast;
use crate::peers::cost_units;
use crate::request::{RequestState, token};
use crate::send::{StartedMessage, message};
use crate::slab::Id;
use crate::wire::{ExtendedHeader, FLAG_SIGNED, HeaderKind};
use tern_mem::UserBuf;
use tern_transport::{Full, MulticastGroup, Peer, Taken, Transport};

impl<T: Transport> Engine<T> {
    /// Makes ranks known among which multicasts may go: see [`Transport::multicast_group`].
    pub fn multicast_group(&mut self, members: &[Peer]) -> Option<MulticastGroup> {
        self.transport.multicast_group(members)
    }

    /// Bytes of a multicast at most: half of what a receiver grants, so that one can be on its way while credits for the one
    /// before come back.
    pub fn multicast_bytes_max(&self) -> usize {
        crate::settings::multicast_bytes_max(self.core.peers.window())
    }

    /// Sends `buf`, of at most [`Engine::multicast_bytes_max`] bytes, to several other members of a group, in standard mode.
    /// `signature` as in [`Engine::send`].
    pub fn multicast(
        &mut self,
        group: &MulticastGroup,
        to: &[Peer],
        envelope: Envelope,
        buf: &UserBuf,
        signature: u64,
    ) -> StartedMessage {
        debug_assert!(buf.len() <= self.multicast_bytes_max());
        let Envelope { context, source, tag } = envelope;
        let (id, request) = self.core.requests.occupy();
        request.begin(RequestState::Multicasts, Pattern { context, source, tag }, buf.clone(), signature);
        request.peer = to.first().copied().unwrap_or_default();
        if !self.core.multicasts.is_empty() || self.push_multicast(id, group, to).is_err() {
            self.core.multicasts.0.push_back(PendingMulticast { id, group: group.clone(), to: to.into() });
            self.push_multicasts();
        }
        self.started(id)
    }

    /// This rank waits for a multicast of a peer.
    #[inline]
    pub fn expect_multicast(&mut self, peer: Peer) {
        self.transport.expect_multicast(peer);
    }

    /// Sends what can go. One whose receivers have no credits holds up only what goes to one of them as well.
    pub(crate) fn push_multicasts(&mut self) -> bool {
        if self.core.multicasts.is_empty() {
            return false;
        }
        let mut pending = std::mem::take(&mut self.core.multicasts.0);
        let (before, mut held) = (pending.len(), Vec::new());
        pending.retain(|multicast| {
            let waits = multicast.to.iter().any(|peer| held.contains(peer))
                || self.push_multicast(multicast.id, &multicast.group, &multicast.to).is_err();
            if waits {
                held.extend_from_slice(&multicast.to);
            }
            waits
        });
        let moved = pending.len() < before;
        self.core.multicasts.0 = pending;
        moved
    }

    fn push_multicast(&mut self, id: Id, group: &MulticastGroup, to: &[Peer]) -> Result<(), Full> {
        let Some(request) = self.core.requests.get(id) else { return Ok(()) };
        let (Pattern { context, source, tag }, signature) = (request.pattern, request.signature);
        let buf = request.buf.clone();
        let units = cost_units(buf.len());
        if !to.iter().all(|peer| self.peer_state(*peer).credits >= units) {
            return Err(Full);
        }
        let (flags, extended) = match signature {
            0 => (0, ExtendedHeader::EMPTY),
            _ => (FLAG_SIGNED, ExtendedHeader::EMPTY.with(signature)),
        };
        let am =
            message(HeaderKind::Eager, flags, &Envelope { context, source, tag }, extended.bytes(), &buf);
        let taken = self.transport.multicast(group, to, &am, token(id))?;
        for peer in to {
            self.core.peers.state_or_new(*peer).spend(units);
        }
        match taken {
            Taken::Copied => self.core.complete(id),
            Taken::Kept => {
                if let Some(request) = self.core.requests.get_mut(id) {
                    request.state = RequestState::Transfers { answer: None };
                }
            }
        }
        Ok(())
    }
}
