//! `tern info --coverage`: which functions of the standard the library has.
//!
//! This looks at what the library itself exports, so that it cannot be out of date.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSymbol};
use tern_abi::tables;

use crate::chapters::{chapter_of, titles};
use crate::table::TextTable;

/// The library: the one given, or the one of this program's tree, installed or just built.
pub(crate) fn find(given: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(path) = given {
        return Ok(path.to_path_buf());
    }
    let program = std::env::current_exe().map_err(|error| format!("cannot find my own place: {error}"))?;
    let here = program.parent().unwrap_or(Path::new("/"));
    let places = [here.join("../lib/libmpi_abi.so.1"), here.join("libmpi_abi.so")];
    let found = places.iter().find_map(|place| place.canonicalize().ok());
    found.ok_or_else(|| {
        let places = places.map(|place| place.display().to_string());
        format!("no library at {}; --library FILE names one", places.join(" or "))
    })
}

/// The same, and an error if the one given is no MPI library.
pub(crate) fn find_whole(given: Option<&Path>) -> Result<PathBuf, String> {
    given.map_or(Ok(()), |path| read(path).map(drop))?;
    find(given)
}

/// The list: numbers by chapter, then what is lacking by name.
pub(crate) fn list(given: Option<&Path>) -> Result<String, String> {
    let path = find(given)?;
    let library = read(&path)?;
    Ok(format!("{}\n\n{}\n{}", path.display(), numbers(&library), lacking(&library)))
}

/// What a library says of itself.
struct LibraryReport {
    /// Functions that it has.
    built: BTreeSet<&'static str>,
    /// Functions that it does not export.
    lacking: BTreeSet<&'static str>,
}

fn read(path: &Path) -> Result<LibraryReport, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let symbols =
        symbols(&bytes).map_err(|error| format!("{} is no shared library: {error}", path.display()))?;
    if !symbols.contains("MPI_Init") {
        return Err(format!("{} is no MPI library: it has no MPI_Init", path.display()));
    }
    let all = tables::functions().into_iter().map(|function| function.name);
    let (built, lacking) = all.partition(|name| symbols.contains(*name));
    Ok(LibraryReport { built, lacking })
}

/// Names that the library defines for others.
fn symbols(bytes: &[u8]) -> object::Result<BTreeSet<&str>> {
    let file = object::File::parse(bytes)?;
    let defined = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    let names: Vec<&[u8]> = defined.map(|symbol| symbol.name_bytes()).collect::<object::Result<_>>()?;
    Ok(names.into_iter().filter_map(|name| std::str::from_utf8(name).ok()).collect())
}

fn numbers(library: &LibraryReport) -> String {
    let mut table = TextTable::default();
    table.row(["chapter", "built", "of"]);
    for title in titles() {
        let count = |names: &BTreeSet<&str>| names.iter().filter(|name| chapter_of(name) == title).count();
        let built = count(&library.built);
        let of = built + count(&library.lacking);
        table.row([title, &built.to_string(), &of.to_string()]);
    }
    let (built, of) = (library.built.len(), library.built.len() + library.lacking.len());
    table.row(["all", &built.to_string(), &of.to_string()]);
    table.text()
}

fn lacking(library: &LibraryReport) -> String {
    if library.lacking.is_empty() {
        return "Nothing is lacking.\n".into();
    }
    let mut text = "Not exported:\n".to_owned();
    for title in titles() {
        let names: Vec<_> =
            library.lacking.iter().copied().filter(|name| chapter_of(name) == title).collect();
        if !names.is_empty() {
            text += &format!("\n  {title}\n{}", wrapped(&names));
        }
    }
    text
}

/// Columns that a terminal shows.
const LINE_COLUMNS: usize = 100;

fn wrapped(names: &[&str]) -> String {
    let mut lines = vec![String::from("   ")];
    for name in names {
        if lines.last().is_some_and(|line| line.len() + 1 + name.len() > LINE_COLUMNS) {
            lines.push("   ".into());
        }
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(name);
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_is_not_exported_is_lacking_and_counts_in_its_chapter() {
        let all = tables::functions().into_iter().map(|function| function.name);
        let (lacking, built) = all.partition(|name| name.starts_with("MPI_File_"));
        let library = LibraryReport { built, lacking };
        let numbers = numbers(&library);
        let words = |start: &str| {
            let line = numbers.lines().find(|line| line.trim().starts_with(start)).expect("a chapter's line");
            line.split_whitespace().rev().take(2).map(String::from).collect::<Vec<_>>()
        };
        assert_eq!(words("all")[0], "664");
        assert_eq!(words("3 Point")[0], words("3 Point")[1]);
        assert!(super::lacking(&library).contains("\n  14 Files\n    MPI_File_close "));
    }

    #[test]
    fn names_are_wrapped_before_the_edge() {
        let names = ["MPI_File_read_ordered_begin_c"; 9];
        assert!(
            wrapped(&names).lines().all(|line| line.len() <= LINE_COLUMNS && line.starts_with("    MPI_"))
        );
    }

    #[test]
    fn what_is_no_library_is_refused() {
        let refused = read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")));
        assert!(refused.err().is_some_and(|reason| reason.contains("is no shared library")));
        assert!(find(Some(Path::new("/nowhere"))).is_ok_and(|path| path == Path::new("/nowhere")));
        let refused = find_whole(Some(Path::new("/nowhere"))).map(drop).unwrap_err();
        assert!(refused.contains("cannot read /nowhere"), "{refused}");
        let whole = |path| find_whole(path).is_ok();
        assert_eq!(whole(None), find(None).is_ok());
    }
}
