//! Scatter (MPI 5.0 section 6.6).

use super::setup::{Block, Blocks, Roles, Setup, Side, distinct_in, distinct_in_blocks};
use super::{blocking, nonblocking, persistent};
use crate::entry::entry;
use crate::error::Result;
use std::ffi::{c_int, c_void};
use tern_abi::*;
use tern_coll::{Call, Data, Vector};

entry! {
    /// From the root to all, a block each.
    fn MPI_Scatter, MPI_Scatter_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        blocking("MPI_Scatter", comm, |setup| scatter(setup, send, recv, root))
    }

    /// From the root to all, blocks of any length from any place.
    fn MPI_Scatterv, MPI_Scatterv_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, displs: *const W::Displ, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    ) on comm {
        let send = Blocks::of::<W>(sendbuf, sendcounts, displs, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        blocking("MPI_Scatterv", comm, |setup| scatterv(setup, send, recv, root))
    }

    /// [`MPI_Scatter`] as a request (section 6.12).
    fn MPI_Iscatter, MPI_Iscatter_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        nonblocking("MPI_Iscatter", comm, request, |setup| scatter(setup, send, recv, root))
    }

    /// [`MPI_Scatterv`] as a request (section 6.12).
    fn MPI_Iscatterv, MPI_Iscatterv_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, displs: *const W::Displ, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) on comm {
        let send = Blocks::of::<W>(sendbuf, sendcounts, displs, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        nonblocking("MPI_Iscatterv", comm, request, |setup| scatterv(setup, send, recv, root))
    }

    /// [`MPI_Scatter`] as a persistent request (section 6.13).
    fn MPI_Scatter_init, MPI_Scatter_init_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        persistent("MPI_Scatter_init", (comm, info), request, |setup| scatter(setup, send, recv, root))
    }

    /// [`MPI_Scatterv`] as a persistent request (section 6.13).
    fn MPI_Scatterv_init, MPI_Scatterv_init_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, displs: *const W::Displ, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
        info: MPI_Info, request: *mut MPI_Request,
    ) on comm {
        let send = Blocks::of::<W>(sendbuf, sendcounts, displs, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        persistent("MPI_Scatterv_init", (comm, info), request, |setup| scatterv(setup, send, recv, root))
    }
}

/// Plans a scatter.
///
/// # Safety
/// The program vouches for what the arguments point to.
pub unsafe fn scatter(setup: &mut Setup, send: Block, recv: Block, root: c_int) -> Result {
    let roles = setup.roles(root)?;
    let all = if roles.is_root { setup.send(send)? } else { Data::default() };
    let own = share(setup, recv, roles)?;
    if roles.is_root && roles.is_leaf {
        distinct_in(setup, send, recv, all.layout)?;
    }
    setup.plan(&Call::Scatter { send: all, recv: own, root: roles.root });
    Ok(())
}

/// Plans a scatterv.
///
/// # Safety
/// As [`scatter`].
pub unsafe fn scatterv(setup: &mut Setup, send: Blocks, recv: Block, root: c_int) -> Result {
    let roles = setup.roles(root)?;
    let all = match roles.is_root {
        // SAFETY: by the caller.
        true => unsafe { setup.send_blocks(&send, setup.peers())? },
        false => Vector::default(),
    };
    let own = share(setup, recv, roles)?;
    if roles.is_root && roles.is_leaf {
        distinct_in_blocks(setup, &send, &all, recv)?;
    }
    setup.plan(&Call::Scatterv { send: all, recv: own, root: roles.root });
    Ok(())
}

/// Where this rank receives; `None` in place.
fn share(setup: &mut Setup, recv: Block, roles: Roles) -> Result<Option<Data>> {
    if !roles.is_leaf {
        return Ok(Some(Data::default()));
    }
    if setup.in_place(Side::Recv, recv.buf, roles.is_root)? {
        return Ok(None);
    }
    setup.recv(Side::Recv, recv).map(Some)
}
