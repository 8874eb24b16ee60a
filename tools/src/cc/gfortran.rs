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

/// The flags for this compiler; none, unless it is gfortran.
pub(crate) fn leniency(compiler: &Compiler) -> Vec<OsString> {
    let strict = std::env::var_os(STRICT_VARIABLE).is_some_and(|value| !value.is_empty() && value != "0");
    let is_gfortran = compiler.words.iter().any(|word| is_gfortran(word));
    if strict || !is_gfortran || version(compiler).is_none_or(|version| version < VERSION_MIN) {
        return Vec::new();
    }
    FLAGS.map(OsString::from).into()
}

/// `gfortran`, `gfortran-12`, `/usr/bin/x86_64-linux-gnu-gfortran`.
fn is_gfortran(word: &OsStr) -> bool {
    Path::new(word).file_name().is_some_and(|name| name.to_string_lossy().contains("gfortran"))
}

/// The first part of the compiler's version.
fn version(compiler: &Compiler) -> Option<u32> {
    let (program, words) = compiler.words.split_first()?;
    let output = Command::new(program).args(words).arg("-dumpversion").stderr(Stdio::null()).output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_the_compiler() {
        for name in ["gfortran", "gfortran-12", "/usr/bin/x86_64-linux-gnu-gfortran"] {
            assert!(is_gfortran(name.as_ref()), "{name}");
        }
        assert!(["flang", "/opt/gfortran/bin/ifx"].iter().all(|name| !is_gfortran(name.as_ref())));
    }
}
