//! Which MPI library a program would run on.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::{ELFMAG, FileHeader64};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};
use tern_mpirun::programs::{self, Abi, Family, ProgramAbi};

use super::finding::{Finding, Severity};

const WHAT: &str = "program";

/// One finding, or one for each thing in the way. The program may be an interpreter or a command that runs one of its `arguments`.
pub(super) fn findings(program: &Path, arguments: &[OsString]) -> Vec<Finding> {
    let Some(file) = found(program) else {
        let what = if program.is_dir() { "is a folder" } else { "is not found" };
        return vec![Finding::bad(WHAT, format!("{} {what}", program.display()))];
    };
    if let Some(why) = programs::another_machine(&file).or_else(|| no_program(&file)) {
        return vec![Finding::bad(WHAT, why)];
    }
    let set = std::env::var_os("LD_LIBRARY_PATH");
    let others = arguments.iter().filter_map(|word| found(Path::new(word)));
    let files: Vec<PathBuf> = std::iter::once(file.clone()).chain(others).collect();
    let seen = programs::look(&files, set.as_deref());
    // Behind an interpreter, what is looked at is the file that needs MPI.
    let file = files.into_iter().find(|file| *file == seen.needed_by).unwrap_or(file);
    if let Some(library) = programs::nowhere(&file, &seen, set.as_deref()) {
        return vec![Finding::bad(WHAT, programs::nowhere_words(&file, &library))];
    }
    let mut findings = vec![library(&file, &seen)];
    findings.extend(in_the_way(&seen));
    findings.extend(programs::missing(&file, set.as_deref()).iter().map(|library| missing(library)));
    findings.extend(absent(&programs::absent(&file, &seen, set.as_deref()), &seen));
    // What is in the way comes before the library on which it would run.
    findings.sort_by_key(|finding| finding.verdict != Severity::Bad);
    findings
}

/// Libraries that are parts of other MPIs and not meant for programs.
const INSIDES: [&str; 6] = ["libopen-pal", "libopen-rte", "liboshmem", "libmpl", "libopa", "libmpi_ilp64"];

fn missing(library: &str) -> Finding {
    let why = if INSIDES.iter().any(|inside| library.starts_with(inside)) {
        "a part of another MPI that Tern does not have: link the program without it, or build it with Tern's mpicc"
    } else {
        "which is nowhere on this machine: the loader will not start it"
    };
    Finding::bad(WHAT, format!("it needs {library}, {why}"))
}

/// Names that no library has: of a newer standard, of another library alone, or with a slip.
fn absent(names: &[String], seen: &ProgramAbi) -> Option<Finding> {
    let is_mpich = seen.library.as_ref().is_some_and(|(_, family)| *family == Family::Mpich);
    if is_mpich && names.iter().any(|name| name.starts_with("_ZN")) {
        let words = "it calls the C++ bindings of MPICH (MPI::COMM_WORLD and the like), which Tern has for Open MPI's ABI alone";
        return Some(Finding::bad(WHAT, words));
    }
    let some = names.iter().take(NAMES_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(NAMES_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!names.is_empty()).then(|| {
        Finding::bad(
            WHAT,
            format!(
                "it asks for {some}{more}, which no library here has: it ends with 'undefined symbol' where it calls one. \
                 Names that MPI 5.0 does not have are another library's own"
            ),
        )
    })
}

/// Names that are told of a program.
const NAMES_MAX: usize = 5;

/// As a shell finds it.
fn found(program: &Path) -> Option<PathBuf> {
    if program.as_os_str().as_encoded_bytes().contains(&b'/') || program.is_file() {
        return program.is_file().then(|| program.to_owned());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Why a file is no program, or not all of one.
fn no_program(file: &Path) -> Option<String> {
    use std::os::unix::fs::{FileExt, PermissionsExt};
    let name = file.display();
    let about = file.metadata().ok()?;
    if about.permissions().mode() & 0o111 == 0 {
        return Some(format!("{name} may not be executed: 'chmod +x' lets it"));
    }
    let open = match std::fs::File::open(file) {
        Ok(open) => open,
        // Who may not read a program may run it.
        Err(_) => return None,
    };
    let mut head = [0; 4];
    let read = open.read_at(&mut head, 0).unwrap_or(0);
    if head.starts_with(b"#!") {
        return programs::missing_interpreter(file)
            .map(|interpreter| format!("{name} is run by {interpreter}, which is not here"));
    }
    if head[..read] != ELFMAG {
        return Some(format!(
            "{name} is no program: it begins neither as one nor with #! and an interpreter"
        ));
    }
    is_cut_off(open, about.len())
        .then(|| format!("{name} is cut off: it has {} bytes, and says that it has more", about.len()))
}

/// Whether a program of 64 bits lacks bytes that its head or the table of its segments speaks of.
fn is_cut_off(open: std::fs::File, bytes: u64) -> bool {
    let file = ReadCache::new(open);
    let reach = FileHeader64::<Endianness>::parse(&file).and_then(|header| {
        let endian = header.endian()?;
        let segments = header.program_headers(endian, &file)?;
        let ends = segments.iter().map(|segment| {
            let (offset, bytes) = segment.file_range(endian);
            offset.saturating_add(bytes)
        });
        Ok(ends.max().unwrap_or(0))
    });
    reach.map_or(true, |reach| reach > bytes)
}

fn library(file: &Path, seen: &ProgramAbi) -> Finding {
    let name = file.display();
    let Some((library, family)) = &seen.library else {
        return Finding::ok(WHAT, without_mpi(&name.to_string(), seen));
    };
    let through = if seen.needed_by == file {
        String::new()
    } else {
        format!(", through {}", seen.needed_by.display())
    };
    let runs_on = match programs::folder_of(Abi::from(*family)) {
        Some(folder) => format!("runs on {}", folder.join(base(library)).display()),
        None if *family == Family::Standard => "runs on Tern's library of the standard ABI".into(),
        None => "this installation has no library for it".into(),
    };
    let words = format!("{name} needs {library} of {}{through}: under mpirun it {runs_on}", family.name());
    if runs_on.starts_with("this") { Finding::bad(WHAT, words) } else { Finding::ok(WHAT, words) }
}

/// The file in Tern's folder for a library that may have Debian's name.
fn base(library: &str) -> &str {
    if library.starts_with("libmpich.so") { "libmpi.so.12" } else { library }
}

fn without_mpi(name: &str, seen: &ProgramAbi) -> String {
    if seen.is_open {
        return format!(
            "{name} is a script or an interpreter: what it loads later finds Tern's libraries of all ABIs"
        );
    }
    format!("{name} needs no MPI library that can be seen")
}

fn in_the_way(seen: &ProgramAbi) -> Vec<Finding> {
    let Some((library, family)) = &seen.library else { return Vec::new() };
    let mut findings = Vec::new();
    if let Some(words) = programs::two_mpis(seen) {
        findings.push(Finding::bad(WHAT, words));
    } else if let Some(folder) = programs::folder_of(Abi::from(*family)) {
        for name in programs::lacking(seen, &folder) {
            findings.push(Finding::bad(
                WHAT,
                format!("it needs {name} too, which Tern does not have: build the program with Tern's mpicc"),
            ));
        }
    }
    if *family == Family::Standard {
        return findings;
    }
    if let Some(folder) = seen.fixed.iter().find(|folder| folder.join(library).exists()) {
        findings.push(Finding::bad(
            WHAT,
            format!(
                "it takes {library} from {} whatever LD_LIBRARY_PATH says: remove that path with 'chrpath -d' or 'patchelf --remove-rpath'",
                folder.display()
            ),
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_program_is_said() {
        assert_eq!(findings(Path::new("/nonexistent/program"), &[])[0].verdict, Severity::Bad);
        assert!(findings(Path::new("/usr"), &[])[0].words.contains("is a folder"));
        let own = std::env::current_exe().unwrap();
        let findings = findings(&own, &["x.py".into()]);
        assert!(findings.len() == 1 && findings[0].words.contains("needs no MPI library"), "{findings:?}");
    }

    #[test]
    fn what_is_no_program_or_a_part_of_one_is_in_the_way() {
        use std::os::unix::fs::PermissionsExt;
        let file = std::env::temp_dir().join(format!("tern-no-program-{}", std::process::id()));
        let own = std::fs::read("/proc/self/exe").unwrap();
        let said = |bytes: &[u8], mode: u32| {
            std::fs::write(&file, bytes).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            no_program(&file)
        };
        assert!(said(&own, 0o644).unwrap().contains("chmod +x"));
        assert!(said(b"hello", 0o755).unwrap().contains("is no program"));
        assert!(said(&own[..40], 0o755).unwrap().contains("is cut off"));
        assert!(said(&own[..4096], 0o755).unwrap().contains("is cut off"));
        assert_eq!(said(b"#!/bin/sh\n", 0o755), None);
        assert!(said(b"#!/nonexistent/python\n", 0o755).unwrap().contains("run by /nonexistent/python"));
        assert!(said(b"#!/usr/bin/env nonexistent\n", 0o755).unwrap().contains("run by nonexistent"));
        assert_eq!(said(&own, 0o755), None);
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn two_mpis_are_named() {
        let library = Some(("libmpi.so.12".into(), Family::Mpich));
        let all = vec!["libmpi.so.12".into(), "libmpi.so.40".into()];
        let found = in_the_way(&ProgramAbi { library, all, ..ProgramAbi::default() });
        assert!(found[0].words.contains("two MPIs") && found[0].words.contains("Open MPI"), "{found:?}");
    }

    #[test]
    fn a_fixed_path_and_a_missing_library_are_in_the_way() {
        let seen = ProgramAbi {
            library: Some(("libmpi.so.40".into(), Family::OpenMpi)),
            fixed: vec![std::env::temp_dir()],
            ..ProgramAbi::default()
        };
        let path = std::env::temp_dir().join("libmpi.so.40");
        std::fs::write(&path, "").unwrap();
        let found = in_the_way(&seen);
        std::fs::remove_file(path).unwrap();
        assert!(found.iter().any(|finding| finding.words.contains("--remove-rpath")), "{found:?}");
    }
}
