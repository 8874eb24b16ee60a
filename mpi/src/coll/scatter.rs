//! Scatter (MPI 5.0 section 6.6).

use super::setup::{Block, Blocks, Roles, Setup, Side, distinct_in, distinct_in_blocks};
use super::{blocking, nonblocking, persistent, short_gather};
use crate::core::boundary::{Array, ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::core::error::Result;
use std::ffi::c_int;
use tern_abi::*;
use tern_coll::{CollectiveCall, TypedCount, Vector};

entry! {
    /// Sends a block of the root to each process.
    safe fn MPI_Scatter, MPI_Scatter_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        if let Some(outcome) = short_gather::scatter(comm, send, recv, root) {
            return outcome;
        }
        blocking("MPI_Scatter", comm, |setup| scatter(setup, send, recv, root))
    }

    /// Sends blocks of any length and from any place of the root to each process.
    safe fn MPI_Scatterv, MPI_Scatterv_c<W>(
        sendbuf: ChoiceBuf, sendcounts: Array<'_, W::Count>, displs: Array<'_, W::Displ>, sendtype: MPI_Datatype,
        recvbuf: ChoiceBufMut, recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    ) on comm {
        let send = Blocks::of(sendbuf, sendcounts, displs, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        if let Some(outcome) = short_gather::scatterv(comm, send, recv, root) {
            return outcome;
        }
        blocking("MPI_Scatterv", comm, |setup| scatterv(setup, send, recv, root))
    }

    /// [`MPI_Scatter`] as a request (section 6.12).
    safe fn MPI_Iscatter, MPI_Iscatter_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        nonblocking("MPI_Iscatter", comm, request, |setup| scatter(setup, send, recv, root))
    }

    /// [`MPI_Scatterv`] as a request (section 6.12).
    safe fn MPI_Iscatterv, MPI_Iscatterv_c<W>(
        sendbuf: ChoiceBuf, sendcounts: Array<'_, W::Count>, displs: Array<'_, W::Displ>, sendtype: MPI_Datatype,
        recvbuf: ChoiceBufMut, recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
        request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Blocks::of(sendbuf, sendcounts, displs, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        nonblocking("MPI_Iscatterv", comm, request, |setup| scatterv(setup, send, recv, root))
    }

    /// [`MPI_Scatter`] as a persistent request (section 6.13).
    safe fn MPI_Scatter_init, MPI_Scatter_init_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
        request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        persistent("MPI_Scatter_init", (comm, info), request, |setup| scatter(setup, send, recv, root))
    }

    /// [`MPI_Scatterv`] as a persistent request (section 6.13).
    safe fn MPI_Scatterv_init, MPI_Scatterv_init_c<W>(
        sendbuf: ChoiceBuf, sendcounts: Array<'_, W::Count>, displs: Array<'_, W::Displ>, sendtype: MPI_Datatype,
        recvbuf: ChoiceBufMut, recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
        info: MPI_Info, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Blocks::of(sendbuf, sendcounts, displs, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        persistent("MPI_Scatterv_init", (comm, info), request, |setup| scatterv(setup, send, recv, root))
    }
}

/// Plans a scatter.
pub(crate) fn scatter(setup: &mut Setup, send: Block, recv: Block, root: c_int) -> Result {
    let roles = setup.roles(root)?;
    let all = if roles.is_root { setup.send(send)? } else { TypedCount::default() };
    let own = share(setup, recv, roles)?;
    if roles.is_root && roles.is_leaf {
        distinct_in(setup, send, recv, all.layout)?;
    }
    setup.plan(&CollectiveCall::Scatter { send: all, recv: own, root: roles.root });
    Ok(())
}

/// Plans a scatterv.
pub(crate) fn scatterv(setup: &mut Setup, send: Blocks<'_>, recv: Block, root: c_int) -> Result {
    let roles = setup.roles(root)?;
    let all = match roles.is_root {
        true => setup.send_blocks(&send, setup.peers())?,
        false => Vector::default(),
    };
    let own = share(setup, recv, roles)?;
    if roles.is_root && roles.is_leaf {
        distinct_in_blocks(setup, &send, &all, recv)?;
    }
    setup.plan(&CollectiveCall::Scatterv { send: all, recv: own, root: roles.root });
    Ok(())
}

/// Where this rank receives; `None` in place.
fn share(setup: &mut Setup, recv: Block, roles: Roles) -> Result<Option<TypedCount>> {
    if !roles.is_leaf {
        return Ok(Some(TypedCount::default()));
    }
    if setup.in_place(Side::Recv, recv.buf, roles.is_root)? {
        return Ok(None);
    }
    setup.recv(Side::Recv, recv).map(Some)
}
