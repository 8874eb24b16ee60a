//! Reliable multicast between hosts of a test network. Without root, which network namespaces need, these tests say so and do
//! nothing.

#[path = "../examples/common/channels.rs"]
mod channels;
#[path = "../examples/common/hosts.rs"]
mod hosts;

use channels::{broadcast, on_all};
use hosts::Hosts;

/// Packets of a broadcast in which some are lost at each host's door.
fn lossy(word: &str, percent: u32) {
    let Some(hosts) = Hosts::new(word, 4, "1gbit") else { return };
    if percent > 0 && !(1..=4).all(|host| hosts.lose(host, percent)) {
        eprintln!("skipped: nftables cannot drop packets here");
        return;
    }
    let counters = on_all(&hosts, 125_000_000, |rank| {
        for round in 0..4 {
            broadcast(rank, round % 4, 1 << 20);
        }
        rank.leave();
        (*rank.channel.endpoint.counters(), rank.link_counters())
    });
    let again: u64 = counters.iter().map(|(all, _)| all.resent + all.multicast_again).sum();
    assert!(percent == 0 || again > 0, "{percent} % were lost, and none was sent again");
    for (_, link) in &counters {
        assert_eq!((link.forged, link.malformed), (0, 0));
    }
}

#[test]
fn broadcasts_arrive_without_loss() {
    lossy("ruc", 0);
}

#[test]
fn broadcasts_arrive_with_a_loss_of_one_in_a_hundred() {
    lossy("rul", 1);
}

#[test]
fn broadcasts_arrive_with_a_loss_of_one_in_five() {
    lossy("rum", 20);
}
