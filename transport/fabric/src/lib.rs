//! All transports of a rank as one, [`Fabric`]: a table says by which of them each peer is reached.
//!
//! | part | file |
//! |---|---|
//! | what a rank has to know to be connected | `place.rs` |
//! | which route leads to which peer | `routes.rs` |
//! | a rank and itself | `loopback.rs` |
//! | ranks of several nodes: TCP, datagrams and libfabric, beside shared memory | `network.rs`, `packets.rs` |
//! | whether libfabric carries messages | `endpoint.rs` |
//! | shared memory with processes of other worlds | `pairs.rs` |
//! | packets that go through TCP while nothing else comes through | `fallback_tunnel.rs` |
//! | what has come, and what of it was dropped | `tally.rs` |
//! | all together | `fabric.rs` |

mod endpoint;
mod fabric;
mod fallback_tunnel;
pub mod limits;
pub mod loopback;
mod network;
mod packets;
mod pairs;
mod place;
mod routes;
mod sinks;
mod tally;

pub use fabric::Fabric;
pub use place::{ConnectError, JobPlace, Outside};
pub use tally::Tally;
pub use tern_shm::NodeCores;
