//! Who a process is for those whom it dials and who dial it: a rank of its own world, a process of some world for those of others,
//! and whoever keeps a door.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::handshake::{DialedRanks, Realm, SECRET_BYTES, Secret};
use tern_transport::Peer;
use tern_transport::fingerprint::SettingsFingerprint;

/// Who this rank is.
pub(crate) struct Identity {
    pub me: Peer,
    pub secret: Secret,
    pub encrypt: bool,
    pub fingerprint: SettingsFingerprint,
    /// The number of this world.
    pub world: u64,
    /// What processes of other worlds must know.
    pub entry: Secret,
    /// Doors that are open, by number.
    pub doors: Vec<(u64, Secret)>,
}

impl Identity {
    /// Rank `me` of the job with this secret.
    pub(crate) fn new(me: Peer, secret: [u8; SECRET_BYTES], encrypt: bool) -> Identity {
        let (world, entry) = (number(&secret, b"world"), Secret(derived(&secret, b"entry")));
        let (secret, fingerprint, doors) = (Secret(secret), SettingsFingerprint::default(), Vec::new());
        Identity { me, secret, encrypt, fingerprint, world, entry, doors }
    }

    /// What whoever calls in a realm must know.
    pub(crate) fn secret_of(&self, realm: Realm) -> Option<&Secret> {
        match realm {
            Realm::Job => Some(&self.secret),
            Realm::World(_) => Some(&self.entry),
            Realm::Door(number) => {
                self.doors.iter().find(|(door, _)| *door == number).map(|(_, secret)| secret)
            }
        }
    }

    /// Whether this process comes before another one, for choices that both must make alike.
    pub(crate) fn is_before(&self, whom: &Whom) -> bool {
        match whom {
            Whom::Rank(rank) => self.me < *rank,
            Whom::Foreign { world, rank, .. } => (self.world, self.me) < (*world, *rank),
            Whom::Door { .. } => true,
        }
    }
}

/// The number of the door with a secret: who knows it finds the door among others, and learns nothing of the secret.
pub(crate) fn door_number(secret: &[u8; SECRET_BYTES]) -> u64 {
    number(secret, b"door")
}

fn derived(secret: &[u8; SECRET_BYTES], label: &[u8]) -> [u8; 32] {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(secret).expect("a key of any length will do");
    mac.update(b"tern ");
    mac.update(label);
    mac.finalize().into_bytes().into()
}

/// Not 0.
fn number(secret: &[u8; SECRET_BYTES], label: &[u8]) -> u64 {
    derived(secret, label).first_chunk().map_or(1, |word| u64::from_le_bytes(*word) | 1)
}

/// Bytes that hide a secret from whoever does not know another one; applied twice, they show it again. A nonce is for one use.
pub fn veil(key: &[u8; SECRET_BYTES], nonce: u64, secret: [u8; SECRET_BYTES]) -> [u8; SECRET_BYTES] {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).expect("a key of any length will do");
    mac.update(b"tern veil");
    mac.update(&nonce.to_le_bytes());
    let mask: [u8; 32] = mac.finalize().into_bytes().into();
    std::array::from_fn(|at| secret[at] ^ mask[at])
}

/// Somebody who is dialed.
#[derive(Clone)]
pub(crate) enum Whom {
    /// A rank of this world.
    Rank(Peer),
    /// A process of another world, which has this secret for those of others.
    Foreign { world: u64, rank: u32, entry: Secret },
    /// Whoever keeps a door.
    Door { number: u64, secret: Secret },
}

impl Whom {
    /// What this rank says to be let in, what both know, and whether nobody else may listen.
    pub(crate) fn call<'a>(&'a self, identity: &'a Identity) -> (DialedRanks, &'a Secret, bool) {
        let me = identity.me;
        match self {
            Whom::Rank(peer) => {
                (DialedRanks { me, peer: *peer, realm: Realm::Job }, &identity.secret, identity.encrypt)
            }
            Whom::Foreign { rank, entry, .. } => (
                DialedRanks { me, peer: *rank, realm: Realm::World(identity.world) },
                entry,
                identity.encrypt,
            ),
            Whom::Door { number, secret } => {
                (DialedRanks { me: 0, peer: 0, realm: Realm::Door(*number) }, secret, true)
            }
        }
    }

    /// Whether it is a process of another world.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self, Whom::Foreign { .. })
    }
}

impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Whom::Rank(rank) => write!(f, "rank {rank}"),
            Whom::Foreign { rank, .. } => {
                write!(f, "rank {rank} of another world, which this one is connected to,")
            }
            Whom::Door { .. } => write!(f, "the process that has opened the port"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_secrets_of_one_secret_differ() {
        let identity = Identity::new(3, [7; 32], false);
        assert_ne!(identity.entry.0, identity.secret.0);
        assert_ne!(identity.world, door_number(&[7; 32]));
        assert_ne!(identity.world, Identity::new(3, [8; 32], false).world);
    }

    #[test]
    fn a_veil_hides_and_shows() {
        let hidden = veil(&[1; 32], 5, [9; 32]);
        assert_ne!(hidden, [9; 32]);
        assert_eq!(veil(&[1; 32], 5, hidden), [9; 32]);
        assert_ne!(veil(&[1; 32], 6, hidden), [9; 32]);
        assert_ne!(veil(&[2; 32], 5, hidden), [9; 32]);
    }
}
