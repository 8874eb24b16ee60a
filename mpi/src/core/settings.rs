//! The `TERN_*` variables of this process: the one place where the environment is read. What they mean is in
//! [`tern_settings`].

pub(crate) use tern_settings::{BadValue, Environment};

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use tern_abi::{MPI_ERRORS_ABORT, MPI_ERRORS_ARE_FATAL, MPI_ERRORS_RETURN, MPI_Errhandler};
use tern_coll::{TableRow, table};
use tern_job::words;
use tern_settings::{self as variables, InitialErrors};
use tern_transport::SettingsFingerprint;

/// How all variables of Tern begin.
const PREFIX: &str = "TERN_";

/// What the environment asks for, or what of it cannot be understood.
pub(crate) fn from_environment() -> Result<Environment, BadValue> {
    Environment::read(|name| std::env::var_os(name))
}

/// Says which variables with Tern's prefix nobody reads, since their names are misspelled: rank 0 alone, so once in a job.
pub(crate) fn tell_unknown(rank: u32) {
    if rank != 0 {
        return;
    }
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in names.filter(|name| name.starts_with(PREFIX) && !variables::is_known(name)) {
        let hint = match words::closest(&name, variables::known_names()) {
            Some(close) => format!("did you mean {close}?"),
            None => "'tern info' lists them all".into(),
        };
        // Standard error may be closed.
        let _ = writeln!(
            std::io::stderr(),
            "Tern: the variable {name} is no setting of Tern and changes nothing: {hint}"
        );
    }
}

/// What MPI was started with last. The program may have changed its environment since.
static IN_EFFECT: Mutex<Option<Environment>> = Mutex::new(None);

/// MPI starts with these.
pub(crate) fn keep(environment: &Environment) {
    *IN_EFFECT.lock().unwrap_or_else(PoisonError::into_inner) = Some(environment.clone());
}

/// The settings that MPI was started with, if it was.
pub(crate) fn in_effect() -> Option<Environment> {
    IN_EFFECT.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The error handler that is there from the start, also before MPI is initialized (MPI 5.0 section 9.3).
pub(crate) fn initial_errhandler() -> MPI_Errhandler {
    match from_environment().unwrap_or_default().errors {
        InitialErrors::AreFatal => MPI_ERRORS_ARE_FATAL,
        InitialErrors::Abort => MPI_ERRORS_ABORT,
        InitialErrors::Return => MPI_ERRORS_RETURN,
    }
}

/// What this rank must have in common with all others. Of a table of collectives the rows count, not the file's name.
pub(crate) fn fingerprint(environment: &Environment, rows: &[TableRow]) -> SettingsFingerprint {
    SettingsFingerprint::new(variables::SHARED, |name| match name {
        "TERN_COLL_TABLE" => rows.iter().map(|row| format!("{row}\n")).collect(),
        _ => variables::variable(name).map(|variable| variable.value(environment)).unwrap_or_default(),
    })
}

/// The rows of `TERN_COLL_TABLE`.
pub(crate) fn coll_rows(environment: &Environment) -> Result<Vec<TableRow>, String> {
    match environment.coll_table.as_str() {
        "" => Ok(Vec::new()),
        file => table::load(file.as_ref()).map_err(|bad| format!("TERN_COLL_TABLE: {bad}")),
    }
}
