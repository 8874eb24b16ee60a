//! What an engine holds, one by one, for a person who asks why a program waits.

use crate::engine::Description;
use crate::request::{EngineRequest, RequestState};
use crate::{Engine, Envelope, RequestId};
use tern_transport::{Peer, Transport};

/// A message that has come and that no receive has asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unclaimed {
    /// The process that has sent it.
    pub from: Peer,
    /// Its context, its sender's rank in the communicator, its tag.
    pub envelope: Envelope,
    /// Its length.
    pub bytes: u64,
}

impl<T: Transport> Engine<T> {
    /// Requests under way, those of the library's own included. No more than so many places are looked at.
    pub fn pending(&self, places_max: usize) -> impl Iterator<Item = (RequestId, Description)> {
        let occupied = self.core.requests.occupied(places_max);
        occupied.filter(|(_, request)| !request.is_done()).map(|(id, request)| (id, Description::of(request)))
    }

    /// A request under way in whose buffer an address lies, and where that begins. If there is none, a receive that has ended: a message
    /// that is all at hand lands just then.
    pub fn pending_at(&self, address: usize, places_max: usize) -> Option<(usize, Description)> {
        let all = || self.core.requests.occupied(places_max).map(|(_, request)| request);
        let at = |request: &EngineRequest| {
            let (base, len) = request.buf.as_contiguous()?;
            (base..base.saturating_add(len)).contains(&address).then(|| (base, Description::of(request)))
        };
        let ended = |request: &EngineRequest| {
            let (base, of) = at(request)?;
            Some((base, Description { receive: true, peer: request.pattern.source, ..of }))
        };
        all().filter(|request| !request.is_done()).find_map(at).or_else(|| all().find_map(ended))
    }

    /// Whether a receive has met its message and is not complete: its buffer may be written at any time.
    pub fn is_receiving(&self, id: RequestId) -> bool {
        let is_matched =
            |request: &EngineRequest| request.is_receive() && request.state != RequestState::Posted;
        self.core.requests.get(id).is_some_and(is_matched)
    }

    /// Whether there are places that [`Engine::pending`] does not look at.
    pub fn has_places_beyond(&self, places_max: usize) -> bool {
        self.core.requests.places() > places_max
    }

    /// Some of the messages that wait for their receive, those of the library's own included: at most so many.
    pub fn unclaimed(&self, max: usize) -> Vec<Unclaimed> {
        let core = &self.core;
        let shown = |index: u32| {
            let unexpected = core.unexpected_messages.get(core.unexpected_messages.id_at(index)?)?;
            Some(Unclaimed { from: unexpected.from, envelope: unexpected.envelope, bytes: unexpected.len })
        };
        core.unexpected.some(max).into_iter().filter_map(shown).collect()
    }
}
