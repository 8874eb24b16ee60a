//! What gfortran must be told so that programs with `mpif.h` compile.
//!
//! They pass buffers of several types to one routine that has no interface, which gfortran 10 and newer take for an error.
//! Where there are interfaces, as in the modules, wrong arguments stay errors.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::compiler::Compiler;

/// Leaves the flags out if it is set, and not to 0.
const STRICT_VARIABLE: &str = "MPIFORT_STRICT";
/// The errors that these turn into warnings came with this version.
const VERSION_MIN: u32 = 10;
const FLAGS: [&str; 2] = ["-fallow-argument-mismatch", "-fallow-invalid-boz"];

/// What gfortran's answer to `--version` begins with, whatever it is called.
const TITLE: &str = "GNU Fortran";
/// What names of other compilers begin with: they need not be asked.
const OTHERS: [&str; 5] = ["flang", "ifx", "ifort", "nvfortran", "nagfor"];

/// The flags for this compiler; none, unless it is gfortran.
pub(crate) fn leniency(compiler: &Compiler) -> Vec<OsString> {
    let strict = std::env::var_os(STRICT_VARIABLE).is_some_and(|value| !value.is_empty() && value != "0");
    if strict || !is_gfortran(compiler) || version(compiler).is_none_or(|version| version < VERSION_MIN) {
        return Vec::new();
    }
    FLAGS.map(OsString::from).into()
}

/// A compiler whose name does not tell, such as `f77`, is asked.
fn is_gfortran(compiler: &Compiler) -> bool {
    compiler.words.iter().find_map(|word| told_by_name(word)).unwrap_or_else(|| {
        let said = answer(compiler, "--version");
        said.is_some_and(|said| said.starts_with(TITLE))
    })
}

/// `gfortran`, `gfortran-12`, `/usr/bin/x86_64-linux-gnu-gfortran` are, names of other compilers are not.
fn told_by_name(word: &OsStr) -> Option<bool> {
    let name = Path::new(word).file_name()?.to_string_lossy();
    if name.contains("gfortran") {
        return Some(true);
    }
    OTHERS.iter().any(|other| name.starts_with(other)).then_some(false)
}

/// The first part of the compiler's version.
fn version(compiler: &Compiler) -> Option<u32> {
    answer(compiler, "-dumpversion")?.trim().split('.').next()?.parse().ok()
}

/// What the compiler says to a question.
fn answer(compiler: &Compiler, question: &str) -> Option<String> {
    let (program, words) = compiler.words.split_first()?;
    let output = Command::new(program).args(words).arg(question).stderr(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::Language;

    #[test]
    fn the_name_tells_the_compiler() {
        for name in ["gfortran", "gfortran-12", "/usr/bin/x86_64-linux-gnu-gfortran"] {
            assert_eq!(told_by_name(name.as_ref()), Some(true), "{name}");
        }
        assert!(
            ["flang-22", "/opt/gfortran/bin/ifx"]
                .iter()
                .all(|name| told_by_name(name.as_ref()) == Some(false))
        );
        assert!(["f77", "/usr/bin/f95", "ccache"].iter().all(|name| told_by_name(name.as_ref()).is_none()));
    }

    #[test]
    fn a_compiler_whose_name_does_not_tell_is_asked() {
        let compiler = |words: &[&str]| Compiler {
            language: Language::Fortran,
            words: words.iter().map(OsString::from).collect(),
            origin: "a test",
        };
        assert!(is_gfortran(&compiler(&["echo", "GNU Fortran (Debian 12.2.0-14) 12.2.0"])));
        assert!(!is_gfortran(&compiler(&["echo", "Some Fortran Compiler"])));
        assert!(!is_gfortran(&compiler(&["/nowhere/f77"])));
    }
}
