//! Many bytes of memory that the kernel would copy, by both ranks: the owner copies between its memory and a stage, which the ranks share,
//! as errands (`errand.rs`). The origin copies between its buffer and the stage. Each part is an errand of its own, so an owner that no
//! longer waits in a call ends it, and the kernel does the rest. Both copy at the same time, each in another half of the stage.

use super::by_owner::wake_owner;
use super::control::WindowControl;
use super::errand::{ErrandAction, ErrandOwner, StageHalf, StageUse};
use super::object::{MemoryRoute, Window, Windows};
use super::place::TargetElements;
use crate::core::process::Process;
use crate::limits::{
    ERRAND_LOOKS_MAX, KERNEL_ACCESS_BYTES, KERNEL_PIECE_BYTES, KERNEL_PIECE_BYTES_WAKING, MEASURED_BYTES_MIN,
    STAGE_HALF_BYTES, STAGE_PART_BYTES_MIN, STAGE_PARTS_MIN, STAGED_BYTES_PER_LOOK,
};
use std::ops::Range;
use std::time::Instant;
use tern_abi::MPI_Win;
use tern_mem::UserBuf;
use tern_shm::errand::{ERRAND_BYTES_MAX, ErrandClaim};
use tern_transport::TransferError;

/// Reads or writes elements that are mapped here, or that the kernel copies, unless their owner does.
pub(super) fn move_near(
    process: &mut Process,
    (win, target): (MPI_Win, u32),
    there: &TargetElements,
    local: &UserBuf,
    action: ErrandAction,
) -> Result<(), TransferError> {
    let (bytes, mut done) = (there.bytes(), 0);
    let is_stageable = there.run_by_kernel().is_some();
    while done < bytes {
        let mut most = bytes;
        if is_stageable {
            done += go_by_stage(process, (win, target), (there, done), local, (action, 1));
            if done == bytes {
                break;
            }
            most = bytes_by_kernel(process, win, target);
        }
        let range = done..bytes.min(done.saturating_add(most));
        done = range.end;
        match action {
            ErrandAction::Read => there.read(local, range)?,
            _ => there.write(local, range)?,
        }
    }
    Ok(())
}

/// How many bytes the kernel is to copy before the owner is asked again. Whoever has just been woken waits for errands for a moment only.
fn bytes_by_kernel(process: &Process, win: MPI_Win, target: u32) -> usize {
    let window = process.objects.windows.all.find(win.0);
    let is_waking = window.is_some_and(|window| window.errands[target as usize].is_rung());
    if is_waking { KERNEL_PIECE_BYTES_WAKING } else { KERNEL_PIECE_BYTES }
}

/// Combines elements in memory that the kernel copies, unless their owner does, which needs whole ones and nothing back. `by_copies` does
/// it for some of the bytes.
pub(super) fn combine_near(
    process: &mut Process,
    (win, target): (MPI_Win, u32),
    there: &TargetElements,
    local: Option<&UserBuf>,
    (action, unit): (ErrandAction, usize),
    mut by_copies: impl FnMut(&Process, Range<usize>) -> Result<(), TransferError>,
) -> Result<(), TransferError> {
    let (bytes, mut done) = (there.bytes(), 0);
    let local = local.filter(|_| there.run_by_kernel().is_some());
    while done < bytes {
        let mut most = bytes;
        if let Some(local) = local {
            done += alone_by_stage(process, (win, target), (there, done), local, (action, unit));
            if done == bytes {
                break;
            }
            most = bytes_by_kernel(process, win, target);
        }
        let range = done..bytes.min(done.saturating_add(most - most % unit));
        done = range.end;
        by_copies(process, range)?;
    }
    Ok(())
}

/// As [`go_by_stage`], while nobody else combines elements there.
fn alone_by_stage(
    process: &mut Process,
    (win, target): (MPI_Win, u32),
    from: (&TargetElements, usize),
    local: &UserBuf,
    what: (ErrandAction, usize),
) -> usize {
    let Some(window) = process.objects.windows.all.find(win.0) else { return 0 };
    let (me, controls) = (window.me, window.controls.clone());
    controls[target as usize].alone(me, || go_by_stage(process, (win, target), from, local, what))
}

/// How many bytes have gone by way of the stage, from byte `done` on: none if the target's owner waits in no call. `unit` bytes belong
/// together.
fn go_by_stage(
    process: &mut Process,
    (win, target): (MPI_Win, u32),
    (there, done): (&TargetElements, usize),
    local: &UserBuf,
    (action, unit): (ErrandAction, usize),
) -> usize {
    let is_oversubscribed = process.waiting.oversubscribed;
    let Windows { all, errands, .. } = &mut process.objects.windows;
    let Some(window) = all.find_mut(win.0).filter(|_| !is_oversubscribed) else { return 0 };
    let Some(at) = offset_of(window, target, there) else { return 0 };
    let bytes = there.bytes() - done;
    let weight = bytes.div_ceil(KERNEL_ACCESS_BYTES).min(u32::MAX as usize) as u32;
    let (control, habit) = (&window.controls[target as usize], &mut window.errands[target as usize]);
    if !habit.is_worth_it(weight, control) {
        return 0;
    }
    // Somebody else may have the line: that says nothing of the owner.
    let Some(mut claim) = control.errand().claim() else { return 0 };
    let began = (bytes >= MEASURED_BYTES_MIN).then(Instant::now);
    let past_cache = habit.goes_past_cache(action, began.is_some());
    let transfer =
        StagedTransfer { control, local, at, done, action, bytes, part: part_of(bytes, unit), past_cache };
    let moved = transfer.go(&mut claim, errands);
    drop(claim);
    if moved < bytes {
        wake_owner(process, win, target);
        return moved;
    }
    habit.learn_done();
    if let Some(began) = began {
        habit.learn_time(action, transfer.past_cache, bytes, began.elapsed());
    }
    moved
}

/// Where in the target's memory elements begin that its owner can move, if they are such.
fn offset_of(window: &Window, target: u32, there: &TargetElements) -> Option<u64> {
    let MemoryRoute::Kernel { base, .. } = window.targets[target as usize].route else { return None };
    let at = there.run_by_kernel()?.checked_sub(base)?;
    (window.watch.is_none() && !window.is_dynamic()).then_some(at)
}

/// Bytes of each part but the last.
fn part_of(bytes: usize, unit: usize) -> usize {
    let part = bytes.div_ceil(STAGE_PARTS_MIN).clamp(STAGE_PART_BYTES_MIN, STAGE_HALF_BYTES);
    part - part % unit
}

struct StagedTransfer<'a> {
    control: &'a WindowControl,
    local: &'a UserBuf,
    /// Where the target's elements are in its memory, and how many bytes of them have gone before.
    at: u64,
    done: usize,
    action: ErrandAction,
    /// How many are to go, and of each part.
    bytes: usize,
    part: usize,
    /// How the stage is filled.
    past_cache: bool,
}

impl StagedTransfer<'_> {
    fn is_get(&self) -> bool {
        self.action == ErrandAction::Read
    }

    fn go(&self, claim: &mut ErrandClaim<'_>, own: &[(MPI_Win, ErrandOwner)]) -> usize {
        let parts = self.bytes.div_ceil(self.part);
        if !self.is_get() {
            self.copy(0);
        }
        for number in 0..parts {
            if !self.ask(number, claim, own) {
                return number * self.part;
            }
        }
        if self.is_get() {
            self.copy(parts - 1);
        }
        self.bytes
    }

    /// Asks for a part, and copies the one before or behind it meanwhile. Whether the owner took it up.
    fn ask(&self, number: usize, claim: &mut ErrandClaim<'_>, own: &[(MPI_Win, ErrandOwner)]) -> bool {
        let (start, len) = self.range(number);
        let errand = self.action.staged(self.at + (self.done + start) as u64, len, self.stage_of(number));
        let mut other = if self.is_get() { number.checked_sub(1) } else { Some(number + 1) };
        let (mut looks, looks_max) = (0, self.looks_max(number));
        let is_done = claim.ask(errand, &mut [0; ERRAND_BYTES_MAX], || {
            if let Some(other) = other.take() {
                self.copy(other);
                return true;
            }
            looks += 1;
            // The other may have asked this rank for something, too.
            own.iter().for_each(|(_, owner)| _ = owner.serve());
            looks < looks_max
        });
        if let Some(other) = other {
            self.copy(other);
        }
        is_done
    }

    /// How long to wait for an owner. One that has taken up a part will go on soon, unless it is interrupted: it gets a part of the time
    /// that the kernel would take for what is left.
    fn looks_max(&self, number: usize) -> u32 {
        let left = if number == 0 { 0 } else { self.bytes - self.range(number).0 };
        ERRAND_LOOKS_MAX + (left.min(KERNEL_PIECE_BYTES) / STAGED_BYTES_PER_LOOK) as u32
    }

    /// How a part goes by the stage.
    fn stage_of(&self, number: usize) -> StageUse {
        StageUse { half: StageHalf::of(number), past_cache: self.past_cache }
    }

    fn range(&self, number: usize) -> (usize, usize) {
        let start = (number * self.part).min(self.bytes);
        (start, self.part.min(self.bytes - start))
    }

    /// Copies a part between the buffer here and its half of the stage. Behind the last part there is nothing to copy.
    fn copy(&self, number: usize) {
        let ((start, len), stage) = (self.range(number), self.stage_of(number));
        let staged = self.control.stage(stage.half, len);
        let staged = staged.expect("a part is no longer than a half of the stage");
        match self.is_get() {
            true => UserBuf::copy_between_cores(&staged, 0, self.local, self.done + start, len),
            false => stage.fill(&staged, self.local, self.done + start),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_and_fit() {
        for (bytes, unit) in [(41, 1), (1 << 20, 16), (100_000, 12), (4097, 1), (usize::MAX / 8, 24)] {
            let part = part_of(bytes, unit);
            assert!(
                part > 0 && part <= STAGE_HALF_BYTES && part.is_multiple_of(unit),
                "{bytes} {unit}: {part}"
            );
        }
    }
}
