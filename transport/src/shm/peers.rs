//! What is known of each peer's process, and whether the kernel lets us copy from and to it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::cma;
use super::segment::Segment;
use crate::Peer;
use crate::limits::ATTACH_WAIT_MS;

/// Value of [`super::segment::Hello::ready`] when the rest of it is valid.
const READY: u32 = 0x5445_524e;

/// Asked-for peers.
pub(crate) struct Peers {
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
pub(crate) enum Reach {
    /// Only through the segment.
    Segment,
    /// The kernel copies from and to the process with this number.
    Process(u32),
}

impl Peers {
    pub(crate) fn new(segment: Arc<Segment>, cma: bool) -> Self {
        let known = vec![0; segment.layout().size as usize];
        Peers { segment, cma, known }
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
    pub(crate) fn reach(&mut self, peer: Peer) -> Reach {
        match self.known[peer as usize] {
            0 => {}
            ONLY_SEGMENT => return Reach::Segment,
            pid => return Reach::Process(pid),
        }
        let reach = if self.cma { self.probe(peer) } else { Reach::Segment };
        self.known[peer as usize] = match reach {
            Reach::Segment => ONLY_SEGMENT,
            Reach::Process(pid) => pid,
        };
        reach
    }

    pub(crate) fn pid(&mut self, peer: Peer) -> Option<u32> {
        match self.reach(peer) {
            Reach::Process(pid) => Some(pid),
            Reach::Segment => None,
        }
    }

    fn probe(&self, peer: Peer) -> Reach {
        let hello = &self.segment.control(peer).hello;
        if !attached(&hello.ready) {
            return Reach::Segment;
        }
        let pid = hello.pid.load(Ordering::Relaxed);
        match cma::probe(pid, hello.probe_addr.load(Ordering::Relaxed)) {
            true => Reach::Process(pid),
            false => Reach::Segment,
        }
    }
}

/// Waits a little for a peer that is still starting.
fn attached(ready: &std::sync::atomic::AtomicU32) -> bool {
    let deadline = Instant::now() + Duration::from_millis(ATTACH_WAIT_MS);
    while ready.load(Ordering::Acquire) != READY {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    true
}
