//! The memory that a communicator's ranks share for its collectives, if they are all on this node.

use crate::coll::shape::shape;
use crate::coll::team_place::{Led, TeamPlace};
use crate::comm::agree::{Participants, number, record};
use crate::core::error::Result;
use crate::core::process::{Process, enter};
use crate::limits::LOOKS_AT_ONCE;
use tern_abi::MPI_Comm;
use tern_transport::{Peer, Seat, Team};

/// The slot of the world's team, which rank 0 leads.
const WORLD_SLOT: u32 = 0;

/// The slot in which the world's ranks meet for the last time, which rank 0 leads.
const LAST_SLOT: u32 = Team::SLOTS - 1;

impl Process {
    /// The seat in the world's team: that one needs no agreement.
    pub fn seat_in_world(&mut self, rank: u32, size: u32) -> TeamPlace {
        self.seat_led_by_first(WORLD_SLOT, rank, size)
    }

    /// The seat in its team at the end.
    pub fn seat_at_the_end(&mut self, rank: u32, size: u32) -> TeamPlace {
        self.seat_led_by_first(LAST_SLOT, rank, size)
    }

    fn seat_led_by_first(&mut self, slot: u32, rank: u32, size: u32) -> TeamPlace {
        if size < 2 || self.checks.collectives || self.job.as_ref().is_some_and(|job| job.hosts > 1) {
            return TeamPlace::Never;
        }
        self.sit_down(Seat { leader: 0, slot, rank, size })
    }

    fn sit_down(&mut self, seat: Seat) -> TeamPlace {
        let Some(mut team) = self.engine_mut().and_then(|engine| engine.transport().team(seat)) else {
            return TeamPlace::Never;
        };
        // Another rank may need this core.
        if !self.waiting.oversubscribed {
            team.set_looks(LOOKS_AT_ONCE);
        }
        TeamPlace::Here(Box::new(team))
    }

    /// A slot that this process leads, clear for a new team.
    fn lead_slot(&mut self) -> Option<u32> {
        if self.coll.teams_led.is_empty() {
            self.coll.teams_led = vec![Led::Free; Team::SLOTS as usize];
            for slot in [WORLD_SLOT, LAST_SLOT] {
                self.coll.teams_led[slot as usize] = Led::Taken;
            }
        }
        let slot = (0..Team::SLOTS).find(|&slot| self.is_clear(slot))?;
        self.coll.teams_led[slot as usize] = Led::Taken;
        Some(slot)
    }

    fn is_clear(&mut self, slot: u32) -> bool {
        match self.coll.teams_led[slot as usize] {
            Led::Free => true,
            Led::Taken => false,
            Led::Leaving(size) => {
                self.engine_mut().is_some_and(|engine| engine.transport().clear_team(slot, size))
            }
        }
    }

    /// This rank leaves the team of a communicator that goes away.
    pub fn leave_team(&mut self, place: TeamPlace) {
        let TeamPlace::Here(team) = place else { return };
        team.leave();
        let Seat { leader, slot, size, .. } = team.seat();
        if self.job.as_ref().is_some_and(|job| job.rank == leader)
            && let Some(led) = self.coll.teams_led.get_mut(slot as usize)
        {
            *led = Led::Leaving(size);
        }
    }
}

/// Lets the ranks of a communicator agree on their team, if they have not done so. An intercommunicator has none, nor have ranks on several nodes or those whose calls are compared.
pub fn agree(call: &'static str, comm: MPI_Comm) -> Result {
    let mut process = enter();
    let this = process.comm(comm)?;
    if !matches!(this.team, TeamPlace::Unasked) {
        return Ok(());
    }
    let without = this.remote.is_some() || this.group.size() < 2;
    if without || process.checks.collectives || shape(&process, this).nodes.is_some() {
        process.comm_mut(comm)?.team = TeamPlace::Never;
        return Ok(());
    }
    let (participants, rank, size) = (Participants::local(call, this), this.rank, this.group.size());
    let slot = if rank == 0 { process.lead_slot() } else { None };
    drop(process);
    let all = participants.allgather(&record(&[slot.map_or(u64::MAX, u64::from)]))?;
    let leader: Peer = participants.member(0);
    let mut process = enter();
    let place = match u32::try_from(number(&all, 0)) {
        Ok(slot) => process.sit_down(Seat { leader, slot, rank, size }),
        Err(_) => TeamPlace::Never,
    };
    process.comm_mut(comm)?.team = place;
    Ok(())
}
