//! Microseconds of a barrier over shared memory among 2, 8 and 16 ranks, by ways to wait:
//! `cargo run --release -p tern-fabric --example shm_comm`.

mod common;

use std::time::{Duration, Instant};

use tern_shm::{Arrival, ShmComm, ShmMember, Sight};
use tern_transport::Transport;

const ROUNDS: u32 = 5_000;

/// How often a rank looks and yields before it sleeps.
#[derive(Clone, Copy)]
struct Policy {
    name: &'static str,
    spins: u32,
    yields: u32,
}

const POLICIES: [Policy; 5] = [
    Policy { name: "spin, then yield for ever", spins: 2000, yields: u32::MAX },
    Policy { name: "yield for ever", spins: 0, yields: u32::MAX },
    Policy { name: "8 yields, then sleep", spins: 0, yields: 8 },
    Policy { name: "4 yields, then sleep", spins: 0, yields: 4 },
    Policy { name: "sleep at once", spins: 0, yields: 0 },
];

fn main() {
    for size in [2, 8, 16] {
        common::run(size, |fabric, me| {
            let mut shm_comm =
                fabric.shm_comm(ShmMember { leader: 0, slot: 0, rank: me, size }).expect("several ranks");
            let bell = fabric.doorbell();
            for policy in POLICIES {
                barrier(&mut shm_comm, POLICIES[1], &*bell);
                let start = Instant::now();
                for _ in 0..ROUNDS {
                    barrier(&mut shm_comm, policy, &*bell);
                }
                let us = start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS);
                if me == 0 {
                    println!("{size:3} ranks  {:28} {us:9.2} µs", policy.name);
                }
            }
        });
    }
}

fn barrier(shm_comm: &mut ShmComm, policy: Policy, bell: &dyn tern_transport::Doorbell) {
    shm_comm.begin(0);
    let sync = shm_comm.begin_sync();
    let Arrival::Early(watch) = shm_comm.arrive(sync) else { return shm_comm.open(sync) };
    for _ in 0..policy.spins {
        if shm_comm.look(&watch) == Sight::Come {
            return;
        }
        std::hint::spin_loop();
    }
    let mut yields = 0;
    while shm_comm.look(&watch) == Sight::Pending {
        if yields < policy.yields {
            yields = yields.saturating_add(1);
            std::thread::yield_now();
        } else {
            let armed = bell.arm();
            shm_comm.sleep(&watch, Some(armed), Some(Duration::from_secs(5)));
        }
    }
}
