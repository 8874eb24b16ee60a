//! Windows that are read and written without messages.

use tern_mem::UserBuf;

use super::*;
use tern_transport::conformance::buf_of;
use tern_transport::{Header, Landing, Sink, Token, TransferError, WindowMemory};

/// What has ended, and how.
#[derive(Default)]
struct Ends(Vec<(u64, Result<(), TransferError>)>);

impl Sink for Ends {
    fn short(&mut self, _: Peer, _: &Header, _: &[u8]) {}
    fn header(&mut self, _: Peer, _: &Header, _: usize) -> Landing {
        Landing::Nothing
    }
    fn landed(&mut self, _: Peer, _: Token) {}
    fn spoiled(&mut self, _: Peer, _: Token, _: TransferError) {}
    fn done(&mut self, token: Token, result: Result<(), TransferError>) {
        self.0.push((token.0, result));
    }
}

/// Two ranks over every provider that reads and writes windows.
fn everywhere(test: impl Fn(&mut Two, &str)) {
    let mut tried = 0;
    for provider in ["tcp;ofi_rxm", "tcp", "shm"] {
        let Some(mut two) = Two::with(OfiConfig { provider, ..OfiConfig::default() }.into()) else {
            continue;
        };
        if two.1.endpoint.write_bytes_max() > 0 {
            tried += 1;
            test(&mut two, provider);
        }
    }
    assert!(tried > 0 || !is_here("tcp;ofi_rxm"), "no provider writes");
}

/// Lets both ranks work until so many accesses of the first have ended.
fn until(two: &mut Two, ends: &mut Ends, count: usize) {
    let until = Instant::now() + Duration::from_secs(20);
    while ends.0.len() < count {
        assert!(Instant::now() < until && two.0.failure().is_none(), "{:?}", two.0.failure());
        two.0.poll(ends);
        two.1.poll(&mut Keeper::default());
    }
}

/// Begins an access as soon as there is room for it.
fn begun(two: &mut Two, ends: &mut Ends, mut access: impl FnMut(&mut Ofi) -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !access(&mut two.0) {
        assert!(Instant::now() < until, "there is no room");
        two.0.poll(ends);
        two.1.poll(&mut Keeper::default());
    }
}

fn at(window: WindowMemory, offset: u64) -> WindowMemory {
    WindowMemory { start: window.start + offset, ..window }
}

#[test]
fn windows_are_written_and_read() {
    everywhere(|two, name| {
        let (mut memory, mut ends) = (pattern(9, 1 << 20), Ends::default());
        let original = memory.clone();
        let window = two.1.expose_window(&buf_of(&mut memory)).expect(name);
        let mut parts: Vec<Vec<u8>> = (0..100).map(|nth| pattern(nth, 8 + nth * 90)).collect();
        let mut back: Vec<Vec<u8>> = parts.iter().map(|part| vec![0; part.len()]).collect();
        for (nth, part) in parts.iter_mut().enumerate() {
            let (place, token) = (at(window, nth as u64 * 10_000), Token(nth as u64));
            let from = buf_of(part);
            begun(two, &mut ends, |one| one.write_window(1, &from, place, token).is_ok());
        }
        until(two, &mut ends, parts.len());
        for (nth, part) in back.iter_mut().enumerate() {
            let (place, token) = (at(window, nth as u64 * 10_000), Token(nth as u64));
            let into = buf_of(part);
            begun(two, &mut ends, |one| one.read_window(1, place, &into, token).is_ok());
        }
        until(two, &mut ends, 2 * parts.len());
        assert!(ends.0.iter().all(|(_, result)| result.is_ok()), "{name}");
        assert!(back == parts, "{name}");
        for (nth, part) in parts.iter().enumerate() {
            let (from, to) = (nth * 10_000, nth * 10_000 + part.len());
            assert!(memory[from..to] == part[..], "{name}, {nth}");
            assert!(memory[to..to + 500] == original[to..to + 500], "{name}, behind {nth}");
        }
        assert_eq!((two.0.counters().windows, two.1.counters().received), (200, 0), "{name}");
    });
}

#[test]
fn what_is_hidden_or_outside_is_not_reached() {
    everywhere(|two, name| {
        let (mut memory, mut ends) = (vec![1; 4096], Ends::default());
        let window = two.1.expose_window(&buf_of(&mut memory)).expect(name);
        two.1.hide_window(window);
        let mut part = vec![9; 64];
        let from: UserBuf = buf_of(&mut part);
        // The provider refuses at once, or tells of it, or drops the connection: whatever it does, nothing is written.
        let taken = two.0.write_window(1, &from, window, Token(1)).is_ok();
        let until = Instant::now() + Duration::from_millis(500);
        while taken && ends.0.is_empty() && Instant::now() < until {
            two.0.poll(&mut ends);
            two.1.poll(&mut Keeper::default());
        }
        assert!(ends.0.iter().all(|(_, result)| result.is_err()), "{name}: {:?}", ends.0);
        assert!(memory.iter().all(|&byte| byte == 1), "{name}");
    });
}

#[test]
fn there_are_no_windows_of_nothing() {
    everywhere(|two, name| assert_eq!(two.1.expose_window(&UserBuf::empty()), None, "{name}"));
}
