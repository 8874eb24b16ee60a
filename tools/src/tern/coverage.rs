//! `tern info --coverage`: which functions of the standard the library has.
//!
//! The library exports all of them, so that every program links. Beside each that it lacks stands a symbol
//! `tern_unsupported_MPI_X`; this looks the library itself up, so that it cannot be out of date.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSymbol};
use tern_abi::tables;

use crate::chapters::{chapter_of, titles};
use crate::table::Table;

const MARK: &str = "tern_unsupported_";

/// The library: the one given, or the one of this program's tree, installed or just built.
pub fn find(given: Option<&Path>) -> Result<PathBuf, String> {
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

/// The list: numbers by chapter, then what is lacking by name.
pub fn list(given: Option<&Path>) -> Result<String, String> {
    let path = find(given)?;
    let library = read(&path)?;
    Ok(format!("{}\n\n{}\n{}", path.display(), numbers(&library), lacking(&library)))
}

/// What a library says of itself.
struct Library {
    /// Functions that it has.
    built: BTreeSet<&'static str>,
    /// Functions that it exports as errors, or not at all.
    lacking: BTreeSet<&'static str>,
}

fn read(path: &Path) -> Result<Library, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let symbols =
        symbols(&bytes).map_err(|error| format!("{} is no shared library: {error}", path.display()))?;
    if !symbols.contains("MPI_Init") {
        return Err(format!("{} is no MPI library: it has no MPI_Init", path.display()));
    }
    let all = tables::functions().into_iter().map(|function| function.name);
    let (built, lacking) =
        all.partition(|name| symbols.contains(*name) && !symbols.contains(format!("{MARK}{name}").as_str()));
    Ok(Library { built, lacking })
}

/// Names that the library defines for others.
fn symbols(bytes: &[u8]) -> object::Result<BTreeSet<&str>> {
    let file = object::File::parse(bytes)?;
    let defined = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    let names: Vec<&[u8]> = defined.map(|symbol| symbol.name_bytes()).collect::<object::Result<_>>()?;
    Ok(names.into_iter().filter_map(|name| std::str::from_utf8(name).ok()).collect())
}

fn numbers(library: &Library) -> String {
    let mut table = Table::default();
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

fn lacking(library: &Library) -> String {
    if library.lacking.is_empty() {
        return "Nothing is lacking.\n".into();
    }
    let mut text = "Not built yet (each is there, and calling it is an error of class \
                    MPI_ERR_UNSUPPORTED_OPERATION):\n"
        .to_owned();
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
