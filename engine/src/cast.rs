//! One message to many, where the transport can multicast (MPI-CCL section 2).
//!
//! To its receivers it is a message like any other. To the sender it costs credits of every receiver; while one of them has
//! too few, it waits. It never becomes several messages on its way: a message that was sent to one rank alone may overtake it.

use crate::engine::Engine;
use crate::limits::{CREDIT_BYTES_MIN, CREDIT_UNIT_BYTES};
use crate::matching::{Envelope, Pattern};
use crate::peers::cost_units;
use crate::rendezvous::token;
use crate::request::State;
use crate::send::{Started, message};
use crate::slab::Id;
use crate::wire::{FLAG_SIGNED, Kind, Lead};
use std::collections::VecDeque;
use tern_mem::UserBuf;
use tern_transport::{Circle, Full, Peer, Taken, Transport};

const _: () = assert!(CREDIT_BYTES_MIN / CREDIT_UNIT_BYTES / 2 >= 2, "something can always be multicast");

/// Multicasts that wait, in order.
#[derive(Default)]
pub(crate) struct Casts(VecDeque<Cast>);

/// One that waits: a request that says what, and to whom it goes.
struct Cast {
    id: Id,
    circle: Circle,
    to: Box<[Peer]>,
}

/// Bytes of a multicast at most, with so many units of credit.
pub(crate) fn bytes_max(window: u32) -> usize {
    (window as usize / 2 - 1) * CREDIT_UNIT_BYTES
}

impl Casts {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl<T: Transport> Engine<T> {
    /// Makes ranks known among which multicasts may go: see [`Transport::circle`].
    pub fn circle(&mut self, members: &[Peer]) -> Option<Circle> {
        self.transport.circle(members)
    }

    /// Bytes of a multicast at most: half of what a receiver grants, so that one can be on its way while credits for the one
    /// before come back.
    pub fn cast_bytes_max(&self) -> usize {
        bytes_max(self.core.peers.window())
    }

    /// Sends `buf`, of at most [`Engine::cast_bytes_max`] bytes, to several other members of a circle, in standard mode.
    /// `signature` as in [`Engine::send`].
    pub fn cast(
        &mut self,
        circle: &Circle,
        to: &[Peer],
        envelope: Envelope,
        buf: &UserBuf,
        signature: u64,
    ) -> Started {
        debug_assert!(buf.len() <= self.cast_bytes_max());
        let Envelope { context, source, tag } = envelope;
        let (id, request) = self.core.requests.occupy();
        request.begin(State::Casts, Pattern { context, source, tag }, buf.clone(), signature);
        request.peer = to.first().copied().unwrap_or_default();
        if !self.core.casts.is_empty() || self.push_cast(id, circle, to).is_err() {
            self.core.casts.0.push_back(Cast { id, circle: circle.clone(), to: to.into() });
            self.push_casts();
        }
        self.started(id)
    }

    /// This rank waits for a multicast of a peer.
    #[inline]
    pub fn expect(&mut self, peer: Peer) {
        self.transport.expect(peer);
    }

    /// Sends what can go. One whose receivers have no credits holds up only what goes to one of them as well.
    pub(crate) fn push_casts(&mut self) -> bool {
        if self.core.casts.is_empty() {
            return false;
        }
        let mut casts = std::mem::take(&mut self.core.casts.0);
        let (before, mut held) = (casts.len(), Vec::new());
        casts.retain(|cast| {
            let waits = cast.to.iter().any(|peer| held.contains(peer))
                || self.push_cast(cast.id, &cast.circle, &cast.to).is_err();
            if waits {
                held.extend_from_slice(&cast.to);
            }
            waits
        });
        let moved = casts.len() < before;
        self.core.casts.0 = casts;
        moved
    }

    fn push_cast(&mut self, id: Id, circle: &Circle, to: &[Peer]) -> Result<(), Full> {
        let Some(request) = self.core.requests.get(id) else { return Ok(()) };
        let (Pattern { context, source, tag }, signature) = (request.pattern, request.signature);
        let buf = request.buf.clone();
        let units = cost_units(buf.len());
        if !to.iter().all(|peer| self.meet(*peer).credits >= units) {
            return Err(Full);
        }
        let (flags, lead) = match signature {
            0 => (0, Lead::EMPTY),
            _ => (FLAG_SIGNED, Lead::EMPTY.with(signature)),
        };
        let am = message(Kind::Eager, flags, &Envelope { context, source, tag }, lead.bytes(), &buf);
        let taken = self.transport.multicast(circle, to, &am, token(id))?;
        for peer in to {
            self.core.peers.know(*peer).spend(units);
        }
        match taken {
            Taken::Copied => self.core.complete(id),
            Taken::Kept => {
                if let Some(request) = self.core.requests.get_mut(id) {
                    request.state = State::Transfers { answer: None };
                }
            }
        }
        Ok(())
    }
}
