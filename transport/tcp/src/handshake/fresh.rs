//! What an end of a connection brings that nobody has seen before, and the keys that come of both.
//!
//! It is a nonce, or the public half of an X25519 pair where the connection is encrypted. The private half lives from the
//! hello to the welcome: once it is wiped, the job's secret opens no record of the connection.

use hkdf::Hkdf;
use sha2::Sha256;
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

use super::HandshakeRefusal;

/// Bytes of a nonce, a public key, a key and what they are made of.
pub(crate) const FRESH_BYTES: usize = 32;

/// A key that is wiped when nobody needs it any more.
pub(crate) type ConnectionKey = Zeroizing<[u8; FRESH_BYTES]>;

/// Keys for the two directions of an encrypted connection.
pub(crate) struct ConnectionKeys {
    pub dialer: ConnectionKey,
    pub acceptor: ConnectionKey,
}

/// One end's part.
pub(super) struct Fresh {
    said: [u8; FRESH_BYTES],
    /// Of an encrypted connection.
    half: Option<StaticSecret>,
}

impl Fresh {
    /// Made of random bytes that are used for nothing else.
    pub(super) fn new(encrypt: bool, seed: &[u8; FRESH_BYTES]) -> Fresh {
        if !encrypt {
            return Fresh { said: *seed, half: None };
        }
        let half = StaticSecret::from(*seed);
        Fresh { said: PublicKey::from(&half).to_bytes(), half: Some(half) }
    }

    /// What the other end gets.
    pub(super) fn said(&self) -> &[u8; FRESH_BYTES] {
        &self.said
    }

    /// The keys of an encrypted connection: of both halves, and of `salt`, which only the job can compute. The exchange
    /// costs some 40 µs, so whoever it is made with must have proved itself.
    pub(super) fn keys(
        self,
        theirs: &[u8; FRESH_BYTES],
        salt: &[u8; FRESH_BYTES],
    ) -> Result<Option<ConnectionKeys>, HandshakeRefusal> {
        let Some(half) = self.half else { return Ok(None) };
        let shared = half.diffie_hellman(&PublicKey::from(*theirs));
        if !shared.was_contributory() {
            return Err(HandshakeRefusal::Key);
        }
        let source = Hkdf::<Sha256>::new(Some(salt), shared.as_bytes());
        Ok(Some(ConnectionKeys {
            dialer: expanded(&source, b"dialer"),
            acceptor: expanded(&source, b"accept"),
        }))
    }
}

fn expanded(source: &Hkdf<Sha256>, end: &[u8; 6]) -> ConnectionKey {
    let mut key = ConnectionKey::default();
    source.expand(end, key.as_mut_slice()).expect("a key is shorter than 255 hashes");
    key
}
