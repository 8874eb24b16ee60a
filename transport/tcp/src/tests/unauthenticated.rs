//! Whoever else knocks: random bytes, silence, floods, replays. None of it reaches the job.

use super::super::handshake::{CHALLENGE_BYTES, HELLO_BYTES, PROOF_BYTES};
use super::*;
use std::io::{Read, Write};
use std::net::TcpStream;

fn knock(directory: &TestDirectory) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port_of(directory, 1))).expect("somebody listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Messages go on between ranks 0 and 1 while unauthenticated peers do `something`.
fn undisturbed(something: impl Fn(usize, &TestDirectory, &mut Vec<TcpStream>)) -> u64 {
    let (mut ranks, directory) = job(2, quick());
    let (mut keepers, mut unauthenticated) = (keepers(2), Vec::new());
    for seed in 0..300 {
        something(seed, &directory, &mut unauthenticated);
        send(&mut ranks[0], 1, seed, &mut pattern(seed, 50)).unwrap();
        poll_until(&mut ranks, &mut keepers, |_, keepers| keepers[1].received.len() == seed + 1);
    }
    // They are heard to the end.
    for _ in 0..1000 {
        ranks[1].poll(&mut keepers[1]);
    }
    let turned_away = ranks[1].turned_away();
    assert_eq!(keepers[1].received.len(), 300);
    turned_away
}

#[test]
fn random_bytes_are_turned_away_at_once() {
    let turned_away = undisturbed(|seed, directory, unauthenticated| {
        let mut connection = knock(directory);
        let _ = connection.write_all(&pattern(seed, 10_000));
        unauthenticated.push(connection);
    });
    assert_eq!(turned_away, 300);
}

#[test]
fn whoever_says_nothing_or_little_makes_room_for_others() {
    let turned_away = undisturbed(|seed, directory, unauthenticated| {
        let mut connection = knock(directory);
        if seed % 2 == 0 {
            let _ = connection.write_all(b"T");
        }
        unauthenticated.push(connection);
    });
    assert!(turned_away >= 300 - crate::limits::UNAUTHENTICATED_MAX as u64, "{turned_away}");
}

#[test]
fn an_unauthenticated_peer_has_little_time() {
    let (mut ranks, directory) = job(2, quick());
    let mut slow = knock(&directory);
    let (began, mut keepers) = (Instant::now(), keepers(2));
    poll_until(&mut ranks, &mut keepers, |ranks, _| {
        let _ = slow.write_all(b"T");
        std::thread::sleep(Duration::from_millis(100));
        ranks[1].turned_away() == 1
    });
    // Its last byte came a tenth of a second ago: whoever gives each byte new time never ends this. Other tests share the cores.
    assert!(began.elapsed() < Duration::from_secs(crate::limits::AUTHENTICATION_S * 4));
}

/// As a rank does that has dialled while its peer dialled, too.
#[test]
fn whoever_hangs_up_is_counted_apart() {
    let (mut ranks, directory) = job(2, quick());
    drop(knock(&directory));
    poll_until(&mut ranks, &mut keepers(2), |ranks, _| ranks[1].given_up() == 1);
    assert_eq!(ranks[1].turned_away(), 0);
}

#[test]
fn a_recorded_handshake_opens_no_door() {
    let (mut ranks, directory) = job(2, quick());
    let mut keepers = keepers(2);
    // Between the two, somebody listens in and records what rank 0 says.
    let tap = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let real = port_of(&directory, 1);
    let own = super::super::endpoint_address::EndpointAddress {
        port: tap.local_addr().unwrap().port(),
        addresses: vec!["127.0.0.1".parse().unwrap()],
    };
    directory.set(1, own.bytes());
    let recorder = std::thread::spawn(move || {
        let (mut dialer, _) = tap.accept().unwrap();
        let mut acceptor = TcpStream::connect(("127.0.0.1", real)).unwrap();
        let (mut hello, mut challenge, mut proof) =
            ([0; HELLO_BYTES], [0; CHALLENGE_BYTES], [0; PROOF_BYTES]);
        dialer.read_exact(&mut hello).unwrap();
        acceptor.write_all(&hello).unwrap();
        acceptor.read_exact(&mut challenge).unwrap();
        dialer.write_all(&challenge).unwrap();
        dialer.read_exact(&mut proof).unwrap();
        (hello, proof)
    });
    send(&mut ranks[0], 1, 1, &mut pattern(1, 10)).unwrap();
    poll_until(&mut ranks, &mut keepers, |_, _| recorder.is_finished());
    let (hello, proof) = recorder.join().unwrap();
    directory.set(1, Vec::new());
    let before = ranks[1].turned_away();
    let mut replay = TcpStream::connect(("127.0.0.1", real)).unwrap();
    replay.write_all(&hello).unwrap();
    replay.write_all(&proof).unwrap();
    for _ in 0..5000 {
        ranks[1].poll(&mut keepers[1]);
    }
    assert!(ranks[1].turned_away() > before);
    assert!(!ranks[1].is_live(0) && keepers[1].received.is_empty());
}
