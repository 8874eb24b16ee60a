//! The `TERN_*` variables: one table, from which the environment is read, `MPI_T` and `tern info` answer, and which
//! `docs/reference/settings.md` shows.

#![forbid(unsafe_code)]

mod files;
mod table;
mod text;

use std::ffi::OsString;
use std::fmt;
use tern_engine::limits::{CREDIT_BYTES_MAX, CREDIT_BYTES_MIN};
use tern_engine::settings::EngineSettings;
use tern_transport::TransportConfig;

pub use files::FileSettings;
pub use table::{CATEGORIES, OTHERS, SHARED};

/// What the environment asks for.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// For the engine.
    pub engine: EngineSettings,
    /// For the transports.
    pub transport: TransportConfig,
    /// The error handler that is there from the start.
    pub errors: InitialErrors,
    /// The file whose rows come before the built-in choice of collective algorithms; empty for none.
    pub coll_table: String,
    /// A thread makes progress while the program computes.
    pub progress_thread: bool,
    /// Messages are counted, and the numbers told at the end.
    pub stats: bool,
    /// What `mpirun -memory-alloc-kinds` asked for; empty without it.
    pub memory_kinds: String,
    /// Windows are reached by messages, whatever shorter way there is.
    pub windows_by_messages: bool,
    /// `TERN_CHECK=threads`: a thread that may not call ends the job.
    pub check_threads: bool,
    /// `TERN_CHECK=windows`: accesses to windows are compared with each other.
    pub check_windows: bool,
    /// For files.
    pub files: FileSettings,
}

/// The error handler of the predefined communicators, and of calls that have no object (MPI 5.0 section 9.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum InitialErrors {
    /// `MPI_ERRORS_ARE_FATAL`
    #[default]
    AreFatal,
    /// `MPI_ERRORS_ABORT`
    Abort,
    /// `MPI_ERRORS_RETURN`
    Return,
}

impl InitialErrors {
    /// All of them, in the order of their words.
    pub const ALL: [InitialErrors; 3] =
        [InitialErrors::AreFatal, InitialErrors::Abort, InitialErrors::Return];
    /// What `TERN_INITIAL_ERRHANDLER` and `mpirun -initial-errhandler` call each.
    pub const WORDS: [&str; 3] = ["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"];
}

/// A setting that the library reads when MPI starts.
#[derive(Debug)]
pub struct Variable {
    /// The name of the environment variable.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub meaning: &'static str,
    /// What values it takes.
    pub values: Values,
}

/// What values a variable takes, and where they are kept.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    /// A number of bytes or of pieces, with an optional k, m or g for powers of 1024.
    Number(fn(&Environment) -> u64, fn(&mut Environment, u32)),
    /// 0 or 1.
    Switch(fn(&Environment) -> bool, fn(&mut Environment, bool)),
    /// One of these words, by its index.
    Choice(&'static [&'static str], fn(&Environment) -> usize, fn(&mut Environment, usize)),
    /// Any of these words, separated by commas; each by its index.
    Set(&'static [&'static str], fn(&Environment, usize) -> bool, fn(&mut Environment, usize)),
    /// The name of a file, or nothing. The file is read by who uses it.
    File(fn(&Environment) -> &str, fn(&mut Environment, &str)),
    /// Text of this form, or nothing. The second function says whether it was understood.
    Text(&'static str, fn(&Environment) -> String, fn(&mut Environment, &str) -> Option<()>),
}

/// Variables that belong together.
#[derive(Debug)]
pub struct Category {
    /// Its name.
    pub name: &'static str,
    /// What its variables are about.
    pub description: &'static str,
    /// Its variables.
    pub variables: &'static [Variable],
}

/// A variable that something else than the library reads: told here so that all are found in one place.
#[derive(Debug)]
pub struct OtherVariable {
    /// The name of the environment variable.
    pub name: &'static str,
    /// Who reads it.
    pub reader: &'static str,
    /// What values it takes.
    pub values: &'static str,
    /// What it is unless it is set.
    pub default: &'static str,
    /// What it does, in a sentence.
    pub meaning: &'static str,
}

/// A variable with a value that it cannot have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadValue {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// What is wrong with it.
    pub fault: ValueFault,
    /// What it may be.
    pub expected: String,
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={} {}: it must be {}", self.name, self.value, self.fault, self.expected)
    }
}

/// What is wrong with a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueFault {
    /// It is nothing that the variable knows.
    Unknown,
    /// It is a number, but too large or too small.
    OutOfRange,
    /// Its bytes are no text.
    NoText,
}

impl fmt::Display for ValueFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ValueFault::Unknown => "is not understood",
            ValueFault::OutOfRange => "is out of range",
            ValueFault::NoText => "is no text",
        })
    }
}

impl std::error::Error for BadValue {}

/// All variables, in the order of their indices.
pub fn variables() -> impl Iterator<Item = &'static Variable> {
    CATEGORIES.iter().flat_map(|category| category.variables)
}

/// Indices of a category's variables.
pub fn indices_of(category: usize) -> std::ops::Range<usize> {
    let start = CATEGORIES[..category].iter().map(|before| before.variables.len()).sum();
    start..start + CATEGORIES[category].variables.len()
}

impl Environment {
    /// Reads all variables by `get`.
    pub fn read(get: impl Fn(&str) -> Option<OsString>) -> Result<Self, BadValue> {
        let mut all = Environment::default();
        for variable in variables() {
            if let Some(value) = get(variable.name) {
                let text = value.to_str().ok_or(ValueFault::NoText);
                let set = text.and_then(|text| variable.values.set(&mut all, text));
                set.map_err(|fault| variable.bad(&value.to_string_lossy(), fault))?;
            }
        }
        Ok(all.in_effect())
    }

    /// What is done where the limits do not allow what was asked for.
    pub fn in_effect(mut self) -> Self {
        self.transport = self.transport.clamped();
        self.engine.credit_bytes = self.engine.credit_bytes.clamp(CREDIT_BYTES_MIN, CREDIT_BYTES_MAX);
        // Each transport has a limit of its own besides.
        let longest = self.transport.shm_eager_bytes_max(false).max(self.transport.tcp.eager_bytes as usize);
        self.engine.eager_bytes_max = self.engine.eager_bytes_max.min(longest);
        self
    }
}

/// Whether a variable with Tern's prefix is one that somebody of Tern's reads; tests and measurements have theirs.
pub fn is_known(name: &str) -> bool {
    known_names().any(|known| known == name) || table::INTERNAL.iter().any(|prefix| name.starts_with(prefix))
}

/// All names that a user may mean.
pub fn known_names() -> impl Iterator<Item = &'static str> {
    variables().map(|variable| variable.name).chain(OTHERS.iter().map(|other| other.name))
}

/// The variable of this name.
pub fn variable(name: &str) -> Option<&'static Variable> {
    variables().find(|variable| variable.name == name)
}

impl Variable {
    /// Takes a value from the environment.
    pub fn set(&self, all: &mut Environment, value: &str) -> Result<(), BadValue> {
        self.values.set(all, value).map_err(|fault| self.bad(value, fault))
    }

    fn bad(&self, value: &str, fault: ValueFault) -> BadValue {
        let expected = match fault {
            ValueFault::Unknown => self.values.expected(),
            ValueFault::OutOfRange => format!("a number from 0 to {}", u32::MAX),
            ValueFault::NoText => "text in UTF-8".into(),
        };
        BadValue { name: self.name, value: value.to_owned(), fault, expected }
    }

    /// The value, as it would be written in the environment.
    pub fn value(&self, all: &Environment) -> String {
        self.values.value(all)
    }

    /// The value unless it is set.
    pub fn default(&self) -> String {
        self.value(&Environment::default().in_effect())
    }
}

impl Values {
    fn set(&self, all: &mut Environment, value: &str) -> Result<(), ValueFault> {
        let index_of = |words, word| text::index_of(words, word).ok_or(ValueFault::Unknown);
        match self {
            Values::Number(_, set) => set(all, text::parse_number(value)?),
            Values::Switch(_, set) => set(all, text::parse_switch(value).ok_or(ValueFault::Unknown)?),
            Values::Choice(words, _, set) => set(all, index_of(words, value)?),
            Values::Set(words, _, set) => {
                for word in value.split(',').filter(|word| !word.is_empty()) {
                    set(all, index_of(words, word)?);
                }
            }
            Values::File(_, set) => set(all, value),
            Values::Text(_, _, set) => set(all, value).ok_or(ValueFault::Unknown)?,
        }
        Ok(())
    }

    fn value(&self, all: &Environment) -> String {
        match self {
            Values::Number(get, _) => text::number(get(all)),
            Values::Switch(get, _) => u8::from(get(all)).to_string(),
            Values::Choice(words, get, _) => words[get(all)].to_owned(),
            Values::Set(words, get, _) => {
                let on = words.iter().enumerate().filter(|&(at, _)| get(all, at));
                on.map(|(_, word)| *word).collect::<Vec<_>>().join(",")
            }
            Values::File(get, _) => get(all).to_owned(),
            Values::Text(_, get, _) => get(all),
        }
    }

    /// What a value may be, for a person.
    pub fn expected(&self) -> String {
        match self {
            Values::Number(..) => "a number, as in 4096, 64k or 1m".into(),
            Values::Switch(..) => "0 or 1".into(),
            Values::Choice(words, ..) => text::one_of(words),
            Values::Set(words, ..) => format!("a list of: {}", words.join(", ")),
            Values::File(..) => "a file".into(),
            Values::Text(form, ..) => (*form).into(),
        }
    }
}

#[cfg(test)]
mod tests;
