//! Allgather (MPI 5.0 section 6.7).

use super::setup::{Block, Blocks, Setup, Side, distinct_in, distinct_in_blocks};
use super::{blocking, nonblocking, persistent};
use crate::core::boundary::{Array, ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::core::error::Result;
use tern_abi::*;
use tern_coll::{CollectiveCall, TypedCount};

entry! {
    /// From all to all, in the order of ranks.
    safe fn MPI_Allgather, MPI_Allgather_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        blocking("MPI_Allgather", comm, |setup| allgather(setup, send, recv))
    }

    /// From all to all, blocks of any length to any place.
    safe fn MPI_Allgatherv, MPI_Allgatherv_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcounts: Array<'_, W::Count>, displs: Array<'_, W::Displ>, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Blocks::of(recvbuf, recvcounts, displs, recvtype);
        blocking("MPI_Allgatherv", comm, |setup| allgatherv(setup, send, recv))
    }

    /// [`MPI_Allgather`] as a request (section 6.12).
    safe fn MPI_Iallgather, MPI_Iallgather_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        nonblocking("MPI_Iallgather", comm, request, |setup| allgather(setup, send, recv))
    }

    /// [`MPI_Allgatherv`] as a request (section 6.12).
    safe fn MPI_Iallgatherv, MPI_Iallgatherv_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcounts: Array<'_, W::Count>, displs: Array<'_, W::Displ>, recvtype: MPI_Datatype, comm: MPI_Comm,
        request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Blocks::of(recvbuf, recvcounts, displs, recvtype);
        nonblocking("MPI_Iallgatherv", comm, request, |setup| allgatherv(setup, send, recv))
    }

    /// [`MPI_Allgather`] as a persistent request (section 6.13).
    safe fn MPI_Allgather_init, MPI_Allgather_init_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        persistent("MPI_Allgather_init", (comm, info), request, |setup| allgather(setup, send, recv))
    }

    /// [`MPI_Allgatherv`] as a persistent request (section 6.13).
    safe fn MPI_Allgatherv_init, MPI_Allgatherv_init_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcounts: Array<'_, W::Count>, displs: Array<'_, W::Displ>, recvtype: MPI_Datatype, comm: MPI_Comm,
        info: MPI_Info, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Blocks::of(recvbuf, recvcounts, displs, recvtype);
        persistent("MPI_Allgatherv_init", (comm, info), request, |setup| allgatherv(setup, send, recv))
    }
}

/// Plans an allgather.
pub fn allgather(setup: &mut Setup, send: Block, recv: Block) -> Result {
    let own = contribution(setup, send)?;
    let all = setup.recv(Side::Recv, recv)?;
    distinct_in(setup, recv, send, all.layout)?;
    setup.plan(&CollectiveCall::Allgather { send: own, recv: all });
    Ok(())
}

/// Plans an allgatherv.
pub fn allgatherv(setup: &mut Setup, send: Block, recv: Blocks<'_>) -> Result {
    let own = contribution(setup, send)?;
    let all = setup.recv_blocks(&recv, setup.peers())?;
    distinct_in_blocks(setup, &recv, &all, send)?;
    setup.plan(&CollectiveCall::Allgatherv { send: own, recv: all });
    Ok(())
}

/// What this rank sends; `None` in place.
fn contribution(setup: &mut Setup, send: Block) -> Result<Option<TypedCount>> {
    if setup.in_place(Side::Send, send.buf, true)? { Ok(None) } else { setup.send(send).map(Some) }
}
