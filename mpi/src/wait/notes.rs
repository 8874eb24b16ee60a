//! What a report says beside the call in which a rank stands: what else is under way, and what has come and
//! matches nothing.

use super::asleep::{Waiting, called};
use crate::comm::Lane;
use crate::limits::{BOARD_ITEMS_MAX, BOARD_LOOKED_AT_MAX};
use crate::process::Process;
use crate::request::{Object, handle_of};
use std::collections::HashSet;
use tern_abi::MPI_Request;
use tern_engine::engine::Description;
use tern_engine::{ANY_SOURCE, ANY_TAG, Unclaimed};
use tern_runtime::board::{ANY_PEER, ANY_TAG as ANY_TAG_OF_BOARD};

/// The lines for these waits, the longest first.
pub(super) fn notes(process: &Process, waits: &[&Waiting]) -> String {
    let unclaimed = unclaimed(process);
    let further = waits.first().map(|wait| wait.further.clone());
    let mismatch = waits.iter().find_map(|wait| mismatch(process, wait, &unclaimed));
    let lines = [further, mismatch, not_matched(process, &unclaimed), also_pending(process, waits)];
    lines.into_iter().flatten().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// `a; b; and 3 more`.
pub(crate) fn listed(items: impl Iterator<Item = String>, count: usize) -> String {
    let mut shown: Vec<String> = items.take(BOARD_ITEMS_MAX).collect();
    let left = count.saturating_sub(shown.len());
    shown.extend((left > 0).then(|| format!("and {left} more")));
    shown.join("; ")
}

/// A message under way, for a person.
pub(crate) fn message(process: &Process, what: &Description) -> String {
    let comm = process.comms.of_context(what.context);
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

fn on(process: &Process, context: u64) -> String {
    match process.comms.of_context(context) {
        Some(comm) => format!("on {}", called(comm)),
        None => "on a communicator that this rank does not have".into(),
    }
}

fn is_of_program(context: u64) -> bool {
    context & 3 == Lane::P2p as u64
}

/// Messages of the program's that wait for their receive.
fn unclaimed(process: &Process) -> Vec<Unclaimed> {
    let mut all = process.engine_ref().map_or(Vec::new(), |engine| engine.unclaimed(BOARD_LOOKED_AT_MAX));
    all.retain(|message| is_of_program(message.envelope.context));
    all
}

fn not_matched(process: &Process, unclaimed: &[Unclaimed]) -> Option<String> {
    let shown = unclaimed.iter().map(|message| {
        let (source, tag) = (message.envelope.source, message.envelope.tag);
        format!(
            "from rank {source} with tag {tag} {}, {} bytes",
            on(process, message.envelope.context),
            message.bytes
        )
    });
    let said = match unclaimed.len() {
        0 => return None,
        1 => "1 message has come that no receive matches".into(),
        count if count >= BOARD_LOOKED_AT_MAX => {
            format!("{count} messages and more have come that no receive matches")
        }
        count => format!("{count} messages have come that no receive matches"),
    };
    Some(format!("{said}: {}", listed(shown, unclaimed.len())))
}

/// Says it plainly where a message has come that differs from what is waited for in one thing only.
fn mismatch(process: &Process, wait: &Waiting, unclaimed: &[Unclaimed]) -> Option<String> {
    let context = wait.context.filter(|_| wait.receives)?;
    let is_from = |message: &Unclaimed| wait.peer == ANY_PEER || wait.peer == message.envelope.source as i32;
    let has_tag = |message: &Unclaimed| wait.tag == ANY_TAG_OF_BOARD || wait.tag == message.envelope.tag;
    let is_on = |message: &Unclaimed| message.envelope.context == context;
    let find = |differs: &dyn Fn(&Unclaimed) -> bool| unclaimed.iter().find(|message| differs(message));
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
    let comm = wait.context.and_then(|context| process.comms.of_context(context));
    let peer = comm.and_then(|comm| comm.peers().peer(u32::try_from(wait.peer).ok()?));
    wait.peer == ANY_PEER || peer == Some(message.from)
}

/// What is under way beside what is waited for.
fn also_pending(process: &Process, waits: &[&Waiting]) -> Option<String> {
    let waited: HashSet<usize> =
        waits.iter().flat_map(|wait| &wait.requests).map(|request| request.0).collect();
    let (messages, collectives) = (messages(process, &waited), collectives(process, &waited));
    let count = messages.len() + collectives.len();
    let said = match count {
        0 => return None,
        1 => "1 request is pending beside".into(),
        count if count >= BOARD_LOOKED_AT_MAX => format!("{count} requests and more are pending beside"),
        count => format!("{count} requests are pending beside"),
    };
    let messages = messages.iter().map(|what| message(process, what));
    let collectives = collectives.iter().map(|&request| collective(process, request));
    Some(format!("{said}: {}", listed(messages.chain(collectives), count)))
}

/// Messages of the program's under way, but for those that are waited for.
fn messages(process: &Process, waited: &HashSet<usize>) -> Vec<Description> {
    let Some(engine) = process.engine_ref() else { return Vec::new() };
    let pending = engine
        .pending(BOARD_LOOKED_AT_MAX)
        .filter(|(id, what)| is_of_program(what.context) && !waited.contains(&handle_of(*id).0));
    pending.map(|(_, what)| what).collect()
}

fn collectives(process: &Process, waited: &HashSet<usize>) -> Vec<MPI_Request> {
    let under_way = process.collectives.iter().filter(|request| !waited.contains(&request.0));
    under_way.take(BOARD_LOOKED_AT_MAX).copied().collect()
}

/// A collective under way, for a person.
pub(crate) fn collective(process: &Process, request: MPI_Request) -> String {
    let Some(Object::Collective(collective)) = process.requests.0.get(request.0) else {
        return "a collective".into();
    };
    let waiting = collective.waiting("");
    let name = if waiting.collective.is_empty() { "a collective" } else { waiting.collective };
    waiting.context.map_or(name.into(), |context| format!("{name} {}", on(process, context)))
}
