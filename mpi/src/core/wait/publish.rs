//! What threads that have slept long wait for, on the status page for a person to read.

use super::asleep::Wait;
use super::notes;
use super::waiting::{CallNumber, Waiting};
use crate::comm::object::Comm;
use crate::core::process::Process;
use crate::limits::{BOARD_FURTHER_THREADS_MAX, COLLECTIVE_TAGS};
use std::time::Duration;
use tern_fabric::limits::UNKNOWN_DELIVERY;
use tern_io::Workers;
use tern_job::Blocked;

/// A thread of this process goes on sleeping in a call: how long that has lasted, and how long nothing has come. Answers with what
/// [`end`] wants to know.
pub(super) fn begin(process: &mut Process, waiting: Waiting, waited: Duration, still: Duration) -> u64 {
    let now_ns = tern_job::now_ns();
    let before = |time: Duration| now_ns.saturating_sub(time.as_nanos() as u64);
    let number = process.waiting.asleep.begin(waiting, before(waited), before(still));
    publish_longest(process);
    number
}

/// It was woken.
pub(super) fn end(process: &mut Process, number: u64) {
    process.waiting.asleep.end(number);
    publish_longest(process);
}

/// Puts the wait that has lasted longest on the status page, with those of other threads beside it.
fn publish_longest(process: &Process) {
    let Some(status_page) = process.job.as_ref().and_then(|job| job.status_page.as_ref()) else { return };
    let Some((longest, further)) = process.waiting.asleep.waits.split_first() else {
        return status_page.clear();
    };
    let detail = with_further(&longest.waiting.detail, further, process);
    let waits: Vec<&Waiting> = process.waiting.asleep.waits.iter().map(|wait| &wait.waiting).collect();
    let notes = notes::notes(process, &waits);
    let (delivery, frames_ahead) = on_the_way(process);
    with_blocked(&longest.waiting, &detail, process, |blocked| {
        let (since_ns, still_ns) = (longest.since_ns, longest.still_ns);
        status_page.publish(&Blocked {
            since_ns,
            still_ns,
            delivery,
            frames_ahead,
            notes: &notes,
            ..*blocked
        });
    });
}

/// How long what may still come to this rank may be on its way, and how many frames of its own are. What another world does, or the
/// disk, nobody can know.
fn on_the_way(process: &Process) -> (Duration, Option<i64>) {
    let is_unknown = process.waiting.asleep.waits.iter().any(|wait| wait.waiting.from_outside);
    if is_unknown || process.objects.files.workers.as_ref().is_some_and(Workers::are_busy) {
        return (UNKNOWN_DELIVERY, None);
    }
    let transport = process.engine_ref().map(|engine| engine.transport_ref());
    let delivery = transport.map_or(Duration::ZERO, |transport| transport.delivery_max());
    (delivery, transport.and_then(|transport| transport.frames_ahead()))
}

/// Whether any thread sleeps in a call that stands on the status page.
pub(super) fn is_anybody(process: &Process) -> bool {
    !process.waiting.asleep.waits.is_empty()
}

/// What is said of a wait beside its call, and the calls of other threads.
fn with_further(detail: &str, further: &[Wait], process: &Process) -> String {
    let thread = |wait: &Wait| {
        with_blocked(&wait.waiting, &wait.waiting.detail, process, |blocked| {
            format!("another thread {blocked}")
        })
    };
    let threads = further.iter().take(BOARD_FURTHER_THREADS_MAX).map(thread);
    let left = further.len().saturating_sub(BOARD_FURTHER_THREADS_MAX);
    let rest = (left > 0).then(|| format!("and {left} more"));
    let own = Some(detail.to_owned()).filter(|detail| !detail.is_empty());
    own.into_iter().chain(threads).chain(rest).collect::<Vec<_>>().join("; ")
}

/// Shows a wait as the status page has it, but for its times and notes.
pub(super) fn with_blocked<T>(
    waiting: &Waiting,
    detail: &str,
    process: &Process,
    show: impl FnOnce(&Blocked<'_>) -> T,
) -> T {
    let comm = waiting.context.and_then(|context| process.objects.comms.of_context(context));
    show(&Blocked {
        collective: waiting.collective,
        number: comm.and_then(|comm| numbered(waiting.number, comm)),
        peer: waiting.peer,
        tag: waiting.tag,
        root: waiting.root,
        context: comm.map_or(0, |comm| comm.context),
        comm: &comm.map_or(String::new(), called),
        comm_size: comm.map_or(0, |comm| comm.group.size()),
        bytes: waiting.bytes,
        detail,
        ..Blocked::on(waiting.call)
    })
}

fn numbered(number: CallNumber, comm: &Comm) -> Option<u32> {
    match number {
        CallNumber::Unknown => None,
        CallNumber::Is(number) => Some(number),
        CallNumber::Last => Some((comm.collectives + COLLECTIVE_TAGS - 1) % COLLECTIVE_TAGS),
        CallNumber::Next => Some(comm.collectives),
    }
}

/// What a report calls a communicator, before it says how many ranks this side of it has.
pub(super) fn called(comm: &Comm) -> String {
    let name = |otherwise| if comm.name.is_empty() { otherwise } else { comm.name.as_str() };
    match &comm.remote {
        None => name("a communicator").into(),
        Some(remote) => format!("{} (to a group of {})", name("an intercommunicator"), remote.size()),
    }
}
