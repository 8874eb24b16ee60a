//! The lists of [`crate::calls`] as data, compared with the standard's table of functions.

use tern_abi::tables;

/// One line of a list.
struct CallRow {
    name: &'static str,
    /// Parameters: name and kind.
    parameters: &'static [(&'static str, &'static str)],
    is_special: bool,
}

macro_rules! rows {
    ($(fn $name:ident($($parameter:ident: $kind:ty $([$length:expr])?),*) $(via $via:ident)?;)*) => {
        &[$(CallRow {
            name: stringify!($name),
            parameters: &[$((stringify!($parameter), stringify!($kind))),*],
            is_special: [$(stringify!($via),)? ""].len() > 1,
        }),*]
    };
}

const CHAPTERS: [&[CallRow]; 8] = [
    crate::p2p_calls!(rows),
    crate::coll_calls!(rows),
    crate::coll_large_calls!(rows),
    crate::comm_calls!(rows),
    crate::datatype_calls!(rows),
    crate::rma_calls!(rows),
    crate::file_calls!(rows),
    crate::tool_calls!(rows),
];
const REMOVED: &[CallRow] = crate::removed_calls!(rows);

/// Returns no error code, so that the libraries have it in their own files.
fn is_plain(function: &tables::Function) -> bool {
    function.result != "int" || function.name.ends_with("_toint")
}

fn row(name: &str) -> Option<&'static CallRow> {
    CHAPTERS.iter().flat_map(|chapter| chapter.iter()).find(|row| row.name == name)
}

#[test]
fn the_lists_have_the_functions_of_the_table_and_no_others() {
    let functions = tables::functions();
    for function in functions.iter().filter(|function| !is_plain(function)) {
        let row = row(function.name).unwrap_or_else(|| panic!("no list has {}", function.name));
        let names: Vec<&str> = row.parameters.iter().map(|parameter| parameter.0).collect();
        let expected: Vec<&str> = function.params.iter().map(|param| param.name).collect();
        assert_eq!(names, expected, "{}", function.name);
    }
    let mut seen = std::collections::BTreeSet::new();
    for row in CHAPTERS.iter().flat_map(|chapter| chapter.iter()) {
        assert!(seen.insert(row.name), "{} is there twice", row.name);
        assert!(
            functions.iter().any(|function| function.name == row.name),
            "the standard has no {}",
            row.name
        );
    }
    for row in REMOVED {
        assert!(!functions.iter().any(|function| function.name == row.name), "{} is not removed", row.name);
        assert!(row.is_special, "{} is one of Tern's", row.name);
    }
}

/// A handle goes in, comes out, or both, as the table says.
#[test]
fn the_kinds_of_handles_are_those_of_the_table() {
    let handles = [
        "Comm",
        "Group",
        "Datatype",
        "Op",
        "Info",
        "Errhandler",
        "Request",
        "Message",
        "Session",
        "Win",
        "File",
    ];
    let mut compared = 0;
    for function in tables::functions().iter().filter(|function| !is_plain(function)) {
        let row = row(function.name).expect("the list has it");
        if row.is_special {
            continue;
        }
        for (param, &(name, kind)) in function.params.iter().zip(row.parameters) {
            let bare = param.ctype.trim_start_matches("const ").trim_end_matches("[]").trim_end_matches('*');
            let Some(handle) = handles.iter().find(|handle| bare.strip_prefix("MPI_") == Some(handle)) else {
                assert!(!kind.contains('<'), "{} of {} is no handle", name, function.name);
                continue;
            };
            let allowed: &[&str] = match (
                param.ctype.strip_prefix("const ").is_some(),
                &param.ctype[bare.len().min(param.ctype.len())..],
            ) {
                (false, "") => &["In"],
                (false, "*") => &["HandleOut", "HandleInOut"],
                (false, "[]") => &["InOutList", "OutList"],
                _ => &["HandleList"],
            };
            let found = kind.replace(' ', "");
            assert!(
                allowed.iter().any(|way| found == format!("{way}<{handle}>")),
                "{name} of {} has kind {found}",
                function.name
            );
            compared += 1;
        }
    }
    assert!(compared > 1000, "{compared} handles");
}
