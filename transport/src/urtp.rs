//! Reliable multicast over what networks offer: datagrams that may be lost.
//!
//! | part | file |
//! |---|---|
//! | a rank's datagram channel: the trait, and what is common to its two implementations | `link.rs`, `link/` |
//! | how fast packets may go | `pacer.rs` |
//! | whether multicast works among the hosts | `probe.rs` |
//! | the protocol (`tern_urtp`) over a link: reliable packets to one rank or many | `channel.rs` |

pub mod channel;
pub mod link;
pub mod pacer;
pub mod probe;

/// Time on a clock that never goes back: nanoseconds since some start.
pub type Nanos = u64;
