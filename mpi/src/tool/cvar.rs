//! Control variables (section 15.3.6): Tern's settings, to read.

use std::ffi::{CStr, c_int, c_void};

use tern_abi::*;

use super::state::BoundCvar;
use super::text::{name_of, put_text};
use super::variables::{Values, Variable, settings, type_of, variables};
use super::{ToolResult, enter, enumeration, give, index, put, tool_entry};
use crate::core::boundary::{ChoiceBuf, ChoiceBufMut, InOut, Out, OutText};

fn find(at: c_int) -> ToolResult<(usize, &'static Variable)> {
    let at = index(at, variables().count())?;
    variables().nth(at).map(|variable| (at, variable)).ok_or(MPI_T_ERR_INVALID_INDEX)
}

/// The variable of a handle, and how many elements the program has room for.
fn of_handle(handle: MPI_T_cvar_handle) -> ToolResult<(&'static Variable, usize)> {
    let bound = *enter()?.cvar_handles.get(&handle.0).ok_or(MPI_T_ERR_INVALID_HANDLE)?;
    Ok((variables().nth(bound.number).ok_or(MPI_T_ERR_INVALID_HANDLE)?, bound.room))
}

/// How many elements of its type a variable has.
fn count_of(variable: &Variable) -> c_int {
    match variable.values {
        Values::Set(..) | Values::File(..) | Values::Text(..) => {
            variable.value(&settings()).len() as c_int + 1
        }
        _ => 1,
    }
}

/// Copies the value out, as elements of the variable's type.
///
/// The program has room for as many as [`count_of`] has said. Before MPI starts, a text may have grown since.
fn read(variable: &Variable, room: usize, buf: ChoiceBufMut) {
    let settings = settings();
    match variable.values {
        Values::Number(get, _) => buf.store(0, get(&settings) as MPI_Count),
        Values::Switch(get, _) => buf.store(0, MPI_Count::from(get(&settings))),
        Values::Choice(_, get, _) => buf.store(0, get(&settings) as c_int),
        Values::Set(..) | Values::File(..) | Values::Text(..) => {
            let text = variable.value(&settings);
            text.bytes()
                .take(room.saturating_sub(1))
                .chain([0])
                .enumerate()
                .for_each(|(at, byte)| buf.store(at, byte));
        }
    }
}

tool_entry! {
    /// Number of control variables.
    fn MPI_T_cvar_get_num(num_cvar: Option<Out<'_, c_int>>) {
        let _tools = enter()?;
        give(num_cvar, variables().count() as c_int)
    }

    /// What a control variable is.
    fn MPI_T_cvar_get_info(
        cvar_index: c_int, name: Option<OutText<'_>>, name_len: Option<InOut<'_, c_int>>, verbosity: Option<Out<'_, c_int>>,
        datatype: Option<Out<'_, MPI_Datatype>>, enumtype: Option<Out<'_, MPI_T_enum>>, desc: Option<OutText<'_>>, desc_len: Option<InOut<'_, c_int>>,
        bind: Option<Out<'_, c_int>>, scope: Option<Out<'_, c_int>>,
    ) {
        let _tools = enter()?;
        let (at, variable) = find(cvar_index)?;
        put_text(name, name_len, variable.name);
        put_text(desc, desc_len, variable.meaning);
        put(verbosity, MPI_T_VERBOSITY_USER_BASIC);
        put(datatype, type_of(variable));
        put(enumtype, enumeration::of_variable(at, variable));
        put(bind, MPI_T_BIND_NO_OBJECT);
        // The environment is read once, when MPI starts: these variables cannot be written.
        put(scope, MPI_T_SCOPE_READONLY);
        Ok(())
    }

    /// Index of the control variable of a name.
    fn MPI_T_cvar_get_index(name: Option<&CStr>, cvar_index: Option<Out<'_, c_int>>) {
        let _tools = enter()?;
        let name = name_of(name)?;
        let at = variables().position(|variable| variable.name == name).ok_or(MPI_T_ERR_INVALID_NAME)?;
        give(cvar_index, at as c_int)
    }

    /// Binds a control variable; none of Tern's belongs to an object, so `obj_handle` is not looked at.
    fn MPI_T_cvar_handle_alloc(
        cvar_index: c_int, obj_handle: *mut c_void, handle: Option<Out<'_, MPI_T_cvar_handle>>, count: Option<Out<'_, c_int>>,
    ) {
        let _ = obj_handle;
        let mut tools = enter()?;
        let (at, variable) = find(cvar_index)?;
        let value = tools.fresh_handle();
        give(handle, MPI_T_cvar_handle(value))?;
        let room = count_of(variable);
        tools.cvar_handles.insert(value, BoundCvar { number: at, room: room as usize });
        put(count, room);
        Ok(())
    }

    /// Frees a handle of a control variable.
    fn MPI_T_cvar_handle_free(handle: Option<&mut MPI_T_cvar_handle>) {
        let mut tools = enter()?;
        let bound = handle.ok_or(MPI_T_ERR_INVALID_HANDLE)?;
        tools.cvar_handles.remove(&bound.0).ok_or(MPI_T_ERR_INVALID_HANDLE)?;
        *bound = MPI_T_CVAR_HANDLE_NULL;
        Ok(())
    }

    /// The value of a control variable.
    fn MPI_T_cvar_read(handle: MPI_T_cvar_handle, buf: ChoiceBufMut) {
        let (variable, room) = of_handle(handle)?;
        if buf.is_null() {
            return Err(MPI_T_ERR_INVALID);
        }
        read(variable, room, buf);
        Ok(())
    }

    /// Always refused: the settings are read from the environment before MPI starts.
    fn MPI_T_cvar_write(handle: MPI_T_cvar_handle, buf: ChoiceBuf) {
        let _ = buf;
        of_handle(handle).and(Err(MPI_T_ERR_CVAR_SET_NEVER))
    }
}
