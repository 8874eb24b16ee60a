//! The memory that a communicator's ranks share for its collectives, if they are all on this machine.

use crate::agree::{Circle, number, record};
use crate::coll::shape::shape;
use crate::error::Result;
use crate::process::{Process, enter};
use tern_abi::MPI_Comm;
use tern_transport::{Peer, Seat, Team};

/// What a communicator has of it.
#[derive(Debug, Default)]
pub enum TeamPlace {
    /// Its ranks agree on it in their first blocking collective.
    #[default]
    Unasked,
    /// There is none.
    Never,
    /// This rank's seat.
    Here(Box<Team>),
    /// A collective is using it now.
    InUse,
}

impl TeamPlace {
    /// The team, for a collective that will give it back by [`TeamPlace::Here`].
    pub fn take(&mut self) -> Option<Box<Team>> {
        match std::mem::replace(self, TeamPlace::InUse) {
            TeamPlace::Here(team) => Some(team),
            other => {
                *self = other;
                None
            }
        }
    }

    /// The team, if it is not in use.
    #[inline]
    pub fn team(&self) -> Option<&Team> {
        match self {
            TeamPlace::Here(team) => Some(team),
            _ => None,
        }
    }
}

/// A slot in this rank's region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Led {
    /// Nobody has used it, or all have left.
    Free,
    /// A communicator has it.
    Taken,
    /// The communicator, of so many ranks, is gone here; other ranks may still have it.
    Leaving(u32),
}

/// The slot of the world's team, which rank 0 leads.
const WORLD_SLOT: u32 = 0;

impl Process {
    /// The seat in the world's team: that one needs no agreement.
    pub fn seat_in_world(&mut self, rank: u32, size: u32) -> TeamPlace {
        if size < 2 || self.check_collectives || self.job.as_ref().is_some_and(|job| job.hosts > 1) {
            return TeamPlace::Never;
        }
        self.sit_down(Seat { leader: 0, slot: WORLD_SLOT, rank, size })
    }

    fn sit_down(&mut self, seat: Seat) -> TeamPlace {
        let team = self.engine_mut().and_then(|engine| engine.transport().team(seat));
        team.map_or(TeamPlace::Never, |team| TeamPlace::Here(Box::new(team)))
    }

    /// A slot that this process leads, clear for a new team.
    fn lead_slot(&mut self) -> Option<u32> {
        if self.teams_led.is_empty() {
            self.teams_led = vec![Led::Free; Team::SLOTS as usize];
            self.teams_led[WORLD_SLOT as usize] = Led::Taken;
        }
        let slot = (0..Team::SLOTS).find(|&slot| self.is_clear(slot))?;
        self.teams_led[slot as usize] = Led::Taken;
        Some(slot)
    }

    fn is_clear(&mut self, slot: u32) -> bool {
        match self.teams_led[slot as usize] {
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
            && let Some(led) = self.teams_led.get_mut(slot as usize)
        {
            *led = Led::Leaving(size);
        }
    }
}

/// Lets the ranks of a communicator agree on their team, if they have not done so. An intercommunicator has none, nor have ranks on several machines or those whose calls are compared.
pub fn agree(call: &'static str, comm: MPI_Comm) -> Result {
    let mut process = enter();
    let this = process.comm(comm)?;
    if !matches!(this.team, TeamPlace::Unasked) {
        return Ok(());
    }
    let without = this.remote.is_some() || this.group.size() < 2;
    if without || process.check_collectives || shape(&process, this).machines.is_some() {
        process.comm_mut(comm)?.team = TeamPlace::Never;
        return Ok(());
    }
    let (circle, rank, size) = (Circle::local(call, this), this.rank, this.group.size());
    let slot = if rank == 0 { process.lead_slot() } else { None };
    drop(process);
    let all = circle.allgather(&record(&[slot.map_or(u64::MAX, u64::from)]))?;
    let leader: Peer = circle.member(0);
    let mut process = enter();
    let place = match u32::try_from(number(&all, 0)) {
        Ok(slot) => process.sit_down(Seat { leader, slot, rank, size }),
        Err(_) => TeamPlace::Never,
    };
    process.comm_mut(comm)?.team = place;
    Ok(())
}
