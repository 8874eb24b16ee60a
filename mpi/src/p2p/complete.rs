//! Completing requests: wait and test in all their forms (MPI 5.0 sections 3.7.3 to 3.7.6).

mod waiting;

pub(crate) use waiting::waiting_for;
use waiting::{Several, waiting};

use crate::core::arguments::{array, out};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::handle;
use crate::core::process::{Process, enter};
use crate::core::wait::{self, Event, Waiting};
use crate::p2p::generalized;
use crate::p2p::request::{Ended, Object, Progress, no_request};
use crate::p2p::status;
use std::ffi::c_int;
use tern_abi::*;
use tern_engine::{RequestId, Started, Status, slab::Id};

entry! {
    /// Waits for one request (section 3.7.3).
    fn MPI_Wait(request: *mut MPI_Request, status: *mut MPI_Status) {
        let request = &mut *out("request", request)?;
        if enter().take_well(std::slice::from_mut(request), status) == 1 {
            return Ok(());
        }
        let ended = wait_one("MPI_Wait", request)?;
        hand_over(ended, status)
    }

    /// Asks for one request.
    fn MPI_Test(request: *mut MPI_Request, flag: *mut c_int, status: *mut MPI_Status) {
        let (request, flag) = (&mut *out("request", request)?, out("flag", flag)?);
        *flag = 0;
        match test_one("MPI_Test", request)? {
            None => Ok(()),
            Some(ended) => {
                *flag = 1;
                hand_over(ended, status)
            }
        }
    }

    /// Waits for all (section 3.7.5).
    fn MPI_Waitall(count: c_int, requests: *mut MPI_Request, statuses: *mut MPI_Status) {
        let requests = slice(count, requests)?;
        let taken = enter().take_well(requests, statuses);
        if taken == requests.len() {
            return Ok(());
        }
        wait_for_rest(requests, statuses, taken)
    }

    /// Asks whether all are complete; if not, none is taken (section 3.7.5).
    fn MPI_Testall(count: c_int, requests: *mut MPI_Request, flag: *mut c_int, statuses: *mut MPI_Status) {
        let flag = out("flag", flag)?;
        let requests = slice(count, requests)?;
        *flag = 0;
        if !all_complete("MPI_Testall", requests)? {
            return Ok(());
        }
        *flag = 1;
        let mut faults = Faults::new(statuses);
        for (index, request) in requests.iter_mut().enumerate() {
            let ended = wait_one("MPI_Testall", request)?;
            faults.note(index, ended);
        }
        faults.verdict(requests.len())
    }

    /// Waits for any one (section 3.7.5).
    fn MPI_Waitany(count: c_int, requests: *mut MPI_Request, index: *mut c_int, status: *mut MPI_Status) {
        let index = out("index", index)?;
        let requests = slice(count, requests)?;
        let found = wait_for("MPI_Waitany", requests)?;
        take_any(found, index, status)
    }

    /// Asks for any one.
    fn MPI_Testany(count: c_int, requests: *mut MPI_Request, index: *mut c_int, flag: *mut c_int, status: *mut MPI_Status) {
        let (index, flag) = (out("index", index)?, out("flag", flag)?);
        let requests = slice(count, requests)?;
        let mut process = enter();
        let mut found = first_complete(&mut process, requests);
        if found.is_none() {
            let several = Several::new("MPI_Testany", requests);
            process = wait::look_again(process, |process| several.waiting(process));
            found = first_complete(&mut process, requests);
        }
        drop(process);
        *flag = c_int::from(found.is_some());
        match found {
            Some(found) => take_any(settle_any(found?, requests)?, index, status),
            None => {
                *index = MPI_UNDEFINED;
                Ok(())
            }
        }
    }

    /// Waits for at least one and takes all that are complete (section 3.7.5).
    fn MPI_Waitsome(incount: c_int, requests: *mut MPI_Request, outcount: *mut c_int, indices: *mut c_int, statuses: *mut MPI_Status) {
        let outcount = out("outcount", outcount)?;
        let requests = slice(incount, requests)?;
        if requests.iter().all(is_inactive) {
            *outcount = MPI_UNDEFINED;
            return Ok(());
        }
        let first = wait_for("MPI_Waitsome", requests)?;
        take_some(Some(first), requests, outcount, indices, statuses)
    }

    /// Takes all that are complete.
    fn MPI_Testsome(incount: c_int, requests: *mut MPI_Request, outcount: *mut c_int, indices: *mut c_int, statuses: *mut MPI_Status) {
        let outcount = out("outcount", outcount)?;
        let requests = slice(incount, requests)?;
        if requests.iter().all(is_inactive) {
            *outcount = MPI_UNDEFINED;
            return Ok(());
        }
        let several = Several::new("MPI_Testsome", requests);
        drop(wait::look_again(enter(), |process| several.waiting(process)));
        take_some(None, requests, outcount, indices, statuses)
    }

    /// Frees a request; what it started goes on (section 3.7.3).
    fn MPI_Request_free(request: *mut MPI_Request) {
        let request = &mut *out("request", request)?;
        if *request == MPI_REQUEST_NULL {
            return Err(fail(MPI_ERR_REQUEST, "request is MPI_REQUEST_NULL"));
        }
        let freed = free(*request)?;
        *request = MPI_REQUEST_NULL;
        match freed {
            Some(generalized) => generalized::free(&generalized),
            None => Ok(()),
        }
    }

    /// Asks for one request without taking it (section 3.7.6).
    fn MPI_Request_get_status(request: MPI_Request, flag: *mut c_int, status: *mut MPI_Status) {
        let flag = out("flag", flag)?;
        *flag = c_int::from(peek_now("MPI_Request_get_status", request, status)?);
        Ok(())
    }

    /// Asks whether all are complete, without taking them (MPI-4.1, section 3.7.6).
    fn MPI_Request_get_status_all(count: c_int, requests: *const MPI_Request, flag: *mut c_int, statuses: *mut MPI_Status) {
        let flag = out("flag", flag)?;
        let requests = handles(count, requests)?;
        *flag = 0;
        for &request in requests {
            if !peek_now("MPI_Request_get_status_all", request, std::ptr::null_mut())? {
                return Ok(());
            }
        }
        for (index, &request) in requests.iter().enumerate() {
            let status = if statuses.is_null() { statuses } else { statuses.add(index) };
            peek_now("MPI_Request_get_status_all", request, status)?;
        }
        *flag = 1;
        Ok(())
    }

    /// Asks whether any is complete, without taking it.
    fn MPI_Request_get_status_any(count: c_int, requests: *const MPI_Request, index: *mut c_int, flag: *mut c_int, status: *mut MPI_Status) {
        let (index, flag) = (out("index", index)?, out("flag", flag)?);
        let requests = handles(count, requests)?;
        (*flag, *index) = (c_int::from(requests.iter().all(is_inactive)), MPI_UNDEFINED);
        for (at, &request) in requests.iter().enumerate() {
            if !is_inactive(&request) && peek_now("MPI_Request_get_status_any", request, status)? {
                (*flag, *index) = (1, at as c_int);
                return Ok(());
            }
        }
        if *flag != 0 {
            status::store_empty(status);
        }
        Ok(())
    }

    /// Which are complete, without taking them.
    fn MPI_Request_get_status_some(incount: c_int, requests: *const MPI_Request, outcount: *mut c_int, indices: *mut c_int, statuses: *mut MPI_Status) {
        let outcount = out("outcount", outcount)?;
        let requests = handles(incount, requests)?;
        if !requests.is_empty() {
            out("array_of_indices", indices)?;
        }
        *outcount = if requests.iter().all(is_inactive) { MPI_UNDEFINED } else { 0 };
        for (at, &request) in requests.iter().enumerate() {
            let position = (*outcount).max(0) as usize;
            let status = if statuses.is_null() { statuses } else { statuses.add(position) };
            if !is_inactive(&request) && peek_now("MPI_Request_get_status_some", request, status)? {
                *indices.add(position) = at as c_int;
                *outcount += 1;
            }
        }
        Ok(())
    }
}

/// Waits for those from `next` on; the ones before were taken.
#[inline(never)]
unsafe fn wait_for_rest(requests: &mut [MPI_Request], statuses: *mut MPI_Status, mut next: usize) -> Result {
    let mut faults = Faults::new(statuses);
    while next < requests.len() {
        let ended = wait_in_order("MPI_Waitall", requests, next)?;
        faults.note(next, ended);
        next += 1;
        let rest = if statuses.is_null() { statuses } else { statuses.wrapping_add(next) };
        // SAFETY: by the caller.
        next += unsafe { enter().take_well(&mut requests[next..], rest) };
    }
    faults.verdict(requests.len())
}

/// A request array of the caller's.
#[inline(always)]
unsafe fn slice<'a>(count: c_int, requests: *mut MPI_Request) -> Result<&'a mut [MPI_Request]> {
    // SAFETY: by the caller.
    let len = unsafe { handles(count, requests)? }.len();
    let first = if len == 0 { std::ptr::NonNull::dangling().as_ptr() } else { requests };
    // SAFETY: by the caller, and not null when there are any.
    Ok(unsafe { std::slice::from_raw_parts_mut(first, len) })
}

#[inline(always)]
unsafe fn handles<'a>(count: c_int, requests: *const MPI_Request) -> Result<&'a [MPI_Request]> {
    let len = crate::core::arguments::count("count", count.into())? as usize;
    // SAFETY: by the caller.
    unsafe { array("array_of_requests", requests, len) }
}

/// Waits for one request; `None` if it was null or inactive.
#[inline]
pub fn wait_one(call: &'static str, request: &mut MPI_Request) -> Result<Option<Ended>> {
    let handle = *request;
    wait_explained(request, |process| waiting(process, call, handle))
}

/// Waits for number `next` of several, all of which are waited for in their order.
#[inline]
fn wait_in_order(call: &'static str, requests: &mut [MPI_Request], next: usize) -> Result<Option<Ended>> {
    let of = requests.len();
    let Some((request, rest)) = requests[next..].split_first_mut() else { return Ok(None) };
    let handle = *request;
    wait_explained(request, |process| Several { call, first: Some(handle), rest, of }.waiting(process))
}

/// Waits for one request; `what` is asked only when the wait has become long.
#[inline(always)]
fn wait_explained(request: &mut MPI_Request, what: impl Fn(&Process) -> Waiting) -> Result<Option<Ended>> {
    if let Some(id) = plain_id(*request) {
        let status = await_plain(what, *request, id)?;
        *request = MPI_REQUEST_NULL;
        return Ok(Some(ended(&status)));
    }
    let mut process = enter();
    let mut progress = process.progress(request)?;
    if matches!(progress, Progress::Pending) {
        progress = wait::until(process, what, |process| match process.progress(request) {
            Ok(Progress::Pending) => None,
            other => Some(other),
        })?;
    } else {
        drop(process);
    }
    settle(progress, request)
}

/// The engine's number of a plain message's request.
#[inline]
fn plain_id(request: MPI_Request) -> Option<RequestId> {
    handle::decode_request(request.0).map(Id::from_raw)
}

/// Waits for a plain message: the way of most requests, without the detour of an object.
#[inline]
fn await_plain(what: impl Fn(&Process) -> Waiting, request: MPI_Request, id: RequestId) -> Result<Status> {
    let mut process = enter();
    let engine = process.engine()?;
    if let Some(status) = engine.test(id) {
        return Ok(status);
    }
    if !engine.exists(id) {
        return Err(no_request(request));
    }
    Ok(wait::until(process, what, |process| process.engine_mut()?.test(id)))
}

/// How a plain message has ended: the state is entered again only for an error.
#[inline]
fn ended(status: &Status) -> Ended {
    #[cold]
    fn explained(status: &Status) -> Ended {
        enter().ended(status)
    }
    if status.fault.is_some() {
        return explained(status);
    }
    Ended { status: status::from_engine(status), error: None }
}

/// Asks for one request: `None` while it goes on, `Some(None)` if it was null or inactive.
fn test_one(call: &'static str, request: &mut MPI_Request) -> Result<Option<Option<Ended>>> {
    let mut process = enter();
    let mut progress = process.progress(request)?;
    if matches!(progress, Progress::Pending) {
        let handle = *request;
        process = wait::look_again(process, |process| waiting(process, call, handle));
        progress = process.progress(request)?;
    }
    drop(process);
    match progress {
        Progress::Pending => Ok(None),
        other => settle(other, request).map(Some),
    }
}

/// What a completed request gives; calls the program's functions where it is a generalized one.
fn settle(progress: Progress, request: &mut MPI_Request) -> Result<Option<Ended>> {
    match progress {
        Progress::Ended(ended) => Ok(Some(ended)),
        Progress::Ask => {
            let ended = generalized::finish(*request)?;
            *request = MPI_REQUEST_NULL;
            Ok(Some(ended))
        }
        Progress::Inactive | Progress::Pending => Ok(None),
    }
}

/// Writes the status of one request and yields its error.
#[inline]
unsafe fn hand_over(ended: Option<Ended>, status: *mut MPI_Status) -> Result {
    let Some(ended) = ended else {
        // SAFETY: by the caller.
        unsafe { status::store_empty(status) };
        return Ok(());
    };
    // SAFETY: by the caller.
    unsafe { status::store(status, &ended.status) };
    ended.error.map_or(Ok(()), Err)
}

/// What a search through several requests has found.
struct Found {
    /// The request, or `None` if all are null or inactive.
    index: Option<usize>,
    progress: Progress,
}

/// The first request that is complete; nothing while all that are active go on.
fn first_complete(process: &mut Process, requests: &mut [MPI_Request]) -> Option<Result<Found>> {
    let mut active = false;
    for (index, request) in requests.iter_mut().enumerate() {
        match process.progress(request) {
            Err(error) => return Some(Err(error)),
            Ok(Progress::Pending) => active = true,
            Ok(Progress::Inactive) => {}
            Ok(progress) => return Some(Ok(Found { index: Some(index), progress })),
        }
    }
    (!active).then_some(Ok(Found { index: None, progress: Progress::Inactive }))
}

/// Waits until a search finds something.
fn wait_for(call: &'static str, requests: &mut [MPI_Request]) -> Result<(Option<usize>, Option<Ended>)> {
    let found = wait::until_event(enter(), AnyOf { call, requests })?;
    settle_any(found, requests)
}

/// The first of several requests that is complete.
struct AnyOf<'a> {
    call: &'static str,
    requests: &'a mut [MPI_Request],
}

impl Event for AnyOf<'_> {
    type News = Result<Found>;

    fn waiting(&self, process: &Process) -> Waiting {
        Several::new(self.call, self.requests).waiting(process)
    }

    #[inline]
    fn look(&mut self, process: &mut Process) -> Option<Result<Found>> {
        first_complete(process, self.requests)
    }
}

fn settle_any(found: Found, requests: &mut [MPI_Request]) -> Result<(Option<usize>, Option<Ended>)> {
    let Some(index) = found.index else { return Ok((None, None)) };
    let ended = settle(found.progress, &mut requests[index])?;
    Ok((Some(index), ended))
}

unsafe fn take_any(
    (found, ended): (Option<usize>, Option<Ended>),
    index: *mut c_int,
    status: *mut MPI_Status,
) -> Result {
    // SAFETY: by the caller.
    unsafe {
        *index = found.map_or(MPI_UNDEFINED, |at| at as c_int);
        hand_over(ended, status)
    }
}

/// Takes every request that is complete now, beside one that was taken before.
unsafe fn take_some(
    first: Option<(Option<usize>, Option<Ended>)>,
    requests: &mut [MPI_Request],
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
) -> Result {
    let indices = out("array_of_indices", indices)?;
    let mut faults = Faults::new(statuses);
    let mut taken = 0;
    let (mut first_at, mut first_ended) = first.unwrap_or((None, None));
    for (at, request) in requests.iter_mut().enumerate() {
        let ended = if first_at == Some(at) {
            first_at = None;
            first_ended.take()
        } else {
            let progress = enter().progress(request)?;
            settle(progress, request)?
        };
        if let Some(ended) = ended {
            // SAFETY: the arrays have room for all requests.
            unsafe { *indices.add(taken) = at as c_int };
            faults.note(taken, Some(ended));
            taken += 1;
        }
    }
    // SAFETY: by the caller.
    unsafe { *outcount = taken as c_int };
    faults.verdict(taken)
}

/// The statuses of a call that completes several requests, and the errors among them (section 3.2.5).
struct Faults {
    statuses: *mut MPI_Status,
    failed: Vec<(usize, c_int)>,
    /// The first error: its communicator's handler hears of all.
    first: Option<Box<Error>>,
}

impl Faults {
    fn new(statuses: *mut MPI_Status) -> Self {
        Faults { statuses, failed: Vec::new(), first: None }
    }

    fn note(&mut self, index: usize, ended: Option<Ended>) {
        let Ended { status, error } = ended.unwrap_or(Ended { status: MPI_Status::EMPTY, error: None });
        if !self.statuses.is_null() {
            // SAFETY: the array has a status for each request.
            unsafe { status::store(self.statuses.add(index), &status) };
        }
        if let Some(error) = error {
            self.failed.push((index, error.code()));
            self.first.get_or_insert(error);
        }
    }

    fn verdict(self, count: usize) -> Result {
        let Some(first) = self.first else { return Ok(()) };
        for index in (0..count).filter(|_| !self.statuses.is_null()) {
            let code = self.failed.iter().find(|(at, _)| *at == index).map_or(MPI_SUCCESS, |&(_, code)| code);
            // SAFETY: the array has a status for each request.
            unsafe { (*self.statuses.add(index)).MPI_ERROR = code };
        }
        let (failed, at) = (self.failed.len(), self.failed[0].0);
        let text = format!("{failed} of {count} requests failed, the first is number {at}: {}", first.text());
        Err(fail(MPI_ERR_IN_STATUS, text).beside(&first))
    }
}

/// Whether all are complete now; takes none.
fn all_complete(call: &'static str, requests: &[MPI_Request]) -> Result<bool> {
    let several = Several::new(call, requests);
    let mut process = wait::look_again(enter(), |process| several.waiting(process));
    for request in requests {
        if !process.is_complete(*request)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_inactive(request: &MPI_Request) -> bool {
    *request == MPI_REQUEST_NULL || enter().is_inactive(*request)
}

/// Whether a request is complete, and its status; it is not taken.
unsafe fn peek_now(call: &'static str, request: MPI_Request, status: *mut MPI_Status) -> Result<bool> {
    if is_inactive(&request) {
        // SAFETY: by the caller.
        unsafe { status::store_empty(status) };
        return Ok(true);
    }
    let mut process = enter();
    if !process.is_complete(request)? {
        process = wait::look_again(process, |process| waiting(process, call, request));
        if !process.is_complete(request)? {
            return Ok(false);
        }
    }
    let found = process.peek(request)?;
    drop(process);
    let shown = match found {
        Some(shown) => shown,
        None => generalized::query(request)?,
    };
    // SAFETY: by the caller.
    unsafe { status::store(status, &shown) };
    Ok(true)
}

impl Process {
    /// What a handle of a plain message stands for; `None` if it is another kind of request.
    #[inline]
    pub(crate) fn plain(&mut self, request: MPI_Request) -> Result<Option<Started>> {
        let Some(id) = plain_id(request) else { return Ok(None) };
        if self.engine()?.exists(id) { Ok(Some(Started::Pending(id))) } else { Err(no_request(request)) }
    }

    /// Whether a completion call would end for this request.
    fn is_complete(&mut self, request: MPI_Request) -> Result<bool> {
        if let Some(started) = self.plain(request)? {
            return Ok(self.peek_started(started).is_some());
        }
        if request == MPI_REQUEST_NULL {
            return Ok(true);
        }
        match self.requests.0.get(request.0) {
            None => Err(no_request(request)),
            Some(Object::Ended(_)) => Ok(true),
            Some(Object::Generalized(generalized)) => Ok(generalized.complete),
            Some(Object::Persistent(p)) => {
                Ok(p.active.is_none_or(|active| self.peek_started(active).is_some()))
            }
            Some(Object::Pair(pair)) => Ok(pair.is_complete(self)),
            Some(Object::Flush(_)) => crate::p2p::buffered::is_complete(self, request),
            Some(Object::Collective(_)) => crate::coll::is_complete(self, request),
        }
    }

    fn is_inactive(&self, request: MPI_Request) -> bool {
        match self.requests.0.get(request.0) {
            Some(Object::Persistent(persistent)) => persistent.active.is_none(),
            Some(Object::Collective(collective)) => collective.is_inactive(),
            _ => false,
        }
    }

    /// The status of a complete request; `None` if the program has to be asked.
    fn peek(&mut self, request: MPI_Request) -> Result<Option<MPI_Status>> {
        let started = match (self.plain(request)?, self.requests.0.get(request.0)) {
            (Some(started), _) => Some(started),
            (None, Some(Object::Generalized(_))) => return Ok(None),
            (None, Some(Object::Ended(ended))) => return Ok(Some(ended.status)),
            (None, Some(Object::Persistent(p))) => p.active,
            (None, Some(Object::Pair(pair))) => Some(pair.receive),
            (None, Some(Object::Collective(_) | Object::Flush(_)) | None) => None,
        };
        let status = started.and_then(|started| self.peek_started(started));
        Ok(Some(status.map_or(MPI_Status::EMPTY, |status| status::from_engine(&status))))
    }
}

/// Frees a request; a generalized one that is complete is given back, to be freed without the lock.
fn free(request: MPI_Request) -> Result<Option<generalized::Generalized>> {
    let mut process = enter();
    if let Some(started) = process.plain(request)? {
        process.detach_started(started);
        return Ok(None);
    }
    if matches!(process.requests.0.get(request.0), Some(Object::Collective(collective)) if !collective.may_be_freed())
    {
        return Err(fail(
            MPI_ERR_REQUEST,
            "a collective under way must be completed, not freed (sections 6.12 and 6.13)",
        ));
    }
    match process.requests.0.remove(request.0) {
        None => Err(no_request(request)),
        Some(Object::Generalized(generalized)) => Ok(generalized::freed(&mut process, request, generalized)),
        Some(Object::Persistent(persistent)) => {
            persistent.active.into_iter().for_each(|active| process.detach_started(active));
            Ok(None)
        }
        Some(Object::Pair(pair)) => {
            process.detach_started(pair.receive);
            process.detach_started(pair.send);
            Ok(None)
        }
        Some(Object::Collective(collective)) => collective.freed().map(|()| None),
        Some(Object::Ended(_) | Object::Flush(_)) => Ok(None),
    }
}
