//! Errors: a class of the standard and a sentence for a person, and the way to the error handler.

use crate::core::process::{self, enter_anyway};
use crate::env::errhandler::{self, Handler};
use crate::env::error_codes;
use std::ffi::c_int;
use std::fmt;
use tern_abi::{
    MPI_Comm, MPI_ERR_OTHER, MPI_Errhandler, MPI_File, MPI_Session, MPI_Win, error_class_name,
    error_class_text,
};

/// What a body of an entry point yields.
pub type Result<T = ()> = std::result::Result<T, Box<Error>>;

/// An error on its way to the error handler.
#[derive(Debug)]
pub struct Error {
    class: c_int,
    text: String,
    place: Option<Place>,
    /// A code that a user's callback returned: handed on as it is.
    code: Option<c_int>,
}

/// The object whose error handler decides (MPI 5.0 section 9.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// No object: `MPI_COMM_SELF`'s handler, or the initial one before MPI is initialised.
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

impl From<MPI_Comm> for Place {
    fn from(comm: MPI_Comm) -> Self {
        Place::Comm(comm)
    }
}

impl From<MPI_Session> for Place {
    fn from(session: MPI_Session) -> Self {
        Place::Session(session)
    }
}

impl From<MPI_Win> for Place {
    fn from(win: MPI_Win) -> Self {
        Place::Win(win)
    }
}

impl From<MPI_File> for Place {
    fn from(file: MPI_File) -> Self {
        Place::File(file)
    }
}

impl From<MPI_Errhandler> for Place {
    fn from(errhandler: MPI_Errhandler) -> Self {
        Place::Chosen(errhandler)
    }
}

/// An error of `class` with its sentence: what is wrong with which argument, and what to do.
#[cold]
pub fn fail(class: c_int, text: impl Into<String>) -> Box<Error> {
    Box::new(Error { class, text: text.into(), place: None, code: None })
}

/// A user's callback returned `code`, which is not `MPI_SUCCESS`.
#[cold]
pub fn callback_failed(code: c_int, which: &str) -> Box<Error> {
    let class = error_codes::class_of(code);
    Box::new(Error {
        class,
        text: format!("{which} returned error code {code}"),
        place: None,
        code: Some(code),
    })
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
    pub fn at(mut self: Box<Self>, place: impl Into<Place>) -> Box<Self> {
        self.place = Some(place.into());
        self
    }

    /// Sends the error to where `other` goes.
    pub fn beside(mut self: Box<Self>, other: &Error) -> Box<Self> {
        self.place = other.place;
        self
    }

    /// Calls the error handler; if that returns, so does the entry point `call`, with this code.
    #[cold]
    #[allow(clippy::boxed_local, reason = "errors travel boxed, so that results stay small")]
    pub fn raise(self: Box<Self>, call: &'static str, place: Place) -> c_int {
        let place = self.place.unwrap_or(place);
        let (handler, message) = {
            let mut process = enter_anyway();
            let message =
                Message { call, object: process.name_of(place), class: self.class, text: &self.text };
            let message = message.to_string();
            process.errors.remember(self.class, &message);
            (process.handler_of(place), message)
        };
        match handler {
            Handler::Return => self.code(),
            Handler::Fatal => process::die(self.code(), &message, false),
            Handler::Abort => process::die(self.code(), &message, true),
            Handler::User(function) => errhandler::call(function, place, self.code()),
        }
    }
}

struct Message<'a> {
    call: &'static str,
    object: Option<String>,
    class: c_int,
    text: &'a str,
}

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.call)?;
        if let Some(object) = &self.object {
            write!(f, " on {object}")?;
        }
        let name = error_class_name(self.class).unwrap_or("user-defined class");
        match error_class_text(self.class) {
            // That an error is in no list of the standard helps nobody.
            _ if self.class == MPI_ERR_OTHER => write!(f, ": {} ({name})", self.text),
            meaning => write!(f, ": {} ({name}: {})", self.text, meaning.unwrap_or("-")),
        }
    }
}
