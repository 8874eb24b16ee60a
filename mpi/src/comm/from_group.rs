//! Communicators from groups alone (MPI 5.0 sections 7.4.2 and 7.6.2): nobody has a communicator in common yet, so the
//! agreement's messages are told apart by the program's string.

use crate::comm::agree::{Bridge, Participants, SourceNumbering, number, record};
use crate::comm::group::rank_of;
use crate::comm::intercomm::join_over;
use crate::comm::make::in_block;
use crate::comm::object::{Comm, Lane};
use crate::core::boundary::Handed;
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::process::{Process, enter};
use crate::env::hints::Info;
use crate::limits::AGREEMENT_TAG;
use std::borrow::Cow;
use std::ffi::c_int;
use std::hash::{DefaultHasher, Hash, Hasher};
use tern_abi::*;
use tern_engine::Group;

entry! {
    /// A communicator of a group, all of whose members call with the same string.
    safe fn MPI_Comm_create_from_group(group: MPI_Group, stringtag: Result<Cow<'_, str>>, info: MPI_Info, errhandler: MPI_Errhandler, newcomm: Result<Handed<'_, MPI_Comm>>) {
        let made = || {
            let newcomm = newcomm?;
            newcomm.set(create(group, &string_tag(stringtag)?, info, errhandler)?);
            Ok(())
        };
        made().map_err(|error: Box<Error>| error.at(errhandler))
    }

    /// An intercommunicator of two groups; the leaders' strings must be the same.
    safe fn MPI_Intercomm_create_from_groups(
        local_group: MPI_Group, local_leader: c_int, remote_group: MPI_Group, remote_leader: c_int,
        stringtag: Result<Cow<'_, str>>, info: MPI_Info, errhandler: MPI_Errhandler, newintercomm: Result<Handed<'_, MPI_Comm>>,
    ) {
        let made = || {
            let newintercomm = newintercomm?;
            let (local, remote) = ((local_group, local_leader), (remote_group, remote_leader));
            newintercomm.set(join(local, remote, &string_tag(stringtag)?, info, errhandler)?);
            Ok(())
        };
        made().map_err(|error: Box<Error>| error.at(errhandler))
    }
}

fn string_tag(stringtag: Result<Cow<'_, str>>) -> Result<Cow<'_, str>> {
    let tag = stringtag?;
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
    let participants = participants("MPI_Comm_create_from_group", &process, &group, tag)?;
    let mine = process.allocate_contexts();
    drop(process);
    let first = participants.bcast(0, (participants.rank == 0).then_some(&record(&[mine.first()])))?;
    keep(origin, in_block(number(&first, 0), participants.rank, group, None), hints, errhandler)
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
    let participants = participants(CALL, &process, &process.group(local_group)?, tag)?;
    let leader = rank_of("local_leader", local_leader, &participants.group)?;
    let bridge = if participants.rank == leader {
        let remote = process.group(remote_group)?;
        if let Some(both) = remote.members().find(|member| participants.group.rank_of(*member).is_some()) {
            let rank = participants.group.rank_of(both).unwrap_or(0);
            let text =
                format!("rank {rank} of local_group is in remote_group, too: the groups must be disjoint");
            return Err(fail(MPI_ERR_GROUP, text));
        }
        let far = remote.peer(rank_of("remote_leader", remote_leader, &remote)?);
        let mut leaders: Vec<_> = participants.group.peer(leader).into_iter().chain(far).collect();
        // In an order that is the same for both.
        leaders.sort_unstable_by_key(|leader| process.identity_of(*leader));
        let participants = self::participants(CALL, &process, &Group::of(leaders), tag)?;
        let far = 1 - participants.rank.min(1);
        Some(Bridge { participants, far })
    } else {
        None
    };
    drop(process);
    keep(local_group, join_over(participants, leader, bridge)?, hints, errhandler)
}

/// The participants of a group's members, which this process must be one of.
fn participants(call: &'static str, process: &Process, group: &Group, tag: &str) -> Result<Participants> {
    let me = process.own_peer();
    let rank = group.rank_of(me).ok_or_else(|| fail(MPI_ERR_GROUP, "this process is not in the group"))?;
    // Where nobody is of another world, the number of this one may not be known to all.
    let is_own = !group.members().any(|member| process.is_foreign(member));
    let name = |member| if is_own { (0, member) } else { process.identity_of(member) };
    let context = context(group.members().map(name), tag);
    Ok(Participants {
        call,
        group: group.clone(),
        rank,
        context,
        tag: AGREEMENT_TAG,
        numbering: SourceNumbering::Ranks,
    })
}

/// A context of its own for each group and string: above all that are given out, since those have fewer than 63 bits.
fn context(members: impl Iterator<Item = (u64, u32)>, tag: &str) -> u64 {
    // With fixed keys: the same in every process.
    let mut hasher = DefaultHasher::new();
    tag.hash(&mut hasher);
    members.for_each(|member| member.hash(&mut hasher));
    hasher.finish() << 2 | 1 << 63 | Lane::Local as u64
}

/// Takes a communicator without a parent in: it comes from where its group does.
fn keep(origin: MPI_Group, mut comm: Comm, hints: Info, errhandler: MPI_Errhandler) -> Result<MPI_Comm> {
    let mut process = enter();
    process.objects.errhandlers.use_for(MPI_COMM_NULL.into(), errhandler)?;
    comm.errhandler = errhandler;
    comm.info = hints;
    process.put_sides_in_order(&mut comm);
    let handle = process.objects.comms.insert(comm);
    let handle = handle.ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 communicators exist: free some"))?;
    process.objects.sessions.inherit(origin.0, handle.0);
    Ok(handle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_groups_tell_agreements_apart() {
        let of = |world, size, tag| context((0..size).map(|rank| (world, rank)), tag);
        assert_ne!(of(1, 4, "a"), of(1, 4, "b"));
        assert_ne!(of(1, 4, "a"), of(1, 3, "a"));
        assert_ne!(of(1, 4, "a"), of(2, 4, "a"));
        assert_eq!(of(1, 4, "a"), of(1, 4, "a"));
        assert_eq!(of(1, 4, "a") >> 63, 1);
    }
}
