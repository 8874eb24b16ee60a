//! Errors of files: from the system's numbers to the standard's classes (MPI 5.0 section 14.8).

use crate::core::error::{Error, fail};
use std::ffi::c_int;
use std::io;
use tern_abi::*;

/// The class of an error of the system's.
pub(crate) fn class_of(number: i32) -> c_int {
    match number {
        libc::ENOENT => MPI_ERR_NO_SUCH_FILE,
        libc::EEXIST => MPI_ERR_FILE_EXISTS,
        libc::EACCES | libc::EPERM => MPI_ERR_ACCESS,
        libc::EROFS => MPI_ERR_READ_ONLY,
        libc::ENOSPC => MPI_ERR_NO_SPACE,
        libc::EDQUOT | libc::EFBIG => MPI_ERR_QUOTA,
        libc::ETXTBSY | libc::EBUSY => MPI_ERR_FILE_IN_USE,
        libc::EISDIR | libc::ENOTDIR | libc::ENAMETOOLONG | libc::ELOOP | libc::ENXIO | libc::ENODEV => {
            MPI_ERR_BAD_FILE
        }
        libc::ENOMEM | libc::EMFILE | libc::ENFILE => MPI_ERR_NO_MEM,
        libc::EOPNOTSUPP => MPI_ERR_UNSUPPORTED_OPERATION,
        libc::EFAULT => MPI_ERR_BUFFER,
        _ => MPI_ERR_IO,
    }
}

/// What to do about it, where there is something to say.
fn advice(number: i32) -> &'static str {
    match number {
        libc::EDQUOT => "; the user's quota is used up",
        libc::EFBIG => {
            "; the limit on the size of files of this process (ulimit -f) or of the file system is reached"
        }
        libc::ENOSPC => "; make room on the device",
        libc::ESTALE => "; the file was removed on its NFS server",
        libc::ENOLCK => "; the file system has no locks, which atomic mode and sieved writes need",
        libc::EFAULT => "; this process cannot use the memory of the buffer",
        libc::EMFILE => "; this process has too many files open (ulimit -n)",
        _ => "",
    }
}

/// An error of the system's about a file.
#[cold]
pub(crate) fn of_system(error: &io::Error, path: &str) -> Box<Error> {
    let number = error.raw_os_error().unwrap_or(libc::EIO);
    fail(class_of(number), format!("'{path}': {}{}", io::Error::from_raw_os_error(number), advice(number)))
}

/// The error of another rank.
#[cold]
pub(crate) fn of_rank(rank: usize, class: c_int, text: &str) -> Box<Error> {
    fail(class, format!("rank {rank} has failed: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_have_the_standards_classes() {
        let class = |number| of_system(&io::Error::from_raw_os_error(number), "f").class();
        assert_eq!((class(libc::ENOENT), class(libc::ENOSPC)), (MPI_ERR_NO_SUCH_FILE, MPI_ERR_NO_SPACE));
        assert_eq!((class(libc::EDQUOT), class(libc::EROFS)), (MPI_ERR_QUOTA, MPI_ERR_READ_ONLY));
        assert_eq!((class(libc::EIO), class(libc::ESTALE)), (MPI_ERR_IO, MPI_ERR_IO));
        assert_eq!((class(libc::EISDIR), class(libc::EACCES)), (MPI_ERR_BAD_FILE, MPI_ERR_ACCESS));
        let text = of_system(&io::Error::from_raw_os_error(libc::EFBIG), "out");
        assert!(text.text().starts_with("'out': File too large") && text.text().contains("ulimit -f"));
    }
}
