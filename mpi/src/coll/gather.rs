//! Gather (MPI 5.0 section 6.5).

use super::setup::{Block, Blocks, Roles, Setup, Side, distinct_in, distinct_in_blocks};
use super::{blocking, nonblocking, persistent, short_gather};
use crate::core::boundary::{Array, ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::core::error::Result;
use std::ffi::c_int;
use tern_abi::*;
use tern_coll::{CollectiveCall, TypedCount, Vector};

entry! {
    /// Gathers a block of each process at the root, in the order of ranks.
    safe fn MPI_Gather, MPI_Gather_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        if let Some(outcome) = short_gather::gather(comm, send, recv, root) {
            return outcome;
        }
        blocking("MPI_Gather", comm, |setup| gather(setup, send, recv, root))
    }

    /// Gathers blocks of any length at the root, to any place.
    safe fn MPI_Gatherv, MPI_Gatherv_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcounts: Array<'_, W::Count>, displs: Array<'_, W::Displ>, recvtype: MPI_Datatype, root: c_int,
        comm: MPI_Comm,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Blocks::of(recvbuf, recvcounts, displs, recvtype);
        if let Some(outcome) = short_gather::gatherv(comm, send, recv, root) {
            return outcome;
        }
        blocking("MPI_Gatherv", comm, |setup| gatherv(setup, send, recv, root))
    }

    /// [`MPI_Gather`] as a request (section 6.12).
    safe fn MPI_Igather, MPI_Igather_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        nonblocking("MPI_Igather", comm, request, |setup| gather(setup, send, recv, root))
    }

    /// [`MPI_Gatherv`] as a request (section 6.12).
    safe fn MPI_Igatherv, MPI_Igatherv_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcounts: Array<'_, W::Count>, displs: Array<'_, W::Displ>, recvtype: MPI_Datatype, root: c_int,
        comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Blocks::of(recvbuf, recvcounts, displs, recvtype);
        nonblocking("MPI_Igatherv", comm, request, |setup| gatherv(setup, send, recv, root))
    }

    /// [`MPI_Gather`] as a persistent request (section 6.13).
    safe fn MPI_Gather_init, MPI_Gather_init_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
        request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        persistent("MPI_Gather_init", (comm, info), request, |setup| gather(setup, send, recv, root))
    }

    /// [`MPI_Gatherv`] as a persistent request (section 6.13).
    safe fn MPI_Gatherv_init, MPI_Gatherv_init_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcounts: Array<'_, W::Count>, displs: Array<'_, W::Displ>, recvtype: MPI_Datatype, root: c_int,
        comm: MPI_Comm, info: MPI_Info, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Blocks::of(recvbuf, recvcounts, displs, recvtype);
        persistent("MPI_Gatherv_init", (comm, info), request, |setup| gatherv(setup, send, recv, root))
    }
}

/// Plans a gather.
pub(crate) fn gather(setup: &mut Setup, send: Block, recv: Block, root: c_int) -> Result {
    let roles = setup.roles(root)?;
    let own = contribution(setup, send, roles)?;
    let all = if roles.is_root { setup.recv(Side::Recv, recv)? } else { TypedCount::default() };
    if roles.is_root && roles.is_leaf {
        distinct_in(setup, recv, send, all.layout)?;
    }
    setup.plan(&CollectiveCall::Gather { send: own, recv: all, root: roles.root });
    Ok(())
}

/// Plans a gatherv.
pub(crate) fn gatherv(setup: &mut Setup, send: Block, recv: Blocks<'_>, root: c_int) -> Result {
    let roles = setup.roles(root)?;
    let own = contribution(setup, send, roles)?;
    let all = match roles.is_root {
        true => setup.recv_blocks(&recv, setup.peers())?,
        false => Vector::default(),
    };
    if roles.is_root && roles.is_leaf {
        distinct_in_blocks(setup, &recv, &all, send)?;
    }
    setup.plan(&CollectiveCall::Gatherv { send: own, recv: all, root: roles.root });
    Ok(())
}

/// What this rank sends; `None` in place.
fn contribution(setup: &mut Setup, send: Block, roles: Roles) -> Result<Option<TypedCount>> {
    if !roles.is_leaf {
        return Ok(Some(TypedCount::default()));
    }
    if setup.in_place(Side::Send, send.buf, roles.is_root)? { Ok(None) } else { setup.send(send).map(Some) }
}
