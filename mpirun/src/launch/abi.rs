//! Which ABI a program was compiled for, and the folder of Tern's libraries for it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::launch::elf::Needs;
use crate::launch::family::Family;
use crate::launch::loader;

/// What was found out about a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramAbi {
    /// The MPI library that it needs, by itself or through another library, and whose it is.
    pub library: Option<(String, Family)>,
    /// The file that needs it.
    pub needed_by: PathBuf,
    /// All libraries of MPI that were found on the way.
    pub all: Vec<String>,
    /// Folders that the loader asks before `LD_LIBRARY_PATH`.
    pub fixed: Vec<PathBuf>,
    /// Whether the program is a script or an interpreter: what those load cannot be seen.
    pub is_open: bool,
}

/// Libraries that need no MPI, and that almost every program needs.
const PLAIN: [&str; 10] = [
    "libc.so",
    "libm.so",
    "libdl.so",
    "librt.so",
    "libpthread.so",
    "ld-linux",
    "libgcc_s.so",
    "libstdc++.so",
    "libgfortran.so",
    "libquadmath.so",
];

/// Files that are looked at for one program.
pub(super) const FILES_MAX: usize = 400;

/// Interpreters whose programs load libraries while they run.
const INTERPRETERS: [&str; 4] = ["python", "pypy", "julia", "ipython"];

/// Looks at a program and those of its arguments that may be the program, as behind `env` and `valgrind`. `set` are the
/// folders of `LD_LIBRARY_PATH`.
pub fn look(files: &[PathBuf], set: Option<&OsStr>) -> ProgramAbi {
    let mut open = false;
    for file in files {
        let mut seen = look_at(file, set);
        open |= seen.is_open;
        if seen.library.is_some() {
            seen.is_open = open;
            return seen;
        }
    }
    ProgramAbi { is_open: open, ..ProgramAbi::default() }
}

fn look_at(file: &Path, set: Option<&OsStr>) -> ProgramAbi {
    let mut seen = ProgramAbi { is_open: is_interpreter(file), ..ProgramAbi::default() };
    let mut file = file.to_owned();
    if let Some(interpreter) = interpreter(&file) {
        seen.is_open = true;
        file = interpreter;
    }
    let mut known = HashSet::new();
    let mut files = vec![file];
    let mut next = 0;
    while next < files.len().min(FILES_MAX) {
        if let Some(needs) = Needs::of(&files[next]) {
            if next == 0 && needs.is_asked_first {
                seen.fixed.clone_from(&needs.folders);
            }
            note(&mut seen, &needs, &files[next]);
            // Tern's own library serves what others need. Another MPI's cannot serve a second one, which a library may need.
            if next == 0 && seen.library.as_ref().is_some_and(|(_, family)| *family == Family::Standard) {
                break;
            }
            files.extend(further(&needs, set, &mut known));
        }
        next += 1;
    }
    seen
}

/// Notes the MPI libraries among what a file needs. One of the standard ABI decides, since it serves all others here.
fn note(seen: &mut ProgramAbi, needs: &Needs, file: &Path) {
    for name in &needs.libraries {
        let Some(family) = Family::of(name) else { continue };
        seen.all.push(name.clone());
        let decides = match &seen.library {
            None => true,
            Some((_, found)) => {
                *found != Family::Standard && family == Family::Standard && seen.needed_by == file
            }
        };
        if decides {
            seen.library = Some((name.clone(), family));
            file.clone_into(&mut seen.needed_by);
        }
    }
}

/// The libraries that a file needs and that were not looked at before. MPI libraries themselves are not.
pub(super) fn further(needs: &Needs, set: Option<&OsStr>, known: &mut HashSet<String>) -> Vec<PathBuf> {
    let names = needs.libraries.iter().filter(|name| !is_plain(name) && Family::of(name).is_none());
    let fresh: Vec<&String> = names.filter(|name| known.insert((*name).clone())).collect();
    fresh.into_iter().filter_map(|name| loader::find(name, &needs.folders, set)).collect()
}

/// Whether a library is one of the system's that need no MPI.
pub(super) fn is_plain(name: &str) -> bool {
    PLAIN.iter().any(|plain| name.starts_with(plain))
}

fn is_interpreter(file: &Path) -> bool {
    let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
    INTERPRETERS.iter().any(|interpreter| name.starts_with(interpreter))
}

/// The program that runs a script.
fn interpreter(file: &Path) -> Option<PathBuf> {
    let (program, argument) = first_line(file)?;
    if Path::new(&program).file_name() != Some(OsStr::new("env")) {
        return Some(program.into());
    }
    crate::cli::standard::find_program(OsStr::new(&argument?), &std::env::var_os("PATH")?)
}

/// The program that a script names to run it, where there is no such program.
pub fn missing_interpreter(file: &Path) -> Option<String> {
    let (program, argument) = first_line(file)?;
    let is_there = interpreter(file).is_some_and(|program| program.is_file());
    (!is_there).then(|| if Path::new(&program).is_file() { argument.unwrap_or(program) } else { program })
}

/// The program in a script's first line, and its first argument that is neither an option nor a variable.
fn first_line(file: &Path) -> Option<(String, Option<String>)> {
    if !file.metadata().is_ok_and(|data| data.is_file()) {
        return None;
    }
    let mut head = Vec::new();
    File::open(file).ok()?.take(256).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let first = words.next()?.to_owned();
    Some((first, words.find(|word| !word.starts_with('-') && !word.contains('=')).map(str::to_owned)))
}

/// What to say of a program that needs two MPIs, itself or through a library: handles of one mean nothing to the other. One of the
/// standard ABI serves the others.
pub fn two_mpis(seen: &ProgramAbi) -> Option<String> {
    let (library, own) = seen.library.as_ref().filter(|(_, own)| *own != Family::Standard)?;
    let mut named = seen.all.iter().filter_map(|name| Some((name, Family::of(name)?)));
    let (other, maker) = named.find(|(_, family)| family != own)?;
    Some(format!(
        "it needs libraries of two MPIs, {library} of {} and {other} of {}: build all parts with one of them",
        own.name(),
        maker.name()
    ))
}

/// The libraries of an ABI that a program needs and that Tern does not have.
pub fn lacking(seen: &ProgramAbi, folder: &Path) -> Vec<String> {
    let absent = seen.all.iter().filter(|name| !folder.join(name).exists());
    absent.filter(|name| Family::of(name) != Some(Family::Standard)).cloned().collect()
}

/// The first library of MPI that a program itself needs and that is nowhere, with `set` the folders of `LD_LIBRARY_PATH`: the program
/// was compiled for a version older than the libraries here, or newer.
pub fn nowhere(program: &Path, seen: &ProgramAbi, set: Option<&OsStr>) -> Option<String> {
    if seen.needed_by != program || seen.is_open {
        return None;
    }
    let needs = Needs::of(program)?;
    let is_nowhere = |name: &&String| {
        Family::of(name).is_some()
            && loader::own_library(name).is_none()
            && loader::find(name, &needs.folders, set).is_none()
    };
    needs.libraries.iter().find(is_nowhere).cloned()
}

/// What to say of such a program.
pub fn nowhere_words(program: &Path, library: &str) -> String {
    let maker = Family::of(library).map_or("MPI", Family::name);
    format!(
        "{} needs {library}, a library of {maker} that is not on this machine. Tern serves {SERVED}. Compile the program again with \
         Tern's mpicc",
        program.display()
    )
}

/// The versions that Tern has libraries for.
const SERVED: &str = "programs of the standard ABI's first version (libmpi_abi.so.1), of MPICH from 3.1 and Intel MPI from 5.0 \
                      (libmpi.so.12), and of Open MPI from 4 (libmpi.so.40)";

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn needs(libraries: &[&str]) -> Needs {
        Needs { libraries: libraries.iter().map(|name| name.to_string()).collect(), ..Needs::default() }
    }

    #[test]
    fn the_standard_library_decides_for_a_file_that_has_both() {
        let mut seen = ProgramAbi::default();
        note(&mut seen, &needs(&["libc.so.6", "libmpi.so.40", "libmpi_abi.so.1"]), Path::new("/a"));
        assert_eq!(seen.library, Some(("libmpi_abi.so.1".into(), Family::Standard)));
        assert_eq!(seen.all.len(), 2);
    }

    #[test]
    fn the_first_file_decides_among_other_libraries() {
        let mut seen = ProgramAbi::default();
        note(&mut seen, &needs(&["libmpi.so.12"]), Path::new("/a"));
        note(&mut seen, &needs(&["libmpi.so.40"]), Path::new("/lib/b"));
        assert_eq!(seen.library, Some(("libmpi.so.12".into(), Family::Mpich)));
        assert_eq!(seen.needed_by, Path::new("/a"));
    }

    #[test]
    fn two_mpis_are_named_unless_one_has_the_standard_abi() {
        let mut seen = ProgramAbi::default();
        note(&mut seen, &needs(&["libmpi.so.12"]), Path::new("/a"));
        assert_eq!(two_mpis(&seen), None);
        note(&mut seen, &needs(&["libmpi.so.40"]), Path::new("/lib/b"));
        let words = two_mpis(&seen).unwrap();
        assert!(words.contains("libmpi.so.12 of MPICH and libmpi.so.40 of Open MPI"), "{words}");
        let mut seen = ProgramAbi::default();
        note(&mut seen, &needs(&["libmpi_abi.so.1", "libmpi.so.40"]), Path::new("/a"));
        assert_eq!(two_mpis(&seen), None);
    }

    #[test]
    fn scripts_are_followed_to_their_interpreter() {
        let folder = std::env::temp_dir().join(format!("tern-abi-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let script = folder.join("script");
        for (head, found) in [("#!/bin/sh -e\n", true), ("#! /usr/bin/env -S sh\n", true), ("\x7fELF", false)]
        {
            std::fs::write(&script, head).unwrap();
            std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
            assert_eq!(
                interpreter(&script).is_some_and(|program| program.ends_with("sh")),
                found,
                "{head:?}"
            );
        }
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        let seen = look(std::slice::from_ref(&script), None);
        assert!(seen.is_open && seen.library.is_none());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn only_what_the_program_itself_needs_can_be_nowhere() {
        let own = std::env::current_exe().unwrap();
        let seen = ProgramAbi { needed_by: own.clone(), ..ProgramAbi::default() };
        assert_eq!(nowhere(&own, &seen, None), None);
        let words = nowhere_words(Path::new("./old"), "libmpi.so.1");
        assert!(words.contains("./old needs libmpi.so.1, a library of Open MPI"), "{words}");
    }

    #[test]
    fn a_plain_program_needs_no_mpi() {
        let seen = look(&[std::env::current_exe().unwrap()], None);
        assert_eq!((seen.library, seen.is_open), (None, false));
        assert!(is_interpreter(Path::new("/usr/bin/python3.11")));
    }
}
