//! TCP: the transport between ranks of different machines.
//!
//! A pair of ranks has one connection, made when the first message wants it. What outlives a connection is the
//! *link*: numbered frames, kept until the other side has acknowledged them, and sent again over the next connection if this
//! one breaks.
//!
//! | part | file |
//! |---|---|
//! | the bytes of a frame | `frame.rs` |
//! | what is sent and not yet acknowledged | `outbox.rs`, `heads.rs` |
//! | short frames that wait for each other | `gather.rs` |
//! | from the socket to where it lands | `inbox.rs`, `partial_read.rs` |
//! | the mutual proof of the job's secret | `handshake.rs`, `greeting.rs` |
//! | a connection's bytes, plain or encrypted | `wire.rs`, `sealed.rs` |
//! | who a process is, for those of other worlds too | `identity.rs` |
//! | processes of other worlds, which come and go | `foreign.rs`, `doors.rs`, `door_post.rs` |
//! | finding and connecting a peer | `endpoint_address.rs`, `dialer.rs` |
//! | letting peers in, and nobody else | `acceptor.rs` |
//! | when to look for them, and at the clock | `housekeeping.rs` |
//! | one peer: link, connection, reconnection | `peer.rs` |
//! | how many there may be, and how fast they send | `files.rs`, `congestion.rs` |
//! | whose fault an error number is | `cause.rs` |
//! | what the kernel knows of a connection | `info.rs` |
//! | all together | `transport.rs` |

mod acceptor;
mod cause;
mod change;
mod congestion;
mod dialer;
mod door_post;
mod doors;
mod endpoint_address;
mod files;
mod foreign;
mod frame;
mod gather;
mod greeting;
mod handshake;
mod heads;
mod housekeeping;
mod identity;
mod inbox;
mod info;
pub mod limits;
mod outbox;
mod partial_read;
mod peer;
mod sealed;
mod transport;
mod wire;

pub use change::Change;
pub use door_post::DoorPost;
pub use doors::Talk;
pub use endpoint_address::{
    check_interfaces, endpoint_address_at, endpoint_address_of_text, text_of_endpoint_address,
};
pub use foreign::Foreigner;
pub use identity::veil;
pub use tern_transport::config::{Checksum, TcpConfig};
pub use transport::{Tcp, TcpError};

#[cfg(any(test, fuzzing))]
#[path = "../../../fuzz/targets/tcp.rs"]
pub mod fuzz;
#[cfg(test)]
mod tests;
