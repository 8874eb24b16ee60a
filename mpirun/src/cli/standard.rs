//! Options that the standard gives to `mpiexec` and that need more than being noted: `-soft`, `-arch`, `-path`,
//! `-initial-errhandler` and `-memory-alloc-kinds` (MPI 5.0 sections 11.4.3, 11.5 and 11.8.4).

use std::env::consts::ARCH;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tern_job::limits::RANKS_MAX;

use crate::watch::exit_cause::Refusal;

/// The variable by which the ranks learn the error handler that is there from the start.
pub(crate) const ERRHANDLER_VARIABLE: &str = "TERN_INITIAL_ERRHANDLER";

/// The variable by which the ranks learn which kinds of memory their program asks for.
const MEMORY_KINDS_VARIABLE: &str = "TERN_MEMORY_ALLOC_KINDS";

/// Values of the first one, as the standard names them.
const ERRHANDLERS: [&str; 3] = ["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"];

/// Other names of architectures.
const ALIASES: [(&str, &str); 4] =
    [("amd64", "x86_64"), ("x86-64", "x86_64"), ("x64", "x86_64"), ("arm64", "aarch64")];

/// How many ranks to start of at most `most`: the largest number that `set` allows.
pub(crate) fn soft(set: &str, most: u32) -> Result<u32, Refusal> {
    let mut best = None;
    for triplet in set.split(',') {
        let Some(range) = parse_triplet(triplet) else {
            return Err(Refusal::usage(format!(
                "option --soft: '{triplet}' is neither a number nor first:last nor first:last:step, with numbers from -{RANKS_MAX} \
                 to {RANKS_MAX} and a step that is not 0"
            )));
        };
        best = best.max(range.largest_up_to(i64::from(most)));
    }
    best.and_then(|best| u32::try_from(best).ok()).ok_or_else(|| {
        Refusal::usage(format!("option --soft: '{set}' allows no number of ranks from 1 to {most}"))
    })
}

/// `first, first + step, …`, up to `last`.
#[derive(Clone, Copy)]
struct Triplet {
    first: i64,
    last: i64,
    step: i64,
}

fn parse_triplet(words: &str) -> Option<Triplet> {
    let numbers: Option<Vec<i64>> = words.split(':').map(|word| word.trim().parse().ok()).collect();
    let triplet = match numbers?[..] {
        [only] => Triplet { first: only, last: only, step: 1 },
        [first, last] => Triplet { first, last, step: 1 },
        [first, last, step] => Triplet { first, last, step },
        _ => return None,
    };
    let limit = i64::from(RANKS_MAX);
    let is_small = |number: i64| (-limit..=limit).contains(&number);
    (triplet.step != 0 && is_small(triplet.first) && is_small(triplet.last) && is_small(triplet.step))
        .then_some(triplet)
}

impl Triplet {
    fn largest_up_to(self, most: i64) -> Option<i64> {
        let count = (self.last - self.first) / self.step;
        (0..=count).map(|k| self.first + k * self.step).filter(|number| (1..=most).contains(number)).max()
    }
}

/// Refuses a program for another architecture than this machine's.
pub(crate) fn check_architecture(name: &str) -> Result<(), Refusal> {
    let wanted = name.to_ascii_lowercase();
    let alias = ALIASES.iter().find(|(alias, _)| *alias == wanted);
    if alias.map_or(wanted.as_str(), |(_, name)| *name) == ARCH {
        return Ok(());
    }
    Err(Refusal::usage(format!(
        "option --arch: there is no host with architecture '{name}', this one is {ARCH}"
    )))
}

/// The variable for `-memory-alloc-kinds`. The ranks find out which of these kinds are there.
pub(crate) fn memory_alloc_kinds(kinds: OsString) -> (OsString, OsString) {
    (MEMORY_KINDS_VARIABLE.into(), kinds)
}

/// The variable for `-initial-errhandler`.
pub(crate) fn initial_errhandler(name: &str) -> Result<(OsString, OsString), Refusal> {
    let name = name.to_ascii_lowercase();
    match ERRHANDLERS.iter().find(|known| **known == name || known[4..] == name) {
        Some(known) => Ok((ERRHANDLER_VARIABLE.into(), (*known).into())),
        None => Err(Refusal::usage(format!(
            "option --initial-errhandler: '{name}' is none of {}",
            ERRHANDLERS.join(", ")
        ))),
    }
}

/// A program that is looked for in directories, separated by `:`, before the usual places are. A name with a slash is a
/// place itself.
pub(crate) fn find_program(program: &OsStr, directories: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return None;
    }
    let candidates = std::env::split_paths(directories).map(|directory| directory.join(program));
    let found = candidates.into_iter().find(|candidate| is_executable(candidate))?;
    std::path::absolute(found).ok()
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_allowed_number_is_taken() {
        assert_eq!(soft("2:8:2", 7).unwrap(), 6);
        assert_eq!(soft("1,4,9", 8).unwrap(), 4);
        assert_eq!(soft("8:2:-3", 16).unwrap(), 8);
        assert_eq!(soft("0:3", 2).unwrap(), 2);
        assert!(soft("5:9", 4).unwrap_err().to_string().contains("allows no number"));
        assert!(soft("2:1", 4).is_err() && soft("0", 4).is_err());
        for bad in ["", "x", "1:2:0", "1:2:3:4", "1,,2", "99999999999999999999"] {
            assert!(soft(bad, 4).unwrap_err().to_string().contains("--soft"), "{bad}");
        }
    }

    #[test]
    fn architectures_have_several_names() {
        assert!(check_architecture(&ARCH.to_uppercase()).is_ok());
        assert!(check_architecture("vax").unwrap_err().to_string().contains(ARCH));
    }

    #[test]
    fn handlers_are_named_with_or_without_prefix() {
        let value = |name| initial_errhandler(name).unwrap().1;
        assert_eq!(value("MPI_ERRORS_RETURN"), value("errors_return"));
        assert!(initial_errhandler("errors").unwrap_err().to_string().contains("mpi_errors_abort"));
    }

    #[test]
    fn programs_are_found_in_the_first_directory_that_has_them() {
        assert_eq!(find_program("sh".as_ref(), "/nonexistent:/bin".as_ref()), Some("/bin/sh".into()));
        assert_eq!(find_program("/bin/sh".as_ref(), "/bin".as_ref()), None);
        assert_eq!(find_program("surely-not-there".as_ref(), "/bin".as_ref()), None);
    }
}
