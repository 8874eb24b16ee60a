//! Where compiled modules are kept: in the installed tree, in the user's cache, or, where there is no home that can be
//! written, among the temporary files.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// What a folder's extension begins with, before a number, while it is being filled.
const UNDER_WAY: &str = "new";
/// The same of one that was found broken and has made room.
const BROKEN: &str = "broken";

/// Where the file system has no locks, a folder that was begun so long ago is nobody's any more: to fill it takes seconds.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// The list of what a folder must hold, written last.
const LIST: &str = "files";

/// The user's cache (XDG base directories), if there is a home.
pub(crate) fn cache() -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    base.map(|base| base.join("tern/fortran"))
}

/// The user's own folder among the temporary files. What somebody else made there is not to be trusted: programs will
/// be linked with it.
pub(crate) fn temporary() -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    std::env::temp_dir().join(format!("tern-{user}")).join("fortran")
}

/// Makes the folder of temporary modules; an error if it is, or its parent is, another's or open to others.
pub(crate) fn make_temporary() -> Result<PathBuf, String> {
    let folder = temporary();
    DirBuilder::new()
        .mode(0o700)
        .recursive(true)
        .create(&folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    if temporary_is_ours() { Ok(folder) } else { Err(format!("{} is not mine alone", folder.display())) }
}

/// Whether nobody else can have put anything there.
pub(crate) fn temporary_is_ours() -> bool {
    let user = rustix::process::geteuid().as_raw();
    let folder = temporary();
    [folder.parent(), Some(&folder)].into_iter().flatten().all(|folder| {
        fs::symlink_metadata(folder)
            .is_ok_and(|data| data.is_dir() && data.uid() == user && data.mode() & 0o022 == 0)
    })
}

/// A folder that is being filled. It is locked, so that others see that its maker lives: the kernel lets go of the lock
/// however that ends. What has not been published goes away with this.
#[derive(Debug)]
pub(crate) struct ModuleFolder {
    path: PathBuf,
    lock: File,
}

impl ModuleFolder {
    /// Begins an empty folder beside `folder`, which it is to become, and removes what makers have left there that were killed.
    pub(crate) fn begin(folder: &Path) -> io::Result<ModuleFolder> {
        if let Some(place) = folder.parent() {
            fs::create_dir_all(place)?;
            sweep(place);
        }
        // A process of the same number may be at work on another host.
        for number in std::process::id().. {
            let path = folder.with_extension(format!("{UNDER_WAY}{number}"));
            match fs::create_dir(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            if let Some(lock) = claim(&path)? {
                return Ok(ModuleFolder { path, lock });
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ModuleFolder {
    fn drop(&mut self) {
        if is_at(&self.lock, &self.path) {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Locks a folder that was just made; `None` if somebody was faster who sweeps, and took it for an abandoned one.
fn claim(path: &Path) -> io::Result<Option<File>> {
    let folder = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let is_free = flock(&folder, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK);
    Ok((is_free && is_at(&folder, path)).then_some(folder))
}

/// Removes folders that nobody fills any more.
fn sweep(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let path = entry.path();
        // The lock is held until the folder is gone, so that nobody takes it for his.
        if is_temporary(&path)
            && let Some(_lock) = abandoned(&path)
        {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Whether the name is that of a folder before it is published, or after it was found broken.
fn is_temporary(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().as_bytes();
    let number = [UNDER_WAY, BROKEN].into_iter().find_map(|word| extension.strip_prefix(word.as_bytes()));
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

/// A folder whose maker has gone, with its lock.
fn abandoned(path: &Path) -> Option<File> {
    let folder = File::open(path).ok()?;
    let is_old = || folder.metadata().ok()?.modified().ok()?.elapsed().ok().map(|age| age > ABANDONED_AFTER);
    let is_nobodys = match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => true,
        Err(Errno::WOULDBLOCK) => false,
        Err(_) => is_old().unwrap_or(false),
    };
    (is_nobodys && is_at(&folder, path)).then_some(folder)
}

/// Whether what was opened is what has this name, still.
fn is_at(folder: &File, path: &Path) -> bool {
    let same =
        |one: &fs::Metadata, other: &fs::Metadata| (one.dev(), one.ino()) == (other.dev(), other.ino());
    let (opened, there) = (folder.metadata(), fs::symlink_metadata(path));
    opened.is_ok_and(|opened| there.is_ok_and(|there| same(&opened, &there)))
}

/// Writes the list of a folder's files and their lengths. What is listed can be told from what was left half.
pub(crate) fn seal(folder: &Path) -> io::Result<()> {
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
pub(crate) fn is_whole(folder: &Path) -> bool {
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
pub(crate) fn publish(work: &Path, folder: &Path) -> Result<(), String> {
    let taken = |error: &io::Error| error.kind() != io::ErrorKind::NotFound && folder.exists();
    match fs::rename(work, folder) {
        Ok(()) => return Ok(()),
        Err(error) if !taken(&error) => return Err(format!("cannot write {}: {error}", folder.display())),
        Err(_) if is_whole(folder) => return Ok(()),
        Err(_) => {}
    }
    let broken = work.with_extension(format!("{BROKEN}{}", std::process::id()));
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

    /// A place for folders, of this test alone.
    fn place(name: &str) -> PathBuf {
        let place = std::env::temp_dir().join(format!("tern-folders-{}-{name}", std::process::id()));
        fs::create_dir_all(&place).expect("a folder");
        place
    }

    #[test]
    fn what_killed_makers_left_is_removed_and_what_others_fill_stays() {
        let place = place("swept");
        for name in ["a-1.new1", "a-2.new999999", "a-1.broken7", "a-1", "a-1.newer", "a-1.new", "b.new1-3"] {
            fs::create_dir(place.join(name)).expect("a folder");
            fs::write(place.join(name).join("x.mod"), "").expect("a file");
        }
        std::os::unix::fs::symlink("a-1", place.join("link.new1")).expect("a link");
        let other = ModuleFolder::begin(&place.join("a-3")).expect("a folder");
        fs::write(other.path().join("types.mod"), "").expect("a file");
        let mine = ModuleFolder::begin(&place.join("a-3")).expect("a folder");
        assert!(other.path() != mine.path() && other.path().join("types.mod").exists());
        let mut left: Vec<_> = fs::read_dir(&place).expect("the place").flatten().collect();
        left.sort_by_key(fs::DirEntry::file_name);
        let mut expected =
            ["a-1", "a-1.new", "a-1.newer", "b.new1-3", "link.new1"].map(|name| place.join(name)).to_vec();
        expected.extend([other.path().to_owned(), mine.path().to_owned()]);
        expected.sort();
        assert_eq!(left.iter().map(fs::DirEntry::path).collect::<Vec<_>>(), expected);
        let paths = [other.path().to_owned(), mine.path().to_owned()];
        drop((other, mine));
        assert!(!paths.iter().any(|path| path.exists()));
        fs::remove_dir_all(place).expect("the place");
    }

    #[test]
    fn what_was_published_stays_and_its_old_name_is_anybodys() {
        let place = place("published");
        let work = ModuleFolder::begin(&place.join("a-1")).expect("a folder");
        seal(work.path()).expect("the list");
        publish(work.path(), &place.join("a-1")).expect("there is none");
        // Of a process of the same number elsewhere.
        fs::create_dir(work.path()).expect("the name is free");
        let path = work.path().to_owned();
        drop(work);
        assert!(path.exists() && place.join("a-1").exists());
        fs::remove_dir_all(place).expect("the place");
    }

    /// However makers and sweepers meet, each has a folder of its own as long as it wants.
    #[test]
    fn many_at_once_do_not_remove_each_others_folders() {
        let place = place("many");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let work = ModuleFolder::begin(&place.join("a-1")).expect("a folder");
                        let file = work.path().join("types.mod");
                        fs::write(&file, "").expect("the folder is there");
                        assert!(file.exists());
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(&place).expect("the place").count(), 0);
        fs::remove_dir_all(place).expect("the place");
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
