//! Reads the folder `fortran/`: interfaces in their dialect, heads of the glue, constants.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// An interface.
pub(crate) struct Procedure {
    pub name: String,
    /// In order, `ierror` left out.
    pub arguments: Vec<String>,
    /// Whether it begins with `PROC_TS`.
    pub has_buffers: bool,
    /// Whether it is compiled for large counts too.
    pub has_large: bool,
    /// By argument: type and attributes, with the array's shape at the end.
    pub declarations: BTreeMap<String, String>,
}

/// A function of the glue.
pub(crate) struct Entry {
    pub name: String,
    pub has_buffers: bool,
    /// Type and name, in order, without `ierror` and the lengths of strings.
    pub parameters: Vec<(String, String)>,
}

fn files(folder: &str, suffix: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fortran").join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the Fortran sources")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == suffix))
        // What only module mpi has, and what no function of C is.
        .filter(|path| !path.ends_with("pointers.inc") && !path.ends_with("language.inc"))
        .collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read_to_string(path).expect("text")).collect()
}

/// All interfaces.
pub(crate) fn procedures() -> Vec<Procedure> {
    files("interfaces", "inc").iter().flat_map(|text| procedures_of(text)).collect()
}

fn procedures_of(text: &str) -> Vec<Procedure> {
    let joined = text.replace("&\n", " ");
    let (mut found, mut conditions) = (Vec::new(), Vec::new());
    let mut lines = joined.lines();
    while let Some(line) = lines.next() {
        match line.split_once(' ').map_or((line, ""), |(word, rest)| (word, rest)) {
            ("#ifdef" | "#ifndef", _) => conditions.push(line.to_string()),
            ("#else", _) => {
                let turned = if conditions.pop().is_some_and(|line| line == "#ifdef LARGE") {
                    "#ifndef LARGE"
                } else {
                    ""
                };
                conditions.push(turned.to_string());
            }
            ("#endif", _) => drop(conditions.pop()),
            _ if line.starts_with("PROC") => {
                let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "END_PROC").collect();
                // A large form of its own (more arguments) stands beside the usual one.
                if !conditions.iter().any(|line| line == "#ifdef LARGE") {
                    found.push(procedure(line, &body, &conditions));
                }
            }
            _ => {}
        }
    }
    found
}

fn procedure(head: &str, body: &[&str], conditions: &[String]) -> Procedure {
    let (word, rest) = head.split_once('(').expect("PROC(");
    let (name, rest) = rest.split_once(")(").expect("a list of arguments");
    let (arguments, _) = rest.split_once(')').expect("the end of the arguments");
    let mut arguments: Vec<String> =
        arguments.split(',').map(|name| name.trim().to_string()).filter(|name| !name.is_empty()).collect();
    assert_eq!(arguments.pop().as_deref(), Some("ierror"), "{name}: ierror is last");
    assert_eq!(body.last().map(|line| line.trim()), Some("IERROR"), "{name}: IERROR declares ierror");
    Procedure {
        name: name.to_string(),
        arguments,
        has_buffers: word == "PROC_TS",
        has_large: !conditions.iter().any(|line| line == "#ifndef LARGE" || line == "#ifdef OLD")
            || OWN_LARGE_FORM.contains(&name),
        declarations: body[..body.len() - 1].iter().flat_map(|line| declarations(line)).collect(),
    }
}

/// Functions whose large form has more arguments.
const OWN_LARGE_FORM: [&str; 2] = ["MPI_Type_get_contents", "MPI_Type_get_envelope"];

/// `integer, intent(in) :: n, a(*)` declares `n` and `a`.
fn declarations(line: &str) -> Vec<(String, String)> {
    let (kind, names) = line.split_once(" :: ").unwrap_or_else(|| panic!("{line}: not a declaration"));
    let mut shapes = names.replace("(3, *)", "(3;*)").replace("(count, *)", "(count;*)");
    shapes.retain(|c| c != ' ');
    shapes
        .split(',')
        .map(|item| {
            let (name, shape) = item.find('(').map_or((item, ""), |at| item.split_at(at));
            (name.to_string(), format!("{}{shape}", kind.trim()))
        })
        .collect()
}

/// All functions of the glue that are written out.
pub(crate) fn entries() -> Vec<Entry> {
    let texts = [files("glue", "inc"), files("glue", "c")].concat();
    let entries = texts.iter().flat_map(|text| text.split("\nENTRY").skip(1).filter_map(entry));
    entries.filter(|entry| !entry.parameters.iter().any(|(_, name)| name.contains("large_counts"))).collect()
}

fn entry(text: &str) -> Option<Entry> {
    let (head, _) = text.split_once("\n{")?;
    let has_buffers = head.starts_with("_TS(");
    let list = head.split_once('(')?.1.replace('\n', " ");
    let list = list.split("HIDDEN").next()?.trim_end_matches(')');
    let mut items = list.split(',').map(str::trim);
    let name = items.next()?.to_string();
    let parameters = items
        .filter(|item| !item.starts_with("size_t") && *item != "Out ierror" && !item.is_empty())
        .map(|item| {
            let at = item.rfind([' ', '*'])? + 1;
            Some((item[..at].trim().to_string(), item[at..].to_string()))
        })
        .collect::<Option<_>>()?;
    Some(Entry { name, has_buffers, parameters })
}

/// All constants of Fortran by name.
pub(crate) fn constants() -> BTreeMap<String, i64> {
    files("modules", "inc")
        .iter()
        .flat_map(|text| text.lines())
        .filter_map(|line| {
            let line = line.trim().strip_suffix(')')?;
            let list = line
                .strip_prefix("NUMBER(")
                .or_else(|| line.strip_prefix("HANDLE(")?.split_once(", ").map(|x| x.1))?;
            let (name, value) = list.split_once(", ")?;
            Some((name.to_string(), value.parse().ok()?))
        })
        .collect()
}
