//! Names of services between the jobs of one user: a directory that only this user can read, with a file for each name. A name whose
//! owner has gone is nobody's.
//!
//! Each host has a directory of its own, unless [`VARIABLE`] names one that several hosts share. Whether the owner lives is known on its
//! own host only. On others a name counts until its `mpirun` takes it back.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::getuid;

use crate::pmi::{escape, unescape};
use crate::procfs::ProcessStat;

/// Names the directory, on a file system that hosts share.
pub const VARIABLE: &str = "TERN_NAMES";

/// This process has published a name.
static PUBLISHED: AtomicBool = AtomicBool::new(false);

const HEAD: &str = "tern name 2";

/// Makes a port known, as long as a process lives. An error if somebody else's has the name.
pub fn publish(service: &str, port: &str, owner: u32) -> io::Result<()> {
    publish_in(&directory()?, service, port, owner)?;
    PUBLISHED.store(true, Ordering::Relaxed);
    Ok(())
}

/// Takes a name back.
pub fn unpublish(service: &str, port: &str) -> io::Result<()> {
    unpublish_in(&directory()?, service, port)
}

/// The port of a name.
pub fn lookup(service: &str) -> io::Result<Option<String>> {
    Ok(read(&file(&directory()?, service), service).map(|entry| entry.port))
}

/// Names that this process has published, and not taken back, are gone: its job ends.
pub fn forget_own() {
    if PUBLISHED.swap(false, Ordering::Relaxed)
        && let Ok(directory) = directory()
    {
        forget_in(&directory, std::process::id());
    }
}

fn forget_in(directory: &Path, owner: u32) {
    let Ok(files) = fs::read_dir(directory) else { return };
    for path in files.flatten().map(|file| file.path()) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        if Publisher::of(&text).is_some_and(|found| found.process == owner && found.is_of(&host())) {
            let _ = fs::remove_file(path);
        }
    }
}

fn publish_in(directory: &Path, service: &str, port: &str, owner: u32) -> io::Result<()> {
    let path = file(directory, service);
    if let Some(PublishedName { owner, .. }) = read(&path, service) {
        let text = match owner.is_of(&host()) {
            true => format!("process {} has published it already", owner.process),
            false => format!(
                "process {} of another host has published it already; if that host has failed, remove {}",
                owner.process,
                path.display()
            ),
        };
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
    }
    let fresh = directory.join(format!(".{}-{}-{}", host(), std::process::id(), escape(service).len()));
    let mut written = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    let started = started(owner).ok_or(io::ErrorKind::NotFound)?;
    let host = host();
    write!(written, "{HEAD}\n{owner} {started} {host}\n{}\n{}\n", escape(service), escape(port))?;
    fs::rename(fresh, path)
}

fn unpublish_in(directory: &Path, service: &str, port: &str) -> io::Result<()> {
    let path = file(directory, service);
    match read(&path, service) {
        Some(entry) if entry.port == port => fs::remove_file(path),
        Some(_) => Err(io::Error::other("it is published with another port")),
        None => Err(io::Error::new(io::ErrorKind::NotFound, "it is not published")),
    }
}

struct PublishedName {
    owner: Publisher,
    port: String,
}

/// The process that has published a name.
struct Publisher {
    process: u32,
    /// When it has begun.
    began: String,
    /// The run of a host's kernel.
    host: String,
}

impl Publisher {
    /// From the text of a file.
    fn of(text: &str) -> Option<Publisher> {
        let mut lines = text.lines();
        if lines.next()? != HEAD {
            return None;
        }
        let mut words = lines.next()?.splitn(3, ' ').map(str::to_owned);
        Some(Publisher { process: words.next()?.parse().ok()?, began: words.next()?, host: words.next()? })
    }

    fn is_of(&self, host: &str) -> bool {
        self.host == host
    }

    /// Whether it lives, as far as can be known on a host.
    fn lives(&self, here: &str) -> bool {
        !self.is_of(here) || started(self.process).is_some_and(|began| began.to_string() == self.began)
    }
}

/// This host and this run of its kernel.
fn host() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.ok().filter(|id| !id.trim().is_empty()).map_or_else(|| "unknown".into(), |id| id.trim().to_owned())
}

/// What a file says, if its owner lives.
fn read(path: &Path, service: &str) -> Option<PublishedName> {
    let text = fs::read_to_string(path).ok()?;
    let owner = Publisher::of(&text)?;
    let mut lines = text.lines().skip(2);
    let named = unescape(lines.next()?)?;
    let port = unescape(lines.next()?)?;
    (named == service && owner.lives(&host())).then_some(PublishedName { owner, port })
}

/// When a process has begun, in the kernel's ticks: another one with its number began at another time.
fn started(process: u32) -> Option<u64> {
    ProcessStat::of(process).map(|stat| stat.start)
}

/// A name of any letters as a file's.
fn file(directory: &Path, service: &str) -> PathBuf {
    let hash = |seed: u64| {
        service.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    };
    directory.join(format!("{:016x}{:016x}", hash(0xcbf2_9ce4_8422_2325), hash(0x9e37_79b9_7f4a_7c15)))
}

/// The directory, made if it is missing. One that others could have put there is not trusted.
fn directory() -> io::Result<PathBuf> {
    let user = getuid().as_raw();
    let chosen = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let path = chosen.unwrap_or_else(|| Path::new("/tmp").join(format!("tern-names-{user}")));
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(&path)?;
    if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
        let text = format!("{} is not a directory that only this user can read", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("tern-names-test-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn a_name_is_found_until_it_is_taken_back() {
        let directory = fresh("found");
        let own = std::process::id();
        let service = "a name / with\nanything";
        publish_in(&directory, service, "host:1#ab", own).unwrap();
        assert_eq!(read(&file(&directory, service), service).unwrap().port, "host:1#ab");
        assert_eq!(
            publish_in(&directory, service, "x", own).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert!(unpublish_in(&directory, service, "other").is_err());
        unpublish_in(&directory, service, "host:1#ab").unwrap();
        assert_eq!(
            unpublish_in(&directory, service, "host:1#ab").unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_name_from_another_host_counts_until_it_is_taken_back() {
        let directory = fresh("host");
        publish_in(&directory, "s", "p", std::process::id()).unwrap();
        let path = file(&directory, "s");
        let moved = fs::read_to_string(&path).unwrap().replace(&host(), "elsewhere");
        let own = format!("\n{} ", std::process::id());
        fs::write(&path, moved.replace(&own, "\n4294967295 ")).unwrap();
        assert_eq!(read(&path, "s").unwrap().port, "p");
        let refused = publish_in(&directory, "s", "q", std::process::id()).unwrap_err().to_string();
        assert!(
            refused.contains("another host") && refused.contains(&path.display().to_string()),
            "{refused}"
        );
        unpublish_in(&directory, "s", "p").unwrap();
        assert!(read(&path, "s").is_none());
        fs::remove_dir_all(directory).unwrap();
    }

    /// A process that lives until it is killed.
    fn living() -> std::process::Child {
        std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn names_go_with_their_owner_alone() {
        let directory = fresh("forgotten");
        let mut child = living();
        publish_in(&directory, "s", "p", child.id()).unwrap();
        publish_in(&directory, "t", "q", std::process::id()).unwrap();
        forget_in(&directory, child.id());
        assert!(!file(&directory, "s").exists() && file(&directory, "t").exists());
        child.kill().unwrap();
        child.wait().unwrap();
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_name_of_somebody_who_has_gone_is_nobodys() {
        let directory = fresh("gone");
        let mut child = living();
        publish_in(&directory, "s", "p", child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(read(&file(&directory, "s"), "s").is_none());
        publish_in(&directory, "s", "q", std::process::id()).unwrap();
        fs::remove_dir_all(directory).unwrap();
    }
}
