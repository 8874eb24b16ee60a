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
    if control.enter_at_once(&window.controls, kind, me) {
        return;
    }
    let ticket = control.ticket(kind);
    if !control.enter(&window.controls, ticket, kind, me) {
        let controls = window.controls.clone();
        process = wait_for_lock(process, win, call, (&controls, target), (ticket, kind));
    }
    // Another reader may wait behind this one.
    if let (LockKind::Shared | LockKind::All(_), Ok(window)) = (kind, process.window(win)) {
        wake_waiters(&process, window, target);
    }
}

#[cold]
fn wait_for_lock(
    process: LockGuard,
    win: MPI_Win,
    call: &'static str,
    (all, target): (&[WindowControl], u32),
    (ticket, kind): (u64, LockKind),
) -> LockGuard {
    let control = &all[target as usize];
    let me = process.window(win).map_or(0, |window| window.me);
    control.waits(me, LockWaits::Itself, true);
    let missing = || match control.holder() {
        Some(holder) => format!("for the lock of rank {target}, which rank {holder} holds"),
        None => match all.iter().position(WindowControl::has_all) {
            Some(holder) => {
                format!("for the lock of rank {target}, which rank {holder} holds by MPI_Win_lock_all")
            }
            None => format!("for the lock of rank {target}"),
        },
    };
    wait_on(process, win, call, || control.enter(all, ticket, kind, me), missing);
    control.waits(me, LockWaits::Itself, false);
    enter()
}

/// Wakes whoever waits for any lock of this host, after a rank has left those of all.
#[cold]
#[inline(never)]
pub(super) fn wake_all_later(process: &Process, win: MPI_Win) {
    let Ok(window) = process.window(win) else { return };
    let near = (0..window.size()).filter(|target| !window.is_far(*target));
    near.for_each(|target| wake_waiters(process, window, target));
}

/// As [`wake_waiters`], of a call that seldom has to.
#[cold]
#[inline(never)]
pub(super) fn wake_later(process: &Process, win: MPI_Win, target: u32) {
    if let Ok(window) = process.window(win) {
        wake_waiters(process, window, target);
    }
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

    const BY_MEMORY: bool = true;

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
