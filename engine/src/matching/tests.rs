//! Matching against the definition: one list, searched from its beginning.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Event {
    Post(Pattern),
    Arrive(Envelope),
    Withdraw(usize),
    Probe(Pattern),
}

fn envelope() -> impl Strategy<Value = Envelope> {
    (0u64..2, 0u32..3, 0i32..3).prop_map(|(context, source, tag)| Envelope { context, source, tag })
}

fn pattern() -> impl Strategy<Value = Pattern> {
    (envelope(), 0usize..4).prop_map(|(envelope, wildness)| envelope.pattern(wildness))
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => pattern().prop_map(Event::Post),
        4 => envelope().prop_map(Event::Arrive),
        1 => (0usize..40).prop_map(Event::Withdraw),
        1 => pattern().prop_map(Event::Probe),
    ]
}

fn take_first<T>(list: &mut Vec<T>, fits: impl Fn(&T) -> bool) -> Option<T> {
    let at = list.iter().position(fits)?;
    Some(list.remove(at))
}

fn run(events: Vec<Event>) {
    let (mut posted, mut unexpected) = (Posted::default(), Unexpected::default());
    let (mut receives, mut messages) = (Vec::<(Pattern, u32)>::new(), Vec::<(Envelope, u32)>::new());
    for (id, event) in (0u32..).zip(events) {
        match event {
            Event::Post(p) => {
                let expected = take_first(&mut messages, |(e, _)| p.fits(e)).map(|(_, id)| id);
                assert_eq!(unexpected.take(&p), expected);
                if expected.is_none() {
                    posted.post(p, id);
                    receives.push((p, id));
                }
            }
            Event::Arrive(e) => {
                let expected = take_first(&mut receives, |(p, _)| p.fits(&e)).map(|(_, id)| id);
                assert_eq!(posted.has_one_for(&e), expected.is_some());
                assert_eq!(posted.take(&e), expected);
                if expected.is_none() {
                    unexpected.keep(e, id);
                    messages.push((e, id));
                }
            }
            Event::Withdraw(at) if at < receives.len() => {
                let (p, id) = receives.remove(at);
                assert!(posted.withdraw(&p, id));
                assert!(!posted.withdraw(&p, id));
            }
            Event::Withdraw(_) => {}
            Event::Probe(p) => {
                let expected = messages.iter().find(|(e, _)| p.fits(e)).map(|&(_, id)| id);
                assert_eq!(unexpected.find(&p), expected);
            }
        }
        assert_eq!((posted.len(), unexpected.len()), (receives.len(), messages.len()));
        assert!(messages.iter().map(|&(_, id)| id).eq(unexpected.some(usize::MAX)));
        assert_eq!(unexpected.some(3).len(), messages.len().min(3));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn agrees_with_one_list(events in proptest::collection::vec(event(), 1..200)) {
        run(events);
    }
}

#[test]
fn order_is_kept_when_the_list_turns_into_bins_and_back() {
    let any = Pattern { context: 1, source: ANY_SOURCE, tag: ANY_TAG };
    let mut unexpected = Unexpected::default();
    for round in 0..3 {
        for id in 0..40 {
            unexpected.keep(Envelope { context: 1, source: id % 3, tag: id as i32 + round }, id);
        }
        for id in 0..40 {
            assert_eq!(unexpected.take(&any), Some(id));
        }
        assert!(unexpected.is_empty());
    }
}

/// Each message goes through the list, the rest and the chains at some time, and wild searches come at all times.
#[test]
fn many_messages_agree_with_one_list() {
    let (mut unexpected, mut messages, mut word) =
        (Unexpected::default(), Vec::<(Envelope, u32)>::new(), 7u64);
    let mut random = |limit: u64| {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (word >> 33) % limit
    };
    for id in 0u32..6_000 {
        let envelope = Envelope { context: 1, source: random(4) as u32, tag: random(400) as i32 };
        let wildness = if random(50) == 0 { random(4) as usize } else { 0 };
        let pattern = envelope.pattern(wildness);
        match random(if id < 2_000 { 40 } else { 6 }) {
            0..2 => {
                let expected = take_first(&mut messages, |(e, _)| pattern.fits(e)).map(|(_, id)| id);
                assert_eq!(unexpected.take(&pattern), expected);
            }
            2 if !messages.is_empty() => {
                let (_, id) = messages.remove(random(messages.len() as u64) as usize);
                unexpected.withdraw(id);
            }
            3 => {
                let expected = messages.iter().find(|(e, _)| pattern.fits(e)).map(|&(_, id)| id);
                assert_eq!(unexpected.find(&pattern), expected);
            }
            _ => {
                unexpected.keep(envelope, id);
                messages.push((envelope, id));
            }
        }
        assert!(
            messages.iter().map(|&(_, id)| id).take(50).eq(unexpected.some(usize::MAX).into_iter().take(50))
        );
        assert_eq!(unexpected.len(), messages.len());
    }
}

/// Each receive goes through the list, the rest and the bins at some time, among wild ones.
#[test]
fn many_receives_agree_with_one_list() {
    let (mut posted, mut receives, mut word) = (Posted::default(), Vec::<(Pattern, u32)>::new(), 1u64);
    let mut random = |limit: u64| {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (word >> 33) % limit
    };
    for id in 0u32..6_000 {
        let envelope = Envelope { context: 1, source: random(4) as u32, tag: random(400) as i32 };
        let wildness = if random(50) == 0 { random(4) as usize } else { 0 };
        match random(if id < 2_000 { 40 } else { 6 }) {
            0..2 => {
                let expected = take_first(&mut receives, |(p, _)| p.fits(&envelope)).map(|(_, id)| id);
                assert_eq!(posted.take(&envelope), expected);
            }
            2 if !receives.is_empty() => {
                let (pattern, id) = receives.remove(random(receives.len() as u64) as usize);
                assert!(posted.withdraw(&pattern, id));
            }
            3 => {
                let expected = receives.iter().any(|(p, _)| p.fits(&envelope));
                assert_eq!(posted.has_one_for(&envelope), expected);
            }
            _ => {
                posted.post(envelope.pattern(wildness), id);
                receives.push((envelope.pattern(wildness), id));
            }
        }
        assert_eq!(posted.len(), receives.len());
    }
}
