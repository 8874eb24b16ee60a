//! The interpreter finds what it is there to find.

use super::*;
use crate::schedule::{Layout, Span};

fn part(rank: u32, fill: impl FnOnce(&mut Schedule)) -> Part {
    let mut schedule = Schedule::new();
    fill(&mut schedule);
    let memory = Memory::spanning(0, 8);
    let process = Process { group: 0, rank };
    Part { process, schedule, send: memory.clone(), recv: memory, types: HashMap::new() }
}

fn bytes(buf: Buf, offset: i64, count: u64) -> Span {
    Span { offset, ..Span::new(buf, count, Ty::Byte, Layout::BYTE) }
}

fn nothing(_: &[u8], _: &mut [u8]) {}

fn outcome<const N: usize>(mut parts: [Part; N]) -> Result<Traffic, Fault> {
    run(&mut parts, nothing, 1)
}

#[test]
fn a_message_arrives() {
    let mut parts = [
        part(0, |s| s.send(Peer::Local(1), bytes(Buf::Send, 0, 8))),
        part(1, |s| s.recv(Peer::Local(0), bytes(Buf::Recv, 0, 8))),
    ];
    parts[0].send.set(&Shape::byte(), &bytes(Buf::Send, 0, 8).slice(), &[7; 8]);
    assert_eq!(run(&mut parts, nothing, 1), Ok(Traffic { messages: 1, bytes: 8 }));
    assert_eq!(parts[1].recv, parts[0].send);
}

#[test]
fn counting_on_buffering_is_a_deadlock() {
    let first_sends = |to: u32| {
        move |s: &mut Schedule| {
            s.send(Peer::Local(to), bytes(Buf::Send, 0, 1));
            s.wait();
            s.recv(Peer::Local(to), bytes(Buf::Recv, 0, 1));
        }
    };
    assert!(matches!(outcome([part(0, first_sends(1)), part(1, first_sends(0))]), Err(Fault::Deadlock(_))));
}

#[test]
fn different_lengths_are_a_mismatch() {
    let outcome = outcome([
        part(0, |s| s.send(Peer::Local(1), bytes(Buf::Send, 0, 8))),
        part(1, |s| s.recv(Peer::Local(0), bytes(Buf::Recv, 0, 4))),
    ]);
    assert!(matches!(outcome, Err(Fault::Mismatch(_, _, 8, 4))), "{outcome:?}");
}

#[test]
fn touching_what_is_in_flight_is_a_race() {
    let outcome = outcome([
        part(0, |s| s.send(Peer::Local(1), bytes(Buf::Send, 0, 8))),
        part(1, |s| {
            s.recv(Peer::Local(0), bytes(Buf::Recv, 0, 8));
            s.copy(bytes(Buf::Recv, 7, 1), bytes(Buf::Recv, 0, 1));
        }),
    ]);
    assert!(matches!(outcome, Err(Fault::Race(..))), "{outcome:?}");
}

#[test]
fn overlapping_copies_and_writes_outside_are_found() {
    let overlap = outcome([part(0, |s| s.copy(bytes(Buf::Recv, 0, 4), bytes(Buf::Recv, 2, 4)))]);
    assert!(matches!(overlap, Err(Fault::Race(..))), "{overlap:?}");
    let outside = outcome([part(0, |s| s.copy(bytes(Buf::Send, 0, 4), bytes(Buf::Recv, 6, 4)))]);
    assert!(matches!(outside, Err(Fault::Outside(..))), "{outside:?}");
    let to_send = outcome([part(0, |s| s.copy(bytes(Buf::Recv, 0, 4), bytes(Buf::Send, 0, 4)))]);
    assert!(matches!(to_send, Err(Fault::Race(..))), "{to_send:?}");
}
