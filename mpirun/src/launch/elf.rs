//! What a program asks of the dynamic loader: the libraries that it needs, and the folders of its own for them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_STRSZ, DT_STRTAB, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::read::{ReadCache, ReadRef};

/// What stands in the dynamic section of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Names of libraries.
    pub libraries: Vec<String>,
    /// Folders in which the loader looks before the variable `LD_LIBRARY_PATH`, or after it; `$ORIGIN` is filled in.
    pub folders: Vec<PathBuf>,
    /// Whether these come before the variable.
    pub is_asked_first: bool,
}

thread_local! {
    /// Programs that have been read: each is asked for several times before the job starts.
    static KNOWN: RefCell<HashMap<PathBuf, Option<Needs>>> = RefCell::default();
}

impl Needs {
    /// What a program needs; `None` if it is no program of 64 bits that the loader links.
    pub(crate) fn of(path: &Path) -> Option<Needs> {
        if let Some(known) = KNOWN.with_borrow(|known| known.get(path).cloned()) {
            return known;
        }
        let needs = Needs::read(path);
        KNOWN.with_borrow_mut(|known| known.insert(path.to_owned(), needs.clone()));
        needs
    }

    fn read(path: &Path) -> Option<Needs> {
        // To open a named pipe would wait for whoever writes to it.
        if !path.metadata().is_ok_and(|data| data.is_file()) {
            return None;
        }
        let origin = path.canonicalize().ok()?.parent()?.to_owned();
        let file = ReadCache::new(File::open(path).ok()?);
        let entries = dynamic(&file)?;
        let words = |tag: u32| entries.iter().filter(move |(found, _)| *found == tag).map(|(_, word)| word);
        // The loader heeds the older entry only where the newer is missing.
        let is_asked_first = words(DT_RUNPATH).next().is_none();
        let tag = if is_asked_first { DT_RPATH } else { DT_RUNPATH };
        let folders = words(tag).flat_map(|list| list.split(':')).filter(|folder| !folder.is_empty());
        Some(Needs {
            libraries: words(DT_NEEDED).cloned().collect(),
            folders: folders.map(|folder| expand(folder, &origin)).collect(),
            is_asked_first,
        })
    }
}

/// The loader's word for the folder of the program itself.
fn expand(folder: &str, origin: &Path) -> PathBuf {
    let origin = origin.to_string_lossy();
    folder.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin).into()
}

/// The entries of the dynamic section that are texts, each with its tag.
fn dynamic<'data>(file: impl ReadRef<'data>) -> Option<Vec<(u32, String)>> {
    let header = FileHeader64::<Endianness>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, file).ok()?;
    let entries = segments.iter().find_map(|segment| segment.dynamic(endian, file).ok().flatten())?;
    let value =
        |tag| entries.iter().find(|entry| entry.tag32(endian) == Some(tag)).map(|entry| entry.d_val(endian));
    let (address, length) = (value(DT_STRTAB)?, value(DT_STRSZ)?);
    let texts = segments
        .iter()
        .find_map(|segment| segment.data_range(endian, file, address, length).ok().flatten())?;
    let text = |at: u64| {
        let rest = texts.get(usize::try_from(at).ok()?..)?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        Some(String::from_utf8_lossy(&rest[..end]).into_owned())
    };
    let is_text = |tag: &u32| [DT_NEEDED, DT_RPATH, DT_RUNPATH].contains(tag);
    let tagged =
        entries.iter().filter_map(|entry| Some((entry.tag32(endian).filter(is_text)?, entry.d_val(endian))));
    Some(tagged.filter_map(|(tag, at)| Some((tag, text(at)?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_name_their_libraries_and_other_files_none() {
        let own = Needs::of(&std::env::current_exe().unwrap()).unwrap();
        assert!(own.libraries.iter().any(|name| name.starts_with("libc.so")), "{own:?}");
        assert_eq!(Needs::of(Path::new("/etc/passwd")), None);
        assert_eq!(Needs::of(Path::new("/nonexistent")), None);
    }

    #[test]
    fn the_folder_of_the_program_is_filled_in() {
        assert_eq!(expand("$ORIGIN/../lib", Path::new("/a/b")), Path::new("/a/b/../lib"));
        assert_eq!(expand("${ORIGIN}", Path::new("/a/b")), Path::new("/a/b"));
    }
}
