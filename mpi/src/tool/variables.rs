//! The control variables: the engine's table of settings, in the types of the tool interface.

use tern_abi::{MPI_CHAR, MPI_COUNT, MPI_Datatype, MPI_INT};

use crate::core::settings::{self, Environment};

pub(super) use tern_settings::{CATEGORIES, Values, Variable, indices_of, variables};

/// The type of a variable's value in a caller's buffer.
pub(super) fn type_of(variable: &Variable) -> MPI_Datatype {
    match variable.values {
        Values::Number(..) | Values::Switch(..) => MPI_COUNT,
        Values::Choice(..) => MPI_INT,
        Values::Set(..) | Values::File(..) | Values::Text(..) => MPI_CHAR,
    }
}

/// The settings in effect. Before MPI starts, those of the environment: what cannot be understood stops `MPI_Init`; here it leaves the
/// defaults.
pub(super) fn settings() -> Environment {
    let asked_for = || settings::from_environment().unwrap_or_else(|_| Environment::default().in_effect());
    settings::in_effect().unwrap_or_else(asked_for)
}
