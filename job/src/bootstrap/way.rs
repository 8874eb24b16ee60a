//! What a way of starting is to those who try them all.

use std::ffi::OsString;

use crate::bootstrap::error::JoinError;
use crate::job::Job;

/// Reads the environment.
pub(crate) type EnvironmentReader<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// A way in which this process may have been started.
pub(super) trait Bootstrap: Sync {
    /// Becomes a rank, if the environment shows that this process was started so.
    fn join(&self, environment: EnvironmentReader<'_>) -> Option<Result<Job, JoinError>>;
}

/// A variable that is text.
pub(super) fn text(environment: EnvironmentReader<'_>, name: &str) -> Option<String> {
    environment(name)?.into_string().ok()
}
