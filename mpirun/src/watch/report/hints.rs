//! What the places of several ranks say together: that they have called different collectives, or the same one
//! differently, or that some have not come.

use std::collections::{BTreeMap, BTreeSet};

use super::{ReportedCollective, Standing, named};

/// Sides that are told: each may be of one rank.
const SIDES_MAX: usize = 4;

/// Ranks in collectives of one communicator.
type CollectiveRanks<'a> = Vec<(u32, &'a ReportedCollective)>;

/// A line or two for each communicator whose ranks are in collectives that do not fit.
pub(crate) fn hints(ranks: &[(u32, Standing)]) -> Vec<String> {
    let mut comms: BTreeMap<u64, CollectiveRanks<'_>> = BTreeMap::new();
    for (rank, standing) in ranks {
        if let Some(collective) = &standing.collective {
            comms.entry(collective.context).or_default().push((*rank, collective));
        }
    }
    let all: Vec<u32> = ranks.iter().map(|(rank, _)| *rank).collect();
    comms.values().filter_map(|members| hint(members, &all)).chain(namesakes(&comms, all.len())).collect()
}

fn hint(members: &[(u32, &ReportedCollective)], all: &[u32]) -> Option<String> {
    let mut calls: BTreeMap<Option<u32>, CollectiveRanks<'_>> = BTreeMap::new();
    for &(rank, call) in members {
        calls.entry(call.number).or_default().push((rank, call));
    }
    let comm = &members[0].1.comm;
    let known = || calls.iter().filter(|(number, _)| number.is_some());
    if let Some((what, sides)) = known().find_map(|(_, ranks)| difference(ranks)) {
        return Some(format!(
            "{what} on {comm}: {}; with TERN_CHECK=collectives such calls are an error that says what differs",
            shown(&sides)
        ));
    }
    if calls.contains_key(&None) {
        let sides = sides(members, |call| Some(format!("in {}", call.name)));
        return (sides.len() > 1).then(|| {
            format!(
                "on {comm} {}; unless some have run ahead, these differ, and with TERN_CHECK=collectives that is an error",
                shown(&sides)
            )
        });
    }
    (calls.len() > 1).then(|| format!("on {comm} {}{}", in_turn(&calls), missing(members, all)))
}

/// Ranks that are in one call after the other.
fn in_turn(calls: &BTreeMap<Option<u32>, CollectiveRanks<'_>>) -> String {
    let first = calls.keys().next().copied().flatten().unwrap_or(0);
    let side = |(number, ranks): (&Option<u32>, &CollectiveRanks<'_>)| {
        let name = &ranks[0].1.name;
        let side = match number.unwrap_or(first) - first {
            0 => format!("in {name}"),
            1 => format!("in the next call, {name}"),
            ahead => format!("{ahead} calls ahead, in {name}"),
        };
        (side, ranks.iter().map(|(rank, _)| *rank).collect())
    };
    shown(&calls.iter().map(side).collect())
}

/// Who is in none of the calls, where all ranks are members of the communicator.
fn missing(members: &[(u32, &ReportedCollective)], all: &[u32]) -> String {
    let is_of_all = members[0].1.size as usize == all.len();
    let here: BTreeSet<u32> = members.iter().map(|(rank, _)| *rank).collect();
    let missing: Vec<u32> = all.iter().copied().filter(|rank| is_of_all && !here.contains(rank)).collect();
    if missing.is_empty() { String::new() } else { format!("; {} in none", said(&missing)) }
}

/// A line for communicators that a report calls the same, and that have ranks in common: more than there are.
fn namesakes(comms: &BTreeMap<u64, CollectiveRanks<'_>>, ranks: usize) -> Vec<String> {
    let mut names: BTreeMap<(&str, u32), Vec<&CollectiveRanks<'_>>> = BTreeMap::new();
    for members in comms.values() {
        names.entry((&members[0].1.comm, members[0].1.size)).or_default().push(members);
    }
    let overlap = |(_, size): &(&str, u32), count: usize| count > 1 && *size as usize * count > ranks;
    let line = |(name, size): (&str, u32), comms: &[&CollectiveRanks<'_>]| {
        let side = |at, members: &CollectiveRanks<'_>| {
            let side = if at == 0 { "on one".to_owned() } else { "on another".to_owned() };
            (side, members.iter().map(|(rank, _)| *rank).collect())
        };
        let sides = comms.iter().enumerate().map(|(at, members)| side(at, members)).collect();
        format!("{name} of {size} ranks is not the same for all: {}", shown(&sides))
    };
    let several = names.into_iter().filter(|(name, comms)| overlap(name, comms.len()));
    several.map(|(name, comms)| line(name, &comms)).collect()
}

/// The sides, as many as are told.
fn shown(sides: &Sides) -> String {
    let mut shown: Vec<String> =
        sides.iter().take(SIDES_MAX).map(|(side, ranks)| format!("{} {side}", said(ranks))).collect();
    let left: usize = sides.iter().skip(SIDES_MAX).map(|(_, ranks)| ranks.len()).sum();
    shown.extend((left > 0).then(|| format!("and {left} more")));
    shown.join(", ")
}

fn said(ranks: &[u32]) -> String {
    format!("{} {}", named(ranks), if ranks.len() == 1 { "is" } else { "are" })
}

/// Who stands on which side.
type Sides = Vec<(String, Vec<u32>)>;

/// The first thing in which the calls differ.
fn difference(members: &[(u32, &ReportedCollective)]) -> Option<(&'static str, Sides)> {
    let by = |what, tell: fn(&ReportedCollective) -> Option<String>| {
        let sides = sides(members, tell);
        (sides.len() > 1).then_some((what, sides))
    };
    by("the collectives differ", |call| Some(format!("in {}", call.name)))
        .or_else(|| by("the roots differ", |call| rooted(call).then(|| format!("at root {}", call.root))))
        .or_else(|| by("the lengths differ", |call| Some(format!("at {} bytes", call.bytes?))))
}

fn rooted(call: &ReportedCollective) -> bool {
    call.root >= 0
}

fn sides(members: &[(u32, &ReportedCollective)], tell: fn(&ReportedCollective) -> Option<String>) -> Sides {
    let mut sides = Sides::new();
    for (rank, call) in members {
        let Some(side) = tell(call) else { continue };
        match sides.iter_mut().find(|(other, _)| *other == side) {
            Some((_, ranks)) => ranks.push(*rank),
            None => sides.push((side, vec![*rank])),
        }
    }
    sides
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::report::Time;
    use tern_job::status_page::NO_ROOT;

    fn told(calls: &[(u64, &str, i32, Option<u64>)]) -> Vec<String> {
        let standing = |&(context, name, root, bytes): &(u64, &str, i32, Option<u64>)| Standing {
            collective: Some(ReportedCollective {
                name: name.into(),
                number: Some(5),
                size: 4,
                context,
                comm: format!("comm {context}"),
                root,
                bytes,
            }),
            ..Standing::at(String::new(), Time::None)
        };
        hints(&(0..).zip(calls.iter().map(standing)).collect::<Vec<_>>())
    }

    #[test]
    fn calls_that_fit_need_no_hint() {
        let (bcast, barrier) = ((4, "MPI_Bcast", 1, Some(8)), (8, "MPI_Barrier", NO_ROOT, None));
        assert_eq!(told(&[bcast, bcast, barrier, barrier]), [] as [String; 0]);
    }

    #[test]
    fn what_differs_is_said_with_who() {
        let said = told(&[
            (4, "MPI_Barrier", NO_ROOT, None),
            (4, "MPI_Bcast", 1, Some(8)),
            (4, "MPI_Bcast", 1, Some(8)),
        ]);
        let rest = "with TERN_CHECK=collectives such calls are an error that says what differs";
        assert_eq!(
            said,
            [format!(
                "the collectives differ on comm 4: rank 0 is in MPI_Barrier, ranks 1-2 are in MPI_Bcast; {rest}"
            )]
        );
        let said = told(&[(4, "MPI_Bcast", 1, Some(8)), (4, "MPI_Bcast", 0, Some(4))]);
        assert_eq!(
            said,
            [format!("the roots differ on comm 4: rank 0 is at root 1, rank 1 is at root 0; {rest}")]
        );
        let said =
            told(&[(4, "MPI_Bcast", 1, Some(8)), (4, "MPI_Bcast", 1, Some(4)), (4, "MPI_Bcast", 1, None)]);
        assert_eq!(
            said,
            [format!("the lengths differ on comm 4: rank 0 is at 8 bytes, rank 1 is at 4 bytes; {rest}")]
        );
    }

    /// Ranks of one communicator in calls with these numbers, with one more rank that is in none.
    fn told_of(calls: &[(Option<u32>, &str)]) -> Vec<String> {
        let standing = |&(number, name): &(Option<u32>, &str)| Standing {
            collective: Some(ReportedCollective {
                name: name.into(),
                number,
                context: 4,
                comm: "comm".into(),
                size: calls.len() as u32 + 1,
                root: NO_ROOT,
                bytes: None,
            }),
            ..Standing::at(String::new(), Time::None)
        };
        let last = Standing::at(String::new(), Time::None);
        hints(&(0..).zip(calls.iter().map(standing).chain([last])).collect::<Vec<_>>())
    }

    #[test]
    fn who_has_run_ahead_does_not_differ() {
        let (gather, bcast) = ((Some(7), "MPI_Gather"), (Some(8), "MPI_Bcast"));
        assert_eq!(
            told_of(&[gather, bcast, bcast]),
            ["on comm rank 0 is in MPI_Gather, ranks 1-2 are in the next call, MPI_Bcast; rank 3 is in none"]
        );
        assert_eq!(
            told_of(&[bcast, (Some(11), "MPI_Bcast")]),
            ["on comm rank 0 is in MPI_Bcast, rank 1 is 3 calls ahead, in MPI_Bcast; rank 2 is in none"]
        );
    }

    #[test]
    fn of_calls_without_a_number_nothing_is_certain() {
        let said = told_of(&[(None, "MPI_Comm_dup"), (Some(1), "MPI_Barrier")]).join("\n");
        assert!(
            said.starts_with("on comm rank 0 is in MPI_Comm_dup, rank 1 is in MPI_Barrier; unless"),
            "{said}"
        );
        assert_eq!(told_of(&[(None, "MPI_Comm_dup"), (None, "MPI_Comm_dup")]), [] as [String; 0]);
    }

    #[test]
    fn communicators_of_the_same_name_are_told_apart() {
        let standing = |context, size| Standing {
            collective: Some(ReportedCollective {
                name: "MPI_Barrier".into(),
                number: Some(0),
                context,
                comm: "a communicator".into(),
                size,
                root: NO_ROOT,
                bytes: None,
            }),
            ..Standing::at(String::new(), Time::None)
        };
        let told = |contexts: [u64; 3], size| {
            hints(&(0..).zip(contexts.map(|context| standing(context, size))).collect::<Vec<_>>())
        };
        let said =
            "a communicator of 3 ranks is not the same for all: rank 0 is on one, ranks 1-2 are on another";
        assert_eq!(told([4, 8, 8], 3), [said]);
        assert_eq!(told([4, 4, 4], 3), [] as [String; 0]);
        assert_eq!(told([4, 8, 12], 1), [] as [String; 0]);
    }

    #[test]
    fn of_many_sides_some_are_told() {
        let calls: Vec<_> = (0..100).map(|root| (4, "MPI_Bcast", root, None)).collect();
        let said = told(&calls).join("\n");
        assert!(said.contains("rank 3 is at root 3, and 96 more; ") && !said.contains("rank 4 "), "{said}");
    }
}
