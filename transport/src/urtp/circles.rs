//! The circles that were given out, and the groups that they stand for.

use std::collections::BTreeMap;

use tern_urtp::GroupIndex;

use crate::Circle;

/// How many there may be before it is looked which of them nobody wants.
const FEW: usize = 16;

/// Circles by their groups, and groups by the circles' numbers.
pub(super) struct Circles {
    circles: BTreeMap<GroupIndex, Circle>,
    groups: Vec<GroupIndex>,
    /// Numbers of circles that nobody has any more.
    free: Vec<u32>,
    /// With more, it is looked which of them nobody wants: seldom enough for the looks to cost little.
    many: usize,
}

impl Default for Circles {
    fn default() -> Circles {
        Circles { circles: BTreeMap::new(), groups: Vec::new(), free: Vec::new(), many: FEW }
    }
}

impl Circles {
    /// The circle of a group.
    pub(super) fn of(&mut self, group: GroupIndex) -> Circle {
        if let Some(circle) = self.circles.get(&group) {
            return circle.clone();
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.groups.push(group);
            self.groups.len() as u32 - 1
        });
        self.groups[number as usize] = group;
        let circle = Circle::new(number);
        self.circles.insert(group, circle.clone());
        circle
    }

    pub(super) fn group(&self, circle: &Circle) -> GroupIndex {
        self.groups[circle.number() as usize]
    }

    /// Whether another one, of this group, would be too many without a look at those that are here.
    pub(super) fn are_many(&self, group: GroupIndex) -> bool {
        self.circles.len() >= self.many && !self.circles.contains_key(&group)
    }

    /// Forgets the circles that nobody wants, unless something is `busy` with their groups, and says which groups these are.
    pub(super) fn take_unwanted(&mut self, busy: impl Fn(GroupIndex) -> bool) -> Vec<GroupIndex> {
        let mut unwanted = Vec::new();
        self.circles.retain(|group, circle| {
            let stays = circle.is_wanted() || busy(*group);
            if !stays {
                unwanted.push(*group);
                self.free.push(circle.number());
            }
            stays
        });
        self.many = FEW.max(2 * self.circles.len());
        unwanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_urtp::{Config, Endpoint};

    /// Groups of rank 0 with each of the others.
    fn groups(count: u32) -> Vec<GroupIndex> {
        let mut endpoint = Endpoint::new(Config::new(0, count + 1));
        (1..=count).map(|peer| endpoint.add_group(&[0, peer]).unwrap()).collect()
    }

    #[test]
    fn circles_that_nobody_wants_are_taken_and_their_numbers_used_again() {
        let (groups, mut circles) = (groups(6), Circles::default());
        let mut held: Vec<_> = groups[..4].iter().map(|group| circles.of(*group)).collect();
        assert_eq!(circles.of(groups[2]), held[2]);
        assert!(circles.take_unwanted(|_| false).is_empty());
        // A persistent collective may go on when its communicator is freed.
        let copy = held[1].clone();
        held.truncate(1);
        assert_eq!(circles.take_unwanted(|group| group == groups[3]), [groups[2]]);
        let next = circles.of(groups[4]);
        assert_eq!((next.number(), circles.group(&next)), (2, groups[4]));
        assert_eq!((circles.group(&copy), circles.group(&held[0])), (groups[1], groups[0]));
        drop(copy);
        assert_eq!(circles.take_unwanted(|_| false), [groups[1], groups[3]]);
    }

    #[test]
    fn looks_are_seldom() {
        let (groups, mut circles) = (groups(1000), Circles::default());
        let (mut held, mut looks) = (Vec::new(), 0);
        for group in groups {
            if circles.are_many(group) {
                looks += 1;
                circles.take_unwanted(|_| false);
            }
            held.push(circles.of(group));
            assert!(!circles.are_many(group));
        }
        assert!((5..8).contains(&looks), "{looks}");
        held.clear();
        circles.take_unwanted(|_| false);
        assert!(circles.circles.is_empty() && circles.many == FEW);
    }
}
