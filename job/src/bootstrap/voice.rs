//! What a rank says to the launcher that started it.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::event::PollFlags;

/// What a rank says to its launcher while somebody else may have the connection.
pub(crate) trait Voice: Send + Sync + fmt::Debug {
    /// Asks the launcher to end the job.
    fn abort(&self, code: i32, message: &str) -> io::Result<()>;

    /// Takes leave: a rank that ends without it has failed, for the launcher.
    fn finalize(&self);

    /// What tells, by this event, that the launcher has gone.
    fn connection(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        None
    }
}
