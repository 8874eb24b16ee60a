//! The interpreter finds what it is there to find.

use super::*;
use crate::schedule::{Span, TypeLayout};

fn part(rank: u32, fill: impl FnOnce(&mut Schedule)) -> ProcessPart {
    let mut schedule = Schedule::new();
    fill(&mut schedule);
    let memory = GuardedBuffer::spanning(0, 8);
    let process = InterpretedProcess { group: 0, rank };
    ProcessPart { process, schedule, send: memory.clone(), recv: memory, types: HashMap::new() }
}

fn bytes(buf: Buf, offset: i64, count: u64) -> Span {
    Span { offset, ..Span::new(buf, count, Ty::Byte, TypeLayout::BYTE) }
}

fn nothing(_: &[u8], _: &mut [u8]) {}

fn outcome<const N: usize>(mut parts: [ProcessPart; N]) -> Result<CollectiveTraffic, ScheduleFault> {
    run(&mut parts, nothing, 1)
}

#[test]
fn a_message_arrives() {
    let mut parts = [
        part(0, |s| s.send(StepPeer::Local(1), bytes(Buf::Send, 0, 8))),
        part(1, |s| s.recv(StepPeer::Local(0), bytes(Buf::Recv, 0, 8))),
    ];
    parts[0].send.set(&DatatypeShape::byte(), &bytes(Buf::Send, 0, 8).slice(), &[7; 8]);
    assert_eq!(run(&mut parts, nothing, 1), Ok(CollectiveTraffic { messages: 1, bytes: 8 }));
    assert_eq!(parts[1].recv, parts[0].send);
}

#[test]
fn counting_on_buffering_is_a_deadlock() {
    let first_sends = |to: u32| {
        move |s: &mut Schedule| {
            s.send(StepPeer::Local(to), bytes(Buf::Send, 0, 1));
            s.wait();
            s.recv(StepPeer::Local(to), bytes(Buf::Recv, 0, 1));
        }
    };
    assert!(matches!(
        outcome([part(0, first_sends(1)), part(1, first_sends(0))]),
        Err(ScheduleFault::Deadlock(_))
    ));
}

#[test]
fn different_lengths_are_a_mismatch() {
    let outcome = outcome([
        part(0, |s| s.send(StepPeer::Local(1), bytes(Buf::Send, 0, 8))),
        part(1, |s| s.recv(StepPeer::Local(0), bytes(Buf::Recv, 0, 4))),
    ]);
    assert!(matches!(outcome, Err(ScheduleFault::Mismatch(_, _, 8, 4))), "{outcome:?}");
}

#[test]
fn touching_what_is_in_flight_is_a_race() {
    let outcome = outcome([
        part(0, |s| s.send(StepPeer::Local(1), bytes(Buf::Send, 0, 8))),
        part(1, |s| {
            s.recv(StepPeer::Local(0), bytes(Buf::Recv, 0, 8));
            s.copy(bytes(Buf::Recv, 7, 1), bytes(Buf::Recv, 0, 1));
        }),
    ]);
    assert!(matches!(outcome, Err(ScheduleFault::Race(..))), "{outcome:?}");
}

#[test]
fn overlapping_copies_and_writes_outside_are_found() {
    let overlap = outcome([part(0, |s| s.copy(bytes(Buf::Recv, 0, 4), bytes(Buf::Recv, 2, 4)))]);
    assert!(matches!(overlap, Err(ScheduleFault::Race(..))), "{overlap:?}");
    let outside = outcome([part(0, |s| s.copy(bytes(Buf::Send, 0, 4), bytes(Buf::Recv, 6, 4)))]);
    assert!(matches!(outside, Err(ScheduleFault::Outside(..))), "{outside:?}");
    let to_send = outcome([part(0, |s| s.copy(bytes(Buf::Recv, 0, 4), bytes(Buf::Send, 0, 4)))]);
    assert!(matches!(to_send, Err(ScheduleFault::Race(..))), "{to_send:?}");
}

#[test]
fn a_multicast_is_one_message_and_stays_until_all_have_it() {
    let hears = |s: &mut Schedule| s.listen(StepPeer::Local(0), bytes(Buf::Recv, 0, 8));
    let parts = |overwrites: bool| {
        let sends = move |s: &mut Schedule| {
            let to = s.audience([1, 2].map(StepPeer::Local));
            s.multicast(to, bytes(Buf::Recv, 0, 8));
            if overwrites {
                s.copy(bytes(Buf::Send, 0, 1), bytes(Buf::Recv, 7, 1));
            }
        };
        let mut parts = [part(0, sends), part(1, hears), part(2, hears)];
        parts[0].recv.set(&DatatypeShape::byte(), &bytes(Buf::Recv, 0, 8).slice(), &[7; 8]);
        parts
    };
    let mut right = parts(false);
    assert_eq!(run(&mut right, nothing, 1), Ok(CollectiveTraffic { messages: 1, bytes: 8 }));
    assert!(right[1].recv == right[0].recv && right[2].recv == right[0].recv);
    assert!(matches!(outcome(parts(true)), Err(ScheduleFault::Race(..))));
}

#[test]
fn a_multicast_waits_for_all_who_are_to_hear_it() {
    let sends = |s: &mut Schedule| {
        let to = s.audience([1, 2].map(StepPeer::Local));
        s.multicast(to, bytes(Buf::Send, 0, 1));
    };
    let hears = |s: &mut Schedule| s.listen(StepPeer::Local(0), bytes(Buf::Recv, 0, 1));
    let deaf = outcome([part(0, sends), part(1, hears), part(2, |_| {})]);
    assert_eq!(deaf, Err(ScheduleFault::Deadlock(vec!["0.0 sends 1 to 0.2".into()])));
}

/// There is no order between both, so one could be taken for the other.
#[test]
fn multicasts_and_messages_to_one_do_not_go_together() {
    let both = |s: &mut Schedule| {
        let to = s.audience([StepPeer::Local(1)]);
        s.multicast(to, bytes(Buf::Send, 0, 1));
        s.send(StepPeer::Local(1), bytes(Buf::Send, 0, 1));
    };
    let takes = |s: &mut Schedule| {
        s.listen(StepPeer::Local(0), bytes(Buf::Recv, 0, 1));
        s.listen(StepPeer::Local(0), bytes(Buf::Recv, 1, 1));
    };
    let [sender, receiver] = [0, 1].map(|rank| InterpretedProcess { group: 0, rank });
    assert_eq!(outcome([part(0, both), part(1, takes)]), Err(ScheduleFault::Mixed(sender, receiver)));
    let single = outcome([part(0, |s| s.send(StepPeer::Local(1), bytes(Buf::Send, 0, 1))), part(1, takes)]);
    assert_eq!(
        single,
        Err(ScheduleFault::Mixed(sender, receiver)),
        "a receiver, too, has to know what it awaits"
    );
    let aloud = |s: &mut Schedule| {
        let to = s.audience([StepPeer::Local(0)]);
        s.multicast(to, bytes(Buf::Send, 0, 1));
    };
    assert_eq!(outcome([part(0, aloud)]), Err(ScheduleFault::Mixed(sender, sender)));
}

#[test]
fn what_comes_early_is_counted_until_it_is_awaited() {
    let sends = |s: &mut Schedule| {
        let to = s.audience([StepPeer::Local(1)]);
        for count in [1, 2, 3] {
            s.multicast(to, bytes(Buf::Send, 0, count));
        }
    };
    let hears = |s: &mut Schedule| {
        for count in [1, 2, 3] {
            s.listen(StepPeer::Local(0), bytes(Buf::Recv, 0, count));
            s.wait();
        }
    };
    let unexpected = |late| run_late(&mut [part(0, sends), part(1, hears)], nothing, 1, late).unwrap().1;
    assert_eq!(unexpected(1), UnexpectedTraffic { messages: 3, bytes: 6 });
    assert_eq!(unexpected(0), UnexpectedTraffic::default(), "nobody sends anything to the sender");
}
