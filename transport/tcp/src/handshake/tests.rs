use super::*;
use proptest::prelude::*;

const OURS: Secret = Secret([7; 32]);
const OTHER: Secret = Secret([8; 32]);
const CALL: DialedRanks = DialedRanks { me: 3, peer: 4, realm: Realm::Job };

struct Talk {
    hello: [u8; HELLO_BYTES],
    challenge: [u8; CHALLENGE_BYTES],
    proof: [u8; PROOF_BYTES],
    welcome: [u8; WELCOME_BYTES],
    keys: ConnectionKeys,
}

/// All that a listener can write down.
impl Talk {
    fn transcript(&self, secret: &Secret) -> Transcript {
        let mut transcript = Transcript::new(secret, &self.hello);
        transcript.add(&self.challenge[..FRESH_BYTES]);
        transcript.add(&self.proof[..8]);
        transcript.add(&self.welcome[..9]);
        transcript
    }
}

/// Rank 3 dials rank 4, with a hand in each message on its way. Fails with who refused.
fn talk(dialer: &Secret, acceptor: &Secret, tamper: impl Fn(usize, &mut [u8])) -> Result<Talk, &'static str> {
    let (mut client, mut hello) =
        HandshakeClient::new(dialer, CALL, true, &SettingsFingerprint::default(), &[1; 32]);
    tamper(0, &mut hello);
    let (mut server, mut challenge) =
        HandshakeServer::hello(acceptor, 4, &[2; 32], &hello).map_err(|_| "acceptor")?;
    tamper(1, &mut challenge);
    let mut proof = client.challenge(&challenge, 10).map_err(|_| "dialer")?;
    tamper(2, &mut proof);
    let (peer, next) = server.proof(&proof).map_err(|_| "acceptor")?;
    assert_eq!((peer, next), (3, 10));
    let (mut welcome, acceptors) = server.welcome(AcceptorVerdict::Accepted, 20).map_err(|_| "acceptor")?;
    tamper(3, &mut welcome);
    let (verdict, next, dialers) = client.welcome(&welcome).map_err(|_| "dialer")?;
    assert_eq!((verdict, next), (AcceptorVerdict::Accepted, 20));
    let (acceptors, dialers) = (acceptors.unwrap(), dialers.unwrap());
    assert_eq!((&acceptors.dialer, &acceptors.acceptor), (&dialers.dialer, &dialers.acceptor));
    assert_ne!(acceptors.dialer, acceptors.acceptor);
    Ok(Talk { hello, challenge, proof, welcome, keys: acceptors })
}

#[test]
fn both_ends_of_one_job_agree() {
    assert!(talk(&OURS, &OURS, |_, _| {}).is_ok());
}

#[test]
fn whoever_does_not_know_the_secret_is_refused_by_either_end() {
    assert_eq!(talk(&OTHER, &OURS, |_, _| {}).err(), Some("dialer"), "the acceptor's proof comes first");
    // A dialer that does not look at the acceptor's proof gets no further.
    let (_, hello) = HandshakeClient::new(&OTHER, CALL, false, &SettingsFingerprint::default(), &[1; 32]);
    let (mut server, challenge) = HandshakeServer::hello(&OURS, 4, &[2; 32], &hello).unwrap();
    let mut blind = Transcript::new(&OTHER, &hello);
    blind.add(&challenge[..FRESH_BYTES]);
    blind.add(&[0; 8]);
    let mut proof = [0; PROOF_BYTES];
    proof[8..].copy_from_slice(&blind.tag(b"dialer 2"));
    assert_eq!(server.proof(&proof), Err(HandshakeRefusal::Proof));
}

#[test]
fn a_recorded_talk_is_worth_nothing_later() {
    let old = talk(&OURS, &OURS, |_, _| {}).unwrap();
    let (mut server, challenge) = HandshakeServer::hello(&OURS, 4, &[9; 32], &old.hello).unwrap();
    assert_ne!(challenge, old.challenge);
    assert_eq!(server.proof(&old.proof), Err(HandshakeRefusal::Proof));
    let (mut client, _) = HandshakeClient::new(&OURS, CALL, true, &SettingsFingerprint::default(), &[9; 32]);
    assert_eq!(client.challenge(&old.challenge, 10), Err(HandshakeRefusal::Proof));
    let (mut client, _) = HandshakeClient::new(&OURS, CALL, true, &SettingsFingerprint::default(), &[1; 32]);
    client.challenge(&old.challenge, 11).unwrap();
    assert!(client.welcome(&old.welcome).is_err(), "what was expected then is not what is expected now");
}

#[test]
fn a_proof_sent_back_proves_nothing() {
    let (_, hello) = HandshakeClient::new(&OURS, CALL, false, &SettingsFingerprint::default(), &[1; 32]);
    let (mut server, challenge) = HandshakeServer::hello(&OURS, 4, &[2; 32], &hello).unwrap();
    let mut reflected = [0; PROOF_BYTES];
    reflected[8..].copy_from_slice(&challenge[FRESH_BYTES..]);
    assert_eq!(server.proof(&reflected), Err(HandshakeRefusal::Proof));
}

#[test]
fn the_hello_must_be_to_this_rank_from_another() {
    let call = |me, peer| DialedRanks { me, peer, realm: Realm::Job };
    let hello = |me, peer| {
        HandshakeClient::new(&OURS, call(me, peer), false, &SettingsFingerprint::default(), &[1; 32]).1
    };
    let answer = |hello| HandshakeServer::hello(&OURS, 4, &[2; 32], &hello).map(|_| ()).err();
    assert_eq!(answer(hello(3, 4)), None);
    assert_eq!(answer(hello(3, 5)), Some(HandshakeRefusal::WrongRank));
    assert_eq!(answer(hello(4, 4)), Some(HandshakeRefusal::WrongRank));
    let mut http = hello(3, 4);
    http[..8].copy_from_slice(b"GET / HT");
    assert_eq!(answer(http), Some(HandshakeRefusal::NotTern));
}

#[test]
fn realms_are_named_and_part_of_the_proof() {
    for realm in [Realm::Job, Realm::World(7), Realm::Door(9)] {
        let (mut client, mut hello) = HandshakeClient::new(
            &OURS,
            DialedRanks { me: 4, peer: 4, realm },
            true,
            &SettingsFingerprint::default(),
            &[1; 32],
        );
        assert_eq!(Realm::of(&hello), Ok(realm));
        let answer = HandshakeServer::hello(&OURS, 4, &[2; 32], &hello);
        // A rank does not dial itself; one of another world may have the same rank there.
        assert_eq!(answer.is_ok(), realm != Realm::Job);
        hello[17] = 3;
        assert_eq!(Realm::of(&hello), Err(HandshakeRefusal::NotTern));
        hello[17] = 2;
        let Ok((server, challenge)) = HandshakeServer::hello(&OURS, 4, &[2; 32], &hello) else { continue };
        assert_eq!(client.challenge(&challenge, 1).is_ok(), server.realm() == realm, "{realm:?}");
    }
}

#[test]
fn the_secret_and_all_that_was_said_open_no_record() {
    let talk = talk(&OURS, &OURS, |_, _| {}).unwrap();
    // Who learns the secret later knows the salt, and tries it with every number that it has.
    let salt = talk.transcript(&OURS).salt();
    let (dialers, acceptors) =
        (*talk.hello[FRESH].first_chunk().unwrap(), *talk.challenge.first_chunk().unwrap());
    for seed in [dialers, acceptors, OURS.0, *salt, [0; 32]] {
        for theirs in [&dialers, &acceptors] {
            let keys = Fresh::new(true, &seed).keys(theirs, &salt).unwrap().unwrap();
            assert!(![&talk.keys.dialer, &talk.keys.acceptor].contains(&&keys.dialer));
        }
    }
}

#[test]
fn keys_are_made_as_the_design_says() {
    let talk = talk(&OURS, &OURS, |_, _| {}).unwrap();
    let hmac = |key: &[u8], text: &[u8]| {
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).unwrap();
        mac.update(text);
        <[u8; 32]>::from(mac.finalize().into_bytes())
    };
    let said = [&talk.hello[..], &talk.challenge[..32], &talk.proof[..8], &talk.welcome[..9], b"key salt"];
    let salt = hmac(&OURS.0, &said.concat());
    let shared = x25519_dalek::x25519([1; 32], *talk.challenge.first_chunk().unwrap());
    let source = hmac(&salt, &shared);
    assert_eq!(*talk.keys.dialer, hmac(&source, b"dialer\x01"));
    assert_eq!(*talk.keys.acceptor, hmac(&source, b"accept\x01"));
}

#[test]
fn connections_in_clear_have_no_keys() {
    let (mut client, hello) =
        HandshakeClient::new(&OURS, CALL, false, &SettingsFingerprint::default(), &[1; 32]);
    let (mut server, challenge) = HandshakeServer::hello(&OURS, 4, &[2; 32], &hello).unwrap();
    let proof = client.challenge(&challenge, 1).unwrap();
    server.proof(&proof).unwrap();
    let (welcome, acceptors) = server.welcome(AcceptorVerdict::Accepted, 1).unwrap();
    let (.., dialers) = client.welcome(&welcome).unwrap();
    assert!(acceptors.is_none() && dialers.is_none());
}

/// Of these, every exchange gives the same key, which all the world knows.
#[test]
fn a_key_that_takes_no_part_is_refused_even_of_a_rank() {
    let (_, mut hello) = HandshakeClient::new(&OURS, CALL, true, &SettingsFingerprint::default(), &[1; 32]);
    for useless in [0, 1] {
        hello[FRESH].fill(0);
        hello[FRESH.start] = useless;
        let (mut server, challenge) = HandshakeServer::hello(&OURS, 4, &[2; 32], &hello).unwrap();
        let mut dialer = Transcript::new(&OURS, &hello);
        dialer.add(&challenge[..FRESH_BYTES]);
        dialer.add(&[0; 8]);
        let mut proof = [0; PROOF_BYTES];
        proof[8..].copy_from_slice(&dialer.tag(b"dialer 2"));
        server.proof(&proof).unwrap();
        assert_eq!(server.welcome(AcceptorVerdict::Accepted, 1).err(), Some(HandshakeRefusal::Key));
    }
}

proptest! {
    #[test]
    fn a_changed_bit_anywhere_ends_the_talk(message in 0..4usize, bit in any::<prop::sample::Index>()) {
        let result = talk(&OURS, &OURS, |at, bytes| {
            if at == message {
                let bit = bit.index(bytes.len() * 8);
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        });
        prop_assert!(result.is_err());
    }

    #[test]
    fn random_bytes_get_nobody_in(nonce in any::<[u8; 32]>(), proof in any::<[[u8; 8]; 5]>()) {
        let (_, hello) = HandshakeClient::new(&OTHER, CALL, false, &SettingsFingerprint::default(), &nonce);
        let (mut server, _) = HandshakeServer::hello(&OURS, 4, &[2; 32], &hello).unwrap();
        let mut bytes = [0; PROOF_BYTES];
        bytes.copy_from_slice(proof.as_flattened());
        prop_assert_eq!(server.proof(&bytes), Err(HandshakeRefusal::Proof));
    }
}
