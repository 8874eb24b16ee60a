//! Handles of the tool interface that are bound to an object of MPI (section 15.3.2): the program passes the address of a
//! handle, and what is bound to the variable or event says of which kind it is.

use std::ffi::c_int;
use std::ptr::null_mut;

use tern_abi::*;

use crate::foreign::{Address, ForeignAbi, ForeignHandle, code_out};
use crate::tern;

/// Calls with the address of the standard's handle of an object, if there is one.
unsafe fn with_object<F: ForeignAbi>(
    bind: c_int,
    object: Address,
    call: impl FnOnce(Address) -> c_int,
) -> c_int {
    /// The same for one kind of handle.
    unsafe fn of<H: ForeignHandle>(object: Address, call: impl FnOnce(Address) -> c_int) -> c_int {
        // SAFETY: the program gave the address of a handle of this kind.
        let mut inner = unsafe { *object.cast::<H>() }.inner();
        call((&raw mut inner).cast())
    }
    if object.is_null() {
        return call(object);
    }
    // SAFETY: what is bound says of which kind the handle is.
    unsafe {
        match bind {
            MPI_T_BIND_MPI_COMM => of::<F::Comm>(object, call),
            MPI_T_BIND_MPI_DATATYPE => of::<F::Datatype>(object, call),
            MPI_T_BIND_MPI_ERRHANDLER => of::<F::Errhandler>(object, call),
            MPI_T_BIND_MPI_FILE => of::<F::File>(object, call),
            MPI_T_BIND_MPI_GROUP => of::<F::Group>(object, call),
            MPI_T_BIND_MPI_OP => of::<F::Op>(object, call),
            MPI_T_BIND_MPI_REQUEST => of::<F::Request>(object, call),
            MPI_T_BIND_MPI_WIN => of::<F::Win>(object, call),
            MPI_T_BIND_MPI_MESSAGE => of::<F::Message>(object, call),
            MPI_T_BIND_MPI_INFO => of::<F::Info>(object, call),
            MPI_T_BIND_MPI_SESSION => of::<F::Session>(object, call),
            _ => call(object),
        }
    }
}

/// `MPI_T_cvar_handle_alloc`.
pub unsafe fn cvar_handle_alloc<F: ForeignAbi>(
    index: c_int,
    object: Address,
    handle: Address,
    count: Address,
) -> c_int {
    let mut bind = MPI_T_BIND_NO_OBJECT;
    // SAFETY: the place of a number, and the program's own arguments. If the index is none, the call says so.
    unsafe {
        tern!(MPI_T_cvar_get_info(
            index => c_int, null_mut() => Address, null_mut() => Address, null_mut() => Address,
            null_mut() => Address, null_mut() => Address, null_mut() => Address, null_mut() => Address,
            &mut bind => *mut c_int, null_mut() => Address
        ));
        code_out::<F>(with_object::<F>(bind, object, |object| {
            tern!(MPI_T_cvar_handle_alloc(
                index => c_int, object => Address, handle => Address, count => Address
            ))
        }))
    }
}

/// `MPI_T_pvar_handle_alloc`.
pub unsafe fn pvar_handle_alloc<F: ForeignAbi>(
    session: Address,
    index: c_int,
    object: Address,
    handle: Address,
    count: Address,
) -> c_int {
    let mut bind = MPI_T_BIND_NO_OBJECT;
    // SAFETY: as above.
    unsafe {
        tern!(MPI_T_pvar_get_info(
            index => c_int, null_mut() => Address, null_mut() => Address, null_mut() => Address,
            null_mut() => Address, null_mut() => Address, null_mut() => Address, null_mut() => Address,
            null_mut() => Address, &mut bind => *mut c_int, null_mut() => Address, null_mut() => Address,
            null_mut() => Address
        ));
        code_out::<F>(with_object::<F>(bind, object, |object| {
            tern!(MPI_T_pvar_handle_alloc(
                session => Address, index => c_int, object => Address, handle => Address, count => Address
            ))
        }))
    }
}

/// `MPI_T_event_handle_alloc`.
pub unsafe fn event_handle_alloc<F: ForeignAbi>(
    index: c_int,
    object: Address,
    info: F::Info,
    registration: Address,
) -> c_int {
    let mut bind = MPI_T_BIND_NO_OBJECT;
    // SAFETY: as above.
    unsafe {
        tern!(MPI_T_event_get_info(
            index => c_int, null_mut() => Address, null_mut() => Address, null_mut() => Address,
            null_mut() => Address, null_mut() => Address, null_mut() => Address, null_mut() => Address,
            null_mut() => Address, null_mut() => Address, null_mut() => Address, &mut bind => *mut c_int
        ));
        code_out::<F>(with_object::<F>(bind, object, |object| {
            tern!(MPI_T_event_handle_alloc(
                index => c_int, object => Address, info.inner() => MPI_Info, registration => Address
            ))
        }))
    }
}
