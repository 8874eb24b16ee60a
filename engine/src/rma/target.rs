//! The target's side: header handlers of accesses, and what is done when their bytes have landed.

use super::access::{Combination, RefusedAccess, TargetRefusal};
use super::exposed::{CombinedElements, ExposedWindow};
use super::outbound::OutboundRma;
use super::window::{AccessTarget, Assembly, Id0, RmaLanding};
use super::wire::{FETCH_NUMBERS_BYTES, FLAG_BARE, FLAG_OPENED, SWAP_NUMBERS_BYTES, TOLD_REFUSED};
use crate::arrival::TOKEN_ACCESS;
use crate::engine::{Action, EngineCore};
use crate::limits::{COMBINED_BYTES_MAX, DESCRIPTION_BYTES_MAX, LAYOUTS_MAX};
use crate::matching::Pattern;
use crate::request::{EngineRequest, RequestOwner, RequestState};
use crate::slab::Id;
use crate::wire::{ExtendedHeader, ExtendedHeaderReader, HeaderKind};
use std::sync::Arc;
use tern_mem::{Layout, UserBuf};
use tern_transport as transport;
use tern_transport::{Header, Peer, Token, TransferError};

/// Bytes in a window, and the first packed one of them that is meant.
type Reached = Result<(UserBuf, usize), TargetRefusal>;

impl EngineCore {
    /// A whole access that fits in a line.
    #[cold]
    pub(crate) fn access_short(&mut self, from: Peer, kind: HeaderKind, header: &Header, payload: &[u8]) {
        match kind {
            HeaderKind::RmaPut => self.put_short(from, header, payload),
            HeaderKind::RmaGet => self.read_for(from, header, payload),
            HeaderKind::RmaOpen => self.open(from, header, payload),
            HeaderKind::RmaSync => self.synchronized(from, header, payload),
            HeaderKind::RmaTold => self.target_answered(from, header, payload),
            HeaderKind::RmaLayout => {
                if let Some((block, offset)) = self.assemble(from, header, payload.len()) {
                    block.write(offset, payload);
                    self.described(from, payload.len());
                }
            }
            _ => {
                let block = UserBuf::owned(payload.len());
                block.write(0, payload);
                self.execute(from, header, &block, payload.len());
            }
        }
    }

    /// Where a longer one must land.
    #[cold]
    pub(crate) fn access_landing(
        &mut self,
        from: Peer,
        kind: HeaderKind,
        header: &Header,
        len: usize,
    ) -> transport::Landing {
        let placed = match kind {
            HeaderKind::RmaPut => {
                self.put_place(from, header, len).map(|(buf, at)| (buf, at, AccessTarget::Put))
            }
            HeaderKind::RmaLayout => {
                let place = self.assemble(from, header, len);
                place.map(|(block, at)| (block, at, AccessTarget::Description { bytes: len }))
            }
            HeaderKind::RmaCombine | HeaderKind::RmaFetch
                if len <= COMBINED_BYTES_MAX + FETCH_NUMBERS_BYTES =>
            {
                let block = UserBuf::owned(len);
                Some((block.clone(), 0, AccessTarget::Execute { header: *header, block, len }))
            }
            _ => None,
        };
        let Some((buf, offset, what)) = placed else { return transport::Landing::Nothing };
        let Some(window) = self.begin_landing(from, header, &what) else {
            return transport::Landing::Nothing;
        };
        let id = self.rma.get().landings.insert(RmaLanding { window: Id0(window), what });
        transport::Landing::place(buf, offset, len, Token(TOKEN_ACCESS | u64::from(id.raw())))
    }

    /// A window in which something lands is not withdrawn, and synchronization waits.
    fn begin_landing(&mut self, from: Peer, header: &Header, what: &AccessTarget) -> Option<Id> {
        if let AccessTarget::Description { .. } = what {
            return Some(Id::COMPLETED);
        }
        let (id, member) = self.rma.get().member(header.source, from)?;
        member.landing += 1;
        self.rma.get().windows.get_mut(id)?.busy += 1;
        Some(id)
    }

    /// The bytes of a longer access are there; `spoiled`, they are not the peer's, or could not be written.
    pub(crate) fn access_landed(&mut self, from: Peer, id: Id, spoiled: Option<TransferError>) {
        let Some(RmaLanding { window: Id0(window), what }) = self.rma.get().landings.remove(id) else {
            return;
        };
        match what {
            AccessTarget::Description { bytes } => return self.described(from, bytes),
            AccessTarget::Put => self.rma.get().executed += 1,
            AccessTarget::Execute { header, block, len } if spoiled.is_none() => {
                self.execute(from, &header, &block, len)
            }
            AccessTarget::Execute { .. } => {}
        }
        let Some(state) = self.rma.get().windows.get_mut(window) else { return };
        state.busy = state.busy.saturating_sub(1);
        let Some(member) = state.members.get_mut(&from) else { return };
        // Of its own memory the origin knows.
        if let Some(TransferError::OwnMemory { .. }) = spoiled {
            let at = RefusedAccess::SOMEWHERE;
            member.refused.get_or_insert(RefusedAccess { why: TargetRefusal::Unmapped, at });
        }
        member.landing = member.landing.saturating_sub(1);
        if member.landing == 0 && !member.deferred.is_empty() {
            self.execute_deferred(from, window);
        }
    }

    fn put_short(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        if let Some((buf, at)) = self.put_place(from, header, payload.len()) {
            buf.write(at, payload);
            self.rma.get().executed += 1;
        }
    }

    /// Where a put lands. What is refused is told when the origin asks next.
    fn put_place(&mut self, from: Peer, header: &Header, len: usize) -> Option<(UserBuf, usize)> {
        match self.reach(from, header, len, true)? {
            Ok(place) => Some(place),
            Err(refusal) => {
                self.note_refusal(from, header, refusal);
                None
            }
        }
    }

    fn note_refusal(&mut self, from: Peer, header: &Header, refusal: TargetRefusal) {
        if let Some((_, member)) = self.rma.get().member(header.source, from) {
            member.refused.get_or_insert(refused(header, refusal));
        }
    }

    /// `len` bytes that an access names; nothing if its sender has no business with the window.
    fn reach(&mut self, from: Peer, header: &Header, len: usize, writes: bool) -> Option<Reached> {
        let (id, member) = self.rma.get().member(header.source, from)?;
        if header.flags & FLAG_OPENED == 0 {
            let contiguous = self.rma.get().exposed(id)?.contiguous(header.context, len as u64, writes);
            return Some(contiguous.map(|buf| (buf, 0)));
        }
        let opened = member.opened.clone().unwrap_or(Err(TargetRefusal::Malformed));
        Some(opened.and_then(|buf| {
            let at = usize::try_from(header.context).map_err(|_| TargetRefusal::Outside)?;
            let fits = at.checked_add(len).is_some_and(|end| end <= buf.len());
            if fits { Ok((buf, at)) } else { Err(TargetRefusal::Outside) }
        }))
    }

    /// The elements that the next accesses are about.
    fn open(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        let mut reader = ExtendedHeaderReader(payload);
        let (Some(at), Some(count), Some(place)) = (reader.number(), reader.number(), reader.number()) else {
            return;
        };
        let known = self.rma.get().learnt.get(&from).and_then(|layouts| layouts.get(place as usize)?.clone());
        let Some((id, _)) = self.rma.get().member(header.source, from) else { return };
        let writes = header.tag != 0;
        let Some(exposed) = self.rma.get().exposed(id) else { return };
        let opened = known
            .ok_or(TargetRefusal::Malformed)
            .and_then(|layout| exposed.typed(at as i64, count, &layout, writes));
        if let Some((_, member)) = self.rma.get().member(header.source, from) {
            member.opened = Some(opened);
        }
    }

    /// Sends what a get asks for, straight out of the window.
    fn read_for(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        let mut reader = ExtendedHeaderReader(payload);
        let (Some(receiver), Some(len)) = (reader.id(), reader.number()) else { return };
        let Ok(bytes) = usize::try_from(len) else { return };
        match self.reach(from, header, bytes, false) {
            None => {}
            Some(Err(refusal)) => self.refuse(from, (receiver, header), refusal),
            // A get is about all that was opened.
            Some(Ok((buf, _))) if buf.len() != bytes => {
                self.refuse(from, (receiver, header), TargetRefusal::Malformed)
            }
            Some(Ok((buf, _))) => self.answer_get(from, header, receiver, buf),
        }
    }

    fn answer_get(&mut self, from: Peer, header: &Header, receiver: Id, buf: UserBuf) {
        let Some((window, _)) = self.rma.get().member(header.source, from) else { return };
        self.rma.get().executed += 1;
        let until = buf.len() as u64;
        if until == 0 {
            return;
        }
        let pattern = Pattern { context: u64::from(window.raw()), source: 0, tag: 0 };
        let (id, request) = self.requests.occupy();
        request.begin(RequestState::Streams { receiver, sent: 0, until }, pattern, buf, 0);
        (request.peer, request.owner) = (from, RequestOwner::Exposed);
        if let Some(window) = self.rma.get().windows.get_mut(window) {
            window.busy += 1;
        }
        self.streams.push(id);
    }

    fn refuse(&mut self, to: Peer, (receiver, header): (Id, &Header), why: TargetRefusal) {
        let extended = refused(header, why).append_to(ExtendedHeader::EMPTY.with_id(receiver));
        let out = OutboundRma::bare(HeaderKind::RmaTold, 0, TOLD_REFUSED, extended);
        self.actions.push_back(Action::Post { peer: to, out: Box::new(out) });
    }

    /// Combines or swaps elements; the payload lies in a block.
    fn execute(&mut self, from: Peer, header: &Header, block: &UserBuf, len: usize) {
        let Some(how) = Combination::from_tag(header.tag) else { return };
        match HeaderKind::parse(header.kind) {
            Some(HeaderKind::RmaCombine) => self.combine(from, header, how, block, len),
            Some(HeaderKind::RmaFetch) => self.fetch_for(from, header, how, block, len),
            Some(HeaderKind::RmaSwap) => self.swap_for(from, header, how, block, len),
            _ => {}
        }
    }

    fn combine(&mut self, from: Peer, header: &Header, combination: Combination, mine: &UserBuf, len: usize) {
        let reached = if len.is_multiple_of(combination.basic.size()) {
            self.reach(from, header, len, true)
        } else {
            Some(Err(TargetRefusal::Malformed))
        };
        match reached {
            None => {}
            Some(Err(refusal)) => self.note_refusal(from, header, refusal),
            Some(Ok((there, at))) => {
                let elements =
                    CombinedElements { combination, from: at, bytes: len, mine: Some(mine), old: None };
                self.with_exposed(from, header, |exposed| exposed.combine(&there, &elements));
            }
        }
    }

    fn fetch_for(
        &mut self,
        from: Peer,
        header: &Header,
        combination: Combination,
        block: &UserBuf,
        len: usize,
    ) {
        let Some((receiver, offset)) = request_and_offset(block, len) else { return };
        let bare = header.flags & FLAG_BARE != 0;
        let bytes = match bare {
            true => third(block, len).unwrap_or(usize::MAX),
            false => len - FETCH_NUMBERS_BYTES,
        };
        let needs_elements = combination.op != tern_mem::op::PredefinedOp::NoOp;
        if bytes > COMBINED_BYTES_MAX
            || bare && needs_elements
            || !bytes.is_multiple_of(combination.basic.size())
        {
            return self.refuse(from, (receiver, header), TargetRefusal::Malformed);
        }
        let (there, at) = match self.reach(from, header, bytes, !bare) {
            None => return,
            Some(Err(refusal)) => return self.refuse(from, (receiver, header), refusal),
            Some(Ok(reached)) => reached,
        };
        let mine = if bare { None } else { block.part(FETCH_NUMBERS_BYTES, bytes) };
        let old = UserBuf::owned(bytes);
        let elements =
            CombinedElements { combination, from: at, bytes, mine: mine.as_ref(), old: Some(&old) };
        self.with_exposed(from, header, |exposed| exposed.combine(&there, &elements));
        self.give_back(from, receiver, offset, old);
    }

    fn swap_for(&mut self, from: Peer, header: &Header, how: Combination, block: &UserBuf, len: usize) {
        let size = how.basic.size();
        let Some(receiver) = first(block, len).filter(|_| len == SWAP_NUMBERS_BYTES + 2 * size) else {
            return;
        };
        let parts = (block.part(SWAP_NUMBERS_BYTES, size), block.part(SWAP_NUMBERS_BYTES + size, size));
        let (Some(compared), Some(new)) = parts else { return };
        match self.reach(from, header, size, true) {
            None => {}
            Some(Err(refusal)) => self.refuse(from, (receiver, header), refusal),
            Some(Ok((there, _))) if there.len() != size => {
                self.refuse(from, (receiver, header), TargetRefusal::Malformed)
            }
            Some(Ok((there, _))) => {
                let mut old = None;
                self.with_exposed(from, header, |exposed| {
                    old = Some(exposed.swap(&there, how.basic, &compared, &new));
                });
                if let Some(old) = old {
                    self.give_back(from, receiver, 0, old);
                }
            }
        }
    }

    fn with_exposed(&mut self, from: Peer, header: &Header, work: impl FnOnce(&dyn ExposedWindow)) {
        let Some((id, _)) = self.rma.get().member(header.source, from) else { return };
        let Some(exposed) = self.rma.get().exposed(id) else { return };
        work(exposed);
        self.rma.get().executed += 1;
    }

    /// What was there before, as a fragment of the origin's result.
    fn give_back(&mut self, to: Peer, receiver: Id, offset: u64, old: UserBuf) {
        let len = old.len().max(1);
        let out =
            OutboundRma::bare(HeaderKind::Fragment, receiver.raw(), 0, ExtendedHeader::EMPTY).with(old, len);
        let header = Header { context: offset, ..out.header };
        self.actions.push_back(Action::Post { peer: to, out: Box::new(OutboundRma { header, ..out }) });
    }

    /// Where a part of a description lands.
    fn assemble(&mut self, from: Peer, header: &Header, len: usize) -> Option<(UserBuf, usize)> {
        let place = header.source as usize % LAYOUTS_MAX;
        let total = (header.source >> LAYOUTS_MAX.trailing_zeros()) as usize;
        if total > DESCRIPTION_BYTES_MAX || total == 0 {
            return None;
        }
        if header.context == 0 {
            let assembly = Assembly { place, begun: 0, arrived: 0, block: UserBuf::owned(total) };
            self.rma.get().assemblies.insert(from, assembly);
        }
        let assembly = self.rma.get().assemblies.get_mut(&from)?;
        let at = usize::try_from(header.context).ok().filter(|at| *at == assembly.begun)?;
        let end = at.checked_add(len).filter(|end| *end <= assembly.block.len())?;
        assembly.begun = end;
        Some((assembly.block.clone(), at))
    }

    /// A part of a description has arrived.
    fn described(&mut self, from: Peer, bytes: usize) {
        let Some(assembly) = self.rma.get().assemblies.get_mut(&from) else { return };
        assembly.arrived += bytes;
        if assembly.arrived < assembly.block.len() {
            return;
        }
        let Some(Assembly { place, block, .. }) = self.rma.get().assemblies.remove(&from) else { return };
        let mut description = vec![0; block.len()];
        block.read(0, &mut description);
        let layout = Layout::from_description(&description).map(Arc::new);
        self.rma.get().learnt.entry(from).or_insert_with(|| std::array::from_fn(|_| None))[place] = layout;
    }

    /// A request of an access has ended: the window may wait for that.
    #[cold]
    pub(crate) fn access_ended(&mut self, id: Id) {
        let Some(request) = self.requests.get(id) else { return };
        let EngineRequest { pattern, peer, owner, status, .. } = request;
        let (peer, owner, fault) = (*peer, *owner, status.fault);
        let Some(window) = self.rma.get().windows.get_mut(Id::from_raw(pattern.context as u32)) else {
            return;
        };
        if owner == RequestOwner::Exposed {
            window.busy = window.busy.saturating_sub(1);
            return;
        }
        let Some(member) = window.members.get_mut(&peer) else { return };
        member.unfinished = member.unfinished.saturating_sub(1);
        // Nobody else hears of it.
        if owner == RequestOwner::AccessOfNobody
            && let Some(fault) = fault
        {
            member.fault = Some(fault.of_access());
        }
    }
}

/// What the access of this header is told.
fn refused(header: &Header, why: TargetRefusal) -> RefusedAccess {
    let at = if header.flags & FLAG_OPENED == 0 { header.context } else { RefusedAccess::SOMEWHERE };
    RefusedAccess { why, at }
}

fn numbers(block: &UserBuf, len: usize) -> [u8; 24] {
    let mut bytes = [0; 24];
    let there = len.min(24);
    block.read(0, &mut bytes[..there]);
    bytes
}

/// The request that a payload begins with.
fn first(block: &UserBuf, len: usize) -> Option<Id> {
    ExtendedHeaderReader(&numbers(block, len)[..len.min(24)]).id()
}

/// The request that a fetch begins with, and the offset in its result.
fn request_and_offset(block: &UserBuf, len: usize) -> Option<(Id, u64)> {
    let bytes = numbers(block, len);
    let mut reader = ExtendedHeaderReader(&bytes[..len.min(24)]);
    Some((reader.id()?, reader.number()?))
}

/// What a fetch without elements has in their place.
fn third(block: &UserBuf, len: usize) -> Option<usize> {
    let bytes = numbers(block, len);
    let mut reader = ExtendedHeaderReader(&bytes[..len.min(24)]);
    reader.number()?;
    reader.number()?;
    usize::try_from(reader.number()?).ok()
}
