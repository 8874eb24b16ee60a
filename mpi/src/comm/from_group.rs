//! Communicators from groups alone (MPI 5.0 sections 7.4.2 and 7.6.2): nobody has a communicator in common yet, so the
//! agreement's messages are told apart by the program's string.

use crate::comm::agree::{Circle, number, record};
use crate::comm::group::rank_of;
use crate::comm::intercomm::{Bridge, join_over};
use crate::comm::make::in_block;
use crate::comm::object::{Comm, Lane};
use crate::core::arguments::{out_comm, string};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::process::{Process, enter};
use crate::env::info::Info;
use crate::limits::AGREEMENT_TAG;
use std::ffi::{c_char, c_int};
use std::hash::{DefaultHasher, Hash, Hasher};
use tern_abi::*;
use tern_engine::Group;

entry! {
    /// A communicator of a group, all of whose members call with the same string.
    fn MPI_Comm_create_from_group(group: MPI_Group, stringtag: *const c_char, info: MPI_Info, errhandler: MPI_Errhandler, newcomm: *mut MPI_Comm) {
        let made = || {
            let newcomm = out_comm("newcomm", newcomm)?;
            *newcomm = create(group, &string_tag(stringtag)?, info, errhandler)?;
            Ok(())
        };
        made().map_err(|error: Box<Error>| error.at(errhandler))
    }

    /// An intercommunicator of two groups; the leaders' strings must be the same.
    fn MPI_Intercomm_create_from_groups(
        local_group: MPI_Group, local_leader: c_int, remote_group: MPI_Group, remote_leader: c_int,
        stringtag: *const c_char, info: MPI_Info, errhandler: MPI_Errhandler, newintercomm: *mut MPI_Comm,
    ) {
        let made = || {
            let newintercomm = out_comm("newintercomm", newintercomm)?;
            let (local, remote) = ((local_group, local_leader), (remote_group, remote_leader));
            *newintercomm = join(local, remote, &string_tag(stringtag)?, info, errhandler)?;
            Ok(())
        };
        made().map_err(|error: Box<Error>| error.at(errhandler))
    }
}

unsafe fn string_tag<'a>(stringtag: *const c_char) -> Result<std::borrow::Cow<'a, str>> {
    // SAFETY: by the caller.
    let tag = unsafe { string("stringtag", stringtag)? };
    if tag.len() >= MPI_MAX_STRINGTAG_LEN as usize {
        let most = MPI_MAX_STRINGTAG_LEN - 1;
        return Err(fail(
            MPI_ERR_ARG,
            format!("stringtag has {} characters, but at most {most} are allowed", tag.len()),
        ));
    }
    Ok(tag)
}

fn create(group: MPI_Group, tag: &str, info: MPI_Info, errhandler: MPI_Errhandler) -> Result<MPI_Comm> {
    let mut process = enter();
    let hints = process.hints(info)?;
    let origin = group;
    let group = process.group(group)?;
    if group.size() == 0 {
        return Ok(MPI_COMM_NULL);
    }
    let circle = circle("MPI_Comm_create_from_group", &process, &group, tag)?;
    let mine = process.lead_contexts();
    drop(process);
    let first = circle.bcast(0, (circle.rank == 0).then_some(&record(&[mine.first()])))?;
    keep(origin, in_block(number(&first, 0), circle.rank, group, None), hints, errhandler)
}

fn join(
    (local_group, local_leader): (MPI_Group, c_int),
    (remote_group, remote_leader): (MPI_Group, c_int),
    tag: &str,
    info: MPI_Info,
    errhandler: MPI_Errhandler,
) -> Result<MPI_Comm> {
    const CALL: &str = "MPI_Intercomm_create_from_groups";
    let mut process = enter();
    let hints = process.hints(info)?;
    let circle = circle(CALL, &process, &process.group(local_group)?, tag)?;
    let leader = rank_of("local_leader", local_leader, &circle.group)?;
    let bridge = if circle.rank == leader {
        let remote = process.group(remote_group)?;
        let far = remote.peer(rank_of("remote_leader", remote_leader, &remote)?);
        let mut leaders: Vec<_> = circle.group.peer(leader).into_iter().chain(far).collect();
        leaders.sort_unstable();
        let circle = self::circle(CALL, &process, &Group::of(leaders), tag)?;
        let far = 1 - circle.rank.min(1);
        Some(Bridge { circle, far })
    } else {
        None
    };
    let mine = process.lead_contexts();
    drop(process);
    keep(local_group, join_over(circle, leader, bridge, mine)?, hints, errhandler)
}

/// The circle of a group's members, which this process must be one of.
fn circle(call: &'static str, process: &Process, group: &Group, tag: &str) -> Result<Circle> {
    let me = process.own_peer();
    let rank = group.rank_of(me).ok_or_else(|| fail(MPI_ERR_GROUP, "this process is not in the group"))?;
    Ok(Circle { call, group: group.clone(), rank, context: context(group, tag), tag: AGREEMENT_TAG })
}

/// A context of its own for each group and string: above all that are given out, since those have fewer than 63 bits.
fn context(group: &Group, tag: &str) -> u64 {
    // With fixed keys: the same in every process.
    let mut hasher = DefaultHasher::new();
    tag.hash(&mut hasher);
    group.members().for_each(|member| member.hash(&mut hasher));
    hasher.finish() << 2 | 1 << 63 | Lane::Local as u64
}

/// Takes a communicator without a parent in: it comes from where its group does.
fn keep(origin: MPI_Group, mut comm: Comm, hints: Info, errhandler: MPI_Errhandler) -> Result<MPI_Comm> {
    let mut process = enter();
    process.errhandlers.use_for(MPI_COMM_NULL.into(), errhandler)?;
    comm.errhandler = errhandler;
    comm.info = hints;
    let handle = process.comms.insert(comm);
    let handle = handle.ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 communicators exist: free some"))?;
    process.sessions.inherit(origin.0, handle.0);
    Ok(handle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_groups_tell_agreements_apart() {
        let (all, some) = (Group::range(0, 4), Group::range(0, 3));
        assert_ne!(context(&all, "a"), context(&all, "b"));
        assert_ne!(context(&all, "a"), context(&some, "a"));
        assert_eq!(context(&all, "a"), context(&Group::of(vec![0, 1, 2, 3]), "a"));
        assert_eq!(context(&all, "a") >> 63, 1);
    }
}
