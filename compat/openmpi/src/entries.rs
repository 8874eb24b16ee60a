//! The exported functions: the lists of `tern-bridge`, and the few that return no error code.

use std::ffi::c_void;

use tern_bridge::export;
use tern_bridge::foreign::ForeignHandle;
use tern_bridge::kinds::{
    self, Aint, Count, Displacement, HandleInOut, HandleList, HandleOut, In, InOutList, Int, Offset, OutList,
    Pointer,
};
use tern_bridge::special::{peers, pointed};

use crate::abi::{OpenMpi, numbers};
use crate::handles::{Comm, Datatype, Errhandler, File, Group, Info, Message, Op, Request, Session, Win};

tern_bridge::shared_entries!();
tern_bridge::foreign_kinds!(OpenMpi, openmpi);

tern_bridge::p2p_calls!(export);
tern_bridge::coll_calls!(export);
tern_bridge::coll_large_calls!(export);
tern_bridge::comm_calls!(export);
tern_bridge::datatype_calls!(export);
tern_bridge::rma_calls!(export);
tern_bridge::file_calls!(export);
tern_bridge::tool_calls!(export);
tern_bridge::removed_calls!(export);

/// The function that the loader calls before all others of the program. Unit tests have no library to connect to.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static CONNECT: extern "C" fn() = connect;

#[cfg(not(test))]
extern "C" fn connect() {
    crate::objects::locate();
    tern_bridge::tern::connect(crate::handles::given);
}
