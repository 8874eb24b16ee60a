//! The memory of a rank does not grow with ranks that it never talks to: at most 64 bytes for each, in a job of 4,096, also where
//! all of them are in a group for multicasts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicUsize, Ordering};

use tern_engine::{Engine, EngineSettings, Envelope, Mode};
use tern_fabric::{Fabric, JobPlace, Outside};
use tern_mem::UserBuf;
use tern_transport::directory::Directory;
use tern_transport::{Medium, TransportConfig, TransportSetting};

/// The system's allocator, which counts the bytes that are in use.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A launcher that never answers.
struct Nobody;

impl Directory for Nobody {
    fn publish(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
    fn ask(&mut self, _: u32) {}
    fn answer(&mut self) -> Option<(u32, Vec<u8>)> {
        None
    }
    fn fd(&self) -> Option<RawFd> {
        None
    }
}

/// Bytes that a rank of a job of `size` takes, on a machine of its own, after it has sent something to three others; if it `multicasts`,
/// by a multicast as well, and then it waits for one of the last rank.
fn rank_bytes(size: u32, multicasts: bool) -> usize {
    let before = IN_USE.load(Ordering::Relaxed);
    let outside = Some(Outside { secret: [1; 32], directory: Box::new(Nobody) });
    let place =
        JobPlace { me: 0, size, local_ranks: Some(vec![0]), segment: None, oversubscribed: false, outside };
    let config = TransportConfig { transport: TransportSetting::Tcp, ..TransportConfig::default() };
    let fabric = Fabric::attach(place, &config).expect("a socket to listen on");
    let mut engine = Engine::new(size, fabric, EngineSettings::default());
    for peer in 1..4 {
        let envelope = Envelope { context: 0, source: 0, tag: 1 };
        let _ = engine.send(Mode::Standard, peer, envelope, &UserBuf::owned(8), 0);
        engine.poll();
    }
    let group = multicasts.then(|| {
        engine
            .transport()
            .open_packets(Medium::Udp, Ipv4Addr::LOCALHOST.into())
            .expect("sockets on loop-back");
        engine.transport().use_packets();
        let all: Vec<_> = (0..size).collect();
        let group = engine.multicast_group(&all).expect("it can multicast");
        let envelope = Envelope { context: 0, source: 0, tag: 1 };
        let _ = engine.multicast(&group, &[1, 2, 3], envelope, &UserBuf::owned(8), 0);
        engine.expect_multicast(size - 1);
        engine.poll();
        group
    });
    let _ = &group;
    IN_USE.load(Ordering::Relaxed) - before
}

#[test]
fn a_silent_rank_costs_at_most_64_bytes() {
    let (few, many) = (64, 4096);
    for multicasts in [false, true] {
        let (small, large) = (rank_bytes(few, multicasts), rank_bytes(many, multicasts));
        let each = large.saturating_sub(small) as f64 / f64::from(many - few);
        println!(
            "a rank (multicasts: {multicasts}) takes {small} B in a job of {few}, {large} B in one of {many}: \
             {each:.1} B for each silent rank"
        );
        assert!(each <= 64.0, "{each} B");
    }
}
