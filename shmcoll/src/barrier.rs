//! Barrier: a meeting without data.

use crate::Mark;
use tern_coll::Collective;
use tern_transport::shm::team::Lines;
use tern_transport::{Arrival, Meeting, Team};

/// The mark of a barrier, which is zero: see [`Team::come_solely`].
pub const fn mark_of_barrier() -> Mark {
    Mark::bare(Collective::Barrier)
}

/// Comes to a barrier, in a call that has begun with [`mark_of_barrier`]. Whoever is the last has to open the meeting.
#[inline]
pub fn come<L: Lines>(team: &mut Team<L>) -> (Meeting, Arrival) {
    if team.size() == 2 && team.has_room() {
        let (meeting, watch) = team.come_solely();
        return (meeting, Arrival::Early(watch));
    }
    let meeting = team.meet();
    (meeting, team.arrive(meeting))
}
