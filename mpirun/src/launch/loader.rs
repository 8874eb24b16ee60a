//! Tern's libraries for programs that were linked without the folder in which they lie, or with another MPI.
//!
//! The loader asks `LD_LIBRARY_PATH` before a program's own `DT_RUNPATH`. So the folder of the standard library is put there,
//! as the last one, only for a program that finds a library of Tern's nowhere. The folder for programs of another MPI is put
//! there as the first one for such programs.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::cli::standard::find_program;
use crate::launch::abi::{self, ProgramAbi};
use crate::launch::elf::Needs;
use crate::launch::family::Abi;
use crate::launch::family::Family;
use crate::launch::program::{program_file, variable};
use crate::plan::{App, JobPlan};

/// The variable with folders that the loader asks first.
pub(crate) const VARIABLE: &str = "LD_LIBRARY_PATH";

/// Where the loader looks at last, on this node or another.
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

/// What the variable must be for a program, if it must be something else than it is.
pub(crate) fn library_path(plan: &JobPlan, app: &App) -> Option<OsString> {
    let own = own_folder()?;
    let set = variable(plan, app, VARIABLE).filter(|folders| !folders.is_empty());
    let seen = seen(plan, app);
    let wanted = match (app.abi, &seen.library) {
        (Abi::Auto, Some((_, family))) => Abi::from(*family),
        (Abi::Auto, None) => {
            let program = program_file(plan, app);
            return Some(with_all(unversioned(program.as_deref(), set.as_deref()), set, &own));
        }
        (given, _) => given,
    };
    let first = wanted.folder().map(|name| own.join(name)).filter(|folder| folder.is_dir());
    if let Some(first) = first {
        return Some(joined(Some(first.into_os_string()), set.into_iter().map(PathBuf::from)));
    }
    lacks(plan, app, set.as_deref(), &own).then(|| joined(set, [own]))
}

/// With the folders of all ABIs first. Which library will be loaded cannot be seen: the program may be an interpreter, or start
/// another, as a shell and `perl` do. Only Tern's libraries work here. The folder for programs of `first` is asked before the other.
fn with_all(first: Family, set: Option<OsString>, own: &Path) -> OsString {
    let order =
        if first == Family::OpenMpi { [Abi::OpenMpi, Abi::Mpich] } else { [Abi::Mpich, Abi::OpenMpi] };
    let folders = order.map(|abi| own.join(abi.folder().unwrap_or_default()));
    let set = set.into_iter().map(PathBuf::from).chain([own.to_owned()]);
    joined(None, folders.into_iter().filter(|folder| folder.is_dir()).chain(set))
}

/// Whose library a program means that loads `libmpi.so` without a version, as Python's modules do: the one that it would find if
/// Tern were not here.
fn unversioned(program: Option<&Path>, set: Option<&OsStr>) -> Family {
    // An interpreter has its own libraries beside its folder, in an environment of conda's for example.
    let prefix = program.and_then(|program| Some(program.parent()?.parent()?.join("lib")));
    let linked: Vec<PathBuf> = prefix.into_iter().collect();
    let found = find("libmpi.so", &linked, set).and_then(|file| file.canonicalize().ok());
    let family = found.as_deref().and_then(Path::file_name).and_then(OsStr::to_str).and_then(Family::of);
    family.unwrap_or_else(|| {
        let has = |name| find(name, &linked, set).is_some();
        if has("libmpi.so.40") && !has("libmpi.so.12") { Family::OpenMpi } else { Family::Mpich }
    })
}

/// What is known of a program's libraries.
pub(crate) fn seen(plan: &JobPlan, app: &App) -> ProgramAbi {
    abi::look(&files(plan, app), variable(plan, app, VARIABLE).as_deref())
}

/// Why the loader will not start a program: it was compiled for a version of MPI that is nowhere here.
pub(crate) fn unstartable(plan: &JobPlan, app: &App) -> Option<String> {
    // Whoever preloads a library may do so in place of the one that is nowhere.
    if app.abi == Abi::Standard || variable(plan, app, "LD_PRELOAD").is_some_and(|list| !list.is_empty()) {
        return None;
    }
    let program = program_file(plan, app)?;
    let set = variable(plan, app, VARIABLE);
    let seen = abi::look(std::slice::from_ref(&program), set.as_deref());
    Some(abi::nowhere_words(&program, &abi::nowhere(&program, &seen, set.as_deref())?))
}

/// The program, and arguments that may be one.
fn files(plan: &JobPlan, app: &App) -> Vec<PathBuf> {
    let place = app.directory.as_ref().map(PathBuf::from).unwrap_or_default();
    let path = app.path.clone().or_else(|| variable(plan, app, "PATH"));
    let words = app.arguments.iter().take(ARGUMENTS_MAX);
    program_file(plan, app)
        .into_iter()
        .chain(words.flat_map(|word| meant(word, &place, path.as_deref())))
        .collect()
}

/// The files that an argument may mean: one in the folder of the program, or a program in `PATH`, as `env` and `timeout` find it.
fn meant(word: &OsStr, place: &Path, path: Option<&OsStr>) -> Vec<PathBuf> {
    let mut files = vec![place.join(word)];
    // An empty word would find the folders themselves.
    if !word.is_empty() && !word.as_bytes().contains(&b'/') {
        files.extend(path.and_then(|path| find_program(word, path)));
    }
    files
}

/// Whether a program lacks a library of the standard ABI.
fn lacks(plan: &JobPlan, app: &App, set: Option<&OsStr>, own: &Path) -> bool {
    let mut programs = files(plan, app).into_iter().filter_map(|file| Needs::of(&file));
    programs.any(|needs| needs.libraries.iter().any(|name| is_lacking(name, &needs.folders, set, own)))
}

/// The folder of the libraries that belong to this `mpirun`.
pub(crate) fn own_folder() -> Option<PathBuf> {
    let folder = std::env::current_exe().ok()?.parent()?.parent()?.join("lib");
    folder.join("libmpi_abi.so.1").exists().then_some(folder)
}

/// The folder of those for programs of another ABI.
pub fn folder_of(abi: Abi) -> Option<PathBuf> {
    Some(own_folder()?.join(abi.folder()?)).filter(|folder| folder.is_dir())
}

/// Tern's own file of a library of MPI, if it has one.
pub(crate) fn own_library(name: &str) -> Option<PathBuf> {
    let folder = folder_of(Abi::from(Family::of(name)?)).or_else(own_folder)?;
    Some(folder.join(name)).filter(|file| file.exists())
}

/// Whether a library is one of Tern's, and the loader does not find it.
fn is_lacking(name: &str, linked: &[PathBuf], set: Option<&OsStr>, own: &Path) -> bool {
    Family::of(name) == Some(Family::Standard) && own.join(name).exists() && find(name, linked, set).is_none()
}

/// Where the loader finds a library: folders of the program's, those of the variable, the system's.
pub(crate) fn find(name: &str, linked: &[PathBuf], set: Option<&OsStr>) -> Option<PathBuf> {
    let set = set.into_iter().flat_map(std::env::split_paths);
    let folders = linked.iter().cloned().chain(set).chain(LAST.map(PathBuf::from));
    let mut files = folders.map(|folder| folder.join(name));
    files.find(|file| file.exists()).or_else(|| indexed(&std::fs::read(CACHE).ok()?, name))
}

/// The path in the loader's index that ends in this name and still exists.
fn indexed(cache: &[u8], name: &str) -> Option<PathBuf> {
    let end = format!("/{name}");
    let texts = cache.split(|&byte| byte == 0).filter(|text| text.ends_with(end.as_bytes()));
    texts
        .filter_map(|text| text.iter().position(|&byte| byte == b'/').map(|at| &text[at..]))
        .map(|path| PathBuf::from(OsStr::from_bytes(path)))
        .find(|path| path.exists())
}

/// Folders in the form of the variable.
fn joined(first: Option<OsString>, others: impl IntoIterator<Item = PathBuf>) -> OsString {
    let mut bytes = first.map(OsString::into_vec).unwrap_or_default();
    for folder in others {
        if !bytes.is_empty() {
            bytes.push(b':');
        }
        bytes.extend_from_slice(folder.as_os_str().as_bytes());
    }
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
        assert_eq!(indexed(&cache, name), Some(path.clone()));
        assert!(indexed(&cache, "libx.so").is_none() && indexed(&cache, "head").is_none());
    }

    #[test]
    fn an_argument_may_be_a_program_in_the_path() {
        let place = Path::new("/place");
        let path = Some(OsStr::new("/nonexistent:/bin"));
        let files = meant(OsStr::new("sh"), place, path);
        assert_eq!(files, [Path::new("/place/sh"), Path::new("/bin/sh")]);
        assert_eq!(meant(OsStr::new("./sh"), place, path), [Path::new("/place/./sh")]);
        assert_eq!(meant(OsStr::new("-c"), place, path), [Path::new("/place/-c")]);
        assert_eq!(meant(OsStr::new(""), place, path).len(), 1);
    }

    #[test]
    fn the_own_folder_comes_last() {
        assert_eq!(joined(Some("/a:/b".into()), [PathBuf::from("/own")]), "/a:/b:/own");
        assert_eq!(joined(None, [PathBuf::from("/own")]), "/own");
    }

    #[test]
    fn a_library_without_a_version_is_that_of_the_system() {
        let home = std::env::temp_dir().join(format!("tern-unversioned-{}", std::process::id()));
        for name in ["bin", "lib", "own/mpich", "own/openmpi"] {
            std::fs::create_dir_all(home.join(name)).unwrap();
        }
        let (program, library) = (home.join("bin/python3"), home.join("lib/libmpi.so"));
        for (file, family, first) in
            [("libmpi.so.40.30.4", Family::OpenMpi, "openmpi"), ("libmpi.so.12.2.4", Family::Mpich, "mpich")]
        {
            std::fs::write(home.join("lib").join(file), "").unwrap();
            std::os::unix::fs::symlink(file, &library).unwrap();
            assert_eq!(unversioned(Some(&program), None), family);
            assert_eq!(unversioned(None, Some(home.join("lib").as_os_str())), family);
            let folders = with_all(family, Some("/set".into()), &home.join("own"));
            let folders: Vec<_> = std::env::split_paths(&folders).collect();
            assert_eq!((folders.len(), &folders[0]), (4, &home.join("own").join(first)));
            std::fs::remove_file(&library).unwrap();
        }
        std::fs::remove_dir_all(home).unwrap();
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
        if !std::fs::read(CACHE).is_ok_and(|cache| indexed(&cache, "libmpi_abi.so.1").is_some()) {
            assert!(lacking("libmpi_abi.so.1", &bare, None));
        }
        assert!(!lacking("libmpi_abi.so.1", &linked, None));
        assert!(!lacking("libmpi_abi.so.1", &bare, Some(own.as_os_str())));
        assert!(!lacking("libother.so.1", &bare, None));
        assert!(!lacking("libmpi_abi.so.7", &bare, None));
        std::fs::remove_dir_all(own).unwrap();
    }
}
