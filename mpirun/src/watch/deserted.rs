//! Ranks that wait for one that has begun to end: it is in `MPI_Finalize`, where it waits for them, and calls nothing else any more.
//!
//! That is said only where nothing else can still happen. All ranks sleep in MPI, none has a thread that could call something
//! else, and nothing is on its way. Within one node a message is there when its sender goes to sleep. Over a network each rank says by
//! how many frames it has sent more than received: the sum over all ranks is what is on its way. Where that is not counted, each rank
//! says how long a message may be on its way, and the wait is that long.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tern_job::procfs::{ProcessStat, threads_beside};
use tern_job::status_page::RankRecord;

/// The call that ends MPI.
const FINALIZE: &str = "MPI_Finalize";
/// The library's own threads have names that begin so; they call nothing.
const OWN_THREADS: &str = "tern-";

/// A rank that ends, and one that waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deserted {
    /// The rank in `MPI_Finalize`.
    pub ends: u32,
    /// A rank that waits in another call.
    pub waits: u32,
    /// That call, and on which communicator.
    pub call: String,
}

/// Where all ranks of a host sleep for good.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stalled {
    /// A rank in `MPI_Finalize`.
    ends: Option<u32>,
    /// A rank in another call, and that call.
    waits: Option<(u32, String)>,
    /// What may still be on its way to them.
    on_the_way: OnTheWay,
}

/// Messages that may still come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OnTheWay {
    /// Some rank has not slept for as long as one could take.
    may_be: bool,
    /// Frames sent less frames received, if all ranks know.
    frames: Option<i64>,
}

impl Default for OnTheWay {
    fn default() -> Self {
        OnTheWay { may_be: false, frames: Some(0) }
    }
}

impl OnTheWay {
    fn and(self, other: OnTheWay) -> OnTheWay {
        let frames = self.frames.zip(other.frames).map(|(these, those)| these.wrapping_add(those));
        OnTheWay { may_be: self.may_be || other.may_be, frames }
    }

    fn is_nothing(self) -> bool {
        !self.may_be || self.frames == Some(0)
    }
}

impl Stalled {
    /// Both hosts.
    pub(crate) fn and(self, other: Stalled) -> Stalled {
        Stalled {
            ends: self.ends.or(other.ends),
            waits: self.waits.or(other.waits),
            on_the_way: self.on_the_way.and(other.on_the_way),
        }
    }

    /// Whether one waits for another, and nothing can come any more.
    pub(crate) fn deserted(self) -> Option<Deserted> {
        let (waits, call) = self.waits.filter(|_| self.on_the_way.is_nothing())?;
        Some(Deserted { ends: self.ends?, waits, call })
    }
}

/// Looks at the records of all ranks of this host that run; nothing, if any may still do something. `now_ns` is the time of
/// [`tern_job::now_ns`]. What a rank has sent that has ended is in no record: then `counts` is false.
pub(crate) fn look(
    ranks: impl Iterator<Item = (u32, RankRecord)>,
    now_ns: u64,
    least: Duration,
    counts: bool,
) -> Option<Stalled> {
    let mut stalled = Stalled::default();
    for (rank, record) in ranks {
        let (call, mut on_the_way) = sleeps_in(&record, now_ns, least)?;
        on_the_way.frames = on_the_way.frames.filter(|_| counts);
        let here = if call == FINALIZE {
            Stalled { ends: Some(rank), waits: None, on_the_way }
        } else {
            Stalled { ends: None, waits: Some((rank, call)), on_the_way }
        };
        stalled = stalled.and(here);
    }
    Some(stalled)
}

/// The call in which a process of one thread has slept for so long, and what may be on its way to it.
fn sleeps_in(record: &RankRecord, now_ns: u64, least: Duration) -> Option<(String, OnTheWay)> {
    let blocked = record.blocked()?;
    let still = Duration::from_nanos(now_ns.saturating_sub(blocked.still_ns));
    let pid = record.pid()?;
    let for_good =
        still >= least && ProcessStat::of(pid)?.state == 'S' && threads_beside(pid, OWN_THREADS) == 1;
    let place = if blocked.comm.is_empty() || blocked.call == FINALIZE {
        blocked.call.to_owned()
    } else {
        format!("{} on {}", blocked.call, blocked.comm)
    };
    let on_the_way = OnTheWay { may_be: still < blocked.delivery, frames: blocked.frames_ahead };
    for_good.then_some((place, on_the_way))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_the_way(may_be: bool, frames: Option<i64>) -> OnTheWay {
        OnTheWay { may_be, frames }
    }

    fn ends(on_the_way: OnTheWay) -> Stalled {
        Stalled { ends: Some(1), waits: None, on_the_way }
    }

    fn waits(on_the_way: OnTheWay) -> Stalled {
        Stalled { ends: None, waits: Some((0, "MPI_Barrier".into())), on_the_way }
    }

    #[test]
    fn frames_that_were_all_received_end_the_wait() {
        let stalled = ends(on_the_way(true, Some(3))).and(waits(on_the_way(true, Some(-3))));
        assert_eq!(stalled.deserted(), Some(Deserted { ends: 1, waits: 0, call: "MPI_Barrier".into() }));
    }

    #[test]
    fn a_frame_on_its_way_is_waited_for() {
        assert_eq!(ends(on_the_way(true, Some(3))).and(waits(on_the_way(false, Some(-2)))).deserted(), None);
    }

    #[test]
    fn who_counts_nothing_sleeps_for_as_long_as_a_message_may_take() {
        let counted = on_the_way(true, Some(0));
        assert_eq!(ends(counted).and(waits(on_the_way(true, None))).deserted(), None);
        assert_eq!(
            ends(on_the_way(false, Some(0))).and(waits(counted.and(on_the_way(true, None)))).deserted(),
            None
        );
        assert!(ends(on_the_way(false, None)).and(waits(on_the_way(false, None))).deserted().is_some());
    }

    #[test]
    fn all_in_the_same_call_wait_for_nobody() {
        assert_eq!(ends(OnTheWay::default()).and(ends(OnTheWay::default())).deserted(), None);
        assert_eq!(waits(OnTheWay::default()).and(waits(OnTheWay::default())).deserted(), None);
    }
}
