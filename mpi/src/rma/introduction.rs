//! What ranks that make a window tell each other, and whether it fits (MPI 5.0 section 12.2).

use crate::comm::agree::{number, record};
use crate::core::error::{Error, Result, fail};
use crate::env::hints::Info;
use std::ffi::c_int;
use tern_abi::*;

/// What each rank tells the others.
#[derive(Clone, Copy, Default)]
pub(super) struct WindowIntroduction {
    /// `MPI_SUCCESS`, or the class of the error for which it cannot take part.
    pub(super) fault: u64,
    pub(super) host: u64,
    pub(super) bytes: u64,
    pub(super) unit: u64,
    /// Where the words of this rank are in the job's file, and behind them its memory if that is from there.
    pub(super) place: u64,
    pub(super) base: u64,
    pub(super) pid: u64,
    /// Others can make it pass a fence.
    pub(super) fenced: u64,
    /// What its engine calls the window.
    pub(super) number: u64,
    /// Where the kernel can be asked to read its memory.
    pub(super) probe: u64,
    /// What the address of its memory is a multiple of.
    pub(super) align: u64,
    /// Which flavor of window it makes, and above 16 bits where the memory comes from.
    pub(super) kind: u64,
    /// See [`claims`].
    pub(super) claims: u64,
    /// What [`shm_comm::offer`] says for the window's communicator.
    pub(super) slot: u64,
}

impl WindowIntroduction {
    const NUMBERS: usize = size_of::<WindowIntroduction>() / size_of::<u64>();
    /// Bytes of what is told.
    pub(super) const BYTES: usize = size_of::<WindowIntroduction>();

    /// All fields, in the order in which they are told.
    fn fields(&mut self) -> [&mut u64; Self::NUMBERS] {
        [
            &mut self.fault,
            &mut self.host,
            &mut self.bytes,
            &mut self.unit,
            &mut self.place,
            &mut self.base,
            &mut self.pid,
            &mut self.fenced,
            &mut self.number,
            &mut self.probe,
            &mut self.align,
            &mut self.kind,
            &mut self.claims,
            &mut self.slot,
        ]
    }

    /// For the others.
    pub(super) fn record(mut self) -> Vec<u8> {
        record(&self.fields().map(|field| *field))
    }

    /// What another rank has told.
    pub(super) fn from(record: &[u8]) -> WindowIntroduction {
        let mut told = WindowIntroduction::default();
        for (at, field) in told.fields().into_iter().enumerate() {
            *field = number(record, 8 * at);
        }
        told
    }
}

/// All ranks see the same, so all refuse, or none.
pub(super) fn expect_alike(all: &[WindowIntroduction], flavor: c_int) -> Result {
    if let Some(rank) = all.iter().position(|told| told.fault != MPI_SUCCESS as u64) {
        return Err(absent(rank, all[rank].fault as c_int));
    }
    if let Some(rank) = all.iter().position(|told| told.kind != all[0].kind) {
        return Err(unlike(all[0].kind, rank, all[rank].kind));
    }
    expect_claims(all)?;
    let elsewhere = all.iter().position(|told| told.host != all[0].host);
    if let Some(rank) = elsewhere.filter(|_| flavor == MPI_WIN_FLAVOR_SHARED) {
        return Err(fail(
            MPI_ERR_RMA_SHARED,
            format!(
                "ranks 0 and {rank} run on different hosts, and cannot share memory: use a communicator of MPI_Comm_split_type with \
                 MPI_COMM_TYPE_SHARED, or MPI_Win_allocate"
            ),
        ));
    }
    Ok(())
}

/// What a rank's hints say of all ranks: bits of a number.
pub(super) fn claims(info: &Info) -> u64 {
    let claim = |(at, (key, _)): (usize, &Claim)| u64::from(info.get(key) == Some("true")) << at;
    CLAIMS.iter().enumerate().map(claim).sum()
}

/// A hint, and what is the same then.
type Claim = (&'static str, fn(&WindowIntroduction) -> u64);

/// All such hints.
const CLAIMS: [Claim; 2] = [("same_size", |told| told.bytes), ("same_disp_unit", |told| told.unit)];

/// Refuses ranks that differ where one says that all are the same (section 12.2.1).
fn expect_claims(all: &[WindowIntroduction]) -> Result {
    for (at, (key, number)) in CLAIMS.iter().enumerate() {
        let Some(who) = all.iter().position(|told| told.claims >> at & 1 != 0) else { continue };
        if let Some(other) = all.iter().position(|told| number(told) != number(&all[who])) {
            let (mine, theirs) = (number(&all[who]), number(&all[other]));
            let text = format!(
                "rank {who} gives the hint {key} and {mine} bytes, but rank {other} {theirs} (section 12.2.1)"
            );
            return Err(fail(MPI_ERR_INFO_VALUE, text));
        }
    }
    Ok(())
}

/// The error of ranks that wait for one which cannot take part.
#[cold]
fn absent(rank: usize, class: c_int) -> Box<Error> {
    if class == MPI_ERR_NO_MEM {
        return fail(class, format!("rank {rank} cannot get the memory of its part"));
    }
    fail(
        class,
        format!("the call of rank {rank} was refused, for the reason that it was told; no window is made"),
    )
}

/// The error of ranks that make different windows together.
#[cold]
fn unlike(first: u64, rank: usize, other: u64) -> Box<Error> {
    let name = |kind: u64| match kind as u16 as c_int {
        MPI_WIN_FLAVOR_CREATE => "MPI_Win_create",
        MPI_WIN_FLAVOR_ALLOCATE => "MPI_Win_allocate",
        MPI_WIN_FLAVOR_SHARED => "MPI_Win_allocate_shared",
        _ => "MPI_Win_create_dynamic",
    };
    if name(first) != name(other) {
        let text = format!(
            "rank 0 is in {}, and rank {rank} in {}: to make a window, all ranks of a communicator call the same function",
            name(first),
            name(other)
        );
        return fail(MPI_ERR_RMA_FLAVOR, text);
    }
    let text = format!(
        "ranks 0 and {rank} differ in the hint alloc_shared_noncontig, which all ranks have to give alike (section 12.2.3)"
    );
    fail(MPI_ERR_INFO_VALUE, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_learn_what_they_tell_each_other() {
        let mut mine = WindowIntroduction::default();
        mine.fields().into_iter().zip(1..).for_each(|(field, number)| *field = number);
        let mut told = WindowIntroduction::from(&mine.record());
        assert_eq!(told.fields(), mine.fields());
        assert_eq!((told.fault, told.host, told.slot), (1, 2, WindowIntroduction::NUMBERS as u64));
    }
}
