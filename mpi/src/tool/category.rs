//! Categories of variables (section 15.3.9): a flat list, which never changes. The last one has the performance variables and the
//! events, the others the control variables.

use std::ffi::{CStr, c_int};
use std::ops::Range;

use tern_abi::*;

use super::happening::EVENT_TYPES;
use super::numbers::NUMBERS;
use super::text::{name_of, put_text};
use super::variables::{CATEGORIES, indices_of};
use super::{ToolResult, enter, give, index, put, tool_entry};
use crate::core::boundary::{InOut, Out, OutArray, OutText};

/// Name and description of the category of what is measured.
const MEASURED: (&str, &str) = ("performance", "what this rank has done and holds, and what happens");

/// A category: indices of its members.
struct CategoryMembers {
    name: &'static str,
    description: &'static str,
    cvars: Range<usize>,
    pvars: Range<usize>,
    events: Range<usize>,
}

fn all() -> impl Iterator<Item = CategoryMembers> {
    let settings = CATEGORIES.iter().enumerate().map(|(at, category)| CategoryMembers {
        name: category.name,
        description: category.description,
        cvars: indices_of(at),
        pvars: 0..0,
        events: 0..0,
    });
    settings.chain([CategoryMembers {
        name: MEASURED.0,
        description: MEASURED.1,
        cvars: 0..0,
        pvars: 0..NUMBERS.len(),
        events: 0..EVENT_TYPES.len(),
    }])
}

fn find(at: c_int) -> ToolResult<CategoryMembers> {
    let at = index(at, CATEGORIES.len() + 1)?;
    all().nth(at).ok_or(MPI_T_ERR_INVALID_INDEX)
}

/// Stores as many indices as there is room for.
fn give_all(members: Range<usize>, len: c_int, indices: OutArray<'_, c_int>) -> ToolResult {
    let room = usize::try_from(len).map_err(|_| MPI_T_ERR_INVALID)?;
    let members = members.take(room).map(|member| member as c_int);
    indices.expect_room(room).and_then(|()| indices.store(members)).map_err(|_| MPI_T_ERR_INVALID)
}

tool_entry! {
    /// Number of categories.
    fn MPI_T_category_get_num(num_cat: Option<Out<'_, c_int>>) {
        let _tools = enter()?;
        give(num_cat, all().count() as c_int)
    }

    /// What a category is and how much it holds.
    fn MPI_T_category_get_info(
        cat_index: c_int, name: Option<OutText<'_>>, name_len: Option<InOut<'_, c_int>>, desc: Option<OutText<'_>>, desc_len: Option<InOut<'_, c_int>>,
        num_cvars: Option<Out<'_, c_int>>, num_pvars: Option<Out<'_, c_int>>, num_categories: Option<Out<'_, c_int>>,
    ) {
        let _tools = enter()?;
        let category = find(cat_index)?;
        put_text(name, name_len, category.name);
        put_text(desc, desc_len, category.description);
        put(num_cvars, category.cvars.len() as c_int);
        put(num_pvars, category.pvars.len() as c_int);
        put(num_categories, 0);
        Ok(())
    }

    /// Number of event types in a category.
    fn MPI_T_category_get_num_events(cat_index: c_int, num_events: Option<Out<'_, c_int>>) {
        let _tools = enter()?;
        give(num_events, find(cat_index)?.events.len() as c_int)
    }

    /// Index of the category of a name.
    fn MPI_T_category_get_index(name: Option<&CStr>, cat_index: Option<Out<'_, c_int>>) {
        let _tools = enter()?;
        let name = name_of(name)?;
        let at = all().position(|category| category.name == name).ok_or(MPI_T_ERR_INVALID_NAME)?;
        give(cat_index, at as c_int)
    }

    /// Indices of a category's control variables, as many as there is room for.
    fn MPI_T_category_get_cvars(cat_index: c_int, len: c_int, indices: OutArray<'_, c_int>) {
        let _tools = enter()?;
        give_all(find(cat_index)?.cvars, len, indices)
    }

    /// Indices of a category's performance variables.
    fn MPI_T_category_get_pvars(cat_index: c_int, len: c_int, indices: OutArray<'_, c_int>) {
        let _tools = enter()?;
        give_all(find(cat_index)?.pvars, len, indices)
    }

    /// Indices of a category's event types.
    fn MPI_T_category_get_events(cat_index: c_int, len: c_int, indices: OutArray<'_, c_int>) {
        let _tools = enter()?;
        give_all(find(cat_index)?.events, len, indices)
    }

    /// Indices of a category's categories: it has none.
    fn MPI_T_category_get_categories(cat_index: c_int, len: c_int, indices: OutArray<'_, c_int>) {
        let _ = (len, indices);
        let _tools = enter()?;
        find(cat_index).map(|_| ())
    }

    /// How often the categories have changed: never.
    fn MPI_T_category_changed(update_number: Option<Out<'_, c_int>>) {
        let _tools = enter()?;
        give(update_number, 0)
    }
}
