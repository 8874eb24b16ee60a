//! Allgather (MPI 5.0 section 6.7).

use super::setup::{Block, Blocks, Setup, Side, distinct_in, distinct_in_blocks};
use super::{blocking, nonblocking, persistent, shm_comm, short};
use crate::comm::agree::Participants;
use crate::core::boundary::{Array, ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::core::error::Result;
use crate::core::process::enter;
use tern_abi::*;
use tern_coll::{CollectiveCall, TypedCount};

entry! {
    /// Gathers a block of each process at all, in the order of ranks.
    safe fn MPI_Allgather, MPI_Allgather_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Block::of(recvbuf, recvcount, recvtype);
        let what = |send, recv| CollectiveCall::Allgather { send, recv };
        if let Some(outcome) = short::exchange(("MPI_Allgather", comm), (send, recv), what) {
            return outcome;
        }
        blocking("MPI_Allgather", comm, |setup| allgather(setup, send, recv))
    }

    /// Gathers blocks of any length at all processes, to any place.
    safe fn MPI_Allgatherv, MPI_Allgatherv_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: ChoiceBufMut,
        recvcounts: Array<'_, W::Count>, displs: Array<'_, W::Displ>, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) on comm {
        let send = Block::of(sendbuf, sendcount, sendtype);
        let recv = Blocks::of(recvbuf, recvcounts, displs, recvtype);
        if let Some(outcome) = short::allgatherv(comm, send, recv) {
            return outcome;
        }
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

/// Everybody's record, in the order of ranks: over the memory that the ranks of an intracommunicator share, or by messages if they share
/// none. All records are equally long. For what the library itself has to know.
pub(crate) fn records_of_all(call: &'static str, comm: MPI_Comm, mine: &[u8]) -> Result<Vec<u8>> {
    shm_comm::agree(call, comm)?;
    let process = enter();
    let this = process.comm(comm)?;
    // Schedules that the program's user wants are for the program's calls.
    if this.shm_comm.shm_comm().is_none() || !process.coll.rows.is_empty() {
        let participants = Participants::local(call, this);
        drop(process);
        return participants.allgather(mine);
    }
    let mut all = vec![0; mine.len() * this.group.size() as usize];
    drop(process);
    // SAFETY: both vectors hold as many bytes as the call says, and live until it has returned.
    let memory = |start| unsafe { ChoiceBuf::of_memory(start) };
    let bytes = mine.len() as i64;
    let send = Block::of(memory(mine.as_ptr().cast()), bytes, MPI_BYTE);
    let recv = Block::of(memory(all.as_mut_ptr().cast()), bytes, MPI_BYTE);
    blocking(call, comm, |setup| allgather(setup, send, recv))?;
    Ok(all)
}

/// Plans an allgather.
pub(crate) fn allgather(setup: &mut Setup, send: Block, recv: Block) -> Result {
    let own = contribution(setup, send)?;
    let all = setup.recv(Side::Recv, recv)?;
    distinct_in(setup, recv, send, all.layout)?;
    setup.plan(&CollectiveCall::Allgather { send: own, recv: all });
    Ok(())
}

/// Plans an allgatherv.
pub(crate) fn allgatherv(setup: &mut Setup, send: Block, recv: Blocks<'_>) -> Result {
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
