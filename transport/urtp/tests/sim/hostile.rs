//! Whatever comes, nothing panics, nothing is believed that cannot be, and memory stays within its bounds.

use proptest::prelude::*;
use tern_urtp::wire::{PacketKind, PacketRepr};
use tern_urtp::{Destination, UrtpConfig, UrtpEndpoint};

fn victim() -> (UrtpEndpoint, tern_urtp::GroupId) {
    let mut config = UrtpConfig::new(0, 40);
    (config.window, config.shared_buffers, config.send_buffers) = (16, 20, 16);
    let mut victim = UrtpEndpoint::new(config);
    let all: Vec<_> = (0..40).collect();
    let group = victim.add_group(&all).expect("a group");
    victim.multicast(group, |_| true, b"to all").expect("room");
    victim.send(3, 4, |bytes| bytes.fill(9)).expect("room");
    let id = victim.group_id(group);
    (victim, id)
}

/// A head of any kind with numbers near those that are in use.
fn heads() -> impl Strategy<Value = Vec<u8>> {
    let small = prop_oneof![0u32..40, any::<u32>()];
    let words = [small.clone(), small.clone(), small.clone(), small.clone(), small];
    (0u8..10, 0u8..4, any::<u16>(), words, prop::collection::vec(any::<u8>(), 0..80)).prop_map(
        |(kind, flags, room, [seq, ack, stamp, echo, rate], rest)| {
            let mut bytes = PacketRepr { kind: PacketKind::Data, flags, room, seq, ack, stamp, echo, rate }
                .bytes()
                .to_vec();
            bytes[0] = kind;
            bytes.extend(rest);
            bytes
        },
    )
}

proptest! {
    #[test]
    fn any_packets_leave_an_endpoint_within_its_bounds(
        packets in prop::collection::vec((heads(), 0u32..45, any::<bool>()), 1..60),
    ) {
        let (mut victim, id) = victim();
        let mut out = vec![0; victim.config().body_bytes_max];
        for (at, (bytes, from, grouped)) in packets.iter().enumerate() {
            let now = at as u64 * 300_000;
            let _ = victim.handle(now, *from, grouped.then_some(id), bytes);
            for _ in 0..200 {
                let Some(transmit) = victim.poll_transmit(now, &mut out) else { break };
                prop_assert!(transmit.len <= out.len());
                if let Destination::Rank(to) = transmit.to {
                    prop_assert!(to != 0 && to < 40);
                }
            }
            prop_assert!(victim.held() <= victim.config().receive_buffers_max());
            while let Some(peer) = victim.poll_ready() {
                while victim.receive(peer, |_| {}) {}
            }
        }
    }

    /// What another rank really wrote, with bytes changed.
    #[test]
    fn changed_packets_of_a_real_sender_do_no_harm(changes in prop::collection::vec((0usize..80, any::<u8>()), 1..4)) {
        let (mut sender, id) = victim();
        let mut config = sender.config().clone();
        config.me = 3;
        let mut receiver = UrtpEndpoint::new(config);
        let all: Vec<_> = (0..40).collect();
        receiver.add_group(&all).expect("a group");
        let mut out = vec![0; sender.config().body_bytes_max];
        while let Some(transmit) = sender.poll_transmit(1, &mut out) {
            for (at, byte) in &changes {
                out[*at] ^= byte;
            }
            let group = matches!(transmit.to, Destination::Group { .. }).then_some(id);
            let _ = receiver.handle(1, 0, group, &out[..transmit.len]);
            prop_assert!(receiver.held() <= 2);
        }
    }
}

#[test]
fn a_packet_from_nobody_is_refused() {
    let (mut victim, id) = victim();
    let data = PacketRepr::of(PacketKind::Data).bytes();
    assert!(victim.handle(1, 0, None, &data).is_err(), "from itself");
    assert!(victim.handle(1, 40, None, &data).is_err(), "from a rank that is not there");
    assert!(victim.handle(1, 7, Some(id), &data).is_err(), "a single packet that was multicast");
    assert_eq!(victim.counters().malformed, 3);
}

#[test]
fn a_lost_packet_goes_to_nobody_who_was_not_addressed() {
    let (mut victim, _) = victim();
    let mut out = vec![0; victim.config().body_bytes_max];
    while victim.poll_transmit(1, &mut out).is_some() {}
    // Rank 9 has only the multicast; it asks for a second packet that was never sent.
    let mut request = PacketRepr::of(PacketKind::Request);
    (request.seq, request.ack) = (1, 1);
    victim.handle(50_000_000, 9, None, &request.bytes()).expect("a request");
    assert_eq!(victim.counters().requests_unsent, 1);
}
