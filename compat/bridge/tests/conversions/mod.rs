//! Every function of a library for programs of another MPI, called by a program that is made from the standard's tables and
//! compiled with the header of that ABI. A library that is made likewise stands for Tern's: it writes down what arrives.
//!
//! Expected values come from `compat/tables` and `abi/tables`, kinds of parameters from the Forum's: nothing here looks at the
//! lists from which the library itself is made.

mod caller;
mod fake;
mod kinds;

use std::path::{Path, PathBuf};
use std::process::Command;

/// An ABI.
pub(crate) struct Abi {
    /// Its folder in `compat`.
    pub folder: &'static str,
    /// Its column in the table of values.
    pub column: usize,
    /// The library's name for programs.
    pub library: &'static str,
    /// The library's name as cargo makes it.
    pub made: &'static str,
    /// How the library's version begins.
    pub release: &'static str,
}

/// Compiles and runs the program.
pub(crate) fn check(abi: &Abi) {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().and_then(Path::parent).expect("compat is in the tree");
    let here = root.join("compat/bridge/tests/conversions");
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("conversions-{}", abi.folder));
    let folder = work.join(abi.folder);
    std::fs::create_dir_all(&folder).expect("the folder for tests can be written");
    std::fs::copy(library(abi), folder.join(abi.library)).expect("the library was built");
    std::fs::write(work.join("fake.c"), fake::source()).unwrap();
    std::fs::write(work.join("caller.c"), caller::source(abi)).unwrap();
    let include = |of: &str| format!("-I{}", root.join(of).display());
    compile(
        Command::new(compiler()).current_dir(&work).args(["-w", "-g", "-shared", "-fPIC", "fake.c"]).args([
            include("abi/include"),
            format!("-I{}", here.display()),
            "-Wl,-soname,libmpi_abi.so.1".into(),
            "-o".into(),
            "libmpi_abi.so.1".into(),
        ]),
    );
    compile(Command::new(compiler()).current_dir(&work).args(["-w", "-g", "caller.c"]).args([
        include(&format!("compat/{}/include", abi.folder)),
        format!("-I{}", here.display()),
        format!("-DABI_{}", abi.folder),
        format!("-L{}", folder.display()),
        format!("-l:{}", abi.library),
        "-ldl".into(),
        "-Wl,--allow-shlib-undefined".into(),
        "-o".into(),
        "caller".into(),
    ]));
    let paths = format!("{}:{}", folder.display(), work.display());
    let ran = Command::new(work.join("caller")).env("LD_LIBRARY_PATH", paths).output().expect("it starts");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}\n{}\n{}", String::from_utf8_lossy(&ran.stderr), ran.status);
    let comparisons = said.split(' ').next().and_then(|count| count.parse().ok());
    assert!(comparisons.is_some_and(|count: usize| count > 500_000), "{said}");
}

fn compiler() -> String {
    std::env::var("CC").unwrap_or_else(|_| "cc".into())
}

fn compile(command: &mut Command) {
    let made = command.output().expect("there is a compiler");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// The library lies beside the test. Cargo does not build it for a test that does not link with it.
fn library(abi: &Abi) -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let folder = test.parent().expect("it is in a folder");
    let is_release = folder.parent().is_some_and(|profile| profile.ends_with("release"));
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--lib", "-p", env!("CARGO_PKG_NAME")]);
    compile(if is_release { build.arg("--release") } else { &mut build });
    folder.join(abi.made)
}
