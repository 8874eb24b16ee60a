//! What completion calls wait for, in words for a person.

use super::plain_id;
use crate::core::process::Process;
use crate::core::wait::{self, Waiting};
use crate::limits::BOARD_LOOKED_AT_MAX;
use crate::p2p::request::{Request, handle_of_started, waiting_for};
use tern_abi::*;
use tern_engine::{StartedMessage, engine::Description};

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
    pub(super) fn new(call: &'static str, requests: &'a [MPI_Request]) -> Self {
        Several { call, first: None, rest: requests, of: requests.len() }
    }

    /// The first that is pending, how many are, and some of the others.
    pub(super) fn waiting(&self, process: &Process) -> Waiting {
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
    let waiting = match object(process, request) {
        Some(object) => object.waiting(process, call),
        None => waiting_for(process, call, described(process, request)),
    };
    Waiting { requests, ..waiting }
}

/// A request that is more than one message.
fn object(process: &Process, request: MPI_Request) -> Option<&dyn Request> {
    process.objects.requests.get(request).filter(|_| plain_id(request).is_none())
}

/// The message that a request is or, of several, the one that is still under way.
fn described(process: &Process, request: MPI_Request) -> Option<Description> {
    match plain_id(request) {
        Some(id) => process.describe_started(StartedMessage::Pending(id)),
        None => object(process, request)?.described(process),
    }
}

/// Whether a completion call would wait for it.
fn is_pending(process: &Process, request: MPI_Request) -> bool {
    match plain_id(request) {
        Some(id) => process.peek_started(StartedMessage::Pending(id)).is_none(),
        None => object(process, request).is_some_and(|object| object.is_pending(process, request)),
    }
}

/// A request, and the messages that it consists of.
fn parts(process: &Process, request: MPI_Request) -> Vec<MPI_Request> {
    let started = object(process, request).map_or(Vec::new(), |object| object.parts());
    let messages = started.into_iter().filter_map(handle_of_started);
    std::iter::once(request).chain(messages).collect()
}
