//! Performance variables (section 15.3.7): there are none yet, so no index and no handle is valid.

use std::ffi::{c_char, c_int, c_void};

use tern_abi::*;

use super::text::name_of;
use super::{Outcome, enter, give, tool_entry};

/// Only that a session has no handles can be told of a handle.
fn no_handle(session: MPI_T_pvar_session) -> Outcome {
    check(session).and(Err(MPI_T_ERR_INVALID_HANDLE))
}

fn check(session: MPI_T_pvar_session) -> Outcome {
    match enter()?.pvar_sessions.contains_key(&session.0) {
        true => Ok(()),
        false => Err(MPI_T_ERR_INVALID_SESSION),
    }
}

/// What is asked of all handles of a session is done at once: it has none.
fn all_or_none(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Outcome {
    if handle == MPI_T_PVAR_ALL_HANDLES { check(session) } else { no_handle(session) }
}

tool_entry! {
    /// Number of performance variables.
    fn MPI_T_pvar_get_num(num_pvar: *mut c_int) {
        let _tools = enter()?;
        give(num_pvar, 0)
    }

    /// What a performance variable is.
    fn MPI_T_pvar_get_info(
        pvar_index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int, var_class: *mut c_int,
        datatype: *mut MPI_Datatype, enumtype: *mut MPI_T_enum, desc: *mut c_char, desc_len: *mut c_int,
        bind: *mut c_int, readonly: *mut c_int, continuous: *mut c_int, atomic: *mut c_int,
    ) {
        let _ = (pvar_index, name, name_len, verbosity, var_class, datatype, enumtype, desc, desc_len);
        let _ = (bind, readonly, continuous, atomic);
        enter().and(Err(MPI_T_ERR_INVALID_INDEX))
    }

    /// Index of the performance variable of a name and class.
    fn MPI_T_pvar_get_index(name: *const c_char, var_class: c_int, pvar_index: *mut c_int) {
        let _ = (var_class, pvar_index);
        let _tools = enter()?;
        name_of(name).and(Err(MPI_T_ERR_INVALID_NAME))
    }

    /// Starts a session.
    fn MPI_T_pvar_session_create(session: *mut MPI_T_pvar_session) {
        let mut tools = enter()?;
        let value = tools.fresh_handle();
        give(session, MPI_T_pvar_session(value))?;
        tools.pvar_sessions.insert(value, ());
        Ok(())
    }

    /// Ends a session.
    fn MPI_T_pvar_session_free(session: *mut MPI_T_pvar_session) {
        let mut tools = enter()?;
        let open = session.as_mut().ok_or(MPI_T_ERR_INVALID_SESSION)?;
        tools.pvar_sessions.remove(&open.0).ok_or(MPI_T_ERR_INVALID_SESSION)?;
        *open = MPI_T_PVAR_SESSION_NULL;
        Ok(())
    }

    /// Binds a performance variable.
    fn MPI_T_pvar_handle_alloc(
        session: MPI_T_pvar_session, pvar_index: c_int, obj_handle: *mut c_void, handle: *mut MPI_T_pvar_handle,
        count: *mut c_int,
    ) {
        let _ = (pvar_index, obj_handle, handle, count);
        check(session).and(Err(MPI_T_ERR_INVALID_INDEX))
    }

    /// Frees a handle.
    fn MPI_T_pvar_handle_free(session: MPI_T_pvar_session, handle: *mut MPI_T_pvar_handle) {
        let _ = handle;
        no_handle(session)
    }

    /// Starts a variable, or all of a session.
    fn MPI_T_pvar_start(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) {
        all_or_none(session, handle)
    }

    /// Stops a variable, or all of a session.
    fn MPI_T_pvar_stop(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) {
        all_or_none(session, handle)
    }

    /// The value of a variable.
    fn MPI_T_pvar_read(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: *mut c_void) {
        let _ = (handle, buf);
        no_handle(session)
    }

    /// Sets a variable.
    fn MPI_T_pvar_write(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: *const c_void) {
        let _ = (handle, buf);
        no_handle(session)
    }

    /// Sets a variable, or all of a session, to the initial value.
    fn MPI_T_pvar_reset(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) {
        all_or_none(session, handle)
    }

    /// Reads and resets a variable at once.
    fn MPI_T_pvar_readreset(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: *mut c_void) {
        let _ = (handle, buf);
        no_handle(session)
    }
}
