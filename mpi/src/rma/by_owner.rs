//! Asking the owner of memory that the kernel copies for an access: see `errand.rs`.

use super::errand::ErrandAction;
use super::object::Windows;
use crate::core::process::Process;
use crate::limits::ERRAND_LOOKS_MAX;
use std::ffi::c_int;
use tern_abi::*;
use tern_mem::UserBuf;
use tern_shm::errand::{ERRAND_BYTES_MAX, ErrandBytes};

/// Asks the owner of memory that the kernel copies for an access, if it waits in a call; whether it was done. If not, nothing has happened.
#[inline]
pub(super) fn ask_owner(
    process: &mut Process,
    win: MPI_Win,
    (rank, displacement, len): (c_int, MPI_Aint, usize),
    action: ErrandAction,
    bytes: &mut ErrandBytes,
) -> bool {
    if process.waiting.oversubscribed {
        return false;
    }
    let Windows { all, errands, .. } = &mut process.objects.windows;
    let Some(window) = all.find_mut(win.0) else { return false };
    let Some(errand) = window.errand_for(rank, displacement, len, action) else { return false };
    let (control, habit) = (&window.controls[rank as usize], &mut window.errands[rank as usize]);
    if !habit.is_worth_it(1, control) {
        return false;
    }
    let mut looks = 0;
    let mut ask = || {
        control.errand().ask(errand, bytes, || {
            looks += 1;
            // The other may have asked this rank for something, too.
            errands.iter().for_each(|(_, owner)| _ = owner.serve());
            looks < ERRAND_LOOKS_MAX
        })
    };
    let is_done = match action {
        ErrandAction::Read | ErrandAction::Write => ask(),
        ErrandAction::Swap | ErrandAction::Combine { .. } => control.alone(window.me, ask),
    };
    match is_done {
        true => habit.learn_done(),
        false => wake_owner(process, win, rank as u32),
    }
    is_done
}

/// An owner has taken up no errand: if it sleeps in a call, it is woken, as others may follow.
#[cold]
pub(super) fn wake_owner(process: &mut Process, win: MPI_Win, rank: u32) {
    let Some(window) = process.objects.windows.all.find(win.0) else { return };
    window.controls[rank as usize].want();
    let is_rung = process.ring(window, [rank]);
    if let Some(window) = process.usual_window(win) {
        window.errands[rank as usize].learn_undone(is_rung);
    }
}

/// The same for elements: `from` is what goes to the owner, and what was there comes to `into`.
pub(super) fn combine_by_owner(
    process: &mut Process,
    win: MPI_Win,
    (rank, displacement): (c_int, MPI_Aint),
    action: ErrandAction,
    from: &[&UserBuf],
    into: Option<&UserBuf>,
) -> bool {
    let Some(len) = from.first().copied().or(into).map(UserBuf::len) else { return false };
    let (mut bytes, mut filled) = ([0; ERRAND_BYTES_MAX], 0);
    for part in from {
        let Some(room) = bytes.get_mut(filled..filled + part.len()) else { return false };
        part.read(0, room);
        filled += part.len();
    }
    let is_done = ask_owner(process, win, (rank, displacement, len), action, &mut bytes);
    if let (true, Some(into)) = (is_done, into) {
        into.write(0, &bytes[..into.len()]);
    }
    is_done
}
