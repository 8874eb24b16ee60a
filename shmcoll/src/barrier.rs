//! Barrier: a sync step without data.

use crate::Mark;
use tern_coll::Collective;
use tern_shm::shm_comm::Lines;
use tern_shm::{Arrival, ShmComm, SyncStep};

/// The mark of a barrier, which is zero: see [`ShmComm::come_solely`].
pub const fn mark_of_barrier() -> Mark {
    Mark::bare(Collective::Barrier)
}

/// Comes to a barrier, in a call that has begun with [`mark_of_barrier`]. Whoever is the last has to open the sync step.
#[inline(always)]
pub fn come<L: Lines>(shm_comm: &mut ShmComm<L>) -> (SyncStep, Arrival) {
    if shm_comm.size() == 2 && shm_comm.has_buffer() {
        let (sync, watch) = shm_comm.come_solely();
        return (sync, Arrival::Early(watch));
    }
    let sync = shm_comm.begin_sync();
    (sync, shm_comm.arrive(sync))
}
