//! Copies by the kernel.

use tern_transport::{CooperativeCopyKey, Peer, Remote, Token, Transfer, TransferError, Transport};

use crate::job::{self, Rank, flat, pattern, remote};
use fastrand::Rng;

/// Rank 0 sends to rank 1, which gets or shares; rank 0 comes to the share at any time, or not at all.
pub(crate) fn large_messages() {
    job::run(2, true, |fabric, me| {
        let mut rank = Rank::new(fabric);
        if !rank.fabric.limits(1 - me).cooperative_copy {
            println!("(skipped: the system does not let processes read each other)");
            return;
        }
        let mut random = Rng::with_seed(5);
        for round in 0..200 {
            let len = [1, 4095, 70_000, 1 << 20, 3_000_001][random.usize(..5)];
            let way = random.u64(..3);
            match me {
                0 => invite(&mut rank, round, len, way, &mut random),
                _ => take(&mut rank, round, len, way, &mut random),
            }
        }
    });
}

fn pause(random: &mut Rng) {
    let spins = random.u64(..40_000);
    (0..spins).for_each(|_| std::hint::spin_loop());
}

fn invite(rank: &mut Rank, round: i32, len: usize, way: u64, random: &mut Rng) {
    let mut bytes = pattern(round as u64, len);
    rank.send(1, round, &mut words([remote(&mut bytes).addr, 0]));
    let (_, _, answer) = rank.receive();
    let [addr, key] = from_words(&answer);
    pause(random);
    if way == 2 {
        let into = Remote { addr, len: len as u64 };
        let transfer =
            rank.fabric.join_cooperative_copy(1, CooperativeCopyKey(key), &flat(&mut bytes), into, Token(1));
        rank.finish(transfer).expect("the sender's part");
    }
    let (_, tag, _) = rank.receive();
    assert_eq!(tag, -round, "the receiver has it all");
}

fn take(rank: &mut Rank, round: i32, len: usize, way: u64, random: &mut Rng) {
    let mut bytes = vec![0; len];
    let into = flat(&mut bytes);
    let (_, _, note) = rank.receive();
    let from = Remote { addr: from_words(&note)[0], len: len as u64 };
    if way == 0 {
        rank.send(0, round, &mut words([0, 0]));
        pause(random);
        assert_eq!(rank.fabric.get(0, from, &into, Token(1)), Transfer::Done);
    } else {
        let key = rank.fabric.open_cooperative_copy(0, from, &into, Token(1)).expect("a slot");
        rank.send(0, round, &mut words([remote(&mut bytes).addr, key.0]));
        pause(random);
        let transfer = rank.fabric.pull_cooperative_copy(key);
        rank.finish(transfer).expect("the receiver's part");
    }
    assert!(bytes == pattern(round as u64, len), "round {round}: {len} bytes by way {way}");
    rank.send(0, -round, &mut []);
}

fn words(words: [u64; 2]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&words[0].to_ne_bytes());
    bytes[8..].copy_from_slice(&words[1].to_ne_bytes());
    bytes
}

fn from_words(bytes: &[u8]) -> [u64; 2] {
    let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    [word(0), word(8)]
}

/// An address that no process has mapped.
const NOWHERE: Remote = Remote { addr: 16, len: 100 };

pub(crate) fn bad_addresses() {
    job::run(2, false, |fabric, me| {
        let mut rank = Rank::new(fabric);
        if !rank.fabric.limits(1 - me).get {
            return;
        }
        let mut bytes = [0; 100];
        let local = flat(&mut bytes);
        let fault = Transfer::Failed(TransferError::Os(libc::EFAULT));
        assert_eq!(rank.fabric.get(1 - me, NOWHERE, &local, Token(0)), fault);
        assert_eq!(rank.fabric.put(1 - me, &local, NOWHERE, Token(0)), fault);
        let key = rank.fabric.open_cooperative_copy(1 - me, NOWHERE, &local, Token(0)).expect("a slot");
        assert_eq!(rank.fabric.pull_cooperative_copy(key), fault);
        meet(&mut rank, me);
    });
}

/// Both are here.
fn meet(rank: &mut Rank, me: Peer) {
    rank.send(1 - me, 0, &mut []);
    rank.receive();
}

pub(crate) fn dead_peer() {
    let segment = job::memfd();
    let mut fabric = job::attach(&segment, 0, 2, false);
    let pid = job::fork(|| {
        let _fabric = job::attach(&segment, 1, 2, false);
        std::thread::sleep(std::time::Duration::from_secs(30));
    });
    let limits = fabric.limits(1); // waits until the other has attached
    // SAFETY: a child of this process.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    job::wait(pid);
    if limits.get {
        let mut bytes = [0; 100];
        let answer = fabric.get(1, NOWHERE, &flat(&mut bytes), Token(0));
        assert_eq!(answer, Transfer::Failed(TransferError::Os(libc::ESRCH)));
    }
}
