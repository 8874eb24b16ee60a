//! Both ends of a lifeline prove that they know the job's secret.

use std::io::{self, Read, Write};

use hmac::{Hmac, KeyInit, Mac};
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::Sha256;

use crate::node_map::JobSecret;

const MAGIC: &[u8; 8] = b"TernLif1";
const NONCE_BYTES: usize = 32;
const PROOF_BYTES: usize = 32;

type Nonce = [u8; NONCE_BYTES];

/// What each end proves differs, so that none can send back what it was sent.
const ACCEPTS: &[u8] = b"tern lifeline accepts";
const DIALS: &[u8] = b"tern lifeline dials";

/// Opens a lifeline from `host`, by whoever has connected.
pub(super) fn dial(
    stream: &mut (impl Read + Write),
    secret: &JobSecret,
    host: u32,
    parent: u32,
) -> io::Result<()> {
    let own = fresh_nonce()?;
    let mut words = MAGIC.to_vec();
    words.extend(own);
    words.extend(host.to_le_bytes());
    stream.write_all(&words)?;
    let (mut theirs, mut proof) = ([0; NONCE_BYTES], [0; PROOF_BYTES]);
    stream.read_exact(&mut theirs)?;
    stream.read_exact(&mut proof)?;
    let hosts = [host, parent];
    mac(secret, ACCEPTS, &own, &theirs, hosts).verify_slice(&proof).map_err(|_| refused())?;
    stream.write_all(&mac(secret, DIALS, &own, &theirs, hosts).finalize().into_bytes())
}

/// Takes a lifeline from whoever has connected; returns its host.
pub(super) fn accept(stream: &mut (impl Read + Write), secret: &JobSecret, own_host: u32) -> io::Result<u32> {
    let (mut magic, mut theirs, mut host) = ([0; MAGIC.len()], [0; NONCE_BYTES], [0; 4]);
    stream.read_exact(&mut magic)?;
    if magic != *MAGIC {
        return Err(refused());
    }
    stream.read_exact(&mut theirs)?;
    stream.read_exact(&mut host)?;
    let (own, hosts) = (fresh_nonce()?, [u32::from_le_bytes(host), own_host]);
    let mut words = own.to_vec();
    words.extend(mac(secret, ACCEPTS, &theirs, &own, hosts).finalize().into_bytes());
    stream.write_all(&words)?;
    let mut proof = [0; PROOF_BYTES];
    stream.read_exact(&mut proof)?;
    mac(secret, DIALS, &theirs, &own, hosts).verify_slice(&proof).map_err(|_| refused())?;
    Ok(hosts[0])
}

fn mac(secret: &JobSecret, what: &[u8], dialer: &Nonce, acceptor: &Nonce, hosts: [u32; 2]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length");
    for part in [what, dialer, acceptor, &hosts[0].to_le_bytes(), &hosts[1].to_le_bytes()] {
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

    fn prove_both(theirs: JobSecret, parent: u32) -> (io::Result<()>, io::Result<u32>) {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let dialer = std::thread::spawn(move || {
            let result = dial(&mut here, &theirs, 3, parent);
            drop(here);
            result
        });
        let accepted = accept(&mut there, &[7; 32], 1);
        drop(there);
        (dialer.join().unwrap(), accepted)
    }

    #[test]
    fn only_who_knows_the_secret_is_believed() {
        let (dialed, accepted) = prove_both([7; 32], 1);
        assert!(dialed.is_ok());
        assert_eq!(accepted.unwrap(), 3);
        let (dialed, accepted) = prove_both([8; 32], 1);
        assert!(dialed.is_err() && accepted.is_err());
        let (dialed, accepted) = prove_both([7; 32], 2);
        assert!(dialed.is_err() && accepted.is_err(), "another host than was meant");
    }

    #[test]
    fn others_are_refused() {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        here.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        drop(here);
        assert!(accept(&mut there, &[7; 32], 1).is_err());
    }
}
