use super::*;
use crate::limits::NUMBERS_BYTES_MAX;
use numbers::NumbersPlan;
use proptest::prelude::*;

fn heads(kinds: &'static [PacketKind]) -> impl Strategy<Value = PacketRepr> {
    let words = any::<[u32; 5]>();
    (prop::sample::select(kinds), 0..=FLAGS, any::<u16>(), words).prop_map(|(kind, flags, room, words)| {
        let [seq, ack, stamp, echo, rate] = words;
        PacketRepr { kind, flags, room, seq, ack, stamp, echo, rate }
    })
}

fn members() -> impl Strategy<Value = Vec<Option<u32>>> {
    let near = |spread: u32| {
        let number = (0..=spread).prop_map(|delta| 0xFFFF_FF00_u32.wrapping_add(delta));
        prop::collection::vec(prop::option::weighted(0.8, number), 1..1500)
    };
    let with_exceptions =
        prop::collection::vec(prop::sample::select(vec![7; 200]), 1..1200).prop_flat_map(|all| {
            let odd = prop::collection::vec((0..all.len(), any::<u32>()), 0..12);
            (Just(all), odd).prop_map(|(all, odd): (Vec<u32>, Vec<(usize, u32)>)| {
                let mut all: Vec<_> = all.into_iter().map(Some).collect();
                odd.into_iter().for_each(|(at, number)| all[at] = Some(number));
                all
            })
        });
    prop_oneof![near(0), near(200), near(60_000), near(u32::MAX), with_exceptions]
}

/// One packet for the members from `from` on.
fn packet(repr: PacketRepr, spread: Spread, plan: &NumbersPlan<'_>, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; HEAD_BYTES + SPREAD_BYTES + plan.bytes()];
    let (len, seq) = spread.emit(plan, &mut bytes);
    assert_eq!(len, bytes.len());
    bytes[..HEAD_BYTES].copy_from_slice(&PacketRepr { seq, ..repr }.bytes());
    bytes.extend_from_slice(payload);
    bytes
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        repr in heads(&[PacketKind::Data, PacketKind::Request]),
        payload in prop::collection::vec(any::<u8>(), 0..=32),
    ) {
        let mut bytes = repr.bytes().to_vec();
        bytes.extend_from_slice(&payload);
        let parsed = UrtpPacket::new(&bytes).parse();
        prop_assert_eq!(parsed, Ok(ParsedPacket { repr, spread: None, payload: &payload }));
    }

    #[test]
    fn every_addressed_member_has_its_number_in_one_packet(
        all in members(),
        repr in heads(&[PacketKind::Multicast]),
        payload in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let spread = Spread { check: 5, about: 0, place: 3, covered: true };
        let (mut from, mut found) = (0, vec![None; all.len()]);
        while let Some(plan) = NumbersPlan::new(&all, from) {
            prop_assert!(plan.bytes() <= NUMBERS_BYTES_MAX);
            from = plan.end();
            let bytes = packet(repr, spread, &plan, &payload);
            let parsed = UrtpPacket::new(&bytes).parse().expect("a packet that was written");
            let (read, numbers) = parsed.spread.expect("members");
            prop_assert_eq!((read, parsed.payload), (spread, &payload[..]));
            for (index, number) in numbers.iter() {
                prop_assert_eq!(found[index as usize].replace(number), None);
                prop_assert_eq!(numbers.get(index), Some(number));
            }
        }
        prop_assert_eq!(found, all);
    }

    #[test]
    fn any_bytes_are_a_packet_within_bounds_or_an_error(mut bytes in prop::collection::vec(any::<u8>(), 0..400), kind in 0u8..10) {
        if let Some(first) = bytes.first_mut() {
            *first = kind;
        }
        if let Some(flags) = bytes.get_mut(1) {
            *flags &= FLAGS;
        }
        if let Ok(parsed) = UrtpPacket::new(&bytes).parse() {
            prop_assert!(parsed.payload.len() <= bytes.len() - HEAD_BYTES);
            prop_assert_eq!(&parsed.repr.bytes()[..], &bytes[..HEAD_BYTES]);
            if let Some((_, numbers)) = parsed.spread {
                let (first, count) = numbers.range();
                prop_assert!(numbers.iter().count() <= usize::from(count));
                prop_assert_eq!(numbers.get(u32::from(first) + u32::from(count)), None);
            }
        }
    }

    #[test]
    fn a_packet_cut_short_is_found(all in members(), cut in 1usize..40) {
        let Some(plan) = NumbersPlan::new(&all, 0) else { return Ok(()) };
        let spread = Spread { check: 5, about: 0, place: 0, covered: false };
        let bytes = packet(PacketRepr::of(PacketKind::Multicast), spread, &plan, &[]);
        let end = bytes.len().saturating_sub(cut);
        prop_assert!(UrtpPacket::new(&bytes[..end]).parse().is_err());
    }
}

#[test]
fn members_with_one_number_cost_a_bit_each() {
    let all = vec![Some(9); 1024];
    let plan = NumbersPlan::new(&all, 0).expect("members");
    assert_eq!((plan.bytes(), plan.end()), (128, 1024));
}

#[test]
fn few_members_with_other_numbers_still_go_in_one_packet() {
    let mut all = vec![Some(9); 1024];
    (0..10).for_each(|at| all[at * 100] = Some(1 << at));
    let plan = NumbersPlan::new(&all, 0).expect("members");
    assert_eq!((plan.bytes(), plan.end()), (188, 1024));
}

#[test]
fn only_some_packets_have_a_payload() {
    for kind in [PacketKind::Ack, PacketKind::Poll, PacketKind::Bye] {
        let mut bytes = PacketRepr::of(kind).bytes().to_vec();
        assert!(UrtpPacket::new(&bytes).parse().is_ok());
        bytes.push(0);
        assert_eq!(UrtpPacket::new(&bytes).parse(), Err(MalformedPacket::Range));
    }
}
