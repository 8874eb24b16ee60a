//! The tree in which this program is installed, and a folder for what it writes meanwhile.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::interrupt;

/// An installed tree.
#[derive(Clone, Debug)]
pub(crate) struct Installation {
    /// Its root.
    pub tree: PathBuf,
}

impl Installation {
    /// The tree of this program.
    pub(crate) fn find() -> Result<Installation, String> {
        let own = env::current_exe().map_err(|error| format!("cannot find my own place: {error}"))?;
        let tree = own.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
        Ok(Installation { tree: tree.into() })
    }

    /// A file of the tree, as in `bin/mpirun`.
    pub(crate) fn file(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.tree.join(name);
        let complaint = || {
            format!(
                "{} is missing: this command runs from an installation (make install, or make stage)",
                path.display()
            )
        };
        if path.is_file() { Ok(path) } else { Err(complaint()) }
    }
}

/// A folder that goes away with this value, or with this program.
#[derive(Debug)]
pub(crate) struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// A new one, under the system's folder for such.
    pub(crate) fn new(name: &str) -> Result<ScratchFolder, String> {
        ScratchFolder::within(&env::temp_dir(), name)
    }

    /// A new one in another folder, which is made if it is not there.
    pub(crate) fn within(folder: &Path, name: &str) -> Result<ScratchFolder, String> {
        let folder = folder.join(format!("{name}-{}", std::process::id()));
        let made = std::path::absolute(&folder).and_then(|folder| {
            fs::create_dir_all(folder.parent().unwrap_or(&folder))?;
            fs::create_dir(&folder)?;
            Ok(folder)
        });
        made.inspect(|folder| interrupt::add_folder(folder.clone()))
            .map(ScratchFolder)
            .map_err(|error| format!("cannot make {}: {error}", folder.display()))
    }

    /// A place in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
        interrupt::remove_folder(&self.0);
    }
}
