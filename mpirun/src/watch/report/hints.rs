//! What the places of several ranks say together: that they have called different collectives, or the same one
//! differently.

use std::collections::BTreeMap;

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
    comms.values().filter_map(|members| hint(members)).collect()
}

fn hint(members: &[(u32, &ReportedCollective)]) -> Option<String> {
    let (what, sides) = difference(members)?;
    let mut shown: Vec<String> =
        sides.iter().take(SIDES_MAX).map(|(side, ranks)| format!("{} {side}", said(ranks))).collect();
    let left: usize = sides.iter().skip(SIDES_MAX).map(|(_, ranks)| ranks.len()).sum();
    shown.extend((left > 0).then(|| format!("and {left} more")));
    let (comm, shown) = (&members[0].1.comm, shown.join(", "));
    Some(format!(
        "{what} on {comm}: {shown}; with TERN_CHECK=collectives such calls are an error that says what differs"
    ))
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

    #[test]
    fn of_many_sides_some_are_told() {
        let calls: Vec<_> = (0..100).map(|root| (4, "MPI_Bcast", root, None)).collect();
        let said = told(&calls).join("\n");
        assert!(said.contains("rank 3 is at root 3, and 96 more; ") && !said.contains("rank 4 "), "{said}");
    }
}
