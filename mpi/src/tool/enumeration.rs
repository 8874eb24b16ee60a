//! Enumerations (section 15.3.5): the words of a control variable with a choice of them.

use std::ffi::c_int;

use tern_abi::*;

use super::text::put_text;
use super::variables::{Values, Variable, variables};
use super::{HANDLES_START, ToolResult, enter, give, put, tool_entry};
use crate::core::boundary::{InOut, Out, OutText};

/// The enumeration of the variable at `index`, or the null one.
pub(super) fn of_variable(index: usize, variable: &Variable) -> MPI_T_enum {
    match variable.values {
        Values::Choice(..) => MPI_T_enum(HANDLES_START + index),
        _ => MPI_T_ENUM_NULL,
    }
}

fn find(enumtype: MPI_T_enum) -> ToolResult<(&'static Variable, &'static [&'static str])> {
    let index = enumtype.0.checked_sub(HANDLES_START).ok_or(MPI_T_ERR_INVALID_HANDLE)?;
    match variables().nth(index) {
        Some(variable @ Variable { values: Values::Choice(words, ..), .. }) => Ok((variable, words)),
        _ => Err(MPI_T_ERR_INVALID_HANDLE),
    }
}

tool_entry! {
    /// Number of items, and the name (section 15.3.5).
    fn MPI_T_enum_get_info(enumtype: MPI_T_enum, num: Option<Out<'_, c_int>>, name: Option<OutText<'_>>, name_len: Option<InOut<'_, c_int>>) {
        let _tools = enter()?;
        let (variable, words) = find(enumtype)?;
        put(num, words.len() as c_int);
        put_text(name, name_len, variable.name);
        Ok(())
    }

    /// Value and name of an item.
    fn MPI_T_enum_get_item(
        enumtype: MPI_T_enum, indx: c_int, value: Option<Out<'_, c_int>>, name: Option<OutText<'_>>, name_len: Option<InOut<'_, c_int>>,
    ) {
        let _tools = enter()?;
        let (_, words) = find(enumtype)?;
        let word = usize::try_from(indx).ok().and_then(|at| words.get(at)).ok_or(MPI_T_ERR_INVALID_INDEX)?;
        put_text(name, name_len, word);
        give(value, indx)
    }
}
