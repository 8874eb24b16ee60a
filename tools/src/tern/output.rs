//! Files that commands write when they are through with what takes long.

use std::fs::{self, OpenOptions};
use std::path::Path;

/// Writes a file.
pub(crate) fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| cannot(file, error))
}

/// Whether a file can be written, asked before the work whose result it is to hold. Nothing is changed or left.
pub(crate) fn check(file: &Path) -> Result<(), String> {
    let is_new = !file.exists();
    OpenOptions::new().append(true).create(true).open(file).map_err(|error| cannot(file, error))?;
    if is_new {
        let _ = fs::remove_file(file);
    }
    Ok(())
}

fn cannot(file: &Path, error: std::io::Error) -> String {
    format!("cannot write {}: {error}", file.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_asked_for_and_left_as_it_is() {
        let folder = std::env::temp_dir().join(format!("tern-output-{}", std::process::id()));
        assert!(check(&folder.join("file")).unwrap_err().contains("cannot write"));
        fs::create_dir(&folder).unwrap();
        let file = folder.join("file");
        assert!(check(&file).is_ok() && !file.exists());
        write(&file, "text").unwrap();
        assert!(check(&file).is_ok());
        assert_eq!(fs::read_to_string(&file).unwrap(), "text");
        assert!(check(&folder).is_err(), "it is a folder");
        fs::remove_dir_all(&folder).unwrap();
    }
}
