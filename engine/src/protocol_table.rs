//! The protocols as a table that a person can read. It asks the rules of [`crate::protocol`] about all lengths, modes and buffers.

use crate::limits::CREDIT_UNIT_BYTES;
use crate::protocol::{
    EagerLimits, Mode, OutgoingMessage, RendezvousMethod, begins_as, choose, yields_to_fragments,
};
use crate::request::Outgoing;
use crate::settings::EngineSettings;
use std::ops::RangeInclusive;
use tern_transport::{AM_INLINE_BYTES_MAX, Limits};

/// One protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProtocolRow {
    /// Its name; in brackets, the name in the T3D paper.
    pub name: &'static str,
    /// When it is used.
    pub when: String,
    /// Its steps.
    pub steps: &'static str,
}

/// The protocols towards a peer with these limits, to which the transport sends at most so many bytes at once without a copy.
pub fn table(
    settings: &EngineSettings,
    limits: &Limits,
    zero_copy_eager_bytes_max: usize,
) -> Vec<ProtocolRow> {
    let mut rows = beginnings(settings, limits, zero_copy_eager_bytes_max);
    rows.extend(rendezvous(settings, limits));
    rows.extend(windows(limits));
    rows
}

/// How a message begins, as a person tells it apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Beginning {
    Short,
    ShortSync,
    Eager,
    ZeroCopy,
    Request,
}

impl Beginning {
    fn of(outgoing: Outgoing, len: usize) -> Beginning {
        match outgoing {
            Outgoing::Eager { .. } if len <= AM_INLINE_BYTES_MAX => Beginning::Short,
            Outgoing::Eager { .. } => Beginning::Eager,
            Outgoing::ZeroCopy { .. } => Beginning::ZeroCopy,
            Outgoing::EagerSync => Beginning::ShortSync,
            Outgoing::Offer { .. } => Beginning::Request,
        }
    }
}

/// What the sender decides.
fn beginnings(settings: &EngineSettings, limits: &Limits, zero_copy: usize) -> Vec<ProtocolRow> {
    let eager = EagerLimits {
        copied: settings.eager_bytes_max(limits),
        zero_copy: settings.zero_copy_bytes_max(zero_copy),
    };
    let case = |whose, mode, (buffer, contiguous): (&'static str, bool)| {
        let answer = |len| {
            let message = OutgoingMessage { mode, len, signed: settings.check_types };
            Beginning::of(begins_as(message, eager, || contiguous), len)
        };
        ProtocolCase { whose, buffer, stretches: stretches(0, answer) }
    };
    let buffers = [("contiguous", true), ("with gaps", false)];
    let standard = buffers.map(|buffer| case("standard, ready", Mode::Standard, buffer));
    let synchronous = buffers.map(|buffer| case("synchronous", Mode::Synchronous, buffer));
    let cases = [standard, synchronous].concat();
    let credits = settings.window_units() as usize * CREDIT_UNIT_BYTES;
    let all = [
        (Beginning::Short, "short (T)", "header and payload in one piece"),
        (Beginning::ShortSync, "short-sync (TA)", "as short; the receiver answers at the match"),
        (Beginning::Eager, "eager", "header and payload; unexpected-message buffer if no receive is posted"),
        (Beginning::ZeroCopy, "eager, zero-copy", "as eager, out of the sender's buffer"),
        (Beginning::Request, "request", "the receiver chooses one of the ways below"),
    ];
    let rows = all.into_iter().filter_map(|(beginning, name, steps)| {
        let when = told(&cases, beginning);
        match beginning {
            Beginning::Request => {
                let spent = format!("any, once the peer's {credits} B of credits are spent");
                let when = when.map_or(spent.clone(), |when| format!("{when}; {spent}"));
                Some(ProtocolRow { name, when, steps })
            }
            _ => Some(ProtocolRow { name, when: when?, steps }),
        }
    });
    rows.collect()
}

/// What the receiver decides about a request.
fn rendezvous(settings: &EngineSettings, limits: &Limits) -> Vec<ProtocolRow> {
    let buffers = [
        ("both contiguous", true, true),
        ("only the sender contiguous", true, false),
        ("only the receiver contiguous", false, true),
        ("neither contiguous", false, false),
    ];
    let cases = buffers.map(|(buffer, sender, receiver)| {
        let answer = |len| choose(settings, limits, sender, receiver, len as u64);
        // A message without bytes is over when it is matched.
        ProtocolCase { whose: "", buffer, stretches: stretches(1, answer) }
    });
    let others = [
        (
            RendezvousMethod::Cooperative,
            "rendezvous-cooperative",
            "request; both sides copy chunks of one message",
        ),
        (RendezvousMethod::Get, "rendezvous-get (RTA)", "request; the receiver gets; answer"),
        (RendezvousMethod::Put, "rendezvous-put (RAT)", "request; address; the sender puts; answer"),
    ];
    let mut rows = Vec::new();
    let mut stream: Vec<String> = told(&cases, RendezvousMethod::Stream).into_iter().collect();
    for (method, name, steps) in others {
        let Some(when) = told(&cases, method) else { continue };
        rows.push(ProtocolRow { name, when, steps });
        if stream.last().is_none_or(|last| last != MEASURED) && yields_to_fragments(settings, method) {
            stream.push(MEASURED.to_owned());
        }
    }
    if !rows.is_empty() {
        stream.push("where the system refuses to copy".to_owned());
    }
    rows.push(ProtocolRow {
        name: "rendezvous-stream",
        when: stream.join("; "),
        steps: "request; ready; pipelined fragments into the user's buffer",
    });
    rows
}

const MEASURED: &str = "where it is measured to be faster";

/// How accesses to a window's memory go.
fn windows(limits: &Limits) -> Vec<ProtocolRow> {
    let row = |name, when: &str, steps| ProtocolRow { name, when: when.to_owned(), steps };
    if limits.get {
        let direct =
            row("window (direct)", "memory that the library gives out", "copies and atomic instructions");
        let steps = "the kernel copies; elements under the target's lock";
        vec![direct, row("window (kernel)", "memory of the program's own", steps)]
    } else {
        let when = "another host, or the kernel may not copy";
        vec![row("window (message)", when, "active messages, which the target's engine executes")]
    }
}

/// Which way messages of each length go in one case. Cases of one owner differ in their buffers.
#[derive(Clone)]
struct ProtocolCase<A> {
    whose: &'static str,
    buffer: &'static str,
    stretches: Vec<(RangeInclusive<usize>, A)>,
}

/// In which cases, at which lengths, the answer is this one.
fn told<A: Copy + PartialEq>(cases: &[ProtocolCase<A>], answer: A) -> Option<String> {
    let of = |case: &ProtocolCase<A>| {
        let found = case.stretches.iter().find(|(_, found)| *found == answer);
        found.map(|(lengths, _)| lengths.clone())
    };
    let mut parts = Vec::new();
    for alike in cases.chunk_by(|a, b| a.whose == b.whose) {
        if alike.iter().all(|case| of(case) == of(&alike[0])) {
            parts.extend(of(&alike[0]).map(|lengths| part(&[alike[0].whose], &lengths)));
        } else {
            let each = alike.iter().filter_map(|case| Some(part(&[case.whose, case.buffer], &of(case)?)));
            parts.extend(each);
        }
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Says for whom, and which lengths.
fn part(whose: &[&str], lengths: &RangeInclusive<usize>) -> String {
    let lengths = match (*lengths.start(), *lengths.end()) {
        (0 | 1, usize::MAX) => "any length".to_owned(),
        (0 | 1, end) => format!("up to {end} B"),
        (start, usize::MAX) => format!("from {start} B"),
        (start, end) => format!("{start} to {end} B"),
    };
    let words: Vec<&str> = whose.iter().copied().filter(|word| !word.is_empty()).collect();
    if words.is_empty() { lengths } else { format!("{}: {lengths}", words.join(", ")) }
}

/// Lengths from `first` on with the same answer. Each answer has one stretch, as all rules compare a length with limits.
fn stretches<A: Copy + PartialEq>(
    first: usize,
    answer: impl Fn(usize) -> A,
) -> Vec<(RangeInclusive<usize>, A)> {
    let mut found: Vec<(RangeInclusive<usize>, A)> = Vec::new();
    let mut start = first;
    for next in (1..usize::BITS).map(|bits| 1usize << bits).chain([usize::MAX]) {
        while answer(next) != answer(start) {
            let (mut same, mut other) = (start, next);
            while other - same > 1 {
                let middle = same + (other - same) / 2;
                if answer(middle) == answer(start) {
                    same = middle;
                } else {
                    other = middle;
                }
            }
            found.push((start..=same, answer(start)));
            start = other;
        }
    }
    found.push((start..=usize::MAX, answer(start)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Rendezvous;

    const NOTHING: Limits = Limits {
        eager_bytes_max: 1024,
        get: false,
        put: false,
        cooperative_copy: false,
        prefers_send: false,
    };
    const ALL: Limits = Limits { get: true, put: true, cooperative_copy: true, ..NOTHING };

    fn when(settings: &EngineSettings, limits: &Limits, zero_copy: usize, name: &str) -> Option<String> {
        table(settings, limits, zero_copy).into_iter().find(|row| row.name == name).map(|row| row.when)
    }

    #[test]
    fn the_table_has_what_the_transport_can_do() {
        let names = |limits: &Limits| -> Vec<&str> {
            table(&EngineSettings::default(), limits, 0).into_iter().map(|row| row.name).collect()
        };
        let begins = ["short (T)", "short-sync (TA)", "eager", "request"];
        assert_eq!(names(&NOTHING)[..4], begins);
        assert_eq!(names(&NOTHING)[4..], ["rendezvous-stream", "window (message)"]);
        let all =
            ["rendezvous-cooperative", "rendezvous-get (RTA)", "rendezvous-put (RAT)", "rendezvous-stream"];
        assert_eq!(names(&ALL)[4..8], all);
    }

    #[test]
    fn no_step_is_that_of_one_transport_alone() {
        let rows = table(&EngineSettings::default(), &ALL, 1 << 20);
        assert!(rows.iter().all(|row| !row.steps.contains("shared memory")), "{rows:?}");
    }

    #[test]
    fn the_lengths_are_those_of_the_rules() {
        let settings =
            EngineSettings { eager_bytes_max: 100, cooperative_bytes_min: 5000, ..EngineSettings::default() };
        let told = |name| when(&settings, &ALL, 0, name).unwrap_or_default();
        assert_eq!(told("short (T)"), format!("standard, ready: up to {AM_INLINE_BYTES_MAX} B"));
        assert_eq!(told("eager"), format!("standard, ready: {} to 100 B", AM_INLINE_BYTES_MAX + 1));
        assert!(
            told("request").starts_with("standard, ready: from 101 B; synchronous: from 33 B; any, once")
        );
        assert_eq!(told("rendezvous-cooperative"), "both contiguous: from 5000 B");
        let get = "both contiguous: up to 4999 B; only the sender contiguous: any length";
        assert_eq!(told("rendezvous-get (RTA)"), get);
        assert_eq!(told("rendezvous-put (RAT)"), "only the receiver contiguous: any length");
    }

    #[test]
    fn a_forced_way_leaves_the_others_out() {
        let stream = EngineSettings { rendezvous: Rendezvous::Stream, ..EngineSettings::default() };
        for name in ["rendezvous-cooperative", "rendezvous-get (RTA)", "rendezvous-put (RAT)"] {
            assert_eq!(when(&stream, &ALL, 0, name), None, "{name}");
        }
        assert_eq!(when(&stream, &ALL, 0, "rendezvous-stream").as_deref(), Some("any length"));
    }

    #[test]
    fn contiguous_buffers_may_go_without_a_copy() {
        let settings = EngineSettings { eager_bytes_max: 4000, ..EngineSettings::default() };
        let told = |zero_copy, name| when(&settings, &NOTHING, zero_copy, name);
        assert_eq!(told(1024, "eager, zero-copy"), None);
        let zero_copy = "standard, ready, contiguous: 1025 to 4000 B";
        assert_eq!(told(1 << 20, "eager, zero-copy").as_deref(), Some(zero_copy));
        let request = told(1 << 20, "request").unwrap_or_default();
        assert!(request.starts_with(
            "standard, ready, contiguous: from 4001 B; standard, ready, with gaps: from 1025 B; synchronous"
        ));
        let checked = EngineSettings { check_types: true, ..settings.clone() };
        assert_eq!(when(&checked, &NOTHING, 1 << 20, "eager, zero-copy"), None);
        assert_eq!(when(&checked, &NOTHING, 0, "short-sync (TA)"), None);
    }
}
