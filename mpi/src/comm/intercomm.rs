//! Intercommunicators (MPI 5.0 section 7.6).

use crate::coll::{meet_with, met};
use crate::comm::agree::{Circle, number, record};
use crate::comm::make::{Choice, adopt, in_block};
use crate::comm::object::{Comm, Contexts, Lane};
use crate::core::arguments::{out_comm, root};
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::enter;
use std::ffi::c_int;
use tern_abi::*;
use tern_coll::Root;
use tern_engine::Group;
use tern_transport::Peer;

entry! {
    /// Joins two groups that have no process in common (section 7.6.2).
    fn MPI_Intercomm_create(local_comm: MPI_Comm, local_leader: c_int, peer_comm: MPI_Comm, remote_leader: c_int, tag: c_int, newintercomm: *mut MPI_Comm) on local_comm {
        let arguments = out_comm("newintercomm", newintercomm).and_then(|newintercomm| {
            Ok((newintercomm, Joint::of(local_comm, local_leader, peer_comm, remote_leader, tag)?))
        });
        let (newintercomm, joint) = meet_with("MPI_Intercomm_create", local_comm, arguments, |(_, joint), record| {
            record.root = Some(Root::Rank(joint.leader));
        })?;
        let mine = enter().lead_contexts();
        *newintercomm = adopt(local_comm, join_over(joint.circle, joint.leader, joint.bridge, mine)?)?;
        Ok(())
    }

    /// Makes one group of two (section 7.6.2).
    fn MPI_Intercomm_merge(intercomm: MPI_Comm, high: c_int, newintracomm: *mut MPI_Comm) on intercomm {
        let newintracomm = met("MPI_Intercomm_merge", intercomm, out_comm("newintracomm", newintracomm))?;
        *newintracomm = merge(intercomm, high != 0)?;
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
    let (circle, remote) = sides(call, comm)?;
    let ours = circle.allgather(mine)?;
    let leaders = Circle { group: remote, context: circle.context, ..circle.clone() };
    let theirs = if circle.rank == 0 { Some(leaders.swap_any_length(0, &ours)?) } else { None };
    let theirs = circle.bcast(0, theirs.as_deref())?;
    Ok(BothSides { ours, theirs })
}

fn sides(call: &'static str, comm: MPI_Comm) -> Result<(Circle, Group)> {
    let process = enter();
    let this = process.comm(comm)?;
    let Some(remote) = this.remote.clone() else {
        return Err(fail(MPI_ERR_COMM, "this is an intracommunicator; an intercommunicator is needed"));
    };
    let mut circle = Circle::local(call, this);
    // The leaders' messages cross between the groups: the local lane would mix ranks of both.
    circle.context = this.lane(Lane::Local);
    Ok((circle, remote))
}

/// Whether the local group comes first where both sides must choose alike: the one with the smaller first process.
pub fn ours_first(local: &Group, remote: &Group) -> bool {
    local.peer(0) < remote.peer(0)
}

/// One block of contexts for both sides.
pub fn agreed_context(call: &'static str, comm: MPI_Comm, mine: Contexts) -> Result<u64> {
    let (circle, remote) = sides(call, comm)?;
    let both = tell_both(call, comm, &record(&[mine.first()]))?;
    Ok(number(if ours_first(&circle.group, &remote) { &both.ours } else { &both.theirs }, 0))
}

/// `MPI_Comm_create` on an intercommunicator: the parts of both sides.
pub fn create(comm: MPI_Comm, part: &Group) -> Result<MPI_Comm> {
    let mine = enter().lead_contexts();
    let (circle, remote) = sides("MPI_Comm_create", comm)?;
    let place = own_place(&circle, part);
    let both =
        tell_both("MPI_Comm_create", comm, &record(&[place.map_or(u64::MAX, u64::from), mine.first()]))?;
    let (ours, our_contexts) = by_place(&both.ours, &circle.group);
    let (theirs, their_contexts) = by_place(&both.theirs, &remote);
    let Some(rank) = place.filter(|_| theirs.size() > 0) else { return Ok(MPI_COMM_NULL) };
    let first = if ours_first(&ours, &theirs) { our_contexts } else { their_contexts };
    adopt(comm, in_block(first, rank, ours, Some(theirs)))
}

fn own_place(circle: &Circle, part: &Group) -> Option<u32> {
    circle.group.peer(circle.rank).and_then(|me| part.rank_of(me))
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
pub fn split(call: &'static str, comm: MPI_Comm, own: Choice) -> Result<MPI_Comm> {
    let (circle, remote) = sides(call, comm)?;
    let both = tell_both(call, comm, &own.record())?;
    if own.color() == MPI_UNDEFINED {
        return Ok(MPI_COMM_NULL);
    }
    let ours = Choice::of_color(&both.ours, own.color());
    let theirs = Choice::of_color(&both.theirs, own.color());
    if theirs.is_empty() {
        return Ok(MPI_COMM_NULL);
    }
    let local = circle.group.include(ours.iter().map(|&(rank, _)| rank));
    let far = remote.include(theirs.iter().map(|&(rank, _)| rank));
    let rank = ours.iter().position(|&(rank, _)| rank == circle.rank).expect("has its own colour") as u32;
    let first = if ours_first(&local, &far) { ours[0].1.contexts } else { theirs[0].1.contexts };
    adopt(comm, in_block(first, rank, local, Some(far)))
}

/// What `MPI_Intercomm_create` joins from here.
struct Joint {
    circle: Circle,
    leader: u32,
    bridge: Option<Bridge>,
}

impl Joint {
    /// Of the call's arguments; `peer_comm` and `remote_leader` count at the leader alone.
    fn of(
        local_comm: MPI_Comm,
        local_leader: c_int,
        peer_comm: MPI_Comm,
        remote_leader: c_int,
        tag: c_int,
    ) -> Result<Joint> {
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
        let circle = Circle::local("MPI_Intercomm_create", this);
        let leader = root(this, local_leader).map_err(|_| no_leader("local_leader", local_leader))?;
        let bridge = if circle.rank == leader {
            let peer = process.comm(peer_comm)?;
            let far = u32::try_from(remote_leader).ok().filter(|&rank| rank < peer.peers().size());
            let far = far.ok_or_else(|| no_leader("remote_leader", remote_leader))?;
            Some(Bridge { circle: bridge(peer, tag), far })
        } else {
            None
        };
        Ok(Joint { circle, leader, bridge })
    }
}

/// The leaders' way to each other.
pub struct Bridge {
    /// A circle in which both are.
    pub circle: Circle,
    /// The rank of the other one there.
    pub far: u32,
}

/// Joins two circles over a bridge that only the leaders have.
pub fn join_over(circle: Circle, leader: u32, bridge: Option<Bridge>, mine: Contexts) -> Result<Comm> {
    let told = match bridge {
        Some(Bridge { circle: bridge, far }) => {
            Some(bridge.swap_any_length(far, &introduce(&circle.group, mine))?)
        }
        None => None,
    };
    // The local leader's contexts are needed as well, by those who know only what it tells them.
    let told = told.map(|theirs| [record(&[mine.first()]), theirs].concat());
    let told = circle.bcast(leader, told.as_deref())?;
    let (our_contexts, their_contexts) = (number(&told, 0), number(&told, 8));
    let members = told.get(16..).unwrap_or_default().chunks_exact(8).map(|bytes| number(bytes, 0) as Peer);
    let remote = Group::of(members.collect());
    if remote.members().any(|member| circle.group.rank_of(member).is_some()) {
        return Err(fail(MPI_ERR_COMM, "the two groups have processes in common"));
    }
    let first = if ours_first(&circle.group, &remote) { our_contexts } else { their_contexts };
    Ok(in_block(first, circle.rank, circle.group, Some(remote)))
}

/// What one leader tells the other: contexts, then members.
fn introduce(group: &Group, contexts: Contexts) -> Vec<u8> {
    let numbers: Vec<u64> = std::iter::once(contexts.first()).chain(group.members().map(u64::from)).collect();
    record(&numbers)
}

/// The leaders' way to each other: through the peer communicator, apart from the program's messages.
fn bridge(peer: &Comm, tag: c_int) -> Circle {
    Circle {
        call: "MPI_Intercomm_create",
        group: peer.peers().clone(),
        rank: peer.rank,
        context: peer.lane(Lane::Part),
        tag,
    }
}

fn no_leader(name: &str, rank: c_int) -> Box<crate::core::error::Error> {
    fail(MPI_ERR_RANK, format!("{name} is {rank}, which is no rank of its communicator"))
}

fn merge(intercomm: MPI_Comm, high: bool) -> Result<MPI_Comm> {
    let mine = enter().lead_contexts();
    let (circle, remote) = sides("MPI_Intercomm_merge", intercomm)?;
    let both = tell_both("MPI_Intercomm_merge", intercomm, &record(&[u64::from(high), mine.first()]))?;
    let (our_high, their_high) = (number(&both.ours, 0), number(&both.theirs, 0));
    let first = match our_high == their_high {
        true => ours_first(&circle.group, &remote),
        false => our_high == 0,
    };
    let (group, contexts) = match first {
        true => (circle.group.union(&remote), number(&both.ours, 8)),
        false => (remote.union(&circle.group), number(&both.theirs, 8)),
    };
    let rank = circle.rank + if first { 0 } else { remote.size() };
    adopt(intercomm, in_block(contexts, rank, group, None))
}
