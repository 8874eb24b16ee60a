//! Random traffic between several engines, checked against the definition of matching step by step.

use crate::support::datagrams::Datagrams;
use crate::support::job::{Job, Plan};
use crate::support::machine::Machine;
use crate::support::machines::Machines;
use crate::support::net::{Conditions, Net};
use crate::support::sockets::Sockets;
use tern_engine::{EngineSettings, Mode, Rendezvous};
use tern_transport::Limits;

#[test]
fn any_traffic_under_any_conditions_goes_as_the_standard_says() {
    for seed in 0..400 {
        Plan::random(seed).run::<Net>();
    }
}

#[test]
fn shared_memory_and_loopback_carry_any_traffic() {
    for seed in 0..60 {
        let mut plan = Plan::random(seed);
        plan.conditions.limits.eager_bytes_max = 4096;
        // Every fourth job has messages of many chunks of a cooperative copy.
        (plan.len_max, plan.steps) = if seed % 4 == 0 { (300_000, 150) } else { (16_384, 400) };
        plan.run::<Machine>();
    }
}

#[test]
fn sockets_carry_any_traffic_though_connections_break() {
    for seed in 0..40 {
        let mut plan = Plan::random(seed);
        (plan.len_max, plan.steps) = if seed % 4 == 0 { (300_000, 150) } else { (16_384, 400) };
        plan.run::<Sockets>();
    }
}

#[test]
fn datagrams_carry_any_traffic() {
    for seed in 0..20 {
        let mut plan = Plan::random(seed);
        (plan.len_max, plan.steps) = if seed % 4 == 0 { (300_000, 150) } else { (16_384, 400) };
        plan.run::<Datagrams>();
    }
}

#[test]
fn a_job_on_two_machines_carries_any_traffic() {
    for seed in 0..40 {
        let mut plan = Plan::random(seed);
        (plan.len_max, plan.ranks) = (16_384, 4);
        plan.run::<Machines>();
    }
}

#[test]
fn every_rendezvous_works_over_every_transport() {
    use Rendezvous::*;
    for (seed, bits) in (0..16).enumerate() {
        for rendezvous in [Auto, Get, Put, Cooperative, Stream] {
            let [get, put, cooperative_copy, slow] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
            let limits = Limits { eager_bytes_max: 256, get, put, cooperative_copy, prefers_send: false };
            let conditions = Conditions { slow, piecewise: slow, ..Conditions::good(limits) };
            let settings =
                EngineSettings { rendezvous, cooperative_bytes_min: 300, ..EngineSettings::default() };
            Plan { seed: seed as u64, ranks: 2, steps: 300, len_max: 1024, conditions, settings }
                .run::<Net>();
        }
    }
}

#[test]
fn any_number_of_sends_both_ways_ends_though_nobody_receives_at_first() {
    for (seed, credit_bytes) in [0, 4096, 1 << 20].into_iter().enumerate() {
        let limits = Limits {
            eager_bytes_max: 128,
            get: seed == 1,
            put: false,
            cooperative_copy: false,
            prefers_send: false,
        };
        let conditions = Conditions { queue_max: 1, ..Conditions::good(limits) };
        let settings = EngineSettings { credit_bytes, ..EngineSettings::default() };
        let mut job = Job::<Net>::new(Plan {
            seed: seed as u64,
            ranks: 2,
            steps: 0,
            len_max: 512,
            conditions,
            settings,
        });
        for _ in 0..2000 {
            for (from, to) in [(0, 1), (1, 0), (1, 1)] {
                let len = job.any_len();
                job.send(from, to, Mode::Standard, len);
            }
        }
        job.end();
    }
}
