//! What a rank tells the others of its endpoint: provider, address, and the marks of its settings.

use tern_transport::directory::ENDPOINT_ADDRESS_BYTES_MAX;
use tern_transport::fingerprint::{FINGERPRINT_BYTES, SettingsFingerprint};

/// The first byte, by which it is told from the addresses of sockets.
const VERSION: u8 = 0xf1;

/// Where an endpoint is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct OfiEndpointAddress {
    pub provider: String,
    pub marks: [u8; FINGERPRINT_BYTES],
    /// The provider's own bytes.
    pub address: Vec<u8>,
}

impl OfiEndpointAddress {
    pub(super) fn new(provider: &str, settings: &SettingsFingerprint, address: &[u8]) -> OfiEndpointAddress {
        OfiEndpointAddress { provider: provider.into(), marks: settings.bytes(), address: address.into() }
    }

    /// `None` if it is too long for the launcher to pass on.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        let len = u8::try_from(self.provider.len()).ok()?;
        let bytes = [&[VERSION, len], self.provider.as_bytes(), &self.marks, &self.address].concat();
        (bytes.len() <= ENDPOINT_ADDRESS_BYTES_MAX).then_some(bytes)
    }

    /// One that came from elsewhere.
    pub(super) fn parse(bytes: &[u8]) -> Option<OfiEndpointAddress> {
        let ([VERSION, len], rest) = bytes.split_first_chunk::<2>()? else { return None };
        let (provider, rest) = rest.split_at_checked(usize::from(*len))?;
        let (marks, address) = rest.split_first_chunk::<FINGERPRINT_BYTES>()?;
        let provider = String::from_utf8(provider.into()).ok()?;
        Some(OfiEndpointAddress { provider, marks: *marks, address: address.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let one = OfiEndpointAddress::new(
            "tcp;ofi_rxm",
            &SettingsFingerprint::default(),
            &[2, 0, 9, 9, 127, 0, 0, 1],
        );
        let bytes = one.bytes().unwrap();
        assert_eq!(OfiEndpointAddress::parse(&bytes), Some(one));
        for len in 0..2 + 11 + FINGERPRINT_BYTES {
            assert_eq!(OfiEndpointAddress::parse(&bytes[..len]), None);
        }
        assert_eq!(OfiEndpointAddress::parse(&[&[1], &bytes[1..]].concat()), None);
    }
}
