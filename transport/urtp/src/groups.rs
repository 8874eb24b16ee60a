//! The groups that a rank knows, and their end.
//!
//! A group is held while the rank may multicast to it, and idle from then on: a communicator with the same members may come, and
//! others may still lack packets or report through this rank. Nobody is told of the end and nobody agrees on it, since nothing
//! depends on it: numbers belong to pairs of ranks, so a late packet of a group that has ended is one that comes twice, if the group
//! is known again, or else dropped as of a group that is not known; and whoever lacks something gets it point-to-point. So each
//! rank keeps what idle groups it likes, here those that were released last.

use crate::WorldRank;
use crate::group::{GroupId, GroupIndex, JoinedGroup, name};
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Index, IndexMut};

#[derive(Debug, Default)]
pub(crate) struct Groups {
    places: Vec<GroupPlace>,
    free: Vec<u32>,
    /// Groups by what they are called on the wire: each packet of theirs is looked up.
    names: BTreeMap<(u32, GroupId), GroupIndex>,
    /// The one that was released first comes first.
    idle: VecDeque<Idle>,
    idle_bytes: usize,
}

#[derive(Debug)]
struct GroupPlace {
    generation: u32,
    group: Option<JoinedGroup>,
}

#[derive(Clone, Copy, Debug)]
struct Idle {
    index: GroupIndex,
    bytes: usize,
}

impl Groups {
    /// Makes a group known, or finds it, and holds it. `None`: this rank is not in it, somebody is twice, or its name is taken.
    pub(crate) fn hold(&mut self, members: &[WorldRank], me: WorldRank) -> Option<GroupIndex> {
        let (id, check) = name(members);
        if let Some(&index) = self.names.get(&(check, id)) {
            if !self[index].members.are(members) {
                return None;
            }
            self.wake(index);
            return Some(index);
        }
        let group = JoinedGroup::new(members, me)?;
        let index = self.put(group);
        self.names.insert((check, id), index);
        Some(index)
    }

    fn put(&mut self, group: JoinedGroup) -> GroupIndex {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(GroupPlace { generation: 0, group: None });
            self.places.len() as u32 - 1
        });
        let at = &mut self.places[place as usize];
        at.group = Some(group);
        GroupIndex { place, generation: at.generation }
    }

    fn wake(&mut self, index: GroupIndex) {
        if let Some(at) = self.idle.iter().position(|idle| idle.index == index) {
            self.idle_bytes -= self.idle.remove(at).map_or(0, |idle| idle.bytes);
        }
    }

    /// A group is held no more; besides it takes so much memory elsewhere.
    pub(crate) fn release(&mut self, index: GroupIndex, more_bytes: usize) {
        let Some(group) = self.get(index) else { return };
        let bytes = group.bytes() + more_bytes;
        self.wake(index);
        self.idle.push_back(Idle { index, bytes });
        self.idle_bytes += bytes;
    }

    /// What all take that are not held.
    pub(crate) fn idle_bytes(&self) -> usize {
        self.idle_bytes
    }

    /// Ends idle groups, but for those that are `busy`, until the others take no more than this.
    pub(crate) fn end(
        &mut self,
        bytes_max: usize,
        busy: impl Fn(GroupIndex) -> bool,
        mut ended: impl FnMut(GroupIndex, GroupId),
    ) {
        let mut at = 0;
        while self.idle_bytes > bytes_max && at < self.idle.len() {
            let Idle { index, bytes } = self.idle[at];
            if busy(index) {
                at += 1;
                continue;
            }
            self.idle.remove(at);
            self.idle_bytes -= bytes;
            ended(index, self.remove(index));
        }
    }

    fn remove(&mut self, index: GroupIndex) -> GroupId {
        let place = &mut self.places[index.place as usize];
        let group = place.group.take().expect("an idle group is known");
        place.generation = place.generation.wrapping_add(1);
        self.free.push(index.place);
        self.names.remove(&(group.check, group.id));
        group.id
    }

    /// `None`: it has ended.
    pub(crate) fn get(&self, index: GroupIndex) -> Option<&JoinedGroup> {
        let place = self.places.get(index.place as usize)?;
        place.group.as_ref().filter(|_| place.generation == index.generation)
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn named(&self, id: GroupId, check: u32) -> Option<GroupIndex> {
        self.names.get(&(check, id)).copied()
    }

    /// The group of a report, which says no more of it.
    pub(crate) fn checked(&self, check: u32) -> Option<GroupIndex> {
        let (&(found, _), &index) = self.names.range((check, GroupId(0))..).next()?;
        (found == check).then_some(index)
    }
}

/// A group that has not ended: one that is held, or has packets on their way.
impl Index<GroupIndex> for Groups {
    type Output = JoinedGroup;

    fn index(&self, index: GroupIndex) -> &JoinedGroup {
        self.get(index).expect("the group has not ended")
    }
}

impl IndexMut<GroupIndex> for Groups {
    fn index_mut(&mut self, index: GroupIndex) -> &mut JoinedGroup {
        let place = &mut self.places[index.place as usize];
        assert_eq!(place.generation, index.generation, "the group has not ended");
        place.group.as_mut().expect("the group has not ended")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nobody(_: GroupIndex) -> bool {
        false
    }

    /// Ends what it must, and says what that was.
    fn end(groups: &mut Groups, bytes_max: usize, busy: impl Fn(GroupIndex) -> bool) -> Vec<GroupIndex> {
        let mut ended = Vec::new();
        groups.end(bytes_max, busy, |index, _| ended.push(index));
        ended
    }

    #[test]
    fn the_idle_group_that_was_released_first_ends_first_unless_it_is_busy() {
        let mut groups = Groups::default();
        let all: Vec<_> = (2..6).map(|peer| groups.hold(&[0, peer], 0).expect("a group")).collect();
        assert!(end(&mut groups, 0, nobody).is_empty(), "all are held");
        for index in [2, 0, 1, 2] {
            groups.release(all[index], 0);
        }
        let each = groups[all[0]].bytes();
        assert_eq!(groups.idle_bytes(), 3 * each);
        assert_eq!(end(&mut groups, 2 * each, |index| index == all[0]), [all[1]]);
        assert_eq!(end(&mut groups, 0, |index| index == all[0]), [all[2]]);
        assert_eq!((groups.len(), groups.idle_bytes()), (2, each));
        assert_eq!(end(&mut groups, 0, nobody), [all[0]]);
        assert!(groups.get(all[3]).is_some() && groups.get(all[0]).is_none());
    }

    #[test]
    fn a_group_that_is_held_again_stays() {
        let mut groups = Groups::default();
        let index = groups.hold(&[0, 1], 0).expect("a group");
        groups.release(index, 100);
        assert_eq!(groups.hold(&[0, 1], 0), Some(index));
        assert_eq!(groups.idle_bytes(), 0);
        assert!(end(&mut groups, 0, nobody).is_empty() && groups.get(index).is_some());
    }

    #[test]
    fn a_place_that_is_used_again_is_another_group() {
        let mut groups = Groups::default();
        let old = groups.hold(&[0, 1], 0).expect("a group");
        let (id, check) = (groups[old].id, groups[old].check);
        groups.release(old, 0);
        end(&mut groups, 0, nobody);
        let new = groups.hold(&[0, 2, 5], 0).expect("another");
        assert!(new.place == old.place && new != old);
        assert!(groups.get(old).is_none() && groups.named(id, check).is_none());
        assert!(groups.checked(check).is_none());
        groups.release(old, 7);
        assert_eq!(groups.idle_bytes(), 0, "what has ended is not released");
        let again = groups.hold(&[0, 1], 0).expect("known again");
        assert_eq!((groups.named(id, check), groups.checked(check)), (Some(again), Some(again)));
    }
}
