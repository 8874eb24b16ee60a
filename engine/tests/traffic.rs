//! Random traffic between several engines, checked against the definition of matching step by step.

use crate::support::job::{Job, Plan};
use crate::support::net::Conditions;
use tern_engine::{Mode, Rendezvous, Settings};
use tern_transport::Limits;

#[test]
fn any_traffic_under_any_conditions_goes_as_the_standard_says() {
    for seed in 0..400 {
        Plan::random(seed).run();
    }
}

#[test]
fn every_rendezvous_works_over_every_transport() {
    use Rendezvous::*;
    for (seed, bits) in (0..16).enumerate() {
        for rendezvous in [Auto, Get, Put, Both, Stream] {
            let [get, put, share, slow] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
            let limits = Limits { eager_bytes_max: 256, get, put, share };
            let conditions = Conditions { slow, piecewise: slow, ..Conditions::good(limits) };
            let settings = Settings { rendezvous, share_bytes_min: 300, ..Settings::default() };
            Plan { seed: seed as u64, ranks: 2, steps: 300, conditions, settings }.run();
        }
    }
}

#[test]
fn any_number_of_sends_both_ways_ends_though_nobody_receives_at_first() {
    for (seed, credit_bytes) in [0, 4096, 1 << 20].into_iter().enumerate() {
        let limits = Limits { eager_bytes_max: 128, get: seed == 1, put: false, share: false };
        let conditions = Conditions { queue_max: 1, ..Conditions::good(limits) };
        let settings = Settings { credit_bytes, ..Settings::default() };
        let mut job = Job::new(Plan { seed: seed as u64, ranks: 2, steps: 0, conditions, settings });
        for _ in 0..2000 {
            for (from, to) in [(0, 1), (1, 0), (1, 1)] {
                let len = job.any_len();
                job.send(from, to, Mode::Standard, len);
            }
        }
        job.end();
    }
}
