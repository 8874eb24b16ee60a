//! All to all (MPI 5.0 section 6.8).

use super::setup::{Block, Blocks, Setup, Side, distinct, distinct_blocks};
use super::{blocking, nonblocking, persistent, short};
use crate::core::boundary::{Array, ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::core::error::Result;
use tern_abi::*;
use tern_coll::CollectiveCall;

entry! {
    /// Sends a block from each process to each.
    safe fn MPI_Alltoall, MPI_Alltoall_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        let what = |send, recv| CollectiveCall::Alltoall { send, recv };
        if let Some(outcome) = short::exchange(("MPI_Alltoall", comm), (send, recv), what) {
            return outcome;
        }
        blocking("MPI_Alltoall", comm, |setup| alltoall(setup, send, recv))
    }

    /// Sends blocks of any length from each process to each, from and to any place.
    safe fn MPI_Alltoallv, MPI_Alltoallv_c<W>(
        sendbuf: ChoiceBuf, sendcounts: Array<'_, W::Count>, sdispls: Array<'_, W::Displ>, sendtype: MPI_Datatype,
        recvbuf: ChoiceBufMut, recvcounts: Array<'_, W::Count>, rdispls: Array<'_, W::Displ>, recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) on comm {
        let send = Blocks::of(sendbuf, sendcounts, sdispls, sendtype);
        let recv = Blocks::of(recvbuf, recvcounts, rdispls, recvtype);
        if let Some(outcome) = short::alltoallv(comm, send, recv) {
            return outcome;
        }
        blocking("MPI_Alltoallv", comm, |setup| alltoallv(setup, send, recv))
    }

    /// Sends blocks of any length and datatype from each process to each, displacements in bytes.
    safe fn MPI_Alltoallw, MPI_Alltoallw_c<W>(
        sendbuf: ChoiceBuf, sendcounts: Array<'_, W::Count>, sdispls: Array<'_, W::Displ>,
        sendtypes: Array<'_, MPI_Datatype>, recvbuf: ChoiceBufMut, recvcounts: Array<'_, W::Count>,
        rdispls: Array<'_, W::Displ>, recvtypes: Array<'_, MPI_Datatype>, comm: MPI_Comm,
    ) on comm {
        let send = Blocks::of(sendbuf, sendcounts, sdispls, sendtypes);
        let recv = Blocks::of(recvbuf, recvcounts, rdispls, recvtypes);
        blocking("MPI_Alltoallw", comm, |setup| alltoallw(setup, send, recv))
    }

    /// [`MPI_Alltoall`] as a request (section 6.12).
    safe fn MPI_Ialltoall, MPI_Ialltoall_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        nonblocking("MPI_Ialltoall", comm, request, |setup| alltoall(setup, send, recv))
    }

    /// [`MPI_Alltoallv`] as a request (section 6.12).
    safe fn MPI_Ialltoallv, MPI_Ialltoallv_c<W>(
        sendbuf: ChoiceBuf, sendcounts: Array<'_, W::Count>, sdispls: Array<'_, W::Displ>, sendtype: MPI_Datatype,
        recvbuf: ChoiceBufMut, recvcounts: Array<'_, W::Count>, rdispls: Array<'_, W::Displ>, recvtype: MPI_Datatype,
        comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Blocks::of(sendbuf, sendcounts, sdispls, sendtype);
        let recv = Blocks::of(recvbuf, recvcounts, rdispls, recvtype);
        nonblocking("MPI_Ialltoallv", comm, request, |setup| alltoallv(setup, send, recv))
    }

    /// [`MPI_Alltoallw`] as a request (section 6.12).
    safe fn MPI_Ialltoallw, MPI_Ialltoallw_c<W>(
        sendbuf: ChoiceBuf, sendcounts: Array<'_, W::Count>, sdispls: Array<'_, W::Displ>,
        sendtypes: Array<'_, MPI_Datatype>, recvbuf: ChoiceBufMut, recvcounts: Array<'_, W::Count>,
        rdispls: Array<'_, W::Displ>, recvtypes: Array<'_, MPI_Datatype>, comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Blocks::of(sendbuf, sendcounts, sdispls, sendtypes);
        let recv = Blocks::of(recvbuf, recvcounts, rdispls, recvtypes);
        nonblocking("MPI_Ialltoallw", comm, request, |setup| alltoallw(setup, send, recv))
    }

    /// [`MPI_Alltoall`] as a persistent request (section 6.13).
    safe fn MPI_Alltoall_init, MPI_Alltoall_init_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        persistent("MPI_Alltoall_init", (comm, info), request, |setup| alltoall(setup, send, recv))
    }

    /// [`MPI_Alltoallv`] as a persistent request (section 6.13).
    safe fn MPI_Alltoallv_init, MPI_Alltoallv_init_c<W>(
        sendbuf: ChoiceBuf, sendcounts: Array<'_, W::Count>, sdispls: Array<'_, W::Displ>, sendtype: MPI_Datatype,
        recvbuf: ChoiceBufMut, recvcounts: Array<'_, W::Count>, rdispls: Array<'_, W::Displ>, recvtype: MPI_Datatype,
        comm: MPI_Comm, info: MPI_Info, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Blocks::of(sendbuf, sendcounts, sdispls, sendtype);
        let recv = Blocks::of(recvbuf, recvcounts, rdispls, recvtype);
        persistent("MPI_Alltoallv_init", (comm, info), request, |setup| alltoallv(setup, send, recv))
    }

    /// [`MPI_Alltoallw`] as a persistent request (section 6.13).
    safe fn MPI_Alltoallw_init, MPI_Alltoallw_init_c<W>(
        sendbuf: ChoiceBuf, sendcounts: Array<'_, W::Count>, sdispls: Array<'_, W::Displ>,
        sendtypes: Array<'_, MPI_Datatype>, recvbuf: ChoiceBufMut, recvcounts: Array<'_, W::Count>,
        rdispls: Array<'_, W::Displ>, recvtypes: Array<'_, MPI_Datatype>, comm: MPI_Comm, info: MPI_Info,
        request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Blocks::of(sendbuf, sendcounts, sdispls, sendtypes);
        let recv = Blocks::of(recvbuf, recvcounts, rdispls, recvtypes);
        persistent("MPI_Alltoallw_init", (comm, info), request, |setup| alltoallw(setup, send, recv))
    }
}

/// Plans an alltoall.
pub(crate) fn alltoall(setup: &mut Setup, send: Block, recv: Block) -> Result {
    let own = match setup.in_place(Side::Send, send.buf, true)? {
        true => None,
        false => Some(setup.send(send)?),
    };
    let all = setup.recv(Side::Recv, recv)?;
    distinct(send, recv, all.layout.size)?;
    setup.plan(&CollectiveCall::Alltoall { send: own, recv: all });
    Ok(())
}

/// Plans an alltoallv.
pub(crate) fn alltoallv(setup: &mut Setup, send: Blocks<'_>, recv: Blocks<'_>) -> Result {
    let own = match setup.in_place(Side::Send, send.buf, true)? {
        true => None,
        false => Some(setup.send_blocks(&send, setup.peers())?),
    };
    let all = setup.recv_blocks(&recv, setup.peers())?;
    if let Some(own) = &own {
        distinct_blocks((&send, own), (&recv, &all))?;
    }
    setup.plan(&CollectiveCall::Alltoallv { send: own, recv: all });
    Ok(())
}

/// Plans an alltoallw.
pub(crate) fn alltoallw(
    setup: &mut Setup,
    send: Blocks<'_, Array<'_, MPI_Datatype>>,
    recv: Blocks<'_, Array<'_, MPI_Datatype>>,
) -> Result {
    let (mut send_layouts, mut recv_layouts, ranks) = (Vec::new(), Vec::new(), setup.peers());
    let own = match setup.in_place(Side::Send, send.buf, true)? {
        true => None,
        false => Some(setup.each_blocks(Side::Send, &send, ranks, &mut send_layouts)?),
    };
    let all = setup.each_blocks(Side::Recv, &recv, ranks, &mut recv_layouts)?;
    if let Some(own) = &own {
        distinct_blocks((&send, own), (&recv, &all))?;
    }
    setup.plan(&CollectiveCall::Alltoallw { send: own, recv: all });
    Ok(())
}
