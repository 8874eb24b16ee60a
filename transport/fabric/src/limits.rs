//! Constants of the routes, each with its unit and its reason.

use std::time::Duration;

pub use tern_datagram::limits::PACE_LOOP_BACK_BYTES_PER_S;
pub use tern_tcp::limits::SILENT_S;
pub use tern_transport::limits::*;

/// How long ranks of a host wait until one of them has tried libfabric, which knows after 9 s that it hangs.
pub const HOST_ANSWER_MAX: Duration = Duration::from_secs(10);

/// Messages to itself that a rank may have on the way.
pub const LOOPBACK_MESSAGES_MAX: usize = 256;

/// Polls of shared memory for each look at the sockets: a look costs as much as so many polls, and a message over the network
/// takes longer than they do.
pub const POLLS_PER_TCP_POLL: u32 = 8;

/// The same after something has come over shared memory: there a message is late by the look that it meets
/// (docs/performance/constants.md).
pub const POLLS_PER_TCP_POLL_NEAR: u32 = 64;

/// The same where all that are known are reached by shared memory: sockets tell of their ends, and of whom this rank does not know yet.
/// Some 30 µs.
pub const POLLS_PER_TCP_POLL_ALL_NEAR: u32 = 1024;

/// Bytes that a peer has not acknowledged over TCP beyond which packets of the fallback tunnel are lost: one that computes takes
/// none.
pub const TUNNEL_KEPT_BYTES_MAX: usize = 256 * 1024;

/// Packets that land through the fallback tunnel at once: a peer sends one after the other.
pub const TUNNEL_LANDINGS_MAX: usize = 256;

/// The pace of packets before receivers have told what comes through: 1 Gbit/s, the slowest network of today's machines.
pub const PACE_FIRST_BYTES_PER_S: u64 = 125_000_000;

/// The fastest pace where the interface does not tell its own: 10 Gbit/s.
pub const PACE_MOST_BYTES_PER_S: u64 = 1_250_000_000;

/// How long what a process of another world sends may be on its way, for whoever asks whether all wait in vain: nobody knows.
pub const UNKNOWN_DELIVERY: Duration = Duration::from_secs(1_000_000);
