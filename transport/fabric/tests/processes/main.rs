//! The shared-memory transport between processes. Each test forks its ranks and has a time limit; the program
//! has one thread, so it can fork.

mod exchange;
mod hostile;
mod job;
mod room;
mod shm_comms;
mod transfers;

use std::time::Instant;

const TESTS: &[(&str, fn())] = &[
    ("all ranks exchange messages of all sizes", exchange::all_to_all),
    ("all ranks exchange messages, more than there are cores", exchange::all_to_all_oversubscribed),
    ("no wake-up is lost with membarrier", exchange::sleeps_between_messages),
    ("no wake-up is lost with fences", exchange::sleeps_between_messages_oversubscribed),
    ("large messages are copied by one side or both", transfers::large_messages),
    ("addresses that are not mapped are errors", transfers::bad_addresses),
    ("memory of a dead process is an error", transfers::dead_peer),
    ("no rank leaves a sync step early", shm_comms::nobody_is_early),
    ("sync steps move data", shm_comms::sync_steps_move_data),
    ("what is in an eager slot stays until all have read it", shm_comms::eager_slots_keep_what_is_not_read),
    ("a root is as far ahead as there are flags", shm_comms::payloads_are_kept_until_they_are_read),
    ("few ranks read one rank's memory at once", shm_comms::few_read_from_one),
    ("slots are used again", shm_comms::slots_are_used_again),
    ("those who differ part and synchronize again", shm_comms::those_who_differ_part_and_synchronize_again),
    ("a rank asleep in a sync step hears its bell", shm_comms::bell_wakes),
    ("whoever waits for room is rung: small messages", room::small),
    ("whoever waits for room is rung: messages of several lines", room::lines),
    ("whoever waits for room is rung: messages in cells", room::cells),
    ("whoever waits for room is rung: messages of all sizes", room::mixed),
    ("garbage in the segment harms nobody", hostile::scribbler),
];

fn main() {
    let filter: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    for (name, test) in TESTS {
        if !filter.is_empty() && !filter.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        let start = Instant::now();
        job::with_time_limit(60, test);
        println!("test {name} ... ok ({:.2} s)", start.elapsed().as_secs_f64());
    }
}
