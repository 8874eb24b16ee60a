//! Which MPI library a program would run on.

use std::path::{Path, PathBuf};

use tern_mpirun::programs::{self, Abi, Family, ProgramAbi};

use super::Finding;

const WHAT: &str = "program";

/// One finding, or one for each thing in the way.
pub(super) fn findings(program: &Path) -> Vec<Finding> {
    let Some(file) = found(program) else {
        return vec![Finding::bad(WHAT, format!("{} is not found", program.display()))];
    };
    if let Some(why) = of_another_machine(&file) {
        return vec![Finding::bad(WHAT, why)];
    }
    let seen = programs::look(std::slice::from_ref(&file), std::env::var_os("LD_LIBRARY_PATH").as_deref());
    let mut findings = vec![library(&file, &seen)];
    findings.extend(in_the_way(&seen));
    findings
}

/// As a shell finds it.
fn found(program: &Path) -> Option<PathBuf> {
    if program.as_os_str().as_encoded_bytes().contains(&b'/') || program.is_file() {
        return program.is_file().then(|| program.to_owned());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The place of the machine in the head of an executable.
const MACHINE_AT: usize = 18;

/// A program for another architecture, or of 32 bits.
fn of_another_machine(file: &Path) -> Option<String> {
    let machine_of = |path: &Path| -> Option<(u8, u16)> {
        let mut head = [0; MACHINE_AT + 2];
        std::io::Read::read_exact(&mut std::fs::File::open(path).ok()?, &mut head).ok()?;
        head.starts_with(b"\x7fELF")
            .then(|| (head[4], u16::from_le_bytes([head[MACHINE_AT], head[MACHINE_AT + 1]])))
    };
    let own = machine_of(Path::new("/proc/self/exe"))?;
    let other = machine_of(file)?;
    (own != other).then(|| {
        format!(
            "{} is for another machine (ELF machine {}, here {}): build it for this one",
            file.display(),
            other.1,
            own.1
        )
    })
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
    if let Some(folder) = programs::folder_of(Abi::from(*family)) {
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
    use crate::doctor::Severity;

    #[test]
    fn what_is_no_program_is_said() {
        assert_eq!(findings(Path::new("/nonexistent/program"))[0].verdict, Severity::Bad);
        let own = std::env::current_exe().unwrap();
        let findings = findings(&own);
        assert!(findings.len() == 1 && findings[0].words.contains("needs no MPI library"), "{findings:?}");
    }

    #[test]
    fn another_architecture_is_found_by_the_head() {
        let file = std::env::temp_dir().join(format!("tern-elf-{}", std::process::id()));
        let mut head = std::fs::read("/proc/self/exe").unwrap()[..64].to_vec();
        head[MACHINE_AT] ^= 0x7f;
        std::fs::write(&file, &head).unwrap();
        assert!(of_another_machine(&file).unwrap().contains("another machine"));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(of_another_machine(Path::new("/etc/passwd")), None);
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
