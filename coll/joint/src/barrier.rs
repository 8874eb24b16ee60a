//! Barrier: a meeting without data.

use tern_transport::shm::team::Lines;
use tern_transport::{Team, Watch};

/// Comes to a barrier: what to wait for, or `None` if this rank is the last, and has to call [`Team::open`].
#[inline]
pub fn come<L: Lines>(team: &mut Team<L>) -> Option<Watch> {
    if team.size() == 2 && team.has_room() {
        let meeting = team.meet();
        team.come(meeting);
        return Some(team.posted(meeting, 1 - team.rank()));
    }
    team.arrive()
}
