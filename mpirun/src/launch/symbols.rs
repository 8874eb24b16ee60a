//! Names of MPI that a program takes from its libraries, and that none of them has.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSymbol, ReadCache};

use crate::launch::abi::{self, FILES_MAX, ProgramAbi};
use crate::launch::elf::Needs;
use crate::launch::family::Family;
use crate::launch::loader;

/// How names of MPI begin, in C and in Fortran, and those of the data of MPICH and Open MPI.
const BEGINNINGS: [&str; 8] = ["MPI_", "PMPI_", "MPIX_", "MPIR_", "mpi_", "pmpi_", "ompi_", "mpix_"];

/// The names of MPI that a program itself asks for and that no library has, neither Tern's nor another that it is linked to. They are in
/// the order of the program. `set` are the folders of `LD_LIBRARY_PATH`.
pub fn absent(program: &Path, seen: &ProgramAbi, set: Option<&OsStr>) -> Vec<String> {
    let is_mpi = |name: &str| BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
    let mut asked: Vec<String> =
        names(program, Kind::Asked).into_iter().filter(|name| is_mpi(name)).collect();
    if seen.library.is_none() || asked.is_empty() {
        return Vec::new();
    }
    let mut found = HashSet::new();
    for library in libraries(program, set) {
        found.extend(names(&library, Kind::Given));
    }
    // A library that is nowhere may have had any of them, and is told of otherwise.
    asked.retain(|name| !found.contains(name));
    if found.is_empty() { Vec::new() } else { asked }
}

/// All libraries that the loader would load with a program; of MPI, Tern's.
fn libraries(program: &Path, set: Option<&OsStr>) -> Vec<PathBuf> {
    let mut known = HashSet::new();
    let mut files = vec![program.to_owned()];
    let mut next = 0;
    while next < files.len().min(FILES_MAX) {
        if let Some(needs) = Needs::of(&files[next]) {
            let of_mpi = needs.libraries.iter().filter(|name| Family::of(name).is_some());
            let fresh = of_mpi.filter(|name| known.insert((*name).clone()));
            files.extend(fresh.filter_map(|name| {
                loader::own_library(name).or_else(|| loader::find(name, &needs.folders, set))
            }));
            files.extend(abi::further(&needs, set, &mut known));
        }
        next += 1;
    }
    files.split_off(1)
}

/// What a file does with a name.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// It cannot do without it, and has it not.
    Asked,
    /// It gives it to others.
    Given,
}

fn names(path: &Path, kind: Kind) -> Vec<String> {
    let Ok(file) = File::open(path) else { return Vec::new() };
    let cache = ReadCache::new(file);
    let Ok(elf) = ElfFile64::<Endianness, _>::parse(&cache) else { return Vec::new() };
    let symbols = elf.dynamic_symbols().filter(|symbol| match kind {
        Kind::Asked => symbol.is_undefined() && !symbol.is_weak(),
        Kind::Given => symbol.is_definition(),
    });
    symbols.filter_map(|symbol| Some(symbol.name().ok()?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_asks_for_names_that_its_libraries_give() {
        let own = std::env::current_exe().unwrap();
        let asked = names(&own, Kind::Asked);
        assert!(asked.iter().any(|name| name == "memcpy" || name == "malloc"), "{asked:?}");
        let needs = Needs::of(&own).unwrap();
        let libc = needs.libraries.iter().find(|name| name.starts_with("libc.so")).unwrap();
        let given = names(&loader::find(libc, &needs.folders, None).unwrap(), Kind::Given);
        assert!(given.iter().any(|name| name == "malloc"), "{} names", given.len());
        assert!(names(Path::new("/etc/passwd"), Kind::Asked).is_empty());
    }

    #[test]
    fn who_needs_no_mpi_lacks_nothing_of_it() {
        let own = std::env::current_exe().unwrap();
        assert!(absent(&own, &ProgramAbi::default(), None).is_empty());
    }
}
