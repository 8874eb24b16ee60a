//! What a rank exposes to ranks that reach it by messages.

use super::contiguous::ContiguousElements;
use super::control::{LockKind, LockWaits, Turn, WindowControl};
use super::elements::{RmaElements, Rule, few};
use super::place::TargetElements;
use std::ptr::null_mut;
use std::sync::Arc;
use tern_engine::Group;
use tern_engine::rma::{self, ExposedWindow, TargetRefusal};
use tern_mem::op::{PredefinedOp, atomic};
use tern_mem::{Basic, ExposedMemory, Layout, UserBuf};
use tern_transport::Peer;

/// This rank's part of a window.
pub(super) struct Exposure {
    /// The words of the ranks of this host.
    pub controls: Arc<[WindowControl]>,
    /// The ranks.
    pub group: Group,
    /// This one.
    pub me: u32,
    /// All ranks of this host can be made to pass a fence.
    pub is_fenced: bool,
    /// All elements are combined under the lock.
    pub by_lock: bool,
    /// Bytes from which elements are combined all at once.
    pub many_from: usize,
    /// Its memory; of a dynamic window, what is attached.
    pub memory: Option<ExposedMemory>,
}

impl Exposure {
    fn own(&self) -> &WindowControl {
        &self.controls[self.me as usize]
    }

    fn rule(&self) -> Rule<'_> {
        let (controls, me) = (&*self.controls, self.me);
        Rule {
            controls,
            me,
            target: me,
            is_fenced: self.is_fenced,
            by_lock: self.by_lock,
            many_from: self.many_from,
        }
    }

    /// Memory that the program has attached, if it still is there.
    fn attached(
        &self,
        low: i128,
        bytes: i128,
        make: impl FnOnce() -> UserBuf,
        writes: bool,
    ) -> Result<UserBuf, TargetRefusal> {
        let (Ok(low), Ok(bytes)) = (u64::try_from(low), u64::try_from(bytes)) else {
            return Err(TargetRefusal::Outside);
        };
        let buf = make();
        if !self.own().is_attached(low, bytes) && !self.own().are_attached(&buf) {
            return Err(TargetRefusal::Outside);
        }
        if buf.is_there(writes) { Ok(buf) } else { Err(TargetRefusal::Unmapped) }
    }
}

impl ExposedWindow for Exposure {
    fn contiguous(&self, at: u64, len: u64, writes: bool) -> Result<UserBuf, TargetRefusal> {
        if let Some(memory) = &self.memory {
            return memory.contiguous(at, len).ok_or(TargetRefusal::Outside);
        }
        // SAFETY: nobody uses it before it was found attached, and so by the program's promise memory that ranks of the window may use; the kernel
        // is asked whether it is there.
        let make = || unsafe {
            UserBuf::contiguous(std::ptr::with_exposed_provenance_mut(at as usize), len as usize)
        };
        self.attached(i128::from(at), i128::from(len), make, writes)
    }

    fn typed(
        &self,
        at: i64,
        count: u64,
        layout: &Arc<Layout>,
        writes: bool,
    ) -> Result<UserBuf, TargetRefusal> {
        if let Some(memory) = &self.memory {
            return memory.typed(at, count, layout).ok_or(TargetRefusal::Outside);
        }
        let (low, high) = layout.span(count);
        let base = std::ptr::with_exposed_provenance_mut(at as usize);
        // SAFETY: as above, for all bytes of the elements.
        let make = || unsafe { UserBuf::typed(base, count, layout) };
        self.attached(low + i128::from(at), high - low, make, writes)
    }

    fn combine(&self, there: &UserBuf, what: &rma::CombinedElements<'_>) {
        let rma::Combination { op, basic } = what.combination;
        let mine = what.mine.map(|buffer| ContiguousElements::of(basic, buffer));
        let old = what.old.map(|buffer| ContiguousElements::for_result(basic, buffer));
        let address = |elements: &Option<ContiguousElements>| {
            elements.as_ref().map_or(null_mut(), ContiguousElements::address)
        };
        let place = TargetElements::part_of(there.clone(), what.from, what.bytes);
        // The memory is mapped, so nothing can refuse.
        let _ = RmaElements { rule: self.rule(), basic, op }.combine(&place, address(&mine), address(&old));
        if let (Some(old), Some(buffer)) = (old, what.old) {
            old.put_back(buffer);
        }
    }

    fn swap(&self, there: &UserBuf, basic: Basic, compared: &UserBuf, new: &UserBuf) -> UserBuf {
        let (rule, old) = (self.rule(), UserBuf::owned(basic.size()));
        let contiguous = |buffer: &UserBuf| buffer.contiguous_at(0, basic.size());
        if !rule.by_lock
            && let (Some(target), Some(compared), Some(new), Some(old_at)) =
                (contiguous(there), contiguous(compared), contiguous(new), contiguous(&old))
            && atomic::is_atomic(basic, target.addr())
        {
            // SAFETY: all four are elements of the type, and that of the window is only used atomically, as the rule says.
            few(&rule, || unsafe { atomic::compare_and_swap(basic, new, compared, target, old_at) });
            return old;
        }
        let elements = RmaElements { rule, basic, op: PredefinedOp::Replace };
        let place = TargetElements::part_of(there.clone(), 0, basic.size());
        let _ = elements.swap_if_equal(&place, new, compared, &old);
        old
    }

    fn ticket(&self, kind: LockKind) -> u64 {
        self.own().ticket(kind)
    }

    fn enter(&self, ticket: u64, kind: LockKind, rank: u32) -> bool {
        self.own().enter(&self.controls, ticket, kind, rank)
    }

    fn newest_epoch(&self) -> u64 {
        self.own().newest_epoch()
    }

    fn leave(&self, kind: LockKind) {
        self.own().leave(kind);
    }

    fn waits(&self, waits: bool) {
        self.own().waits(self.me, LockWaits::ForOthers, waits);
    }

    fn waiters(&self) -> Vec<Peer> {
        self.own().waiters().filter_map(|rank| self.group.peer(rank)).collect()
    }

    fn posted(&self, rank: u32) {
        self.own().tell(rank, Turn::Post);
    }

    fn completed(&self, rank: u32) {
        self.own().tell(rank, Turn::Completion);
    }
}
