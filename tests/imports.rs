//! Files that import each other in a circle can be understood only together. This measures the circles of each crate: the
//! strongly connected components of its `use crate::…`.

#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The most files that a circle may have.
const CIRCLE_MAX: usize = 2;

/// The folders in which the sources of a library or a program begin, of all members of the workspace.
fn crates() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("the workspace's manifest");
    let list = manifest.split_once("members = [").and_then(|(_, rest)| rest.split_once(']'));
    let members = list.expect("a list of members").0.split(',').map(|member| member.trim().trim_matches('"'));
    let mut found = Vec::new();
    for sources in members.flat_map(|member| ["src", "harness"].map(|folder| format!("{member}/{folder}"))) {
        let programs = fs::read_dir(root.join(&sources)).into_iter().flatten().flatten();
        let programs = programs.map(|entry| format!("{sources}/{}", entry.file_name().to_string_lossy()));
        let folders = std::iter::once(sources.clone()).chain(programs);
        found.extend(folders.filter(|folder| {
            ["lib.rs", "main.rs"].iter().any(|file| root.join(folder).join(file).is_file())
        }));
    }
    found
}

#[test]
fn circles_of_imports_are_small() {
    let mut complaints = Vec::new();
    let crates = crates();
    assert!(crates.len() > 20, "only {crates:?} were found");
    for name in &crates {
        let imports = imports(name);
        let largest = circles(&imports).into_iter().max_by_key(Vec::len).unwrap_or_default();
        if largest.len() > CIRCLE_MAX {
            let files = largest.join(", ");
            complaints.push(format!("{name}: a circle of {}, over {CIRCLE_MAX}: {files}", largest.len()));
        }
    }
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// Which modules each module of a crate imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

fn imports(name: &str) -> Imports {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    let mut files = Vec::new();
    collect(&root, &mut files);
    assert!(!files.is_empty(), "{name} was not found");
    let modules: BTreeMap<String, PathBuf> =
        files.into_iter().map(|file| (module_of(&root, &file), file)).collect();
    let of = |(module, file): (&String, &PathBuf)| {
        let text = fs::read_to_string(file).expect("a source file");
        let found = paths(&text).into_iter().filter_map(|path| resolve(module, &path, &modules));
        (module.clone(), found.filter(|other| other != module).collect())
    };
    modules.iter().map(of).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let (path, leaf) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let is_test = leaf.starts_with("tests");
        if path.is_dir() && !is_test {
            collect(&path, files);
        } else if leaf.ends_with(".rs") && !is_test {
            files.push(path);
        }
    }
}

/// `a/b.rs` and `a/b/mod.rs` are `a::b`; the crate's root is empty.
fn module_of(root: &Path, file: &Path) -> String {
    let path = file.strip_prefix(root).expect("a file of the crate").with_extension("");
    let mut parts: Vec<_> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts.join("::")
}

/// The paths within the crate that a file's code, without its tests, imports or names.
fn paths(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code: String = code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let mut found = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            let within = code[..at]
                .ends_with(|before: char| before.is_alphanumeric() || before == ':' || before == '$');
            if !within {
                expand("", &code[at..], &mut found);
            }
        }
    }
    found
}

/// Takes `a::{b, c::d}` apart, and ends where the path does.
fn expand(prefix: &str, text: &str, found: &mut Vec<String>) {
    let end =
        text.find(|next: char| !(next.is_alphanumeric() || next == ':' || next == '_')).unwrap_or(text.len());
    let (path, rest) = text.split_at(end);
    let path = format!("{prefix}{path}");
    let Some(group) = rest.strip_prefix('{').filter(|_| path.ends_with("::")) else {
        found.push(path);
        return;
    };
    for item in items(group) {
        expand(&path, item.trim(), found);
    }
}

/// The items of a group up to its brace, split where no other group is open.
fn items(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0, 0, Vec::new());
    for (at, next) in group.char_indices() {
        match next {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(&group[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items
}

/// The module that a path leads to; none for the crate's root, in which everything is.
fn resolve(module: &str, path: &str, modules: &BTreeMap<String, PathBuf>) -> Option<String> {
    let mut place: Vec<&str> = module.split("::").filter(|part| !part.is_empty()).collect();
    for part in path.split("::").filter(|part| !part.is_empty()) {
        match part {
            "crate" => place.clear(),
            "self" => {}
            "super" => drop(place.pop()),
            _ => place.push(part),
        }
    }
    while !place.is_empty() && !modules.contains_key(&place.join("::")) {
        place.pop();
    }
    Some(place.join("::")).filter(|found| !found.is_empty())
}

/// Modules that reach each other, in groups of more than one.
fn circles(imports: &Imports) -> Vec<Vec<&str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|module| (module.as_str(), reached_from(module, imports))).collect();
    let mut circles: Vec<Vec<&str>> = Vec::new();
    for (module, others) in &reached {
        if circles.iter().any(|circle| circle.contains(module)) {
            continue;
        }
        let circle: Vec<&str> =
            others.iter().copied().filter(|other| reached[other].contains(module)).collect();
        if circle.len() > 1 {
            circles.push(circle);
        }
    }
    circles
}

fn reached_from<'a>(module: &str, imports: &'a Imports) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<&str> = imports[module].iter().map(String::as_str).collect();
    while let Some(next) = left.pop() {
        if let Some((known, more)) = imports.get_key_value(next)
            && reached.insert(known.as_str())
        {
            left.extend(more.iter().map(String::as_str));
        }
    }
    reached
}

#[test]
fn circles_are_found() {
    let text = [("a", "b c"), ("b", "a"), ("c", "d"), ("d", ""), ("e", "f"), ("f", "g"), ("g", "e d")];
    let imports = text.map(|(module, others)| {
        (module.to_owned(), others.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>())
    });
    assert_eq!(circles(&imports.into()), [vec!["a", "b"], vec!["e", "f", "g"]]);
}

#[test]
fn imports_are_taken_apart() {
    let text = "use crate::a::{self, B, c::{d, E}};\nuse super::f;\n// crate::not\nlet x = crate::g::h();\n";
    let mut found = paths(text);
    found.sort();
    assert_eq!(
        found,
        ["crate::a::B", "crate::a::c::E", "crate::a::c::d", "crate::a::self", "crate::g::h", "super::f"]
    );
}
