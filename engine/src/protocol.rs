//! Which way a message goes: the rules, which whoever sends and receives asks. `protocol_table` asks them too, and prints the answers.
//!
//! Sender and receiver each decide a part. The sender knows the mode, the length and its credits. The receiver knows both buffers.

use crate::request::Outgoing;
use crate::settings::{EngineSettings, Rendezvous};
use crate::wire::FLAG_READY_MODE;
use tern_transport::{AM_INLINE_BYTES_MAX, Limits};

/// How a send relates to its receive (MPI 5.0 section 3.4). Buffered mode is a standard send of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Completes when the buffer may be reused.
    Standard,
    /// Completes when the receive has started.
    Synchronous,
    /// The receive is there already.
    Ready,
}

/// Bytes of a synchronous or signed message that fit in one cache line beside the extended header of eight bytes.
const EXTENDED_BYTES_MAX: usize = AM_INLINE_BYTES_MAX - 8;

/// A message as its sender sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutgoingMessage {
    pub mode: Mode,
    pub len: usize,
    /// Its type is checked.
    pub signed: bool,
}

/// Bytes up to which messages to a peer go at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EagerLimits {
    /// Copied by the transport.
    pub copied: usize,
    /// Sent without a copy.
    pub zero_copy: usize,
}

/// How a message begins, if there are credits for it. Without credits it is an offer. `contiguous`: its buffer is.
#[inline(always)]
pub(crate) fn begins_as(
    message: OutgoingMessage,
    limits: EagerLimits,
    contiguous: impl FnOnce() -> bool,
) -> Outgoing {
    let OutgoingMessage { mode, len, signed } = message;
    let is_extended = mode == Mode::Synchronous || signed;
    let zero_copy = len > limits.copied && len <= limits.zero_copy && !is_extended && contiguous();
    let fits = zero_copy || len <= limits.copied && (!is_extended || len <= EXTENDED_BYTES_MAX);
    // A message has one extended header only: a synchronous one whose type is to be checked goes by request.
    let flags = if mode == Mode::Ready { FLAG_READY_MODE } else { 0 };
    if !fits || (mode == Mode::Synchronous && signed) {
        return Outgoing::Offer { flags };
    }
    match mode {
        Mode::Synchronous => Outgoing::EagerSync,
        Mode::Ready | Mode::Standard if zero_copy => Outgoing::ZeroCopy { flags },
        Mode::Ready | Mode::Standard => Outgoing::Eager { flags },
    }
}

/// The ways to move a large message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RendezvousMethod {
    /// Both sides copy.
    Cooperative,
    /// The receiver gets.
    Get,
    /// The sender puts.
    Put,
    /// Fragments.
    Stream,
}

/// Chooses the way for `len` bytes. `sender_contiguous` and `receiver_contiguous` say whose buffer is contiguous.
pub fn choose(
    settings: &EngineSettings,
    limits: &Limits,
    sender_contiguous: bool,
    receiver_contiguous: bool,
    len: u64,
) -> RendezvousMethod {
    let can_cooperate = limits.cooperative_copy && sender_contiguous && receiver_contiguous;
    let can_get = limits.get && sender_contiguous;
    let can_put = limits.put && receiver_contiguous;
    match settings.rendezvous {
        Rendezvous::Cooperative if can_cooperate => RendezvousMethod::Cooperative,
        Rendezvous::Auto if can_cooperate && len >= settings.cooperative_bytes_min as u64 => {
            RendezvousMethod::Cooperative
        }
        Rendezvous::Auto | Rendezvous::Get if can_get => RendezvousMethod::Get,
        Rendezvous::Auto | Rendezvous::Put if can_put => RendezvousMethod::Put,
        _ => RendezvousMethod::Stream,
    }
}

/// Whether fragments take the place of a way where the transport has found that they are faster.
#[inline]
pub(crate) fn yields_to_fragments(settings: &EngineSettings, method: RendezvousMethod) -> bool {
    settings.rendezvous == Rendezvous::Auto && method != RendezvousMethod::Stream
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Limits =
        Limits { eager_bytes_max: 1024, get: true, put: true, cooperative_copy: true, prefers_send: false };
    const NONE: Limits = Limits {
        eager_bytes_max: 1024,
        get: false,
        put: false,
        cooperative_copy: false,
        prefers_send: false,
    };

    #[test]
    fn the_way_follows_from_the_buffers_and_the_transport() {
        let auto = EngineSettings::default();
        let large = auto.cooperative_bytes_min as u64;
        assert_eq!(choose(&auto, &ALL, true, true, large), RendezvousMethod::Cooperative);
        assert_eq!(choose(&auto, &ALL, true, true, large - 1), RendezvousMethod::Get);
        assert_eq!(choose(&auto, &ALL, true, false, large), RendezvousMethod::Get);
        assert_eq!(choose(&auto, &ALL, false, true, large), RendezvousMethod::Put);
        assert_eq!(choose(&auto, &ALL, false, false, large), RendezvousMethod::Stream);
        assert_eq!(choose(&auto, &NONE, true, true, large), RendezvousMethod::Stream);
    }

    #[test]
    fn a_forced_way_that_cannot_be_gone_becomes_a_stream() {
        let put = EngineSettings { rendezvous: Rendezvous::Put, ..EngineSettings::default() };
        assert_eq!(choose(&put, &ALL, true, true, 1), RendezvousMethod::Put);
        assert_eq!(choose(&put, &ALL, true, false, 1), RendezvousMethod::Stream);
        let both = EngineSettings { rendezvous: Rendezvous::Cooperative, ..EngineSettings::default() };
        assert_eq!(choose(&both, &ALL, true, true, 1), RendezvousMethod::Cooperative);
    }
}
