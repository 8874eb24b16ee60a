//! What is known of each peer's process, and whether the kernel lets us copy from and to it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::cma;
use super::segment::Segment;
use crate::limits::{ATTACH_NAP, ATTACH_WAIT_MS, ATTACH_YIELDS};
use tern_transport::Peer;

/// Value of [`super::segment_words::Hello::ready`] when the rest of it is valid.
const READY: u32 = 0x5445_524e;

/// Asked-for peers.
pub(crate) struct ShmPeers {
    segment: Arc<Segment>,
    /// `process_vm_readv` and `process_vm_writev` may be used at all.
    cma: bool,
    /// By rank: 0 until it is tried, [`ONLY_SEGMENT`], or the number of the process. Zeroed memory, whose pages come when they are
    /// used.
    known: Vec<u32>,
}

/// No process has this number.
const ONLY_SEGMENT: u32 = u32::MAX;

/// How a peer's memory can be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MemoryReach {
    /// Only through the segment.
    Segment,
    /// The kernel copies from and to the process with this number.
    Process(u32),
}

impl ShmPeers {
    pub(crate) fn new(segment: Arc<Segment>, cma: bool) -> Self {
        let known = vec![0; segment.layout().size as usize];
        ShmPeers { segment, cma, known }
    }

    /// Tells the others who `me` is.
    pub(crate) fn announce(&self, me: Peer) {
        if self.cma {
            cma::allow_peers();
        }
        let hello = &self.segment.control(me).hello;
        hello.pid.store(std::process::id(), Ordering::Relaxed);
        hello.probe_addr.store(cma::probe_addr(), Ordering::Relaxed);
        hello.ready.store(READY, Ordering::Release);
    }

    /// How `peer`'s memory can be reached, tried at the first question.
    pub(crate) fn reach(&mut self, peer: Peer) -> MemoryReach {
        match self.known[peer as usize] {
            0 => {}
            ONLY_SEGMENT => return MemoryReach::Segment,
            pid => return MemoryReach::Process(pid),
        }
        let reach = if self.cma { self.probe(peer) } else { MemoryReach::Segment };
        self.known[peer as usize] = match reach {
            MemoryReach::Segment => ONLY_SEGMENT,
            MemoryReach::Process(pid) => pid,
        };
        reach
    }

    pub(crate) fn pid(&mut self, peer: Peer) -> Option<u32> {
        match self.reach(peer) {
            MemoryReach::Process(pid) => Some(pid),
            MemoryReach::Segment => None,
        }
    }

    fn probe(&self, peer: Peer) -> MemoryReach {
        let hello = &self.segment.control(peer).hello;
        if !attached(&hello.ready) {
            return MemoryReach::Segment;
        }
        let pid = hello.pid.load(Ordering::Relaxed);
        match cma::probe(pid, hello.probe_addr.load(Ordering::Relaxed)) {
            true => MemoryReach::Process(pid),
            false => MemoryReach::Segment,
        }
    }
}

/// Waits a little for a peer that is still starting. Ranks that start together are there within a millisecond, and a nap takes its time
/// and the kernel's slack.
fn attached(ready: &std::sync::atomic::AtomicU32) -> bool {
    let began = Instant::now();
    while ready.load(Ordering::Acquire) != READY {
        match began.elapsed() {
            long if long > Duration::from_millis(ATTACH_WAIT_MS) => return false,
            long if long > ATTACH_YIELDS => std::thread::sleep(ATTACH_NAP),
            _ => std::thread::yield_now(),
        }
    }
    true
}
