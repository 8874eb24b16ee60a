//! The symbols of a built library against the ABI table: every `MPI_X` and `PMPI_X`, and no other name of
//! MPI's. `tests/interop/cases/exports.sh` runs it.
//!
//! usage: exports LIBRARY

use std::collections::BTreeSet;
use std::path::PathBuf;

use object::{Object, ObjectSymbol};
use tern_abi::tables;

fn main() {
    let path = std::env::args_os().nth(1).map(PathBuf::from).expect("the library is named");
    let bytes =
        std::fs::read(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let exported = exported_names(&bytes);
    let expected = expected_names();
    let missing: Vec<_> = expected.difference(&exported).collect();
    assert!(missing.is_empty(), "{} lacks {} functions: {missing:?}", path.display(), missing.len());
    let extra: Vec<_> = exported.difference(&expected).filter(|name| is_mpi_name(name)).collect();
    assert!(extra.is_empty(), "{} exports names that MPI does not have: {extra:?}", path.display());
}

fn expected_names() -> BTreeSet<String> {
    tables::functions().iter().flat_map(|f| [f.name.to_string(), format!("P{}", f.name)]).collect()
}

fn exported_names(library: &[u8]) -> BTreeSet<String> {
    let file = object::File::parse(library).expect("a library in a format this machine knows");
    file.dynamic_symbols()
        .filter(|symbol| symbol.is_definition() && symbol.is_global())
        .filter_map(|symbol| symbol.name().ok().map(str::to_string))
        .collect()
}

fn is_mpi_name(name: &str) -> bool {
    name.starts_with("MPI_") || name.starts_with("PMPI_")
}
