//! A descriptor of the library's in a program that may close all that it has, as daemons do.
//!
//! Its number may then be that of a file of the program's, into which nothing must be written. So each use, all of which are rare,
//! looks first, and opens again what has gone.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, fstat};
use rustix::io::{Errno, Result};

/// Such a descriptor.
#[derive(Debug)]
pub struct ReservedFd {
    file: OwnedFd,
    /// Device and inode of what it refers to.
    identity: Option<(u64, u64)>,
    /// Where it can be opened again, and how.
    elsewhere: Option<(String, OFlags)>,
}

impl From<OwnedFd> for ReservedFd {
    fn from(file: OwnedFd) -> ReservedFd {
        let identity = identity(&file).ok();
        ReservedFd { file, identity, elsewhere: None }
    }
}

impl ReservedFd {
    /// It can be opened again at this path while the launcher lives.
    pub fn also_at(self, path: String, flags: OFlags) -> ReservedFd {
        ReservedFd { elsewhere: Some((path, flags)), ..self }
    }

    /// Uses it, or what it was, opened for this once.
    pub fn with<T, E: From<Errno>>(
        &self,
        act: impl FnOnce(BorrowedFd<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        if self.is(&self.file) {
            return act(self.file.as_fd());
        }
        let again = self.open_again()?;
        act(again.as_fd())
    }

    /// Whether the program has closed it, and it cannot be opened again.
    pub(crate) fn is_lost(&self) -> bool {
        self.with(|_| Ok::<(), Errno>(())).is_err()
    }

    /// Its number becomes that of another file.
    #[cfg(test)]
    pub(crate) fn lose_to(&mut self, other: impl AsFd) {
        rustix::io::dup2(other, &mut self.file).unwrap();
    }

    fn is(&self, file: impl AsFd) -> bool {
        self.identity.is_some() && identity(file).ok() == self.identity
    }

    fn open_again(&self) -> Result<OwnedFd> {
        let (path, flags) = self.elsewhere.as_ref().ok_or(Errno::BADF)?;
        let found = rustix::fs::stat(path.as_str())?;
        // Looked at before it is opened: to open something else could have effects.
        if Some((found.st_dev, found.st_ino)) != self.identity {
            return Err(Errno::BADF);
        }
        rustix::fs::open(path.as_str(), *flags, Mode::empty())
    }
}

/// To wait for it, which does nothing to what may have taken its number.
impl AsFd for ReservedFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn identity(file: impl AsFd) -> Result<(u64, u64)> {
    fstat(file).map(|stat| (stat.st_dev, stat.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, memfd_create};
    use rustix::io::{read, write};
    use rustix::pipe::{PipeFlags, pipe_with};
    use std::os::fd::AsRawFd;

    #[test]
    fn what_has_taken_its_number_is_not_touched() {
        let (out, input) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let elsewhere = rustix::io::dup(&input).unwrap();
        let path = format!("/proc/self/fd/{}", elsewhere.as_raw_fd());
        let mut kept = ReservedFd::from(input).also_at(path, OFlags::WRONLY | OFlags::CLOEXEC);
        let others = memfd_create("others", MemfdFlags::CLOEXEC).unwrap();
        kept.lose_to(&others);
        assert_eq!(kept.with(|file| write(file, b"word")), Ok(4));
        let mut word = [0; 8];
        assert_eq!(read(&out, &mut word), Ok(4));
        assert_eq!(fstat(&others).unwrap().st_size, 0);
        let lost = ReservedFd { elsewhere: None, ..kept };
        assert_eq!(lost.with(|file| write(file, b"word")), Err(Errno::BADF));
    }
}
