//! The multicast groups that were given out, and the groups that they stand for.

use std::collections::BTreeMap;

use tern_urtp::GroupIndex;

use tern_transport::MulticastGroup;

/// How many there may be before it is looked which of them nobody wants.
const FEW: usize = 16;

/// Multicast groups by their index, and indices by the groups' numbers.
pub(super) struct MulticastGroups {
    handles: BTreeMap<GroupIndex, MulticastGroup>,
    groups: Vec<GroupIndex>,
    /// Numbers of groups that nobody has any more.
    free: Vec<u32>,
    /// With more, it is looked which of them nobody wants: seldom enough for the looks to cost little.
    many: usize,
}

impl Default for MulticastGroups {
    fn default() -> MulticastGroups {
        MulticastGroups { handles: BTreeMap::new(), groups: Vec::new(), free: Vec::new(), many: FEW }
    }
}

impl MulticastGroups {
    /// The handle of a group.
    pub(super) fn of(&mut self, group: GroupIndex) -> MulticastGroup {
        if let Some(handle) = self.handles.get(&group) {
            return handle.clone();
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.groups.push(group);
            self.groups.len() as u32 - 1
        });
        self.groups[number as usize] = group;
        let handle = MulticastGroup::new(number);
        self.handles.insert(group, handle.clone());
        handle
    }

    pub(super) fn group(&self, handle: &MulticastGroup) -> GroupIndex {
        self.groups[handle.number() as usize]
    }

    /// Whether another one, of this group, would be too many without a look at those that are here.
    pub(super) fn are_many(&self, group: GroupIndex) -> bool {
        self.handles.len() >= self.many && !self.handles.contains_key(&group)
    }

    /// Forgets the groups that nobody wants, unless something is `busy` with their groups, and says which groups these are.
    pub(super) fn take_unwanted(&mut self, busy: impl Fn(GroupIndex) -> bool) -> Vec<GroupIndex> {
        let mut unwanted = Vec::new();
        self.handles.retain(|group, handle| {
            let stays = handle.is_wanted() || busy(*group);
            if !stays {
                unwanted.push(*group);
                self.free.push(handle.number());
            }
            stays
        });
        self.many = FEW.max(2 * self.handles.len());
        unwanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_urtp::{UrtpConfig, UrtpEndpoint};

    /// Groups of rank 0 with each of the others.
    fn groups(count: u32) -> Vec<GroupIndex> {
        let mut endpoint = UrtpEndpoint::new(UrtpConfig::new(0, count + 1));
        (1..=count).map(|peer| endpoint.add_group(&[0, peer]).unwrap()).collect()
    }

    #[test]
    fn groups_that_nobody_wants_are_taken_and_their_numbers_used_again() {
        let (groups, mut handles) = (groups(6), MulticastGroups::default());
        let mut held: Vec<_> = groups[..4].iter().map(|group| handles.of(*group)).collect();
        assert_eq!(handles.of(groups[2]), held[2]);
        assert!(handles.take_unwanted(|_| false).is_empty());
        // A persistent collective may go on when its communicator is freed.
        let copy = held[1].clone();
        held.truncate(1);
        assert_eq!(handles.take_unwanted(|group| group == groups[3]), [groups[2]]);
        let next = handles.of(groups[4]);
        assert_eq!((next.number(), handles.group(&next)), (2, groups[4]));
        assert_eq!((handles.group(&copy), handles.group(&held[0])), (groups[1], groups[0]));
        drop(copy);
        assert_eq!(handles.take_unwanted(|_| false), [groups[1], groups[3]]);
    }

    #[test]
    fn looks_are_seldom() {
        let (groups, mut handles) = (groups(1000), MulticastGroups::default());
        let (mut held, mut looks) = (Vec::new(), 0);
        for group in groups {
            if handles.are_many(group) {
                looks += 1;
                handles.take_unwanted(|_| false);
            }
            held.push(handles.of(group));
            assert!(!handles.are_many(group));
        }
        assert!((5..8).contains(&looks), "{looks}");
        held.clear();
        handles.take_unwanted(|_| false);
        assert!(handles.handles.is_empty() && handles.many == FEW);
    }
}
