//! What a user can set, and what it is unless they do.

use crate::limits::*;
use tern_transport::Limits;

const _: () = assert!(CREDIT_BYTES_MIN / CREDIT_UNIT_BYTES / 2 >= 2, "something can always be multicast");

/// Bytes of a multicast at most, with so many units of credit.
pub(crate) fn multicast_bytes_max(window: u32) -> usize {
    (window as usize / 2 - 1) * CREDIT_UNIT_BYTES
}

/// How large messages are moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rendezvous {
    /// The best that both sides' buffers and the transport allow.
    #[default]
    Auto,
    /// The receiver gets (RTA).
    Get,
    /// The sender puts (RAT).
    Put,
    /// Both sides copy.
    Cooperative,
    /// Fragments through the transport.
    Stream,
}

impl Rendezvous {
    /// All ways, in the order of their numbers.
    pub const ALL: [Rendezvous; 5] =
        [Rendezvous::Auto, Rendezvous::Get, Rendezvous::Put, Rendezvous::Cooperative, Rendezvous::Stream];
    /// What `TERN_RENDEZVOUS` calls each.
    pub const WORDS: [&str; 5] = ["auto", "get", "put", "cooperative", "stream"];

    /// The way that a word calls.
    pub fn parse(word: &str) -> Option<Self> {
        let at = Self::WORDS.iter().position(|name| *name == word)?;
        Some(Self::ALL[at])
    }
}

/// The engine's settings.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// `TERN_EAGER_MAX`: bytes up to which a message is sent at once, if the transport can take it
    /// (the transport's own limit applies too).
    pub eager_bytes_max: usize,
    /// `TERN_CREDIT_BYTES`: unexpected-message memory granted to each peer.
    pub credit_bytes: usize,
    /// `TERN_RENDEZVOUS`.
    pub rendezvous: Rendezvous,
    /// `TERN_GET_MIN`: bytes from which a message is not sent at once where the receiver can get it.
    pub get_bytes_min: usize,
    /// `TERN_COOPERATIVE_MIN`: bytes from which both sides copy.
    pub cooperative_bytes_min: usize,
    /// `TERN_CHECK=types`: type signatures are compared when a message is matched.
    pub check_types: bool,
    /// `TERN_CHECK=collectives`: the ranks of a collective compare what they call.
    pub check_collectives: bool,
}

impl Default for EngineSettings {
    fn default() -> Self {
        EngineSettings {
            eager_bytes_max: usize::MAX,
            get_bytes_min: GET_BYTES_MIN_DEFAULT,
            credit_bytes: CREDIT_BYTES_DEFAULT,
            rendezvous: Rendezvous::Auto,
            cooperative_bytes_min: COOPERATIVE_BYTES_MIN_DEFAULT,
            check_types: false,
            check_collectives: false,
        }
    }
}

impl EngineSettings {
    /// Bytes up to which a message is sent at once to a peer with these limits.
    pub fn eager_bytes_max(&self, limits: &Limits) -> usize {
        let eager = self.eager_bytes_max.min(limits.eager_bytes_max);
        let sends = limits.prefers_send && self.rendezvous == Rendezvous::Auto;
        if limits.get && !sends { eager.min(self.get_bytes_min.saturating_sub(1)) } else { eager }
    }

    /// The same where the transport has room at hand for so many bytes.
    pub fn eager_bytes_at_hand(&self, limits: &Limits, transport_bytes: usize) -> usize {
        let sends = limits.prefers_send && self.rendezvous == Rendezvous::Auto;
        if sends { self.eager_bytes_max.min(transport_bytes) } else { 0 }
    }

    /// Bytes up to which a message is sent at once without a copy, where the transport says so many.
    #[inline]
    pub fn zero_copy_bytes_max(&self, transport_bytes_max: usize) -> usize {
        self.eager_bytes_max.min(transport_bytes_max)
    }

    /// Bytes of a multicast at most: see [`crate::Engine::multicast_bytes_max`].
    pub fn multicast_bytes_max(&self) -> usize {
        multicast_bytes_max(self.window_units())
    }

    /// The window in credit units, within what the header can carry.
    pub fn window_units(&self) -> u32 {
        (self.credit_bytes.clamp(CREDIT_BYTES_MIN, CREDIT_BYTES_MAX) / CREDIT_UNIT_BYTES) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rendezvous_has_a_name() {
        let names =
            ["auto", "get", "put", "cooperative", "stream"].map(|name| Rendezvous::parse(name).is_some());
        assert_eq!((names, Rendezvous::parse("Get")), ([true; 5], None));
    }

    #[test]
    fn what_can_be_got_is_not_sent_unless_that_is_faster() {
        let limits = Limits {
            eager_bytes_max: 1 << 20,
            get: true,
            put: true,
            cooperative_copy: true,
            prefers_send: false,
        };
        let auto = EngineSettings::default();
        assert_eq!(auto.eager_bytes_max(&limits), auto.get_bytes_min - 1);
        let sends = Limits { prefers_send: true, ..limits };
        assert_eq!(auto.eager_bytes_max(&sends), 1 << 20);
        let get = EngineSettings { rendezvous: Rendezvous::Get, ..auto };
        assert_eq!(get.eager_bytes_max(&sends), get.get_bytes_min - 1);
    }

    #[test]
    fn the_window_is_what_a_header_can_give_back_and_never_nothing() {
        let window =
            |credit_bytes| EngineSettings { credit_bytes, ..EngineSettings::default() }.window_units();
        assert_eq!([0, 640, usize::MAX].map(window), [4, 10, u32::from(u16::MAX)]);
    }
}
