//! Put and get (MPI 5.0 sections 12.3.1 and 12.3.2). Those that no message carries are done when the call returns.

use super::by_owner::ask_owner;
use super::call::{At, Origin, RmaAccess, RmaCall};
use super::errand::ErrandAction;
use super::far;
use super::place::TargetElements;
use super::staged::move_near;
use super::watch;
use crate::core::arguments::{buffer, contiguous};
use crate::core::boundary::{ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::process::{LockGuard, Process, enter, enter_at_once};
use crate::limits::SHORT_TRANSFER_BYTES_MAX;
use crate::p2p::request::handle_of;
use std::ffi::c_int;
use tern_abi::*;
use tern_engine::RequestId;
use tern_mem::ContiguousBuf;
use tern_shm::errand::ERRAND_BYTES_MAX;

entry! {
    /// Writes to a rank's memory.
    safe fn MPI_Put, MPI_Put_c<W>(
        origin_addr: ChoiceBuf, origin_count: W::Count, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, win: MPI_Win,
    ) on win {
        let origin = Origin(origin_addr, origin_count.into(), origin_datatype);
        let target = At(target_rank, target_disp, target_count.into(), target_datatype);
        transfer(win, origin, target, RmaCall::Put)
    }

    /// Reads from a rank's memory.
    safe fn MPI_Get, MPI_Get_c<W>(
        origin_addr: ChoiceBufMut, origin_count: W::Count, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, win: MPI_Win,
    ) on win {
        let origin = Origin(origin_addr.into(), origin_count.into(), origin_datatype);
        let target = At(target_rank, target_disp, target_count.into(), target_datatype);
        transfer(win, origin, target, RmaCall::Get)
    }

    /// [`MPI_Put`] as a request (section 12.3.5).
    safe fn MPI_Rput, MPI_Rput_c<W>(
        origin_addr: ChoiceBuf, origin_count: W::Count, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, win: MPI_Win,
        request: Out<'_, MPI_Request>,
    ) on win {
        let origin = Origin(origin_addr, origin_count.into(), origin_datatype);
        let target = At(target_rank, target_disp, target_count.into(), target_datatype);
        request.set(transfer_by_request(win, origin, target, RmaCall::Rput)?);
        Ok(())
    }

    /// Gets elements of a target as `MPI_Get` does, as a request.
    safe fn MPI_Rget, MPI_Rget_c<W>(
        origin_addr: ChoiceBufMut, origin_count: W::Count, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, win: MPI_Win,
        request: Out<'_, MPI_Request>,
    ) on win {
        let origin = Origin(origin_addr.into(), origin_count.into(), origin_datatype);
        let target = At(target_rank, target_disp, target_count.into(), target_datatype);
        request.set(transfer_by_request(win, origin, target, RmaCall::Rget)?);
        Ok(())
    }
}

/// Makes an access, and a request of what is done or goes on.
pub(super) fn done(
    win: MPI_Win,
    access: &RmaAccess,
    work: impl FnOnce(&mut LockGuard) -> Result<Option<RequestId>>,
) -> Result<MPI_Request> {
    let id = watch::perform(enter(), win, access, work)?;
    Ok(handle_of(id.unwrap_or(RequestId::COMPLETED)))
}

/// Whether a target is locked, as calls that give a request need it; false also if it is not known on the short way.
#[inline(always)]
pub(super) fn may_ask(win: MPI_Win, rank: c_int) -> bool {
    let Some(mut process) = enter_at_once() else { return false };
    process.usual_window(win).is_some_and(|window| {
        window.epoch.is_locked(rank as u32) && rank >= 0 && (rank as u32) < window.size()
    })
}

/// A transfer that gives a request.
#[inline(always)]
fn transfer_by_request(win: MPI_Win, origin: Origin, at: At, call: RmaCall) -> Result<MPI_Request> {
    if may_ask(win, at.0)
        && (move_short(win, origin, at, call)
            || alike(origin, at)
                .is_some_and(|local| move_by_owner(&mut enter(), win, local, (at.0, at.1), call)))
    {
        return Ok(handle_of(RequestId::COMPLETED));
    }
    let access = RmaAccess::plain(call, origin, at);
    done(win, &access, |process| move_bytes(process, win, origin, at, call))
}

#[inline(always)]
fn transfer(win: MPI_Win, origin: Origin, at: At, call: RmaCall) -> Result {
    if move_short(win, origin, at, call) {
        return Ok(());
    }
    let (Origin(address, count, datatype), At(rank, displacement, there, target_type)) = (origin, at);
    transfer_longer(win, (address, count), (datatype, target_type), (rank, displacement), there, call)
}

/// Any other transfer. (Arguments in pairs stay in registers, where the short way leaves them.)
#[inline(never)]
fn transfer_longer(
    win: MPI_Win,
    (address, count): (ChoiceBuf, i64),
    (datatype, target_type): (MPI_Datatype, MPI_Datatype),
    (rank, displacement): (c_int, MPI_Aint),
    there: i64,
    call: RmaCall,
) -> Result {
    let (origin, at) = (Origin(address, count, datatype), At(rank, displacement, there, target_type));
    let mut process = enter();
    if let Some(local) = alike(origin, at)
        && (move_as_usual(&mut process, win, local, (rank, displacement), call)
            || move_by_owner(&mut process, win, local, (rank, displacement), call))
    {
        return Ok(());
    }
    let access = RmaAccess::plain(call, origin, at);
    watch::perform(process, win, &access, |process| move_bytes(process, win, origin, at, call)).map(drop)
}

/// The shortest way: a few bytes without gaps, and one thread; whether it was so. If not, nothing has happened.
#[inline(always)]
fn move_short(win: MPI_Win, origin: Origin, at: At, call: RmaCall) -> bool {
    let Some(local) = alike(origin, at).filter(|local| local.len() <= SHORT_TRANSFER_BYTES_MAX) else {
        return false;
    };
    let Some(mut process) = enter_at_once() else { return false };
    move_as_usual(&mut process, win, local, (at.0, at.1), call)
}

/// The buffer here, if both are without gaps and of the same elements.
#[inline(always)]
fn alike(
    Origin(address, count, datatype): Origin,
    At(_, _, there, target_type): At,
) -> Option<ContiguousBuf> {
    if there != count || target_type != datatype {
        return None;
    }
    contiguous(address, count, datatype)
}

/// The transfer, where everything is as usual; whether it was so. If not, nothing has happened.
#[inline(always)]
fn move_as_usual(
    process: &mut Process,
    win: MPI_Win,
    local: ContiguousBuf,
    (rank, displacement): (c_int, MPI_Aint),
    call: RmaCall,
) -> bool {
    let Some(window) = process.usual_window(win) else { return false };
    let Some(place) = window.usual_place(rank, displacement, local.len()) else { return false };
    if call.is_get() {
        // SAFETY: the place has as many bytes, and the program follows the rules of the window.
        unsafe { local.write_from(place, local.len()) };
    } else {
        window.has_stored = true;
        // SAFETY: as above.
        unsafe { local.read_to(place) };
    }
    true
}

/// The transfer of a few bytes of memory that the kernel would copy, by its owner, if that waits in a call; whether it was so. If not,
/// nothing has happened.
#[inline]
fn move_by_owner(
    process: &mut Process,
    win: MPI_Win,
    local: ContiguousBuf,
    (rank, displacement): (c_int, MPI_Aint),
    call: RmaCall,
) -> bool {
    let (mut bytes, action) =
        ([0; ERRAND_BYTES_MAX], if call.is_get() { ErrandAction::Read } else { ErrandAction::Write });
    if local.len() > ERRAND_BYTES_MAX {
        return false;
    }
    if !call.is_get() {
        // SAFETY: an errand has no more bytes.
        unsafe { local.read_to(bytes.as_mut_ptr()) };
    }
    let is_done = ask_owner(process, win, (rank, displacement, local.len()), action, &mut bytes);
    if is_done && call.is_get() {
        // SAFETY: as above.
        unsafe { local.write_from(bytes.as_mut_ptr(), local.len()) };
    }
    is_done
}

fn move_bytes(
    process: &mut LockGuard,
    win: MPI_Win,
    origin: Origin,
    at: At,
    call: RmaCall,
) -> Result<Option<RequestId>> {
    let At(rank, ..) = at;
    let Some(target) = process.window(win)?.target(rank)? else { return Ok(None) };
    let local = buffer(process, origin.0, origin.1, origin.2)?;
    open(process, win, target, call)?;
    let place = TargetElements::of(process, win, target, at)?;
    if local.len() != place.bytes() {
        return Err(differ(local.len(), &place, at));
    }
    process.window_mut(win)?.epoch.access(target);
    if let Some(there) = place.far().filter(|_| !local.is_empty()) {
        let (engine, asked) = (process.engine()?, call.is_request());
        return far::begun(match call.is_get() {
            true => engine.get_from(there, &local, asked),
            false => engine.put_to(there, &local, asked),
        });
    }
    let action = if call.is_get() { ErrandAction::Read } else { ErrandAction::Write };
    if !call.is_get() {
        process.window_mut(win)?.has_stored = true;
    }
    let moved = move_near(process, (win, target), &place, &local, action);
    moved.map(|()| None).map_err(|error| place.refused(error, at))
}

/// Refuses a transfer outside an epoch.
#[inline]
pub(super) fn open(process: &Process, win: MPI_Win, target: u32, call: RmaCall) -> Result {
    let epoch = &process.window(win)?.epoch;
    if call.is_request() { epoch.passive(target) } else { epoch.may_access(target) }
}

#[cold]
pub(super) fn differ(here: usize, place: &TargetElements, At(rank, displacement, ..): At) -> Box<Error> {
    fail(
        MPI_ERR_TYPE,
        format!(
            "the origin's buffer has {here} bytes, but what is named at displacement {displacement} of rank {rank} has {}: both must \
             have the same",
            place.bytes()
        ),
    )
}
