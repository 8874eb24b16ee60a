//! What schedules have to know of a communicator: rank, sizes, which ranks share a machine, and whether these can be
//! reached by multicast.

use crate::comm::object::Comm;
use crate::core::process::Process;
use tern_coll::{Machines, Multicast, Run};

/// A communicator as schedules see it.
#[inline]
pub fn shape<'a>(process: &'a Process, comm: &'a Comm) -> tern_coll::Comm<'a> {
    let remote = comm.remote.as_ref().map(|remote| remote.size());
    let far = process.ranks_apart || process.job.as_ref().is_some_and(|job| job.hosts > 1);
    let machines = if far { machines(process, comm) } else { None };
    let multicast = if matches!(comm.circle, Some(Some(_))) { multicast(process) } else { None };
    tern_coll::Comm { rank: comm.rank, size: comm.group.size(), remote, machines, multicast }
}

/// The machines of a communicator's own group, found out at its first collective; `None` if there is one.
#[cold]
fn machines<'a>(process: &'a Process, comm: &'a Comm) -> Option<&'a Machines> {
    comm.machines.get_or_init(|| find_machines(process, comm)).as_deref()
}

fn find_machines(process: &Process, comm: &Comm) -> Option<Box<Machines>> {
    let size = comm.group.size();
    if process.ranks_apart {
        let apart: Vec<Run> = (0..size).map(|host| Run { host, ranks: 1 }).collect();
        return (size > 1).then(|| Box::new(Machines::new(&apart)));
    }
    machines_of_first(process, comm, size).map(Box::new)
}

#[cold]
fn multicast(process: &Process) -> Option<Multicast> {
    process.engine_ref().map(|engine| Multicast { bytes_max: engine.cast_bytes_max() as u64 })
}

/// The machines of the first members of a communicator; `None` if there is one.
pub fn machines_of_first(process: &Process, comm: &Comm, size: u32) -> Option<Machines> {
    let job = process.job.as_ref().filter(|job| job.hosts > 1)?;
    let members = comm.group.members().take(size as usize);
    let runs: Vec<Run> = members.map(|peer| Run { host: job.host_of(peer), ranks: 1 }).collect();
    let machines = Machines::new(&runs);
    (machines.count() > 1).then_some(machines)
}
