//! Compiling C programs with the library's own wrapper.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::options::Options;
use crate::process;

const COMPILE_LIMIT: Duration = Duration::from_secs(60);

/// Compiles one source file; returns the program's path, or the compiler's words.
pub fn compile(options: &Options, source: &Path) -> Result<PathBuf, String> {
    let folder = options.programs();
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let program = folder.join(source.file_stem().unwrap_or_default());
    if is_fresh(&program, source, options) {
        return Ok(program);
    }
    let mut command = Command::new(options.mpicc());
    command.args([
        "-std=gnu11",
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-format-truncation",
        "-pthread",
        "-o",
    ]);
    command.arg(&program).arg(source).arg("-lm");
    let outcome = process::run(&mut command, COMPILE_LIMIT)
        .map_err(|error| format!("cannot run {}: {error}", options.mpicc().display()))?;
    if outcome.success() { Ok(program) } else { Err(outcome.describe()) }
}

// A program stays when it is newer than its source, the shared header and the wrapper that built it.
fn is_fresh(program: &Path, source: &Path, options: &Options) -> bool {
    let modified = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let Some(built) = modified(program) else { return false };
    let header = source.with_file_name("check.h");
    [source, &header, &options.mpicc()].iter().all(|path| modified(path).is_none_or(|time| time < built))
}
