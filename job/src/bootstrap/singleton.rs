//! A program that nobody has started as one of several: a world of one.

use crate::bootstrap::JoinError;
use crate::bootstrap::way::{Bootstrap, EnvironmentReader};
use crate::job::Job;

/// The last of all ways.
pub(super) struct Singleton;

impl Bootstrap for Singleton {
    fn join(&self, _environment: EnvironmentReader<'_>) -> Option<Result<Job, JoinError>> {
        Some(Ok(Job::alone()))
    }
}
