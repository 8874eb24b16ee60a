//! The file of a program, and its variables, as a rank of it will have them.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::cli::standard::find_program;
use crate::plan::{App, JobPlan};

/// The file of a program, found as the kernel and the C library will find it.
pub(crate) fn program_file(plan: &JobPlan, app: &App) -> Option<PathBuf> {
    let place = app.directory.as_ref().map(PathBuf::from).unwrap_or_default();
    if app.program.as_encoded_bytes().contains(&b'/') {
        return Some(place.join(&app.program));
    }
    let first = app.path.as_ref().and_then(|path| find_program(&app.program, path));
    first.or_else(|| find_program(&app.program, &variable(plan, app, "PATH")?))
}

/// A variable as a program will have it.
pub(crate) fn variable(plan: &JobPlan, app: &App, name: &str) -> Option<OsString> {
    let set = plan.settings.environment.iter().chain(&app.environment).rev().find(|(key, _)| key == name);
    set.map(|(_, value)| value.clone()).or_else(|| std::env::var_os(name))
}
