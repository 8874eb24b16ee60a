//! Hints (MPI 5.0 section 14.2.8).

use super::fault::{agree, expect_same};
use super::manage::{comm, compared, facts};
use super::verbose;
use crate::core::boundary::Out;
use crate::core::entry::entry;
use crate::core::process::enter;
use crate::env::hints::Info;
use crate::env::memory_kinds;
use tern_abi::*;
use tern_io::Hints;

entry! {
    /// Gives hints for a file. Those that were settled when the file was opened stay.
    safe fn MPI_File_set_info(fh: MPI_File, info: MPI_Info) on fh {
        let facts = facts(fh)?;
        let hints = enter().hints(info);
        let hints = compared("MPI_File_set_info", comm(fh)?, hints)?;
        let mut wanted = enter().file(fh)?.hints.clone();
        if let Ok(hints) = &hints {
            change(&mut wanted, hints);
        }
        let (_, told) = agree(&facts.participants("MPI_File_set_info"), hints, &wanted.shared())?;
        expect_same((), &told)?;
        enter().file_mut(fh)?.hints = wanted;
        Ok(())
    }

    /// The hints in use, as a new object.
    safe fn MPI_File_get_info(fh: MPI_File, info_used: Out<'_, MPI_Info>) on fh {
        let mut process = enter();
        let file = process.file(fh)?;
        let mut used = Info::default();
        file.hints.listed().iter().for_each(|(key, value)| used.set(key, value));
        used.set("cb_nodes", &file.facts.together.aggregators.len().to_string());
        used.set("cb_block_size", &file.facts.together.align.to_string());
        used.set("filename", &file.facts.path);
        used.set(memory_kinds::KEY, &process.memory_kinds(file.comm));
        info_used.set(process.new_info(used)?);
        Ok(())
    }
}

/// Takes what is among the hints; what makes no sense is told of and ignored.
pub fn take(hints: &mut Hints, info: &Info) {
    for (key, value) in &info.entries {
        if let Err(bad) = hints.set(key, value) {
            verbose::bad(&bad);
        }
    }
}

/// The same for a file that is open: what decides about its memory cannot change any more.
pub fn change(hints: &mut Hints, info: &Info) {
    let old = hints.clone();
    take(hints, info);
    (hints.cb_buffer_size, hints.cb_nodes) = (old.cb_buffer_size, old.cb_nodes);
    (hints.cb_block_size, hints.striping_unit) = (old.cb_block_size, old.striping_unit);
    hints.file_perm = old.file_perm;
}
