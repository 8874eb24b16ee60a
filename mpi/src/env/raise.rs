//! How an error comes to its error handler (MPI 5.0 section 9.3).

use crate::core::error::{Error, ErrorObject, fail};
use crate::core::process::{self, enter_anyway};
use crate::env::handlers::{Handler, UserHandler};
use std::ffi::c_int;
use std::fmt;
use tern_abi::*;

/// The class of an error code.
pub(crate) fn class_of(code: c_int) -> c_int {
    if error_class_name(code).is_some() {
        return code;
    }
    enter_anyway().objects.errors.class_of_added(code).unwrap_or(MPI_ERR_UNKNOWN)
}

/// A user's callback returned `code`, which is not `MPI_SUCCESS`.
#[cold]
pub(crate) fn callback_failed(code: c_int, which: &str) -> Box<Error> {
    let class = class_of(code);
    fail(class, format!("{which} returned error code {code}")).with_code(code)
}

impl Error {
    /// Calls the error handler; if that returns, so does the entry point `call`, with this code.
    #[cold]
    #[allow(clippy::boxed_local, reason = "errors travel boxed, so that results stay small")]
    pub fn raise(self: Box<Self>, call: &'static str, place: ErrorObject) -> c_int {
        let place = self.place().unwrap_or(place);
        let (handler, message) = {
            let mut process = enter_anyway();
            let message =
                ErrorMessage { call, object: process.name_of(place), class: self.class(), text: self.text() };
            let message = message.to_string();
            process.objects.errors.remember(self.class(), &message);
            (process.handler_of(place), message)
        };
        match handler {
            Handler::Return => self.code(),
            Handler::Fatal => process::die(self.code(), &message, false),
            Handler::Abort => process::die(self.code(), &message, true),
            Handler::User(function) => call_handler(function, place, self.code()),
        }
    }
}

struct ErrorMessage<'a> {
    call: &'static str,
    object: Option<String>,
    class: c_int,
    text: &'a str,
}

impl fmt::Display for ErrorMessage<'_> {
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

/// Calls the program's error handler. When it returns, the call returns what it has left as the code: it is given 'the error code to be
/// returned' by its address (section 9.3.1).
pub(crate) fn call_handler(function: UserHandler, place: ErrorObject, mut code: c_int) -> c_int {
    // SAFETY: the program gave these functions for objects of this kind; the pointers live through the call.
    unsafe {
        match function {
            UserHandler::Comm(function) => {
                let mut comm = if let ErrorObject::Comm(comm) = place { comm } else { MPI_COMM_SELF };
                function(&mut comm, &mut code);
            }
            UserHandler::Session(function) => {
                let mut session =
                    if let ErrorObject::Session(session) = place { session } else { MPI_SESSION_NULL };
                function(&mut session, &mut code);
            }
            UserHandler::Win(function) => {
                let mut win = if let ErrorObject::Win(win) = place { win } else { MPI_WIN_NULL };
                function(&mut win, &mut code);
            }
            UserHandler::File(function) => {
                let mut file = if let ErrorObject::File(file) = place { file } else { MPI_FILE_NULL };
                function(&mut file, &mut code);
            }
        }
    }
    code
}
