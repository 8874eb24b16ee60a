//! Making and freeing communicators (MPI 5.0 section 7.4.2).

use crate::coll::{barrier_on, met, nonblocking};
use crate::comm::agree::{Participants, SourceNumbering, number, record};
use crate::comm::intercomm;
use crate::comm::object::{Comm, Contexts, Lane};
use crate::comm::resource::{self, Wish};
use crate::core::boundary::{Handed, Out};
use crate::core::entry::entry;
use crate::core::error::{ErrorObject, Result, fail};
use crate::core::process::enter;
use crate::env::hints::Info;
use crate::limits::CONTEXTS_PER_BLOCK;
use crate::p2p::buffers::BufferOwner;
use crate::p2p::ended::Ended;
use std::ffi::c_int;
use tern_abi::*;
use tern_engine::Group;
use tern_job::topology::Level;

entry! {
    /// A copy with its own context, attributes as their functions decide, the same hints and topology.
    safe fn MPI_Comm_dup(comm: MPI_Comm, newcomm: Result<Handed<'_, MPI_Comm>>) on comm {
        let newcomm = met("MPI_Comm_dup", comm, newcomm)?;
        newcomm.set(dup(comm, None)?);
        Ok(())
    }

    /// A copy of a communicator as by `MPI_Comm_dup`, with other hints.
    safe fn MPI_Comm_dup_with_info(comm: MPI_Comm, info: MPI_Info, newcomm: Result<Handed<'_, MPI_Comm>>) on comm {
        let arguments = newcomm.and_then(|newcomm| Ok((newcomm, enter().hints(info)?)));
        let (newcomm, hints) = met("MPI_Comm_dup_with_info", comm, arguments)?;
        newcomm.set(dup(comm, Some(hints))?);
        Ok(())
    }

    /// Starts to copy a communicator as `MPI_Comm_dup` does, without waiting. The members need not ask each other (see
    /// [`Contexts`]).
    safe fn MPI_Comm_idup(comm: MPI_Comm, newcomm: Result<Handed<'_, MPI_Comm>>, request: Result<Out<'_, MPI_Request>>) on comm {
        let arguments = newcomm.map(|newcomm| (newcomm, None));
        idup("MPI_Comm_idup", comm, arguments, request)
    }

    /// Duplicates a communicator with other hints, as a request.
    safe fn MPI_Comm_idup_with_info(
        comm: MPI_Comm, info: MPI_Info, newcomm: Result<Handed<'_, MPI_Comm>>, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let arguments = newcomm.and_then(|newcomm| Ok((newcomm, Some(enter().hints(info)?))));
        idup("MPI_Comm_idup_with_info", comm, arguments, request)
    }

    /// A communicator of some of the members; all call.
    safe fn MPI_Comm_create(comm: MPI_Comm, group: MPI_Group, newcomm: Result<Handed<'_, MPI_Comm>>) on comm {
        let arguments = newcomm.and_then(|newcomm| {
            let process = enter();
            let this = process.comm(comm)?;
            Ok((newcomm, subgroup(process.group(group)?, &this.group)?, this.remote.is_some()))
        });
        let (newcomm, group, inter) = met("MPI_Comm_create", comm, arguments)?;
        newcomm.set(if inter { intercomm::create(comm, &group)? } else { create(comm, &group)? });
        Ok(())
    }

    /// A communicator of some of the members; only they call (section 7.4.2).
    safe fn MPI_Comm_create_group(comm: MPI_Comm, group: MPI_Group, tag: c_int, newcomm: Result<Handed<'_, MPI_Comm>>) on comm {
        let newcomm = newcomm?;
        if tag < 0 {
            return Err(fail(MPI_ERR_TAG, format!("tag is {tag}, but must not be negative")));
        }
        newcomm.set(create_group(comm, group, tag)?);
        Ok(())
    }

    /// Splits a communicator by color, ordered by key.
    safe fn MPI_Comm_split(comm: MPI_Comm, color: c_int, key: c_int, newcomm: Result<Handed<'_, MPI_Comm>>) on comm {
        let arguments = newcomm.and_then(|newcomm| match color {
            0.. | MPI_UNDEFINED => Ok(newcomm),
            _ => Err(fail(MPI_ERR_ARG, format!("color is {color}, but must not be negative, or MPI_UNDEFINED"))),
        });
        let newcomm = met("MPI_Comm_split", comm, arguments)?;
        newcomm.set(split("MPI_Comm_split", comm, color, key)?);
        Ok(())
    }

    /// Communicators by what the processes share.
    safe fn MPI_Comm_split_type(comm: MPI_Comm, split_type: c_int, key: c_int, info: MPI_Info, newcomm: Result<Handed<'_, MPI_Comm>>) on comm {
        let arguments = newcomm.and_then(|newcomm| {
            let mut process = enter();
            let hints = process.hints(info)?;
            let wish = resource::wish(&process, comm, split_type, &hints)?;
            Ok((newcomm, hints, wish))
        });
        let (newcomm, hints, wish) = met("MPI_Comm_split_type", comm, arguments)?;
        let color = match wish {
            Wish::Color(color) => color,
            Wish::Divided => SplitChoice::DIVIDED,
        };
        let (made, divided) = split_or_divide("MPI_Comm_split_type", comm, color, key)?;
        newcomm.set(made);
        if made == MPI_COMM_NULL {
            return Ok(());
        }
        let mut process = enter();
        if let Some(level) = divided {
            resource::tell(&mut process, info, level);
        }
        process.comm_mut(made)?.info = hints;
        Ok(())
    }

    /// Frees a communicator; messages under way go on. It waits for nobody, unless calls are compared: a communicator that not all
    /// members got, as where a function that copies an attribute failed, cannot be freed then.
    safe fn MPI_Comm_free(comm: &mut MPI_Comm) on (named(comm)) {
        met("MPI_Comm_free", *comm, expect_own(*comm))?;
        free(*comm)?;
        *comm = MPI_COMM_NULL;
        Ok(())
    }

    /// Waits until all messages are through, and frees (section 11.10.4).
    safe fn MPI_Comm_disconnect(comm: &mut MPI_Comm) on (named(comm)) {
        if let Err(error) = expect_own(*comm) {
            return met("MPI_Comm_disconnect", *comm, Err(error));
        }
        barrier_on("MPI_Comm_disconnect", *comm)?;
        let members = enter().comm(*comm)?.all_members().collect();
        free(*comm)?;
        crate::spawn::part("MPI_Comm_disconnect", members);
        *comm = MPI_COMM_NULL;
        Ok(())
    }
}

fn dup(comm: MPI_Comm, hints: Option<Info>) -> Result<MPI_Comm> {
    let (context, children) = child_context(comm)?;
    let mut copy = {
        let process = enter();
        let this = process.comm(comm)?;
        let mut copy = Comm::new(context, this.rank, this.group.clone(), this.remote.clone());
        copy.info = hints.unwrap_or_else(|| this.info.clone());
        copy.topology = this.topology.clone();
        copy
    };
    copy.children = children;
    copy.attributes = crate::comm::attributes::copy_all(comm)?;
    adopt(comm, copy)
}

/// The non-blocking forms: the request has ended, unless calls are compared.
fn idup(
    call: &'static str,
    comm: MPI_Comm,
    arguments: Result<(Handed<'_, MPI_Comm>, Option<Info>)>,
    request: Result<Out<'_, MPI_Request>>,
) -> Result {
    let is_checked = enter().checks.collectives;
    let mut told = None;
    let tell = || arguments.map(|arguments| told = Some(arguments));
    if is_checked {
        nonblocking(call, comm, request, |_| tell())?;
    } else {
        tell()?;
        request?.set(enter().ended_request(Ended::well(MPI_Status::EMPTY))?);
    }
    let (newcomm, hints) = told.expect("what was not refused was told");
    let made = dup(comm, hints)?;
    newcomm.set(made);
    Ok(())
}

/// A context for a communicator with the same members, without asking them.
pub(crate) fn child_context(comm: MPI_Comm) -> Result<(u64, Contexts)> {
    Ok(enter().comm_mut(comm)?.child_context())
}

/// Takes a new communicator in; it inherits the error handler of its parent (section 9.3).
pub(crate) fn adopt(parent: MPI_Comm, mut comm: Comm) -> Result<MPI_Comm> {
    let mut process = enter();
    comm.errhandler = process.comm(parent)?.errhandler;
    process.put_sides_in_order(&mut comm);
    process.objects.errhandlers.retain(comm.errhandler);
    let handle = process.objects.comms.insert(comm);
    let handle = handle.ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 communicators exist: free some"))?;
    process.objects.sessions.inherit(parent.0, handle.0);
    Ok(handle)
}

/// A communicator in a block of contexts that its first member has named.
pub(crate) fn in_block(first: u64, rank: u32, group: Group, remote: Option<Group>) -> Comm {
    let (context, children) = Contexts::named(first, CONTEXTS_PER_BLOCK).split_first();
    let mut comm = Comm::new(context, rank, group, remote);
    comm.children = children;
    comm
}

/// A group argument, which must be part of the communicator's.
fn subgroup(group: Group, whole: &Group) -> Result<Group> {
    let outsider = group.members().find(|&member| whole.rank_of(member).is_none());
    match outsider {
        None => Ok(group),
        Some(outsider) => Err(fail(
            MPI_ERR_GROUP,
            format!(
                "the group has the process of rank {outsider} in the world, which is not in the communicator"
            ),
        )),
    }
}

fn create(comm: MPI_Comm, group: &Group) -> Result<MPI_Comm> {
    let mut process = enter();
    let mine = process.allocate_contexts();
    let this = process.comm(comm)?;
    let (participants, me) = (Participants::local("MPI_Comm_create", this), this.group.peer(this.rank));
    drop(process);
    let all = participants.allgather(&record(&[mine.first()]))?;
    let Some(rank) = me.and_then(|me| group.rank_of(me)) else { return Ok(MPI_COMM_NULL) };
    let leader =
        group.peer(0).and_then(|peer| participants.group.rank_of(peer)).expect("checked to be a part");
    adopt(comm, in_block(number(&all, leader as usize * 8), rank, group.clone(), None))
}

fn create_group(comm: MPI_Comm, group: MPI_Group, tag: c_int) -> Result<MPI_Comm> {
    let mut process = enter();
    let mine = process.allocate_contexts();
    let this = process.comm(comm)?;
    if this.remote.is_some() {
        return Err(fail(MPI_ERR_COMM, "this is an intercommunicator; an intracommunicator is needed"));
    }
    let group = subgroup(process.group(group)?, &this.group)?;
    let Some(rank) = this.group.peer(this.rank).and_then(|me| group.rank_of(me)) else {
        return Ok(MPI_COMM_NULL);
    };
    let (context, names) = (this.lane(Lane::Part), SourceNumbering::Within(this.group.clone()));
    let participants = Participants {
        call: "MPI_Comm_create_group",
        group: group.clone(),
        rank,
        context,
        tag,
        numbering: names,
    };
    drop(process);
    let first = participants.bcast(0, (rank == 0).then_some(&record(&[mine.first()])))?;
    adopt(comm, in_block(number(&first, 0), rank, group, None))
}

/// Splits, once the members have [`met`]: every one tells color, key and a block of contexts that the first of its color gives to all.
pub(crate) fn split(call: &'static str, comm: MPI_Comm, color: c_int, key: c_int) -> Result<MPI_Comm> {
    split_or_divide(call, comm, color, key).map(|(made, _)| made)
}

/// The same, and the hardware resource that divides those who asked for that.
fn split_or_divide(
    call: &'static str,
    comm: MPI_Comm,
    color: c_int,
    key: c_int,
) -> Result<(MPI_Comm, Option<Level>)> {
    let mut process = enter();
    let mine = process.allocate_contexts();
    let this = process.comm(comm)?;
    let (participants, inter) = (Participants::local(call, this), this.remote.is_some());
    drop(process);
    let own = SplitChoice { color, key, contexts: mine.first() };
    if inter {
        // The sides of an intercommunicator have no hardware in common by which all could be divided.
        let color = if color == SplitChoice::DIVIDED { MPI_UNDEFINED } else { color };
        return Ok((intercomm::split(call, comm, SplitChoice { color, ..own })?, None));
    }
    let mut all = SplitChoice::all(&participants.allgather(&own.record())?);
    let level = divide(&participants, &mut all)?.filter(|_| color == SplitChoice::DIVIDED);
    let color = all[participants.rank as usize].color;
    if color == MPI_UNDEFINED {
        return Ok((MPI_COMM_NULL, None));
    }
    let chosen = SplitChoice::with_color(&all, color);
    let group = participants.group.include(chosen.iter().map(|&(rank, _)| rank));
    let rank =
        chosen.iter().position(|&(rank, _)| rank == participants.rank).expect("has its own color") as u32;
    Ok((adopt(comm, in_block(chosen[0].1.contexts, rank, group, None))?, level))
}

/// Gives those a color that want to be divided by hardware, and tells by which. All members take part where one wants it.
fn divide(participants: &Participants, all: &mut [SplitChoice]) -> Result<Option<Level>> {
    let wanting: Vec<bool> = all.iter().map(|choice| choice.color == SplitChoice::DIVIDED).collect();
    if !wanting.contains(&true) {
        return Ok(None);
    }
    let mine = resource::own_parts(&enter());
    let (level, colors) = resource::divide(participants, &mine, &wanting)?;
    for ((choice, color), _) in all.iter_mut().zip(colors).zip(&wanting).filter(|(_, wants)| **wants) {
        choice.color = color;
    }
    Ok(level)
}

/// What a member tells in a split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SplitChoice {
    color: c_int,
    key: c_int,
    /// First context of the block that it would give.
    pub contexts: u64,
}

impl SplitChoice {
    /// Bytes of a record.
    pub(crate) const BYTES: usize = 24;

    /// The color of those that are to be divided by hardware; no program can say it.
    const DIVIDED: c_int = -2;

    /// The color.
    pub(crate) fn color(&self) -> c_int {
        self.color
    }

    /// As bytes.
    pub(crate) fn record(&self) -> Vec<u8> {
        record(&[self.color as u64, self.key as u64, self.contexts])
    }

    /// What all members told.
    fn all(records: &[u8]) -> Vec<SplitChoice> {
        let choice = |bytes: &[u8]| SplitChoice {
            color: number(bytes, 0) as c_int,
            key: number(bytes, 8) as c_int,
            contexts: number(bytes, 16),
        };
        records.chunks_exact(Self::BYTES).map(choice).collect()
    }

    /// The ranks of a color in their new order, with what they told.
    pub(crate) fn of_color(records: &[u8], color: c_int) -> Vec<(u32, SplitChoice)> {
        SplitChoice::with_color(&SplitChoice::all(records), color)
    }

    fn with_color(all: &[SplitChoice], color: c_int) -> Vec<(u32, SplitChoice)> {
        let mut chosen: Vec<_> =
            (0..).zip(all.iter().copied()).filter(|(_, choice)| choice.color == color).collect();
        // Stable: equal keys keep the old order (section 7.4.2).
        chosen.sort_by_key(|(_, choice)| choice.key);
        chosen
    }
}

/// The communicator that a call was to free, whose error handler decides.
///
/// # Safety
/// What `comm` points to, unless it is null, can be read.
unsafe fn named(comm: *mut MPI_Comm) -> ErrorObject {
    // SAFETY: the caller's promise.
    unsafe { comm.as_ref() }.map_or(ErrorObject::None, |comm| ErrorObject::Comm(*comm))
}

/// Only what the program has made can be freed.
fn expect_own(comm: MPI_Comm) -> Result {
    if comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF {
        return Err(fail(MPI_ERR_COMM, "a predefined communicator cannot be freed"));
    }
    enter().comm(comm).map(|_| ())
}

fn free(comm: MPI_Comm) -> Result {
    crate::comm::attributes::delete_all(comm)?;
    crate::p2p::buffered::release("MPI_Comm_free", BufferOwner::Comm(comm))?;
    let mut process = enter();
    process.objects.sessions.forget(comm.0);
    if let Some(gone) = process.objects.comms.remove(comm) {
        let context = gone.lane(Lane::P2p);
        process.engine_mut().into_iter().for_each(|engine| engine.forget_partitioned(context));
        process.worlds.forget(comm);
        let forgotten = process.objects.comms.remember(&gone);
        forgotten.into_iter().for_each(|errhandler| process.objects.errhandlers.release(errhandler));
        process.leave_shm_comm(gone.shm_comm);
    }
    Ok(())
}
