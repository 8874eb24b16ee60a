//! A rank that writes garbage over everything it can reach.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tern_shm::{Arrival, ShmComm, ShmMember};
use tern_transport::{Token, Transfer, Transport, TransportConfig};

use crate::job::{self, Rank, flat, remote};
use fastrand::Rng;

/// Two ranks go on sending, receiving and copying while a third process scribbles over the segment. What they
/// receive is garbage; they must not crash, and none of their own memory may change.
pub(crate) fn scribbler() {
    let segment = job::memfd();
    let bytes = tern_shm::segment_bytes(2, &TransportConfig::default()).expect("small");
    let words = job::map(&segment, bytes);
    let scribbler = job::fork(|| scribble(words));
    let ranks = [0, 1].map(|me| {
        job::fork(|| {
            let mut rank = Rank::new(job::attach(&segment, me, 2, false));
            let end = Instant::now() + Duration::from_secs(3);
            let mut random = Rng::with_seed(3 + u64::from(me));
            while Instant::now() < end {
                use_everything(&mut rank, 1 - me, &mut random);
            }
        })
    });
    for pid in ranks {
        assert_eq!(job::wait(pid), 0, "a rank crashed");
    }
    // SAFETY: a child of this process.
    unsafe { libc::kill(scribbler, libc::SIGKILL) };
    job::wait(scribbler);
}

/// Writes at random: single bytes, small numbers, whole words, runs of lines; never the job's fingerprint, which
/// would only keep the ranks from starting.
fn scribble(words: &[AtomicU64]) {
    let first = 4096 / 8;
    let mut random = Rng::with_seed(11);
    loop {
        // Half of it where control, cells' lines and cooperative copies lie.
        let span = if random.u64(..2) == 0 { 1024 } else { (words.len() - first) as u64 };
        let at = first + random.u64(..span) as usize;
        let value = match random.u64(..3) {
            0 => random.u64(..256),
            1 => words[at].load(Ordering::Relaxed) ^ 1 << random.u64(..64),
            _ => random.u64(..u64::MAX),
        };
        words[at].store(value, Ordering::Relaxed);
        if random.u64(..64) == 0 {
            std::thread::yield_now();
        }
    }
}

fn use_everything(rank: &mut Rank, peer: u32, random: &mut Rng) {
    let mut payload = vec![1; random.usize(..64 * 1024)];
    for tag in 0..8 {
        let len = payload.len().min(if tag % 2 == 0 { 40 } else { 64 * 1024 });
        rank.try_send(peer, tag, &mut payload[..len]);
        rank.fabric.poll(&mut rank.mail);
    }
    let mut fence = [[7u8; 64], [0; 64], [7; 64]];
    let local = flat(&mut fence[1]);
    let answer = rank.fabric.get(peer, remote(&mut [0; 64]), &local, Token(0));
    assert!(matches!(answer, Transfer::Done | Transfer::Failed(_)));
    if let Some(key) = rank.fabric.open_cooperative_copy(peer, remote(&mut [0; 64]), &local, Token(1)) {
        let _ = rank.fabric.pull_cooperative_copy(key);
    }
    let bell = rank.fabric.doorbell();
    let armed = bell.arm();
    bell.sleep(armed, Some(Duration::from_micros(10)));
    use_shm_comm(rank, random.u32(..2));
    assert_eq!((fence[0], fence[2]), ([7; 64], [7; 64]), "memory outside the buffer changed");
    rank.mail.messages.clear();
}

fn use_shm_comm(rank: &mut Rank, me: u32) {
    let mut shm_comm =
        rank.fabric.shm_comm(ShmMember { leader: 0, slot: 0, rank: me, size: 2 }).expect("several ranks");
    shm_comm.begin(0);
    let sync = shm_comm.begin_sync();
    shm_comm.post(sync, &shm_comm.posted_payload(sync, 1 - me));
    shm_comm.sync_buffer(sync).buf().write(ShmComm::SYNC_AREA_BYTES - 8, &[1; 8]);
    match shm_comm.arrive(sync) {
        Arrival::Early(watch) => shm_comm.sleep(&watch, None, Some(Duration::from_micros(10))),
        Arrival::Last => shm_comm.open(sync),
        Arrival::Amiss => shm_comm.abandon(),
    }
    let eager = shm_comm.begin_eager();
    shm_comm.before_eager_write(eager);
    shm_comm.contribute(eager, &shm_comm.published_payload(eager));
    let contributed = shm_comm.contributed(eager, 1 - me);
    shm_comm.sleep(&contributed, None, Some(Duration::from_micros(10)));
    let _ = (
        shm_comm.look(&contributed),
        shm_comm.mismatch(&contributed),
        shm_comm.obstacle(&contributed),
        shm_comm.unsettled(),
    );
    shm_comm.end_eager(eager);
}
