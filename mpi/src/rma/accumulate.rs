//! Accumulation, fetch-and-op, compare-and-swap (MPI 5.0 sections 12.3.3 and 12.3.4): atomic for each element of a predefined type, by
//! the rule in `elements.rs`.

use super::by_owner::combine_by_owner;
use super::call::{At, Origin, RmaAccess, RmaCall};
use super::contiguous::ContiguousElements;
use super::elements::{RmaElements, Rule, few, few_short};
use super::errand::ErrandAction;
use super::far;
use super::object::Window;
use super::place::TargetElements;
use super::staged::combine_near;
use super::transfer::{differ, done, may_ask, open};
use super::watch;
use crate::core::arguments::{buffer, contiguous_buffer, is_no_address};
use crate::core::boundary::{ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::{LockGuard, Process, enter, enter_at_once};
use crate::p2p::request::handle_of;
use std::ffi::c_int;
use std::ptr::null_mut;
use tern_abi::*;
use tern_engine::RequestId;
use tern_engine::rma::Combination;
use tern_mem::op::single::{self, SingleElement};
use tern_mem::op::{PredefinedOp, atomic};
use tern_mem::{Basic, UserBuf};

entry! {
    /// Combines elements with those at a target.
    safe fn MPI_Accumulate, MPI_Accumulate_c<W>(
        origin_addr: ChoiceBuf, origin_count: W::Count, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, op: MPI_Op,
        win: MPI_Win,
    ) on win {
        let origin = Origin(origin_addr, origin_count.into(), origin_datatype);
        let at = At(target_rank, target_disp, target_count.into(), target_datatype);
        if combine_single(win, origin, null_mut(), at, op) {
            return Ok(());
        }
        let Origin(address, count, datatype) = origin;
        let types = (datatype, at.3);
        accumulate_longer(win, (address, op), (count, at.2), types, (at.0, at.1))
    }

    /// [`MPI_Accumulate`] as a request (section 12.3.5).
    safe fn MPI_Raccumulate, MPI_Raccumulate_c<W>(
        origin_addr: ChoiceBuf, origin_count: W::Count, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, op: MPI_Op,
        win: MPI_Win, request: Out<'_, MPI_Request>,
    ) on win {
        let origin = Origin(origin_addr, origin_count.into(), origin_datatype);
        let at = At(target_rank, target_disp, target_count.into(), target_datatype);
        if may_ask(win, target_rank) && combine_single(win, origin, null_mut(), at, op) {
            request.set(handle_of(RequestId::COMPLETED));
            return Ok(());
        }
        let access = RmaAccess::combining(RmaCall::Raccumulate, Some(origin), None, at, op);
        request.set(done(win, &access, |process| combine(process, win, &access))?);
        Ok(())
    }

    /// Combines elements with those of a target, and gets what was there before.
    safe fn MPI_Get_accumulate, MPI_Get_accumulate_c<W>(
        origin_addr: ChoiceBuf, origin_count: W::Count, origin_datatype: MPI_Datatype,
        result_addr: ChoiceBufMut, result_count: W::Count, result_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, op: MPI_Op,
        win: MPI_Win,
    ) on win {
        let origin = Origin(origin_addr, origin_count.into(), origin_datatype);
        let result = Origin(result_addr.into(), result_count.into(), result_datatype);
        let at = At(target_rank, target_disp, target_count.into(), target_datatype);
        if get_single(win, (origin, result), at, op) {
            return Ok(());
        }
        get_longer(win, RmaCall::GetAccumulate, (origin, result), at, op)
    }

    /// [`MPI_Get_accumulate`] as a request.
    safe fn MPI_Rget_accumulate, MPI_Rget_accumulate_c<W>(
        origin_addr: ChoiceBuf, origin_count: W::Count, origin_datatype: MPI_Datatype,
        result_addr: ChoiceBufMut, result_count: W::Count, result_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, op: MPI_Op,
        win: MPI_Win, request: Out<'_, MPI_Request>,
    ) on win {
        let origin = Origin(origin_addr, origin_count.into(), origin_datatype);
        let result = Origin(result_addr.into(), result_count.into(), result_datatype);
        let at = At(target_rank, target_disp, target_count.into(), target_datatype);
        if may_ask(win, target_rank) && get_single(win, (origin, result), at, op) {
            request.set(handle_of(RequestId::COMPLETED));
            return Ok(());
        }
        let origin = (op != MPI_NO_OP).then_some(origin);
        let access = RmaAccess::combining(RmaCall::RgetAccumulate, origin, Some(result), at, op);
        request.set(done(win, &access, |process| combine(process, win, &access))?);
        Ok(())
    }

    /// Combines one element with that of a target, and gets what was there before.
    safe fn MPI_Fetch_and_op(
        origin_addr: ChoiceBuf, result_addr: ChoiceBufMut, datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, op: MPI_Op, win: MPI_Win,
    ) on win {
        let (origin, at) = (Origin(origin_addr, 1, datatype), At(target_rank, target_disp, 1, datatype));
        let into = result_addr.bytes();
        if !into.is_null() && combine_single(win, origin, into, at, op) {
            return Ok(());
        }
        fetch_longer(win, (origin_addr, result_addr), (datatype, op), (target_rank, target_disp))
    }

    /// One element that takes the place of another, if that is there.
    safe fn MPI_Compare_and_swap(
        origin_addr: ChoiceBuf, compare_addr: ChoiceBuf, result_addr: ChoiceBufMut,
        datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, win: MPI_Win,
    ) on win {
        let (buffers, at) = ([origin_addr, compare_addr, result_addr.into()], At(target_rank, target_disp, 1, datatype));
        if swap_single(win, buffers, at) {
            return Ok(());
        }
        swap_longer(win, (origin_addr, compare_addr), (result_addr.into(), datatype), (target_rank, target_disp))
    }
}

/// The short way of one element that an instruction combines, where everything else is as usual; whether it was so. If not, nothing has
/// happened. What was there goes to `old`, unless that is null.
#[inline(always)]
fn combine_single(
    win: MPI_Win,
    Origin(address, count, datatype): Origin,
    old: *mut u8,
    At(rank, displacement, there, target_type): At,
    op: MPI_Op,
) -> bool {
    let Some(single) = SingleElement::of(op.0, datatype.0) else { return false };
    if count != 1 || there != 1 || target_type != datatype {
        return false;
    }
    // Without an operation, there has to be a place for what was there (section 12.3.4).
    let lacks = if single.reads_only() { old.is_null() } else { is_no_address(address.address()) };
    if lacks {
        return false;
    }
    let Some(process) = enter_at_once() else { return false };
    let Some((window, place)) = place_of_single(&process, win, (rank, displacement), single.bytes()) else {
        return false;
    };
    few_short(window, rank as u32, || {
        // SAFETY: the place has the element, and the program vouches for those in its buffers.
        unsafe { single.combine(address.bytes(), place, old) };
    })
}

/// The same, and what was there before.
#[inline(always)]
fn get_single(win: MPI_Win, (origin, result): (Origin, Origin), at: At, op: MPI_Op) -> bool {
    let into = result.0.bytes();
    let is_alike = result.1 == at.2 && result.2 == at.3 && !into.is_null();
    is_alike && combine_single(win, if op == MPI_NO_OP { result } else { origin }, into, at, op)
}

/// The same of a comparison. The buffers are those of the call: new, compared, result.
#[inline(always)]
fn swap_single(win: MPI_Win, buffers: [ChoiceBuf; 3], At(rank, displacement, _, datatype): At) -> bool {
    let bytes = single::compared_bytes(datatype.0);
    if bytes == 0 || buffers.iter().any(|buffer| is_no_address(buffer.address())) {
        return false;
    }
    let [origin, compared, result] = buffers.map(ChoiceBuf::bytes);
    let Some(process) = enter_at_once() else { return false };
    let Some((window, place)) = place_of_single(&process, win, (rank, displacement), bytes) else {
        return false;
    };
    few_short(window, rank as u32, || {
        // SAFETY: the program vouches for an element in each of its buffers, and the place has one.
        unsafe { single::swap_single(bytes, origin, compared, place, result) };
    })
}

/// Where an element is that an instruction may combine: in a window whose elements are, in the usual place, at a multiple of its bytes.
#[inline(always)]
fn place_of_single(
    process: &Process,
    win: MPI_Win,
    (rank, displacement): (c_int, MPI_Aint),
    bytes: usize,
) -> Option<(&Window, *mut u8)> {
    let window = process.objects.windows.all.find(win.0)?;
    let place = window.usual_place(rank, displacement, bytes)?;
    (window.combines_singly && place.addr() & (bytes - 1) == 0).then_some((window, place))
}

/// Any other accumulation. (Arguments in pairs stay in registers, where the short way leaves them.)
#[inline(never)]
fn accumulate_longer(
    win: MPI_Win,
    (address, op): (ChoiceBuf, MPI_Op),
    (count, there): (i64, i64),
    (datatype, target_type): (MPI_Datatype, MPI_Datatype),
    (rank, displacement): (c_int, MPI_Aint),
) -> Result {
    let (origin, at) = (Origin(address, count, datatype), At(rank, displacement, there, target_type));
    let process = enter();
    if combine_as_usual(&process, win, origin, null_mut(), at, op) {
        return Ok(());
    }
    let access = RmaAccess::combining(RmaCall::Accumulate, Some(origin), None, at, op);
    watch::perform(process, win, &access, |process| combine(process, win, &access)).map(drop)
}

/// Any other get-accumulate, or fetch-and-op.
#[inline(never)]
fn get_longer(win: MPI_Win, call: RmaCall, (origin, result): (Origin, Origin), at: At, op: MPI_Op) -> Result {
    let process = enter();
    let is_alike = result.1 == at.2 && result.2 == at.3;
    let into = contiguous_buffer(result.0, result.1, result.2).filter(|_| is_alike);
    // Without an operation, nothing is said of the origin (section 12.3.4).
    let given = if op == MPI_NO_OP { result } else { origin };
    if into.is_some() && combine_as_usual(&process, win, given, result.0.bytes(), at, op) {
        return Ok(());
    }
    let origin = (op != MPI_NO_OP).then_some(origin);
    let access = RmaAccess::combining(call, origin, Some(result), at, op);
    watch::perform(process, win, &access, |process| combine(process, win, &access)).map(drop)
}

/// Any other fetch-and-op: a get-accumulate of one element. (Arguments in pairs stay in registers.)
#[inline(never)]
fn fetch_longer(
    win: MPI_Win,
    (address, result): (ChoiceBuf, ChoiceBufMut),
    (datatype, op): (MPI_Datatype, MPI_Op),
    (rank, displacement): (c_int, MPI_Aint),
) -> Result {
    expect_predefined(datatype)?;
    let one = |address: ChoiceBuf| Origin(address, 1, datatype);
    let at = At(rank, displacement, 1, datatype);
    get_longer(win, RmaCall::FetchAndOp, (one(address), one(result.into())), at, op)
}

/// Any other compare-and-swap.
#[inline(never)]
fn swap_longer(
    win: MPI_Win,
    (origin, compared): (ChoiceBuf, ChoiceBuf),
    (result, datatype): (ChoiceBuf, MPI_Datatype),
    (rank, displacement): (c_int, MPI_Aint),
) -> Result {
    let (basic, at) = (expect_comparable(datatype)?, At(rank, displacement, 1, datatype));
    let (process, buffers) = (enter(), [origin, compared, result]);
    if !buffers.iter().any(|buffer| buffer.is_null())
        && let Ok(window) = process.window(win)
        && !window.locks_elements()
        && let Some(place) = window.usual_place(rank, displacement, basic.size())
        && atomic::is_atomic(basic, place.addr())
    {
        swap_mapped(&Rule::of(window, rank as u32), basic, buffers, place);
        return Ok(());
    }
    let one = |address: ChoiceBuf| Some(Origin(address, 1, datatype));
    let access = RmaAccess {
        call: RmaCall::CompareAndSwap,
        from: one(origin),
        compared: one(compared),
        into: one(result),
        at,
        op: MPI_REPLACE,
    };
    watch::perform(process, win, &access, |process| swap(process, win, &access, basic)).map(drop)
}

/// Puts the element at `origin` in a place of the window's memory if that at `compared` is there; what was there goes to `result`.
fn swap_mapped(rule: &Rule<'_>, basic: Basic, buffers: [ChoiceBuf; 3], place: *mut u8) {
    let [origin, compared, result] = buffers.map(ChoiceBuf::bytes);
    // SAFETY: the program vouches for an element in each of its buffers, and the place has one.
    few(rule, || unsafe { atomic::compare_and_swap(basic, origin, compared, place, result) });
}

/// The same where elements of one predefined type are combined by atomic instructions, and everything else is as usual; whether it was
/// so. If not, nothing has happened. What was there goes to `old`, unless that is null.
fn combine_as_usual(
    process: &Process,
    win: MPI_Win,
    Origin(address, count, datatype): Origin,
    old: *mut u8,
    At(rank, displacement, there, target_type): At,
    op: MPI_Op,
) -> bool {
    let (Some(op), Some(basic)) = (PredefinedOp::from_handle(op.0), Basic::from_handle(datatype.0)) else {
        return false;
    };
    let fits = match op {
        PredefinedOp::Replace => true,
        PredefinedOp::NoOp => !old.is_null(),
        _ => op.allows(basic),
    };
    let origin = contiguous_buffer(address, count, datatype);
    let bytes = match origin {
        Some(origin) => origin.len(),
        None if op == PredefinedOp::NoOp && count == 1 => basic.size(),
        None => return false,
    };
    if !fits || there != count || target_type != datatype {
        return false;
    }
    let Ok(window) = process.window(win) else { return false };
    if window.locks_elements() {
        return false;
    }
    let Some(place) = window.usual_place(rank, displacement, bytes) else { return false };
    if !atomic::is_atomic(basic, place.addr()) {
        return false;
    }
    let elements = RmaElements { rule: Rule::of(window, rank as u32), basic, op };
    elements.combine_mapped(place, address.bytes(), old, count as usize);
    true
}

fn combine(process: &mut LockGuard, win: MPI_Win, access: &RmaAccess) -> Result<Option<RequestId>> {
    let RmaAccess { call, from, into, at, op, .. } = *access;
    let At(rank, _, _, target_type) = at;
    let Some(target) = process.window(win)?.target(rank)? else { return Ok(None) };
    let op = operation(op)?;
    if op == PredefinedOp::NoOp && into.is_none() {
        return Err(fail(
            MPI_ERR_OP,
            "MPI_NO_OP is for calls that get what was there, such as MPI_Get_accumulate (section 12.3.4)",
        ));
    }
    open(process, win, target, call)?;
    let place = TargetElements::of(process, win, target, at)?;
    let here = |given: Option<Origin>| match given {
        Some(given) => elements_here(process, given, at, &place).map(Some),
        None => Ok(None),
    };
    let (from, into) = (here(from)?, here(into)?);
    // Of no elements, any type will do, as on other libraries.
    if place.bytes() == 0 {
        return Ok(None);
    }
    let basic = element_of(process, target_type)?;
    if !matches!(op, PredefinedOp::Replace | PredefinedOp::NoOp) && !op.allows(basic) {
        return Err(fail(MPI_ERR_OP, format!("{op} is not defined for {basic} (section 6.9.2)")));
    }
    process.window_mut(win)?.epoch.access(target);
    if let Some(there) = place.far().cloned() {
        let from = from.as_ref().filter(|_| op != PredefinedOp::NoOp);
        let (how, asked, engine) = (Combination { op, basic }, call.is_request(), process.engine()?);
        let begun = match (from, &into) {
            (from, Some(into)) => engine.fetch(&there, how, from, into, asked),
            (Some(from), None) => engine.accumulate(&there, how, from, asked),
            (None, None) => Ok(None),
        };
        return far::begun(begun);
    }
    let action = ErrandAction::Combine { op, basic, fetches: into.is_some() };
    let given = from.as_ref().filter(|_| op != PredefinedOp::NoOp);
    if Basic::from_handle(target_type.0).is_some_and(Basic::is_contiguous)
        && combine_by_owner(process, win, (rank, at.1), action, given.as_slice(), into.as_ref())
    {
        return Ok(None);
    }
    let mine = from.as_ref().map(|buffer| ContiguousElements::of(basic, buffer));
    let old = into.as_ref().map(|buffer| ContiguousElements::for_result(basic, buffer));
    let address = |elements: &Option<ContiguousElements>| {
        elements.as_ref().map_or(null_mut(), ContiguousElements::address)
    };
    let (mine_at, old_at) = (address(&mine), address(&old));
    let staged =
        from.as_ref().filter(|_| into.is_none() && op != PredefinedOp::NoOp && basic.is_contiguous());
    let unit = if staged.is_some() { basic.size() } else { 1 };
    let combined = combine_near(process, (win, target), &place, staged, (action, unit), |process, range| {
        let Some(window) = process.objects.windows.all.find(win.0) else { return Ok(()) };
        let elements = RmaElements { rule: Rule::of(window, target), basic, op };
        match range.start {
            0 if range.end == place.bytes() => elements.combine(&place, mine_at, old_at),
            start => elements.combine(&place.part(range), mine_at.wrapping_add(start), null_mut()),
        }
    });
    combined.map_err(|error| place.refused(error, at))?;
    if let (Some(old), Some(into)) = (old, &into) {
        old.put_back(into);
    }
    Ok(None)
}

/// Compares and swaps one element, where that is not as usual.
fn swap(
    process: &mut LockGuard,
    win: MPI_Win,
    access: &RmaAccess,
    basic: Basic,
) -> Result<Option<RequestId>> {
    let Some(target) = process.window(win)?.target(access.at.0)? else { return Ok(None) };
    let one = |given: Option<Origin>| {
        let Origin(address, count, datatype) = given.expect("the call has all three buffers");
        buffer(process, address, count, datatype)
    };
    let (origin, compared, result) = (one(access.from)?, one(access.compared)?, one(access.into)?);
    open(process, win, target, access.call)?;
    let place = TargetElements::of(process, win, target, access.at)?;
    process.window_mut(win)?.epoch.access(target);
    if let Some(there) = place.far().cloned() {
        return far::begun(process.engine()?.swap(&there, basic, (&compared, &origin), &result));
    }
    let (rank, displacement, given) = (access.at.0, access.at.1, [&compared, &origin]);
    if combine_by_owner(process, win, (rank, displacement), ErrandAction::Swap, &given, Some(&result)) {
        return Ok(None);
    }
    let rule = Rule::of(process.window(win)?, target);
    let elements = RmaElements { rule, basic, op: PredefinedOp::Replace };
    elements
        .swap_if_equal(&place, &origin, &compared, &result)
        .map_err(|error| place.refused(error, access.at))?;
    Ok(None)
}

/// A buffer here, of as many bytes and of the same elements as the target's.
fn elements_here(
    process: &LockGuard,
    Origin(address, count, datatype): Origin,
    at: At,
    place: &TargetElements,
) -> Result<UserBuf> {
    let buffer = buffer(process, address, count, datatype)?;
    if buffer.len() != place.bytes() {
        return Err(differ(buffer.len(), place, at));
    }
    let At(_, _, _, target_type) = at;
    if !buffer.is_empty() && datatype != target_type {
        let (own, theirs) = (element_of(process, datatype)?, element_of(process, target_type)?);
        if own != theirs {
            return Err(fail(
                MPI_ERR_TYPE,
                format!(
                    "the buffer here is of {own}, but that at the target is of {theirs}: both must be of the same"
                ),
            ));
        }
    }
    Ok(buffer)
}

/// The predefined type that a datatype is made of.
fn element_of(process: &LockGuard, datatype: MPI_Datatype) -> Result<Basic> {
    if let Some(basic) = Basic::from_handle(datatype.0) {
        return Ok(basic);
    }
    process.objects.types.committed(datatype)?.uniform().ok_or_else(|| {
        fail(MPI_ERR_TYPE, "the datatype is not made of one predefined type, as accumulation needs")
    })
}

fn operation(op: MPI_Op) -> Result<PredefinedOp> {
    PredefinedOp::from_handle(op.0).ok_or_else(|| {
        let text = if op == MPI_OP_NULL {
            "the operation is MPI_OP_NULL"
        } else {
            "only predefined operations can be used on windows (section 12.3.3)"
        };
        fail(MPI_ERR_OP, text)
    })
}

fn expect_predefined(datatype: MPI_Datatype) -> Result<Basic> {
    Basic::from_handle(datatype.0)
        .ok_or_else(|| fail(MPI_ERR_TYPE, "the datatype is not predefined, as this call needs"))
}

/// What section 12.3.4 lets be compared: integers, truth values and bytes.
fn expect_comparable(datatype: MPI_Datatype) -> Result<Basic> {
    let basic = expect_predefined(datatype)?;
    if basic.is_comparable() {
        return Ok(basic);
    }
    Err(fail(
        MPI_ERR_TYPE,
        format!(
            "{basic} cannot be compared: integers, logical types, MPI_BYTE and the types of addresses can"
        ),
    ))
}
