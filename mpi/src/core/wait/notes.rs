//! What a report says beside the call in which a rank stands: what else is under way, and what has come and
//! matches nothing.

use super::publish::called;
use super::waiting::Waiting;
use crate::comm::object::Lane;
use crate::core::process::Process;
use crate::limits::{BOARD_ITEMS_MAX, BOARD_LOOKED_AT_MAX};
use crate::p2p::request::handle_of;
use std::collections::HashSet;
use tern_abi::MPI_Request;
use tern_engine::engine::Description;
use tern_engine::{ANY_SOURCE, ANY_TAG, Unclaimed};
use tern_job::status_page::{ANY_PEER, ANY_TAG as ANY_TAG_OF_BOARD};

/// Characters of a communicator's name among several.
const NAME_CHARS_MAX: usize = 40;

/// The lines for these waits, the longest first.
pub(super) fn notes(process: &Process, waits: &[&Waiting]) -> String {
    let (unclaimed, more) = unclaimed(process);
    let further = waits.first().map(|wait| wait.further.clone());
    let mismatch = waits.iter().find_map(|wait| mismatch(process, wait, &unclaimed));
    let lines = [further, mismatch, not_matched(process, &unclaimed, more), also_pending(process, waits)];
    lines.into_iter().flatten().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// What is under way: a message, or the request of something else.
pub(crate) type Item = Result<Description, MPI_Request>;

/// `a; b (5 times); and 3 more`.
pub(crate) fn listed<T: PartialEq>(items: impl Iterator<Item = T>, say: impl Fn(&T) -> String) -> String {
    let mut runs: Vec<(T, usize)> = Vec::new();
    for item in items {
        match runs.last_mut() {
            Some((last, count)) if *last == item => *count += 1,
            _ => runs.push((item, 1)),
        }
    }
    let times = |count: usize| if count > 1 { format!(" ({count} times)") } else { String::new() };
    let shown = runs.iter().take(BOARD_ITEMS_MAX).map(|(item, count)| say(item) + &times(*count));
    let left: usize = runs.iter().skip(BOARD_ITEMS_MAX).map(|(_, count)| count).sum();
    shown.chain((left > 0).then(|| format!("and {left} more"))).collect::<Vec<_>>().join("; ")
}

/// An item, for a person.
pub(crate) fn said(process: &Process, item: &Item) -> String {
    match item {
        Ok(what) => message(process, what),
        Err(request) => object(process, *request),
    }
}

/// A request that is no message.
fn object(process: &Process, request: MPI_Request) -> String {
    process.objects.requests.get(request).map_or("a request".into(), |object| object.named(process))
}

/// A message under way, for a person.
fn message(process: &Process, what: &Description) -> String {
    let comm = process.objects.comms.of_context(what.context);
    let way = if what.receive { "receive from" } else { "send to" };
    let peer = match what.peer {
        ANY_SOURCE if what.receive => "any rank".into(),
        rank if what.receive => format!("rank {rank}"),
        peer => rank_of(comm.and_then(|comm| comm.peers().rank_of(peer))),
    };
    let tag = if what.tag == ANY_TAG { "any tag".into() } else { format!("tag {}", what.tag) };
    format!("{way} {peer} with {tag} {}, {} bytes", on(process, what.context), what.bytes)
}

fn rank_of(rank: Option<u32>) -> String {
    rank.map_or("another rank".into(), |rank| format!("rank {rank}"))
}

/// The communicator of a context, for a sentence.
pub(crate) fn on(process: &Process, context: u64) -> String {
    match process.objects.comms.of_context(context) {
        Some(comm) => format!("on {}", short(&called(comm))),
        None => "on a communicator that this rank does not have".into(),
    }
}

/// A name that leaves room for others.
fn short(name: &str) -> String {
    if name.chars().count() <= NAME_CHARS_MAX {
        return name.into();
    }
    let start: String = name.chars().take(NAME_CHARS_MAX - 3).collect();
    start + "..."
}

fn is_of_program(context: u64) -> bool {
    context & 3 == Lane::P2p as u64
}

/// Messages of the program's that wait for their receive, and whether there may be more.
fn unclaimed(process: &Process) -> (Vec<Unclaimed>, bool) {
    let mut some = process.engine_ref().map_or(Vec::new(), |engine| engine.unclaimed(BOARD_LOOKED_AT_MAX));
    let more = some.len() >= BOARD_LOOKED_AT_MAX;
    some.retain(|message| is_of_program(message.envelope.context));
    (some, more)
}

fn not_matched(process: &Process, unclaimed: &[Unclaimed], more: bool) -> Option<String> {
    let said = match (unclaimed.len(), more) {
        (0, _) => return None,
        (count, true) => format!("{count} messages or more have come that no receive matches"),
        (1, false) => "1 message has come that no receive matches".into(),
        (count, false) => format!("{count} messages have come that no receive matches"),
    };
    let say = |message: &&Unclaimed| {
        let (source, tag) = (message.envelope.source, message.envelope.tag);
        let place = on(process, message.envelope.context);
        format!("from rank {source} with tag {tag} {place}, {} bytes", message.bytes)
    };
    Some(format!("{said}: {}", listed(unclaimed.iter(), say)))
}

/// Says it plainly where a message has come that differs from what is waited for in one thing only.
fn mismatch(process: &Process, wait: &Waiting, unclaimed: &[Unclaimed]) -> Option<String> {
    let context = wait.context.filter(|_| wait.receives)?;
    let is_from = |message: &Unclaimed| wait.peer == ANY_PEER || wait.peer == message.envelope.source as i32;
    let has_tag = |message: &Unclaimed| wait.tag == ANY_TAG_OF_BOARD || wait.tag == message.envelope.tag;
    let is_on = |message: &Unclaimed| message.envelope.context == context;
    let find = |differs: &dyn Fn(&Unclaimed) -> bool| unclaimed.iter().find(|message| differs(message));
    // One that fits came behind the one that has just ended the wait.
    if find(&|message| is_on(message) && is_from(message) && has_tag(message)).is_some() {
        return None;
    }
    if wait.tag != ANY_TAG_OF_BOARD
        && let Some(found) = find(&|message| is_on(message) && is_from(message))
    {
        let (source, tag) = (found.envelope.source, found.envelope.tag);
        return Some(format!(
            "it waits for tag {}, but the message of rank {source} that is here has tag {tag}",
            wait.tag
        ));
    }
    if wait.peer != ANY_PEER
        && let Some(found) = find(&|message| is_on(message) && has_tag(message))
    {
        let (source, tag) = (found.envelope.source, found.envelope.tag);
        return Some(format!(
            "it waits for rank {}, but the message with tag {tag} that is here is of rank {source}",
            wait.peer
        ));
    }
    let found = find(&|message| !is_on(message) && is_from_same(process, wait, message) && has_tag(message))?;
    let (there, here) = (on(process, found.envelope.context), on(process, context));
    let tag = found.envelope.tag;
    Some(format!("it waits for a message {here}, but the one with tag {tag} that is here was sent {there}"))
}

/// Whether a message on another communicator is from the process that is waited for.
fn is_from_same(process: &Process, wait: &Waiting, message: &Unclaimed) -> bool {
    let comm = wait.context.and_then(|context| process.objects.comms.of_context(context));
    let peer = comm.and_then(|comm| comm.peers().peer(u32::try_from(wait.peer).ok()?));
    wait.peer == ANY_PEER || peer == Some(message.from)
}

/// What is under way beside what is waited for.
fn also_pending(process: &Process, waits: &[&Waiting]) -> Option<String> {
    let waited: HashSet<usize> =
        waits.iter().flat_map(|wait| &wait.requests).map(|request| request.0).collect();
    let mut items = messages(process, &waited);
    items.extend(collectives(process, &waited));
    let more = process.engine_ref().is_some_and(|engine| engine.has_places_beyond(BOARD_LOOKED_AT_MAX));
    let count = match (items.len(), more) {
        (0, _) => return None,
        (count, true) => format!("{count} requests or more are pending beside"),
        (1, false) => "1 request is pending beside".into(),
        (count, false) => format!("{count} requests are pending beside"),
    };
    Some(format!("{count}: {}", listed(items.into_iter(), |item| said(process, item))))
}

/// Messages of the program's under way, but for those that are waited for.
fn messages(process: &Process, waited: &HashSet<usize>) -> Vec<Item> {
    let Some(engine) = process.engine_ref() else { return Vec::new() };
    let pending = engine
        .pending(BOARD_LOOKED_AT_MAX)
        .filter(|(id, what)| is_of_program(what.context) && !waited.contains(&handle_of(*id).0));
    pending.map(|(_, what)| Ok(what)).collect()
}

fn collectives(process: &Process, waited: &HashSet<usize>) -> Vec<Item> {
    let under_way = process.objects.collectives.iter().filter(|request| !waited.contains(&request.0));
    under_way.take(BOARD_LOOKED_AT_MAX).map(|&request| Err(request)).collect()
}
