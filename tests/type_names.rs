//! A type name that stands for several things has to be looked up each time. Here no two types of the workspace have
//! one name, tests aside.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const ROOMS: &[&str] = &[
    "abi",
    "coll",
    "compat",
    "engine",
    "fortran",
    "io",
    "job",
    "mem",
    "mpi",
    "mpirun",
    "settings",
    "shmcoll",
    "sim",
    "tools",
    "transport",
];

/// Folders whose types are known within one program only.
const APART: &[&str] = &["benches", "examples", "target", "tests"];

#[test]
fn no_type_name_has_several_meanings() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for room in ROOMS {
        collect(&root.join(room), &root, &mut places);
    }
    assert!(places.len() > 1000, "only {} types were found", places.len());
    let shared: Vec<_> = places.iter().filter(|(_, files)| files.len() > 1).collect();
    let list: Vec<_> = shared.iter().map(|(name, files)| format!("{name}: {}", files.join(", "))).collect();
    assert!(list.is_empty(), "\n{}\n{} type names have several meanings", list.join("\n"), list.len());
}

fn collect(folder: &Path, root: &Path, places: &mut BTreeMap<String, Vec<String>>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, leaf) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() && !APART.contains(&leaf.as_str()) {
            collect(&path, root, places);
        } else if leaf.ends_with(".rs") && !leaf.starts_with("tests") {
            let file = path.strip_prefix(root).expect("a file of the workspace").display().to_string();
            for name in type_names(&fs::read_to_string(&path).expect("a source file")) {
                places.entry(name).or_default().push(file.clone());
            }
        }
    }
}

/// The types that a file defines at its top level, without its tests.
fn type_names(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    code.lines().filter_map(type_name).map(str::to_owned).collect()
}

fn type_name(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub(") {
        Some(restricted) => restricted.split_once(") ")?.1,
        None => line.strip_prefix("pub ").unwrap_or(line),
    };
    let line = line.strip_prefix("unsafe ").unwrap_or(line);
    let (keyword, rest) = line.split_once(' ')?;
    if !["struct", "enum", "union", "trait", "type"].contains(&keyword) {
        return None;
    }
    let end = rest.find(|next: char| !(next.is_alphanumeric() || next == '_')).unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| name.starts_with(char::is_uppercase))
}

#[test]
fn types_are_found() {
    let text = "pub struct A<T>(T);\n    type Inner = A;\npub(crate) enum B {\nunsafe trait C {}\ntype D = u8;\nfn e() {}\n\
                #[cfg(test)]\nmod tests {\nstruct F;\n";
    assert_eq!(type_names(text), ["A", "B", "C", "D"]);
}
