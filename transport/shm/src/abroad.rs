//! What processes of different worlds on one host open of each other: memory files, and the bell on which a process sleeps.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use super::segment::{FarBell, Segment, stat};

/// Descriptors from here on are out of the way of programs that count on low numbers.
const FD_MIN: i32 = 100;
/// Numbers of standard input, output and error are below.
const STANDARD_FDS: i32 = 3;

/// A memory file of a process, as other processes of the host find it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileOf {
    /// The process.
    pub pid: u32,
    /// Its descriptor.
    pub fd: u32,
    /// A number may name another file by now, or another process where the two count processes apart.
    pub inode: u64,
}

impl FileOf {
    /// Of this process.
    pub fn own(fd: &OwnedFd) -> io::Result<FileOf> {
        Ok(FileOf { pid: std::process::id(), fd: fd.as_raw_fd() as u32, inode: stat(fd)?.st_ino })
    }

    /// Process and number in one word, for a letter.
    pub fn place(&self) -> u64 {
        u64::from(self.pid) << 32 | u64::from(self.fd)
    }

    /// What a letter says, unchecked.
    pub fn at(place: u64, inode: u64) -> FileOf {
        FileOf { pid: (place >> 32) as u32, fd: place as u32, inode }
    }

    /// Opens it here, if that is allowed.
    pub fn open(&self) -> io::Result<OwnedFd> {
        let path = format!("/proc/{}/fd/{}", self.pid, self.fd);
        let gone = || io::Error::new(io::ErrorKind::NotFound, "the file is another one");
        // Asked before it is opened, too: opening some files waits, or does something.
        if std::fs::metadata(&path)?.ino() != self.inode {
            return Err(gone());
        }
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&path)?;
        let fd = OwnedFd::from(file);
        if stat(&fd)?.st_ino == self.inode { Ok(fd) } else { Err(gone()) }
    }
}

/// A new memory file, empty.
pub fn memory_file() -> io::Result<OwnedFd> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // A site may refuse memory files that could be run as programs (vm.memfd_noexec). A kernel before 6.3 does not know the difference.
    let low = match create(flags | libc::MFD_NOEXEC_SEAL) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => create(flags)?,
        made => made?,
    };
    Ok(out_of_the_way(&low).unwrap_or(low))
}

fn create(flags: u32) -> io::Result<OwnedFd> {
    // SAFETY: the name is a C string.
    owned(unsafe { libc::memfd_create(c"tern".as_ptr(), flags) })
}

/// A copy of a descriptor, with a high number where the limit on descriptors leaves room for one.
pub(crate) fn out_of_the_way(fd: &OwnedFd) -> io::Result<OwnedFd> {
    // SAFETY: a plain system call on an open descriptor.
    let copy = |least: i32| owned(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, least) });
    copy(FD_MIN).or_else(|_| copy(STANDARD_FDS)).map_err(|error| match error.raw_os_error() {
        Some(libc::EMFILE | libc::EINVAL) => io::Error::new(error.kind(), format!("{error}: see ulimit -n")),
        _ => error,
    })
}

fn owned(fd: i32) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Where a process sleeps, in the memory file of its own world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BellOf {
    /// The file.
    pub file: FileOf,
    /// Of the page with the words; they begin it.
    pub page: u64,
}

/// Maps the bell of a process of another world, by what it has told.
pub fn open_bell(bell: &BellOf) -> io::Result<FarBell> {
    FarBell::map(&bell.file.open()?, bell.page)
}

impl Segment {
    /// Where in its file the page with a rank's bell begins.
    pub(crate) fn bell_page(&self, rank: u32) -> u64 {
        self.layout().control(rank) as u64
    }
}

/// A mark of this host and this run of its kernel; 0 if the kernel does not tell.
pub fn host_mark() -> u64 {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    match id.trim() {
        "" => 0,
        id => id.bytes().fold(0xcbf2_9ce4_8422_2325, hash) | 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_transport::TransportConfig;

    #[test]
    fn a_file_is_found_and_another_one_is_not_taken_for_it() {
        let fd = memory_file().unwrap();
        let own = FileOf::own(&fd).unwrap();
        assert_eq!(stat(&own.open().unwrap()).unwrap().st_ino, own.inode);
        assert!(FileOf { inode: own.inode ^ 1, ..own }.open().is_err());
        assert!(FileOf { fd: 1 << 30, ..own }.open().is_err());
        assert!(FileOf { pid: 0, ..own }.open().is_err());
    }

    /// The limit on descriptors is the process's, and other tests open theirs meanwhile: a child has a limit of its own.
    #[test]
    fn a_low_limit_leaves_low_numbers() {
        let fd = memory_file().unwrap();
        // SAFETY: the child makes system calls alone, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let set = |most| {
                let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
                // SAFETY: the limit lives during the call.
                unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
            };
            set(FD_MIN as libc::rlim_t);
            let low =
                out_of_the_way(&fd).is_ok_and(|copy| (STANDARD_FDS..FD_MIN).contains(&copy.as_raw_fd()));
            set(0);
            let none = out_of_the_way(&fd).is_err();
            // SAFETY: nothing of the parent's is touched.
            unsafe { libc::_exit(i32::from(!(low && none))) };
        }
        let mut status = -1;
        // SAFETY: the status is stored during the call.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
    }

    #[test]
    fn a_bell_is_the_same_on_both_sides() {
        let fd = memory_file().unwrap();
        let segment = Segment::attach(&fd, 3, &TransportConfig::default()).unwrap();
        let bell = BellOf { file: FileOf::own(&fd).unwrap(), page: segment.bell_page(2) };
        let far = open_bell(&bell).unwrap();
        let armed = segment.control(2).bell.announce();
        assert!(far.words().must_ring(0));
        far.words().count_ring();
        assert!(segment.control(2).bell.rang_since(armed));
        for page in [1, u64::MAX - 1, 1 << 60] {
            assert!(open_bell(&BellOf { page, ..bell }).is_err(), "page {page}");
        }
    }
}
