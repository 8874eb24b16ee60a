//! Accumulation, fetch-and-op, compare-and-swap (MPI 5.0 sections 12.3.3 and 12.3.4): atomic for each element of a predefined type.
//!
//! One rule holds for all ways to an element. In memory that all ranks have mapped, elements that the processor can combine are combined
//! by its atomic instructions, and all others under a lock of the target; many at once are combined without either, while nobody else
//! combines any there. In memory that the kernel copies, everything is under that
//! lock, for the target itself too.

use super::object::Window;
use super::place::Place;
use super::transfer::{At, Dense, Kind, Origin, differ, done, open};
use crate::core::arguments::{buffer, dense_buffer, out};
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::{Guard, enter};
use crate::limits::MANY_BYTES_MIN;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use tern_abi::*;
use tern_mem::op::{PredefinedOp, atomic, reduce};
use tern_mem::{Basic, Datatype, UserBuf};
use tern_transport::TransferError;
use tern_transport::shm::fence_everywhere;

entry! {
    /// Combines elements with those at a target.
    fn MPI_Accumulate, MPI_Accumulate_c<W>(
        origin_addr: *const c_void, origin_count: W::Count, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, op: MPI_Op,
        win: MPI_Win,
    ) on win {
        let origin = Origin(origin_addr, origin_count.into(), origin_datatype);
        let at = At(target_rank, target_disp, target_count.into(), target_datatype);
        let mut process = enter();
        if combine_as_usual(&mut process, win, origin, null_mut(), at, op) {
            return Ok(());
        }
        combine(&mut process, win, Some(origin), None, at, op, Kind::Plain)
    }

    /// [`MPI_Accumulate`] as a request (section 12.3.5).
    fn MPI_Raccumulate, MPI_Raccumulate_c<W>(
        origin_addr: *const c_void, origin_count: W::Count, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, op: MPI_Op,
        win: MPI_Win, request: *mut MPI_Request,
    ) on win {
        let request = out("request", request)?;
        let origin = Origin(origin_addr, origin_count.into(), origin_datatype);
        let at = At(target_rank, target_disp, target_count.into(), target_datatype);
        let mut process = enter();
        combine(&mut process, win, Some(origin), None, at, op, Kind::Request)?;
        *request = done(&mut process)?;
        Ok(())
    }

    /// The same, and what was there before.
    fn MPI_Get_accumulate, MPI_Get_accumulate_c<W>(
        origin_addr: *const c_void, origin_count: W::Count, origin_datatype: MPI_Datatype,
        result_addr: *mut c_void, result_count: W::Count, result_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, op: MPI_Op,
        win: MPI_Win,
    ) on win {
        let origin = Origin(origin_addr, origin_count.into(), origin_datatype);
        let result = Origin(result_addr, result_count.into(), result_datatype);
        let at = At(target_rank, target_disp, target_count.into(), target_datatype);
        let origin = (op != MPI_NO_OP).then_some(origin);
        combine(&mut enter(), win, origin, Some(result), at, op, Kind::Plain)
    }

    /// [`MPI_Get_accumulate`] as a request.
    fn MPI_Rget_accumulate, MPI_Rget_accumulate_c<W>(
        origin_addr: *const c_void, origin_count: W::Count, origin_datatype: MPI_Datatype,
        result_addr: *mut c_void, result_count: W::Count, result_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, op: MPI_Op,
        win: MPI_Win, request: *mut MPI_Request,
    ) on win {
        let request = out("request", request)?;
        let origin = Origin(origin_addr, origin_count.into(), origin_datatype);
        let result = Origin(result_addr, result_count.into(), result_datatype);
        let at = At(target_rank, target_disp, target_count.into(), target_datatype);
        let origin = (op != MPI_NO_OP).then_some(origin);
        let mut process = enter();
        combine(&mut process, win, origin, Some(result), at, op, Kind::Request)?;
        *request = done(&mut process)?;
        Ok(())
    }

    /// One element, and what was there before.
    fn MPI_Fetch_and_op(
        origin_addr: *const c_void, result_addr: *mut c_void, datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, op: MPI_Op, win: MPI_Win,
    ) on win {
        let (origin, at) = (Origin(origin_addr, 1, datatype), At(target_rank, target_disp, 1, datatype));
        let mut process = enter();
        let into = result_addr.cast::<u8>();
        if !into.is_null() && combine_as_usual(&mut process, win, origin, into, at, op) {
            return Ok(());
        }
        expect_predefined(datatype)?;
        let origin = (op != MPI_NO_OP).then_some(origin);
        combine(&mut process, win, origin, Some(Origin(result_addr, 1, datatype)), at, op, Kind::Plain)
    }

    /// One element that takes the place of another, if that is there.
    fn MPI_Compare_and_swap(
        origin_addr: *const c_void, compare_addr: *const c_void, result_addr: *mut c_void,
        datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, win: MPI_Win,
    ) on win {
        let basic = expect_comparable(datatype)?;
        let mut process = enter();
        let all_there = !(origin_addr.is_null() || compare_addr.is_null() || result_addr.is_null());
        if all_there
            && let Some(window) = process.usual_window(win)
            && !window.locks_elements()
            && let Some(place) = window.usual_place(target_rank, target_disp, basic.size())
            && atomic::is_atomic(basic, place.addr())
        {
            few(window, target_rank as u32, || {
                atomic::compare_and_swap(basic, origin_addr.cast(), compare_addr.cast(), place, result_addr.cast());
            });
            return Ok(());
        }
        let Some(target) = process.window(win)?.target(target_rank)? else { return Ok(()) };
        let one = |address: *const c_void| buffer(&process, address, 1, datatype).map(|buffer| Dense::of(&buffer));
        let (origin, compared, result) = (one(origin_addr)?, one(compare_addr)?, one(result_addr)?);
        open(&mut process, win, target, Kind::Plain)?;
        let place = Place::of(&process, win, target, At(target_rank, target_disp, 1, datatype))?;
        let elements = Elements { window: process.window(win)?, target, basic, op: PredefinedOp::Replace };
        elements.swap_if_equal(&place, origin, compared, result).map_err(|error| place.refused(error))
    }
}

/// The same where elements of one predefined type are combined by atomic instructions, and everything else is as usual; whether it was
/// so. If not, nothing has happened. What was there goes to `old`, unless that is null.
///
/// # Safety
/// As [`combine`].
#[inline(always)]
unsafe fn combine_as_usual(
    process: &mut Guard,
    win: MPI_Win,
    Origin(address, count, datatype): Origin,
    old: *mut u8,
    At(rank, displacement, there, target_type): At,
    op: MPI_Op,
) -> bool {
    let (Some(op), Some(basic)) = (PredefinedOp::from_handle(op.0), Basic::from_handle(datatype.0)) else {
        return false;
    };
    let fits = matches!(op, PredefinedOp::Replace | PredefinedOp::NoOp) || op.allows(basic);
    // SAFETY: by the caller.
    let origin = unsafe { dense_buffer(address, count, datatype) };
    let bytes = match origin {
        Some(origin) => origin.len(),
        None if op == PredefinedOp::NoOp && count == 1 => basic.size(),
        None => return false,
    };
    if !fits || there != count || target_type != datatype {
        return false;
    }
    let Some(window) = process.usual_window(win).filter(|window| !window.locks_elements()) else {
        return false;
    };
    let Some(place) = window.usual_place(rank, displacement, bytes) else { return false };
    if !atomic::is_atomic(basic, place.addr()) {
        return false;
    }
    let window = &*window;
    let elements = Elements { window, target: rank as u32, basic, op };
    elements.combine_mapped(place, address.cast_mut().cast(), old, count as usize);
    true
}

/// Combines a few elements of a target by atomic instructions, unless somebody combines many there: then behind those.
#[inline(always)]
fn few<T>(window: &Window, target: u32, work: impl FnOnce() -> T) -> T {
    // Then nobody combines many.
    if !window.is_fenced {
        return work();
    }
    let (mine, theirs) = (&window.controls[window.me as usize], &window.controls[target as usize]);
    mine.combines_few(true);
    if theirs.has_many() {
        mine.combines_few(false);
        return theirs.alone(window.me, work);
    }
    let result = work();
    mine.combines_few(false);
    result
}

/// # Safety
/// The program vouches for its buffers and, by the rules of the window, for the target's.
unsafe fn combine(
    process: &mut Guard,
    win: MPI_Win,
    origin: Option<Origin>,
    result: Option<Origin>,
    at: At,
    op: MPI_Op,
    kind: Kind,
) -> Result {
    let At(rank, _, _, target_type) = at;
    let Some(target) = process.window(win)?.target(rank)? else { return Ok(()) };
    let op = operation(op)?;
    open(process, win, target, kind)?;
    // SAFETY: by the caller.
    let place = unsafe { Place::of(process, win, target, at)? };
    let here = |given: Option<Origin>| match given {
        // SAFETY: by the caller.
        Some(given) => unsafe { elements_here(process, given, target_type, &place).map(Some) },
        None => Ok(None),
    };
    let (from, into) = (here(origin)?, here(result)?);
    // Of no elements, any type will do, as on other libraries.
    if place.bytes() == 0 {
        return Ok(());
    }
    let basic = element_of(process, target_type)?;
    if !matches!(op, PredefinedOp::Replace | PredefinedOp::NoOp) && !op.allows(basic) {
        return Err(fail(MPI_ERR_OP, format!("{op} is not defined for {basic} (section 6.9.2)")));
    }
    let elements = Elements { window: process.window(win)?, target, basic, op };
    if !basic.is_dense() {
        let combined = elements.combine_with_gaps(&place, from.as_ref(), into.as_ref());
        return combined.map_err(|error| place.refused(error));
    }
    let (dense, fetched) = (from.as_ref().map(Dense::of), into.as_ref().map(Dense::for_result));
    let address = |dense: &Option<Dense>| dense.as_ref().map_or(null_mut(), Dense::address);
    elements.combine(&place, address(&dense), address(&fetched)).map_err(|error| place.refused(error))?;
    if let (Some(fetched), Some(into)) = (fetched, &into) {
        fetched.put_back(into);
    }
    Ok(())
}

/// A buffer here, of as many bytes and of the same elements as the target's.
///
/// # Safety
/// As [`buffer`].
unsafe fn elements_here(
    process: &Guard,
    Origin(address, count, datatype): Origin,
    target_type: MPI_Datatype,
    place: &Place,
) -> Result<UserBuf> {
    // SAFETY: by the caller.
    let buffer = unsafe { buffer(process, address, count, datatype)? };
    if buffer.len() != place.bytes() {
        return Err(differ(buffer.len(), place.bytes()));
    }
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
fn element_of(process: &Guard, datatype: MPI_Datatype) -> Result<Basic> {
    if let Some(basic) = Basic::from_handle(datatype.0) {
        return Ok(basic);
    }
    process.types.committed(datatype)?.uniform().ok_or_else(|| {
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
    use tern_mem::basic::Class::*;
    let basic = expect_predefined(datatype)?;
    match basic.class() {
        CInteger | FortranInteger | Logical | MultiLanguage | Byte => Ok(basic),
        _ => Err(fail(
            MPI_ERR_TYPE,
            format!(
                "{basic} cannot be compared: integers, logical types, MPI_BYTE and the types of addresses can"
            ),
        )),
    }
}

/// Room for elements that have padding.
struct Padded {
    /// Keeps the room.
    _room: UserBuf,
    /// The elements, without padding when they are copied.
    shaped: UserBuf,
    address: *mut u8,
    count: usize,
}

impl Padded {
    /// For elements of so many bytes without padding.
    fn new(basic: Basic, bytes: usize) -> Padded {
        let count = bytes / basic.size();
        let room = UserBuf::owned(count * basic.extent());
        let address = room.run_at(0, room.len()).expect("it is one run");
        // SAFETY: the room has as many elements, and lives as long as this value.
        let shaped = unsafe { UserBuf::typed(address, count as u64, Datatype::predefined(basic).layout()) };
        Padded { _room: room, shaped, address, count }
    }
}

/// What is done to elements of a target.
struct Elements<'a> {
    window: &'a Window,
    target: u32,
    basic: Basic,
    op: PredefinedOp,
}

type Outcome = std::result::Result<(), TransferError>;

impl Elements<'_> {
    /// Combines the elements at `mine` with those at the place; what was there goes to `old`, unless that is null.
    fn combine(&self, place: &Place, mine: *mut u8, old: *mut u8) -> Outcome {
        let step = self.basic.size();
        place.pieces(|piece, before| {
            let there = std::ptr::with_exposed_provenance_mut::<u8>(piece.base);
            let at =
                |address: *mut u8| if address.is_null() { address } else { address.wrapping_add(before) };
            let (mine, old, count) = (at(mine), at(old), piece.len / step);
            if place.is_mapped() && !self.window.locks_elements() && atomic::is_atomic(self.basic, piece.base)
            {
                self.combine_mapped(there, mine, old, count);
                return Ok(());
            }
            self.alone(|| self.combine_run(place, there, mine, old, count))
        })
    }

    /// Elements one behind the other that atomic instructions can combine. Many are combined faster without these, once nobody else is
    /// about to use them.
    #[inline]
    fn combine_mapped(&self, there: *mut u8, mine: *mut u8, old: *mut u8, count: usize) {
        // SAFETY: there is in the window's memory, and the buffers here have as many elements.
        let atomically = || unsafe { atomic::accumulate(self.op, self.basic, mine, there, old, count) };
        if count * self.basic.size() < MANY_BYTES_MIN || !self.window.is_fenced {
            return few(self.window, self.target, atomically);
        }
        let all = &self.window.controls;
        self.alone(|| {
            all[self.target as usize].with_many(all, fence_everywhere, |is_alone| match is_alone {
                // SAFETY: as above.
                true => unsafe { self.combine_here(there, mine, old, count) },
                false => atomically(),
            });
        });
    }

    /// Elements with padding: copies of them, with it, are combined.
    fn combine_with_gaps(&self, place: &Place, mine: Option<&UserBuf>, old: Option<&UserBuf>) -> Outcome {
        let (there, ours) = (Padded::new(self.basic, place.bytes()), Padded::new(self.basic, place.bytes()));
        if let Some(mine) = mine {
            UserBuf::copy(mine, 0, &ours.shaped, 0, place.bytes());
        }
        self.alone(|| {
            place.read(&there.shaped)?;
            if let Some(old) = old {
                UserBuf::copy(&there.shaped, 0, old, 0, place.bytes());
            }
            // SAFETY: both have as many elements.
            unsafe { self.combine_here(there.address, ours.address, null_mut(), there.count) };
            if self.op == PredefinedOp::NoOp { Ok(()) } else { place.write(&there.shaped) }
        })
    }

    fn alone<T>(&self, work: impl FnOnce() -> T) -> T {
        self.window.controls[self.target as usize].alone(self.window.me, work)
    }

    /// Elements one behind the other, while nobody else combines any.
    fn combine_run(
        &self,
        place: &Place,
        there: *mut u8,
        mine: *mut u8,
        old: *mut u8,
        count: usize,
    ) -> Outcome {
        let bytes = count * self.basic.extent();
        if place.is_mapped() {
            // SAFETY: `Place` lies in the window's memory, and the buffers here have as many elements.
            unsafe { self.combine_here(there, mine, old, count) };
            return Ok(());
        }
        let copy = UserBuf::owned(bytes);
        place.fetch(there, &copy)?;
        let address = copy.run_at(0, bytes).expect("it is one run");
        // SAFETY: the copy has as many elements.
        unsafe { self.combine_here(address, mine, old, count) };
        if self.op == PredefinedOp::NoOp { Ok(()) } else { place.store(there, &copy) }
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

    /// Puts `mine` there if `compared` is there; what was there goes to `old`.
    fn swap_if_equal(&self, place: &Place, mine: Dense, compared: Dense, old: Dense) -> Outcome {
        let (mine, compared, old) = (mine.address(), compared.address(), old.address());
        place.pieces(|piece, _| {
            let there = std::ptr::with_exposed_provenance_mut::<u8>(piece.base);
            if place.is_mapped() && !self.window.locks_elements() && atomic::is_atomic(self.basic, piece.base)
            {
                // SAFETY: one element is at each.
                let swap = || unsafe { atomic::compare_and_swap(self.basic, mine, compared, there, old) };
                few(self.window, self.target, swap);
                return Ok(());
            }
            self.alone(|| {
                let bytes = self.basic.size();
                let copy = UserBuf::owned(bytes);
                let now =
                    if place.is_mapped() { there } else { copy.run_at(0, bytes).expect("it is one run") };
                if !place.is_mapped() {
                    place.fetch(there, &copy)?;
                }
                // SAFETY: one element is at each.
                let equal = unsafe {
                    std::ptr::copy(now, old, bytes);
                    let was =
                        std::slice::from_raw_parts(now, bytes) == std::slice::from_raw_parts(compared, bytes);
                    if was {
                        std::ptr::copy(mine, now, bytes);
                    }
                    was
                };
                if equal && !place.is_mapped() { place.store(there, &copy) } else { Ok(()) }
            })
        })
    }
}
