//! Hints (MPI 5.0 section 14.2.8).

use super::agreement::{agree, expect_same};
use super::manage::{comm, compared, facts};
use super::object::File;
use super::verbose;
use crate::core::boundary::Out;
use crate::core::entry::entry;
use crate::core::error::Result;
use crate::core::process::{Process, enter};
use crate::env::hints::Info;
use crate::env::memory_kinds;
use tern_abi::*;
use tern_io::Hints;
use tern_io::hints::{IgnoredHint, IgnoredWhy, SETTLED};

entry! {
    /// Gives hints for a file. Those that were settled when the file was opened stay.
    safe fn MPI_File_set_info(fh: MPI_File, info: MPI_Info) on fh {
        let facts = facts(fh)?;
        let hints = enter().hints(info);
        let hints = compared("MPI_File_set_info", comm(fh)?, hints)?;
        let changed = ChangedHints::new(fh, hints.as_ref().unwrap_or(&Info::default()))?;
        let (_, told) = agree(&facts.participants("MPI_File_set_info"), hints, &changed.hints.shared())?;
        expect_same((), &told)?;
        changed.adopt(&mut enter(), fh)
    }

    /// The hints that a file uses, as a new object.
    safe fn MPI_File_get_info(fh: MPI_File, info_used: Out<'_, MPI_Info>) on fh {
        let mut process = enter();
        let used = used(&process, process.file(fh)?);
        info_used.set(process.new_info(used)?);
        Ok(())
    }
}

fn used(process: &Process, file: &File) -> Info {
    let mut used = Info::default();
    file.hints.listed().iter().for_each(|(key, value)| used.set(key, value));
    used.set("cb_nodes", &file.facts.together.aggregators.len().to_string());
    used.set("cb_block_size", &file.facts.together.align.to_string());
    used.set("filename", &file.facts.path);
    used.set(memory_kinds::KEY, &process.memory_kinds(file.comm));
    used
}

/// Takes what is among the hints. What changes nothing.
pub(crate) fn take(hints: &mut Hints, info: &Info) -> Vec<IgnoredHint> {
    // Hints of all objects are not those of files.
    let of_files = info.entries.iter().filter(|(key, _)| key != memory_kinds::KEY);
    of_files.filter_map(|(key, value)| hints.set(key, value).err()).collect()
}

/// Hints of a file that is open, after some have been given.
pub(crate) struct ChangedHints {
    /// All of them.
    pub hints: Hints,
    ignored: Vec<IgnoredHint>,
}

impl ChangedHints {
    /// Takes what is among these. What decides about the file's memory cannot change any more; what is in use may be given again.
    pub(crate) fn new(fh: MPI_File, given: &Info) -> Result<ChangedHints> {
        let process = enter();
        let file = process.file(fh)?;
        let (used, mut hints) = (used(&process, file), file.hints.clone());
        let is_news = |key: &str, value: &str| used.get(key) != Some(value);
        let mut ignored = take(&mut hints, given);
        ignored.retain(|hint| is_news(&hint.key, &hint.value));
        for key in SETTLED {
            let was_understood = !ignored.iter().any(|hint| hint.key == key);
            if let Some(value) = given.get(key).filter(|value| was_understood && is_news(key, value)) {
                ignored.push(IgnoredHint { key: key.into(), value: value.into(), why: IgnoredWhy::Settled });
            }
        }
        let old = &file.hints;
        (hints.cb_buffer_size, hints.cb_nodes) = (old.cb_buffer_size, old.cb_nodes);
        (hints.cb_block_size, hints.striping_unit) = (old.cb_block_size, old.striping_unit);
        hints.file_perm = old.file_perm;
        Ok(ChangedHints { hints, ignored })
    }

    /// From now on they are the file's.
    pub(crate) fn adopt(self, process: &mut Process, fh: MPI_File) -> Result {
        verbose::ignored(process, process.file(fh)?.facts.me, &self.ignored);
        let file = process.file_mut(fh)?;
        if file.hints.access_style != self.hints.access_style {
            file.facts.storage.advise(&self.hints.advice());
        }
        file.set_hints(self.hints);
        Ok(())
    }
}
