//! How elements are combined: one rule for all ways to an element (MPI 5.0 section 12.7.1).
//!
//! In memory that all ranks of a host have mapped, elements that the processor can combine are combined by its atomic instructions, and
//! all others under a lock of the target; many at once are combined without either, while nobody else combines any there. In memory
//! that the kernel copies, everything is under that lock, for the target itself too. What messages ask for, the target executes by the
//! same rule.

use super::contiguous::ContiguousElements;
use super::control::WindowControl;
use super::object::Window;
use super::place::TargetElements;
use tern_mem::op::{PredefinedOp, atomic, reduce};
use tern_mem::{Basic, UserBuf};
use tern_transport::TransferError;
use tern_transport::fence::fence_everywhere;

/// What decides how the elements of a target are combined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule<'a> {
    /// The words of all ranks.
    pub controls: &'a [WindowControl],
    /// This rank.
    pub me: u32,
    /// The rank whose elements they are.
    pub target: u32,
    /// All ranks of the host can be made to pass a fence.
    pub is_fenced: bool,
    /// All elements are under the lock.
    pub by_lock: bool,
    /// Bytes from which they are combined all at once.
    pub many_from: usize,
}

impl<'a> Rule<'a> {
    /// The rule of a window.
    #[inline(always)]
    pub(super) fn of(window: &'a Window, target: u32) -> Rule<'a> {
        let (controls, me, is_fenced) = (&*window.controls, window.me, window.is_fenced);
        Rule {
            controls,
            me,
            target,
            is_fenced,
            by_lock: window.locks_elements(),
            many_from: window.many_from,
        }
    }
}

/// Combines a few elements of a target by atomic instructions, unless somebody combines many there: then behind those.
#[inline(always)]
pub(super) fn few<T>(rule: &Rule<'_>, work: impl FnOnce() -> T) -> T {
    // Then nobody combines many.
    if !rule.is_fenced {
        return work();
    }
    let (mine, theirs) = (&rule.controls[rule.me as usize], &rule.controls[rule.target as usize]);
    mine.combines_few(true);
    if theirs.has_many() {
        mine.combines_few(false);
        return theirs.alone(rule.me, work);
    }
    let result = work();
    mine.combines_few(false);
    result
}

/// As [`few`] of the short ways. False, and nothing has happened, if somebody combines many there. (Where not all ranks can be made to pass
/// a fence nobody does, and the marks mean nothing.)
#[inline(always)]
pub(super) fn few_short(window: &Window, target: u32, work: impl FnOnce()) -> bool {
    let (mine, theirs) = (&window.controls[window.me as usize], &window.controls[target as usize]);
    mine.combines_few(true);
    let is_free = !theirs.has_many();
    if is_free {
        work();
    }
    mine.combines_few(false);
    is_free
}

/// What is done to elements of a target.
pub(super) struct RmaElements<'a> {
    /// By which rule.
    pub rule: Rule<'a>,
    /// Their type.
    pub basic: Basic,
    /// The operation.
    pub op: PredefinedOp,
}

/// Whether it was done.
pub(super) type RmaOutcome = std::result::Result<(), TransferError>;

impl RmaElements<'_> {
    /// Combines the elements at `mine` with those at the place; what was there goes to `old`, unless that is null.
    pub(super) fn combine(&self, place: &TargetElements, mine: *mut u8, old: *mut u8) -> RmaOutcome {
        if !place.is_mapped() || !self.basic.is_contiguous() {
            return self.alone(|| self.combine_copies(place, mine, old));
        }
        let step = self.basic.size();
        place.pieces(|piece, before| {
            let there = std::ptr::with_exposed_provenance_mut::<u8>(piece.base);
            let at =
                |address: *mut u8| if address.is_null() { address } else { address.wrapping_add(before) };
            let (mine, old, count) = (at(mine), at(old), piece.len / step);
            if self.is_atomic(there) {
                self.combine_mapped(there, mine, old, count);
            } else {
                // SAFETY: `TargetElements` lies in the window's memory, and the buffers here have as many elements.
                self.alone(|| unsafe { self.combine_here(there, mine, old, count) });
            }
            Ok(())
        })
    }

    /// Whether elements from an address on are combined by atomic instructions: the window's rule, and the type's.
    fn is_atomic(&self, there: *mut u8) -> bool {
        !self.rule.by_lock && atomic::is_atomic(self.basic, there.addr())
    }

    /// Elements one behind the other that atomic instructions can combine. Many are combined faster without these, once nobody else is
    /// about to use them.
    #[inline]
    pub(super) fn combine_mapped(&self, there: *mut u8, mine: *mut u8, old: *mut u8, count: usize) {
        // SAFETY: there is in the window's memory, and the buffers here have as many elements.
        let atomically = || unsafe { atomic::accumulate(self.op, self.basic, mine, there, old, count) };
        if count * self.basic.size() < self.rule.many_from || !self.rule.is_fenced {
            return few(&self.rule, atomically);
        }
        let all = self.rule.controls;
        self.alone(|| {
            all[self.rule.target as usize].with_many(all, fence_everywhere, |is_alone| match is_alone {
                // SAFETY: as above.
                true => unsafe { self.combine_here(there, mine, old, count) },
                false => atomically(),
            });
        });
    }

    /// Combines elements in copies of the target's, while nobody else combines any there.
    fn combine_copies(&self, place: &TargetElements, mine: *mut u8, old: *mut u8) -> RmaOutcome {
        let (copies, shaped) = ContiguousElements::room(self.basic, place.bytes());
        place.read(&shaped, 0..place.bytes())?;
        // SAFETY: the copies are as many as the target's elements, and so are those here.
        unsafe { self.combine_here(copies.address(), mine, old, place.bytes() / self.basic.size()) };
        if self.op == PredefinedOp::NoOp { Ok(()) } else { place.write(&shaped, 0..place.bytes()) }
    }

    fn alone<T>(&self, work: impl FnOnce() -> T) -> T {
        self.rule.controls[self.rule.target as usize].alone(self.rule.me, work)
    }

    /// # Safety
    /// `count` elements are at `there`, at `mine` unless the operation is no operation, and at `old` unless that is null.
    unsafe fn combine_here(&self, there: *mut u8, mine: *mut u8, old: *mut u8, count: usize) {
        // SAFETY: by the caller.
        unsafe {
            if !old.is_null() {
                std::ptr::copy(there, old, count * self.basic.extent());
            }
            if self.op != PredefinedOp::NoOp {
                reduce(self.op, self.basic, mine, there, count);
            }
        }
    }

    /// Puts `mine` there if `compared` is there; what was there goes to `old`. Under the lock: whatever atomic instructions can swap, the
    /// usual way has swapped.
    pub(super) fn swap_if_equal(
        &self,
        place: &TargetElements,
        mine: &UserBuf,
        compared: &UserBuf,
        old: &UserBuf,
    ) -> RmaOutcome {
        self.alone(|| {
            place.read(old, 0..place.bytes())?;
            let (mut found, mut wanted) = (vec![0; old.len()], vec![0; old.len()]);
            old.read(0, &mut found);
            compared.read(0, &mut wanted);
            if found == wanted { place.write(mine, 0..place.bytes()) } else { Ok(()) }
        })
    }
}
