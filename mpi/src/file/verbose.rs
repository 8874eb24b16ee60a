//! `TERN_IO_VERBOSE=1`: what was chosen, and why.

use super::facts::FileFacts;
use super::object::File;
use crate::core::process::{Process, complain};
use tern_io::hints::IgnoredHint;
use tern_io::plan::PlanReason;

/// A file was opened.
pub(crate) fn opened(process: &Process, file: &File) {
    let facts = &file.facts;
    if !process.objects.files.settings.verbose || facts.me != 0 {
        return;
    }
    let together = &facts.together;
    let way = if facts.size() == 1 {
        "alone"
    } else if together.is_shared() {
        "through shared memory"
    } else {
        "by messages"
    };
    let listed: Vec<String> =
        file.hints.listed().into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    complain(&format!(
        "file '{}' on {} (blocks of {} bytes), {} ranks: {} aggregators {:?} with {} windows of {} bytes, data move {way}; {}",
        facts.path,
        facts.filesystem.name(),
        facts.block_bytes,
        facts.size(),
        together.aggregators.len(),
        together.aggregators,
        together.slots,
        together.window_bytes,
        listed.join(" ")
    ));
}

/// A collective access goes this way; without a choice, each rank for itself since a hint, atomic mode or its being alone says so.
pub(crate) fn chosen(process: &Process, facts: &FileFacts, call: &str, choice: Option<PlanReason>) {
    if !process.objects.files.settings.verbose || facts.me != 0 {
        return;
    }
    let why = choice
        .map_or("each rank by itself, as a hint, atomic mode or a single rank demands", PlanReason::why);
    complain(&format!("{call} of file '{}': {why}", facts.path));
}

/// These hints of a file change nothing. One rank says so.
pub(crate) fn ignored(process: &Process, me: u32, hints: &[IgnoredHint]) {
    if process.objects.files.settings.verbose && me == 0 {
        hints.iter().for_each(|hint| complain(&hint.to_string()));
    }
}
