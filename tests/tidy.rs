//! Lints the tree for what compilers do not check: the rules of CONTRIBUTING.md that a program can judge.

#![forbid(unsafe_code)]

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const LINES_MAX: usize = 800;
const COLUMNS_MAX: usize = 120;
const FUNCTION_LINES_MAX: usize = 100;

/// Crate roots that must forbid unsafe code.
const SAFE_ROOTS: &[&str] = &[
    "abi/src/lib.rs",
    "engine/src/lib.rs",
    "settings/src/lib.rs",
    "coll/src/lib.rs",
    "sim/src/lib.rs",
    "transport/urtp/src/lib.rs",
    "transport/urtp/tests/sim/main.rs",
    "job/src/lib.rs",
    "mpirun/src/lib.rs",
    "mpirun/src/main.rs",
    "tools/src/tern/main.rs",
    "tools/src/cc/main.rs",
    "tests/harness/main.rs",
    "tests/documents.rs",
    "tests/imports.rs",
    "tests/tidy.rs",
    "tests/toolchain.rs",
];

/// Folders that hold no source.
const SKIPPED_FOLDERS: &[&str] = &[".git", "target", "build", "__pycache__"];

/// All that the root holds beside folders.
const ROOT_FILES: &[&str] = &[
    ".dockerignore",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "deny.toml",
    "rustfmt.toml",
];

/// Headers are as long as the standard makes them; those of other ABIs are made by a program.
const LONG_FILES: &[&str] = &[
    "abi/include/mpi.h",
    "compat/mpich/include/mpi.h",
    "compat/openmpi/include/mpi.h",
    "compat/openmpi/include/types.h",
];

struct Source {
    /// Relative to the root, with '/'.
    name: String,
    text: String,
    executable: bool,
}

impl Source {
    fn is(&self, endings: &[&str]) -> bool {
        endings.iter().any(|ending| self.name.ends_with(ending))
    }

    fn is_code(&self) -> bool {
        self.is(&[".rs", ".c", ".cc", ".h", ".sh", ".py", ".inc", ".f90", ".F90"])
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    collect(&root(), "", &mut found);
    assert!(found.len() > 50, "the tree was not found");
    found
}

fn collect(folder: &Path, prefix: &str, found: &mut Vec<Source>) {
    let mut entries: Vec<_> = fs::read_dir(folder).expect("a readable folder").flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let leaf = entry.file_name().to_string_lossy().into_owned();
        let name = format!("{prefix}{leaf}");
        let kind = entry.file_type().expect("a file type");
        if kind.is_dir() && !SKIPPED_FOLDERS.contains(&leaf.as_str()) {
            collect(&entry.path(), &format!("{name}/"), found);
        } else if kind.is_file() {
            // What is not text (pictures) is nothing to lint.
            let Ok(text) = fs::read_to_string(entry.path()) else { continue };
            let executable = entry.metadata().is_ok_and(|data| data.permissions().mode() & 0o111 != 0);
            found.push(Source { name, text, executable });
        }
    }
}

/// Fails with all complaints at once.
fn judge(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// What a command leaves where it was called is easily committed with all else. Files that are not are the user's own.
#[test]
fn nothing_strays_at_the_root() {
    let listed = Command::new("git").arg("-C").arg(root()).args(["ls-files"]).output();
    let names = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let strays = names.lines().filter(|name| !name.contains('/') && !ROOT_FILES.contains(name));
    judge(strays.map(|name| format!("{name}: does not belong at the root")).collect());
}

#[test]
fn files_are_short() {
    let long = |source: &Source| {
        let lines = source.text.lines().count();
        let allowed = !source.is_code() || LONG_FILES.contains(&source.name.as_str());
        (lines > LINES_MAX && !allowed).then(|| format!("{}: {lines} lines, over {LINES_MAX}", source.name))
    };
    judge(sources().iter().filter_map(long).collect());
}

#[test]
fn nothing_is_left_unfinished() {
    // Put together here, so that this file does not find itself.
    let words =
        [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("unimplemented", "!(")];
    judge(find_words(&words, Source::is_code));
}

#[test]
fn no_path_of_a_developers_machine_is_named() {
    let words =
        [concat!("/wo", "rk/"), concat!("/tmp/", "tern"), concat!("/tmp/", "peers"), concat!("/ro", "ot/")];
    judge(find_words(&words, |source| {
        source.is_code() || source.is(&[".md", ".toml", "Makefile", ".ci/run"])
    }));
}

/// A file that was moved keeps its old name in others' comments.
#[test]
fn comments_name_sources_that_exist() {
    let sources = sources();
    let leaf = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let known: HashSet<String> = sources.iter().map(|source| leaf(&source.name)).collect();
    // The other test of sources invents some.
    let rust = sources.iter().filter(|source| source.is(&[".rs"]) && source.name != "tests/imports.rs");
    let mut complaints = Vec::new();
    for source in rust {
        for (number, line) in source.text.lines().enumerate() {
            let Some((_, comment)) = line.split_once("//") else { continue };
            for word in comment.split('`').filter(|word| word.ends_with(".rs") && !word.contains(' ')) {
                if !known.contains(&leaf(word)) {
                    complaints.push(format!("{}:{}: there is no {word}", source.name, number + 1));
                }
            }
        }
    }
    judge(complaints);
}

/// What was measured on one processor belongs to docs/performance or a decision record; a comment gives the reason.
#[test]
fn sources_name_no_processor() {
    let words =
        [concat!("Zen", " 3"), concat!("Zen", " 4"), concat!("Zen", " 5"), concat!("Sapphire", " Rapids")];
    judge(find_words(&words, |source| source.is(&[".rs"])));
}

fn find_words(words: &[&str], wanted: impl Fn(&Source) -> bool) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources().iter().filter(|source| wanted(source)) {
        for (number, line) in source.text.lines().enumerate() {
            for word in words.iter().filter(|word| line.contains(**word)) {
                complaints.push(format!("{}:{}: contains {word}", source.name, number + 1));
            }
        }
    }
    complaints
}

#[test]
fn safe_crates_forbid_unsafe_code() {
    let all = sources();
    let missing = |root: &&&str| {
        let source = all.iter().find(|source| source.name == ***root);
        source.is_none_or(|source| !source.text.contains("#![forbid(unsafe_code)]"))
    };
    judge(
        SAFE_ROOTS
            .iter()
            .filter(missing)
            .map(|root| format!("{root}: does not forbid unsafe code"))
            .collect(),
    );
}

/// The macros through which C calls the library, each with a function that holds the body of an entry point.
const ENTRY_MACROS: [&str; 2] = ["mpi/src/core/entry.rs", "mpi/src/tool/mod.rs"];

/// The bodies of all entry points are safe code: the macros forbid anything else, and nothing that follows C's pointers is exported
/// without them.
#[test]
fn entry_points_are_safe_code() {
    let mut complaints = Vec::new();
    for source in sources().iter().filter(|source| source.name.starts_with("mpi/src/")) {
        let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
        let is_macro = ENTRY_MACROS.contains(&&*source.name);
        for (at, line) in lines.iter().enumerate() {
            let next_function = || lines[at..].iter().find(|line| line.contains("fn "));
            let exports = line.contains("no_mangle") || line.contains("export_name");
            if exports && !is_macro && next_function().is_some_and(|found| found.contains("unsafe")) {
                complaints.push(format!(
                    "{}:{}: is exported, and no entry! is around it",
                    source.name,
                    at + 1
                ));
            }
            let is_body = line.starts_with("fn safe(") || line.starts_with("fn safe<");
            if is_macro && is_body && !lines[at.saturating_sub(2)..at].contains(&"#[forbid(unsafe_code)]") {
                complaints.push(format!("{}:{}: does not forbid unsafe code", source.name, at + 1));
            }
        }
    }
    let bodies = sources().iter().filter(|source| ENTRY_MACROS.contains(&&*source.name)).count();
    assert_eq!(bodies, ENTRY_MACROS.len(), "the macros were not found");
    judge(complaints);
}

/// What a list of packages shows of a crate; where the sources lie is for whoever publishes them.
#[test]
fn every_crate_describes_itself() {
    let mut complaints = Vec::new();
    for source in sources().iter().filter(|source| source.name.ends_with("/Cargo.toml")) {
        let of_workspace = source.text.contains("version.workspace = true");
        let fields = ["description = ", "license.workspace", "rust-version.workspace", "keywords.workspace"];
        let missing = fields.iter().filter(|field| of_workspace && !source.text.contains(**field));
        complaints.extend(missing.map(|field| format!("{}: has no '{}'", source.name, field.trim())));
    }
    judge(complaints);
}

#[test]
fn every_conformance_program_says_how_it_runs() {
    let mut complaints = Vec::new();
    for source in sources().iter().filter(|source| source.name.starts_with("tests/c/") && source.is(&[".c"]))
    {
        let comment =
            source.text.strip_prefix("/*").and_then(|rest| rest.split_once("*/")).map(|parts| parts.0);
        if !comment.is_some_and(|comment| comment.contains("\n * ranks: ")) {
            complaints.push(format!("{}: its first comment has no line ' * ranks: N ...'", source.name));
        }
    }
    judge(complaints);
}

#[test]
fn lines_are_clean() {
    let mut complaints = Vec::new();
    for source in sources().iter().filter(|source| source.is_code()) {
        if !source.text.is_empty() && !source.text.ends_with('\n') {
            complaints.push(format!("{}: does not end with a newline", source.name));
        }
        for (number, line) in source.text.lines().enumerate() {
            let fault = line_fault(source, line);
            complaints.extend(fault.map(|fault| format!("{}:{}: {fault}", source.name, number + 1)));
        }
    }
    judge(complaints);
}

fn line_fault(source: &Source, line: &str) -> Option<&'static str> {
    if line.ends_with([' ', '\t']) {
        return Some("ends with a space");
    }
    if line.contains('\t') && source.is(&[".rs", ".c", ".h", ".cc", ".py"]) {
        return Some("contains a tab");
    }
    let wide = line.chars().count() > COLUMNS_MAX && !LONG_FILES.contains(&source.name.as_str());
    (wide && source.is(&[".c", ".h"])).then_some("is over 120 columns wide")
}

#[test]
fn scripts_can_be_executed() {
    let blunt = |source: &&Source| source.text.starts_with("#!") && source.is_code() && !source.executable;
    // A Rust file may begin with an inner attribute.
    let scripts = sources();
    judge(
        scripts
            .iter()
            .filter(blunt)
            .filter(|source| !source.is(&[".rs"]))
            .map(|source| format!("{}: is not executable", source.name))
            .collect(),
    );
}

/// The lines of a function from its head on, at whose indentation it ends.
fn function_lines(lines: &[&str]) -> usize {
    let head = lines[0];
    let end = format!("{}}}", &head[..head.len() - head.trim_start().len()]);
    lines.iter().position(|line| *line == end).map_or(0, |at| at + 1)
}

/// A line that begins a function with a body of several lines.
fn begins_function(line: &str) -> bool {
    let code = line.trim_start();
    let is_head = code.split(' ').take_while(|word| !word.contains('(')).any(|word| word == "fn");
    is_head && !code.starts_with("//") && !code.ends_with([';', '}'])
}

/// Whoever reads a function sees it whole.
#[test]
fn functions_are_short() {
    let mut complaints = Vec::new();
    for source in sources().iter().filter(|source| source.is(&[".rs"])) {
        let lines: Vec<&str> = source.text.lines().collect();
        for at in (0..lines.len()).filter(|&at| begins_function(lines[at])) {
            let len = function_lines(&lines[at..]);
            if len > FUNCTION_LINES_MAX {
                complaints.push(format!("{}:{}: a function of {len} lines", source.name, at + 1));
            }
        }
    }
    judge(complaints);
}
