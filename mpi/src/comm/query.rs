//! What a communicator is: rank, size, groups, names, hints, comparison (MPI 5.0 sections 7.4.1, 7.4.4, 7.6.1, 7.8).

use crate::comm::object::Comm;
use crate::core::boundary::{Out, OutText};
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::enter;
use crate::env::hints::Info;
use crate::env::memory_kinds;
use std::borrow::Cow;
use std::ffi::c_int;
use tern_abi::*;
use tern_engine::Group;
use tern_engine::group::Comparison;

entry! {
    /// The number of processes in the (local) group of a communicator.
    safe fn MPI_Comm_size(comm: MPI_Comm, size: Out<'_, c_int>) on comm {
        size.set(enter().comm(comm)?.group.size() as c_int);
        Ok(())
    }

    /// This process's rank in the (local) group.
    safe fn MPI_Comm_rank(comm: MPI_Comm, rank: Out<'_, c_int>) on comm {
        rank.set(enter().comm(comm)?.rank as c_int);
        Ok(())
    }

    /// The (local) group of a communicator.
    safe fn MPI_Comm_group(comm: MPI_Comm, group: Out<'_, MPI_Group>) on comm {
        let mut process = enter();
        let local = process.comm(comm)?.group.clone();
        let made = process.new_group(local)?;
        process.objects.sessions.inherit(comm.0, made.0);
        group.set(made);
        Ok(())
    }

    /// Whether a communicator is an intercommunicator.
    safe fn MPI_Comm_test_inter(comm: MPI_Comm, flag: Out<'_, c_int>) on comm {
        flag.set(c_int::from(enter().comm(comm)?.remote.is_some()));
        Ok(())
    }

    /// The size of an intercommunicator's remote group.
    safe fn MPI_Comm_remote_size(comm: MPI_Comm, size: Out<'_, c_int>) on comm {
        size.set(remote(enter().comm(comm)?)?.size() as c_int);
        Ok(())
    }

    /// The remote group of an intercommunicator.
    safe fn MPI_Comm_remote_group(comm: MPI_Comm, group: Out<'_, MPI_Group>) on comm {
        let mut process = enter();
        let remote = remote(process.comm(comm)?)?.clone();
        let made = process.new_group(remote)?;
        process.objects.sessions.inherit(comm.0, made.0);
        group.set(made);
        Ok(())
    }

    /// Compares two communicators: `MPI_IDENT`, `MPI_CONGRUENT`, `MPI_SIMILAR` or `MPI_UNEQUAL`.
    safe fn MPI_Comm_compare(comm1: MPI_Comm, comm2: MPI_Comm, result: Out<'_, c_int>) on comm1 {
        let process = enter();
        let (one, two) = (process.comm(comm1)?, process.comm(comm2)?);
        result.set(if comm1 == comm2 { MPI_IDENT } else { compare(one, two) });
        Ok(())
    }

    /// Names a communicator.
    safe fn MPI_Comm_set_name(comm: MPI_Comm, comm_name: Cow<'_, str>) on comm {
        enter().comm_mut(comm)?.name = comm_name.into_owned();
        Ok(())
    }

    /// The name of a communicator; the null handle has one too (section 7.8).
    safe fn MPI_Comm_get_name(comm: MPI_Comm, comm_name: OutText<'_>, resultlen: Out<'_, c_int>) on comm {
        let process = enter();
        let name = if comm == MPI_COMM_NULL { "MPI_COMM_NULL" } else { &process.comm(comm)?.name };
        resultlen.set(comm_name.store(name, MPI_MAX_OBJECT_NAME as usize));
        Ok(())
    }

    /// Gives hints; those that are not known are ignored (section 7.4.4).
    safe fn MPI_Comm_set_info(comm: MPI_Comm, info: MPI_Info) on comm {
        let mut process = enter();
        process.comm(comm)?;
        let hints = process.hints(info)?.only(&KNOWN_HINTS);
        let known = &mut process.comm_mut(comm)?.info;
        hints.entries.iter().for_each(|(key, value)| known.set(key, value));
        Ok(())
    }

    /// The hints that a communicator uses, as a new object.
    safe fn MPI_Comm_get_info(comm: MPI_Comm, info_used: Out<'_, MPI_Info>) on comm {
        let mut process = enter();
        let given = process.comm(comm)?.info.only(&KNOWN_HINTS);
        let mut used = with_defaults(&given);
        used.set(memory_kinds::KEY, &process.memory_kinds(comm));
        info_used.set(process.new_info(used)?);
        Ok(())
    }
}

/// The assertions of section 7.4.4. Tern is correct and no slower without them, so it only remembers them.
const KNOWN_HINTS: [&str; 5] = [
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
];

/// All hints that are known, as section 7.4.4 asks: those not given with their default.
fn with_defaults(given: &Info) -> Info {
    let value = |key: &str| given.get(key).unwrap_or("false").to_owned();
    Info { entries: KNOWN_HINTS.iter().map(|&key| (key.to_owned(), value(key))).collect() }
}

fn remote(comm: &Comm) -> Result<&Group> {
    let intra = || fail(MPI_ERR_COMM, "this is an intracommunicator, which has no remote group");
    comm.remote.as_ref().ok_or_else(intra)
}

/// Compares two communicators that are not the same: by both groups, if they have two (section 7.4.1).
fn compare(one: &Comm, two: &Comm) -> c_int {
    let local = one.group.compare(&two.group);
    let worst = match (&one.remote, &two.remote) {
        (None, None) => local,
        (Some(one), Some(two)) => match (local, one.compare(two)) {
            (Comparison::Ident, remote) => remote,
            (Comparison::Similar, Comparison::Ident) => Comparison::Similar,
            (Comparison::Similar, remote) => remote,
            (Comparison::Unequal, _) => Comparison::Unequal,
        },
        _ => Comparison::Unequal,
    };
    match worst {
        Comparison::Ident => MPI_CONGRUENT,
        Comparison::Similar => MPI_SIMILAR,
        Comparison::Unequal => MPI_UNEQUAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comm(local: &[u32], remote: Option<&[u32]>) -> Comm {
        Comm::new(0, 0, Group::of(local.to_vec()), remote.map(|remote| Group::of(remote.to_vec())))
    }

    #[test]
    fn both_groups_of_an_intercommunicator_count() {
        let inter = comm(&[0, 1], Some(&[2, 3]));
        assert_eq!(compare(&inter, &comm(&[0, 1], Some(&[2, 3]))), MPI_CONGRUENT);
        assert_eq!(compare(&inter, &comm(&[1, 0], Some(&[2, 3]))), MPI_SIMILAR);
        assert_eq!(compare(&inter, &comm(&[0, 1], Some(&[3, 2]))), MPI_SIMILAR);
        assert_eq!(compare(&inter, &comm(&[1, 0], Some(&[2, 4]))), MPI_UNEQUAL);
        assert_eq!(compare(&inter, &comm(&[0, 1], None)), MPI_UNEQUAL);
    }

    #[test]
    fn hints_have_defaults() {
        let mut given = Info::default();
        given.set("mpi_assert_exact_length", "true");
        let all = with_defaults(&given);
        assert_eq!(all.get("mpi_assert_exact_length"), Some("true"));
        assert_eq!(all.get("mpi_assert_no_any_tag"), Some("false"));
    }
}
