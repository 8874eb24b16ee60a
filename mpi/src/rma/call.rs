//! What a call that accesses a window names.

use crate::core::boundary::ChoiceBuf;
use std::ffi::c_int;
use tern_abi::*;

/// Address, count and datatype of a buffer here.
#[derive(Clone, Copy)]
pub(crate) struct Origin(pub ChoiceBuf, pub i64, pub MPI_Datatype);

/// Rank, displacement, count and datatype of a buffer there.
#[derive(Clone, Copy)]
pub(crate) struct At(pub c_int, pub MPI_Aint, pub i64, pub MPI_Datatype);

/// An access: its call, its buffers here, and what it names at the target.
#[derive(Clone, Copy)]
pub(crate) struct RmaAccess {
    /// Which call.
    pub call: RmaCall,
    /// What it reads here.
    pub from: Option<Origin>,
    /// What it compares with.
    pub compared: Option<Origin>,
    /// Where it writes here.
    pub into: Option<Origin>,
    /// At the target.
    pub at: At,
    /// How elements are combined.
    pub op: MPI_Op,
}

impl RmaAccess {
    /// One that combines nothing.
    pub(crate) fn plain(call: RmaCall, origin: Origin, at: At) -> RmaAccess {
        let (from, into) = if call.is_get() { (None, Some(origin)) } else { (Some(origin), None) };
        RmaAccess { call, from, compared: None, into, at, op: MPI_OP_NULL }
    }

    /// One that combines `from` with what is there, of which `into` gets a copy.
    pub(crate) fn combining(
        call: RmaCall,
        from: Option<Origin>,
        into: Option<Origin>,
        at: At,
        op: MPI_Op,
    ) -> RmaAccess {
        RmaAccess { call, from, compared: None, into, at, op }
    }
}

/// Which call accesses a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[allow(missing_docs, reason = "the standard's names")]
pub(crate) enum RmaCall {
    Put,
    Get,
    Rput,
    Rget,
    Accumulate,
    Raccumulate,
    GetAccumulate,
    RgetAccumulate,
    FetchAndOp,
    CompareAndSwap,
}

impl RmaCall {
    const ALL: [(RmaCall, &'static str); 10] = [
        (RmaCall::Put, "MPI_Put"),
        (RmaCall::Get, "MPI_Get"),
        (RmaCall::Rput, "MPI_Rput"),
        (RmaCall::Rget, "MPI_Rget"),
        (RmaCall::Accumulate, "MPI_Accumulate"),
        (RmaCall::Raccumulate, "MPI_Raccumulate"),
        (RmaCall::GetAccumulate, "MPI_Get_accumulate"),
        (RmaCall::RgetAccumulate, "MPI_Rget_accumulate"),
        (RmaCall::FetchAndOp, "MPI_Fetch_and_op"),
        (RmaCall::CompareAndSwap, "MPI_Compare_and_swap"),
    ];

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        RmaCall::ALL[self as usize].1
    }

    /// That of a number, as `call as u64` gives it.
    pub(crate) fn from_number(number: u64) -> Option<RmaCall> {
        RmaCall::ALL.get(usize::try_from(number).ok()?).map(|(call, _)| *call)
    }

    /// Whether it gives a request, for passive targets only (section 12.3.5).
    #[inline]
    pub(crate) fn is_request(self) -> bool {
        matches!(self, RmaCall::Rput | RmaCall::Rget | RmaCall::Raccumulate | RmaCall::RgetAccumulate)
    }

    /// Whether it writes without reading.
    pub(crate) fn is_put(self) -> bool {
        matches!(self, RmaCall::Put | RmaCall::Rput)
    }

    /// Whether it reads without writing.
    pub(crate) fn is_get(self) -> bool {
        matches!(self, RmaCall::Get | RmaCall::Rget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_calls() {
        for (at, (call, name)) in RmaCall::ALL.into_iter().enumerate() {
            assert_eq!((call as usize, RmaCall::from_number(at as u64), call.name()), (at, Some(call), name));
        }
        assert_eq!(RmaCall::from_number(10), None);
    }
}
