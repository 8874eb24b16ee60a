//! Shared memory: the transport between ranks of one node.
//!
//! What travels where:
//!
//! | message | way | file |
//! |---|---|---|
//! | the first few of a pair | a cell of the sender, linked into the receiver's queue | `queue.rs` |
//! | up to 40 bytes | one line of the pair's ring | `ring.rs` |
//! | up to 4 KiB | several lines of it, read as they come | `ring.rs` |
//! | up to four cells | cells of the sender, named by lines, read as they come | `cells.rs` |
//! | more | the kernel copies between the processes | `cma.rs` |
//! | large | as above, by both sides at once | `cooperative_copy.rs` |
//! | either, where that is faster | in fragments, of eight cells each | `path_tuner.rs` |
//!
//! Where the kernel can copy, that begins above 4 KiB, unless [`tern_transport::copies`] says that cells are faster; then they serve what is longer
//! than a few lines, too.

// Under loom only the protocols are built, and not what calls all of them.
#![cfg_attr(loom, allow(dead_code, unreachable_pub))]

mod bell_words;
pub mod epoch_lock;
pub mod errand;
mod flag;
mod hints;
pub mod limits;
mod queue;
mod ring;
mod sync;
pub mod turns;

#[cfg(not(loom))]
pub mod abroad;
#[cfg(not(loom))]
pub mod bell;
#[cfg(not(loom))]
mod cells;
#[cfg(not(loom))]
mod cma;
#[cfg(not(loom))]
mod cooperative_copy;
#[cfg(not(loom))]
pub mod fingerprint;
#[cfg(not(loom))]
mod first_page;
#[cfg(not(loom))]
mod futex;
#[cfg(not(loom))]
mod host_answer;
#[cfg(not(loom))]
mod inbox;
#[cfg(not(loom))]
mod layout;
#[cfg(not(loom))]
mod memory;
#[cfg(not(loom))]
mod node_cores;
#[cfg(not(loom))]
mod path_tuner;
#[cfg(not(loom))]
mod peers;
#[cfg(not(loom))]
mod receive;
#[cfg(not(loom))]
mod segment;
#[cfg(not(loom))]
mod segment_words;
#[cfg(not(loom))]
pub mod shm_comm;
#[cfg(not(loom))]
mod store_tuner;
#[cfg(not(loom))]
mod transport;
#[cfg(not(loom))]
pub mod tuner;

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(not(loom))]
pub use cma::{allow_peers, probe, probe_addr, read_from, write_to};
#[cfg(not(loom))]
pub use cooperative_copy::cooperative_chunks;
#[cfg(not(loom))]
pub use host_answer::host_answer;
#[cfg(not(loom))]
pub use memory::{JobMemory, Reservation, SharedRange};
#[cfg(not(loom))]
pub use node_cores::NodeCores;
#[cfg(not(loom))]
pub use segment::{AttachError, FarBell};
#[cfg(not(loom))]
pub use shm_comm::{
    Area, Arrival, BoundPlace, CommonFacts, EagerStep, Mismatch, ShmComm, ShmMember, ShmWatch, Sight,
    SyncStep,
};
#[cfg(not(loom))]
pub use transport::{Shm, segment_bytes};
