//! Messages that are read from their senders' memory.

use tern_mem::datatype::ConstructorForm;
use tern_mem::{Basic, Datatype, UserBuf};

use super::*;
use tern_transport::conformance::{Received, buf_of, header};
use tern_transport::{Am, Header, Landing, Sink, Token, TransferError};

/// The ways to make memory known that the providers in software have.
const REGISTRATIONS: [MemoryRegistration; 3] =
    [MemoryRegistration::Any, MemoryRegistration::Offsets, MemoryRegistration::Addresses];

/// What is done with two ranks over every provider that can read, with memory made known in each way.
fn everywhere(test: impl Fn(&mut Two, &str)) {
    let mut tried = 0;
    for provider in ["tcp;ofi_rxm", "sockets", "tcp", "udp;ofi_rxd", "shm"] {
        for registration in REGISTRATIONS {
            let config = OfiConfig { provider, ..OfiConfig::default() };
            let choice = ProviderChoice { config, registration };
            if crashes_within_a_process(provider) {
                continue;
            }
            let Some(mut two) = Two::with(choice) else { continue };
            if two.0.exposed_bytes_max(1) > 0 {
                tried += 1;
                test(&mut two, &format!("{provider}, {registration:?}"));
            }
        }
    }
    let has_some = is_here("tcp;ofi_rxm") || is_here("sockets");
    assert!(tried > 0 || !has_some, "no provider can read");
    println!("{tried} ways to read");
}

/// Provider `shm` of release 2 crashes in `fi_cq_read` when an endpoint of its own process reads from one that it has not heard of. It takes
/// an offset for an address there (`0x61000`). Between processes it reads well, which the suite tries (`ours_over_their_libfabric.sh`).
fn crashes_within_a_process(provider: &str) -> bool {
    provider == "shm" && Library::open().is_ok_and(|library| !library.version().starts_with("1."))
}

/// Exposes a message, and lets both ranks work until it is taken.
fn expose(
    two: &mut Two,
    (body, extended, nth): (&UserBuf, &[u8], usize),
    sinks: (&mut impl Sink, &mut impl Sink),
) {
    let am = Am { header: header(nth), extended, body, offset: 0, len: body.len() };
    let until = Instant::now() + Duration::from_secs(20);
    while two.0.send_zero_copy(1, &am, Some(Token(nth as u64))).is_err() {
        assert!(Instant::now() < until && two.0.failure().is_none(), "{:?}", two.0.failure());
        two.0.poll(sinks.0);
        two.1.poll(sinks.1);
    }
}

#[test]
fn exposed_messages_keep_order_and_content() {
    everywhere(|two, name| {
        let (mut here, mut there) = (Keeper::default(), Keeper::default());
        let mut bodies: Vec<Vec<u8>> = [100, 20_000, 1 << 20, 3_000_000, 17_000, 70_000]
            .into_iter()
            .map(|len| pattern(len, len))
            .collect();
        let originals = bodies.clone();
        for (nth, body) in bodies.iter_mut().enumerate() {
            let extended: &[u8] = if nth % 2 == 1 { b"head" } else { b"" };
            expose(two, (&buf_of(body), extended, nth), (&mut here, &mut there));
            while send(&mut two.0, 1, 100 + nth, &mut pattern(nth, 10)).is_err() {
                two.0.poll(&mut here);
                two.1.poll(&mut there);
            }
        }
        let until = Instant::now() + Duration::from_secs(30);
        while there.received.len() < 12 || here.done.len() < 6 {
            let state = (there.received.len(), here.done.len(), two.0.failure(), two.1.failure());
            assert!(Instant::now() < until, "{name}: {state:?}");
            two.0.poll(&mut here);
            two.1.poll(&mut there);
        }
        for (nth, original) in originals.iter().enumerate() {
            let extended: &[u8] = if nth % 2 == 1 { b"head" } else { b"" };
            let Received { header: got, payload, .. } = &there.received[2 * nth];
            assert_eq!(*got, header(nth), "{name}, message {nth}");
            assert!(*payload == [extended, original].concat(), "{name}, message {nth}");
            assert_eq!(there.received[2 * nth + 1].header, header(100 + nth), "{name}");
        }
        let ends: Vec<_> = (0..6).map(|nth| (Token(nth), Ok(()))).collect();
        assert_eq!(here.done, ends, "{name}");
        while two.1.has_unsent() {
            assert!(Instant::now() < until, "{name}: a packet does not leave");
            two.0.poll(&mut here);
            two.1.poll(&mut there);
        }
    });
}

/// Lands all in one place, or a part of it, or nothing.
struct Lander {
    place: Option<(UserBuf, usize)>,
    has_landed: bool,
}

impl Sink for Lander {
    fn short(&mut self, _: Peer, _: &Header, _: &[u8]) {}
    fn header(&mut self, _: Peer, _: &Header, _: usize) -> Landing {
        match &self.place {
            Some((buf, len)) => Landing::place(buf.clone(), 0, *len, Token(0)),
            None => Landing::Nothing,
        }
    }
    fn landed(&mut self, _: Peer, _: Token) {
        self.has_landed = true;
    }
    fn spoiled(&mut self, _: Peer, _: Token, error: TransferError) {
        panic!("{error:?}");
    }
    fn done(&mut self, _: Token, _: Result<(), TransferError>) {}
}

/// Exposes `body`, and waits until it has ended at the sender.
fn deliver(two: &mut Two, body: &UserBuf, place: Option<(UserBuf, usize)>, name: &str) {
    let (mut here, mut there) = (Keeper::default(), Lander { place, has_landed: false });
    expose(two, (body, b"", 1), (&mut here, &mut there));
    let until = Instant::now() + Duration::from_secs(30);
    while here.done.is_empty() || there.has_landed != there.place.is_some() {
        assert!(Instant::now() < until, "{name}: {:?}, {:?}", two.0.failure(), two.1.failure());
        two.0.poll(&mut here);
        two.1.poll(&mut there);
    }
    assert_eq!(here.done, [(Token(1), Ok(()))], "{name}");
}

#[test]
fn exposed_messages_land_in_gaps_in_part_and_nowhere() {
    everywhere(|two, name| {
        let mut body = pattern(9, 300_000);
        let source = buf_of(&mut body);
        let byte = Datatype::predefined(Basic::Byte);
        let datatype = Datatype::vector(ConstructorForm::Int, 3000, 100, 200, byte).expect("a vector");
        let mut target = vec![0xee_u8; 600_000];
        // SAFETY: the memory lives longer than the buffer, and the type names bytes within it.
        let gaps = unsafe { UserBuf::typed(target.as_mut_ptr(), 1, datatype.layout()) };
        deliver(two, &source, Some((gaps, 300_000)), name);
        for (piece, place) in pattern(9, 300_000).chunks(100).zip(target.chunks(200)) {
            assert!(place[..100] == *piece && place[100..].iter().all(|&byte| byte == 0xee), "{name}");
        }
        let mut part = vec![0_u8; 200_000];
        deliver(two, &source, Some((buf_of(&mut part), 150_000)), name);
        assert!(part[..150_000] == pattern(9, 300_000)[..150_000], "{name}");
        assert!(part[150_000..].iter().all(|&byte| byte == 0), "{name}");
        deliver(two, &source, Some((buf_of(&mut part), 0)), name);
        deliver(two, &source, None, name);
        // One that comes in packets alone, and one of which a packet more comes than is wanted.
        let short = buf_of(&mut body[..30_000]);
        part.fill(0);
        deliver(two, &short, Some((buf_of(&mut part), 20_000)), name);
        deliver(two, &short, None, name);
        deliver(two, &source, Some((buf_of(&mut part), 10_000)), name);
        assert!(part[..20_000] == pattern(9, 300_000)[..20_000], "{name}");
        assert!(part[20_000..].iter().all(|&byte| byte == 0), "{name}");
    });
}

#[test]
fn many_at_once_keep_order_and_content() {
    const MESSAGES: usize = 60;
    everywhere(|two, name| {
        let (mut here, mut there) = (Keeper::default(), Keeper::default());
        let mut bodies: Vec<Vec<u8>> =
            (0..MESSAGES).map(|nth| pattern(nth, 17_000 + nth % 3 * 9_000)).collect();
        let originals = bodies.clone();
        let until = Instant::now() + Duration::from_secs(30);
        for (nth, body) in bodies.iter_mut().enumerate() {
            let body = buf_of(body);
            let am = Am { header: header(nth), extended: b"", body: &body, offset: 0, len: body.len() };
            // The receiver looks only when the sender cannot go on.
            while two.0.send_zero_copy(1, &am, Some(Token(nth as u64))).is_err() {
                assert!(Instant::now() < until && two.0.failure().is_none(), "{name}");
                two.0.poll(&mut here);
                two.1.poll(&mut there);
            }
        }
        while there.received.len() < MESSAGES || here.done.len() < MESSAGES {
            assert!(Instant::now() < until, "{name}: {} of {MESSAGES}", there.received.len());
            two.0.poll(&mut here);
            two.1.poll(&mut there);
        }
        for (nth, (got, original)) in there.received.iter().zip(&originals).enumerate() {
            assert!(got.header == header(nth) && got.payload == *original, "{name}, message {nth}");
        }
    });
}
