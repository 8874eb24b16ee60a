//! What comes over libfabric, and the address that says where an endpoint is. A packet's token has been looked at before its payload is.

#[path = "../driver.rs"]
mod driver;

pub use driver::Target;

use super::endpoint_address::OfiEndpointAddress;
use super::exposed::{OFFER_BYTES, OfferPayload, Offered};
use super::packet::{HEAD_BYTES, OfiPacketKind, parse, write_head};
use tern_libfabric::RemoteMemory;
use tern_transport::Header;
use tern_transport::fingerprint::SettingsFingerprint;

/// All targets of this room.
pub const TARGETS: &[Target] = &[
    Target { name: "ofi-packet", run: packet, seeds: packets },
    Target { name: "ofi-address", run: address, seeds: addresses },
];

fn packet(bytes: &[u8]) {
    let Some(packet) = parse(bytes) else { return assert!(bytes.len() < HEAD_BYTES) };
    assert_eq!(packet.payload.len(), bytes.len() - HEAD_BYTES);
    let mut head = [0; HEAD_BYTES];
    write_head(&mut head, (packet.token, packet.sequence), packet.from, &packet.header);
    assert_eq!(parse(&head).map(|again| (again.token, again.header)), Some((packet.token, packet.header)));
    if OfiPacketKind::of_mark(packet.token) == Some(OfiPacketKind::Offer)
        && let Some(OfferPayload { offered, extended, riding }) = OfferPayload::parse(packet.payload)
    {
        assert_eq!(offered.bytes(), packet.payload[..OFFER_BYTES]);
        assert_eq!(extended.len(), offered.extended as usize);
        assert_eq!(extended.len() + riding.len(), packet.payload.len() - OFFER_BYTES);
    }
}

fn packets() -> Vec<Vec<u8>> {
    let mut offer = vec![7; HEAD_BYTES + OFFER_BYTES + 4];
    write_head(&mut offer, (OfiPacketKind::Offer.mark(), 9), 3, &Header::default());
    let offered =
        Offered { place: RemoteMemory { start: 1 << 40, key: 5 }, len: 1 << 20, first: 2, extended: 2 };
    offer[HEAD_BYTES..HEAD_BYTES + OFFER_BYTES].copy_from_slice(&offered.bytes());
    vec![offer.clone(), offer[..HEAD_BYTES].to_vec()]
}

fn address(bytes: &[u8]) {
    let Some(address) = OfiEndpointAddress::parse(bytes) else { return };
    // What is longer than a launcher passes on was not written by a rank.
    assert!(address.bytes().is_none_or(|again| again == bytes));
}

fn addresses() -> Vec<Vec<u8>> {
    let one =
        OfiEndpointAddress::new("tcp;ofi_rxm", &SettingsFingerprint::default(), &[2, 0, 9, 9, 127, 0, 0, 1]);
    vec![one.bytes().expect("it is short")]
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_bytes_are_survived() {
        super::driver::bounded(super::TARGETS);
    }
}
