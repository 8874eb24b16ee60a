//! The memory that a communicator's ranks share for its collectives, if they are all on this node.

use crate::coll::shape::shape;
use crate::coll::shm_comm_place::{LeaderSlot, ShmCommPlace};
use crate::comm::agree::{Participants, number, record};
use crate::comm::object::Comm;
use crate::core::error::Result;
use crate::core::process::{Process, enter};
use crate::limits::LOOKS_AT_ONCE;
use tern_abi::MPI_Comm;
use tern_job::topology::{Level, bound_to};
use tern_shm::limits::SHARED_BUFFERS;
use tern_shm::{BoundPlace, ShmComm, ShmMember};
use tern_transport::Peer;

/// The slot of the world, which rank 0 leads.
const WORLD_SLOT: u32 = 0;

/// The slot of the world's last barrier, which rank 0 leads.
const LAST_SLOT: u32 = ShmComm::SLOTS - 1;

/// In place of a slot, if there is none.
const NO_SLOT: u64 = u64::MAX;

// The upper half has no buffers.
const _: () = assert!(SHARED_BUFFERS as u32 <= ShmComm::SLOTS / 2);

impl Process {
    /// The world's shm communicator: that one needs no agreement.
    pub(crate) fn world_shm_comm(&mut self, rank: u32, size: u32) -> ShmCommPlace {
        self.shm_comm_of_first(WORLD_SLOT, rank, size)
    }

    /// The world's shm communicator at the end.
    pub(crate) fn final_shm_comm(&mut self, rank: u32, size: u32) -> ShmCommPlace {
        self.shm_comm_of_first(LAST_SLOT, rank, size)
    }

    fn shm_comm_of_first(&mut self, slot: u32, rank: u32, size: u32) -> ShmCommPlace {
        if size < 2 || self.checks.collectives || self.job.as_ref().is_some_and(|job| job.hosts > 1) {
            return ShmCommPlace::Never;
        }
        self.join_shm_comm(ShmMember { leader: 0, slot, rank, size })
    }

    fn join_shm_comm(&mut self, member: ShmMember) -> ShmCommPlace {
        let Some(mut shm_comm) = self.engine_mut().and_then(|engine| engine.transport().shm_comm(member))
        else {
            return ShmCommPlace::Never;
        };
        if shm_comm.asks_for_place() {
            let place = || *self.coll.bound_place.get_or_insert_with(bound_place);
            shm_comm.set_place((!self.waiting.oversubscribed).then(place));
        }
        // Another rank may need this core.
        if !self.waiting.oversubscribed {
            shm_comm.set_looks(LOOKS_AT_ONCE);
        }
        ShmCommPlace::Here(Box::new(shm_comm))
    }

    /// The first slot of `wanted` that is clear for a new shm communicator, which this process then leads.
    fn claim_slot(&mut self, mut wanted: impl Iterator<Item = u32>) -> Option<u32> {
        if self.coll.leader_slots.is_empty() {
            self.coll.leader_slots = vec![LeaderSlot::Free; ShmComm::SLOTS as usize];
            for slot in [WORLD_SLOT, LAST_SLOT] {
                self.coll.leader_slots[slot as usize] = LeaderSlot::Taken;
            }
        }
        let slot = wanted.find(|&slot| self.is_clear(slot))?;
        self.coll.leader_slots[slot as usize] = LeaderSlot::Taken;
        Some(slot)
    }

    fn is_clear(&mut self, slot: u32) -> bool {
        match self.coll.leader_slots[slot as usize] {
            LeaderSlot::Free => true,
            LeaderSlot::Taken => false,
            LeaderSlot::Leaving(size) => {
                self.engine_mut().is_some_and(|engine| engine.transport().clear_shm_slot(slot, size))
            }
        }
    }

    /// This rank leaves the shm communicator of a communicator that goes away.
    pub(crate) fn leave_shm_comm(&mut self, place: ShmCommPlace) {
        let ShmCommPlace::Here(shm_comm) = place else { return };
        shm_comm.leave();
        let ShmMember { leader, slot, size, .. } = shm_comm.member();
        if self.job.as_ref().is_some_and(|job| job.rank == leader)
            && let Some(slot) = self.coll.leader_slots.get_mut(slot as usize)
        {
            *slot = LeaderSlot::Leaving(size);
        }
    }
}

/// Where this process is bound to, as far as that is in one part of the machine.
fn bound_place() -> BoundPlace {
    let [socket, numa, l3_cache] = bound_to([Level::Socket, Level::Numa, Level::L3Cache]);
    BoundPlace { socket, numa, l3_cache }
}

/// Lets the ranks of a communicator agree on their shm communicator, if they have not done so. An intercommunicator has none, nor have
/// ranks on several nodes or those whose calls are compared.
pub(crate) fn agree(call: &'static str, comm: MPI_Comm) -> Result {
    let mut process = enter();
    let this = process.comm(comm)?;
    if !matches!(this.shm_comm, ShmCommPlace::Unasked) {
        return Ok(());
    }
    if !may_have_one(&process, this) {
        process.comm_mut(comm)?.shm_comm = ShmCommPlace::Never;
        return Ok(());
    }
    let (participants, rank) = (Participants::local(call, this), this.rank);
    let slot = if rank == 0 { process.claim_slot(0..ShmComm::SLOTS) } else { None };
    drop(process);
    let all = participants.allgather(&record(&[slot.map_or(NO_SLOT, u64::from)]))?;
    if !join(comm, number(&all, 0))? {
        enter().comm_mut(comm)?.shm_comm = ShmCommPlace::Never;
    }
    Ok(())
}

fn may_have_one(process: &Process, comm: &Comm) -> bool {
    let shares = comm.remote.is_none() && comm.group.size() > 1;
    shares && !process.checks.collectives && shape(process, comm).nodes.is_none()
}

/// What the first rank of a new communicator tells the others for [`join`], together with what they tell each other anyway. Such a
/// communicator has barriers and no data: it leaves the slots with buffers to others, and half of all slots.
pub(crate) fn offer(process: &mut Process, comm: MPI_Comm) -> Result<u64> {
    let this = process.comm(comm)?;
    if this.rank != 0 || !may_have_one(process, this) {
        return Ok(NO_SLOT);
    }
    let slots = (ShmComm::SLOTS / 2..LAST_SLOT).rev();
    Ok(process.claim_slot(slots).map_or(NO_SLOT, u64::from))
}

/// Takes the slot that the first rank offers. Without one, the communicator has no more than before.
pub(crate) fn join(comm: MPI_Comm, offered: u64) -> Result<bool> {
    let Ok(slot) = u32::try_from(offered) else { return Ok(false) };
    let mut process = enter();
    let this = process.comm(comm)?;
    let (rank, size) = (this.rank, this.group.size());
    let leader: Peer = this.group.peer(0).expect("a rank of the group");
    let place = process.join_shm_comm(ShmMember { leader, slot, rank, size });
    process.comm_mut(comm)?.shm_comm = place;
    Ok(true)
}
