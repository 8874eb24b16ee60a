//! What an endpoint has done and seen.

/// Counts since the endpoint was made. The unneeded packets of the paper (section 3.2.1) are `requests_unsent`,
/// `requests_too_soon` and `not_addressed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UrtpCounters {
    /// New point-to-point packets.
    pub sent: u64,
    /// New multicast packets.
    pub multicasts: u64,
    /// Packets that went again, to one member.
    pub resent: u64,
    /// Packets that went again, to all members that lacked them.
    pub multicast_again: u64,
    /// Parity packets.
    pub parities: u64,
    /// Acknowledgements on their own.
    pub acks: u64,
    /// Acknowledgements of several members in one.
    pub reports: u64,
    /// Requests for what was missing.
    pub requests: u64,
    /// Questions of a sender that may not go on.
    pub polls: u64,
    /// Acknowledgements and reports that came.
    pub acks_heard: u64,
    /// Requests that came.
    pub requests_heard: u64,
    /// Of them: for what was not sent yet.
    pub requests_unsent: u64,
    /// Of them: for what was on its way.
    pub requests_too_soon: u64,
    /// Packets that came with something new.
    pub accepted: u64,
    /// Packets that had come before.
    pub duplicates: u64,
    /// Packets outside the window.
    pub outside: u64,
    /// Packets for which there was no buffer.
    pub no_buffer: u64,
    /// Multicasts of groups in which this rank is not, or to other members of them.
    pub not_addressed: u64,
    /// Packets that parity brought back.
    pub restored: u64,
    /// Packets that went through the fallback tunnel as well.
    pub tunneled: u64,
    /// Packets that came by it.
    pub tunneled_heard: u64,
    /// Packets that made no sense.
    pub malformed: u64,
    /// Buffers of received packets that were in use at once, at most.
    pub held_max: usize,
}
