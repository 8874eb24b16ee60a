//! Splits of communicators by types that only the other ABI has.

use std::ffi::{CStr, c_char, c_int};

use tern_abi::*;

use crate::foreign::{ForeignAbi, ForeignHandle, code_out};
use crate::kinds::{HandleOut, Param};
use crate::number::ConstantFamily;
use crate::tern;

/// `MPI_Comm_split_type`.
pub unsafe fn comm_split_type<F: ForeignAbi>(
    comm: F::Comm,
    split_type: c_int,
    key: c_int,
    info: F::Info,
    newcomm: *mut F::Comm,
) -> c_int {
    let (split, own) = match F::resource_of_split(split_type) {
        Some(resource) => (MPI_COMM_TYPE_HW_GUIDED, Some(hints_of(resource))),
        None => (F::SplitType::inner(split_type), None),
    };
    // SAFETY: the program's own arguments.
    unsafe {
        let mut held = HandleOut::<F::Comm>::hold(newcomm, 0);
        let mut code = tern!(MPI_Comm_split_type(
            comm.inner() => MPI_Comm, split => c_int, key => c_int, own.unwrap_or_else(|| info.inner()) => MPI_Info,
            HandleOut::<F::Comm>::pass(&mut held) => *mut MPI_Comm
        ));
        let place = HandleOut::<F::Comm>::pass(&mut held);
        if own.is_some() && code == MPI_SUCCESS && *place == MPI_COMM_NULL {
            // Tern puts a process that may run on several resources in no communicator, Open MPI in one of its own.
            code = tern!(MPI_Comm_dup(MPI_COMM_SELF => MPI_Comm, place => *mut MPI_Comm));
        }
        HandleOut::<F::Comm>::give(&mut held, newcomm, code != MPI_SUCCESS);
        if let Some(mut own) = own {
            tern!(MPI_Info_free(&mut own => *mut MPI_Info));
        }
        code_out::<F>(code)
    }
}

/// Hints that name a resource.
fn hints_of(resource: &CStr) -> MPI_Info {
    let mut hints = MPI_INFO_NULL;
    let key = c"mpi_hw_resource_type".as_ptr();
    // SAFETY: the place of a handle, and texts.
    unsafe {
        tern!(MPI_Info_create(&mut hints => *mut MPI_Info));
        tern!(MPI_Info_set(hints => MPI_Info, key => *const c_char, resource.as_ptr() => *const c_char));
    }
    hints
}
