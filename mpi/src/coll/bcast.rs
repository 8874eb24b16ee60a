//! Broadcast (MPI 5.0 section 6.4).

use super::setup::{Block, Setup, Side};
use super::{blocking, nonblocking, persistent, short};
use crate::core::boundary::{ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::core::error::Result;
use std::ffi::c_int;
use tern_abi::*;
use tern_coll::{CollectiveCall, TypedCount};

entry! {
    /// Broadcasts a buffer from the root to all.
    safe fn MPI_Bcast, MPI_Bcast_c<W>(
        buffer: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    ) on comm {
        let data = Block::of(buffer, count, datatype);
        if let Some(outcome) = short::bcast(comm, data, root) {
            return outcome;
        }
        blocking("MPI_Bcast", comm, |setup| bcast(setup, data, root))
    }

    /// [`MPI_Bcast`] as a request (section 6.12).
    safe fn MPI_Ibcast, MPI_Ibcast_c<W>(
        buffer: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm,
        request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let data = Block::of(buffer, count, datatype);
        nonblocking("MPI_Ibcast", comm, request, |setup| bcast(setup, data, root))
    }

    /// [`MPI_Bcast`] as a persistent request (section 6.13).
    safe fn MPI_Bcast_init, MPI_Bcast_init_c<W>(
        buffer: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm,
        info: MPI_Info, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let data = Block::of(buffer, count, datatype);
        persistent("MPI_Bcast_init", (comm, info), request, |setup| bcast(setup, data, root))
    }
}

/// Plans a broadcast.
pub(crate) fn bcast(setup: &mut Setup, block: Block, root: c_int) -> Result {
    let roles = setup.roles(root)?;
    let takes_part = roles.is_root || roles.is_leaf;
    let data = if takes_part { setup.recv(Side::Only, block)? } else { TypedCount::default() };
    setup.plan(&CollectiveCall::Bcast { data, root: roles.root });
    Ok(())
}
