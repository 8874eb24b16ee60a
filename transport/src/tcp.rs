//! TCP: the transport between ranks of different machines.
//!
//! A pair of ranks has one connection, made when the first message wants it. What outlives a connection is the
//! *link*: numbered frames, kept until the other side has acknowledged them, and sent again over the next connection if this
//! one breaks.
//!
//! | part | file |
//! |---|---|
//! | the bytes of a frame | `frame.rs` |
//! | what is sent and not yet acknowledged | `outbox.rs` |
//! | short frames that wait for each other | `gather.rs` |
//! | from the socket to where it lands | `inbox.rs`, `rest.rs` |
//! | the mutual proof of the job's secret | `handshake.rs`, `greeting.rs` |
//! | a connection's bytes, plain or encrypted | `wire.rs`, `sealed.rs` |
//! | finding and connecting a peer | `card.rs`, `directory.rs`, `dialer.rs` |
//! | letting peers in, and nobody else | `porter.rs` |
//! | when to look for them, and at the clock | `rounds.rs` |
//! | one peer: link, connection, reconnection | `peer.rs` |
//! | sleeping until a socket is ready | `bell.rs` |
//! | how many there may be, and how fast they send | `files.rs`, `congestion.rs` |
//! | whose fault an error number is | `cause.rs` |
//! | what the kernel knows of a connection | `info.rs` |
//! | all together | `transport.rs` |

mod bell;
mod card;
mod cause;
mod congestion;
mod dialer;
mod directory;
mod files;
mod frame;
mod gather;
mod greeting;
mod handshake;
mod inbox;
mod info;
mod outbox;
mod peer;
mod porter;
mod rest;
mod rounds;
mod sealed;
mod transport;
mod wire;

pub use crate::config::{Checksum, TcpConfig};
pub(crate) use bell::{SocketBell, Watch};
pub use card::CARD_BYTES_MAX;
pub use directory::Directory;
pub use transport::{Tcp, TcpError};

#[cfg(any(test, fuzzing))]
#[path = "../../fuzz/targets/tcp.rs"]
pub mod fuzz;
#[cfg(test)]
pub(crate) mod tests;
