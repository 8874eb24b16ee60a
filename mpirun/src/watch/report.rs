//! Where the ranks stand, in words: for a timeout, and for SIGUSR1.

mod hints;

pub(crate) use hints::hints;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tern_job::procfs::ProcessStat;
use tern_job::status_page::{Blocked, NO_PEER, RankRecord, RankState};

use crate::limits::{ASKED_LATELY, NOTES_MAX};
use crate::watch::exit_cause::{End, signal_name};

/// What there is to know about one rank.
#[derive(Debug)]
pub(crate) struct Subject {
    /// Its record on the status page.
    pub record: RankRecord,
    /// The process that `mpirun` started.
    pub pid: u32,
    /// How it ended, if it did.
    pub end: Option<End>,
}

/// One line for each group of ranks that stand at the same place, and what there is to know beside it; `ranks` ascend.
pub(crate) fn lines(ranks: Vec<(u32, Standing)>) -> Vec<String> {
    let mut groups: Vec<RanksAtPlace> = Vec::new();
    for (rank, standing) in ranks {
        match groups.iter_mut().find(|group| group.is_of(&standing)) {
            Some(group) => group.add(rank, standing.time),
            None => groups.push(RanksAtPlace::new(rank, standing)),
        }
    }
    groups.iter().flat_map(RanksAtPlace::lines).collect()
}

/// One rank's place, and a time that may differ between ranks at the same place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Standing {
    place: String,
    time: Time,
    /// What else is under way there: a line each.
    notes: Vec<String>,
    /// The collective in which it is, if it is in one.
    collective: Option<ReportedCollective>,
}

/// A collective as one rank has called it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ReportedCollective {
    /// Its name.
    name: String,
    /// Which of the communicator's it is, if that is known.
    number: Option<u32>,
    /// The communicator: what tells it from others, its name, and its size.
    context: u64,
    comm: String,
    size: u32,
    root: i32,
    bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Time {
    None,
    /// How long it has been there.
    Waiting(Duration),
    /// How long it has computed in all.
    Cpu(Duration),
}

/// Where a rank of this host stands. `now_ns` is the clock of the status page.
pub(crate) fn standing(subject: &Subject, now_ns: u64) -> Standing {
    if let Some(end) = subject.end {
        return Standing::at(ended(end, subject.record.state()), Time::None);
    }
    let polling = subject.record.polling();
    let asked =
        polling.and_then(|polling| Some(Duration::from_nanos(now_ns.saturating_sub(polling.asked_ns?))));
    let lately = polling.filter(|_| asked.is_some_and(|asked| asked < ASKED_LATELY));
    if let Some(call) = subject.record.blocked().or(lately) {
        return Standing::in_call(&call, now_ns);
    }
    let mut standing = without_call(subject);
    if let (Some(polling), Some(asked)) = (polling, asked) {
        let last = printable(&format!("in MPI last {:.1} s ago: {polling}", asked.as_secs_f64()));
        standing.notes = std::iter::once(last).chain(notes(&polling)).collect();
    }
    standing
}

impl Standing {
    fn at(place: String, time: Time) -> Standing {
        Standing { place, time, notes: Vec::new(), collective: None }
    }

    /// The communicator of the collective in which the rank is.
    fn context(&self) -> Option<u64> {
        self.collective.as_ref().map(|collective| collective.context)
    }

    fn in_call(call: &Blocked<'_>, now_ns: u64) -> Standing {
        let waited = Duration::from_nanos(now_ns.saturating_sub(call.since_ns));
        let is_collective = !call.collective.is_empty() && call.peer == NO_PEER;
        let collective = is_collective.then(|| ReportedCollective {
            name: printable(call.collective),
            number: call.number,
            context: call.context,
            comm: printable(call.comm),
            size: call.comm_size,
            root: call.root,
            bytes: call.bytes,
        });
        let (place, time) = (printable(&call.to_string()), Time::Waiting(waited));
        Standing { place, time, notes: notes(call).collect(), collective }
    }
}

fn notes(call: &Blocked<'_>) -> impl Iterator<Item = String> {
    call.notes.lines().take(NOTES_MAX).map(printable)
}

/// Where a rank stands that is in no call, or has been in one for a moment only.
fn without_call(subject: &Subject) -> Standing {
    let place = match subject.record.state() {
        RankState::Absent => "MPI_Init not called yet",
        RankState::Starting => "in MPI_Init",
        RankState::Running | RankState::Blocked | RankState::Polling => {
            "outside MPI, or in a call for less than 50 ms"
        }
        RankState::Finalized => "MPI_Finalize called",
        RankState::Aborted => "has aborted",
    };
    match ProcessStat::of(subject.record.pid().unwrap_or(subject.pid)) {
        Some(stat) => Standing::at(format!("{place} ({})", stat.describe()), Time::Cpu(stat.cpu)),
        None => Standing::at(place.into(), Time::None),
    }
}

fn ended(end: End, state: RankState) -> String {
    let unfinished = !matches!(state, RankState::Absent | RankState::Finalized);
    let note = if unfinished { " without calling MPI_Finalize, or with a session open" } else { "" };
    match end {
        End::Exited(status) => format!("ended with exit status {status}{note}"),
        End::Killed(signal) => format!("killed by signal {signal} ({})", signal_name(signal)),
        End::Unseen => "ended, and how is unknown".into(),
    }
}

/// Names of communicators come from the program, and must not steer the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

/// Ranks that stand at the same place.
struct RanksAtPlace {
    place: String,
    /// The communicator, if they are in a collective: others may have the same name.
    context: Option<u64>,
    notes: Vec<String>,
    ranks: Vec<u32>,
    times: Vec<Time>,
}

impl RanksAtPlace {
    fn new(rank: u32, standing: Standing) -> RanksAtPlace {
        let context = standing.context();
        let Standing { place, time, notes, .. } = standing;
        RanksAtPlace { place, context, notes, ranks: vec![rank], times: vec![time] }
    }

    fn is_of(&self, standing: &Standing) -> bool {
        self.place == standing.place && self.context == standing.context() && self.notes == standing.notes
    }

    fn add(&mut self, rank: u32, time: Time) {
        self.ranks.push(rank);
        self.times.push(time);
    }

    fn lines(&self) -> impl Iterator<Item = String> {
        let line = format!("{}: {}{}", named(&self.ranks), self.place, self.times());
        std::iter::once(line).chain(self.notes.iter().map(|note| format!("  {note}")))
    }

    fn times(&self) -> String {
        let collect = |pick: fn(&Time) -> Option<Duration>| span(self.times.iter().filter_map(pick));
        let waiting = collect(|time| if let Time::Waiting(time) = time { Some(*time) } else { None });
        let cpu = collect(|time| if let Time::Cpu(time) = time { Some(*time) } else { None });
        match (waiting, cpu) {
            (Some(waiting), _) => format!(", for {waiting}"),
            (None, Some(cpu)) => format!(", {cpu} of CPU time so far"),
            (None, None) => String::new(),
        }
    }
}

/// `rank 3`, or `ranks 0-2,5`.
fn named(ranks: &[u32]) -> String {
    format!("{} {}", if ranks.len() == 1 { "rank" } else { "ranks" }, tern_job::ranges::to_text(ranks))
}

/// `3.2 s`, or `3.2 to 4.0 s`.
fn span(times: impl Iterator<Item = Duration> + Clone) -> Option<String> {
    let least = format!("{:.1}", times.clone().min()?.as_secs_f64());
    let most = format!("{:.1}", times.max()?.as_secs_f64());
    Some(if least == most { format!("{least} s") } else { format!("{least} to {most} s") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_NS: u64 = 10_000_000_000;

    fn lines(subjects: &[Subject], now_ns: u64) -> Vec<String> {
        super::lines((0..).zip(subjects.iter().map(|subject| standing(subject, now_ns))).collect())
    }

    fn subject(state: RankState, blocked: Option<Blocked<'_>>) -> Subject {
        // No process has this number, so no times of this machine enter the text.
        Subject { record: RankRecord::new(state, u32::MAX, blocked.as_ref()), pid: u32::MAX, end: None }
    }

    fn blocked(call: &'static str, seconds: f64) -> Blocked<'static> {
        let since_ns = NOW_NS - (seconds * 1e9) as u64;
        Blocked { comm: "MPI_COMM_WORLD", comm_size: 4, since_ns, ..Blocked::on(call) }
    }

    #[test]
    fn ranks_at_the_same_place_share_a_line() {
        let barrier = |seconds| subject(RankState::Blocked, Some(blocked("MPI_Barrier", seconds)));
        let receive = Blocked { peer: 2, tag: 7, bytes: Some(8), detail: "a\nb", ..blocked("MPI_Recv", 1.0) };
        let subjects = [
            barrier(3.2),
            subject(RankState::Blocked, Some(receive)),
            barrier(3.21),
            barrier(4.0),
            subject(RankState::Absent, None),
        ];
        assert_eq!(
            lines(&subjects, NOW_NS),
            [
                "ranks 0,2-3: in MPI_Barrier, on MPI_COMM_WORLD of 4 ranks, for 3.2 to 4.0 s",
                "rank 1: in MPI_Recv, peer 2, tag 7, on MPI_COMM_WORLD of 4 ranks, 8 bytes, a?b, for 1.0 s",
                "rank 4: MPI_Init not called yet",
            ]
        );
    }

    #[test]
    fn what_is_under_way_beside_has_lines_of_its_own() {
        let waits = |notes| Some(Blocked { peer: 1, notes, ..blocked("MPI_Recv", 1.0) });
        let ranks =
            ["one\ntw\u{7}o", "one\ntw\u{7}o", ""].map(|notes| subject(RankState::Blocked, waits(notes)));
        let place = "in MPI_Recv, peer 1, on MPI_COMM_WORLD of 4 ranks, for 1.0 s";
        assert_eq!(
            lines(&ranks, NOW_NS),
            [&format!("ranks 0-1: {place}"), "  one", "  tw?o", &format!("rank 2: {place}")]
        );
    }

    #[test]
    fn who_asks_again_and_again_is_told_from_who_did_so_once() {
        let asks = |ago_ms: u64| {
            let asked_ns = Some(NOW_NS - ago_ms * 1_000_000);
            let place = Blocked { asked_ns, peer: 1, tag: 5, notes: "more", ..blocked("MPI_Test", 3.0) };
            subject(RankState::Polling, Some(place))
        };
        let place = "polling in MPI_Test, peer 1, tag 5, on MPI_COMM_WORLD of 4 ranks";
        assert_eq!(
            lines(&[asks(60), asks(2000)], NOW_NS),
            [
                &format!("rank 0: {place}, for 3.0 s"),
                "  more",
                "rank 1: outside MPI, or in a call for less than 50 ms",
                &format!("  in MPI last 2.0 s ago: {place}"),
                "  more",
            ]
        );
    }

    #[test]
    fn the_ended_are_listed_as_such() {
        let mut ended = subject(RankState::Running, None);
        ended.end = Some(End::Exited(0));
        let mut killed = subject(RankState::Running, None);
        killed.end = Some(End::Killed(9));
        assert_eq!(
            lines(&[ended, killed], NOW_NS),
            [
                "rank 0: ended with exit status 0 without calling MPI_Finalize, or with a session open",
                "rank 1: killed by signal 9 (SIGKILL)"
            ]
        );
    }

    #[test]
    fn a_live_process_shows_its_state() {
        let own = Subject {
            record: RankRecord::new(RankState::Running, std::process::id(), None),
            pid: 1,
            end: None,
        };
        let line = &lines(&[own], NOW_NS)[0];
        assert!(line.contains("less than 50 ms (") && line.ends_with("of CPU time so far"), "{line}");
    }
}
