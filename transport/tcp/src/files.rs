//! Open files: each connection is one, and the usual limit of a process, 1,024, is below what a rank of a large job needs.

use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Does what opens a file. Where this process may have no more, its limit is raised as far as it may do so itself: by
/// doubling, since some programs go through all numbers below the limit.
pub(crate) fn with_room<T>(mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match open() {
            Err(error) if is_lack(&error) && raise() => {}
            Err(error) if is_lack(&error) => return Err(explain()),
            result => return result,
        }
    }
}

fn is_lack(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMFILE)
}

fn raise() -> bool {
    let Ok((now, most)) = getrlimit(Resource::RLIMIT_NOFILE) else { return false };
    now < most && setrlimit(Resource::RLIMIT_NOFILE, now.saturating_mul(2).min(most), most).is_ok()
}

fn explain() -> io::Error {
    let most = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(_, most)| most);
    io::Error::other(format!(
        "this rank has no more than {most} open files, and needs one for each peer: raise ulimit -n"
    ))
}
