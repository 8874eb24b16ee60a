//! Both ends of a lifeline prove that they know the job's secret.
//!
//! The end that dials proves itself in its first words, the claim. So its host counts as connected even if it dies before anybody has
//! answered. The other end answers with a proof that belongs to the claim's nonce.

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::sync::Mutex;

use hmac::{Hmac, KeyInit, Mac};
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::Sha256;

use crate::node_map::JobSecret;

const MAGIC: &[u8; 8] = b"TernLif2";
const NONCE_BYTES: usize = 32;
/// The bytes of an answer.
pub(super) const PROOF_BYTES: usize = 32;

type Nonce = [u8; NONCE_BYTES];

/// What each end proves differs, so that none can send back what it was sent.
const ACCEPTS: &[u8] = b"tern lifeline accepts";
const DIALS: &[u8] = b"tern lifeline dials";

/// What the end that dials says first, once on each connection.
#[derive(Clone, Debug)]
pub(super) struct LifelineClaim {
    words: Vec<u8>,
    answer: Hmac<Sha256>,
}

impl LifelineClaim {
    /// `host` asks `parent` for a lifeline.
    pub(super) fn new(secret: &JobSecret, host: u32, parent: u32) -> io::Result<LifelineClaim> {
        let (nonce, hosts) = (fresh_nonce()?, [host, parent]);
        let mut words = MAGIC.to_vec();
        words.extend(nonce);
        words.extend(host.to_le_bytes());
        words.extend(mac(secret, DIALS, &nonce, hosts).finalize().into_bytes());
        Ok(LifelineClaim { words, answer: mac(secret, ACCEPTS, &nonce, hosts) })
    }

    /// What to send.
    pub(super) fn words(&self) -> &[u8] {
        &self.words
    }

    /// Whether the answer comes from the host that was meant.
    pub(super) fn is_answered_by(&self, answer: &[u8]) -> bool {
        self.answer.clone().verify_slice(answer).is_ok()
    }
}

/// The claims that were believed. Whoever says one again has only listened.
#[derive(Debug, Default)]
pub(super) struct Believed(Mutex<HashSet<Nonce>>);

impl Believed {
    fn is_new(&self, nonce: Nonce) -> bool {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(nonce)
    }
}

/// Takes a lifeline from whoever has connected; returns its host.
pub(super) fn accept(
    stream: &mut (impl Read + Write),
    secret: &JobSecret,
    own_host: u32,
    believed: &Believed,
) -> io::Result<u32> {
    let (mut magic, mut nonce) = ([0; MAGIC.len()], [0; NONCE_BYTES]);
    stream.read_exact(&mut magic)?;
    if magic != *MAGIC {
        return Err(refused());
    }
    let (mut host, mut proof) = ([0; 4], [0; PROOF_BYTES]);
    stream.read_exact(&mut nonce)?;
    stream.read_exact(&mut host)?;
    stream.read_exact(&mut proof)?;
    let hosts = [u32::from_le_bytes(host), own_host];
    mac(secret, DIALS, &nonce, hosts).verify_slice(&proof).map_err(|_| refused())?;
    if !believed.is_new(nonce) {
        return Err(refused());
    }
    // A host that has died meanwhile does not take it. Its line is read all the same, and ends.
    let _ = stream.write_all(&mac(secret, ACCEPTS, &nonce, hosts).finalize().into_bytes());
    Ok(hosts[0])
}

fn mac(secret: &JobSecret, what: &[u8], nonce: &Nonce, hosts: [u32; 2]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length");
    for part in [what, nonce, &hosts[0].to_le_bytes(), &hosts[1].to_le_bytes()] {
        mac.update(part);
    }
    mac
}

fn fresh_nonce() -> io::Result<Nonce> {
    let mut nonce = [0; NONCE_BYTES];
    match getrandom(&mut nonce, GetRandomFlags::empty())? {
        NONCE_BYTES => Ok(nonce),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn refused() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "the other end does not know the job's secret")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    /// What the end that accepts makes of a claim, and whether the end that dials believes the answer.
    fn prove_both(theirs: JobSecret, parent: u32) -> (bool, io::Result<u32>) {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let claim = LifelineClaim::new(&theirs, 3, parent).unwrap();
        here.write_all(claim.words()).unwrap();
        let accepted = accept(&mut there, &[7; 32], 1, &Believed::default());
        drop(there);
        let mut answer = Vec::new();
        let _ = here.read_to_end(&mut answer);
        (claim.is_answered_by(&answer), accepted)
    }

    #[test]
    fn only_who_knows_the_secret_is_believed() {
        let (answered, accepted) = prove_both([7; 32], 1);
        assert!(answered);
        assert_eq!(accepted.unwrap(), 3);
        let (answered, accepted) = prove_both([8; 32], 1);
        assert!(!answered && accepted.is_err());
        let (answered, accepted) = prove_both([7; 32], 2);
        assert!(!answered && accepted.is_err(), "another host than was meant");
    }

    #[test]
    fn who_has_only_listened_is_refused() {
        let (claim, believed) = (LifelineClaim::new(&[7; 32], 3, 1).unwrap(), Believed::default());
        let hear = || {
            let (mut here, mut there) = UnixStream::pair().unwrap();
            here.write_all(claim.words()).unwrap();
            accept(&mut there, &[7; 32], 1, &believed)
        };
        assert_eq!(hear().unwrap(), 3);
        assert!(hear().is_err());
    }

    #[test]
    fn others_are_refused() {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        here.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        drop(here);
        assert!(accept(&mut there, &[7; 32], 1, &Believed::default()).is_err());
    }
}
