//! All to all (MPI 5.0 section 6.8).

use super::setup::{Block, Blocks, Setup, Side, distinct, distinct_blocks};
use super::{blocking, nonblocking, persistent};
use crate::entry::entry;
use crate::error::Result;
use std::ffi::c_void;
use tern_abi::*;
use tern_coll::Call;

entry! {
    /// A block from each to each.
    fn MPI_Alltoall, MPI_Alltoall_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        blocking("MPI_Alltoall", comm, |setup| alltoall(setup, send, recv))
    }

    /// Blocks of any length, from and to any place.
    fn MPI_Alltoallv, MPI_Alltoallv_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const W::Displ, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const W::Count, rdispls: *const W::Displ, recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) on comm {
        let send = Blocks::of::<W>(sendbuf, sendcounts, sdispls, sendtype);
        let recv = Blocks::of::<W>(recvbuf, recvcounts, rdispls, recvtype);
        blocking("MPI_Alltoallv", comm, |setup| alltoallv(setup, send, recv))
    }

    /// Blocks of any length and datatype, displacements in bytes.
    fn MPI_Alltoallw, MPI_Alltoallw_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const W::Displ,
        sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const W::Count,
        rdispls: *const W::Displ, recvtypes: *const MPI_Datatype, comm: MPI_Comm,
    ) on comm {
        let send = Blocks::of::<W>(sendbuf, sendcounts, sdispls, sendtypes);
        let recv = Blocks::of::<W>(recvbuf, recvcounts, rdispls, recvtypes);
        blocking("MPI_Alltoallw", comm, |setup| alltoallw(setup, send, recv))
    }

    /// [`MPI_Alltoall`] as a request (section 6.12).
    fn MPI_Ialltoall, MPI_Ialltoall_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        nonblocking("MPI_Ialltoall", comm, request, |setup| alltoall(setup, send, recv))
    }

    /// [`MPI_Alltoallv`] as a request (section 6.12).
    fn MPI_Ialltoallv, MPI_Ialltoallv_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const W::Displ, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const W::Count, rdispls: *const W::Displ, recvtype: MPI_Datatype,
        comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm {
        let send = Blocks::of::<W>(sendbuf, sendcounts, sdispls, sendtype);
        let recv = Blocks::of::<W>(recvbuf, recvcounts, rdispls, recvtype);
        nonblocking("MPI_Ialltoallv", comm, request, |setup| alltoallv(setup, send, recv))
    }

    /// [`MPI_Alltoallw`] as a request (section 6.12).
    fn MPI_Ialltoallw, MPI_Ialltoallw_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const W::Displ,
        sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const W::Count,
        rdispls: *const W::Displ, recvtypes: *const MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm {
        let send = Blocks::of::<W>(sendbuf, sendcounts, sdispls, sendtypes);
        let recv = Blocks::of::<W>(recvbuf, recvcounts, rdispls, recvtypes);
        nonblocking("MPI_Ialltoallw", comm, request, |setup| alltoallw(setup, send, recv))
    }

    /// [`MPI_Alltoall`] as a persistent request (section 6.13).
    fn MPI_Alltoall_init, MPI_Alltoall_init_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        persistent("MPI_Alltoall_init", (comm, info), request, |setup| alltoall(setup, send, recv))
    }

    /// [`MPI_Alltoallv`] as a persistent request (section 6.13).
    fn MPI_Alltoallv_init, MPI_Alltoallv_init_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const W::Displ, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const W::Count, rdispls: *const W::Displ, recvtype: MPI_Datatype,
        comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
    ) on comm {
        let send = Blocks::of::<W>(sendbuf, sendcounts, sdispls, sendtype);
        let recv = Blocks::of::<W>(recvbuf, recvcounts, rdispls, recvtype);
        persistent("MPI_Alltoallv_init", (comm, info), request, |setup| alltoallv(setup, send, recv))
    }

    /// [`MPI_Alltoallw`] as a persistent request (section 6.13).
    fn MPI_Alltoallw_init, MPI_Alltoallw_init_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const W::Displ,
        sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const W::Count,
        rdispls: *const W::Displ, recvtypes: *const MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) on comm {
        let send = Blocks::of::<W>(sendbuf, sendcounts, sdispls, sendtypes);
        let recv = Blocks::of::<W>(recvbuf, recvcounts, rdispls, recvtypes);
        persistent("MPI_Alltoallw_init", (comm, info), request, |setup| alltoallw(setup, send, recv))
    }
}

/// Plans an alltoall.
///
/// # Safety
/// The program vouches for what the arguments point to.
pub unsafe fn alltoall(setup: &mut Setup, send: Block, recv: Block) -> Result {
    let own = match setup.in_place(Side::Send, send.buf, true)? {
        true => None,
        false => Some(setup.send(send)?),
    };
    let all = setup.recv(Side::Recv, recv)?;
    distinct(send, recv, all.layout.size)?;
    setup.plan(&Call::Alltoall { send: own, recv: all });
    Ok(())
}

/// Plans an alltoallv.
///
/// # Safety
/// As [`alltoall`].
pub unsafe fn alltoallv(setup: &mut Setup, send: Blocks, recv: Blocks) -> Result {
    let own = match setup.in_place(Side::Send, send.buf, true)? {
        true => None,
        // SAFETY: by the caller.
        false => Some(unsafe { setup.send_blocks(&send, setup.peers())? }),
    };
    // SAFETY: by the caller.
    let all = unsafe { setup.recv_blocks(&recv, setup.peers())? };
    if let Some(own) = &own {
        distinct_blocks((&send, own), (&recv, &all))?;
    }
    setup.plan(&Call::Alltoallv { send: own, recv: all });
    Ok(())
}

/// Plans an alltoallw.
///
/// # Safety
/// As [`alltoall`].
pub unsafe fn alltoallw(
    setup: &mut Setup,
    send: Blocks<*const MPI_Datatype>,
    recv: Blocks<*const MPI_Datatype>,
) -> Result {
    let (mut send_layouts, mut recv_layouts, ranks) = (Vec::new(), Vec::new(), setup.peers());
    let own = match setup.in_place(Side::Send, send.buf, true)? {
        true => None,
        // SAFETY: by the caller.
        false => Some(unsafe { setup.each_blocks(Side::Send, &send, ranks, &mut send_layouts)? }),
    };
    // SAFETY: by the caller.
    let all = unsafe { setup.each_blocks(Side::Recv, &recv, ranks, &mut recv_layouts)? };
    if let Some(own) = &own {
        distinct_blocks((&send, own), (&recv, &all))?;
    }
    setup.plan(&Call::Alltoallw { send: own, recv: all });
    Ok(())
}
