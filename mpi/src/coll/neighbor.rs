//! Neighbourhood collectives (MPI 5.0 sections 8.6 to 8.8): every process sends to its destinations and receives from its
//! sources, which its topology names.

use std::ffi::c_void;

use tern_abi::*;
use tern_coll::Call;

use crate::coll::setup::{Block, Blocks, Setup, Side};
use crate::coll::{blocking, nonblocking, persistent};
use crate::core::entry::entry;
use crate::core::error::Result;

entry! {
    /// The same block to every destination, one from every source.
    fn MPI_Neighbor_allgather, MPI_Neighbor_allgather_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        blocking("MPI_Neighbor_allgather", comm, |setup| allgather(setup, send, recv))
    }

    /// The same to every destination, from the sources blocks of any length to any place.
    fn MPI_Neighbor_allgatherv, MPI_Neighbor_allgatherv_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const W::Count, displs: *const W::Displ, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Blocks::of::<W>(recvbuf, recvcounts, displs, recvtype);
        blocking("MPI_Neighbor_allgatherv", comm, |setup| allgatherv(setup, send, recv))
    }

    /// A block to each destination, one from each source.
    fn MPI_Neighbor_alltoall, MPI_Neighbor_alltoall_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        blocking("MPI_Neighbor_alltoall", comm, |setup| alltoall(setup, send, recv))
    }

    /// Blocks of any length, from and to any place.
    fn MPI_Neighbor_alltoallv, MPI_Neighbor_alltoallv_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const W::Displ, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const W::Count, rdispls: *const W::Displ, recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) on comm {
        let send = Blocks::of::<W>(sendbuf, sendcounts, sdispls, sendtype);
        let recv = Blocks::of::<W>(recvbuf, recvcounts, rdispls, recvtype);
        blocking("MPI_Neighbor_alltoallv", comm, |setup| alltoallv(setup, send, recv))
    }

    /// Blocks of any length and datatype, displacements in bytes.
    fn MPI_Neighbor_alltoallw, MPI_Neighbor_alltoallw_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const MPI_Aint,
        sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const W::Count,
        rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype, comm: MPI_Comm,
    ) on comm {
        let send = Blocks::at_addresses::<W>(sendbuf, sendcounts, sdispls, sendtypes);
        let recv = Blocks::at_addresses::<W>(recvbuf, recvcounts, rdispls, recvtypes);
        blocking("MPI_Neighbor_alltoallw", comm, |setup| alltoallw(setup, send, recv))
    }
}

entry! {
    /// [`MPI_Neighbor_allgather`] as a request (section 8.7).
    fn MPI_Ineighbor_allgather, MPI_Ineighbor_allgather_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        nonblocking("MPI_Ineighbor_allgather", comm, request, |setup| allgather(setup, send, recv))
    }

    /// [`MPI_Neighbor_allgatherv`] as a request (section 8.7).
    fn MPI_Ineighbor_allgatherv, MPI_Ineighbor_allgatherv_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const W::Count, displs: *const W::Displ, recvtype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Blocks::of::<W>(recvbuf, recvcounts, displs, recvtype);
        nonblocking("MPI_Ineighbor_allgatherv", comm, request, |setup| allgatherv(setup, send, recv))
    }

    /// [`MPI_Neighbor_alltoall`] as a request (section 8.7).
    fn MPI_Ineighbor_alltoall, MPI_Ineighbor_alltoall_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        nonblocking("MPI_Ineighbor_alltoall", comm, request, |setup| alltoall(setup, send, recv))
    }

    /// [`MPI_Neighbor_alltoallv`] as a request (section 8.7).
    fn MPI_Ineighbor_alltoallv, MPI_Ineighbor_alltoallv_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const W::Displ, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const W::Count, rdispls: *const W::Displ, recvtype: MPI_Datatype,
        comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm {
        let send = Blocks::of::<W>(sendbuf, sendcounts, sdispls, sendtype);
        let recv = Blocks::of::<W>(recvbuf, recvcounts, rdispls, recvtype);
        nonblocking("MPI_Ineighbor_alltoallv", comm, request, |setup| alltoallv(setup, send, recv))
    }

    /// [`MPI_Neighbor_alltoallw`] as a request (section 8.7).
    fn MPI_Ineighbor_alltoallw, MPI_Ineighbor_alltoallw_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const MPI_Aint,
        sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const W::Count,
        rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm {
        let send = Blocks::at_addresses::<W>(sendbuf, sendcounts, sdispls, sendtypes);
        let recv = Blocks::at_addresses::<W>(recvbuf, recvcounts, rdispls, recvtypes);
        nonblocking("MPI_Ineighbor_alltoallw", comm, request, |setup| alltoallw(setup, send, recv))
    }
}

entry! {
    /// [`MPI_Neighbor_allgather`] as a persistent request (section 8.8).
    fn MPI_Neighbor_allgather_init, MPI_Neighbor_allgather_init_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        persistent("MPI_Neighbor_allgather_init", (comm, info), request, |setup| allgather(setup, send, recv))
    }

    /// [`MPI_Neighbor_allgatherv`] as a persistent request (section 8.8).
    fn MPI_Neighbor_allgatherv_init, MPI_Neighbor_allgatherv_init_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const W::Count, displs: *const W::Displ, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Blocks::of::<W>(recvbuf, recvcounts, displs, recvtype);
        persistent("MPI_Neighbor_allgatherv_init", (comm, info), request, |setup| allgatherv(setup, send, recv))
    }

    /// [`MPI_Neighbor_alltoall`] as a persistent request (section 8.8).
    fn MPI_Neighbor_alltoall_init, MPI_Neighbor_alltoall_init_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        persistent("MPI_Neighbor_alltoall_init", (comm, info), request, |setup| alltoall(setup, send, recv))
    }

    /// [`MPI_Neighbor_alltoallv`] as a persistent request (section 8.8).
    fn MPI_Neighbor_alltoallv_init, MPI_Neighbor_alltoallv_init_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const W::Displ, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const W::Count, rdispls: *const W::Displ, recvtype: MPI_Datatype,
        comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) on comm {
        let send = Blocks::of::<W>(sendbuf, sendcounts, sdispls, sendtype);
        let recv = Blocks::of::<W>(recvbuf, recvcounts, rdispls, recvtype);
        persistent("MPI_Neighbor_alltoallv_init", (comm, info), request, |setup| alltoallv(setup, send, recv))
    }

    /// [`MPI_Neighbor_alltoallw`] as a persistent request (section 8.8).
    fn MPI_Neighbor_alltoallw_init, MPI_Neighbor_alltoallw_init_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const MPI_Aint,
        sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const W::Count,
        rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) on comm {
        let send = Blocks::at_addresses::<W>(sendbuf, sendcounts, sdispls, sendtypes);
        let recv = Blocks::at_addresses::<W>(recvbuf, recvcounts, rdispls, recvtypes);
        persistent("MPI_Neighbor_alltoallw_init", (comm, info), request, |setup| alltoallw(setup, send, recv))
    }
}

/// Plans an allgather among neighbours.
///
/// # Safety
/// The program vouches for what the arguments point to.
unsafe fn allgather(setup: &mut Setup, send: Block, recv: Block) -> Result {
    let around = setup.neighbors()?;
    let (send, recv) = (setup.send(send)?, setup.recv(Side::Recv, recv)?);
    setup.plan(&Call::NeighborAllgather { around, send, recv });
    Ok(())
}

/// Plans an allgatherv among neighbours.
///
/// # Safety
/// As [`allgather`].
unsafe fn allgatherv(setup: &mut Setup, send: Block, recv: Blocks) -> Result {
    let around = setup.neighbors()?;
    let send = setup.send(send)?;
    // SAFETY: by the caller.
    let recv = unsafe { setup.recv_blocks(&recv, around.sources.len() as u32)? };
    setup.plan(&Call::NeighborAllgatherv { around, send, recv });
    Ok(())
}

/// Plans an alltoall among neighbours.
///
/// # Safety
/// As [`allgather`].
unsafe fn alltoall(setup: &mut Setup, send: Block, recv: Block) -> Result {
    let around = setup.neighbors()?;
    let (send, recv) = (setup.send(send)?, setup.recv(Side::Recv, recv)?);
    setup.plan(&Call::NeighborAlltoall { around, send, recv });
    Ok(())
}

/// Plans an alltoallv among neighbours.
///
/// # Safety
/// As [`allgather`].
unsafe fn alltoallv(setup: &mut Setup, send: Blocks, recv: Blocks) -> Result {
    let around = setup.neighbors()?;
    // SAFETY: by the caller.
    let (send, recv) = unsafe {
        let send = setup.send_blocks(&send, around.destinations.len() as u32)?;
        (send, setup.recv_blocks(&recv, around.sources.len() as u32)?)
    };
    setup.plan(&Call::NeighborAlltoallv { around, send, recv });
    Ok(())
}

/// Plans an alltoallw among neighbours.
///
/// # Safety
/// As [`allgather`].
unsafe fn alltoallw(
    setup: &mut Setup,
    send: Blocks<*const MPI_Datatype>,
    recv: Blocks<*const MPI_Datatype>,
) -> Result {
    let around = setup.neighbors()?;
    let (outdegree, indegree) = (around.destinations.len() as u32, around.sources.len() as u32);
    let (mut send_layouts, mut recv_layouts) = (Vec::new(), Vec::new());
    // SAFETY: by the caller.
    let (send, recv) = unsafe {
        let send = setup.each_blocks(Side::Send, &send, outdegree, &mut send_layouts)?;
        (send, setup.each_blocks(Side::Recv, &recv, indegree, &mut recv_layouts)?)
    };
    setup.plan(&Call::NeighborAlltoallw { around, send, recv });
    Ok(())
}
