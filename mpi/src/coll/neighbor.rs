//! Neighborhood collectives (MPI 5.0 sections 8.6 to 8.8): every process sends to its destinations and receives from its
//! sources, which its topology names.

use tern_abi::*;
use tern_coll::CollectiveCall;

use crate::coll::setup::{Block, Blocks, Setup, Side};
use crate::coll::{blocking, nonblocking, persistent};
use crate::core::boundary::{Array, ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::core::error::Result;

entry! {
    /// The same block to every destination, one from every source.
    safe fn MPI_Neighbor_allgather, MPI_Neighbor_allgather_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        blocking("MPI_Neighbor_allgather", comm, |setup| allgather(setup, send, recv))
    }

    /// The same block to every destination, from the sources blocks of any length to any place.
    safe fn MPI_Neighbor_allgatherv, MPI_Neighbor_allgatherv_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcounts: Array<'_, W::Count>, displs: Array<'_, W::Displ>, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Blocks::of(recvbuf, recvcounts, displs, recvtype);
        blocking("MPI_Neighbor_allgatherv", comm, |setup| allgatherv(setup, send, recv))
    }

    /// A block to each destination, one from each source.
    safe fn MPI_Neighbor_alltoall, MPI_Neighbor_alltoall_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        blocking("MPI_Neighbor_alltoall", comm, |setup| alltoall(setup, send, recv))
    }

    /// Blocks of any length, from and to any place.
    safe fn MPI_Neighbor_alltoallv, MPI_Neighbor_alltoallv_c<W>(
        sendbuf: ChoiceBuf, sendcounts: Array<'_, W::Count>, sdispls: Array<'_, W::Displ>, sendtype: MPI_Datatype,
        recvbuf: ChoiceBufMut, recvcounts: Array<'_, W::Count>, rdispls: Array<'_, W::Displ>, recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) on comm {
        let send = Blocks::of(sendbuf, sendcounts, sdispls, sendtype);
        let recv = Blocks::of(recvbuf, recvcounts, rdispls, recvtype);
        blocking("MPI_Neighbor_alltoallv", comm, |setup| alltoallv(setup, send, recv))
    }

    /// Blocks of any length and datatype, displacements in bytes.
    safe fn MPI_Neighbor_alltoallw, MPI_Neighbor_alltoallw_c<W>(
        sendbuf: ChoiceBuf, sendcounts: Array<'_, W::Count>, sdispls: Array<'_, MPI_Aint>,
        sendtypes: Array<'_, MPI_Datatype>, recvbuf: ChoiceBufMut, recvcounts: Array<'_, W::Count>,
        rdispls: Array<'_, MPI_Aint>, recvtypes: Array<'_, MPI_Datatype>, comm: MPI_Comm,
    ) on comm {
        let send = Blocks::of(sendbuf, sendcounts, sdispls, sendtypes);
        let recv = Blocks::of(recvbuf, recvcounts, rdispls, recvtypes);
        blocking("MPI_Neighbor_alltoallw", comm, |setup| alltoallw(setup, send, recv))
    }
}

entry! {
    /// [`MPI_Neighbor_allgather`] as a request (section 8.7).
    safe fn MPI_Ineighbor_allgather, MPI_Ineighbor_allgather_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        nonblocking("MPI_Ineighbor_allgather", comm, request, |setup| allgather(setup, send, recv))
    }

    /// [`MPI_Neighbor_allgatherv`] as a request (section 8.7).
    safe fn MPI_Ineighbor_allgatherv, MPI_Ineighbor_allgatherv_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcounts: Array<'_, W::Count>, displs: Array<'_, W::Displ>, recvtype: MPI_Datatype, comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Blocks::of(recvbuf, recvcounts, displs, recvtype);
        nonblocking("MPI_Ineighbor_allgatherv", comm, request, |setup| allgatherv(setup, send, recv))
    }

    /// [`MPI_Neighbor_alltoall`] as a request (section 8.7).
    safe fn MPI_Ineighbor_alltoall, MPI_Ineighbor_alltoall_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        nonblocking("MPI_Ineighbor_alltoall", comm, request, |setup| alltoall(setup, send, recv))
    }

    /// [`MPI_Neighbor_alltoallv`] as a request (section 8.7).
    safe fn MPI_Ineighbor_alltoallv, MPI_Ineighbor_alltoallv_c<W>(
        sendbuf: ChoiceBuf, sendcounts: Array<'_, W::Count>, sdispls: Array<'_, W::Displ>, sendtype: MPI_Datatype,
        recvbuf: ChoiceBufMut, recvcounts: Array<'_, W::Count>, rdispls: Array<'_, W::Displ>, recvtype: MPI_Datatype,
        comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Blocks::of(sendbuf, sendcounts, sdispls, sendtype);
        let recv = Blocks::of(recvbuf, recvcounts, rdispls, recvtype);
        nonblocking("MPI_Ineighbor_alltoallv", comm, request, |setup| alltoallv(setup, send, recv))
    }

    /// [`MPI_Neighbor_alltoallw`] as a request (section 8.7).
    safe fn MPI_Ineighbor_alltoallw, MPI_Ineighbor_alltoallw_c<W>(
        sendbuf: ChoiceBuf, sendcounts: Array<'_, W::Count>, sdispls: Array<'_, MPI_Aint>,
        sendtypes: Array<'_, MPI_Datatype>, recvbuf: ChoiceBufMut, recvcounts: Array<'_, W::Count>,
        rdispls: Array<'_, MPI_Aint>, recvtypes: Array<'_, MPI_Datatype>, comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Blocks::of(sendbuf, sendcounts, sdispls, sendtypes);
        let recv = Blocks::of(recvbuf, recvcounts, rdispls, recvtypes);
        nonblocking("MPI_Ineighbor_alltoallw", comm, request, |setup| alltoallw(setup, send, recv))
    }
}

entry! {
    /// [`MPI_Neighbor_allgather`] as a persistent request (section 8.8).
    safe fn MPI_Neighbor_allgather_init, MPI_Neighbor_allgather_init_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        persistent("MPI_Neighbor_allgather_init", (comm, info), request, |setup| allgather(setup, send, recv))
    }

    /// [`MPI_Neighbor_allgatherv`] as a persistent request (section 8.8).
    safe fn MPI_Neighbor_allgatherv_init, MPI_Neighbor_allgatherv_init_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcounts: Array<'_, W::Count>, displs: Array<'_, W::Displ>, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Blocks::of(recvbuf, recvcounts, displs, recvtype);
        persistent("MPI_Neighbor_allgatherv_init", (comm, info), request, |setup| allgatherv(setup, send, recv))
    }

    /// [`MPI_Neighbor_alltoall`] as a persistent request (section 8.8).
    safe fn MPI_Neighbor_alltoall_init, MPI_Neighbor_alltoall_init_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        persistent("MPI_Neighbor_alltoall_init", (comm, info), request, |setup| alltoall(setup, send, recv))
    }

    /// [`MPI_Neighbor_alltoallv`] as a persistent request (section 8.8).
    safe fn MPI_Neighbor_alltoallv_init, MPI_Neighbor_alltoallv_init_c<W>(
        sendbuf: ChoiceBuf, sendcounts: Array<'_, W::Count>, sdispls: Array<'_, W::Displ>, sendtype: MPI_Datatype,
        recvbuf: ChoiceBufMut, recvcounts: Array<'_, W::Count>, rdispls: Array<'_, W::Displ>, recvtype: MPI_Datatype,
        comm: MPI_Comm, info: MPI_Info,
        request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Blocks::of(sendbuf, sendcounts, sdispls, sendtype);
        let recv = Blocks::of(recvbuf, recvcounts, rdispls, recvtype);
        persistent("MPI_Neighbor_alltoallv_init", (comm, info), request, |setup| alltoallv(setup, send, recv))
    }

    /// [`MPI_Neighbor_alltoallw`] as a persistent request (section 8.8).
    safe fn MPI_Neighbor_alltoallw_init, MPI_Neighbor_alltoallw_init_c<W>(
        sendbuf: ChoiceBuf, sendcounts: Array<'_, W::Count>, sdispls: Array<'_, MPI_Aint>,
        sendtypes: Array<'_, MPI_Datatype>, recvbuf: ChoiceBufMut, recvcounts: Array<'_, W::Count>,
        rdispls: Array<'_, MPI_Aint>, recvtypes: Array<'_, MPI_Datatype>, comm: MPI_Comm, info: MPI_Info,
        request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let send = Blocks::of(sendbuf, sendcounts, sdispls, sendtypes);
        let recv = Blocks::of(recvbuf, recvcounts, rdispls, recvtypes);
        persistent("MPI_Neighbor_alltoallw_init", (comm, info), request, |setup| alltoallw(setup, send, recv))
    }
}

/// Plans an allgather among neighbors.
fn allgather(setup: &mut Setup, send: Block, recv: Block) -> Result {
    let around = setup.neighbors()?;
    let (send, recv) = (setup.send(send)?, setup.recv(Side::Recv, recv)?);
    setup.plan(&CollectiveCall::NeighborAllgather { around, send, recv });
    Ok(())
}

/// Plans an allgatherv among neighbors.
fn allgatherv(setup: &mut Setup, send: Block, recv: Blocks<'_>) -> Result {
    let around = setup.neighbors()?;
    let send = setup.send(send)?;
    let recv = setup.recv_blocks(&recv, around.sources.len() as u32)?;
    setup.plan(&CollectiveCall::NeighborAllgatherv { around, send, recv });
    Ok(())
}

/// Plans an alltoall among neighbors.
fn alltoall(setup: &mut Setup, send: Block, recv: Block) -> Result {
    let around = setup.neighbors()?;
    let (send, recv) = (setup.send(send)?, setup.recv(Side::Recv, recv)?);
    setup.plan(&CollectiveCall::NeighborAlltoall { around, send, recv });
    Ok(())
}

/// Plans an alltoallv among neighbors.
fn alltoallv(setup: &mut Setup, send: Blocks<'_>, recv: Blocks<'_>) -> Result {
    let around = setup.neighbors()?;
    let send = setup.send_blocks(&send, around.destinations.len() as u32)?;
    let recv = setup.recv_blocks(&recv, around.sources.len() as u32)?;
    setup.plan(&CollectiveCall::NeighborAlltoallv { around, send, recv });
    Ok(())
}

/// Plans an alltoallw among neighbors.
fn alltoallw(
    setup: &mut Setup,
    send: Blocks<'_, Array<'_, MPI_Datatype>>,
    recv: Blocks<'_, Array<'_, MPI_Datatype>>,
) -> Result {
    let around = setup.neighbors()?;
    let (outdegree, indegree) = (around.destinations.len() as u32, around.sources.len() as u32);
    let (mut send_layouts, mut recv_layouts) = (Vec::new(), Vec::new());
    let send = setup.each_blocks(Side::Send, &send, outdegree, &mut send_layouts)?;
    let recv = setup.each_blocks(Side::Recv, &recv, indegree, &mut recv_layouts)?;
    setup.plan(&CollectiveCall::NeighborAlltoallw { around, send, recv });
    Ok(())
}
