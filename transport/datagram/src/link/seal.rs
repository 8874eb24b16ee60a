//! The tag of a packet, which shows that a rank of this job has sent it, and when it had come before.
//!
//! The tag is that of AEGIS-128L (draft-irtf-cfrg-aegis-aead) with all data as its associated data: the cheapest of today where
//! the processor has AES instructions (docs/decisions/0019-tag-of-packets.md). No
//! nonce is used twice with the job's key: it is the sender's rank and count of packets.

use aegis::aegis128l::Aegis128LMac;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::limits::{LINK_TAG_BYTES, REPLAY_WINDOW_PACKETS};
use tern_transport::Peer;

/// A packet's tag.
pub(crate) type Tag = [u8; LINK_TAG_BYTES];

/// What a job's ranks share.
#[derive(Clone)]
pub(crate) struct SealKeys {
    /// Tells packets of jobs apart before anybody looks at their tags. It is no secret.
    pub job: u32,
    key: [u8; 16],
}

impl SealKeys {
    /// Derived from the job's secret.
    pub(crate) fn new(secret: &[u8]) -> SealKeys {
        let job = derived(secret, b"urtp job");
        let key = derived(secret, b"urtp key");
        let [a, b, c, d, ..] = job;
        SealKeys { job: u32::from_be_bytes([a, b, c, d]), key: *key.first_chunk().expect("32 bytes have 16") }
    }

    /// The tag of what `from` sends as its packet number `count`: head and body, in pieces.
    pub(crate) fn seal(&self, from: Peer, count: u64, pieces: &[&[u8]]) -> Tag {
        self.mac(from, count, pieces).finalize()
    }

    /// Whether a tag is right, in constant time.
    pub(crate) fn is_genuine(&self, from: Peer, count: u64, pieces: &[&[u8]], tag: &Tag) -> bool {
        self.mac(from, count, pieces).verify(tag).is_ok()
    }

    fn mac(&self, from: Peer, count: u64, pieces: &[&[u8]]) -> Aegis128LMac<LINK_TAG_BYTES> {
        let mut nonce = [0; 16];
        nonce[..4].copy_from_slice(&from.to_be_bytes());
        nonce[4..12].copy_from_slice(&count.to_be_bytes());
        let mut mac = Aegis128LMac::new_with_nonce(&self.key, &nonce);
        for piece in pieces {
            mac.update(piece);
        }
        mac
    }
}

fn derived(secret: &[u8], label: &[u8]) -> [u8; 32] {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(secret).expect("a key of any length will do");
    mac.update(label);
    mac.finalize().into_bytes().into()
}

/// Which of a sender's latest packets have come, as in RFC 4303 section 3.4.3: a recorded packet must not count
/// again once the protocol's numbers have gone round.
#[derive(Clone, Default)]
pub(crate) struct SeenPackets {
    /// The highest count.
    newest: u64,
    /// Bit (count mod window) of the counts up to there.
    bits: [u64; (REPLAY_WINDOW_PACKETS / 64) as usize],
}

impl SeenPackets {
    /// Notes a genuine packet. Whether it had not come before, nor is too old to tell.
    pub(crate) fn note(&mut self, count: u64) -> bool {
        if count > self.newest {
            self.forget(self.newest + 1, count);
            self.newest = count;
        } else if self.newest - count >= REPLAY_WINDOW_PACKETS || self.has(count) {
            return false;
        }
        let (word, bit) = place(count);
        self.bits[word] |= bit;
        true
    }

    fn has(&self, count: u64) -> bool {
        let (word, bit) = place(count);
        self.bits[word] & bit != 0
    }

    /// Counts that come into the window have not come yet.
    fn forget(&mut self, from: u64, to: u64) {
        if to - from >= REPLAY_WINDOW_PACKETS {
            self.bits.fill(0);
            return;
        }
        for count in from..=to {
            let (word, bit) = place(count);
            self.bits[word] &= !bit;
        }
    }
}

fn place(count: u64) -> (usize, u64) {
    let at = count % REPLAY_WINDOW_PACKETS;
    ((at / 64) as usize, 1 << (at % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn a_tag_is_for_one_job_sender_count_and_text() {
        let ours = SealKeys::new(&[1; 32]);
        let tag = ours.seal(3, 7, &[b"head", b"and body"]);
        assert!(ours.is_genuine(3, 7, &[b"hea", b"dand bo", b"dy"], &tag), "pieces do not matter");
        assert!(!ours.is_genuine(4, 7, &[b"headand body"], &tag));
        assert!(!ours.is_genuine(3, 8, &[b"headand body"], &tag));
        assert!(!ours.is_genuine(3, 7, &[b"headand bodY"], &tag));
        assert!(!SealKeys::new(&[2; 32]).is_genuine(3, 7, &[b"headand body"], &tag));
    }

    proptest! {
        #[test]
        fn each_packet_counts_once(start in 1u64..u64::MAX / 2, steps in prop::collection::vec(0u64..3000, 1..300)) {
            let mut seen = SeenPackets::default();
            let mut oracle = HashSet::new();
            let mut newest = 0;
            for step in steps {
                let count = start + step;
                let fresh = newest < count + REPLAY_WINDOW_PACKETS && oracle.insert(count);
                prop_assert_eq!(seen.note(count), fresh);
                newest = newest.max(count);
            }
        }
    }
}
