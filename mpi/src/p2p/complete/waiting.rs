//! What completion calls wait for, in words for a person.

use super::plain_id;
use crate::core::process::Process;
use crate::core::wait::{self, Waiting};
use crate::limits::BOARD_LOOKED_AT_MAX;
use crate::p2p::buffered;
use crate::p2p::request::{Object, handle_of_started};
use tern_abi::*;
use tern_engine::{ANY_SOURCE, ANY_TAG, Started, engine::Description};

/// Several requests that a call waits for.
pub(super) struct Several<'a> {
    pub call: &'static str,
    /// The one before the rest, if it stands apart.
    pub first: Option<MPI_Request>,
    pub rest: &'a [MPI_Request],
    /// How many the program has named.
    pub of: usize,
}

impl<'a> Several<'a> {
    pub fn new(call: &'static str, requests: &'a [MPI_Request]) -> Self {
        Several { call, first: None, rest: requests, of: requests.len() }
    }

    /// The first that is pending, how many are, and some of the others.
    pub fn waiting(&self, process: &Process) -> Waiting {
        let all = self.first.into_iter().chain(self.rest.iter().copied()).take(BOARD_LOOKED_AT_MAX);
        let pending: Vec<MPI_Request> = all.filter(|&request| is_pending(process, request)).collect();
        let Some((&first, others)) = pending.split_first() else { return Waiting::on(self.call) };
        let mut waiting = waiting(process, self.call, first);
        if self.of > 1 {
            let more = if self.rest.len() >= BOARD_LOOKED_AT_MAX { " or more" } else { "" };
            let count = format!("the first of {}{more} pending of {} requests", pending.len(), self.of);
            let detail = Some(waiting.detail).filter(|detail| !detail.is_empty());
            waiting.detail = detail.into_iter().chain([count]).collect::<Vec<_>>().join(", ");
        }
        if !others.is_empty() {
            let items = others.iter().map(|&request| described(process, request).ok_or(request));
            waiting.further = format!("also for: {}", wait::listed(items, |item| wait::said(process, item)));
        }
        waiting.requests.extend(others.iter().flat_map(|&request| parts(process, request)));
        waiting
    }
}

/// What a request waits for.
pub(super) fn waiting(process: &Process, call: &'static str, request: MPI_Request) -> Waiting {
    let requests = parts(process, request);
    let waiting = match process.requests.0.get(request.0).filter(|_| plain_id(request).is_none()) {
        Some(Object::Collective(collective)) => collective.waiting(call),
        Some(Object::Generalized(_)) => for_what(call, "until MPI_Grequest_complete"),
        Some(Object::Flush(_)) => for_what(call, buffered::WAITING),
        _ => waiting_for(process, call, described(process, request)),
    };
    Waiting { requests, ..waiting }
}

/// The message that a request is or, of several, the one that is still under way.
fn described(process: &Process, request: MPI_Request) -> Option<Description> {
    let started = match plain_id(request) {
        Some(id) => Some(Started::Pending(id)),
        None => match process.requests.0.get(request.0)? {
            Object::Persistent(persistent) => persistent.active,
            Object::Pair(pair) => return pair.describe(process),
            _ => None,
        },
    };
    process.describe_started(started?)
}

/// Whether a completion call would wait for it.
fn is_pending(process: &Process, request: MPI_Request) -> bool {
    let goes_on = |started| process.peek_started(started).is_none();
    if let Some(id) = plain_id(request) {
        return goes_on(Started::Pending(id));
    }
    match process.requests.0.get(request.0) {
        Some(Object::Persistent(persistent)) => persistent.active.is_some_and(goes_on),
        Some(Object::Pair(pair)) => !pair.is_complete(process),
        Some(Object::Generalized(generalized)) => !generalized.complete,
        Some(Object::Collective(_)) => process.collectives.contains(&request),
        Some(Object::Flush(_)) => true,
        Some(Object::Ended(_)) | None => false,
    }
}

/// A request, and the messages that it consists of.
fn parts(process: &Process, request: MPI_Request) -> Vec<MPI_Request> {
    let started = match process.requests.0.get(request.0).filter(|_| plain_id(request).is_none()) {
        Some(Object::Persistent(persistent)) => [persistent.active, None],
        Some(Object::Pair(pair)) => pair.parts().map(Some),
        _ => [None, None],
    };
    let messages = started.into_iter().flatten().filter_map(handle_of_started);
    std::iter::once(request).chain(messages).collect()
}

/// Something that belongs to no communicator.
fn for_what(call: &'static str, what: &str) -> Waiting {
    Waiting { detail: what.into(), ..Waiting::on(call) }
}

/// What a message that goes on waits for.
pub(crate) fn waiting_for(process: &Process, call: &'static str, what: Option<Description>) -> Waiting {
    let Some(what) = what else { return Waiting::on(call) };
    let comm = process.comms.of_context(what.context);
    let in_comm = |peer| comm.and_then(|comm| comm.peers().rank_of(peer)).map_or(-1, |rank| rank as i32);
    let peer = match (what.receive, what.peer) {
        (true, ANY_SOURCE) => MPI_ANY_SOURCE,
        (true, rank) => rank as i32,
        (false, peer) => in_comm(peer),
    };
    let tag = if what.tag == ANY_TAG { MPI_ANY_TAG } else { what.tag };
    let detail = if what.receive { "receiving" } else { "sending" };
    let waiting = Waiting::message(call, what.context, peer, tag, what.bytes);
    Waiting { detail: detail.into(), receives: what.receive, ..waiting }
}
