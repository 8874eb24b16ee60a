//! Taking the lock of a target whose words are mapped here, and waiting on such words.

use super::control::{LockKind, LockWaits, WindowControl};
use super::object::Window;
use crate::core::process::{LockGuard, Process, enter};
use crate::core::wait::{self, WaitEvent, Waiting};
use crate::limits::{WINDOW_LOOK, WINDOW_LOOK_UNRUNG};
use std::time::Duration;
use tern_abi::*;
use tern_transport::Doorbell;

/// Takes the lock of a target.
pub(super) fn take_lock(
    mut process: LockGuard,
    win: MPI_Win,
    call: &'static str,
    target: u32,
    kind: LockKind,
) {
    let Ok(window) = process.window(win) else { return };
    let (control, me) = (&window.controls[target as usize], window.me);
    let ticket = control.ticket();
    if !control.enter(ticket, kind, me) {
        let controls = window.controls.clone();
        process = wait_for_lock(process, win, call, (&controls[target as usize], target), (ticket, kind));
    }
    // Another reader may wait behind this one.
    if let (LockKind::Shared, Ok(window)) = (kind, process.window(win)) {
        wake_waiters(&process, window, target);
    }
}

#[cold]
fn wait_for_lock(
    process: LockGuard,
    win: MPI_Win,
    call: &'static str,
    (control, target): (&WindowControl, u32),
    (ticket, kind): (u64, LockKind),
) -> LockGuard {
    let me = process.window(win).map_or(0, |window| window.me);
    control.waits(me, LockWaits::Itself, true);
    let missing = || match control.holder() {
        Some(holder) => format!("for the lock of rank {target}, which rank {holder} holds"),
        None => format!("for the lock of rank {target}"),
    };
    wait_on(process, win, call, || control.enter(ticket, kind, me), missing);
    control.waits(me, LockWaits::Itself, false);
    enter()
}

/// Wakes whoever waits for the lock of a target, which has just been entered or left.
#[inline]
pub(super) fn wake_waiters(process: &Process, window: &Window, target: u32) {
    process.ring(window, window.controls[target as usize].waiters());
}

/// Waits until a look at the shared words finds what it wants; `missing` says what that is.
pub(super) fn wait_on(
    process: LockGuard,
    win: MPI_Win,
    call: &'static str,
    look: impl FnMut() -> bool,
    missing: impl Fn() -> String,
) {
    let is_rung = process.engine_ref().is_some_and(|engine| {
        let fabric = engine.transport_ref();
        !fabric.is_networked() || fabric.has_local_ranks()
    });
    wait::until_event(process, OnWords { win, call, look, missing, is_rung });
}

/// What the words of a window bring about.
struct OnWords<L, M> {
    win: MPI_Win,
    call: &'static str,
    look: L,
    missing: M,
    /// The other ranks can wake this one.
    is_rung: bool,
}

impl<L: FnMut() -> bool, M: Fn() -> String> WaitEvent for OnWords<L, M> {
    type News = ();

    fn waiting(&self, process: &Process) -> Waiting {
        let window = process.window(self.win).map_or_else(|_| String::new(), Window::described);
        Waiting { detail: format!("on {window}, {}", (self.missing)()), ..Waiting::on(self.call) }
    }

    fn look(&mut self, _: &mut Process) -> Option<()> {
        (self.look)().then_some(())
    }

    fn sleep(&self, bell: &dyn Doorbell, armed: u32, timeout: Option<Duration>) {
        let look = if self.is_rung { WINDOW_LOOK } else { WINDOW_LOOK_UNRUNG };
        bell.sleep(armed, Some(timeout.map_or(look, |timeout| timeout.min(look))));
    }
}
