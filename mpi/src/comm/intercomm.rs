//! Intercommunicators (MPI 5.0 section 7.6).

use crate::coll::{meet_with, met};
use crate::comm::agree::{Bridge, Participants, SourceNumbering, number, record};
use crate::comm::make::{SplitChoice, adopt, in_block};
use crate::comm::object::{Comm, Contexts, Lane};
use crate::core::arguments::root;
use crate::core::boundary::Handed;
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::enter;
use crate::limits::CONTEXTS_PER_BLOCK;
use crate::spawn::{chance, introduce};
use std::ffi::c_int;
use tern_abi::*;
use tern_coll::Root;
use tern_engine::Group;

entry! {
    /// Joins two groups that have no process in common (section 7.6.2).
    safe fn MPI_Intercomm_create(local_comm: MPI_Comm, local_leader: c_int, peer_comm: MPI_Comm, remote_leader: c_int, tag: c_int, newintercomm: Result<Handed<'_, MPI_Comm>>) on local_comm {
        let arguments = newintercomm.and_then(|newintercomm| {
            Ok((newintercomm, JoiningSide::of(local_comm, local_leader, peer_comm, remote_leader, tag)?))
        });
        let (newintercomm, joint) = meet_with("MPI_Intercomm_create", local_comm, arguments, |(_, joint), record| {
            record.root = Some(Root::Rank(joint.leader));
        })?;
        newintercomm.set(adopt(local_comm, join_over(joint.participants, joint.leader, joint.bridge)?)?);
        Ok(())
    }

    /// Makes one group of two (section 7.6.2).
    safe fn MPI_Intercomm_merge(intercomm: MPI_Comm, high: c_int, newintracomm: Result<Handed<'_, MPI_Comm>>) on intercomm {
        let newintracomm = met("MPI_Intercomm_merge", intercomm, newintracomm)?;
        newintracomm.set(merge(intercomm, high != 0)?);
        Ok(())
    }
}

/// What the two sides of an intercommunicator tell each other.
struct BothSides {
    ours: Vec<u8>,
    theirs: Vec<u8>,
}

/// Every member's record, of both sides, for every member.
fn tell_both(call: &'static str, comm: MPI_Comm, mine: &[u8]) -> Result<BothSides> {
    let (participants, remote) = sides(call, comm)?;
    let ours = participants.allgather(mine)?;
    let leaders = Participants { group: remote, numbering: SourceNumbering::Across, ..participants.clone() };
    let theirs = if participants.rank == 0 { Some(leaders.swap_any_length(0, &ours)?) } else { None };
    let theirs = participants.bcast(0, theirs.as_deref())?;
    Ok(BothSides { ours, theirs })
}

fn sides(call: &'static str, comm: MPI_Comm) -> Result<(Participants, Group)> {
    let process = enter();
    let this = process.comm(comm)?;
    let Some(remote) = this.remote.clone() else {
        return Err(fail(MPI_ERR_COMM, "this is an intracommunicator; an intercommunicator is needed"));
    };
    let mut participants = Participants::local(call, this);
    // The leaders' messages cross between the groups: the local lane would mix ranks of both.
    participants.context = this.lane(Lane::Local);
    Ok((participants, remote))
}

/// `MPI_Comm_create` on an intercommunicator: the parts of both sides.
pub(crate) fn create(comm: MPI_Comm, part: &Group) -> Result<MPI_Comm> {
    let mine = enter().allocate_contexts();
    let (participants, remote) = sides("MPI_Comm_create", comm)?;
    let place = own_place(&participants, part);
    let both =
        tell_both("MPI_Comm_create", comm, &record(&[place.map_or(u64::MAX, u64::from), mine.first()]))?;
    let (ours, our_contexts) = by_place(&both.ours, &participants.group);
    let (theirs, their_contexts) = by_place(&both.theirs, &remote);
    let Some(rank) = place.filter(|_| theirs.size() > 0) else { return Ok(MPI_COMM_NULL) };
    let first = if enter().comes_first(&ours, &theirs) { our_contexts } else { their_contexts };
    adopt(comm, in_block(first, rank, ours, Some(theirs)))
}

fn own_place(participants: &Participants, part: &Group) -> Option<u32> {
    participants.group.peer(participants.rank).and_then(|me| part.rank_of(me))
}

/// The members that have named a place, in that order, and the first one's contexts.
fn by_place(records: &[u8], group: &Group) -> (Group, u64) {
    let mut chosen: Vec<(u64, u32, u64)> = (0..)
        .zip(records.chunks_exact(16))
        .map(|(rank, bytes)| (number(bytes, 0), rank, number(bytes, 8)))
        .filter(|&(place, ..)| place != u64::MAX)
        .collect();
    chosen.sort_unstable();
    let contexts = chosen.first().map_or(0, |&(_, _, contexts)| contexts);
    (group.include(chosen.iter().map(|&(_, rank, _)| rank)), contexts)
}

/// `MPI_Comm_split` on an intercommunicator.
pub(crate) fn split(call: &'static str, comm: MPI_Comm, own: SplitChoice) -> Result<MPI_Comm> {
    let (participants, remote) = sides(call, comm)?;
    let both = tell_both(call, comm, &own.record())?;
    if own.color() == MPI_UNDEFINED {
        return Ok(MPI_COMM_NULL);
    }
    let ours = SplitChoice::of_color(&both.ours, own.color());
    let theirs = SplitChoice::of_color(&both.theirs, own.color());
    if theirs.is_empty() {
        return Ok(MPI_COMM_NULL);
    }
    let local = participants.group.include(ours.iter().map(|&(rank, _)| rank));
    let far = remote.include(theirs.iter().map(|&(rank, _)| rank));
    let rank =
        ours.iter().position(|&(rank, _)| rank == participants.rank).expect("has its own color") as u32;
    let first = if enter().comes_first(&local, &far) { ours[0].1.contexts } else { theirs[0].1.contexts };
    adopt(comm, in_block(first, rank, local, Some(far)))
}

/// What `MPI_Intercomm_create` joins from here.
struct JoiningSide {
    participants: Participants,
    leader: u32,
    bridge: Option<Bridge>,
}

impl JoiningSide {
    /// Of the call's arguments; `peer_comm` and `remote_leader` count at the leader alone.
    fn of(
        local_comm: MPI_Comm,
        local_leader: c_int,
        peer_comm: MPI_Comm,
        remote_leader: c_int,
        tag: c_int,
    ) -> Result<JoiningSide> {
        if tag < 0 {
            return Err(fail(MPI_ERR_TAG, format!("tag is {tag}, but must not be negative")));
        }
        let process = enter();
        let this = process.comm(local_comm)?;
        if this.remote.is_some() {
            return Err(fail(
                MPI_ERR_COMM,
                "local_comm is an intercommunicator; an intracommunicator is needed",
            ));
        }
        let participants = Participants::local("MPI_Intercomm_create", this);
        let leader = root(this, local_leader).map_err(|_| no_leader("local_leader", local_leader))?;
        let bridge = if participants.rank == leader {
            let peer = process.comm(peer_comm)?;
            let far = u32::try_from(remote_leader).ok().filter(|&rank| rank < peer.peers().size());
            let far = far.ok_or_else(|| no_leader("remote_leader", remote_leader))?;
            Some(Bridge { participants: bridge(peer, tag), far })
        } else {
            None
        };
        Ok(JoiningSide { participants, leader, bridge })
    }
}

/// Joins two participants over a bridge that only the leaders have. The other side may be of a world that this process has not met before,
/// and in which a block that is counted here is another one's: so it is drawn.
pub(crate) fn join_over(participants: Participants, leader: u32, bridge: Option<Bridge>) -> Result<Comm> {
    let mine = Contexts::drawn(chance(), CONTEXTS_PER_BLOCK);
    let told = introduce::meet_over(&participants, leader, bridge, mine.first())?;
    let remote = told.group;
    if remote.members().any(|member| participants.group.rank_of(member).is_some()) {
        return Err(fail(MPI_ERR_COMM, "the two groups have processes in common"));
    }
    let ours_first = enter().comes_first(&participants.group, &remote);
    let first = if ours_first { told.our_contexts } else { told.their_contexts };
    Ok(in_block(first, participants.rank, participants.group, Some(remote)))
}

/// The leaders' way to each other: through the peer communicator, apart from the program's messages.
fn bridge(peer: &Comm, tag: c_int) -> Participants {
    Participants {
        call: "MPI_Intercomm_create",
        group: peer.peers().clone(),
        rank: peer.rank,
        context: peer.lane(Lane::Part),
        tag,
        numbering: SourceNumbering::Ranks,
    }
}

fn no_leader(name: &str, rank: c_int) -> Box<crate::core::error::Error> {
    fail(MPI_ERR_RANK, format!("{name} is {rank}, which is no rank of its communicator"))
}

fn merge(intercomm: MPI_Comm, high: bool) -> Result<MPI_Comm> {
    let mine = enter().allocate_contexts();
    let (participants, remote) = sides("MPI_Intercomm_merge", intercomm)?;
    let both = tell_both("MPI_Intercomm_merge", intercomm, &record(&[u64::from(high), mine.first()]))?;
    let (our_high, their_high) = (number(&both.ours, 0), number(&both.theirs, 0));
    let first = match our_high == their_high {
        true => enter().comes_first(&participants.group, &remote),
        false => our_high == 0,
    };
    let (group, contexts) = match first {
        true => (participants.group.union(&remote), number(&both.ours, 8)),
        false => (remote.union(&participants.group), number(&both.theirs, 8)),
    };
    let rank = participants.rank + if first { 0 } else { remote.size() };
    adopt(intercomm, in_block(contexts, rank, group, None))
}
