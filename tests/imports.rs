//! Files that import each other in a circle can be understood only together. This measures the circles of each crate: the
//! strongly connected components of which file uses what another defines.
//!
//! A name counts for the file that defines it, by whichever re-exports it is reached. So a `mod.rs` that only re-exports is in no
//! circle. What a file takes from the root of its crate does not count either: everything is there.

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
    let read = |file: PathBuf| {
        let text = fs::read_to_string(&file).expect("a source file");
        (module_of(&root, &file), SourceModule::new(&text))
    };
    imports_among(&files.into_iter().map(read).collect())
}

fn imports_among(modules: &SourceModules) -> Imports {
    let names = |source: &SourceModule| {
        let brought = source.uses.iter().filter_map(|item| item.name.clone());
        brought.chain(source.defined.iter().cloned()).collect::<Vec<_>>()
    };
    let names: BTreeSet<String> = modules.values().flat_map(names).collect();
    let of = |(module, source): (&String, &SourceModule)| {
        let used = source.used(module, modules, &names).into_iter();
        (module.clone(), used.filter(|other| !other.is_empty() && other != module).collect())
    };
    modules.iter().map(of).collect()
}

/// The files of a crate, without its tests and without programs that lie in folders of their own.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let (path, leaf) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if leaf.starts_with("tests") {
            continue;
        }
        if path.is_dir() && !path.join("main.rs").is_file() {
            collect(&path, files);
        } else if leaf.ends_with(".rs") {
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

/// All modules of a crate by their paths; the root's is empty.
type SourceModules = BTreeMap<String, SourceModule>;

/// What a file says, as far as it matters here.
struct SourceModule {
    uses: Vec<UseItem>,
    /// Its items and modules at the top.
    defined: BTreeSet<String>,
    children: BTreeSet<String>,
    /// Paths outside of `use`, and all words.
    paths: Vec<String>,
    words: BTreeSet<String>,
}

/// One name, or all, that a `use` brings in.
struct UseItem {
    path: String,
    /// None for all.
    name: Option<String>,
    is_public: bool,
}

/// How many re-exports a name may be reached by.
const RE_EXPORTS_MAX: usize = 8;

impl SourceModule {
    fn new(text: &str) -> SourceModule {
        let code = SourceModule::code(text);
        let (children, defined) = definitions(&code);
        let (uses, rest) = take_uses(&code);
        let words = rest.split(|next: char| !is_of_word(next)).map(str::to_owned).collect();
        SourceModule { uses, defined, children, paths: paths(&rest), words }
    }

    /// Without tests and comments.
    fn code(text: &str) -> String {
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default().trim_end());
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The modules that define what this one, `module`, uses. `names` are all of the crate.
    fn used(&self, module: &str, modules: &SourceModules, names: &BTreeSet<String>) -> Vec<String> {
        let mut used: Vec<String> =
            self.paths.iter().filter_map(|path| defining(module, path, modules, 0)).collect();
        for item in &self.uses {
            match &item.name {
                Some(name) if !item.is_public || self.words.contains(name) => {
                    used.extend(defining(module, &item.path, modules, 0));
                }
                Some(_) => {}
                None => {
                    let strange = self.words.intersection(names).filter(|word| !self.defined.contains(*word));
                    let paths = strange.map(|word| format!("{}::{word}", item.path));
                    used.extend(paths.filter_map(|path| known(module, &path, modules, 0)));
                }
            }
        }
        used
    }
}

fn is_of_word(next: char) -> bool {
    next.is_alphanumeric() || next == '_'
}

/// The modules and the items at the top of a file: where `cargo fmt` begins lines at the margin.
fn definitions(code: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    const KINDS: [&str; 10] =
        ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod", "macro_rules!"];
    let (mut children, mut defined) = (BTreeSet::new(), BTreeSet::new());
    for line in code.lines().filter(|line| line.starts_with(is_of_word)) {
        let mut words = line.split_whitespace().skip_while(|word| {
            word.starts_with("pub") || ["unsafe", "extern", "\"C\"", "async"].contains(word)
        });
        let Some(kind) = words.next().filter(|word| KINDS.contains(word)) else { continue };
        let name = words.find(|word| !["fn", "mut", "unsafe", "extern", "\"C\""].contains(word));
        let name = name.unwrap_or_default().split(|next: char| !is_of_word(next)).next().unwrap_or_default();
        let set = if kind == "mod" && line.ends_with(';') { &mut children } else { &mut defined };
        set.insert(name.to_owned());
    }
    (children, defined)
}

/// What the `use`s of a file bring in, and the code without them.
fn take_uses(code: &str) -> (Vec<UseItem>, String) {
    let (mut uses, mut rest, mut left) = (Vec::new(), String::new(), code);
    while let Some(at) = left.find("use ") {
        let line = left[..at].rsplit('\n').next().unwrap_or_default().trim();
        let (before, found) = left.split_at(at);
        rest.push_str(before);
        let is_public = line.starts_with("pub");
        // Elsewhere it is a word of a text.
        let of_use = |next: char| is_of_word(next) || next.is_whitespace() || ":{},*".contains(next);
        let end =
            found.find(';').filter(|end| (line.is_empty() || is_public) && found[..*end].chars().all(of_use));
        let Some(end) = end else {
            rest.push_str("use ");
            left = &found["use ".len()..];
            continue;
        };
        expand("", found["use ".len()..end].trim(), &mut |path, after| {
            uses.push(UseItem::new(path, after, is_public));
        });
        left = &found[end..];
    }
    (uses, rest + left)
}

impl UseItem {
    /// `after` the path may be another name or, for all, a star.
    fn new(path: &str, after: &str, is_public: bool) -> UseItem {
        let path = path.trim_end_matches("::self").trim_end_matches("::").to_owned();
        let other = after.trim().strip_prefix("as ").map(str::trim);
        let own = path.rsplit("::").next().unwrap_or_default();
        let name = (!after.starts_with('*')).then(|| other.unwrap_or(own).to_owned());
        UseItem { path, name, is_public }
    }
}

/// The paths of more than one word that code names.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let words = code.split(|next: char| !is_of_word(next) && next != ':' && next != '$');
    for path in words.filter(|path| path.contains("::") && !path.starts_with(':') && !path.contains('$')) {
        // What begins with the type of a generic argument or the name of a field is none: `a: b::c`.
        let path = path.rsplit(": ").next().unwrap_or_default().trim_end_matches(':');
        found.push(path.to_owned());
    }
    found
}

/// Takes `a::{b, c::d}` apart: each path, and what follows it.
fn expand(prefix: &str, text: &str, found: &mut dyn FnMut(&str, &str)) {
    let end = text.find(|next: char| !(is_of_word(next) || next == ':')).unwrap_or(text.len());
    let (path, rest) = text.split_at(end);
    let path = format!("{prefix}{path}");
    match rest.strip_prefix('{') {
        Some(group) => items(group).into_iter().for_each(|item| expand(&path, item.trim(), found)),
        None if path.is_empty() => {}
        None => found(&path, rest),
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

/// The module that defines what a path in `module` leads to; none for a module as such and for other crates.
fn defining(module: &str, path: &str, modules: &SourceModules, depth: usize) -> Option<String> {
    match lead(module, path, modules, depth)? {
        Lead::Defined(found) | Lead::Unseen(found) => Some(found),
        Lead::Module(_) => None,
    }
}

/// As [`defining`], if a definition is seen: not of what a macro defines.
fn known(module: &str, path: &str, modules: &SourceModules, depth: usize) -> Option<String> {
    match lead(module, path, modules, depth)? {
        Lead::Defined(found) => Some(found),
        Lead::Unseen(_) | Lead::Module(_) => None,
    }
}

/// Where a path leads.
enum Lead {
    /// To an item of this module.
    Defined(String),
    /// To something that this module must have, though no definition is seen.
    Unseen(String),
    Module(String),
}

fn lead(module: &str, path: &str, modules: &SourceModules, depth: usize) -> Option<Lead> {
    if depth > RE_EXPORTS_MAX {
        return None;
    }
    let mut parts = path.split("::").filter(|part| !part.is_empty()).peekable();
    let mut place = module.to_owned();
    let mut is_relative = true;
    while let Some(part) = parts.next_if(|part| ["crate", "self", "super"].contains(part)) {
        is_relative = false;
        match part {
            "crate" => place.clear(),
            "super" => place = place.rsplit_once("::").map(|(above, _)| above.to_owned()).unwrap_or_default(),
            _ => {}
        }
    }
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        match step(&place, part, is_last, modules, depth) {
            Some(Lead::Module(next)) => place = next,
            Some(found) => return Some(found),
            // The first word of such a path may be another crate's.
            None if is_relative => return None,
            None => return Some(Lead::Unseen(place)),
        }
        is_relative = false;
    }
    Some(Lead::Module(place))
}

/// Where a name in a module leads.
fn step(place: &str, part: &str, is_last: bool, modules: &SourceModules, depth: usize) -> Option<Lead> {
    let source = modules.get(place)?;
    let child = if place.is_empty() { part.to_owned() } else { format!("{place}::{part}") };
    let child = (source.children.contains(part) && modules.contains_key(&child)).then_some(child);
    // A function may have the name of its module.
    if let Some(child) = child.clone().filter(|_| !is_last) {
        return Some(Lead::Module(child));
    }
    if source.defined.contains(part) {
        return Some(Lead::Defined(place.to_owned()));
    }
    let named = source.uses.iter().filter(|item| item.name.as_deref() == Some(part));
    for item in named.filter(|item| item.path != part) {
        if let Some(found) = lead(place, &item.path, modules, depth + 1) {
            return Some(found);
        }
    }
    if let Some(child) = child {
        return Some(Lead::Module(child));
    }
    for all in source.uses.iter().filter(|item| item.name.is_none() && item.path != "super") {
        let path = format!("{}::{part}", all.path);
        if let Some(found) = known(place, &path, modules, depth + 1) {
            return Some(Lead::Defined(found));
        }
    }
    None
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
    let text = "use crate::a::{self, B, c::{d, E as F}};\npub use super::g;\n// use crate::not;\nuse h::*;\n";
    let (uses, rest) = take_uses(&SourceModule::code(text));
    let uses: Vec<_> =
        uses.iter().map(|item| (item.path.as_str(), item.name.as_deref(), item.is_public)).collect();
    let expected = [
        ("crate::a", Some("a"), false),
        ("crate::a::B", Some("B"), false),
        ("crate::a::c::d", Some("d"), false),
        ("crate::a::c::E", Some("F"), false),
        ("super::g", Some("g"), true),
        ("h", None, false),
    ];
    assert_eq!(uses, expected);
    assert!(!rest.contains("crate"), "{rest}");
    assert_eq!(paths("let x: a::B = crate::g::h::<u8>(); $crate::k::l!();"), ["a::B", "crate::g::h"]);
}

#[test]
fn names_are_followed_to_where_they_are_defined() {
    let files = [
        ("", "mod a;\nmod b;\nmod c;\npub use a::Deep;\nfn at_the_root() {}\n"),
        (
            "a",
            "mod child;\nmod other;\npub use child::Deep;\nuse other::private;\npub(crate) use child::*;\n",
        ),
        ("a::child", "pub struct Deep;\npub const fn one() {}\nuse super::private;\n"),
        ("a::other", "pub fn private() {\n    crate::at_the_root()\n}\n"),
        ("b", "use crate::Deep;\nuse crate::a;\nfn two() {\n    a::one()\n}\n"),
        ("c", "use std::fmt;\nfn three() {\n    use super::b::two;\n    fmt::x()\n}\n"),
    ];
    let modules = files.map(|(module, text)| (module.to_owned(), SourceModule::new(text))).into();
    let found = imports_among(&modules);
    let found: Vec<String> = found
        .iter()
        .flat_map(|(module, others)| others.iter().map(move |other| format!("{module} {other}")))
        .collect();
    assert_eq!(found, ["a a::other", "a::child a::other", "b a::child", "c b"]);
}
