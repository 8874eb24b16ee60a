//! The symbols of a built library against the ABI table: every `MPI_X` and `PMPI_X`, and no other name of
//! MPI's. The harness runs it with TERN_LIB set to the library's path.

use std::collections::BTreeSet;
use std::path::PathBuf;

use object::{Object, ObjectSymbol};
use tern_abi::tables;

#[test]
fn the_library_exports_every_function_and_its_profiling_twin() {
    let Some(path) = std::env::var_os("TERN_LIB").map(PathBuf::from) else {
        eprintln!("skipped: set TERN_LIB to the path of libmpi_abi.so.1 to check its exports");
        return;
    };
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
