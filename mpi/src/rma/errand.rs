//! Errands in windows on the program's own memory: a rank that waits in a call copies a few bytes from or to its memory for another one,
//! which otherwise would ask the kernel (`tern_shm::errand`). The kernel takes longer, and needs nothing from the target.

use super::control::WindowControl;
use crate::limits::{ERRANDS_SKIPPED_MAX, ERRANDS_SKIPPED_MIN};
use std::sync::Arc;
use tern_mem::ExposedMemory;
use tern_shm::errand::{Errand, ErrandBytes};

/// This rank's part of a window, in which it does errands.
#[derive(Debug)]
pub struct ErrandOwner {
    /// The words of the window's ranks.
    pub controls: Arc<[WindowControl]>,
    /// This one.
    pub me: u32,
    /// Its memory.
    pub memory: ExposedMemory,
}

impl ErrandOwner {
    /// Does what somebody asks for; whether anybody did.
    #[inline(always)]
    pub fn serve(&self) -> bool {
        self.controls[self.me as usize].errand().serve(|errand, bytes| self.copy(errand, bytes))
    }

    fn copy(&self, Errand { at, len, writes }: Errand, bytes: &mut ErrandBytes) -> bool {
        let Some(there) = self.memory.contiguous(at, len as u64) else { return false };
        match writes {
            true => there.write(0, &bytes[..len]),
            false => there.read(0, &mut bytes[..len]),
        }
        true
    }
}

/// Whether to send others on errands: after one that nobody took up, the kernel is asked for a while, twice as long each time.
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrandHabit {
    /// Accesses for which it is still asked.
    skips: u32,
    /// For how many it was asked last.
    skipped: u32,
}

impl ErrandHabit {
    /// Whether the next access is worth an errand.
    #[inline]
    pub fn is_worth_it(&mut self) -> bool {
        let is_worth_it = self.skips == 0;
        self.skips = self.skips.saturating_sub(1);
        is_worth_it
    }

    /// One was done, or not.
    #[inline]
    pub fn learn(&mut self, is_done: bool) {
        self.skipped =
            if is_done { 0 } else { (2 * self.skipped).clamp(ERRANDS_SKIPPED_MIN, ERRANDS_SKIPPED_MAX) };
        self.skips = self.skipped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_no_errands_is_asked_less_and_less() {
        let mut habit = ErrandHabit::default();
        let mut asked = 0;
        for _ in 0..100 * ERRANDS_SKIPPED_MAX {
            if habit.is_worth_it() {
                asked += 1;
                habit.learn(false);
            }
        }
        assert!((100..120).contains(&asked), "{asked}");
        while !habit.is_worth_it() {}
        habit.learn(true);
        assert!(habit.is_worth_it());
    }
}
