//! Where the ranks stand, in words: for a timeout, and for SIGUSR1.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tern_runtime::board::{RankState, Record};
use tern_runtime::procfs::ProcessStat;

use crate::topology::ranges;
use crate::verdict::{End, signal_name};

/// What there is to know about one rank.
#[derive(Debug)]
pub struct Subject {
    /// Its record on the board.
    pub record: Record,
    /// The process that `mpirun` started.
    pub pid: u32,
    /// How it ended, if it did.
    pub end: Option<End>,
}

/// One line for each group of ranks that stand at the same place; `ranks` ascend.
pub fn lines(ranks: Vec<(u32, Standing)>) -> Vec<String> {
    let mut groups: Vec<Group> = Vec::new();
    for (rank, standing) in ranks {
        match groups.iter_mut().find(|group| group.place == standing.place) {
            Some(group) => group.add(rank, standing.time),
            None => groups.push(Group::new(rank, standing)),
        }
    }
    groups.iter().map(Group::line).collect()
}

/// One rank's place, and a time that may differ between ranks at the same place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    place: String,
    time: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Time {
    None,
    /// How long it has been there.
    Waiting(Duration),
    /// How long it has computed in all.
    Cpu(Duration),
}

/// Where a rank of this host stands. `now_ns` is the clock of the board.
pub fn standing(subject: &Subject, now_ns: u64) -> Standing {
    if let Some(end) = subject.end {
        return Standing { place: ended(end, subject.record.state()), time: Time::None };
    }
    if let Some(blocked) = subject.record.blocked() {
        let waited = Duration::from_nanos(now_ns.saturating_sub(blocked.since_ns));
        return Standing { place: printable(&blocked.to_string()), time: Time::Waiting(waited) };
    }
    let place = match subject.record.state() {
        RankState::Absent => "MPI_Init not called yet",
        RankState::Starting => "in MPI_Init",
        RankState::Running | RankState::Blocked => "outside MPI, or in a call for less than 50 ms",
        RankState::Finalized => "MPI_Finalize called",
    };
    match ProcessStat::of(subject.record.pid().unwrap_or(subject.pid)) {
        Some(stat) => Standing { place: format!("{place} ({})", stat.describe()), time: Time::Cpu(stat.cpu) },
        None => Standing { place: place.into(), time: Time::None },
    }
}

fn ended(end: End, state: RankState) -> String {
    let unfinished = matches!(state, RankState::Starting | RankState::Running | RankState::Blocked);
    let note = if unfinished { " without calling MPI_Finalize" } else { "" };
    match end {
        End::Exited(status) => format!("ended with exit status {status}{note}"),
        End::Killed(signal) => format!("killed by signal {signal} ({})", signal_name(signal)),
    }
}

/// Names of communicators come from the program, and must not steer the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

/// Ranks that stand at the same place.
struct Group {
    place: String,
    ranks: Vec<u32>,
    times: Vec<Time>,
}

impl Group {
    fn new(rank: u32, standing: Standing) -> Group {
        Group { place: standing.place, ranks: vec![rank], times: vec![standing.time] }
    }

    fn add(&mut self, rank: u32, time: Time) {
        self.ranks.push(rank);
        self.times.push(time);
    }

    fn line(&self) -> String {
        let noun = if self.ranks.len() == 1 { "rank" } else { "ranks" };
        format!("{noun} {}: {}{}", ranges(&self.ranks), self.place, self.times())
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

/// `3.2 s`, or `3.2 to 4.0 s`.
fn span(times: impl Iterator<Item = Duration> + Clone) -> Option<String> {
    let least = format!("{:.1}", times.clone().min()?.as_secs_f64());
    let most = format!("{:.1}", times.max()?.as_secs_f64());
    Some(if least == most { format!("{least} s") } else { format!("{least} to {most} s") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_runtime::board::{Blocked, NO_PEER, NO_TAG};

    const NOW_NS: u64 = 10_000_000_000;

    fn lines(subjects: &[Subject], now_ns: u64) -> Vec<String> {
        super::lines((0..).zip(subjects.iter().map(|subject| standing(subject, now_ns))).collect())
    }

    fn subject(state: RankState, blocked: Option<Blocked<'_>>) -> Subject {
        // No process has this number, so no times of this machine enter the text.
        Subject { record: Record::new(state, u32::MAX, blocked.as_ref()), pid: u32::MAX, end: None }
    }

    fn blocked(call: &'static str, seconds: f64) -> Blocked<'static> {
        Blocked {
            call,
            peer: NO_PEER,
            tag: NO_TAG,
            comm: "MPI_COMM_WORLD",
            comm_size: 4,
            bytes: None,
            since_ns: NOW_NS - (seconds * 1e9) as u64,
            detail: "",
        }
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
    fn the_ended_are_listed_as_such() {
        let mut ended = subject(RankState::Running, None);
        ended.end = Some(End::Exited(0));
        let mut killed = subject(RankState::Running, None);
        killed.end = Some(End::Killed(9));
        assert_eq!(
            lines(&[ended, killed], NOW_NS),
            [
                "rank 0: ended with exit status 0 without calling MPI_Finalize",
                "rank 1: killed by signal 9 (SIGKILL)"
            ]
        );
    }

    #[test]
    fn a_live_process_shows_its_state() {
        let own =
            Subject { record: Record::new(RankState::Running, std::process::id(), None), pid: 1, end: None };
        let line = &lines(&[own], NOW_NS)[0];
        assert!(line.contains("less than 50 ms (") && line.ends_with("of CPU time so far"), "{line}");
    }
}
