//! What a window is: group, hints, name (MPI 5.0 sections 12.2.6, 12.2.7, 7.8).

use crate::core::boundary::{Out, OutText};
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::enter;
use crate::env::hints::Info;
use crate::env::memory_kinds;
use std::borrow::Cow;
use std::ffi::c_int;
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

/// Of windows whose memory the library has given out.
const ALIGNMENT: (&str, &str) = ("mpi_minimum_memory_alignment", "4096");

entry! {
    /// The group of the processes of a window.
    safe fn MPI_Win_get_group(win: MPI_Win, group: Out<'_, MPI_Group>) on win {
        let mut process = enter();
        let members = process.window(win)?.group.clone();
        group.set(process.new_group(members)?);
        Ok(())
    }

    /// The hints that a window uses, as a new object.
    safe fn MPI_Win_get_info(win: MPI_Win, info_used: Out<'_, MPI_Info>) on win {
        let mut process = enter();
        let window = process.window(win)?;
        let (mut used, comm) = (used(&window.info, window.constants.flavor), window.comm);
        used.set(memory_kinds::KEY, &process.memory_kinds(comm));
        info_used.set(process.new_info(used)?);
        Ok(())
    }

    /// Gives hints; those that are not known are ignored, and so is what a window cannot change any more.
    safe fn MPI_Win_set_info(win: MPI_Win, info: MPI_Info) on win {
        let mut process = enter();
        let hints = process.hints(info)?.only(&["accumulate_ordering", "accumulate_ops"]);
        let known = &mut process.window_mut(win)?.info;
        hints.entries.iter().for_each(|(key, value)| known.set(key, value));
        Ok(())
    }

    /// The name of a window; the null handle has one too (section 7.8).
    safe fn MPI_Win_get_name(win: MPI_Win, win_name: OutText<'_>, resultlen: Out<'_, c_int>) on win {
        let process = enter();
        let name = if win == MPI_WIN_NULL { "MPI_WIN_NULL" } else { &process.window(win)?.name };
        resultlen.set(win_name.store(name, MPI_MAX_OBJECT_NAME as usize));
        Ok(())
    }

    /// Names a window.
    safe fn MPI_Win_set_name(win: MPI_Win, win_name: Cow<'_, str>) on win {
        enter().window_mut(win)?.name = win_name.into_owned();
        Ok(())
    }
}

/// Kinds of memory that the library knows (section 11.4.3).
const KINDS: &str = "mpi,system";

/// The hint `mpi_accumulate_granularity`: from so many bytes on, elements are combined all at once. 0: the library chooses.
pub(super) fn granularity(hints: &Info) -> Result<usize> {
    let text = hints.get("mpi_accumulate_granularity").unwrap_or("0");
    text.trim().parse().map_err(|_| {
        fail(
            MPI_ERR_INFO_VALUE,
            format!("mpi_accumulate_granularity is '{text}', but must be a number of bytes"),
        )
    })
}

/// Whether an assertion of `mpi_assert_memory_alloc_kinds` names nothing but what is known.
fn are_known(kinds: &str) -> bool {
    kinds.split(',').all(|kind| KINDS.split(',').any(|known| kind.split(':').next() == Some(known)))
}

fn used(given: &Info, flavor: c_int) -> Info {
    let shared = flavor == MPI_WIN_FLAVOR_SHARED;
    let mut used = Info::default();
    if let Some(kinds) = given.get("mpi_assert_memory_alloc_kinds").filter(|kinds| are_known(kinds)) {
        used.set("mpi_assert_memory_alloc_kinds", kinds);
    }
    if shared || flavor == MPI_WIN_FLAVOR_ALLOCATE {
        used.set(ALIGNMENT.0, given.get(ALIGNMENT.0).unwrap_or(ALIGNMENT.1));
    }
    for (key, usual) in HINTS.into_iter().chain(shared.then_some(NONCONTIG)) {
        used.set(key, given.get(key).unwrap_or(usual));
    }
    used
}
