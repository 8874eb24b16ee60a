//! Tern's libraries for programs that were linked without the folder in which they lie.
//!
//! The loader asks `LD_LIBRARY_PATH` before a program's own `DT_RUNPATH`. So a folder is put there, as the last one, only
//! for a program that finds a library of Tern's nowhere.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::launch::elf::Needs;
use crate::launch::family::Family;
use crate::launch::foreign::{program_file, variable};
use crate::plan::{App, Plan};

/// The variable with folders that the loader asks first.
pub const VARIABLE: &str = "LD_LIBRARY_PATH";

/// Where the loader looks at last, on this machine or another.
const LAST: [&str; 8] = [
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
];

/// The loader's index of libraries.
const CACHE: &str = "/etc/ld.so.cache";

/// Arguments of a wrapper, as `env` or `valgrind`, that may be the program.
const ARGUMENTS_MAX: usize = 16;

/// What the variable must be for a program that would not find Tern's library otherwise.
pub fn library_path(plan: &Plan, app: &App) -> Option<OsString> {
    let own = own_folder()?;
    let set = variable(plan, app, VARIABLE).filter(|folders| !folders.is_empty());
    let place = app.directory.as_ref().map(PathBuf::from).unwrap_or_default();
    let words = app.arguments.iter().take(ARGUMENTS_MAX).map(|word| place.join(word));
    let mut programs = program_file(plan, app).into_iter().chain(words).filter_map(|file| Needs::of(&file));
    let lacks = |needs: Needs| {
        needs.libraries.iter().any(|name| is_lacking(name, &needs.folders, set.as_deref(), &own))
    };
    programs.any(lacks).then(|| joined(set, &own))
}

/// The folder of the libraries that belong to this `mpirun`.
fn own_folder() -> Option<PathBuf> {
    let folder = std::env::current_exe().ok()?.parent()?.parent()?.join("lib");
    folder.join("libmpi_abi.so.1").exists().then_some(folder)
}

/// Whether a library is one of Tern's, and the loader does not find it.
fn is_lacking(name: &str, linked: &[PathBuf], set: Option<&OsStr>, own: &Path) -> bool {
    if Family::of(name) != Some(Family::Standard) || !own.join(name).exists() {
        return false;
    }
    let set = set.into_iter().flat_map(std::env::split_paths);
    let mut folders = linked.iter().cloned().chain(set).chain(LAST.map(PathBuf::from));
    !folders.any(|folder| folder.join(name).exists())
        && !std::fs::read(CACHE).is_ok_and(|cache| has(&cache, name))
}

/// Whether the loader's index has a path that ends in this name and still exists.
fn has(cache: &[u8], name: &str) -> bool {
    let end = format!("/{name}");
    let texts = cache.split(|&byte| byte == 0).filter(|text| text.ends_with(end.as_bytes()));
    texts
        .filter_map(|text| text.iter().position(|&byte| byte == b'/').map(|at| &text[at..]))
        .any(|path| Path::new(OsStr::from_bytes(path)).exists())
}

fn joined(set: Option<OsString>, own: &Path) -> OsString {
    let mut bytes = set.map(|folders| [folders.as_bytes(), b":"].concat()).unwrap_or_default();
    bytes.extend_from_slice(own.as_os_str().as_bytes());
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_names_what_exists() {
        let path = std::env::current_exe().unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let cache = [b"\x01\x02head\0", path.as_os_str().as_bytes(), b"\0/nonexistent/libx.so\0"].concat();
        assert!(has(&cache, name));
        assert!(!has(&cache, "libx.so") && !has(&cache, "head"));
    }

    #[test]
    fn the_own_folder_comes_last() {
        assert_eq!(joined(Some("/a:/b".into()), Path::new("/own")), "/a:/b:/own");
        assert_eq!(joined(None, Path::new("/own")), "/own");
    }

    #[test]
    fn only_a_library_of_the_standard_abi_that_is_nowhere_is_lacking() {
        let own = std::env::temp_dir().join(format!("tern-loader-{}", std::process::id()));
        std::fs::create_dir_all(&own).unwrap();
        for name in ["libmpi_abi.so.1", "libother.so.1"] {
            std::fs::write(own.join(name), "").unwrap();
        }
        let lacking =
            |name: &str, linked: &[PathBuf], set: Option<&OsStr>| is_lacking(name, linked, set, &own);
        let (bare, linked) = ([PathBuf::from("/nonexistent")], [own.clone()]);
        // Where the system has a library of this name, programs find that.
        if !std::fs::read(CACHE).is_ok_and(|cache| has(&cache, "libmpi_abi.so.1")) {
            assert!(lacking("libmpi_abi.so.1", &bare, None));
        }
        assert!(!lacking("libmpi_abi.so.1", &linked, None));
        assert!(!lacking("libmpi_abi.so.1", &bare, Some(own.as_os_str())));
        assert!(!lacking("libother.so.1", &bare, None));
        assert!(!lacking("libmpi_abi.so.7", &bare, None));
        std::fs::remove_dir_all(own).unwrap();
    }
}
