//! Ranks that wait for one that has begun to end: it is in `MPI_Finalize`, where it waits for them, and calls nothing else any more.
//!
//! That is said only where nothing else can still happen. All ranks sleep in MPI, none has a thread that could call something
//! else, and nothing is on its way: within one machine a message is there when its sender goes to sleep. So jobs on several hosts,
//! and ranks with threads, as over TCP, are left alone.

use std::time::Duration;

use tern_job::procfs::ProcessStat;
use tern_job::status_page::Record;

/// The call that ends MPI.
const FINALIZE: &str = "MPI_Finalize";

/// A rank that ends, and one that waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deserted {
    /// The rank in `MPI_Finalize`.
    pub ends: u32,
    /// A rank that waits in another call.
    pub waits: u32,
    /// That call, and on which communicator.
    pub call: String,
}

/// Looks at the records of all ranks that run. `now_ns` is the time of [`tern_job::status_page::now_ns`].
pub fn find(ranks: impl Iterator<Item = (u32, Record)>, now_ns: u64, least: Duration) -> Option<Deserted> {
    let mut sleepers = Vec::new();
    for (rank, record) in ranks {
        sleepers.push((rank, sleeps_in(&record, now_ns, least)?));
    }
    let (drain, waiting): (Vec<_>, Vec<_>) = sleepers.into_iter().partition(|(_, call)| call == FINALIZE);
    let (ends, _) = drain.into_iter().next()?;
    let (waits, call) = waiting.into_iter().next()?;
    Some(Deserted { ends, waits, call })
}

/// The call in which a process of one thread has slept for long enough.
fn sleeps_in(record: &Record, now_ns: u64, least: Duration) -> Option<String> {
    let blocked = record.blocked()?;
    let slept = Duration::from_nanos(now_ns.saturating_sub(blocked.since_ns));
    let process = ProcessStat::of(record.pid()?)?;
    let for_good = slept >= least && process.state == 'S' && process.threads == 1;
    let place = if blocked.comm.is_empty() || blocked.call == FINALIZE {
        blocked.call.to_owned()
    } else {
        format!("{} on {}", blocked.call, blocked.comm)
    };
    for_good.then_some(place)
}
