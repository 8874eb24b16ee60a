//! Collective accesses (MPI 5.0 section 14.4): two phases, of which one moves data among the ranks and the other to or from the file.
//!
//! The ranks tell each other which part of the file they want ([`meet`]). From that all make the same [`tern_io::Plan`]. Where no rank has data
//! between another's, each accesses the file by itself. Otherwise the plan's aggregators read and write windows of it, and data move between
//! a rank and a window through memory that all share ([`shared`]), or by messages ([`messages`]). In the end all know whether it went well.
//!
//! An access is a state node that is stepped by whoever waits, so the blocking form and the non-blocking one are the same.

mod meet;
mod messages;
mod operation;
mod shared;

pub use operation::{AccessStep, CollectiveAccess, CollectiveTransfer, alone};

use super::fault::agree;
use crate::comm::agree::Participants;
use crate::core::error::Result;
use crate::core::process::enter;
use shared::AggregatorWindows;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tern_io::limits::ALIGN_BYTES;
use tern_io::{Hints, plan};
use tern_transport::TransportSetting;

/// What collective accesses of a file go by.
pub struct Together {
    /// The ranks that aggregate.
    pub aggregators: Vec<u32>,
    /// Bytes of a window; an aggregator has two.
    pub window_bytes: u64,
    /// What windows begin at multiples of.
    pub align: u64,
    /// Windows in memory that all ranks share, if there is such.
    windows: Option<AggregatorWindows>,
    order: Mutex<AccessOrder>,
}

/// Accesses are made in the order in which they were started.
#[derive(Default)]
struct AccessOrder {
    started: u64,
    ended: u64,
    /// For each aggregator: windows so far, and ranks that have come to each of its two slots.
    windows: Vec<(u64, [u64; 2])>,
}

impl Together {
    /// Of a file that is being opened; all ranks call, with the same hints.
    pub fn new(participants: &Participants, hosts: &[u32], hints: &Hints) -> Result<Together> {
        let align = hints.cb_block_size.or(hints.striping_unit).unwrap_or(ALIGN_BYTES);
        let window_bytes = (hints.cb_buffer_size / 2 / align * align).max(align);
        let one_host = hosts.iter().all(|host| *host == hosts[0]);
        let count = hints.cb_nodes.unwrap_or_else(|| usual_count(hosts, one_host)).min(hosts.len() as u64);
        let aggregators = plan::aggregators(hosts, count as u32);
        let windows = if one_host && hosts.len() > 1 {
            shared_windows(participants, &aggregators, window_bytes as usize)?
        } else {
            None
        };
        let order =
            AccessOrder { windows: vec![Default::default(); aggregators.len()], ..AccessOrder::default() };
        Ok(Together { aggregators, window_bytes, align, windows, order: Mutex::new(order) })
    }

    /// Whether data move through memory that all ranks share.
    pub fn is_shared(&self) -> bool {
        self.windows.is_some()
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

/// Where ranks have bells for each other, windows need no messages.
fn shared_windows(
    participants: &Participants,
    aggregators: &[u32],
    window_bytes: usize,
) -> Result<Option<AggregatorWindows>> {
    let memory = {
        let mut process = enter();
        let rings = matches!(process.coll.transport, TransportSetting::Auto | TransportSetting::Shm);
        process.engine()?.transport().memory().ok().filter(|_| rings)
    };
    let mine = match &memory {
        Some(memory) if aggregators.contains(&participants.rank) => {
            memory.reserve(shared::bytes(window_bytes)).ok()
        }
        _ => None,
    };
    let is_ready = memory.is_some() && (mine.is_some() || !aggregators.contains(&participants.rank));
    let place = mine.as_ref().map_or(0, |mine| mine.place());
    let (_, told) = agree(participants, Ok(()), &[u64::from(is_ready), place])?;
    let Some(memory) = memory.filter(|_| told.iter().all(|words| words[0] == 1)) else { return Ok(None) };
    let places = aggregators.iter().map(|rank| told[*rank as usize][1]).collect();
    let windows = AggregatorWindows::map(&memory, places, window_bytes, mine);
    // All ranks go the same way.
    let (_, told) = agree(participants, Ok(()), &[u64::from(windows.is_some())])?;
    Ok(windows.filter(|_| told.iter().all(|words| words[0] == 1)))
}
