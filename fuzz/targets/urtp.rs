//! Packets of the reliable multicast. The link has proved who sent them; what they say may be anything.

#[path = "../driver.rs"]
mod driver;
#[allow(dead_code, reason = "each room uses its part")]
#[path = "../input.rs"]
mod input;

pub use driver::Target;
use input::Input;

use crate::wire::{PacketKind, PacketRepr, UrtpPacket};
use crate::{Destination, GroupId, Nanos, UrtpConfig, UrtpEndpoint};

/// All targets of this room.
pub const TARGETS: &[Target] = &[
    Target { name: "urtp-packet", run: packet, seeds: packets },
    Target { name: "urtp-endpoint", run: conversation, seeds: conversations },
];

const RANKS: u32 = 40;
/// What passes between two packets.
const STEP: Nanos = 300_000;

/// What can be parsed has a payload that lies in the packet, and numbers for members only.
fn packet(bytes: &[u8]) {
    let Ok(parsed) = UrtpPacket::new(bytes).parse() else { return };
    assert!(parsed.payload.len() <= bytes.len());
    if let Some((_, numbers)) = parsed.spread {
        let _ = (0..2 * RANKS).filter_map(|member| numbers.get(member)).max();
    }
}

/// Packets to a rank that has messages on their way. Two bytes before each say from whom it is, to whom, and how long.
fn conversation(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (mut rank, group) = rank_in_talk();
    let mut out = vec![0; rank.config().body_bytes_max];
    let mut now = 0;
    while !input.is_empty() {
        now += STEP;
        let (from, form) = (input.byte() as u32 % (RANKS + 2), input.byte());
        let body = input.take(form >> 1);
        let _ = rank.handle(now, from, (form & 1 == 1).then_some(group), body);
        answer(&mut rank, now, &mut out);
        assert!(rank.held() <= rank.config().receive_buffers_max());
        while let Some(peer) = rank.poll_ready() {
            while rank.receive(peer, |_| {}) {}
        }
    }
}

/// Sends what is due, within reason.
fn answer(rank: &mut UrtpEndpoint, now: Nanos, out: &mut [u8]) {
    for _ in 0..200 {
        let Some(transmit) = rank.poll_transmit(now, out) else { return };
        assert!(transmit.len <= out.len());
        if let Destination::Rank(to) = transmit.to {
            assert!(to != 0 && to < RANKS, "a packet to {to}");
        }
    }
}

fn rank_in_talk() -> (UrtpEndpoint, GroupId) {
    let mut config = UrtpConfig::new(0, RANKS);
    (config.window, config.shared_buffers, config.send_buffers) = (16, 20, 16);
    let mut rank = UrtpEndpoint::new(config);
    let all: Vec<_> = (0..RANKS).collect();
    let group = rank.add_group(&all).expect("a first group");
    rank.multicast(group, |_| true, b"to all").expect("room for a first packet");
    rank.send(3, 4, |bytes| bytes.fill(9)).expect("room for a second");
    let id = rank.group_id(group);
    (rank, id)
}

/// What another rank writes: data, a multicast, and its answers to what it has heard.
fn packets() -> Vec<Vec<u8>> {
    let kinds = [PacketKind::Data, PacketKind::Request, PacketKind::Ack, PacketKind::Poll, PacketKind::Bye];
    let mut all: Vec<Vec<u8>> = kinds.iter().map(|kind| PacketRepr::of(*kind).bytes().to_vec()).collect();
    let (mut rank, _) = rank_in_talk();
    let mut out = vec![0; rank.config().body_bytes_max];
    for turn in 0..20 {
        while let Some(transmit) = rank.poll_transmit(turn * STEP, &mut out) {
            all.push(out[..transmit.len].to_vec());
        }
    }
    all
}

fn conversations() -> Vec<Vec<u8>> {
    let framed = |packet: &Vec<u8>| {
        let spread = UrtpPacket::new(packet).parse().is_ok_and(|parsed| parsed.spread.is_some());
        let form = (packet.len().min(127) as u8) << 1 | u8::from(spread);
        [&[3, form], &packet[..packet.len().min(127)]].concat()
    };
    let mut all: Vec<Vec<u8>> = packets().iter().map(framed).collect();
    all.push(all.concat());
    all
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_bytes_are_survived() {
        super::driver::bounded(super::TARGETS);
    }
}
