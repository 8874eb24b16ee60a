//! Where compiled modules are kept: in the installed tree, in the user's cache, or, where there is no home that can be
//! written, among the temporary files.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The list of what a folder must hold, written last.
const LIST: &str = "files";

/// The user's cache (XDG base directories), if there is a home.
pub fn cache() -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    base.map(|base| base.join("tern/fortran"))
}

/// The user's own folder among the temporary files. What somebody else made there is not to be trusted: programs will
/// be linked with it.
pub fn temporary() -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    std::env::temp_dir().join(format!("tern-{user}")).join("fortran")
}

/// Makes the folder of temporary modules; an error if it is, or its parent is, another's or open to others.
pub fn make_temporary() -> Result<PathBuf, String> {
    let folder = temporary();
    DirBuilder::new()
        .mode(0o700)
        .recursive(true)
        .create(&folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    if temporary_is_ours() { Ok(folder) } else { Err(format!("{} is not mine alone", folder.display())) }
}

/// Whether nobody else can have put anything there.
pub fn temporary_is_ours() -> bool {
    let user = rustix::process::geteuid().as_raw();
    let folder = temporary();
    [folder.parent(), Some(&folder)].into_iter().flatten().all(|folder| {
        fs::symlink_metadata(folder)
            .is_ok_and(|data| data.is_dir() && data.uid() == user && data.mode() & 0o022 == 0)
    })
}

/// Writes the list of a folder's files and their lengths. What is listed can be told from what was left half.
pub fn seal(folder: &Path) -> io::Result<()> {
    let mut list = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        list.extend_from_slice(format!("{} ", entry.metadata()?.len()).as_bytes());
        list.extend_from_slice(entry.file_name().as_bytes());
        list.push(b'\n');
    }
    fs::write(folder.join(LIST), list)
}

/// Whether a folder was sealed, and all that it held then can be read and has its length.
pub fn is_whole(folder: &Path) -> bool {
    let Ok(list) = fs::read(folder.join(LIST)) else { return false };
    let mut lines = list.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    !list.is_empty() && lines.all(|line| is_there(folder, line).unwrap_or(false))
}

fn is_there(folder: &Path, line: &[u8]) -> Option<bool> {
    let blank = line.iter().position(|byte| *byte == b' ')?;
    let length: u64 = std::str::from_utf8(&line[..blank]).ok()?.parse().ok()?;
    let file = File::open(folder.join(OsString::from_vec(line[blank + 1..].to_vec()))).ok()?;
    Some(file.metadata().ok()?.len() == length)
}

/// Gives a finished folder its name. Whoever comes second keeps what is there, unless that is broken.
pub fn publish(work: &Path, folder: &Path) -> Result<(), String> {
    let taken = |error: &io::Error| error.kind() != io::ErrorKind::NotFound && folder.exists();
    match fs::rename(work, folder) {
        Ok(()) => return Ok(()),
        Err(error) if !taken(&error) => return Err(format!("cannot write {}: {error}", folder.display())),
        Err(_) if is_whole(folder) => return Ok(()),
        Err(_) => {}
    }
    let broken = work.with_extension(format!("broken{}", std::process::id()));
    fs::rename(folder, &broken)
        .and_then(|()| fs::rename(work, folder))
        .map_err(|error| format!("cannot replace {}, which is broken: {error}", folder.display()))?;
    let _ = fs::remove_dir_all(broken);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sealed folder with two files.
    fn sealed(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tern-folders-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("a.mod"), "module").expect("a file");
        fs::write(folder.join("b.mod"), "").expect("a file");
        seal(&folder).expect("the list");
        folder
    }

    #[test]
    fn what_lacks_a_file_or_a_part_of_one_is_not_whole() {
        let folder = sealed("whole");
        assert!(is_whole(&folder));
        fs::write(folder.join("a.mod"), "mod").expect("a file");
        assert!(!is_whole(&folder), "a file is cut");
        fs::remove_file(folder.join("a.mod")).expect("a file");
        assert!(!is_whole(&folder), "a file is gone");
        fs::remove_dir_all(&folder).expect("the folder");
        assert!(!is_whole(&folder), "all is gone");
    }

    #[test]
    fn a_broken_folder_is_replaced_and_a_whole_one_kept() {
        let (folder, again, third) = (sealed("first"), sealed("second"), sealed("third"));
        fs::write(folder.join("kept"), "").expect("a file");
        publish(&again, &folder).expect("the first is as good");
        assert!(folder.join("kept").exists() && again.exists());
        fs::remove_file(folder.join("b.mod")).expect("a file");
        publish(&again, &folder).expect("the first is broken");
        assert!(is_whole(&folder) && !folder.join("kept").exists() && !again.exists());
        assert!(publish(&third, &folder.join("nowhere/at/all")).is_err());
        for folder in [folder, third] {
            fs::remove_dir_all(folder).expect("a folder");
        }
    }
}
