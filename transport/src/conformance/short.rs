//! The shortest ways of short messages, mixed with the usual ones.

use tern_mem::ContiguousBuf;

use super::world::{ConformanceWorld, Keeper, Received, drain, header, pattern, send_surely};
use crate::{AM_INLINE_BYTES_MAX, Transport};

/// Messages that go and come the shortest way and those that do not stay in order, whole, and are seen once.
pub fn mixes_short_ways_with_others<W: ConformanceWorld>() {
    let (mut world, mut keeper) = (W::new(), Keeper { one_by_one: true, ..Keeper::default() });
    let from = world.receiver().1;
    let payload = |seed: usize| pattern(seed, if seed.is_multiple_of(7) { 300 } else { seed % 45 });
    for seed in 0..3000 {
        if !send_short(&mut world, seed, payload(seed)) {
            send_surely(&mut world, &mut keeper, seed, payload(seed));
        }
        match seed % 5 {
            0 | 1 => _ = take_short(&mut world, &mut keeper),
            2 => _ = world.receiver().0.poll(&mut keeper),
            3 => while take_short(&mut world, &mut keeper) {},
            _ => {}
        }
    }
    drain(&mut world, &mut keeper);
    assert_eq!(keeper.received.len(), 3000);
    for (seed, message) in keeper.received.iter().enumerate() {
        assert_eq!(*message, Received { from, header: header(seed), payload: payload(seed) });
    }
}

/// Every second one, where the transport can; of those, every second one by route.
fn send_short<W: ConformanceWorld>(world: &mut W, seed: usize, mut payload: Vec<u8>) -> bool {
    if payload.len() > AM_INLINE_BYTES_MAX || seed.is_multiple_of(2) {
        return false;
    }
    // SAFETY: not used beyond this call.
    let buf = unsafe { ContiguousBuf::new(payload.as_mut_ptr(), payload.len()) };
    let (transport, peer) = world.sender();
    match seed % 4 {
        1 => transport.send_short(peer, &header(seed), buf),
        _ => transport.send_short_by_route(peer, &header(seed), buf),
    }
}

fn take_short<W: ConformanceWorld>(world: &mut W, keeper: &mut Keeper) -> bool {
    let (transport, from) = world.receiver();
    let Some((header, short)) = transport.next_short(from) else { return false };
    let mut payload = vec![0; short.len()];
    // SAFETY: not used beyond this block.
    let buf = unsafe { ContiguousBuf::new(payload.as_mut_ptr(), payload.len()) };
    assert!(short.write_to(buf));
    transport.pass_short(from);
    keeper.received.push(Received { from, header, payload });
    true
}
