//! Headers of the other ABIs, made from the tables: what programs are compiled with that test the libraries of this folder,
//! and what Fortran's glue is compiled with. They are kept in `compat/*/include`; a test compares.

use std::fmt::Write;

use tern_abi::tables::{self, Constant, FunctionParameter};

/// The table of values: name, MPICH, Open MPI.
const VALUES: &str = include_str!("../../tables/constants.tsv");

/// Which ABI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HeaderAbi {
    /// MPICH.
    Mpich,
    /// Open MPI.
    OpenMpi,
}

/// What the tables do not say: types, and constants that are variables.
const MPICH_TYPES: &str = include_str!("../../mpich/include/types.h");
const OPEN_MPI_TYPES: &str = include_str!("../../openmpi/include/types.h");

/// The text of `mpi.h`.
pub(crate) fn text(which: HeaderAbi) -> String {
    let (name, types) = match which {
        HeaderAbi::Mpich => ("MPICH", MPICH_TYPES),
        HeaderAbi::OpenMpi => ("Open MPI", OPEN_MPI_TYPES),
    };
    let mut text = format!(
        "/* The ABI of {name}, for tests and for Fortran's glue. Made from abi/tables and compat/tables by\n * \
         compat/bridge/src/header.rs: change those. */\n#ifndef MPI_INCLUDED\n#define MPI_INCLUDED\n\n{types}\n"
    );
    constants(&mut text, which);
    callbacks(&mut text);
    functions(&mut text);
    text + "\n#endif\n"
}

fn constants(text: &mut String, which: HeaderAbi) {
    let types = tables::constants();
    let handles: Vec<&str> = tables::handle_types().iter().map(|handle| handle.name).collect();
    for line in VALUES.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        let value = cells[if which == HeaderAbi::Mpich { 1 } else { 2 }];
        let ctype = types
            .iter()
            .find(|constant| constant.name == cells[0])
            .map_or("int", |found| typed(found, &types));
        if value == "-" {
            continue;
        }
        let value = if value.starts_with("omp") { format!("&{value}") } else { value.to_owned() };
        let plain = ctype == "int" || (ctype.starts_with("enum ") && !handles.contains(&ctype));
        let whole = if plain { format!("({value})") } else { format!("(({ctype}){value})") };
        writeln!(text, "#define {} {whole}", cells[0]).expect("a text grows");
    }
}

/// The C type of a constant; of a second name, that of the first.
fn typed(constant: &Constant, all: &[Constant]) -> &'static str {
    if !constant.is_alias() {
        return constant.ctype;
    }
    all.iter().find(|other| other.name == constant.text).map_or("int", |other| other.ctype)
}

fn callbacks(text: &mut String) {
    text.push('\n');
    for callback in tables::callbacks() {
        writeln!(text, "typedef {} ({})({});", callback.result, callback.name, callback.params)
            .expect("a text grows");
    }
}

fn functions(text: &mut String) {
    text.push_str("\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    for function in tables::functions() {
        let mut params: Vec<String> = function.params.iter().map(declared).collect();
        if function.variadic {
            params.push("...".into());
        }
        let params = if params.is_empty() { "void".into() } else { params.join(", ") };
        for prefix in ["", "P"] {
            writeln!(text, "{} {prefix}{}({params});", function.result, function.name).expect("a text grows");
        }
    }
    text.push_str("#ifdef __cplusplus\n}\n#endif\n");
}

/// A parameter as C declares it.
fn declared(param: &FunctionParameter) -> String {
    match param.ctype.find('[') {
        Some(at) => format!("{} {}{}", &param.ctype[..at], param.name, &param.ctype[at..]),
        None => format!("{} {}", param.ctype, param.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `TERN_WRITE_HEADERS` set, writes the headers instead of comparing them.
    #[test]
    fn the_headers_are_as_the_tables_say() {
        for (which, folder) in [(HeaderAbi::Mpich, "mpich"), (HeaderAbi::OpenMpi, "openmpi")] {
            let path = format!("{}/../{folder}/include/mpi.h", env!("CARGO_MANIFEST_DIR"));
            if std::env::var_os("TERN_WRITE_HEADERS").is_some() {
                std::fs::write(&path, text(which)).unwrap();
            }
            let found = std::fs::read_to_string(&path).unwrap();
            assert!(found == text(which), "{path} is old: run this test with TERN_WRITE_HEADERS=1");
        }
    }
}
