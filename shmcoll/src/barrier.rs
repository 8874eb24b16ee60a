//! Barrier: a meeting without data.

use crate::Mark;
use tern_coll::Collective;
use tern_transport::shm::shm_comm::Lines;
use tern_transport::{Arrival, Meeting, ShmComm};

/// The mark of a barrier, which is zero: see [`ShmComm::come_solely`].
pub const fn mark_of_barrier() -> Mark {
    Mark::bare(Collective::Barrier)
}

/// Comes to a barrier, in a call that has begun with [`mark_of_barrier`]. Whoever is the last has to open the meeting.
#[inline]
pub fn come<L: Lines>(shm_comm: &mut ShmComm<L>) -> (Meeting, Arrival) {
    if shm_comm.size() == 2 && shm_comm.has_buffer() {
        let (meeting, watch) = shm_comm.come_solely();
        return (meeting, Arrival::Early(watch));
    }
    let meeting = shm_comm.meet();
    (meeting, shm_comm.arrive(meeting))
}
