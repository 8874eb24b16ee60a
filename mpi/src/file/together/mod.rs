//! Collective accesses (MPI 5.0 section 14.4): two phases, of which one moves data among the ranks and the other to or from the file.
//!
//! The ranks tell each other which part of the file they want ([`meet`]). From that all choose alike. Where no rank has data between
//! another's, each accesses the file by itself. Otherwise windows of the file are read and written for all, and data move between a rank
//! and a window through memory that all share ([`shared`]), or by messages to aggregators ([`messages`]). In the end all know whether it
//! went well.
//!
//! An access is a state node that is stepped by whoever waits, so the blocking form and the non-blocking one are the same.

mod meet;
mod messages;
mod operation;
mod pool;
mod shared;
mod step;

pub(crate) use operation::{CollectiveAccess, CollectiveTransfer, alone};
pub(crate) use step::AccessStep;

use pool::{SLOTS_MAX, WINDOW_BYTES_MAX, WindowPool};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tern_io::limits::ALIGN_BYTES;
use tern_io::{FileSystem, Hints, PoolState, plan};
use tern_shm::{JobMemory, Reservation};

/// What collective accesses of a file go by.
pub(crate) struct Together {
    /// The ranks that aggregate, or on one host those that give memory for windows.
    pub aggregators: Vec<u32>,
    /// Bytes of a window.
    pub window_bytes: u64,
    /// Windows of an aggregator.
    pub slots: usize,
    /// What windows begin at multiples of.
    pub align: u64,
    /// How many ranks write at once, where all share memory.
    writers: u64,
    /// Windows in memory that all ranks share, if there is such.
    pool: Option<WindowPool>,
    order: Mutex<AccessOrder>,
}

/// Accesses are made in the order in which they were started.
#[derive(Default)]
struct AccessOrder {
    started: u64,
    ended: u64,
    /// What accesses through shared memory have come to.
    pool: PoolState,
}

/// What a rank offers for windows that all share, before it knows whether all do.
pub(crate) struct PoolOffer {
    memory: Option<Arc<JobMemory>>,
    own: Option<Reservation>,
    is_giver: bool,
}

impl Together {
    /// Of a file that is being opened, by the same hints at all ranks.
    pub(crate) fn new(hosts: &[u32], filesystem: FileSystem, hints: &Hints) -> Together {
        let align = hints.cb_block_size.or(hints.striping_unit).unwrap_or(ALIGN_BYTES);
        let one_host = hosts.iter().all(|host| *host == hosts[0]);
        let count = hints.cb_nodes.unwrap_or_else(|| usual_count(hosts, one_host)).min(hosts.len() as u64);
        let (window_bytes, slots) = windows(hints.cb_buffer_size, align, one_host);
        Together {
            aggregators: plan::aggregators(hosts, count as u32),
            window_bytes,
            slots,
            align,
            writers: hints.cb_nodes.unwrap_or_else(|| usual_writers(filesystem, count)).clamp(1, count),
            pool: None,
            order: Mutex::default(),
        }
    }

    /// What a rank offers to the others, of memory that all of one host can share.
    pub(crate) fn offer(&self, rank: u32, memory: Option<Arc<JobMemory>>) -> PoolOffer {
        let is_giver = self.aggregators.contains(&rank);
        let bytes = pool::bytes(self.window_bytes as usize, self.slots);
        let own = memory.as_ref().filter(|_| is_giver).and_then(|memory| memory.reserve(bytes).ok());
        PoolOffer { memory, own, is_giver }
    }

    /// Takes what all have told. Whether it worked at this rank.
    pub(crate) fn accept(&mut self, offer: PoolOffer, told: &[[u64; 2]]) -> bool {
        let Some(memory) = offer.memory.filter(|_| told.iter().all(|words| words[0] == 1)) else {
            return false;
        };
        let places = self.aggregators.iter().map(|rank| told[*rank as usize][1]).collect();
        self.pool = WindowPool::map(&memory, places, (self.window_bytes as usize, self.slots), offer.own);
        self.order().pool = PoolState::new(self.pool.as_ref().map_or(0, WindowPool::slots));
        self.pool.is_some()
    }

    /// Some rank could not: all go the other way.
    pub(crate) fn refuse(&mut self) {
        self.pool = None;
    }

    /// Whether data move through memory that all ranks share.
    pub(crate) fn is_shared(&self) -> bool {
        self.pool.is_some()
    }

    fn order(&self) -> MutexGuard<'_, AccessOrder> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of an access that starts now.
    fn ticket(&self) -> u64 {
        let mut order = self.order();
        order.started += 1;
        order.started - 1
    }

    fn is_turn(&self, ticket: u64) -> bool {
        self.order().ended == ticket
    }

    fn end_turn(&self) {
        self.order().ended += 1;
    }
}

impl PoolOffer {
    /// Whether this rank can take part, and where its memory is.
    pub(crate) fn words(&self) -> [u64; 2] {
        let is_ready = self.memory.is_some() && (self.own.is_some() || !self.is_giver);
        [u64::from(is_ready), self.own.as_ref().map_or(0, Reservation::place)]
    }
}

/// Bytes and number of an aggregator's windows. On one host small ones that stay in a cache; over a network as large as may be.
fn windows(buffer_bytes: u64, align: u64, one_host: bool) -> (u64, usize) {
    let most = if one_host { WINDOW_BYTES_MAX.max(align) } else { u64::MAX };
    let bytes = (buffer_bytes / 2).min(most) / align * align;
    let bytes = bytes.max(align);
    let slots = if one_host { (buffer_bytes / bytes).clamp(2, SLOTS_MAX as u64) } else { 2 };
    (bytes, slots as usize)
}

/// On one host all ranks copy at once, as far as there are cores; otherwise one rank of each host has its network.
fn usual_count(hosts: &[u32], one_host: bool) -> u64 {
    if one_host {
        return std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64).max(2);
    }
    let mut names = hosts.to_vec();
    names.sort_unstable();
    names.dedup();
    names.len() as u64
}

/// Linux lets one process write a file at a time. A second one that stands at the lock writes as soon as the first has done, which
/// a rank that is woken for it does not. File systems of several servers do not go through that.
fn usual_writers(filesystem: FileSystem, count: u64) -> u64 {
    match filesystem {
        FileSystem::Lustre | FileSystem::Gpfs => count,
        FileSystem::Tmpfs | FileSystem::Local => 2,
        FileSystem::Nfs => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_stay_within_the_hint() {
        for buffer in [8 << 10, 64 << 10, 1 << 20, 16 << 20, 1 << 30] {
            for (align, one_host) in [(4096, true), (4096, false), (1 << 20, true)] {
                let (bytes, slots) = windows(buffer, align, one_host);
                assert!(bytes.is_multiple_of(align) && slots >= 2);
                assert!(bytes * slots as u64 <= buffer.max(2 * align), "{buffer} {align} {bytes} {slots}");
            }
        }
        assert_eq!(windows(16 << 20, 4096, true), (512 << 10, 4));
        assert_eq!(windows(16 << 20, 4096, false), (8 << 20, 2));
    }
}
