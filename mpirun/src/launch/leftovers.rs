//! What a rank that was killed leaves of what its libraries had made.

use std::fs::{remove_file, symlink_metadata};
use std::os::unix::fs::MetadataExt;

/// Removes the file of a process that has ended or been killed by which others reached it over libfabric's provider shm: some MiB of the
/// machine's memory. The provider names it after the process, and removes it where a process ends by itself.
pub(crate) fn remove(pid: u32) {
    let path = format!("/dev/shm/{pid}:0:0");
    // Who had the number before may have been somebody else's.
    let own = rustix::process::geteuid().as_raw();
    if symlink_metadata(&path).is_ok_and(|file| file.is_file() && file.uid() == own) {
        let _ = remove_file(path);
    }
}
