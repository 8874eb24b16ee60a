//! Ranks that wait for one that has begun to end: it is in `MPI_Finalize`, where it waits for them, and calls nothing else any more.
//!
//! That is said only where nothing else can still happen. All ranks sleep in MPI, none has a thread that could call something
//! else, and nothing is on its way. Within one node a message is there when its sender goes to sleep. Over a network it wakes who
//! sleeps, and each rank says how long one may be on its way.

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
}

impl Stalled {
    /// Both hosts.
    pub(crate) fn and(self, other: Stalled) -> Stalled {
        Stalled { ends: self.ends.or(other.ends), waits: self.waits.or(other.waits) }
    }

    /// Whether one waits for another.
    pub(crate) fn deserted(self) -> Option<Deserted> {
        let (waits, call) = self.waits?;
        Some(Deserted { ends: self.ends?, waits, call })
    }
}

/// Looks at the records of all ranks of this host that run; nothing, if any may still do something. `now_ns` is the time of
/// [`tern_job::now_ns`].
pub(crate) fn look(
    ranks: impl Iterator<Item = (u32, RankRecord)>,
    now_ns: u64,
    least: Duration,
) -> Option<Stalled> {
    let mut stalled = Stalled::default();
    for (rank, record) in ranks {
        let call = sleeps_in(&record, now_ns, least)?;
        let here = if call == FINALIZE {
            Stalled { ends: Some(rank), waits: None }
        } else {
            Stalled { ends: None, waits: Some((rank, call)) }
        };
        stalled = stalled.and(here);
    }
    Some(stalled)
}

/// The call in which a process of one thread has slept for longer than anything can be on its way to it.
fn sleeps_in(record: &RankRecord, now_ns: u64, least: Duration) -> Option<String> {
    let blocked = record.blocked()?;
    let still = Duration::from_nanos(now_ns.saturating_sub(blocked.still_ns));
    let pid = record.pid()?;
    let for_good = still >= least.max(blocked.delivery)
        && ProcessStat::of(pid)?.state == 'S'
        && threads_beside(pid, OWN_THREADS) == 1;
    let place = if blocked.comm.is_empty() || blocked.call == FINALIZE {
        blocked.call.to_owned()
    } else {
        format!("{} on {}", blocked.call, blocked.comm)
    };
    for_good.then_some(place)
}
