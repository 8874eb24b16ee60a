//! Scans (MPI 5.0 section 6.11).

use super::reduce::Operands;
use super::setup::{Setup, Side};
use super::{blocking, nonblocking, persistent, short};
use crate::core::boundary::{ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use tern_abi::*;
use tern_coll::CollectiveCall;

entry! {
    /// The operands of the ranks up to this one, combined.
    safe fn MPI_Scan, MPI_Scan_c<W>(
        sendbuf: ChoiceBuf, recvbuf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm,
    ) on comm {
        let operands = Operands { sendbuf, recvbuf, datatype, op };
        let what = |data, in_place| CollectiveCall::Scan { data, in_place };
        if let Some(outcome) = short::reduction(("MPI_Scan", comm), operands, count.into(), what) {
            return outcome;
        }
        blocking("MPI_Scan", comm, |setup| scan(setup, operands, count.into()))
    }

    /// The operands of the ranks before this one, combined; nothing at rank 0.
    safe fn MPI_Exscan, MPI_Exscan_c<W>(
        sendbuf: ChoiceBuf, recvbuf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm,
    ) on comm {
        let operands = Operands { sendbuf, recvbuf, datatype, op };
        let what = |data, in_place| CollectiveCall::Exscan { data, in_place };
        if let Some(outcome) = short::reduction(("MPI_Exscan", comm), operands, count.into(), what) {
            return outcome;
        }
        blocking("MPI_Exscan", comm, |setup| exscan(setup, operands, count.into()))
    }

    /// [`MPI_Scan`] as a request (section 6.12).
    safe fn MPI_Iscan, MPI_Iscan_c<W>(
        sendbuf: ChoiceBuf, recvbuf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let operands = Operands { sendbuf, recvbuf, datatype, op };
        nonblocking("MPI_Iscan", comm, request, |setup| scan(setup, operands, count.into()))
    }

    /// [`MPI_Exscan`] as a request (section 6.12).
    safe fn MPI_Iexscan, MPI_Iexscan_c<W>(
        sendbuf: ChoiceBuf, recvbuf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let operands = Operands { sendbuf, recvbuf, datatype, op };
        nonblocking("MPI_Iexscan", comm, request, |setup| exscan(setup, operands, count.into()))
    }

    /// [`MPI_Scan`] as a persistent request (section 6.13).
    safe fn MPI_Scan_init, MPI_Scan_init_c<W>(
        sendbuf: ChoiceBuf, recvbuf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, info: MPI_Info, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let operands = Operands { sendbuf, recvbuf, datatype, op };
        persistent("MPI_Scan_init", (comm, info), request, |setup| scan(setup, operands, count.into()))
    }

    /// [`MPI_Exscan`] as a persistent request (section 6.13).
    safe fn MPI_Exscan_init, MPI_Exscan_init_c<W>(
        sendbuf: ChoiceBuf, recvbuf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, info: MPI_Info, request: Result<Out<'_, MPI_Request>>,
    ) on comm {
        let operands = Operands { sendbuf, recvbuf, datatype, op };
        persistent("MPI_Exscan_init", (comm, info), request, |setup| exscan(setup, operands, count.into()))
    }
}

/// Plans an inclusive scan.
pub(crate) fn scan(setup: &mut Setup, operands: Operands, count: i64) -> Result {
    in_order(setup)?;
    let data = setup.elements(count, operands.datatype)?;
    setup.operation(operands.op, operands.datatype)?;
    let in_place = operands.buffers(setup, data, data)?;
    setup.plan(&CollectiveCall::Scan { data, in_place });
    Ok(())
}

/// Plans an exclusive scan.
pub(crate) fn exscan(setup: &mut Setup, operands: Operands, count: i64) -> Result {
    in_order(setup)?;
    let data = setup.elements(count, operands.datatype)?;
    setup.operation(operands.op, operands.datatype)?;
    let in_place = match setup.rank() {
        // Rank 0 has no result, so its recvbuf is not significant, unless it holds the operand. One address for both is refused as
        // at the other ranks, or they would wait for this one.
        0 if !setup.in_place(Side::Send, operands.sendbuf, true)? => {
            setup.operand(operands.sendbuf, data.bytes())?;
            operands.distinct(data)?;
            false
        }
        _ => operands.buffers(setup, data, data)?,
    };
    setup.plan(&CollectiveCall::Exscan { data, in_place });
    Ok(())
}

/// Scans go by the order of one group's ranks.
fn in_order(setup: &Setup) -> Result {
    if setup.is_inter() {
        return Err(fail(MPI_ERR_COMM, "scans are not defined on intercommunicators (section 6.11)"));
    }
    Ok(())
}
