//! Fortran's interfaces, constants and glue (the folder `fortran/`) against the ABI tables: every function, and of each
//! parameter its name, place, kind and direction; every constant and its value.

#[path = "fortran/expected.rs"]
mod expected;
#[path = "fortran/source.rs"]
mod source;

use std::collections::{BTreeMap, BTreeSet};

use expected::Expected;
use source::{Entry, Procedure};
use tern_abi::tables;

#[test]
fn every_function_of_fortran_has_an_interface_and_no_other_exists() {
    let interfaces: BTreeSet<String> = source::procedures().into_iter().map(|one| one.name).collect();
    let wanted: BTreeSet<String> = expected::all().into_keys().collect();
    assert_eq!(interfaces.difference(&wanted).collect::<Vec<_>>(), Vec::<&String>::new(), "not in the table");
    assert_eq!(
        wanted.difference(&interfaces).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "without an interface"
    );
}

#[test]
fn every_parameter_has_the_tables_name_type_and_direction() {
    let expected = expected::all();
    for procedure in source::procedures() {
        let Some(wanted) = expected.get(&procedure.name) else { continue };
        compare(&procedure, wanted);
    }
}

fn compare(procedure: &Procedure, wanted: &Expected) {
    let name = &procedure.name;
    let names: Vec<&str> = wanted.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    assert_eq!(procedure.arguments, names, "{name}: the arguments");
    assert_eq!(procedure.has_buffers, wanted.has_buffers(), "{name}: PROC_TS is for calls with buffers");
    for parameter in &wanted.parameters {
        let declared = procedure.declarations.get(&parameter.name);
        assert_eq!(declared, Some(&parameter.declaration), "{name}: the declaration of {}", parameter.name);
    }
    assert_eq!(procedure.declarations.len(), names.len(), "{name}: declarations without an argument");
}

#[test]
fn large_counts_are_there_where_the_table_has_them_and_fortran_can_tell_them_apart() {
    let expected = expected::all();
    for procedure in source::procedures() {
        let Some(wanted) = expected.get(&procedure.name) else { continue };
        assert_eq!(procedure.has_large, wanted.has_large, "{}: with large counts", procedure.name);
    }
}

#[test]
fn the_glue_takes_the_arguments_of_the_interfaces() {
    let procedures: BTreeMap<String, Procedure> =
        source::procedures().into_iter().map(|one| (one.name.to_lowercase(), one)).collect();
    let entries = source::entries();
    assert!(entries.len() > 400, "the glue was not found");
    for entry in &entries {
        let Some(procedure) = procedures.get(&format!("mpi_{}", entry.name)) else { continue };
        check_entry(entry, procedure);
    }
}

fn check_entry(entry: &Entry, procedure: &Procedure) {
    // `indx` is the table's word in C for what Fortran calls `index`.
    let names: Vec<String> = entry.parameters.iter().map(|(_, name)| name.replace("indx", "index")).collect();
    assert_eq!(names, procedure.arguments, "{}: the glue's parameters", entry.name);
    assert_eq!(
        entry.has_buffers, procedure.has_buffers,
        "{}: ENTRY_TS is for calls with buffers",
        entry.name
    );
    for (word, name) in &entry.parameters {
        let name = name.replace("indx", "index");
        let declaration = &procedure.declarations[&name];
        let allowed = expected::glue_words(declaration);
        assert!(allowed.contains(&word.as_str()), "{}: {name} is {declaration}, but {word} in C", entry.name);
    }
}

#[test]
fn constants_have_the_tables_values() {
    let constants = source::constants();
    for constant in tables::constants() {
        let Some(wanted) = expected::value(&constant) else { continue };
        assert_eq!(constants.get(constant.name), Some(&wanted), "{}", constant.name);
    }
}
