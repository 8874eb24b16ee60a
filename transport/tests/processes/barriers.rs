//! Barriers.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tern_transport::{Barriers, Doorbell, Fabric, Ticket, Transport};

use crate::job::{self, Random, Rank};

const ROUNDS: u64 = 400;

/// Each rank writes its round before it enters; when it leaves, nobody may be behind.
pub fn nobody_is_early() {
    for (size, slot) in [(2, 0), (3, 255), (8, 17)] {
        let rounds = job::map(&job::memfd(), 4096);
        job::run(size, true, |fabric, me| {
            let (barriers, bell) = (fabric.barriers().expect("several ranks"), fabric.doorbell());
            let mut random = Random(9 + u64::from(me));
            for round in 1..=ROUNDS {
                rounds[me as usize].store(round, Ordering::Relaxed);
                let ticket = barriers.enter(size - 1, slot, size);
                wait(&barriers, &ticket, &*bell, random.below(6));
                for other in &rounds[..size as usize] {
                    assert!(other.load(Ordering::Relaxed) >= round, "somebody is still before the barrier");
                }
            }
        });
    }
}

fn wait(barriers: &Barriers, ticket: &Ticket, bell: &dyn Doorbell, yields: u64) {
    for _ in 0..yields {
        if barriers.done(ticket) {
            return;
        }
        std::thread::yield_now();
    }
    let start = Instant::now();
    while !barriers.done(ticket) {
        let armed = (yields % 2 == 0).then(|| bell.arm());
        barriers.sleep(ticket, armed, Some(Duration::from_secs(10)));
    }
    assert!(start.elapsed() < Duration::from_secs(5), "a wake-up was lost");
}

/// Rank 0 sleeps in a barrier that rank 1 enters only after it had an answer to its message.
pub fn bell_wakes() {
    job::run(2, false, |fabric: Fabric, me| {
        let (barriers, bell) = (fabric.barriers().expect("several ranks"), fabric.doorbell());
        let mut rank = Rank::new(fabric);
        if me == 1 {
            std::thread::sleep(Duration::from_millis(20));
            rank.send(0, 1, &mut []);
            rank.receive();
        }
        let ticket = barriers.enter(0, 0, 2);
        let start = Instant::now();
        while !barriers.done(&ticket) {
            let armed = bell.arm();
            if rank.fabric.poll(&mut rank.mail) || barriers.done(&ticket) {
                bell.disarm();
            } else {
                barriers.sleep(&ticket, Some(armed), Some(Duration::from_secs(10)));
            }
            if rank.mail.messages.pop_front().is_some() {
                rank.send(1, 2, &mut []);
            }
        }
        assert!(start.elapsed() < Duration::from_secs(5), "the bell was not heard");
    });
}
