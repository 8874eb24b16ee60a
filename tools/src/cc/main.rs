//! `mpicc`, `mpicxx` and `mpifort`: the system's compiler with the flags that find `mpi.h`, Fortran's modules and
//! `libmpi_abi.so`.
//!
//! One program under several names (also `mpic++`, `mpiCC`, `mpif77`, `mpif90`); it looks at how it was called. It finds its
//! header and library from its own place, so an installed tree can be moved.

#![forbid(unsafe_code)]

mod compiler;
mod flags;
mod folders;
mod gfortran;
mod modules;
mod query;
mod request;
mod words;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode};

use compiler::{Compiler, Language};
use flags::InstalledTree;
use request::WrapperArguments;

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    let called = args.next().unwrap_or_else(|| OsString::from("mpicc"));
    let name = Path::new(&called).file_name().unwrap_or(&called).to_string_lossy().into_owned();
    match work(&name, args.collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{name}: {message}");
            ExitCode::FAILURE
        }
    }
}

fn work(name: &str, args: Vec<OsString>) -> Result<(), String> {
    let language = Language::of_name(name);
    let request = WrapperArguments::parse(args);
    let compiler = Compiler::choose(language, request.compiler.as_ref());
    let tree = InstalledTree::around_this_program()?;
    if request.makes_modules {
        return modules::install(&tree, &compiler);
    }
    match request.query {
        Some(query::WrapperQuery::Unknown) => Err(query::UNKNOWN.into()),
        Some(query) => {
            if compiler.language == Language::Fortran && query.names_folders() {
                // The answer is right nevertheless, for the day when the compiler works.
                let _told = modules::ensure(&tree, &compiler).map_err(|error| eprintln!("{name}: {error}"));
            }
            say(&query.answer(&compiler, &tree, &request));
            Ok(())
        }
        None if request.asks_version() => tell_version(name, &compiler),
        None => compile(&compiler, &tree, &request),
    }
}

/// What a compiler dies of whose answer nobody reads to its end.
const SIGPIPE: i32 = 13;

/// A line for whoever asked, who may have read enough already, as `head` does.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// The compiler's own answer, then Tern: build systems look at the first line.
fn tell_version(name: &str, compiler: &Compiler) -> Result<(), String> {
    let (program, arguments) = (&compiler.words[0], &compiler.words[1..]);
    let status = Command::new(program).args(arguments).arg("--version").status();
    let status = status.map_err(|error| cannot_start(compiler, program, &error))?;
    say(&format!("{name}: calls {} with Tern {}", words::quote(&compiler.words), env!("CARGO_PKG_VERSION")));
    if status.success() || status.signal() == Some(SIGPIPE) {
        Ok(())
    } else {
        Err(format!("{}: {status}", program.to_string_lossy()))
    }
}

/// Becomes the compiler; returns only if that fails.
fn compile(compiler: &Compiler, tree: &InstalledTree, request: &WrapperArguments) -> Result<(), String> {
    tree.check()?;
    if compiler.language == Language::Fortran {
        modules::ensure(tree, compiler)?;
    }
    let line = query::command_line(compiler, tree, request);
    let error = Command::new(&line[0]).args(&line[1..]).exec();
    Err(cannot_start(compiler, &line[0], &error))
}

fn cannot_start(compiler: &Compiler, program: &OsStr, error: &std::io::Error) -> String {
    format!(
        "cannot start the compiler {program:?} ({}): {error}; set {} or give {}=COMPILER",
        compiler.origin,
        compiler.language.variable(),
        compiler.language.option()
    )
}
