//! Errors: a class of the standard and a sentence for a person. `env/raise.rs` brings them to the error handler.

use std::ffi::c_int;
use tern_abi::{MPI_Comm, MPI_Errhandler, MPI_File, MPI_Session, MPI_Win};

/// What a body of an entry point yields.
pub(crate) type Result<T = ()> = std::result::Result<T, Box<Error>>;

/// An error on its way to the error handler.
#[derive(Debug)]
pub struct Error {
    class: c_int,
    text: String,
    place: Option<ErrorObject>,
    /// A code that a user's callback returned: handed on as it is.
    code: Option<c_int>,
}

/// The object whose error handler decides (MPI 5.0 section 9.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorObject {
    /// No object: `MPI_COMM_SELF`'s handler, or the initial one before MPI is initialized.
    None,
    /// A communicator.
    Comm(MPI_Comm),
    /// A session.
    Session(MPI_Session),
    /// A window.
    Win(MPI_Win),
    /// A file.
    File(MPI_File),
    /// No object yet, but the handler that the one to be made would have (`MPI_Session_init` and the like).
    Chosen(MPI_Errhandler),
}

impl From<MPI_Comm> for ErrorObject {
    fn from(comm: MPI_Comm) -> Self {
        ErrorObject::Comm(comm)
    }
}

impl From<MPI_Session> for ErrorObject {
    fn from(session: MPI_Session) -> Self {
        ErrorObject::Session(session)
    }
}

impl From<MPI_Win> for ErrorObject {
    fn from(win: MPI_Win) -> Self {
        ErrorObject::Win(win)
    }
}

impl From<MPI_File> for ErrorObject {
    fn from(file: MPI_File) -> Self {
        ErrorObject::File(file)
    }
}

impl From<MPI_Errhandler> for ErrorObject {
    fn from(errhandler: MPI_Errhandler) -> Self {
        ErrorObject::Chosen(errhandler)
    }
}

/// An error of `class` with its sentence: what is wrong with which argument, and what to do.
#[cold]
pub(crate) fn fail(class: c_int, text: impl Into<String>) -> Box<Error> {
    Box::new(Error { class, text: text.into(), place: None, code: None })
}

impl Error {
    /// The class of the standard.
    pub fn class(&self) -> c_int {
        self.class
    }

    /// The code that the call returns: the class, unless a user's callback chose another.
    pub fn code(&self) -> c_int {
        self.code.unwrap_or(self.class)
    }

    /// The sentence.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Says which of several things the error is about.
    #[cold]
    pub fn context(mut self: Box<Self>, which: &str) -> Box<Self> {
        self.text = format!("{which}: {}", self.text);
        self
    }

    /// Sends the error to the handler of `place` rather than to that of the entry point.
    pub fn at(mut self: Box<Self>, place: impl Into<ErrorObject>) -> Box<Self> {
        self.place = Some(place.into());
        self
    }

    /// The object whose handler decides, if the error says so.
    pub fn place(&self) -> Option<ErrorObject> {
        self.place
    }

    /// The call returns `code`, which a callback of the program returned.
    pub fn with_code(mut self: Box<Self>, code: c_int) -> Box<Self> {
        self.code = Some(code);
        self
    }

    /// Sends the error to where `other` goes.
    pub fn beside(mut self: Box<Self>, other: &Error) -> Box<Self> {
        self.place = other.place;
        self
    }
}
