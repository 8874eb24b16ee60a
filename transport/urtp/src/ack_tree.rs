//! Acknowledgements of a large group run together: each member tells the one above it what it and those below it have, and the
//! sender hears from [`FAN_IN`](crate::limits::FAN_IN) members instead of all.
//!
//! Members count differently, since numbers belong to pairs, so what goes up is a number for each member, in the form in which
//! multicasts carry them. A report always says everything that is known of the members below, so one that is lost is made good
//! by the next. A member that finds that its reports do not arrive (the sender sends again what it had reported) tells the
//! sender itself: so it does not matter that a member on the way may not know the group, or no more.

use crate::group::{GroupIndex, JoinedGroup};
use crate::{NEVER, Nanos};
use std::collections::BTreeMap;

/// What one member knows of those below it, about one sender.
#[derive(Debug)]
pub(crate) struct AckTree {
    pub(crate) group: GroupIndex,
    /// The sender's index.
    pub(crate) root: u32,
    /// What members expect next, those that have said something, in ascending order.
    latest: Vec<Latest>,
    /// Members that have said something since the last report.
    reported: u32,
    /// Members below, and this one.
    members: u32,
    /// The least room, and the oldest clock of the sender, that they have said.
    room: u16,
    echo: u32,
    rate: u32,
    /// When to report, though not all have said something.
    pub(crate) report_at: Nanos,
    /// The report stands in the queue.
    pub(crate) queued: bool,
    /// Index of the member from which the report goes on in the next packet.
    pub(crate) from: usize,
}

/// What a member has said last.
#[derive(Clone, Copy, Debug)]
struct Latest {
    index: u32,
    expects: u32,
    /// Since the last report.
    new: bool,
}

/// What a member says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    pub(crate) index: u32,
    pub(crate) expects: u32,
    pub(crate) room: u16,
    pub(crate) echo: u32,
    pub(crate) rate: u32,
}

impl AckTree {
    pub(crate) fn new(group: &JoinedGroup, index: GroupIndex, root: u32) -> AckTree {
        let members = group.subtree(group.me, root);
        AckTree {
            group: index,
            root,
            latest: Vec::with_capacity(members as usize),
            reported: 0,
            members,
            room: u16::MAX,
            echo: 0,
            rate: 0,
            report_at: NEVER,
            queued: false,
            from: 0,
        }
    }

    /// A member below, or this one, has something to report. Whether all have now.
    pub(crate) fn hear(&mut self, word: Word) -> bool {
        let Word { index, expects, .. } = word;
        let at = match self.latest.binary_search_by_key(&index, |latest| latest.index) {
            Ok(at) => at,
            Err(at) => {
                self.latest.insert(at, Latest { index, expects, new: false });
                at
            }
        };
        let latest = &mut self.latest[at];
        if expects.wrapping_sub(latest.expects) as i32 >= 0 {
            latest.expects = expects;
        }
        self.reported += u32::from(!std::mem::replace(&mut latest.new, true));
        self.room = self.room.min(word.room);
        if self.echo == 0 || (word.echo != 0 && (word.echo.wrapping_sub(self.echo) as i32) < 0) {
            self.echo = word.echo;
        }
        if self.rate == 0 || (word.rate != 0 && word.rate < self.rate) {
            self.rate = word.rate;
        }
        self.reported >= self.members
    }

    /// What a report says beside the numbers.
    pub(crate) fn sum(&self) -> (u16, u32, u32) {
        (self.room, self.echo, self.rate)
    }

    /// Writes what each member expects next, as far as it is known, by its index.
    pub(crate) fn latest(&self, numbers: &mut Vec<Option<u32>>) {
        numbers.clear();
        numbers.resize(self.latest.last().map_or(0, |last| last.index as usize + 1), None);
        for Latest { index, expects, .. } in &self.latest {
            numbers[*index as usize] = Some(*expects);
        }
    }

    fn bytes(&self) -> usize {
        size_of::<AckTree>() + self.latest.capacity() * size_of::<Latest>()
    }

    /// The report has gone.
    pub(crate) fn reported(&mut self) {
        self.latest.iter_mut().for_each(|latest| latest.new = false);
        (self.reported, self.room, self.echo, self.rate) = (0, u16::MAX, 0, 0);
        (self.report_at, self.from, self.queued) = (NEVER, 0, false);
    }
}

/// All of them. An ack tree is made when something is to be reported, and ends with its group.
#[derive(Debug, Default)]
pub(crate) struct AckTrees {
    places: Vec<Option<AckTree>>,
    free: Vec<u32>,
    by_root: BTreeMap<(GroupIndex, u32), u32>,
}

impl AckTrees {
    /// The place of the ack tree of a sender in a group.
    pub(crate) fn of(&mut self, group: &JoinedGroup, index: GroupIndex, root: u32) -> u32 {
        if let Some(at) = self.by_root.get(&(index, root)) {
            return *at;
        }
        let ack_tree = Some(AckTree::new(group, index, root));
        let at = match self.free.pop() {
            Some(at) => {
                self.places[at as usize] = ack_tree;
                at
            }
            None => {
                self.places.push(ack_tree);
                self.places.len() as u32 - 1
            }
        };
        self.by_root.insert((index, root), at);
        at
    }

    pub(crate) fn get(&self, at: u32) -> Option<&AckTree> {
        self.places.get(at as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, at: u32) -> Option<&mut AckTree> {
        self.places.get_mut(at as usize)?.as_mut()
    }

    /// The groups of which something is to be reported.
    pub(crate) fn due(&self) -> impl Iterator<Item = GroupIndex> + '_ {
        let due = |ack_tree: &&AckTree| ack_tree.queued || ack_tree.report_at != NEVER;
        self.places.iter().flatten().filter(due).map(|ack_tree| ack_tree.group)
    }

    /// Memory that those of a group take.
    pub(crate) fn bytes_of(&self, group: GroupIndex) -> usize {
        self.places_of(group).filter_map(|at| self.get(at)).map(AckTree::bytes).sum()
    }

    /// A group has ended of which nothing is to be reported.
    pub(crate) fn end(&mut self, group: GroupIndex) {
        let ended: Vec<_> = self.places_of(group).collect();
        for at in ended {
            if let Some(ack_tree) = self.places[at as usize].take() {
                self.by_root.remove(&(group, ack_tree.root));
                self.free.push(at);
            }
        }
    }

    fn places_of(&self, group: GroupIndex) -> impl Iterator<Item = u32> + '_ {
        self.by_root.range((group, 0)..=(group, u32::MAX)).map(|(_, at)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: GroupIndex = GroupIndex { place: 0, generation: 0 };
    const OTHER: GroupIndex = GroupIndex { place: 0, generation: 1 };

    fn word(index: u32, expects: u32) -> Word {
        Word { index, expects, room: 5, echo: 0, rate: 0 }
    }

    fn latest(ack_tree: &AckTree) -> Vec<Option<u32>> {
        let mut numbers = vec![Some(9); 3];
        ack_tree.latest(&mut numbers);
        numbers
    }

    #[test]
    fn an_ack_tree_is_full_when_all_below_have_spoken() {
        let members: Vec<_> = (0..100).collect();
        let group = JoinedGroup::new(&members, 1).expect("a group");
        let mut ack_tree = AckTree::new(&group, GROUP, 0);
        assert_eq!(ack_tree.members, 9 + 100 - 73);
        let full: Vec<_> = (1..100).filter(|index| ack_tree.hear(word(*index, 7))).collect();
        assert_eq!(full.first(), Some(&36));
        ack_tree.reported();
        assert!(!ack_tree.hear(word(1, 9)) && latest(&ack_tree)[1] == Some(9));
        ack_tree.hear(word(1, 3));
        assert_eq!(latest(&ack_tree)[1], Some(9), "an old word changes nothing");
    }

    #[test]
    fn what_members_say_is_told_by_their_indices_and_kept_for_few() {
        let members: Vec<_> = (0..100).collect();
        let group = JoinedGroup::new(&members, 99).expect("a group");
        let mut ack_tree = AckTree::new(&group, GROUP, 0);
        assert!(latest(&ack_tree).is_empty() && ack_tree.hear(word(99, 4)));
        assert_eq!(ack_tree.bytes(), size_of::<AckTree>() + size_of::<Latest>(), "nobody is below");
        ack_tree.hear(word(2, u32::MAX));
        ack_tree.hear(word(2, 1));
        ack_tree.hear(word(0, 6));
        let known: Vec<_> =
            latest(&ack_tree).into_iter().enumerate().filter(|(_, number)| number.is_some()).collect();
        assert_eq!(known, [(0, Some(6)), (2, Some(1)), (99, Some(4))]);
    }

    #[test]
    fn ack_trees_end_with_their_group_and_their_places_are_used_again() {
        let members: Vec<_> = (0..20).collect();
        let group = JoinedGroup::new(&members, 5).expect("a group");
        let mut ack_trees = AckTrees::default();
        let places =
            [(GROUP, 0), (OTHER, 0), (GROUP, 3)].map(|(index, root)| ack_trees.of(&group, index, root));
        assert_eq!((places, ack_trees.of(&group, OTHER, 0)), ([0, 1, 2], 1));
        assert_eq!(ack_trees.due().count(), 0);
        ack_trees.get_mut(1).expect("an ack tree").report_at = 7;
        assert_eq!(ack_trees.due().collect::<Vec<_>>(), [OTHER]);
        assert!(ack_trees.bytes_of(GROUP) > ack_trees.bytes_of(OTHER));
        ack_trees.end(GROUP);
        assert!(ack_trees.get(0).is_none() && ack_trees.get(2).is_none());
        assert_eq!(
            (ack_trees.bytes_of(GROUP), ack_trees.get(1).map(|ack_tree| ack_tree.group)),
            (0, Some(OTHER))
        );
        assert!(ack_trees.of(&group, GROUP, 9) != 1 && ack_trees.of(&group, GROUP, 0) != 1);
        assert_eq!(ack_trees.places.len(), 3);
    }
}
