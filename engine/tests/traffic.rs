//! Random traffic between several engines, checked against the definition of matching step by step.

mod support;

use support::job::Plan;

#[test]
fn any_traffic_under_any_conditions_goes_as_the_standard_says() {
    for seed in 0..400 {
        Plan::random(seed).run();
    }
}
