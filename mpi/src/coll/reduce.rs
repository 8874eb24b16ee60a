//! Reductions to one, to all, and scattered (MPI 5.0 sections 6.9 and 6.10).

use super::setup::{Block, Setup, Side, distinct};
use super::{blocking, nonblocking, persistent, short};
use crate::core::boundary::{Array, ChoiceBuf, ChoiceBufMut, CountInteger, Integers, Out};
use crate::core::entry::entry;
use crate::core::error::Result;
use std::ffi::c_int;
use tern_abi::*;
use tern_coll::{CollectiveCall, TypedCount};

entry! {
    /// The operands of all, combined at the root.
    safe fn MPI_Reduce, MPI_Reduce_c<W>(
        sendbuf: ChoiceBuf, recvbuf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        root: c_int, comm: MPI_Comm,
    ) on comm {
        let operands = Operands { sendbuf, recvbuf, datatype, op };
        if let Some(outcome) = short::reduce(comm, operands, count.into(), root) {
            return outcome;
        }
        blocking("MPI_Reduce", comm, |setup| reduce(setup, operands, count.into(), root))
    }

    /// The operands of all, combined everywhere.
    safe fn MPI_Allreduce, MPI_Allreduce_c<W>(
        sendbuf: ChoiceBuf, recvbuf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm,
    ) on comm {
        let operands = Operands { sendbuf, recvbuf, datatype, op };
        let what = |data, in_place| CollectiveCall::Allreduce { data, in_place, commutative: true };
        if let Some(outcome) = short::reduction(("MPI_Allreduce", comm), operands, count.into(), what) {
            return outcome;
        }
        blocking("MPI_Allreduce", comm, |setup| allreduce(setup, operands, count.into()))
    }

    /// The operands of all, combined, and of the result a part of any length to each.
    safe fn MPI_Reduce_scatter, MPI_Reduce_scatter_c<W>(
        sendbuf: ChoiceBuf, recvbuf: ChoiceBufMut, recvcounts: Array<'_, W::Count>, datatype: MPI_Datatype,
        op: MPI_Op, comm: MPI_Comm,
    ) on comm {
        let operands = Operands { sendbuf, recvbuf, datatype, op };
        let counts = <W::Count as CountInteger>::array(recvcounts);
        blocking("MPI_Reduce_scatter", comm, |setup| reduce_scatter(setup, operands, counts))
    }

    /// The operands of all, combined, and of the result an equal part to each.
    safe fn MPI_Reduce_scatter_block, MPI_Reduce_scatter_block_c<W>(
        sendbuf: ChoiceBuf, recvbuf: ChoiceBufMut, recvcount: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm,
    ) on comm {
        let operands = Operands { sendbuf, recvbuf, datatype, op };
        let count = recvcount.into();
        blocking("MPI_Reduce_scatter_block", comm, |setup| reduce_scatter_block(setup, operands, count))
    }

    /// [`MPI_Reduce`] as a request (section 6.12).
    safe fn MPI_Ireduce, MPI_Ireduce_c<W>(
        sendbuf: ChoiceBuf, recvbuf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        root: c_int, comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let operands = Operands { sendbuf, recvbuf, datatype, op };
        nonblocking("MPI_Ireduce", comm, request, |setup| reduce(setup, operands, count.into(), root))
    }

    /// [`MPI_Allreduce`] as a request (section 6.12).
    safe fn MPI_Iallreduce, MPI_Iallreduce_c<W>(
        sendbuf: ChoiceBuf, recvbuf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let operands = Operands { sendbuf, recvbuf, datatype, op };
        nonblocking("MPI_Iallreduce", comm, request, |setup| allreduce(setup, operands, count.into()))
    }

    /// [`MPI_Reduce_scatter`] as a request (section 6.12).
    safe fn MPI_Ireduce_scatter, MPI_Ireduce_scatter_c<W>(
        sendbuf: ChoiceBuf, recvbuf: ChoiceBufMut, recvcounts: Array<'_, W::Count>, datatype: MPI_Datatype,
        op: MPI_Op, comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let operands = Operands { sendbuf, recvbuf, datatype, op };
        let counts = <W::Count as CountInteger>::array(recvcounts);
        nonblocking("MPI_Ireduce_scatter", comm, request, |setup| reduce_scatter(setup, operands, counts))
    }

    /// [`MPI_Reduce_scatter_block`] as a request (section 6.12).
    safe fn MPI_Ireduce_scatter_block, MPI_Ireduce_scatter_block_c<W>(
        sendbuf: ChoiceBuf, recvbuf: ChoiceBufMut, recvcount: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let operands = Operands { sendbuf, recvbuf, datatype, op };
        let count = recvcount.into();
        nonblocking("MPI_Ireduce_scatter_block", comm, request, |setup| {
            reduce_scatter_block(setup, operands, count)
        })
    }

    /// [`MPI_Reduce`] as a persistent request (section 6.13).
    safe fn MPI_Reduce_init, MPI_Reduce_init_c<W>(
        sendbuf: ChoiceBuf, recvbuf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        root: c_int, comm: MPI_Comm, info: MPI_Info, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let (operands, count) = (Operands { sendbuf, recvbuf, datatype, op }, count.into());
        persistent("MPI_Reduce_init", (comm, info), request, |setup| reduce(setup, operands, count, root))
    }

    /// [`MPI_Allreduce`] as a persistent request (section 6.13).
    safe fn MPI_Allreduce_init, MPI_Allreduce_init_c<W>(
        sendbuf: ChoiceBuf, recvbuf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, info: MPI_Info, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let (operands, count) = (Operands { sendbuf, recvbuf, datatype, op }, count.into());
        persistent("MPI_Allreduce_init", (comm, info), request, |setup| allreduce(setup, operands, count))
    }

    /// [`MPI_Reduce_scatter`] as a persistent request (section 6.13).
    safe fn MPI_Reduce_scatter_init, MPI_Reduce_scatter_init_c<W>(
        sendbuf: ChoiceBuf, recvbuf: ChoiceBufMut, recvcounts: Array<'_, W::Count>, datatype: MPI_Datatype,
        op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let operands = Operands { sendbuf, recvbuf, datatype, op };
        let counts = <W::Count as CountInteger>::array(recvcounts);
        persistent("MPI_Reduce_scatter_init", (comm, info), request, |setup| {
            reduce_scatter(setup, operands, counts)
        })
    }

    /// [`MPI_Reduce_scatter_block`] as a persistent request (section 6.13).
    safe fn MPI_Reduce_scatter_block_init, MPI_Reduce_scatter_block_init_c<W>(
        sendbuf: ChoiceBuf, recvbuf: ChoiceBufMut, recvcount: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, info: MPI_Info, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let operands = Operands { sendbuf, recvbuf, datatype, op };
        let count = recvcount.into();
        persistent("MPI_Reduce_scatter_block_init", (comm, info), request, |setup| {
            reduce_scatter_block(setup, operands, count)
        })
    }
}

/// The arguments that all reductions have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operands {
    /// Address of the operand.
    pub sendbuf: ChoiceBuf,
    /// Where the result belongs.
    pub recvbuf: ChoiceBufMut,
    /// The type of both.
    pub datatype: MPI_Datatype,
    /// The operation.
    pub op: MPI_Op,
}

impl Operands {
    /// Checks the buffers of a rank that has both, with this many elements in each; whether the call is in place.
    pub(crate) fn buffers(&self, setup: &mut Setup, send: TypedCount, recv: TypedCount) -> Result<bool> {
        let in_place = setup.in_place(Side::Send, self.sendbuf, true)?;
        // In place, the receive buffer holds the operand (section 6.10).
        setup.result(self.recvbuf, if in_place { send } else { recv }.bytes())?;
        if !in_place {
            setup.operand(self.sendbuf, send.bytes())?;
            self.distinct(send)?;
        }
        Ok(in_place)
    }

    /// Refuses one address for both buffers. By the length of the whole, which all ranks have in common: what a rank keeps of a
    /// reduction that is scattered may be nothing.
    pub(crate) fn distinct(&self, whole: TypedCount) -> Result {
        let block = |buf: ChoiceBuf| Block::of(buf, whole.count as i64, self.datatype);
        distinct(block(self.sendbuf), block(self.recvbuf.into()), whole.layout.size)
    }

    /// Refuses a receive buffer that is this rank's own block of the send buffer.
    fn distinct_from_own(&self, before: u64, own: TypedCount) -> Result {
        let block = |buf: ChoiceBuf| Block::of(buf, own.count as i64, self.datatype);
        let own_block = block(self.sendbuf).after(before as i64, own.layout);
        distinct(own_block, block(self.recvbuf.into()), own.layout.size)
    }
}

/// Plans a reduction to the root.
pub(crate) fn reduce(setup: &mut Setup, operands: Operands, count: i64, root: c_int) -> Result {
    let roles = setup.roles(root)?;
    let (mut data, mut commutative, mut in_place) = (TypedCount::default(), true, false);
    if roles.is_root || roles.is_leaf {
        data = setup.elements(count, operands.datatype)?;
        commutative = setup.operation(operands.op, operands.datatype)?;
    }
    match (roles.is_root, roles.is_leaf) {
        (true, true) => in_place = operands.buffers(setup, data, data)?,
        (true, false) => setup.result(operands.recvbuf, data.bytes())?,
        (false, true) => {
            setup.in_place(Side::Send, operands.sendbuf, false)?;
            setup.operand(operands.sendbuf, data.bytes())?;
        }
        (false, false) => {}
    }
    setup.plan(&CollectiveCall::Reduce { data, in_place, commutative, root: roles.root });
    Ok(())
}

/// Plans a reduction to all.
pub(crate) fn allreduce(setup: &mut Setup, operands: Operands, count: i64) -> Result {
    let data = setup.elements(count, operands.datatype)?;
    let commutative = setup.operation(operands.op, operands.datatype)?;
    let in_place = operands.buffers(setup, data, data)?;
    setup.plan(&CollectiveCall::Allreduce { data, in_place, commutative });
    Ok(())
}

/// Plans a reduction that is scattered by counts.
pub(crate) fn reduce_scatter(setup: &mut Setup, operands: Operands, counts: Integers<'_>) -> Result {
    let counts = setup.counts(Side::Recv, counts, setup.size())?;
    let all = setup.elements(counts.sum().min(i64::MAX as u64) as i64, operands.datatype)?;
    let commutative = setup.operation(operands.op, operands.datatype)?;
    let own = TypedCount::new(counts.count(setup.rank() as usize), all.layout);
    let in_place = operands.buffers(setup, all, own)?;
    operands.distinct_from_own(counts.sum_before(setup.rank() as usize), own)?;
    setup.plan(&CollectiveCall::ReduceScatter { counts, layout: all.layout, in_place, commutative });
    Ok(())
}

/// Plans a reduction that is scattered evenly.
pub(crate) fn reduce_scatter_block(setup: &mut Setup, operands: Operands, count: i64) -> Result {
    let data = setup.elements(count, operands.datatype)?;
    let all = setup.elements(count.saturating_mul(setup.size().into()), operands.datatype)?;
    let commutative = setup.operation(operands.op, operands.datatype)?;
    let in_place = operands.buffers(setup, all, data)?;
    operands.distinct_from_own(data.count.wrapping_mul(setup.rank().into()), data)?;
    setup.plan(&CollectiveCall::ReduceScatterBlock { data, in_place, commutative });
    Ok(())
}
