//! The mutual proof that both ends know the job's secret, without sockets: bytes in, bytes out.
//!
//! | message | from | holds |
//! |---|---|---|
//! | hello | dialer | version, who dials whom, whether to encrypt, the realm, the marks of its settings, 32 fresh bytes |
//! | challenge | acceptor | 32 fresh bytes, and the acceptor's proof over the hello and these |
//! | proof | dialer | the next frame it expects, and its proof over all of the above and that |
//! | welcome | acceptor | its verdict, the next frame it expects, and a proof over everything |
//!
//! The realm says which secret both ends must know: that of their job, the acceptor's secret for processes of other worlds, or
//! that of a door.
//!
//! A proof is HMAC-SHA256 with that secret, of a label for the message and the transcript. The labels keep one end's
//! proofs from being returned to it; the fresh bytes keep recorded ones from being used again.
//!
//! The fresh bytes are a nonce, or a public key where the connection is encrypted: the records' keys come of an X25519
//! exchange, the job's secret and the transcript (`handshake/fresh.rs`). `docs/design/security.md` has the analysis.

mod fresh;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use tern_transport::Peer;
use tern_transport::fingerprint::{FINGERPRINT_BYTES, SettingsFingerprint};

pub(crate) use fresh::{ConnectionKey, ConnectionKeys, FRESH_BYTES};

use fresh::Fresh;

/// Bytes of the job's secret.
pub(crate) const SECRET_BYTES: usize = 32;
pub(crate) const HELLO_BYTES: usize = MAGIC.len() + 18 + FINGERPRINT_BYTES + FRESH_BYTES;
pub(crate) const CHALLENGE_BYTES: usize = FRESH_BYTES + TAG_BYTES;
pub(crate) const PROOF_BYTES: usize = 8 + TAG_BYTES;
pub(crate) const WELCOME_BYTES: usize = 9 + TAG_BYTES;

const TAG_BYTES: usize = 32;
/// The last byte is the version of the protocol.
const MAGIC: [u8; 8] = *b"TernTCP\x05";

/// Where in a hello the marks of the settings are.
const FINGERPRINT: std::ops::Range<usize> = 26..26 + FINGERPRINT_BYTES;
/// And behind them the fresh bytes.
const FRESH: std::ops::Range<usize> = FINGERPRINT.end..HELLO_BYTES;

/// The secret of a job.
#[derive(Clone)]
pub(crate) struct Secret(pub [u8; SECRET_BYTES]);

/// Which secret a connection is proved with, and so who may be at its ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Realm {
    /// Ranks of one job.
    Job,
    /// The dialer is of another world, which has this number.
    World(u64),
    /// A conversation at a door, which has this number.
    Door(u64),
}

impl Realm {
    fn bytes(self) -> [u8; 9] {
        let (kind, number) = match self {
            Realm::Job => (0, 0),
            Realm::World(number) => (1, number),
            Realm::Door(number) => (2, number),
        };
        let mut bytes = [kind; 9];
        bytes[1..].copy_from_slice(&number.to_le_bytes());
        bytes
    }

    /// The realm that a hello names. Nothing of it is proved yet.
    pub(crate) fn of(hello: &[u8; HELLO_BYTES]) -> Result<Realm, HandshakeRefusal> {
        let number = hello[18..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        match hello[17] {
            0 if number == 0 => Ok(Realm::Job),
            1 => Ok(Realm::World(number)),
            2 => Ok(Realm::Door(number)),
            _ => Err(HandshakeRefusal::NotTern),
        }
    }
}

/// Who dials whom: ranks in the worlds of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DialedRanks {
    pub me: Peer,
    pub peer: Peer,
    pub realm: Realm,
}

/// Why the other end is not who it must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum HandshakeRefusal {
    #[error("it is not a rank of a Tern job, or of another version")]
    NotTern,
    #[error("it does not know this job's secret: it is a rank of another job")]
    Proof,
    #[error("it is another rank of the job")]
    WrongRank,
    #[error("its key for the connection is none")]
    Key,
}

/// What an acceptor answers a dialer that has proved itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AcceptorVerdict {
    /// Messages may follow.
    Accepted = 1,
    /// Both have dialled at once, and the acceptor's own connection is the one to use.
    Yield = 2,
}

/// Everything both ends have said; what proofs are over.
#[derive(Clone)]
struct Transcript(Hmac<Sha256>);

impl Transcript {
    fn new(secret: &Secret, hello: &[u8; HELLO_BYTES]) -> Self {
        let mut mac =
            <Hmac<Sha256> as KeyInit>::new_from_slice(&secret.0).expect("a key of any length will do");
        mac.update(hello);
        Transcript(mac)
    }

    fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn labeled(&self, label: &[u8; 8]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(label);
        mac
    }

    fn tag(&self, label: &[u8; 8]) -> [u8; TAG_BYTES] {
        self.labeled(label).finalize().into_bytes().into()
    }

    /// In constant time.
    fn check(&self, label: &[u8; 8], tag: &[u8]) -> Result<(), HandshakeRefusal> {
        self.labeled(label).verify_slice(tag).map_err(|_| HandshakeRefusal::Proof)
    }

    /// What keys are made of beside the exchange: nobody else in the job or out of it has the same.
    fn salt(&self) -> ConnectionKey {
        ConnectionKey::new(self.tag(b"key salt"))
    }
}

/// The end that dials.
pub(crate) struct HandshakeClient {
    transcript: Transcript,
    fresh: Fresh,
    theirs: [u8; FRESH_BYTES],
}

impl HandshakeClient {
    /// Makes a call, with random bytes that are used for nothing else; answers the hello.
    pub(crate) fn new(
        secret: &Secret,
        DialedRanks { me, peer, realm }: DialedRanks,
        encrypt: bool,
        fingerprint: &SettingsFingerprint,
        seed: &[u8; FRESH_BYTES],
    ) -> (Self, [u8; HELLO_BYTES]) {
        let fresh = Fresh::new(encrypt, seed);
        let mut hello = [0; HELLO_BYTES];
        hello[..8].copy_from_slice(&MAGIC);
        hello[8..12].copy_from_slice(&me.to_le_bytes());
        hello[12..16].copy_from_slice(&peer.to_le_bytes());
        hello[16] = encrypt.into();
        hello[17..26].copy_from_slice(&realm.bytes());
        hello[FINGERPRINT].copy_from_slice(&fingerprint.bytes());
        hello[FRESH].copy_from_slice(fresh.said());
        let transcript = Transcript::new(secret, &hello);
        (HandshakeClient { transcript, fresh, theirs: [0; FRESH_BYTES] }, hello)
    }

    /// The acceptor's challenge; `next` is the next frame that is expected of it. Answers the proof.
    pub(crate) fn challenge(
        &mut self,
        bytes: &[u8; CHALLENGE_BYTES],
        next: u64,
    ) -> Result<[u8; PROOF_BYTES], HandshakeRefusal> {
        let (theirs, tag) = bytes.split_at(FRESH_BYTES);
        self.transcript.add(theirs);
        self.transcript.check(b"accept 1", tag)?;
        self.theirs.copy_from_slice(theirs);
        let mut proof = [0; PROOF_BYTES];
        proof[..8].copy_from_slice(&next.to_le_bytes());
        self.transcript.add(&proof[..8]);
        proof[8..].copy_from_slice(&self.transcript.tag(b"dialer 2"));
        Ok(proof)
    }

    /// The acceptor's verdict, the next frame that it expects, and the keys of the connection if it is encrypted.
    pub(crate) fn welcome(
        mut self,
        bytes: &[u8; WELCOME_BYTES],
    ) -> Result<(AcceptorVerdict, u64, Option<ConnectionKeys>), HandshakeRefusal> {
        let (said, tag) = bytes.split_at(9);
        self.transcript.add(said);
        self.transcript.check(b"accept 3", tag)?;
        let verdict = match said[0] {
            1 => AcceptorVerdict::Accepted,
            2 => AcceptorVerdict::Yield,
            _ => return Err(HandshakeRefusal::NotTern),
        };
        let next = u64::from_le_bytes(said[1..].try_into().map_err(|_| HandshakeRefusal::NotTern)?);
        Ok((verdict, next, keys(verdict, self.fresh, &self.theirs, &self.transcript)?))
    }
}

/// The end that is dialled, after the hello.
pub(crate) struct HandshakeServer {
    transcript: Transcript,
    peer: Peer,
    realm: Realm,
    encrypts: bool,
    fingerprint: [u8; FINGERPRINT_BYTES],
    fresh: Fresh,
    theirs: [u8; FRESH_BYTES],
}

impl HandshakeServer {
    /// Somebody says hello to rank `me`, which has random bytes for this connection only. Answers the challenge.
    pub(crate) fn hello(
        secret: &Secret,
        me: Peer,
        seed: &[u8; FRESH_BYTES],
        hello: &[u8; HELLO_BYTES],
    ) -> Result<(Self, [u8; CHALLENGE_BYTES]), HandshakeRefusal> {
        let word = |at: usize| hello[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
        if hello[..8] != MAGIC || hello[16] > 1 {
            return Err(HandshakeRefusal::NotTern);
        }
        let realm = Realm::of(hello)?;
        if !matches!(realm, Realm::Door(_)) && (word(12) != me || (realm == Realm::Job && word(8) == me)) {
            return Err(HandshakeRefusal::WrongRank);
        }
        let encrypts = hello[16] == 1;
        let fresh = Fresh::new(encrypts, seed);
        let mut transcript = Transcript::new(secret, hello);
        transcript.add(fresh.said());
        let mut challenge = [0; CHALLENGE_BYTES];
        challenge[..FRESH_BYTES].copy_from_slice(fresh.said());
        challenge[FRESH_BYTES..].copy_from_slice(&transcript.tag(b"accept 1"));
        let (mut fingerprint, mut theirs) = ([0; FINGERPRINT_BYTES], [0; FRESH_BYTES]);
        fingerprint.copy_from_slice(&hello[FINGERPRINT]);
        theirs.copy_from_slice(&hello[FRESH]);
        Ok((
            HandshakeServer { transcript, peer: word(8), realm, encrypts, fingerprint, fresh, theirs },
            challenge,
        ))
    }

    /// The realm that the dialer has named. To be believed once it has proved itself.
    pub(crate) fn realm(&self) -> Realm {
        self.realm
    }

    /// Whether the dialer wants to encrypt. To be believed once it has proved itself, as what follows.
    pub(crate) fn encrypts(&self) -> bool {
        self.encrypts
    }

    /// The marks of the dialer's settings.
    pub(crate) fn fingerprint(&self) -> &[u8; FINGERPRINT_BYTES] {
        &self.fingerprint
    }

    /// The dialer's proof. Answers who it is and the next frame that it expects.
    pub(crate) fn proof(&mut self, bytes: &[u8; PROOF_BYTES]) -> Result<(Peer, u64), HandshakeRefusal> {
        let (next, tag) = bytes.split_at(8);
        self.transcript.add(next);
        self.transcript.check(b"dialer 2", tag)?;
        let next = next.first_chunk().map_or(0, |next| u64::from_le_bytes(*next));
        Ok((self.peer, next))
    }

    /// The last message; `next` is the next frame that is expected of the dialer. With the keys of the connection if it is
    /// encrypted.
    pub(crate) fn welcome(
        mut self,
        verdict: AcceptorVerdict,
        next: u64,
    ) -> Result<([u8; WELCOME_BYTES], Option<ConnectionKeys>), HandshakeRefusal> {
        let mut welcome = [0; WELCOME_BYTES];
        welcome[0] = verdict as u8;
        welcome[1..9].copy_from_slice(&next.to_le_bytes());
        self.transcript.add(&welcome[..9]);
        welcome[9..].copy_from_slice(&self.transcript.tag(b"accept 3"));
        Ok((welcome, keys(verdict, self.fresh, &self.theirs, &self.transcript)?))
    }
}

/// The keys of a connection that is encrypted. One that is not to be used gets none, and costs no exchange.
fn keys(
    verdict: AcceptorVerdict,
    fresh: Fresh,
    theirs: &[u8; FRESH_BYTES],
    transcript: &Transcript,
) -> Result<Option<ConnectionKeys>, HandshakeRefusal> {
    match verdict {
        AcceptorVerdict::Accepted => fresh.keys(theirs, &transcript.salt()),
        AcceptorVerdict::Yield => Ok(None),
    }
}

#[cfg(test)]
mod tests;
