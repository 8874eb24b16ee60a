//! Groups (MPI 5.0 section 7.3). The set operations themselves are `tern_engine::Group`'s.

use crate::core::boundary::{Array, Out, OutArray};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::given;
use crate::core::process::{self, Process, enter};
use std::collections::HashSet;
use std::ffi::c_int;
use tern_abi::*;
use tern_engine::Group;
use tern_engine::group::Comparison;

impl Process {
    /// The group of a handle; cheap to clone.
    pub(crate) fn group(&self, group: MPI_Group) -> Result<Group> {
        if self.engine_ref().is_none() {
            return Err(process::outside());
        }
        if group == MPI_GROUP_EMPTY {
            return Ok(Group::EMPTY);
        }
        self.objects.groups.get(group.0).cloned().ok_or_else(|| no_group(group))
    }

    /// Takes a group in, for a call that returns one. One without members is always `MPI_GROUP_EMPTY`.
    pub(crate) fn new_group(&mut self, group: Group) -> Result<MPI_Group> {
        if group.size() == 0 {
            return Ok(MPI_GROUP_EMPTY);
        }
        let handle = self.objects.groups.insert(group);
        handle.map(MPI_Group).ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 groups exist: free some"))
    }
}

#[cold]
fn no_group(group: MPI_Group) -> Box<Error> {
    if group == MPI_GROUP_NULL {
        return fail(MPI_ERR_GROUP, "the group is MPI_GROUP_NULL");
    }
    fail(MPI_ERR_GROUP, format!("{:#x} is no group: it was freed or never was one", given::handle(group.0)))
}

entry! {
    /// The number of processes in a group.
    safe fn MPI_Group_size(group: MPI_Group, size: Out<'_, c_int>) {
        size.set(enter().group(group)?.size() as c_int);
        Ok(())
    }

    /// This process's rank in a group, or `MPI_UNDEFINED`.
    safe fn MPI_Group_rank(group: MPI_Group, rank: Out<'_, c_int>) {
        let process = enter();
        let me = process.own_peer();
        rank.set(rank_or_undefined(process.group(group)?.rank_of(me)));
        Ok(())
    }

    /// The ranks that members of one group have in another.
    safe fn MPI_Group_translate_ranks(group1: MPI_Group, n: c_int, ranks1: Array<'_, c_int>, group2: MPI_Group, ranks2: OutArray<'_, c_int>) {
        let (from, to) = two(group1, group2)?;
        let ranks = ranks1.of(length(n)?)?;
        if let Some(&bad) = ranks.iter().find(|&&rank| rank != MPI_PROC_NULL && valid(rank, &from).is_none()) {
            return Err(bad_rank("ranks1", bad, &from));
        }
        let translated = from.translate(ranks.iter().map(|&rank| rank as u32), &to);
        let there = |(&rank, there)| if rank == MPI_PROC_NULL { rank } else { rank_or_undefined(there) };
        ranks2.store(ranks.iter().zip(translated).map(there))
    }

    /// Compares two groups: `MPI_IDENT`, `MPI_SIMILAR` or `MPI_UNEQUAL`.
    safe fn MPI_Group_compare(group1: MPI_Group, group2: MPI_Group, result: Out<'_, c_int>) {
        let (one, two) = two(group1, group2)?;
        result.set(match one.compare(&two) {
            Comparison::Ident => MPI_IDENT,
            Comparison::Similar => MPI_SIMILAR,
            Comparison::Unequal => MPI_UNEQUAL,
        });
        Ok(())
    }

    /// Members of the first, then those of the second that are new.
    safe fn MPI_Group_union(group1: MPI_Group, group2: MPI_Group, newgroup: Out<'_, MPI_Group>) {
        let (one, two) = two(group1, group2)?;
        make(newgroup, group1, one.union(&two))
    }

    /// Members of the first that are in the second.
    safe fn MPI_Group_intersection(group1: MPI_Group, group2: MPI_Group, newgroup: Out<'_, MPI_Group>) {
        let (one, two) = two(group1, group2)?;
        make(newgroup, group1, one.intersection(&two))
    }

    /// Members of the first that are not in the second.
    safe fn MPI_Group_difference(group1: MPI_Group, group2: MPI_Group, newgroup: Out<'_, MPI_Group>) {
        let (one, two) = two(group1, group2)?;
        make(newgroup, group1, one.difference(&two))
    }

    /// A group of the members of these ranks, in this order.
    safe fn MPI_Group_incl(group: MPI_Group, n: c_int, ranks: Array<'_, c_int>, newgroup: Out<'_, MPI_Group>) {
        let whole = enter().group(group)?;
        let ranks = distinct(ranks.of(length(n)?)?.iter().copied(), &whole)?;
        make(newgroup, group, whole.include(ranks))
    }

    /// A group of all members but those of these ranks.
    safe fn MPI_Group_excl(group: MPI_Group, n: c_int, ranks: Array<'_, c_int>, newgroup: Out<'_, MPI_Group>) {
        let whole = enter().group(group)?;
        let ranks = distinct(ranks.of(length(n)?)?.iter().copied(), &whole)?;
        make(newgroup, group, whole.exclude(ranks))
    }

    /// A group of the members of these ranges of ranks, in this order.
    safe fn MPI_Group_range_incl(group: MPI_Group, n: c_int, ranges: Array<'_, [c_int; 3]>, newgroup: Out<'_, MPI_Group>) {
        let whole = enter().group(group)?;
        let ranks = distinct(in_ranges(ranges.of(length(n)?)?)?, &whole)?;
        make(newgroup, group, whole.include(ranks))
    }

    /// A group of all members but those of these ranges of ranks.
    safe fn MPI_Group_range_excl(group: MPI_Group, n: c_int, ranges: Array<'_, [c_int; 3]>, newgroup: Out<'_, MPI_Group>) {
        let whole = enter().group(group)?;
        let ranks = distinct(in_ranges(ranges.of(length(n)?)?)?, &whole)?;
        make(newgroup, group, whole.exclude(ranks))
    }

    /// Frees a group. `MPI_GROUP_EMPTY` may be freed: calls return it like any other.
    safe fn MPI_Group_free(group: &mut MPI_Group) {
        let mut process = enter();
        process.group(*group)?;
        process.objects.groups.remove(group.0);
        process.objects.sessions.forget(group.0);
        *group = MPI_GROUP_NULL;
        Ok(())
    }
}

fn two(group1: MPI_Group, group2: MPI_Group) -> Result<(Group, Group)> {
    let process = enter();
    Ok((process.group(group1)?, process.group(group2)?))
}

fn make(newgroup: Out<'_, MPI_Group>, origin: MPI_Group, group: Group) -> Result {
    let mut process = enter();
    let handle = process.new_group(group)?;
    process.objects.sessions.inherit(origin.0, handle.0);
    newgroup.set(handle);
    Ok(())
}

fn length(n: c_int) -> Result<usize> {
    usize::try_from(n).map_err(|_| fail(MPI_ERR_ARG, format!("n is {n}, but must not be negative")))
}

/// A rank argument that must be one of a group's.
pub(crate) fn rank_of(name: &str, rank: c_int, group: &Group) -> Result<u32> {
    valid(rank, group).ok_or_else(|| bad_rank(name, rank, group))
}

/// A rank, as the standard returns it.
fn rank_or_undefined(rank: Option<u32>) -> c_int {
    rank.map_or(MPI_UNDEFINED, |rank| rank as c_int)
}

fn valid(rank: c_int, group: &Group) -> Option<u32> {
    u32::try_from(rank).ok().filter(|&rank| rank < group.size())
}

/// Ranks of a group, each of which may occur only once. Stops at the first that is wrong.
fn distinct(ranks: impl IntoIterator<Item = c_int>, group: &Group) -> Result<Vec<u32>> {
    let mut seen = HashSet::new();
    let check = |rank: c_int| {
        let valid = rank_of("ranks", rank, group)?;
        if seen.insert(valid) {
            return Ok(valid);
        }
        Err(fail(MPI_ERR_RANK, format!("rank {rank} occurs twice")))
    };
    ranks.into_iter().map(check).collect()
}

/// The ranks in triplets of first, last and stride (section 7.3.2).
fn in_ranges(ranges: &[[c_int; 3]]) -> Result<impl Iterator<Item = c_int> + '_> {
    if let Some([first, last, stride]) = ranges
        .iter()
        .find(|[first, last, stride]| *stride == 0 || (last < first) != (*stride < 0) && first != last)
    {
        let text = format!("the range from {first} to {last} has stride {stride}, which does not lead there");
        return Err(fail(MPI_ERR_ARG, text));
    }
    Ok(ranges.iter().flat_map(|&[first, last, stride]| {
        let steps = (i64::from(last) - i64::from(first)) / i64::from(stride);
        (0..=steps).map(move |step| (i64::from(first) + step * i64::from(stride)) as c_int)
    }))
}

#[cold]
fn bad_rank(name: &str, rank: c_int, group: &Group) -> Box<Error> {
    let text = match group.size().checked_sub(1) {
        Some(last) => format!("{name}: {rank}, but the group has ranks 0 to {last}"),
        None => format!("{name}: {rank}, but the group is empty"),
    };
    fail(MPI_ERR_RANK, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(ranges: &[[c_int; 3]]) -> Option<Vec<c_int>> {
        in_ranges(ranges).ok().map(Iterator::collect)
    }

    #[test]
    fn ranges_end_at_or_before_their_last() {
        assert_eq!(ranks(&[[0, 5, 2], [9, 7, -1]]), Some(vec![0, 2, 4, 9, 8, 7]));
        assert_eq!(ranks(&[[3, 3, 7], [4, 4, -1]]), Some(vec![3, 4]));
        assert_eq!(ranks(&[[0, 5, 0]]), None);
        assert_eq!(ranks(&[[0, 5, -1]]), None);
    }

    #[test]
    fn ranks_are_valid_and_occur_once() {
        let group = Group::range(0, 4);
        assert_eq!(distinct([3, 0], &group).ok(), Some(vec![3, 0]));
        for wrong in [[3, 3], [0, 4], [-1, 0]] {
            assert_eq!(distinct(wrong, &group).unwrap_err().class(), MPI_ERR_RANK);
        }
        // A range to 2^31 is refused at its first wrong rank, not counted to its end.
        assert!(distinct(in_ranges(&[[0, c_int::MAX, 1]]).unwrap(), &group).is_err());
    }
}
