//! The exported functions: the lists of `tern-bridge`, and the few that return no error code.

use std::ffi::c_void;

use tern_bridge::foreign::ForeignHandle;
use tern_bridge::kinds::{
    self, Aint, Count, Displacement, HandleInOut, HandleList, HandleOut, In, InOutList, Int, Offset, OutList,
    Pointer,
};
use tern_bridge::special::{peers, pointed};
use tern_bridge::{export, plain, tern};

use crate::abi::{Mpich, numbers};
use crate::handles::{
    Comm, Datatype, Errhandler, Group, Info, Message, MpichFile as File, Op, Request, Session, Win,
};

tern_bridge::foreign_kinds!(Mpich, mpich);

tern_bridge::p2p_calls!(export);
tern_bridge::coll_calls!(export);
tern_bridge::coll_large_calls!(export);
tern_bridge::comm_calls!(export);
tern_bridge::datatype_calls!(export);
tern_bridge::rma_calls!(export);
tern_bridge::file_calls!(export);
tern_bridge::tool_calls!(export);
tern_bridge::removed_calls!(export);

/// How many datatypes a rank sends with: none matter if all is in place.
fn senders(sendbuf: *mut c_void, comm: Comm) -> usize {
    let in_place = sendbuf as usize == <Mpich as tern_bridge::foreign::ForeignAbi>::IN_PLACE;
    if in_place { 0 } else { peers(comm) }
}

fn sources(comm: Comm) -> usize {
    tern_bridge::special::neighbors(comm.inner()).0
}

fn targets(comm: Comm) -> usize {
    tern_bridge::special::neighbors(comm.inner()).1
}

plain! {
    /// Seconds since some time.
    fn MPI_Wtime() -> f64 {
        tern!(MPI_Wtime() -> f64)
    }

    /// Seconds between ticks.
    fn MPI_Wtick() -> f64 {
        tern!(MPI_Wtick() -> f64)
    }

    /// A sum of an address and a displacement.
    fn MPI_Aint_add(base: isize, displacement: isize) -> isize {
        base.wrapping_add(displacement)
    }

    /// A difference of addresses.
    fn MPI_Aint_diff(one: isize, other: isize) -> isize {
        one.wrapping_sub(other)
    }
}

/// The function that the loader calls before all others of the program. Unit tests have no library to connect to.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static CONNECT: extern "C" fn() = connect;

#[cfg(not(test))]
extern "C" fn connect() {
    tern_bridge::tern::connect(crate::handles::given);
}
