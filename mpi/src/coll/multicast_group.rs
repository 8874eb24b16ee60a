//! Where the collectives of a communicator can multicast.

use super::shape::shape;
use crate::core::error::Result;
use crate::core::process::Process;
use tern_abi::MPI_Comm;
use tern_transport::Peer;

/// Makes the ranks of a communicator that spans nodes known for multicasts, before its first collective by a schedule. All
/// its ranks come here with the same call, and get the same answer.
#[inline]
pub(super) fn ask(process: &mut Process, comm: MPI_Comm) -> Result {
    if process.comm(comm)?.multicast_group.is_none() { find(process, comm) } else { Ok(()) }
}

#[cold]
fn find(process: &mut Process, comm: MPI_Comm) -> Result {
    let this = process.comm(comm)?;
    let spans_nodes = this.remote.is_none() && shape(process, this).nodes.is_some();
    let members: Option<Vec<Peer>> = spans_nodes.then(|| this.group.members().collect());
    let multicast_group = match members {
        Some(members) => process.engine()?.multicast_group(&members),
        None => None,
    };
    process.comm_mut(comm)?.multicast_group = Some(multicast_group);
    Ok(())
}
