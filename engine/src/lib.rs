//! The device-independent engine: what a message does between `MPI_Send` and `MPI_Recv`.
//!
//! No sockets, no clock, no globals, no unsafe code: a transport and the users' buffers are passed in.
//! Start reading at [`Engine::send`] and follow the message: [`wire`] says what travels, [`arrival`] what the
//! receiver's header handlers do with it, [`rendezvous`] how large messages are moved.

#![forbid(unsafe_code)]

pub mod arrival;
mod cancel;
pub mod counters;
mod counting;
mod direct;
pub mod engine;
#[cfg(any(test, fuzzing))]
#[path = "../../fuzz/targets/engine.rs"]
pub mod fuzz;
pub mod group;
mod inspect;
pub mod limits;
pub mod matching;
mod multicast;
mod multicast_queue;
pub mod object_counts;
pub mod partitioned;
pub mod peers;
mod prefetch;
pub mod protocol;
pub mod protocol_table;
pub mod receive;
pub mod rendezvous;
pub mod request;
pub mod rma;
pub mod send;
pub mod settings;
pub mod slab;
pub mod types;
mod unexpected_message;
pub mod wire;

pub use counters::EngineCounters;
pub use engine::Engine;
pub use group::Group;
pub use inspect::Unclaimed;
pub use matching::{ANY_SOURCE, ANY_TAG, Envelope, Pattern};
pub use object_counts::ObjectCounts;
pub use partitioned::{PartitionedId, ReadyError};
pub use protocol::Mode;
pub use receive::MessageId;
pub use request::{MessageFault, RequestId, Status};
pub use send::StartedMessage;
pub use settings::{EngineSettings, Rendezvous};
pub use unexpected_message::Probed;
