//! libfabric: the transport over networks that programs use without the kernel (MPI-BIP's place today: user-level access).
//!
//! A rank has one endpoint for reliable datagrams. An active message is one packet, and what is longer comes in fragments. The
//! receiver's provider takes packets into memory that was given to it beforehand. The engine's credits bound what comes there.
//!
//! Whoever knows the address of an endpoint can send to it, so each packet begins with a token that only ranks of the job can make.
//!
//! | part | file |
//! |---|---|
//! | which provider and which interface | `provider.rs` |
//! | how much at once, how long to wait | `limits.rs` |
//! | what a rank tells others of its endpoint | `endpoint_address.rs`, `two_ways.rs` |
//! | the bytes of a packet, and its token | `packet.rs` |
//! | what there is, for a person | `survey.rs` |
//! | long messages, which are read from the sender's memory | `exposed.rs`, `rendezvous.rs` |
//! | windows, which peers read and write | `windows.rs` |
//! | going, and coming back | `farewell.rs` |
//! | all together | `transport.rs` |
//!
//! The crate `tern-libfabric` has the calls.

mod endpoint_address;
mod error;
mod exposed;
mod farewell;
mod limits;
mod overtaking;
mod packet;
mod provider;
mod reads;
mod rendezvous;
mod survey;
mod transport;
mod two_ways;
mod windows;

pub use error::OfiError;
pub use provider::{HostAnswer, ProviderChoice};
pub use survey::survey;
pub use transport::{Ofi, OfiBell, OfiCounters, Opened};
pub use two_ways::{DirectoryHalf, split};

#[cfg(any(test, fuzzing))]
#[path = "../../../fuzz/targets/ofi.rs"]
pub mod fuzz;
#[cfg(test)]
mod tests;
