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
pub(crate) fn compile_program(options: &Options, program: &Program) -> Result<PathBuf, String> {
    match program.interface {
        None => compile(options, &program.source),
        Some(interface) => compile_fortran(options, program, interface),
    }
}

/// Whether Fortran programs can be compiled.
pub(crate) fn has_fortran(options: &Options) -> bool {
    let mut command = Command::new(mpifort(options));
    command.args(["-fsyntax-only"]).arg(options.root.join("tests/fortran/empty.f90"));
    options.foreign.is_none()
        && !options.sanitize
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
    if is_fresh(&executable, &program.source, options, &modules(options)) {
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
pub(crate) fn compile(options: &Options, source: &Path) -> Result<PathBuf, String> {
    let folder = options.programs();
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let program = folder.join(source.file_stem().unwrap_or_default());
    if is_fresh(&program, source, options, &[]) {
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
    command.args(options.sanitize.then_some("-fsanitize=address"));
    let outcome = process::run(&mut command, COMPILE_LIMIT)
        .map_err(|error| format!("cannot run {}: {error}", options.mpicc().display()))?;
    if outcome.success() { Ok(program) } else { Err(outcome.describe()) }
}

// What Fortran programs take from the installed tree: the modules' sources and the module files of each compiler. Those of
// another compiler are in the user's cache, made of the same sources.
fn modules(options: &Options) -> Vec<PathBuf> {
    let listed = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let mut files = listed(&options.prefix.join("share/tern/fortran"));
    let compilers = listed(&options.prefix.join("lib/tern/fortran"));
    files.extend(compilers.iter().flat_map(|folder| listed(folder)));
    files.push(options.prefix.join("include/mpif.h"));
    files
}

// A program stays when it is newer than its source, the shared headers, the wrapper that built it and what that has used.
fn is_fresh(program: &Path, source: &Path, options: &Options, used: &[PathBuf]) -> bool {
    let modified = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let Some(built) = modified(program) else { return false };
    let headers = ["check.h", "check.inc", "check_end.inc"].map(|name| source.with_file_name(name));
    let is_older = |path: &PathBuf| modified(path).is_none_or(|time| time < built);
    [source.to_path_buf(), options.mpicc()].iter().chain(&headers).chain(used).all(is_older)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::time::SystemTime;

    /// A compiler that makes an empty program and keeps count.
    const COMPILER: &str = "#!/bin/sh
        for word; do [ \"$last\" = -o ] && : >\"$word\"; last=$word; done
        echo >>\"$0.count\"\n";

    const SOURCE: &str = "! A program.\n! ranks: 1\n";

    fn date(path: &Path, time: SystemTime) {
        File::options().append(true).open(path).and_then(|file| file.set_modified(time)).expect("a date");
    }

    #[test]
    fn a_fortran_program_is_compiled_again_when_a_module_has_changed() {
        let root = std::env::temp_dir().join(format!("tern-compile-{}", std::process::id()));
        let old = SystemTime::now() - Duration::from_secs(3600);
        let files = [
            "build/prefix/lib/tern/fortran/gfortran-1/mpi_f08.mod",
            "build/prefix/share/tern/fortran/mpi_f08.f90",
            "build/prefix/include/mpif.h",
            "tests/fortran/check.inc",
            "tests/fortran/program.F90",
        ]
        .map(|name| root.join(name));
        let compiler = root.join("build/prefix/bin/mpifort");
        for (file, text) in files.iter().map(|file| (file, SOURCE)).chain([(&compiler, COMPILER)]) {
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, text).expect("a file");
            date(file, old);
        }
        fs::set_permissions(&compiler, Permissions::from_mode(0o755)).expect("a program");

        let prefix = root.join("build/prefix");
        let options =
            Options { root: root.clone(), prefix, ..Options::from_args(std::iter::empty()).expect("none") };
        let mut program = Program::read(&files[4]).expect("a file").expect("a program");
        program.interface = Some("f08");
        let compilations = || {
            compile_program(&options, &program).expect("it compiles");
            fs::read(compiler.with_extension("count")).map_or(0, |count| count.len())
        };
        assert_eq!((compilations(), compilations()), (1, 1));
        for (count, file) in (2..).zip(&files) {
            date(file, SystemTime::now());
            assert_eq!(compilations(), count, "{}", file.display());
            date(file, old);
            assert_eq!(compilations(), count, "{}", file.display());
        }
        fs::remove_dir_all(root).expect("the folder");
    }
}
