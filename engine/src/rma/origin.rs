//! The origin's side: how an access leaves.

use super::access::{ACCESS_CONTEXT, CannotBegin, Combination, Far, GappedElements, WindowId};
use super::outbound::{OutboundRma, Then};
use super::window::WindowMember;
use super::wire::{FLAG_BARE, FLAG_OPENED};
use crate::engine::Engine;
use crate::limits::{COMBINED_BYTES_MAX, DESCRIPTION_BYTES_MAX, EXTENDED_HEADER_BYTES_MAX, LAYOUTS_MAX};
use crate::matching::Pattern;
use crate::request::{RequestId, RequestOwner, RequestState, Status};
use crate::wire::{ExtendedHeader, HeaderKind};
use std::sync::Arc;
use tern_mem::op::PredefinedOp;
use tern_mem::{Basic, Layout, UserBuf};
use tern_transport::{Full, Header, Peer, Token, Transport, WindowMemory};

type Begun = Result<Option<RequestId>, CannotBegin>;

impl<T: Transport> Engine<T> {
    /// Writes `from` to another rank's memory. If it is `asked` for, the request ends when `from` may be changed.
    pub fn put_to(&mut self, far: &Far, from: &UserBuf, asked: bool) -> Begun {
        if let Some((peer, there)) = self.memory_of(far, from) {
            return self.write_to((far, peer, there), from, asked);
        }
        self.put_by_message(far, from, None, asked)
    }

    /// Writes to memory that is written without its rank; by a message if that cannot be done now.
    fn write_to(
        &mut self,
        (far, peer, there): (&Far, Peer, WindowMemory),
        from: &UserBuf,
        asked: bool,
    ) -> Begun {
        let id = self.begin_access(far, peer, from.clone(), RequestState::Accesses, asked);
        match self.transport.write_window(peer, from, there, Token(u64::from(id.raw()))) {
            Ok(()) => Ok(asked.then_some(id)),
            Err(Full) => self.put_by_message(far, from, Some(id), asked),
        }
    }

    /// `begun` is the request, if there is one already.
    fn put_by_message(&mut self, far: &Far, from: &UserBuf, begun: Option<RequestId>, asked: bool) -> Begun {
        let (peer, header) = self.aim(far, HeaderKind::RmaPut, true)?;
        let most = self.peer_state(peer).limits.eager_bytes_max;
        let contiguous = from.len() > most && from.as_contiguous().is_some();
        let zero_copy_bytes = if contiguous { self.transport.zero_copy_fragment_bytes_max(peer) } else { 0 };
        let piece = if zero_copy_bytes > 0 { zero_copy_bytes } else { most };
        let out = OutboundRma {
            header,
            zero_copy: zero_copy_bytes > 0,
            ..OutboundRma::bare(HeaderKind::RmaPut, 0, 0, ExtendedHeader::EMPTY)
        };
        let out = out.with(from.clone(), piece.max(1));
        // A flush or another access follows.
        self.transport.expect_more(peer, true);
        if let Some(id) = begun {
            self.post(peer, OutboundRma { request: begun, window: Some(far.window), ..out });
            return Ok(asked.then_some(id));
        }
        Ok(self.launch(far, peer, out, asked))
    }

    /// Reads from another rank's memory to `into`. The request ends when all is there.
    pub fn get_from(&mut self, far: &Far, into: &UserBuf, asked: bool) -> Begun {
        let (peer, header) = self.aim(far, HeaderKind::RmaGet, false)?;
        let id = self.await_result(far, peer, into, asked);
        if let Some((peer, there)) = self.memory_of(far, into)
            && self.transport.read_window(peer, there, into, Token(u64::from(id.raw()))).is_ok()
        {
            return Ok(asked.then_some(id));
        }
        let extended = ExtendedHeader::EMPTY.with_id(id).with(into.len() as u64);
        self.post(peer, OutboundRma { header, ..OutboundRma::bare(HeaderKind::RmaGet, 0, 0, extended) });
        Ok(asked.then_some(id))
    }

    /// Combines `from` with what is in another rank's memory.
    pub fn accumulate(&mut self, far: &Far, how: Combination, from: &UserBuf, asked: bool) -> Begun {
        let (peer, header) = self.aim(far, HeaderKind::RmaCombine, true)?;
        let header = Header { tag: how.tag(), ..header };
        let piece = self.elements_per_piece(peer, how.basic);
        self.transport.expect_more(peer, true);
        let out =
            OutboundRma { header, ..OutboundRma::bare(HeaderKind::RmaCombine, 0, 0, ExtendedHeader::EMPTY) };
        Ok(self.launch(far, peer, out.with(from.clone(), piece), asked))
    }

    /// The same, and what was there before goes to `into`. Without `from`, it only fetches.
    pub fn fetch(
        &mut self,
        far: &Far,
        how: Combination,
        from: Option<&UserBuf>,
        into: &UserBuf,
        asked: bool,
    ) -> Begun {
        let (peer, header) = self.aim(far, HeaderKind::RmaFetch, from.is_some())?;
        let id = self.await_result(far, peer, into, asked);
        let piece = self.elements_per_piece(peer, how.basic);
        let (then, flags) = match from {
            Some(_) => (Then::Offset, header.flags),
            None => (Then::OffsetAndBytes, header.flags | FLAG_BARE),
        };
        let header = Header { tag: how.tag(), flags, ..header };
        let out = OutboundRma {
            header,
            then,
            ..OutboundRma::bare(HeaderKind::RmaFetch, 0, 0, ExtendedHeader::EMPTY.with_id(id))
        };
        let body = from.cloned().unwrap_or_else(UserBuf::empty);
        self.post(peer, OutboundRma { until: into.len(), result: Some(id), ..out.with(body, piece) });
        Ok(asked.then_some(id))
    }

    /// Puts `new` into another rank's memory if `compared` is there; what was there goes to `into`.
    pub fn swap(
        &mut self,
        far: &Far,
        basic: Basic,
        (compared, new): (&UserBuf, &UserBuf),
        into: &UserBuf,
    ) -> Begun {
        let (peer, header) = self.aim(far, HeaderKind::RmaSwap, true)?;
        let id = self.await_result(far, peer, into, false);
        let size = basic.size();
        let both = UserBuf::owned(2 * size);
        UserBuf::copy(compared, 0, &both, 0, size);
        UserBuf::copy(new, 0, &both, size, size);
        let header = Header { tag: Combination { op: PredefinedOp::Replace, basic }.tag(), ..header };
        let out = OutboundRma {
            header,
            ..OutboundRma::bare(HeaderKind::RmaSwap, 0, 0, ExtendedHeader::EMPTY.with_id(id))
        };
        self.post(peer, out.with(both, 2 * size));
        Ok(None)
    }

    /// Peer and header of an access; what comes before it is sent.
    fn aim(&mut self, far: &Far, kind: HeaderKind, writes: bool) -> Result<(Peer, Header), CannotBegin> {
        let (peer, source, member) = self.core.rma.get().target(far).ok_or(CannotBegin::NoTarget)?;
        let header = Header { kind: kind as u8, source, ..Header::default() };
        let Some(GappedElements { count, layout }) = &far.shape else {
            member.note_access(kind);
            return Ok((peer, Header { context: far.at as u64, ..header }));
        };
        let place = self.teach(peer, layout)?;
        let extended = ExtendedHeader::EMPTY.with(far.at as u64).with(*count).with(place as u64);
        self.post(peer, OutboundRma::bare(HeaderKind::RmaOpen, source, i32::from(writes), extended));
        if let Some(member) = self.member_state(far.window, peer) {
            member.note_access(kind);
        }
        Ok((peer, Header { flags: FLAG_OPENED, ..header }))
    }

    /// The process of a rank, and where its memory lies for an access without its help; none if that is not to be had. Both sides
    /// must be without gaps.
    fn memory_of(&mut self, far: &Far, here: &UserBuf) -> Option<(Peer, WindowMemory)> {
        let window = self.core.rma.get().windows.get_mut(far.window)?;
        let memory = (*window.memories.get(far.rank as usize)?)?;
        let peer = window.group.as_ref()?.peer(far.rank)?;
        window.member(peer)?;
        let is_plain = far.shape.is_none() && !here.is_empty() && here.as_contiguous().is_some();
        let start = memory.start.wrapping_add(far.at as u64);
        is_plain.then_some((peer, WindowMemory { start, ..memory }))
    }

    pub(super) fn member_state(&mut self, window: WindowId, peer: Peer) -> Option<&mut WindowMember> {
        self.core.rma.get().windows.get_mut(window)?.member(peer)
    }

    /// Where a peer keeps a layout; it is described to it unless it knows it.
    fn teach(&mut self, peer: Peer, layout: &Arc<Layout>) -> Result<usize, CannotBegin> {
        let taught = self.core.rma.get().taught.entry(peer).or_default();
        if let Some(place) = taught.layouts.iter().position(|known| Arc::ptr_eq(known, layout)) {
            return Ok(place);
        }
        let bytes = layout.describe();
        if bytes.len() > DESCRIPTION_BYTES_MAX {
            return Err(CannotBegin::LongDescription(bytes.len()));
        }
        let place = taught.next;
        taught.next = (place + 1) % LAYOUTS_MAX;
        match taught.layouts.get_mut(place) {
            Some(known) => *known = layout.clone(),
            None => taught.layouts.push(layout.clone()),
        }
        let description = UserBuf::owned(bytes.len());
        description.write(0, &bytes);
        let source = place as u32 | (bytes.len() as u32) << LAYOUTS_MAX.trailing_zeros();
        let piece = self.peer_state(peer).limits.eager_bytes_max.max(1);
        self.post(
            peer,
            OutboundRma::bare(HeaderKind::RmaLayout, source, 0, ExtendedHeader::EMPTY)
                .with(description, piece),
        );
        Ok(place)
    }

    /// Whole elements, as many as a message takes and its execution should hold up others.
    fn elements_per_piece(&mut self, peer: Peer, basic: Basic) -> usize {
        let room = self.peer_state(peer).limits.eager_bytes_max.saturating_sub(EXTENDED_HEADER_BYTES_MAX);
        (room.min(COMBINED_BYTES_MAX) / basic.size()).max(1) * basic.size()
    }

    /// Sends an access that brings nothing back. It needs a request if it cannot be sent at once, or if one was asked for.
    fn launch(&mut self, far: &Far, peer: Peer, mut out: OutboundRma, asked: bool) -> Option<RequestId> {
        out.window = Some(far.window);
        let is_free = !out.zero_copy && out.until <= out.piece && self.peer_state(peer).backlog.is_empty();
        if is_free && !asked && self.push(peer, &mut out).is_ok() {
            return None;
        }
        let id = self.begin_access(far, peer, UserBuf::empty(), RequestState::Accesses, asked);
        out.request = Some(id);
        self.post(peer, out);
        asked.then_some(id)
    }

    /// A request that is done when the target has sent all that `into` takes.
    fn await_result(&mut self, far: &Far, peer: Peer, into: &UserBuf, asked: bool) -> RequestId {
        let state = RequestState::AwaitsData { begun: 0, arrived: 0, until: into.len() as u64 };
        self.begin_access(far, peer, into.clone(), state, asked)
    }

    fn begin_access(
        &mut self,
        far: &Far,
        peer: Peer,
        buf: UserBuf,
        state: RequestState,
        asked: bool,
    ) -> RequestId {
        let context = ACCESS_CONTEXT | u64::from(far.window.raw());
        let pattern = Pattern { context, source: far.rank, tag: 0 };
        let (id, request) = self.core.requests.occupy();
        request.begin(state, pattern, buf, 0);
        request.status = Status { context: pattern.context, source: far.rank, ..Status::EMPTY };
        request.peer = peer;
        request.owner = if asked { RequestOwner::Access } else { RequestOwner::AccessOfNobody };
        if let Some(member) = self.member_state(far.window, peer) {
            member.unfinished += 1;
        }
        id
    }
}
