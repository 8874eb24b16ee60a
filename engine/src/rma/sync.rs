//! How epochs begin and end across hosts.

use super::access::{AccessFault, Far, RefusedAccess, Sync, WindowId};
use super::exposed::ExposedWindow;
use super::outbound::OutboundRma;
use super::window::{Applicant, WindowMember};
use super::wire::{TOLD_DONE, TOLD_GRANTED, TOLD_REFUSED};
use crate::engine::{Action, Engine, EngineCore};
use crate::request::{MessageFault, RequestState};
use crate::slab::Id;
use crate::wire::{ExtendedHeader, ExtendedHeaderReader, HeaderKind};
use tern_transport::{Header, Peer, Transport};

impl<T: Transport> Engine<T> {
    /// Tells a rank of a window something. A flush of no accesses needs no message.
    pub fn synchronize(&mut self, window: WindowId, rank: u32, sync: Sync) {
        let far = Far { window, rank, at: 0, shape: None };
        let Some((peer, number, member)) = self.core.rma.get().target(&far) else { return };
        match sync {
            Sync::Flush if member.unasked == 0 => return,
            Sync::Flush | Sync::Unlock(_) => {
                member.unasked = 0;
                member.asked += 1;
            }
            Sync::Lock(_) => member.granted = None,
            // Nobody waits here, and others may do so.
            Sync::Post | Sync::Complete => self.transport.expect_more(peer, false),
        }
        let extended = sync.append_to(ExtendedHeader::EMPTY.with_id(window));
        self.post(peer, OutboundRma::bare(HeaderKind::RmaSync, number, sync.tag(), extended));
    }

    /// The newest epoch of `MPI_Win_lock_all` at a rank, once that has given the lock that it was asked for.
    pub fn granted(&mut self, window: WindowId, rank: u32) -> Option<u64> {
        self.with_member(window, rank, |member| member.granted).unwrap_or(Some(0))
    }

    /// Whether all accesses to a rank have left the buffers here and, unless only that is asked, are done there.
    pub fn is_flushed(&mut self, window: WindowId, rank: u32, only_here: bool) -> bool {
        let done = |member: &mut WindowMember| {
            member.unfinished == 0 && (only_here || member.answered == member.asked)
        };
        self.with_member(window, rank, done).unwrap_or(true)
    }

    /// What went wrong with accesses to a rank since this was asked last.
    pub fn take_fault(&mut self, window: WindowId, rank: u32) -> Option<AccessFault> {
        self.with_member(window, rank, |member| member.fault.take()).flatten()
    }

    /// Ranks of a window that were told something, in order.
    pub fn touched(&self, window: WindowId) -> Vec<u32> {
        let window = self.core.rma.look().and_then(|rma| rma.windows.get(window));
        let members = window.into_iter().flat_map(|window| window.members.values());
        let mut ranks: Vec<u32> = members.map(|member| member.rank).collect();
        ranks.sort_unstable();
        ranks
    }

    fn with_member<R>(
        &mut self,
        window: WindowId,
        rank: u32,
        ask: impl FnOnce(&mut WindowMember) -> R,
    ) -> Option<R> {
        let window = self.core.rma.get().windows.get_mut(window)?;
        let peer = window.group.as_ref()?.peer(rank)?;
        window.members.get_mut(&peer).map(ask)
    }

    /// Wakes ranks of this host that wait for this rank's lock.
    pub(crate) fn ring_waiters(&mut self, window: Id) {
        for peer in self.core.rma.get().exposed(window).map_or_else(Vec::new, ExposedWindow::waiters) {
            self.transport.ring(peer);
        }
    }

    /// Gives this rank's lock to those remote ranks whose turn it is. Whether some still wait.
    pub(crate) fn grant(&mut self, id: Id) -> bool {
        let Some(window) = self.core.rma.get().windows.get_mut(id) else { return false };
        let Some(exposed) = window.exposed.as_deref() else { return false };
        let (mut granted, members) = (Vec::new(), &mut window.members);
        window.applicants.retain(|applicant| {
            let Some(member) = members.get_mut(&applicant.peer) else { return false };
            let is_in = exposed.enter(applicant.ticket, applicant.kind, member.rank);
            if is_in {
                (member.holds, member.applies) = (Some(applicant.kind), false);
                granted.push((applicant.peer, applicant.number));
            }
            !is_in
        });
        let (still, newest) = (!window.applicants.is_empty(), exposed.newest_epoch());
        if !still {
            exposed.waits(false);
        }
        let extended = ExtendedHeader::EMPTY.with(newest);
        for &(peer, number) in &granted {
            self.post(peer, OutboundRma::bare(HeaderKind::RmaTold, number, TOLD_GRANTED, extended));
        }
        if !granted.is_empty() {
            self.ring_waiters(id);
        }
        still
    }
}

impl EngineCore {
    /// A rank synchronizes with this one.
    pub(crate) fn synchronized(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        let mut reader = ExtendedHeaderReader(payload);
        let Some(number) = reader.id() else { return };
        let Some(sync) = Sync::read(header.tag, &mut reader) else { return };
        let Some((id, member)) = self.rma.get().member(header.source, from) else { return };
        if member.landing > 0 {
            return member.deferred.push((sync, number.raw()));
        }
        self.execute_sync(from, id, sync, number.raw());
    }

    /// What a peer asked for while its accesses were landing.
    pub(crate) fn execute_deferred(&mut self, from: Peer, id: Id) {
        let window = self.rma.get().windows.get_mut(id);
        let Some(member) = window.and_then(|window| window.members.get_mut(&from)) else { return };
        for (sync, number) in std::mem::take(&mut member.deferred) {
            self.execute_sync(from, id, sync, number);
        }
    }

    fn execute_sync(&mut self, from: Peer, id: Id, sync: Sync, number: u32) {
        let Some(window) = self.rma.get().windows.get_mut(id) else { return };
        let (Some(exposed), Some(member)) = (window.exposed.as_deref(), window.members.get_mut(&from)) else {
            return;
        };
        match sync {
            Sync::Flush => {}
            Sync::Post => exposed.posted(member.rank),
            Sync::Complete => exposed.completed(member.rank),
            // Whoever holds it or waits for it cannot ask again.
            Sync::Lock(_) if member.holds.is_some() || member.applies => return,
            Sync::Lock(kind) => {
                member.applies = true;
                exposed.waits(true);
                window.applicants.push(Applicant { peer: from, kind, ticket: exposed.ticket(kind), number });
                // One look is enough for all.
                if window.applicants.len() == 1 {
                    self.actions.push_back(Action::Grant { window: id });
                }
                return;
            }
            Sync::Unlock(_) => {
                let Some(kind) = member.holds.take() else { return };
                exposed.leave(kind);
                self.actions.push_back(Action::RingWaiters { window: id });
            }
        }
        // A thread that sleeps may wait for this.
        self.completions += 1;
        if let Sync::Flush | Sync::Unlock(_) = sync {
            let refused = member.refused.take();
            let extended =
                refused.map_or(ExtendedHeader::EMPTY, |refused| refused.append_to(ExtendedHeader::EMPTY));
            let out = OutboundRma::bare(HeaderKind::RmaTold, number, TOLD_DONE, extended);
            self.actions.push_back(Action::Post { peer: from, out: Box::new(out) });
        }
    }

    /// A target answers.
    pub(crate) fn target_answered(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        let mut reader = ExtendedHeaderReader(payload);
        if header.tag == TOLD_REFUSED {
            if let (Some(id), Some(refused)) = (reader.id(), RefusedAccess::read(&mut reader)) {
                self.refused(from, id, refused);
            }
            return;
        }
        let Some((_, member)) = self.rma.get().member(header.source, from) else { return };
        match header.tag {
            TOLD_DONE if member.answered < member.asked => {
                member.answered += 1;
                if let Some(refused) = RefusedAccess::read(&mut reader) {
                    member.fault = Some(AccessFault::Refused(refused));
                }
            }
            TOLD_GRANTED => member.granted = Some(reader.number().unwrap_or(0)),
            _ => return,
        }
        self.completions += 1;
    }

    /// The target sends no more for a request of this rank. What is landing lands first.
    fn refused(&mut self, from: Peer, id: Id, refused: RefusedAccess) {
        let Some(request) = self.requests.get_mut(id) else { return };
        if request.peer != from || !request.is_access() {
            return;
        }
        let RequestState::AwaitsData { begun, .. } = request.state else { return };
        self.cut_short(id, begun, MessageFault::Refused(refused));
    }

    /// A request gets no more than its first bytes. It ends when they have landed.
    pub(crate) fn cut_short(&mut self, id: Id, bytes: u64, fault: MessageFault) {
        let Some(request) = self.requests.get_mut(id) else { return };
        let RequestState::AwaitsData { begun, arrived, until } = &mut request.state else { return };
        *until = bytes.max(*begun).min(*until);
        let is_over = *arrived >= *until;
        request.status.fault.get_or_insert(fault);
        if is_over {
            self.complete(id);
        }
    }
}
