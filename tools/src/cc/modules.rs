//! Fortran's modules, compiled for the compiler that will read them.
//!
//! Each compiler has module files of its own, and each version of gfortran refuses those of others. So the installed
//! tree holds the modules' sources, and a folder of compiled modules is named by the compiler: its path, size and date.
//! Installation makes the folder for the compiler it finds; for any other compiler, `mpifort` makes one in the user's
//! cache before it compiles.
//!
//! The same compiler has several names, and its date changes when it is installed again. So a folder also holds what its
//! compiler says it is, and a compiler that says the same takes the installed modules.

use std::collections::hash_map::DefaultHasher;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compiler::{Compiler, in_path};
use crate::flags::InstalledTree;
use crate::folders::{self, ModuleFolder};

/// The library of the modules' own procedures (`libmpi_modules.a`).
pub(crate) const ARCHIVE: &str = "mpi_modules";

/// The sources, those that others use first.
const SOURCES: [&str; 4] = ["types.f90", "constants.f90", "mpi_f08.f90", "mpi.f90"];

/// In a folder of modules: what their compiler says it is.
const IDENTITY: &str = "compiler";

/// The folder of the modules for this compiler: where they are, or else where they will be.
pub(crate) fn folder(tree: &InstalledTree, compiler: &Compiler) -> PathBuf {
    let name = folder_name(tree, compiler);
    let later = |name| folders::cache().unwrap_or_else(folders::temporary).join(name);
    made(tree, compiler, &name).unwrap_or_else(|| later(name))
}

/// The folder that holds all modules for a compiler whose folder has this name. Those of the installation are preferred: build
/// systems write down what they are told, and a cache may go away.
fn made(tree: &InstalledTree, compiler: &Compiler, name: &str) -> Option<PathBuf> {
    let installed = tree.installed_modules();
    let by_name = |place: PathBuf| Some(place.join(name)).filter(|folder| folders::is_whole(folder));
    if let Some(folder) = by_name(installed.clone()) {
        return Some(folder);
    }
    let temporary = Some(folders::temporary()).filter(|_| folders::temporary_is_ours());
    let own = [folders::cache(), temporary].into_iter().flatten().find_map(by_name);
    // Nobody asks a compiler whose answer is written down.
    let known = own.as_ref().and_then(|folder| fs::read_to_string(folder.join(IDENTITY)).ok());
    installed_as(&installed, || known.unwrap_or_else(|| identity(tree, compiler))).or(own)
}

/// The installed folder of a compiler that says the same.
fn installed_as(installed: &Path, identity: impl FnOnce() -> String) -> Option<PathBuf> {
    let folders: Vec<PathBuf> = fs::read_dir(installed).ok()?.flatten().map(|entry| entry.path()).collect();
    let folders: Vec<PathBuf> = folders.into_iter().filter(|folder| folders::is_whole(folder)).collect();
    if folders.is_empty() {
        return None;
    }
    let wanted = identity();
    let is_it = |folder: &PathBuf| fs::read_to_string(folder.join(IDENTITY)).is_ok_and(|here| here == wanted);
    folders.into_iter().find(is_it)
}

/// What the compiler says it is and what it compiles for, its options, and the sources: all that modules depend on.
fn identity(tree: &InstalledTree, compiler: &Compiler) -> String {
    let mut hash = DefaultHasher::new();
    hash_sources(tree, &mut hash);
    let options: Vec<_> = compiler.words.iter().filter(|word| word.as_bytes().starts_with(b"-")).collect();
    let said = ["--version", "-dumpmachine"].map(|question| answer(compiler, question));
    let said = said.map(|answer| String::from_utf8_lossy(&answer).into_owned()).concat();
    format!("{said}{options:?}\nsources {:016x}\n", hash.finish())
}

/// Compiles the modules for this compiler unless that has been done.
pub(crate) fn ensure(tree: &InstalledTree, compiler: &Compiler) -> Result<(), String> {
    let name = folder_name(tree, compiler);
    if made(tree, compiler, &name).is_some() {
        return Ok(());
    }
    make(tree, compiler, &place_for_new()?.join(name))
}

/// The user's cache, or a temporary folder where that cannot be written.
fn place_for_new() -> Result<PathBuf, String> {
    let cache = folders::cache().ok_or("there is no HOME".to_string()).and_then(|cache| {
        let can_write = fs::create_dir_all(&cache)
            .and_then(|()| Ok(rustix::fs::access(&cache, rustix::fs::Access::WRITE_OK)?));
        can_write
            .map(|()| cache.clone())
            .map_err(|error| format!("cannot write {}: {error}", cache.display()))
    });
    cache.or_else(|reason| {
        folders::make_temporary().map_err(|error| {
            format!(
                "no place for Fortran's modules: {reason}, and {error}; set XDG_CACHE_HOME to a folder \
                 that you can write"
            )
        })
    })
}

/// Compiles the modules into the installed tree, unless they are there.
pub(crate) fn install(tree: &InstalledTree, compiler: &Compiler) -> Result<(), String> {
    let all = tree.installed_modules();
    let folder = all.join(folder_name(tree, compiler));
    if folders::is_whole(&folder) {
        return Ok(());
    }
    // Those of an older compiler, or of older sources, are of no use any more.
    let _ = fs::remove_dir_all(&all);
    make(tree, compiler, &folder)
}

/// The compiler's name, links followed, and a number that changes with the compiler and with the sources.
fn folder_name(tree: &InstalledTree, compiler: &Compiler) -> String {
    let mut hash = DefaultHasher::new();
    let mut program = None;
    for word in &compiler.words {
        let Some((path, metadata)) = in_path(word) else {
            word.hash(&mut hash);
            continue;
        };
        path.hash(&mut hash);
        // Seconds: what was unpacked from an image has lost the rest.
        (metadata.size(), metadata.mtime()).hash(&mut hash);
        if speaks_for_another(word, &path) {
            answer(compiler, "--version").hash(&mut hash);
        }
        program = program.or(path.file_name().map(OsStr::to_os_string));
    }
    hash_sources(tree, &mut hash);
    let program = program.or_else(|| Some(Path::new(compiler.words.first()?).file_name()?.into()));
    format!("{}-{:016x}", program.unwrap_or_default().to_string_lossy(), hash.finish())
}

fn hash_sources(tree: &InstalledTree, hash: &mut DefaultHasher) {
    for source in SOURCES {
        fs::read(tree.module_sources().join(source)).ok().hash(hash);
    }
}

/// Whether a program is a script, or a link to a program of another name (as of ccache): then the compiler that it
/// starts may change while it does not.
fn speaks_for_another(called: &OsStr, path: &Path) -> bool {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut start = [0; 2];
    let is_script =
        File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"#!";
    is_script || !name(path).contains(&name(Path::new(called)))
}

/// What the compiler says about itself.
fn answer(compiler: &Compiler, question: &str) -> Vec<u8> {
    let mut command = Command::new(&compiler.words[0]);
    command.args(&compiler.words[1..]).arg(question);
    command.output().map(|output| output.stdout).unwrap_or_default()
}

/// Compiles in a folder of its own, which then gets the name that others look for: two at once do no harm.
fn make(tree: &InstalledTree, compiler: &Compiler, folder: &Path) -> Result<(), String> {
    let sources: Vec<PathBuf> = SOURCES.iter().map(|name| tree.module_sources().join(name)).collect();
    let cannot = |error| format!("cannot make {} for Fortran's modules: {error}", folder.display());
    let work = ModuleFolder::begin(folder).map_err(cannot)?;
    compile(compiler, &sources, work.path())?;
    archive(work.path())?;
    fs::write(work.path().join(IDENTITY), identity(tree, compiler)).map_err(cannot)?;
    folders::seal(work.path()).map_err(cannot)?;
    folders::publish(work.path(), folder)
}

fn compile(compiler: &Compiler, sources: &[PathBuf], work: &Path) -> Result<(), String> {
    let mut command = Command::new(&compiler.words[0]);
    command.args(&compiler.words[1..]).args(["-c", "-O2", "-fPIC"]).args(sources).current_dir(work);
    run(command, "compile Fortran's modules").map_err(|error| {
        format!(
            "{error}; the compiler is {:?} ({}): set {} or give {}=COMPILER",
            compiler.words[0],
            compiler.origin,
            compiler.language.variable(),
            compiler.language.option()
        )
    })
}

fn archive(work: &Path) -> Result<(), String> {
    let objects: Vec<OsString> =
        SOURCES.iter().map(|name| Path::new(name).with_extension("o").into()).collect();
    let mut command = Command::new("ar");
    command.arg("rcs").arg(format!("lib{ARCHIVE}.a")).args(objects).current_dir(work);
    run(command, "archive Fortran's modules")
}

fn run(mut command: Command, what: &str) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("cannot {what}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("cannot {what}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
