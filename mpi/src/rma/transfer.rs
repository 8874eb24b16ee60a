//! Put and get (MPI 5.0 sections 12.3.1 and 12.3.2). They are done when the call returns.

use super::place::Place;
use crate::core::arguments::{buffer, dense_buffer, out};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::process::{Guard, enter};
use crate::p2p::request::Ended;
use std::ffi::{c_int, c_void};
use tern_abi::*;
use tern_mem::UserBuf;

entry! {
    /// Writes to a rank's memory.
    fn MPI_Put, MPI_Put_c<W>(
        origin_addr: *const c_void, origin_count: W::Count, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, win: MPI_Win,
    ) on win {
        let origin = Origin(origin_addr, origin_count.into(), origin_datatype);
        let target = At(target_rank, target_disp, target_count.into(), target_datatype);
        let mut process = enter();
        if move_as_usual(&mut process, win, origin, target, Direction::Put) {
            return Ok(());
        }
        move_bytes(&mut process, win, origin, target, Direction::Put, Kind::Plain)
    }

    /// Reads from a rank's memory.
    fn MPI_Get, MPI_Get_c<W>(
        origin_addr: *mut c_void, origin_count: W::Count, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, win: MPI_Win,
    ) on win {
        let origin = Origin(origin_addr, origin_count.into(), origin_datatype);
        let target = At(target_rank, target_disp, target_count.into(), target_datatype);
        let mut process = enter();
        if move_as_usual(&mut process, win, origin, target, Direction::Get) {
            return Ok(());
        }
        move_bytes(&mut process, win, origin, target, Direction::Get, Kind::Plain)
    }

    /// [`MPI_Put`] as a request (section 12.3.5).
    fn MPI_Rput, MPI_Rput_c<W>(
        origin_addr: *const c_void, origin_count: W::Count, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, win: MPI_Win,
        request: *mut MPI_Request,
    ) on win {
        let request = out("request", request)?;
        let origin = Origin(origin_addr, origin_count.into(), origin_datatype);
        let target = At(target_rank, target_disp, target_count.into(), target_datatype);
        let mut process = enter();
        move_bytes(&mut process, win, origin, target, Direction::Put, Kind::Request)?;
        *request = done(&mut process)?;
        Ok(())
    }

    /// [`MPI_Get`] as a request.
    fn MPI_Rget, MPI_Rget_c<W>(
        origin_addr: *mut c_void, origin_count: W::Count, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, win: MPI_Win,
        request: *mut MPI_Request,
    ) on win {
        let request = out("request", request)?;
        let origin = Origin(origin_addr, origin_count.into(), origin_datatype);
        let target = At(target_rank, target_disp, target_count.into(), target_datatype);
        let mut process = enter();
        move_bytes(&mut process, win, origin, target, Direction::Get, Kind::Request)?;
        *request = done(&mut process)?;
        Ok(())
    }
}

/// Address, count and datatype of a buffer here.
#[derive(Clone, Copy)]
pub struct Origin(pub *const c_void, pub i64, pub MPI_Datatype);

/// Rank, displacement, count and datatype of a buffer there.
#[derive(Clone, Copy)]
pub struct At(pub c_int, pub MPI_Aint, pub i64, pub MPI_Datatype);

/// Which call makes a transfer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One that an epoch ends.
    Plain,
    /// One with a request, for passive targets only.
    Request,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Put,
    Get,
}

/// A request of what is done.
pub fn done(process: &mut Guard) -> Result<MPI_Request> {
    process.ended_request(Ended::well(MPI_Status::EMPTY))
}

/// The transfer, where both buffers are without gaps and everything else is as usual; whether it was so. If not, nothing has happened.
///
/// # Safety
/// As [`move_bytes`].
#[inline(always)]
unsafe fn move_as_usual(
    process: &mut Guard,
    win: MPI_Win,
    origin: Origin,
    at: At,
    direction: Direction,
) -> bool {
    let (Origin(address, count, datatype), At(rank, displacement, there, target_type)) = (origin, at);
    // SAFETY: by the caller.
    let Some(local) = (unsafe { dense_buffer(address, count, datatype) }) else { return false };
    if there != count || target_type != datatype {
        return false;
    }
    let Some(window) = process.usual_window(win) else { return false };
    let Some(place) = window.usual_place(rank, displacement, local.len()) else { return false };
    match direction {
        Direction::Put => {
            window.has_stored = true;
            // SAFETY: the place has as many bytes, and by the caller.
            unsafe { local.read_to(0, place, local.len()) };
        }
        // SAFETY: as above.
        Direction::Get => unsafe { local.write_from(0, place, local.len()) },
    }
    true
}

/// # Safety
/// The program vouches for its buffer and, by the rules of the window, for the target's.
unsafe fn move_bytes(
    process: &mut Guard,
    win: MPI_Win,
    origin: Origin,
    at: At,
    direction: Direction,
    kind: Kind,
) -> Result {
    let At(rank, ..) = at;
    let Some(target) = process.window(win)?.target(rank)? else { return Ok(()) };
    // SAFETY: by the caller.
    let local = unsafe { buffer(process, origin.0, origin.1, origin.2)? };
    open(process, win, target, kind)?;
    // SAFETY: by the caller.
    let place = unsafe { Place::of(process, win, target, at)? };
    if local.len() != place.bytes() {
        return Err(differ(local.len(), place.bytes()));
    }
    process.window_mut(win)?.has_stored = true;
    match direction {
        Direction::Put => place.write(&local),
        Direction::Get => place.read(&local),
    }
    .map_err(|error| place.refused(error))
}

/// Refuses a transfer outside an epoch.
#[inline]
pub fn open(process: &mut Guard, win: MPI_Win, target: u32, kind: Kind) -> Result {
    let epoch = &mut process.window_mut(win)?.epoch;
    match kind {
        Kind::Plain => epoch.access(target),
        Kind::Request => epoch.passive(target),
    }
}

#[cold]
pub fn differ(here: usize, there: usize) -> Box<Error> {
    fail(
        MPI_ERR_TYPE,
        format!(
            "the origin's buffer has {here} bytes, but the target's has {there}: both must have the same"
        ),
    )
}

/// The bytes of a buffer one behind the other: as they are, or a copy.
pub struct Dense {
    copy: Option<Vec<u8>>,
    address: *mut u8,
}

impl Dense {
    /// To be read.
    pub fn of(buffer: &UserBuf) -> Dense {
        match buffer.run_at(0, buffer.len()) {
            Some(address) => Dense { copy: None, address },
            None => {
                let mut copy = vec![0; buffer.len()];
                buffer.read(0, &mut copy);
                Dense { address: copy.as_mut_ptr(), copy: Some(copy) }
            }
        }
    }

    /// To be written, and put in place by [`Dense::put_back`].
    pub fn for_result(buffer: &UserBuf) -> Dense {
        match buffer.run_at(0, buffer.len()) {
            Some(address) => Dense { copy: None, address },
            None => {
                let mut copy = vec![0; buffer.len()];
                Dense { address: copy.as_mut_ptr(), copy: Some(copy) }
            }
        }
    }

    /// Where the bytes are.
    pub fn address(&self) -> *mut u8 {
        self.address
    }

    /// Writes a copy to where its bytes belong.
    pub fn put_back(self, buffer: &UserBuf) {
        if let Some(copy) = self.copy {
            buffer.write(0, &copy);
        }
    }
}
