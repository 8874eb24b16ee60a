//! What a window is: group, hints, name (MPI 5.0 sections 12.2.7, 7.8).

use crate::core::arguments::{out, store_string, string};
use crate::core::entry::entry;
use crate::core::process::enter;
use crate::env::info::Info;
use std::ffi::{c_char, c_int};
use tern_abi::*;

/// The hints of section 12.2.1, with what holds unless the program says otherwise.
const HINTS: [(&str, &str); 6] = [
    ("no_locks", "false"),
    ("accumulate_ordering", "rar,raw,war,waw"),
    ("accumulate_ops", "same_op_no_op"),
    ("mpi_accumulate_granularity", "0"),
    ("same_size", "false"),
    ("same_disp_unit", "false"),
];

/// Of windows on shared memory only.
const NONCONTIG: (&str, &str) = ("alloc_shared_noncontig", "false");

entry! {
    /// The ranks of a window.
    fn MPI_Win_get_group(win: MPI_Win, group: *mut MPI_Group) on win {
        let group = out("group", group)?;
        let mut process = enter();
        let members = process.window(win)?.group.clone();
        *group = process.new_group(members)?;
        Ok(())
    }

    /// The hints in use, as a new object.
    fn MPI_Win_get_info(win: MPI_Win, info_used: *mut MPI_Info) on win {
        let info_used = out("info_used", info_used)?;
        let mut process = enter();
        let window = process.window(win)?;
        let shared = window.constants.flavor == MPI_WIN_FLAVOR_SHARED;
        let used = used(&window.info, shared);
        *info_used = process.new_info(used)?;
        Ok(())
    }

    /// Gives hints; those that are not known are ignored, and so is what a window cannot change any more.
    fn MPI_Win_set_info(win: MPI_Win, info: MPI_Info) on win {
        let mut process = enter();
        let hints = process.hints(info)?.only(&["accumulate_ordering", "accumulate_ops"]);
        let known = &mut process.window_mut(win)?.info;
        hints.entries.iter().for_each(|(key, value)| known.set(key, value));
        Ok(())
    }

    /// The name; the null handle has one too (section 7.8).
    fn MPI_Win_get_name(win: MPI_Win, win_name: *mut c_char, resultlen: *mut c_int) on win {
        let (win_name, resultlen) = (out("win_name", win_name)?, out("resultlen", resultlen)?);
        let process = enter();
        let name = if win == MPI_WIN_NULL { "MPI_WIN_NULL" } else { &process.window(win)?.name };
        *resultlen = store_string(win_name, name, MPI_MAX_OBJECT_NAME as usize);
        Ok(())
    }

    /// Names a window.
    fn MPI_Win_set_name(win: MPI_Win, win_name: *const c_char) on win {
        let name = string("win_name", win_name)?;
        enter().window_mut(win)?.name = name.into_owned();
        Ok(())
    }
}

fn used(given: &Info, shared: bool) -> Info {
    let mut used = Info::default();
    for (key, usual) in HINTS.into_iter().chain(shared.then_some(NONCONTIG)) {
        used.set(key, given.get(key).unwrap_or(usual));
    }
    used
}
