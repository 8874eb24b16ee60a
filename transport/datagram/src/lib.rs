//! Reliable multicast over what networks offer: datagrams that may be lost.
//!
//! | part | file |
//! |---|---|
//! | a rank's datagram channel: the trait, and what is common to its two implementations | `link.rs`, `link/` |
//! | how fast packets may go | `pacer.rs` |
//! | whether multicast works among the hosts | `probe.rs` |
//! | the protocol (`tern_urtp`) over a link: reliable packets to one rank or many | `channel.rs` |
//! | how active messages lie in packets, on their way in and out | `frame.rs`, `inbox.rs`, `outbox.rs` |
//! | the transport | `transport.rs` |

pub mod channel;
mod frame;
#[cfg(any(test, fuzzing))]
#[path = "../../../fuzz/targets/messages.rs"]
pub mod fuzz;
mod inbox;
pub mod limits;
pub mod link;
mod multicast_groups;
mod outbox;
pub mod pacer;
pub mod probe;
mod transport;

pub use tern_urtp::Nanos;
pub use transport::Manner;
pub use transport::Urtp;
