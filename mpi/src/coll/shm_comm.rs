//! The memory that a communicator's ranks share for its collectives, if they are all on this node.

use crate::coll::shape::shape;
use crate::coll::shm_comm_place::{LeaderSlot, ShmCommPlace};
use crate::comm::agree::{Participants, number, record};
use crate::core::error::Result;
use crate::core::process::{Process, enter};
use crate::limits::LOOKS_AT_ONCE;
use tern_abi::MPI_Comm;
use tern_shm::{ShmComm, ShmMember};
use tern_transport::Peer;

/// The slot of the world, which rank 0 leads.
const WORLD_SLOT: u32 = 0;

/// The slot of the world's last barrier, which rank 0 leads.
const LAST_SLOT: u32 = ShmComm::SLOTS - 1;

impl Process {
    /// The world's shm communicator: that one needs no agreement.
    pub fn world_shm_comm(&mut self, rank: u32, size: u32) -> ShmCommPlace {
        self.shm_comm_of_first(WORLD_SLOT, rank, size)
    }

    /// The world's shm communicator at the end.
    pub fn final_shm_comm(&mut self, rank: u32, size: u32) -> ShmCommPlace {
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
        // Another rank may need this core.
        if !self.waiting.oversubscribed {
            shm_comm.set_looks(LOOKS_AT_ONCE);
        }
        ShmCommPlace::Here(Box::new(shm_comm))
    }

    /// A slot that this process leads, clear for a new shm communicator.
    fn claim_slot(&mut self) -> Option<u32> {
        if self.coll.leader_slots.is_empty() {
            self.coll.leader_slots = vec![LeaderSlot::Free; ShmComm::SLOTS as usize];
            for slot in [WORLD_SLOT, LAST_SLOT] {
                self.coll.leader_slots[slot as usize] = LeaderSlot::Taken;
            }
        }
        let slot = (0..ShmComm::SLOTS).find(|&slot| self.is_clear(slot))?;
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
    pub fn leave_shm_comm(&mut self, place: ShmCommPlace) {
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

/// Lets the ranks of a communicator agree on their shm communicator, if they have not done so. An intercommunicator has none, nor have
/// ranks on several nodes or those whose calls are compared.
pub fn agree(call: &'static str, comm: MPI_Comm) -> Result {
    let mut process = enter();
    let this = process.comm(comm)?;
    if !matches!(this.shm_comm, ShmCommPlace::Unasked) {
        return Ok(());
    }
    let without = this.remote.is_some() || this.group.size() < 2;
    if without || process.checks.collectives || shape(&process, this).nodes.is_some() {
        process.comm_mut(comm)?.shm_comm = ShmCommPlace::Never;
        return Ok(());
    }
    let (participants, rank, size) = (Participants::local(call, this), this.rank, this.group.size());
    let slot = if rank == 0 { process.claim_slot() } else { None };
    drop(process);
    let all = participants.allgather(&record(&[slot.map_or(u64::MAX, u64::from)]))?;
    let leader: Peer = participants.member(0);
    let mut process = enter();
    let place = match u32::try_from(number(&all, 0)) {
        Ok(slot) => process.join_shm_comm(ShmMember { leader, slot, rank, size }),
        Err(_) => ShmCommPlace::Never,
    };
    process.comm_mut(comm)?.shm_comm = place;
    Ok(())
}
