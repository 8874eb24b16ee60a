//! Acknowledgements of a large group run together: each member tells the one above it what it and those below it have, and the
//! sender hears from [`FAN_IN`](crate::limits::FAN_IN) members instead of all.
//!
//! Members count differently, since numbers belong to pairs, so what goes up is a number for each member, in the form in which
//! multicasts carry them. A report always says everything that is known of the members below, so one that is lost is made good
//! by the next. A member that finds that its reports do not arrive (the sender sends again what it had reported) tells the
//! sender itself.

use crate::group::{Group, GroupIndex};
use crate::{NEVER, Nanos};

/// What one member knows of those below it, about one sender.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) group: GroupIndex,
    /// The sender's index.
    pub(crate) root: u32,
    /// What the members expect next.
    latest: Box<[Option<u32>]>,
    /// Members that have said something since the last report.
    heard: Box<[bool]>,
    hearing: u32,
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

/// What a member says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    pub(crate) index: u32,
    pub(crate) expects: u32,
    pub(crate) room: u16,
    pub(crate) echo: u32,
    pub(crate) rate: u32,
}

impl Branch {
    pub(crate) fn new(group: &Group, index: GroupIndex, root: u32) -> Branch {
        let n = group.members.len();
        Branch {
            group: index,
            root,
            latest: vec![None; n].into(),
            heard: vec![false; n].into(),
            hearing: 0,
            members: group.subtree(group.me, root),
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
        let at = word.index as usize;
        let Some(latest) = self.latest.get_mut(at) else { return false };
        if latest.is_none_or(|old| word.expects.wrapping_sub(old) as i32 >= 0) {
            *latest = Some(word.expects);
        }
        self.room = self.room.min(word.room);
        if self.echo == 0 || (word.echo != 0 && (word.echo.wrapping_sub(self.echo) as i32) < 0) {
            self.echo = word.echo;
        }
        if self.rate == 0 || (word.rate != 0 && word.rate < self.rate) {
            self.rate = word.rate;
        }
        self.hearing += u32::from(!std::mem::replace(&mut self.heard[at], true));
        self.hearing >= self.members
    }

    /// What a report says beside the numbers.
    pub(crate) fn sum(&self) -> (u16, u32, u32) {
        (self.room, self.echo, self.rate)
    }

    pub(crate) fn latest(&self) -> &[Option<u32>] {
        &self.latest
    }

    /// The report has gone.
    pub(crate) fn reported(&mut self) {
        self.heard.fill(false);
        (self.hearing, self.room, self.echo, self.rate) = (0, u16::MAX, 0, 0);
        (self.report_at, self.from, self.queued) = (NEVER, 0, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_full_when_all_below_have_spoken() {
        let members: Vec<_> = (0..100).collect();
        let group = Group::new(&members, 1).expect("a group");
        let mut branch = Branch::new(&group, GroupIndex(0), 0);
        assert_eq!(branch.members, 9 + 100 - 73);
        let word = |index, expects| Word { index, expects, room: 5, echo: 0, rate: 0 };
        let full: Vec<_> = (1..100).filter(|index| branch.hear(word(*index, 7))).collect();
        assert_eq!(full.first(), Some(&36));
        assert!(!branch.hear(word(100, 7)), "there is no such member");
        branch.reported();
        assert!(!branch.hear(word(1, 9)) && branch.latest()[1] == Some(9));
        branch.hear(word(1, 3));
        assert_eq!(branch.latest()[1], Some(9), "an old word changes nothing");
    }
}
