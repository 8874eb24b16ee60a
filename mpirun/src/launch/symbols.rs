//! Names of MPI that a program and its libraries take from others, and that none has; and libraries that are nowhere.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use object::elf::{R_AARCH64_COPY, R_X86_64_COPY};
use object::read::elf::ElfFile64;
use object::{
    Endianness, Object, ObjectSymbol, ObjectSymbolTable, ReadCache, RelocationFlags, RelocationTarget,
};

use crate::launch::abi::{self, FILES_MAX, ProgramAbi};
use crate::launch::elf::Needs;
use crate::launch::family::Family;
use crate::launch::loader;

/// How names of MPI begin, in C, C++ and Fortran, and those of the insides of MPICH and Open MPI.
const BEGINNINGS: [&str; 18] = [
    "MPI_",
    "PMPI_",
    "MPIX_",
    "PMPIX_",
    "mpi_",
    "pmpi_",
    "mpix_",
    "MPIR_",
    "MPID_",
    "MPII_",
    "QMPI_",
    "ompi_",
    "OMPI_",
    "opal_",
    "orte_",
    "_ZN3MPI",
    "_ZNK3MPI",
    "__mpi_f08",
];

/// The names of MPI that a program or one of its libraries asks for and that no library has, neither Tern's nor another. The program's
/// come first, in its order. `set` are the folders of `LD_LIBRARY_PATH`.
pub fn absent(program: &Path, seen: &ProgramAbi, set: Option<&OsStr>) -> Vec<String> {
    if seen.library.is_none() {
        return Vec::new();
    }
    let is_mpi = |name: &String| BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
    let (mut asked, mut found) = (names(program, Kind::Asked), HashSet::new());
    let own = loader::own_folder();
    for library in libraries(program, set) {
        found.extend(names(&library, Kind::Given));
        if own.as_ref().is_none_or(|own| !library.starts_with(own)) {
            asked.extend(names(&library, Kind::Asked));
        }
    }
    // A library that is nowhere may have had any of them, and is told of otherwise.
    if found.is_empty() {
        return Vec::new();
    }
    let mut told = HashSet::new();
    asked.retain(|name| is_mpi(name) && !found.contains(name) && told.insert(name.clone()));
    asked
}

/// The libraries, of MPI or not, that a program or one of its libraries needs and that are nowhere on this machine.
pub fn missing(program: &Path, set: Option<&OsStr>) -> Vec<String> {
    let (mut missing, mut told) = (Vec::new(), HashSet::new());
    for file in std::iter::once(program.to_owned()).chain(libraries(program, set)) {
        let Some(needs) = Needs::of(&file) else { continue };
        for name in needs.libraries {
            let is_there =
                || loader::own_library(&name).or_else(|| loader::find(&name, &needs.folders, set)).is_some();
            if told.insert(name.clone()) && !abi::is_plain(&name) && !is_there() {
                missing.push(name);
            }
        }
    }
    missing
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
    let mut names: Vec<String> = symbols.filter_map(|symbol| Some(symbol.name().ok()?.to_owned())).collect();
    if kind == Kind::Asked {
        names.extend(copied(&elf));
    }
    names
}

/// The data of libraries that a program has room for: the loader copies it there, so it looks like the program's own.
fn copied<'data>(elf: &ElfFile64<'data, Endianness, &'data ReadCache<File>>) -> Vec<String> {
    let is_copy = |flags| matches!(flags, RelocationFlags::Elf { r_type: R_X86_64_COPY | R_AARCH64_COPY });
    let table = elf.dynamic_symbol_table();
    let relocations = elf.dynamic_relocations().into_iter().flatten();
    let name = |(_, relocation): (u64, object::Relocation)| {
        let RelocationTarget::Symbol(index) = relocation.target() else { return None };
        is_copy(relocation.flags()).then_some(())?;
        Some(table.as_ref()?.symbol_by_index(index).ok()?.name().ok()?.to_owned())
    };
    relocations.filter_map(name).collect()
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
        assert_eq!(missing(&own, None), Vec::<String>::new());
    }
}
