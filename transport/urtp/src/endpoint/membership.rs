//! Which groups a rank knows: until when, see `groups.rs`.

use super::UrtpEndpoint;
use crate::WorldRank;
use crate::group::{GroupId, GroupIndex};
use std::collections::BTreeSet;

impl UrtpEndpoint {
    /// Makes a group of these ranks known, and holds it until [`UrtpEndpoint::release_group`]. The same list is the
    /// same group. `None`: it cannot be one, or its name of 63 bits is taken.
    pub fn add_group(&mut self, members: &[WorldRank]) -> Option<GroupIndex> {
        if members.iter().any(|peer| *peer >= self.config.size) {
            return None;
        }
        self.groups.hold(members, self.config.me)
    }

    /// This rank sends nothing more to a group, however often it was added, until it is added again. What was sent goes on its way.
    pub fn release_group(&mut self, group: GroupIndex) {
        let reports = self.ack_trees.bytes_of(group);
        self.groups.release(group, reports);
    }

    /// Forgets groups that were released, the first ones first, if together they take more than the settings allow; those of
    /// which something is on its way stay. `ended` hears which, so that the link need not listen any more.
    pub fn end_groups(&mut self, mut ended: impl FnMut(GroupIndex, GroupId)) {
        let bytes_max = self.config.idle_groups_bytes;
        if self.groups.idle_bytes() <= bytes_max {
            return;
        }
        let busy = self.busy_groups();
        let ack_trees = &mut self.ack_trees;
        // Some more than it must, since the look at all packets takes its time.
        self.groups.end(
            bytes_max / 2,
            |group| busy.contains(&group),
            |group, id| {
                ack_trees.end(group);
                ended(group, id);
            },
        );
    }

    /// Those to which packets go that are not acknowledged, and those of which a report is due.
    fn busy_groups(&self) -> BTreeSet<GroupIndex> {
        let run = self.run.as_ref().map(|run| run.group);
        self.slots.groups().chain(self.ack_trees.due()).chain(run).collect()
    }

    /// Groups that are known.
    pub fn groups_known(&self) -> usize {
        self.groups.len()
    }

    /// A member's index in a group.
    pub fn group_member(&self, group: GroupIndex, peer: WorldRank) -> Option<u32> {
        self.groups.get(group)?.index_of(peer)
    }

    /// What the link calls a group.
    ///
    /// # Panics
    /// If it has ended.
    pub fn group_id(&self, group: GroupIndex) -> GroupId {
        self.groups[group].id
    }
}
