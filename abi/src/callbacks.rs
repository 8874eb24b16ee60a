//! Types of the functions that a program hands to the library.
//!
//! A type here has the name of the C function type; where C takes `MPI_X_function *`, an entry point takes
//! `Option<MPI_X_function>`: the same pointer, with null as `None`. Some predefined functions are no
//! functions at all but small integers (`MPI_COMM_DUP_FN` is 1), so an attribute's copy function must be
//! looked at as an integer before anybody calls it: [`copy_rule`] does that.

use std::ffi::{c_int, c_void};

use crate::*;

/// User reduction (section 6.9.5): combine `*len` elements of `invec` into `inoutvec`.
pub type MPI_User_function = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut MPI_Datatype);
/// User reduction with a large count.
pub type MPI_User_function_c =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *mut MPI_Count, *mut MPI_Datatype);

/// Fills in the status of a generalized request (section 13.2).
pub type MPI_Grequest_query_function = unsafe extern "C" fn(*mut c_void, *mut MPI_Status) -> c_int;
/// Frees the state of a generalized request.
pub type MPI_Grequest_free_function = unsafe extern "C" fn(*mut c_void) -> c_int;
/// Cancels a generalized request.
pub type MPI_Grequest_cancel_function = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

/// Copies an attribute: object, key, extra state, value in, place of the value out, flag.
pub type CopyAttr<Object> =
    unsafe extern "C" fn(Object, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
/// Deletes an attribute: object, key, value, extra state.
pub type DeleteAttr<Object> = unsafe extern "C" fn(Object, c_int, *mut c_void, *mut c_void) -> c_int;

/// Copies a communicator's attribute, by the name of MPI-1 (deprecated).
pub type MPI_Copy_function = CopyAttr<MPI_Comm>;
/// Deletes a communicator's attribute, by the name of MPI-1 (deprecated).
pub type MPI_Delete_function = DeleteAttr<MPI_Comm>;
/// Copies a communicator's attribute (section 7.7.2).
pub type MPI_Comm_copy_attr_function = CopyAttr<MPI_Comm>;
/// Deletes a communicator's attribute.
pub type MPI_Comm_delete_attr_function = DeleteAttr<MPI_Comm>;
/// Copies a datatype's attribute (section 7.7.4).
pub type MPI_Type_copy_attr_function = CopyAttr<MPI_Datatype>;
/// Deletes a datatype's attribute.
pub type MPI_Type_delete_attr_function = DeleteAttr<MPI_Datatype>;
/// Copies a window's attribute (section 7.7.3); windows are never duplicated, so it is never called.
pub type MPI_Win_copy_attr_function = CopyAttr<MPI_Win>;
/// Deletes a window's attribute.
pub type MPI_Win_delete_attr_function = DeleteAttr<MPI_Win>;

/// Extent of a type in a user's data representation (section 14.5.3).
pub type MPI_Datarep_extent_function =
    unsafe extern "C" fn(MPI_Datatype, *mut MPI_Aint, *mut c_void) -> c_int;
/// Converts between memory and a user's data representation.
pub type MPI_Datarep_conversion_function =
    unsafe extern "C" fn(*mut c_void, MPI_Datatype, c_int, *mut c_void, MPI_Offset, *mut c_void) -> c_int;
/// Converts between memory and a user's data representation, with a large count.
pub type MPI_Datarep_conversion_function_c =
    unsafe extern "C" fn(*mut c_void, MPI_Datatype, MPI_Count, *mut c_void, MPI_Offset, *mut c_void) -> c_int;

/// Handles an error on a communicator (section 9.3): object, error code, and what the library adds (nothing).
pub type MPI_Comm_errhandler_function = unsafe extern "C" fn(*mut MPI_Comm, *mut c_int, ...);
/// Handles an error on a file.
pub type MPI_File_errhandler_function = unsafe extern "C" fn(*mut MPI_File, *mut c_int, ...);
/// Handles an error on a window.
pub type MPI_Win_errhandler_function = unsafe extern "C" fn(*mut MPI_Win, *mut c_int, ...);
/// Handles an error on a session.
pub type MPI_Session_errhandler_function = unsafe extern "C" fn(*mut MPI_Session, *mut c_int, ...);

/// Receives an event of the tool interface (section 15.3.8).
pub type MPI_T_event_cb_function =
    unsafe extern "C" fn(MPI_T_event_instance, MPI_T_event_registration, MPI_T_cb_safety, *mut c_void);
/// Hears that a registration has been freed.
pub type MPI_T_event_free_cb_function =
    unsafe extern "C" fn(MPI_T_event_registration, MPI_T_cb_safety, *mut c_void);
/// Hears how many events were dropped.
pub type MPI_T_event_dropped_cb_function =
    unsafe extern "C" fn(MPI_Count, MPI_T_event_registration, c_int, MPI_T_cb_safety, *mut c_void);

int_family! {
    /// Addresses of the predefined functions, and their names.
    PREDEFINED_FUNCTION_NAMES: usize {
        MPI_NULL_COPY_FN = 0,
        MPI_DUP_FN = 1,
        MPI_NULL_DELETE_FN = 0,
        MPI_COMM_NULL_COPY_FN = 0,
        MPI_COMM_DUP_FN = 1,
        MPI_COMM_NULL_DELETE_FN = 0,
        MPI_TYPE_NULL_COPY_FN = 0,
        MPI_TYPE_DUP_FN = 1,
        MPI_TYPE_NULL_DELETE_FN = 0,
        MPI_WIN_NULL_COPY_FN = 0,
        MPI_WIN_DUP_FN = 1,
        MPI_WIN_NULL_DELETE_FN = 0,
        MPI_CONVERSION_FN_NULL = 0,
        MPI_CONVERSION_FN_NULL_C = 0,
    }
}

/// What becomes of an attribute when its object is duplicated.
#[derive(Clone, Copy, Debug)]
pub enum CopyRule<Object> {
    /// It is not copied (`MPI_X_NULL_COPY_FN`).
    Never,
    /// Its value is copied (`MPI_X_DUP_FN`).
    Always,
    /// The program's function decides.
    Ask(CopyAttr<Object>),
}

/// Tells the predefined copy functions from the program's own.
pub fn copy_rule<Object>(function: Option<CopyAttr<Object>>) -> CopyRule<Object> {
    match function {
        None => CopyRule::Never,
        Some(function) if function as usize == MPI_COMM_DUP_FN => CopyRule::Always,
        Some(function) => CopyRule::Ask(function),
    }
}

/// The name of every callback type, in the order of the ABI table.
pub const CALLBACK_TYPE_NAMES: &[&str] = &[
    "MPI_User_function",
    "MPI_User_function_c",
    "MPI_Grequest_query_function",
    "MPI_Grequest_free_function",
    "MPI_Grequest_cancel_function",
    "MPI_Copy_function",
    "MPI_Delete_function",
    "MPI_Comm_copy_attr_function",
    "MPI_Comm_delete_attr_function",
    "MPI_Type_copy_attr_function",
    "MPI_Type_delete_attr_function",
    "MPI_Win_copy_attr_function",
    "MPI_Win_delete_attr_function",
    "MPI_Datarep_extent_function",
    "MPI_Datarep_conversion_function",
    "MPI_Datarep_conversion_function_c",
    "MPI_Comm_errhandler_function",
    "MPI_File_errhandler_function",
    "MPI_Win_errhandler_function",
    "MPI_Session_errhandler_function",
    "MPI_T_event_cb_function",
    "MPI_T_event_free_cb_function",
    "MPI_T_event_dropped_cb_function",
];
