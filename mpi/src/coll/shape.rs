//! What schedules have to know of a communicator: rank, sizes, which ranks share a node, and whether these can be
//! reached by multicast.

use crate::comm::object::Comm;
use crate::core::process::Process;
use tern_coll::{MulticastAbility, NodeRun, Nodes};

/// A communicator as schedules see it.
#[inline]
pub(crate) fn shape<'a>(process: &'a Process, comm: &'a Comm) -> tern_coll::CommView<'a> {
    let remote = comm.remote.as_ref().map(|remote| remote.size());
    let far = process.multicast.ranks_apart
        || process.worlds.has_met()
        || process.job.as_ref().is_some_and(|job| job.hosts > 1);
    let nodes = if far { nodes_of(process, comm) } else { None };
    let multicast = if matches!(comm.multicast_group, Some(Some(_))) { multicast(process) } else { None };
    tern_coll::CommView { rank: comm.rank, size: comm.group.size(), remote, nodes, multicast }
}

/// The nodes of a communicator's own group, found out at its first collective; `None` if there is one.
#[cold]
fn nodes_of<'a>(process: &'a Process, comm: &'a Comm) -> Option<&'a Nodes> {
    comm.nodes.get_or_init(|| find_nodes(process, comm)).as_deref()
}

fn find_nodes(process: &Process, comm: &Comm) -> Option<Box<Nodes>> {
    let size = comm.group.size();
    // Other worlds may have found out something else about multicasts, and all members must see the same nodes.
    let is_own = !comm.group.members().any(|member| process.is_foreign(member));
    if process.multicast.ranks_apart && is_own {
        let apart: Vec<NodeRun> = (0..size).map(|host| NodeRun { host, ranks: 1 }).collect();
        return (size > 1).then(|| Box::new(Nodes::new(&apart)));
    }
    nodes_of_first(process, comm, size).map(Box::new)
}

#[cold]
fn multicast(process: &Process) -> Option<MulticastAbility> {
    process.engine_ref().map(|engine| MulticastAbility { bytes_max: engine.multicast_bytes_max() as u64 })
}

/// The nodes of the first members of a communicator; `None` if there is one.
pub(crate) fn nodes_of_first(process: &Process, comm: &Comm, size: u32) -> Option<Nodes> {
    process.job.as_ref().filter(|job| job.hosts > 1 || process.worlds.has_met())?;
    let mut hosts = crate::spawn::Hosts::default();
    let members = comm.group.members().take(size as usize);
    let runs: Vec<NodeRun> =
        members.map(|peer| NodeRun { host: hosts.number(process, peer), ranks: 1 }).collect();
    let nodes = Nodes::new(&runs);
    (nodes.count() > 1).then_some(nodes)
}
