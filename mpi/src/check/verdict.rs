//! Whether the calls of all ranks fit together, and what to say if they do not: a pure function, so that all ranks
//! come to the same result.

use super::record::{CallRecord, CallState};
use crate::core::error::{Error, fail};
use std::ffi::c_int;
use tern_abi::{
    MPI_ERR_COUNT, MPI_ERR_OP, MPI_ERR_OTHER, MPI_ERR_ROOT, MPI_ERR_TOPOLOGY, MPI_ERR_TRUNCATE, MPI_ERR_TYPE,
};
use tern_coll::Root;

/// Sides of a disagreement that are shown; more than two are rare.
const SIDES_SHOWN_MAX: usize = 4;

/// The records of a call, in the order of ranks.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallRecords<'a> {
    /// All of them; of an intercommunicator, one group after the other.
    pub records: &'a [CallRecord],
    /// How many are of the first group.
    pub first: usize,
    /// The places of this process's own group begin here.
    pub own: usize,
}

/// A way in which calls can differ.
struct DifferenceRule {
    what: &'static str,
    class: c_int,
    /// What a rank says; `None` if it leaves it open.
    says: fn(&CallRecords, usize) -> Option<u64>,
}

/// In the order in which a person wants to know.
const RULES: [DifferenceRule; 9] = [
    DifferenceRule { what: "the root differs", class: MPI_ERR_ROOT, says: root },
    DifferenceRule { what: "the operation differs", class: MPI_ERR_OP, says: operation },
    DifferenceRule {
        what: "the length differs",
        class: MPI_ERR_TRUNCATE,
        says: |calls, at| calls.bytes(at, 0),
    },
    DifferenceRule {
        what: "the length differs",
        class: MPI_ERR_TRUNCATE,
        says: |calls, at| calls.bytes(at, 1),
    },
    DifferenceRule {
        what: "the datatypes differ",
        class: MPI_ERR_TYPE,
        says: |calls, at| calls.signature(at, 0),
    },
    DifferenceRule {
        what: "the datatypes differ",
        class: MPI_ERR_TYPE,
        says: |calls, at| calls.signature(at, 1),
    },
    DifferenceRule {
        what: "recvcounts differ",
        class: MPI_ERR_COUNT,
        says: |calls, at| calls.counts(at, true),
    },
    DifferenceRule {
        what: "recvcounts differ",
        class: MPI_ERR_COUNT,
        says: |calls, at| calls.counts(at, false),
    },
    DifferenceRule {
        what: "the topology differs",
        class: MPI_ERR_TOPOLOGY,
        says: |calls, at| calls.records[at].topology,
    },
];

/// What is wrong with a call, if anything; `number` is its number on the communicator.
pub(super) fn verdict(calls: &CallRecords, number: i32) -> Option<Box<Error>> {
    let (what, class, sides) = calls.refused().or_else(|| calls.names()).or_else(|| calls.disagreement())?;
    let told: Vec<String> = sides.iter().take(SIDES_SHOWN_MAX).map(|side| calls.told(side)).collect();
    let more = if sides.len() > SIDES_SHOWN_MAX { "; and others" } else { "" };
    let number = i64::from(number) + 1;
    Some(fail(class, format!("{what} (collective {number} of this communicator): {}{more}", told.join("; "))))
}

/// What is wrong, its class, and the places of the ranks that say the same.
type CallFinding = (&'static str, c_int, Vec<Vec<usize>>);

impl CallRecords<'_> {
    /// Ranks whose call was refused for its own arguments. The others cannot make it without them.
    fn refused(&self) -> Option<CallFinding> {
        let is_refused = |&at: &usize| matches!(self.records[at].state, CallState::Refused(_));
        let refused: Vec<usize> = (0..self.records.len()).filter(is_refused).collect();
        (!refused.is_empty()).then(|| ("a rank's arguments were refused", MPI_ERR_OTHER, vec![refused]))
    }

    fn names(&self) -> Option<CallFinding> {
        let sides = self.sides(|at, other| self.records[at].same_call(&self.records[other]));
        (sides.len() > 1).then_some(("the ranks make different calls", MPI_ERR_OTHER, sides))
    }

    fn disagreement(&self) -> Option<CallFinding> {
        RULES.iter().find_map(|rule| {
            let said = |at| (rule.says)(self, at);
            let sides = self.sides(|at, other| said(at) == said(other));
            let sides: Vec<_> = sides.into_iter().filter(|side| said(side[0]).is_some()).collect();
            match self.torn(rule) {
                Some(at) => Some((rule.what, rule.class, vec![vec![at]])),
                None => (sides.len() > 1).then_some((rule.what, rule.class, sides)),
            }
        })
    }

    /// A rank that sends what it would not receive. Of ranks that send and receive the same, one number is enough.
    fn torn(&self, rule: &DifferenceRule) -> Option<usize> {
        let differ = |at: usize| {
            let CallRecord { send: Some(send), recv: Some(recv), .. } = self.records[at] else {
                return false;
            };
            let other_type = send.signature != recv.signature && send.signature != 0 && recv.signature != 0;
            match rule.class {
                MPI_ERR_TRUNCATE => send.bytes != recv.bytes,
                MPI_ERR_TYPE => other_type,
                _ => false,
            }
        };
        (0..self.records.len()).find(|&at| self.is_intra() && differ(at))
    }

    /// Places in classes of those that are alike, in the order of their first.
    fn sides(&self, alike: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
        let mut sides: Vec<Vec<usize>> = Vec::new();
        for at in (0..self.records.len()).filter(|&at| self.records[at].state != CallState::Unknown) {
            match sides.iter_mut().find(|side| alike(side[0], at)) {
                Some(side) => side.push(at),
                None => sides.push(vec![at]),
            }
        }
        sides
    }

    fn is_intra(&self) -> bool {
        self.first == self.records.len()
    }

    /// Bytes that move in a direction: on an intercommunicator 0 is from the first group to the second.
    fn bytes(&self, at: usize, direction: usize) -> Option<u64> {
        self.amount(at, direction).map(|amount| amount.bytes)
    }

    fn signature(&self, at: usize, direction: usize) -> Option<u64> {
        self.amount(at, direction).map(|amount| amount.signature).filter(|&signature| signature != 0)
    }

    fn amount(&self, at: usize, direction: usize) -> Option<super::record::Amount> {
        let record = &self.records[at];
        match (self.is_intra(), (at < self.first) == (direction == 0)) {
            (true, true) => record.send.or(record.recv),
            (true, false) => None,
            (false, true) => record.send,
            (false, false) => record.recv,
        }
    }

    fn counts(&self, at: usize, first: bool) -> Option<u64> {
        self.records[at].counts.filter(|_| (at < self.first) == first)
    }

    /// The place of the root, as far as somebody names it.
    fn named_root(&self) -> Option<usize> {
        (0..self.records.len()).find_map(|at| match self.records[at].root? {
            Root::Rank(rank) if self.is_intra() || at >= self.first => Some(rank as usize),
            Root::Rank(rank) => Some(self.first + rank as usize),
            Root::Here => Some(at),
            Root::Elsewhere => None,
        })
    }

    /// `ranks 0-2 call …`, as seen by this process.
    fn told(&self, side: &[usize]) -> String {
        let (own, remote): (Vec<usize>, Vec<usize>) = side.iter().partition(|&&at| self.is_own(at));
        let mut who = Vec::new();
        who.extend((!own.is_empty()).then(|| ranks(&own, self.own)));
        let others = if self.own == 0 { self.first } else { 0 };
        who.extend((!remote.is_empty()).then(|| format!("{} of the remote group", ranks(&remote, others))));
        let verb = if side.len() == 1 { "calls" } else { "call" };
        format!("{} {verb} {}", who.join(" and "), self.records[side[0]])
    }

    fn is_own(&self, at: usize) -> bool {
        (at < self.first) == (self.own == 0)
    }
}

/// Which place a rank takes for the root. On an intercommunicator the group of the root names it by `MPI_ROOT` and
/// `MPI_PROC_NULL`, the other group by its rank (section 6.2.3).
fn root(calls: &CallRecords, at: usize) -> Option<u64> {
    let base = if calls.is_intra() || at >= calls.first { 0 } else { calls.first };
    match calls.records[at].root? {
        Root::Rank(rank) => Some((base + rank as usize) as u64),
        Root::Here => Some(at as u64),
        Root::Elsewhere => match calls.named_root() {
            Some(root) if root != at && (root < calls.first) == (at < calls.first) => Some(root as u64),
            _ => Some(u64::MAX),
        },
    }
}

fn operation(calls: &CallRecords, at: usize) -> Option<u64> {
    calls.records[at].operation.map(|code| code.word())
}

/// `rank 3`, `ranks 0-2 and 5`: places without what lies before their group.
fn ranks(places: &[usize], base: usize) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for rank in places.iter().map(|at| at - base) {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => runs.push((rank, rank)),
        }
    }
    let run = |&(first, last): &(usize, usize)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}-{last}"),
    };
    let words: Vec<String> = runs.iter().map(run).collect();
    format!("{} {}", if places.len() == 1 { "rank" } else { "ranks" }, words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_coll::{CollectiveCall, CommView, TypeLayout, TypedCount};

    fn bcast(rank: u32, bytes: u64, root: u32) -> CallRecord {
        let data = TypedCount::new(bytes, TypeLayout { size: 1, extent: 1, contiguous: true });
        let mut record = CallRecord::named("MPI_Bcast");
        let meaning = crate::check::record::Meaning { send: None, recv: None, operation: None };
        record.fill(
            &CommView::intra(rank, 4),
            &CollectiveCall::Bcast { data, root: Root::Rank(root) },
            meaning,
        );
        record
    }

    fn said(records: &[CallRecord]) -> Option<String> {
        let calls = CallRecords { records, first: records.len(), own: 0 };
        verdict(&calls, 0).map(|error| error.text().to_owned())
    }

    /// Two groups: what their ranks name as root.
    fn inter(first: &[Root], second: &[Root]) -> Option<String> {
        let with = |&root: &Root| {
            let mut record = CallRecord::named("MPI_Bcast");
            record.root = Some(root);
            record
        };
        let records: Vec<CallRecord> = first.iter().chain(second).map(with).collect();
        let calls = CallRecords { records: &records, first: first.len(), own: 0 };
        verdict(&calls, 0).map(|error| error.text().to_owned())
    }

    #[test]
    fn what_fits_is_fine() {
        assert_eq!(said(&[0, 1, 2, 3].map(|rank| bcast(rank, 8, 1))), None);
        let (here, elsewhere) = (Root::Here, Root::Elsewhere);
        assert_eq!(inter(&[elsewhere, here], &[Root::Rank(1), Root::Rank(1)]), None);
        assert_eq!(inter(&[Root::Rank(0)], &[here, elsewhere]), None);
        assert_eq!(inter(&[elsewhere], &[elsewhere]), None);
    }

    #[test]
    fn both_sides_are_named_with_their_ranks() {
        let mut records = [0, 1, 2, 3].map(|rank| bcast(rank, 8, 0));
        records[2] = bcast(2, 8, 3);
        assert_eq!(
            said(&records).unwrap(),
            "the root differs (collective 1 of this communicator): \
             ranks 0, 1, 3 call MPI_Bcast(sends 8 bytes, root 0); \
             rank 2 calls MPI_Bcast(receives 8 bytes, root 3)"
        );
        records[2] = CallRecord::named("MPI_Barrier");
        assert!(said(&records).unwrap().contains("rank 2 calls MPI_Barrier()"));
        records[2] = bcast(2, 12, 0);
        assert!(said(&records).unwrap().starts_with("the length differs"));
    }

    #[test]
    fn topologies_are_shown_as_each_side_has_them() {
        let grid = |dims: u64| {
            let mut record = CallRecord::named("MPI_Cart_create");
            record.names_topology([dims].into_iter(), &format!("dims [{dims}]"));
            record
        };
        assert_eq!(said(&[4, 4, 4].map(grid)), None);
        let text = said(&[4, 4, 3].map(grid)).unwrap();
        assert!(text.starts_with("the topology differs"), "{text}");
        assert!(
            text.ends_with(
                "ranks 0, 1 call MPI_Cart_create(dims [4]); rank 2 calls MPI_Cart_create(dims [3])"
            )
        );
    }

    #[test]
    fn a_refused_call_is_told_to_the_others() {
        let mut records = [0, 1, 2, 3].map(|rank| bcast(rank, 8, 0));
        records[1].state = CallState::Refused(MPI_ERR_COUNT);
        records[2] = CallRecord::default();
        let text = said(&records).unwrap();
        assert!(text.contains("rank 1 calls") && text.ends_with("with MPI_ERR_COUNT"), "{text}");
    }

    #[test]
    fn the_two_groups_must_mean_the_same_root() {
        let (here, elsewhere) = (Root::Here, Root::Elsewhere);
        assert!(inter(&[here, here], &[Root::Rank(0)]).is_some());
        assert!(inter(&[here, elsewhere], &[Root::Rank(1)]).is_some());
        assert!(inter(&[elsewhere, elsewhere], &[Root::Rank(1)]).is_some());
        assert!(inter(&[here], &[elsewhere]).is_some());
        assert!(inter(&[Root::Rank(0)], &[Root::Rank(0)]).is_some());
        let text = inter(&[here, elsewhere], &[Root::Rank(1)]).unwrap();
        assert!(text.contains("rank 0 of the remote group calls MPI_Bcast(root 1)"), "{text}");
    }

    #[test]
    fn runs_of_ranks_are_short() {
        assert_eq!(ranks(&[4, 5, 6, 8, 10, 11], 4), "ranks 0-2, 4, 6, 7");
        assert_eq!(ranks(&[9], 0), "rank 9");
    }
}
