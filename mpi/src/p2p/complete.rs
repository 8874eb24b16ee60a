//! Completing requests: wait and test in all their forms (MPI 5.0 sections 3.7.3 to 3.7.6).

mod waiting;

use waiting::{Several, waiting};

use crate::core::boundary::{Array, Out, OutArray};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::handle;
use crate::core::process::{Process, enter};
use crate::core::wait::{self, WaitEvent, Waiting};
use crate::p2p::ended::Ended;
use crate::p2p::generalized;
use crate::p2p::request::{Callback, Progress, no_request};
use crate::p2p::status::{self, StatusArray, StatusOut};
use std::ffi::c_int;
use tern_abi::*;
use tern_engine::{RequestId, StartedMessage, Status, slab::Id};

entry! {
    /// Waits for one request (section 3.7.3).
    safe fn MPI_Wait(request: &mut MPI_Request, status: StatusOut<'_>) {
        if enter().take_well(std::slice::from_mut(request), status.into()) == 1 {
            return Ok(());
        }
        let ended = wait_one("MPI_Wait", request)?;
        hand_over(ended, status)
    }

    /// Tests whether a request is complete.
    safe fn MPI_Test(request: &mut MPI_Request, flag: Out<'_, c_int>, status: StatusOut<'_>) {
        flag.set(0);
        match test_one("MPI_Test", request)? {
            None => Ok(()),
            Some(ended) => {
                flag.set(1);
                hand_over(ended, status)
            }
        }
    }

    /// Waits for all of some requests (section 3.7.5).
    safe fn MPI_Waitall(count: c_int, array_of_requests: OutArray<'_, MPI_Request>, statuses: StatusArray<'_>) {
        let requests = slice(count, array_of_requests)?;
        let taken = enter().take_well(requests, statuses);
        if taken == requests.len() {
            return Ok(());
        }
        wait_for_rest(requests, statuses, taken)
    }

    /// Asks whether all are complete; if not, none is taken (section 3.7.5).
    safe fn MPI_Testall(count: c_int, array_of_requests: OutArray<'_, MPI_Request>, flag: Out<'_, c_int>, statuses: StatusArray<'_>) {
        let requests = slice(count, array_of_requests)?;
        flag.set(0);
        if !all_complete("MPI_Testall", requests)? {
            return Ok(());
        }
        flag.set(1);
        let mut faults = Faults::new(statuses);
        for (index, request) in requests.iter_mut().enumerate() {
            let ended = wait_one("MPI_Testall", request)?;
            faults.note(index, ended);
        }
        faults.verdict(requests.len())
    }

    /// Waits for any one of some requests (section 3.7.5).
    safe fn MPI_Waitany(count: c_int, array_of_requests: OutArray<'_, MPI_Request>, index: Out<'_, c_int>, status: StatusOut<'_>) {
        let requests = slice(count, array_of_requests)?;
        let found = wait_for("MPI_Waitany", requests)?;
        take_any(found, index, status)
    }

    /// Tests whether any one of some requests is complete.
    safe fn MPI_Testany(count: c_int, array_of_requests: OutArray<'_, MPI_Request>, index: Out<'_, c_int>, flag: Out<'_, c_int>, status: StatusOut<'_>) {
        let requests = slice(count, array_of_requests)?;
        let mut process = enter();
        let mut found = first_complete(&mut process, requests);
        if found.is_none() {
            let several = Several::new("MPI_Testany", requests);
            process = wait::look_again(process, |process| several.waiting(process));
            found = first_complete(&mut process, requests);
        }
        drop(process);
        flag.set(c_int::from(found.is_some()));
        match found {
            Some(found) => take_any(settle_any(found?, requests)?, index, status),
            None => {
                index.set(MPI_UNDEFINED);
                Ok(())
            }
        }
    }

    /// Waits for at least one and takes all that are complete (section 3.7.5).
    safe fn MPI_Waitsome(incount: c_int, array_of_requests: OutArray<'_, MPI_Request>, outcount: Out<'_, c_int>, array_of_indices: OutArray<'_, c_int>, statuses: StatusArray<'_>) {
        let requests = slice(incount, array_of_requests)?;
        if requests.iter().all(is_inactive) {
            outcount.set(MPI_UNDEFINED);
            return Ok(());
        }
        let first = wait_for("MPI_Waitsome", requests)?;
        take_some(Some(first), requests, outcount, array_of_indices, statuses)
    }

    /// Takes all of some requests that are complete.
    safe fn MPI_Testsome(incount: c_int, array_of_requests: OutArray<'_, MPI_Request>, outcount: Out<'_, c_int>, array_of_indices: OutArray<'_, c_int>, statuses: StatusArray<'_>) {
        let requests = slice(incount, array_of_requests)?;
        if requests.iter().all(is_inactive) {
            outcount.set(MPI_UNDEFINED);
            return Ok(());
        }
        let several = Several::new("MPI_Testsome", requests);
        drop(wait::look_again(enter(), |process| several.waiting(process)));
        take_some(None, requests, outcount, array_of_indices, statuses)
    }

    /// Frees a request; what it started goes on (section 3.7.3).
    safe fn MPI_Request_free(request: &mut MPI_Request) {
        if *request == MPI_REQUEST_NULL {
            return Err(fail(MPI_ERR_REQUEST, "request is MPI_REQUEST_NULL"));
        }
        let freed = free(*request)?;
        *request = MPI_REQUEST_NULL;
        freed.map_or(Ok(()), |callback| callback())
    }

    /// Asks whether a request is complete, without freeing it (section 3.7.6).
    safe fn MPI_Request_get_status(request: MPI_Request, flag: Out<'_, c_int>, status: StatusOut<'_>) {
        flag.set(c_int::from(peek_now("MPI_Request_get_status", request, status)?));
        Ok(())
    }

    /// Asks whether all requests are complete, without freeing them (MPI-4.1, section 3.7.6).
    safe fn MPI_Request_get_status_all(count: c_int, array_of_requests: Array<'_, MPI_Request>, flag: Out<'_, c_int>, statuses: StatusArray<'_>) {
        let requests = handles(count, array_of_requests)?;
        flag.set(0);
        for &request in requests {
            if !peek_now("MPI_Request_get_status_all", request, StatusOut::IGNORE)? {
                return Ok(());
            }
        }
        for (index, &request) in requests.iter().enumerate() {
            peek_now("MPI_Request_get_status_all", request, statuses.at(index))?;
        }
        flag.set(1);
        Ok(())
    }

    /// Asks whether any request is complete, without freeing it.
    safe fn MPI_Request_get_status_any(count: c_int, array_of_requests: Array<'_, MPI_Request>, index: Out<'_, c_int>, flag: Out<'_, c_int>, status: StatusOut<'_>) {
        let requests = handles(count, array_of_requests)?;
        let are_inactive = requests.iter().all(is_inactive);
        flag.set(c_int::from(are_inactive));
        index.set(MPI_UNDEFINED);
        for (at, &request) in requests.iter().enumerate() {
            if !is_inactive(&request) && peek_now("MPI_Request_get_status_any", request, status)? {
                flag.set(1);
                index.set(at as c_int);
                return Ok(());
            }
        }
        if are_inactive {
            status.store_empty();
        }
        Ok(())
    }

    /// Asks which requests are complete, without freeing them.
    safe fn MPI_Request_get_status_some(incount: c_int, array_of_requests: Array<'_, MPI_Request>, outcount: Out<'_, c_int>, array_of_indices: OutArray<'_, c_int>, statuses: StatusArray<'_>) {
        let requests = handles(incount, array_of_requests)?;
        array_of_indices.expect_room(requests.len())?;
        let are_inactive = requests.iter().all(is_inactive);
        let mut found = 0;
        for (at, &request) in requests.iter().enumerate() {
            if !is_inactive(&request) && peek_now("MPI_Request_get_status_some", request, statuses.at(found))? {
                array_of_indices.set(found, at as c_int)?;
                found += 1;
            }
        }
        outcount.set(if are_inactive { MPI_UNDEFINED } else { found as c_int });
        Ok(())
    }
}

/// Waits for those from `next` on; the ones before were taken.
#[inline(never)]
fn wait_for_rest(requests: &mut [MPI_Request], statuses: StatusArray<'_>, mut next: usize) -> Result {
    let mut faults = Faults::new(statuses);
    while next < requests.len() {
        let ended = wait_in_order("MPI_Waitall", requests, next)?;
        faults.note(next, ended);
        next += 1;
        next += enter().take_well(&mut requests[next..], statuses.after(next));
    }
    faults.verdict(requests.len())
}

/// A request array of the caller's.
#[inline(always)]
fn slice(count: c_int, requests: OutArray<'_, MPI_Request>) -> Result<&mut [MPI_Request]> {
    requests.of(crate::core::arguments::count("count", count.into())? as usize)
}

/// One that only is looked at.
#[inline(always)]
fn handles(count: c_int, requests: Array<'_, MPI_Request>) -> Result<&[MPI_Request]> {
    requests.of(crate::core::arguments::count("count", count.into())? as usize)
}

/// Waits for one request; `None` if it was null or inactive.
#[inline]
pub(crate) fn wait_one(call: &'static str, request: &mut MPI_Request) -> Result<Option<Ended>> {
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
fn hand_over(ended: Option<Ended>, status: StatusOut<'_>) -> Result {
    let Some(ended) = ended else {
        status.store_empty();
        return Ok(());
    };
    status.store(&ended.status);
    ended.error.map_or(Ok(()), Err)
}

/// What a search through several requests has found.
struct FoundRequest {
    /// The request, or `None` if all are null or inactive.
    index: Option<usize>,
    progress: Progress,
}

/// The first request that is complete; nothing while all that are active go on.
fn first_complete(process: &mut Process, requests: &mut [MPI_Request]) -> Option<Result<FoundRequest>> {
    let mut active = false;
    for (index, request) in requests.iter_mut().enumerate() {
        match process.progress(request) {
            Err(error) => return Some(Err(error)),
            Ok(Progress::Pending) => active = true,
            Ok(Progress::Inactive) => {}
            Ok(progress) => return Some(Ok(FoundRequest { index: Some(index), progress })),
        }
    }
    (!active).then_some(Ok(FoundRequest { index: None, progress: Progress::Inactive }))
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

impl WaitEvent for AnyOf<'_> {
    type News = Result<FoundRequest>;

    fn waiting(&self, process: &Process) -> Waiting {
        Several::new(self.call, self.requests).waiting(process)
    }

    #[inline]
    fn look(&mut self, process: &mut Process) -> Option<Result<FoundRequest>> {
        first_complete(process, self.requests)
    }
}

fn settle_any(found: FoundRequest, requests: &mut [MPI_Request]) -> Result<(Option<usize>, Option<Ended>)> {
    let Some(index) = found.index else { return Ok((None, None)) };
    let ended = settle(found.progress, &mut requests[index])?;
    Ok((Some(index), ended))
}

fn take_any(
    (found, ended): (Option<usize>, Option<Ended>),
    index: Out<'_, c_int>,
    status: StatusOut<'_>,
) -> Result {
    index.set(found.map_or(MPI_UNDEFINED, |at| at as c_int));
    hand_over(ended, status)
}

/// Takes every request that is complete now, beside one that was taken before.
fn take_some(
    first: Option<(Option<usize>, Option<Ended>)>,
    requests: &mut [MPI_Request],
    outcount: Out<'_, c_int>,
    indices: OutArray<'_, c_int>,
    statuses: StatusArray<'_>,
) -> Result {
    indices.expect_room(requests.len())?;
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
            indices.set(taken, at as c_int)?;
            faults.note(taken, Some(ended));
            taken += 1;
        }
    }
    outcount.set(taken as c_int);
    faults.verdict(taken)
}

/// The statuses of a call that completes several requests, and the errors among them (section 3.2.5).
struct Faults<'a> {
    statuses: StatusArray<'a>,
    failed: Vec<(usize, c_int)>,
    /// The first error: its communicator's handler hears of all.
    first: Option<Box<Error>>,
}

impl<'a> Faults<'a> {
    fn new(statuses: StatusArray<'a>) -> Self {
        Faults { statuses, failed: Vec::new(), first: None }
    }

    fn note(&mut self, index: usize, ended: Option<Ended>) {
        let Some(Ended { status, error }) = ended else { return self.statuses.at(index).store_empty() };
        self.statuses.at(index).store(&status);
        if let Some(error) = error {
            self.failed.push((index, error.code()));
            self.first.get_or_insert(error);
        }
    }

    fn verdict(self, count: usize) -> Result {
        let Some(first) = self.first else { return Ok(()) };
        for index in 0..count {
            let code = self.failed.iter().find(|(at, _)| *at == index).map_or(MPI_SUCCESS, |&(_, code)| code);
            self.statuses.at(index).set_error(code);
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
fn peek_now(call: &'static str, request: MPI_Request, status: StatusOut<'_>) -> Result<bool> {
    if is_inactive(&request) {
        status.store_empty();
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
    status.store(&shown);
    Ok(true)
}

impl Process {
    /// What a handle of a plain message stands for; `None` if it is another kind of request.
    #[inline]
    pub(crate) fn plain(&mut self, request: MPI_Request) -> Result<Option<StartedMessage>> {
        let Some(id) = plain_id(request) else { return Ok(None) };
        if self.engine()?.exists(id) {
            Ok(Some(StartedMessage::Pending(id)))
        } else {
            Err(no_request(request))
        }
    }

    /// Whether a completion call would end for this request.
    fn is_complete(&mut self, request: MPI_Request) -> Result<bool> {
        if let Some(started) = self.plain(request)? {
            return Ok(self.peek_started(started).is_some());
        }
        if request == MPI_REQUEST_NULL {
            return Ok(true);
        }
        self.with_request(request, |object, process| object.is_complete(process))
    }

    fn is_inactive(&self, request: MPI_Request) -> bool {
        self.objects.requests.get(request).is_some_and(|object| object.is_inactive())
    }

    /// The status of a complete request; `None` if the program has to be asked.
    fn peek(&mut self, request: MPI_Request) -> Result<Option<MPI_Status>> {
        if let Some(started) = self.plain(request)? {
            let status = self.peek_started(started);
            return Ok(Some(status.map_or(MPI_Status::EMPTY, |status| status::from_engine(&status))));
        }
        let object = self.objects.requests.get(request);
        Ok(object.map_or(Some(MPI_Status::EMPTY), |object| object.status(self)))
    }
}

/// Frees a request; what is left to do without the lock is given back.
fn free(request: MPI_Request) -> Result<Option<Callback>> {
    let mut process = enter();
    if let Some(started) = process.plain(request)? {
        process.detach_started(started);
        return Ok(None);
    }
    process.objects.requests.get(request).ok_or_else(|| no_request(request))?.may_be_freed()?;
    let object = process.objects.requests.lift(request).ok_or_else(|| no_request(request))?;
    let left_to_do = object.free(&mut process, request);
    // A generalized one that is not complete has put itself back.
    if process.objects.requests.get(request).is_none() {
        process.objects.requests.release(request);
    }
    left_to_do
}
