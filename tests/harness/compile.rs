//! Compiling C and Fortran programs with the library's own wrappers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::options::Options;
use crate::process;
use crate::program::Program;

const COMPILE_LIMIT: Duration = Duration::from_secs(60);

/// Compiles a program of the suite; returns the executable's path, or the compiler's words.
pub fn compile_program(options: &Options, program: &Program) -> Result<PathBuf, String> {
    match program.interface {
        None => compile(options, &program.source),
        Some(interface) => compile_fortran(options, program, interface),
    }
}

/// Whether Fortran programs can be compiled.
pub fn has_fortran(options: &Options) -> bool {
    let mut command = Command::new(mpifort(options));
    command.args(["-fsyntax-only"]).arg(options.root.join("tests/fortran/empty.f90"));
    options.foreign.is_none()
        && process::run(&mut command, COMPILE_LIMIT).is_ok_and(|outcome| outcome.success())
}

fn mpifort(options: &Options) -> PathBuf {
    options.mpicc().with_file_name("mpifort")
}

/// One of the three interfaces is chosen by a macro (tests/fortran/check.inc).
fn compile_fortran(options: &Options, program: &Program, interface: &str) -> Result<PathBuf, String> {
    let folder = options.programs().join(&program.name);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let executable = folder.join(&program.name);
    if is_fresh(&executable, &program.source, options) {
        return Ok(executable);
    }
    let mut command = Command::new(mpifort(options));
    command.args(["-O1", "-g", "-std=f2018", "-Wall", "-Wno-unused-dummy-argument", "-Werror"]);
    // Without interfaces, each call of a routine must look like the first one.
    if interface == "mpif" {
        command.args(["-fallow-argument-mismatch", "-w"]);
    }
    command.arg(format!("-DINTERFACE_{}", interface.to_uppercase())).arg("-J").arg(&folder);
    command.arg("-o").arg(&executable).arg(&program.source);
    let outcome = process::run(&mut command, COMPILE_LIMIT)
        .map_err(|error| format!("cannot run {}: {error}", mpifort(options).display()))?;
    if outcome.success() { Ok(executable) } else { Err(outcome.describe()) }
}

/// Compiles one C source file; returns the program's path, or the compiler's words.
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
    let headers = ["check.h", "check.inc", "check_end.inc"].map(|name| source.with_file_name(name));
    [source, &headers[0], &headers[1], &headers[2], &options.mpicc()]
        .iter()
        .all(|path| modified(path).is_none_or(|time| time < built))
}
