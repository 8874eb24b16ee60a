//! Categories of variables (section 15.3.9): a flat list, which never changes.

use std::ffi::{c_char, c_int};

use tern_abi::*;

use super::text::{name_of, put_text};
use super::variables::{CATEGORIES, indices_of};
use super::{Outcome, enter, give, index, put, tool_entry};

fn find(at: c_int) -> Outcome<usize> {
    index(at, CATEGORIES.len())
}

/// A category has no members of this kind.
fn nothing_in(at: c_int) -> Outcome {
    let _tools = enter()?;
    find(at).map(|_| ())
}

tool_entry! {
    /// Number of categories.
    fn MPI_T_category_get_num(num_cat: *mut c_int) {
        let _tools = enter()?;
        give(num_cat, CATEGORIES.len() as c_int)
    }

    /// What a category is and how much it holds.
    fn MPI_T_category_get_info(
        cat_index: c_int, name: *mut c_char, name_len: *mut c_int, desc: *mut c_char, desc_len: *mut c_int,
        num_cvars: *mut c_int, num_pvars: *mut c_int, num_categories: *mut c_int,
    ) {
        let _tools = enter()?;
        let category = &CATEGORIES[find(cat_index)?];
        put_text(name, name_len, category.name);
        put_text(desc, desc_len, category.description);
        put(num_cvars, category.variables.len() as c_int);
        put(num_pvars, 0);
        put(num_categories, 0);
        Ok(())
    }

    /// Number of event types in a category.
    fn MPI_T_category_get_num_events(cat_index: c_int, num_events: *mut c_int) {
        nothing_in(cat_index)?;
        give(num_events, 0)
    }

    /// Index of the category of a name.
    fn MPI_T_category_get_index(name: *const c_char, cat_index: *mut c_int) {
        let _tools = enter()?;
        let name = name_of(name)?;
        let at = CATEGORIES.iter().position(|category| category.name == name).ok_or(MPI_T_ERR_INVALID_NAME)?;
        give(cat_index, at as c_int)
    }

    /// Indices of a category's control variables, as many as there is room for.
    fn MPI_T_category_get_cvars(cat_index: c_int, len: c_int, indices: *mut c_int) {
        let _tools = enter()?;
        let members = indices_of(find(cat_index)?);
        let room = usize::try_from(len).map_err(|_| MPI_T_ERR_INVALID)?;
        if indices.is_null() && room > 0 {
            return Err(MPI_T_ERR_INVALID);
        }
        for (place, member) in members.take(room).enumerate() {
            indices.add(place).write(member as c_int);
        }
        Ok(())
    }

    /// Indices of a category's performance variables.
    fn MPI_T_category_get_pvars(cat_index: c_int, len: c_int, indices: *mut c_int) {
        let _ = (len, indices);
        nothing_in(cat_index)
    }

    /// Indices of a category's event types.
    fn MPI_T_category_get_events(cat_index: c_int, len: c_int, indices: *mut c_int) {
        let _ = (len, indices);
        nothing_in(cat_index)
    }

    /// Indices of a category's categories.
    fn MPI_T_category_get_categories(cat_index: c_int, len: c_int, indices: *mut c_int) {
        let _ = (len, indices);
        nothing_in(cat_index)
    }

    /// How often the categories have changed: never.
    fn MPI_T_category_changed(update_number: *mut c_int) {
        let _tools = enter()?;
        give(update_number, 0)
    }
}
