//! Error handlers, classes, codes and strings (MPI 5.0 chapter 9).

use crate::error::Place;
use crate::handle::Kind;
use crate::table::Table;
use std::collections::BTreeMap;
use std::ffi::c_int;
use tern_abi::*;

/// A function of the program that handles errors, by the kind of object.
#[derive(Clone, Copy, Debug)]
pub enum UserHandler {
    /// For communicators.
    Comm(MPI_Comm_errhandler_function),
    /// For sessions.
    Session(MPI_Session_errhandler_function),
    /// For windows.
    Win(MPI_Win_errhandler_function),
    /// For files.
    File(MPI_File_errhandler_function),
}

/// What happens on an error.
#[derive(Clone, Copy, Debug)]
pub enum Handler {
    /// `MPI_ERRORS_ARE_FATAL`
    Fatal,
    /// `MPI_ERRORS_ABORT`
    Abort,
    /// `MPI_ERRORS_RETURN`
    Return,
    /// The program's own.
    User(UserHandler),
}

/// An error handler's object. It lives until its handle is freed and no object uses it.
#[derive(Clone, Copy, Debug)]
pub struct Errhandler {
    /// What it does.
    pub handler: Handler,
    /// The handle and the objects that use it.
    pub uses: u32,
    /// The program has freed its handle.
    pub freed: bool,
}

/// All error handlers.
pub struct Errhandlers(pub Table<Errhandler>);

impl Errhandlers {
    /// None yet.
    pub const fn new() -> Self {
        Errhandlers(Table::new(Kind::Errhandler))
    }

    /// What the handler of a handle does.
    pub fn handler(&self, errhandler: MPI_Errhandler) -> Handler {
        match errhandler {
            MPI_ERRORS_RETURN => Handler::Return,
            MPI_ERRORS_ABORT => Handler::Abort,
            MPI_ERRORS_ARE_FATAL => Handler::Fatal,
            _ => self.0.get(errhandler.0).map_or(Handler::Fatal, |object| object.handler),
        }
    }

    /// One more object uses it.
    pub fn retain(&mut self, errhandler: MPI_Errhandler) {
        if let Some(object) = self.0.get_mut(errhandler.0) {
            object.uses += 1;
        }
    }

    /// One user less; it goes with the last.
    pub fn release(&mut self, errhandler: MPI_Errhandler) {
        let Some(object) = self.0.get_mut(errhandler.0) else { return };
        object.uses -= 1;
        if object.uses == 0 {
            self.0.remove(errhandler.0);
        }
    }
}

/// Error classes, codes and strings that the program has added, and the last message of each class.
pub struct Errors {
    /// Class of each added code; a class is a code of its own class.
    pub classes: BTreeMap<c_int, c_int>,
    /// Strings of added codes.
    pub strings: BTreeMap<c_int, String>,
    /// The last error of each class, as the program will want to print it.
    last: BTreeMap<c_int, String>,
}

impl Errors {
    /// None yet.
    pub const fn new() -> Self {
        Errors { classes: BTreeMap::new(), strings: BTreeMap::new(), last: BTreeMap::new() }
    }

    /// Keeps a message, so that `MPI_Error_string` can say what happened and not only of which class it was.
    pub fn remember(&mut self, class: c_int, message: &str) {
        self.last.insert(class, message.to_owned());
    }

    /// The last message of a class.
    pub fn last(&self, class: c_int) -> Option<&str> {
        self.last.get(&class).map(String::as_str)
    }
}

/// The class of an error code.
pub fn class_of(code: c_int) -> c_int {
    if error_class_name(code).is_some() {
        return code;
    }
    crate::process::enter().errors.classes.get(&code).copied().unwrap_or(MPI_ERR_UNKNOWN)
}

/// Calls the program's error handler. When it returns, the call returns the code (section 9.3).
pub fn call(function: UserHandler, place: Place, code: c_int) -> c_int {
    let mut code_for_user = code;
    // SAFETY: the program gave these functions for objects of this kind; the pointers live through the call.
    unsafe {
        match function {
            UserHandler::Comm(function) => {
                let mut comm = if let Place::Comm(comm) = place { comm } else { MPI_COMM_SELF };
                function(&mut comm, &mut code_for_user);
            }
            UserHandler::Session(function) => {
                let mut session =
                    if let Place::Session(session) = place { session } else { MPI_SESSION_NULL };
                function(&mut session, &mut code_for_user);
            }
            UserHandler::Win(function) => {
                let mut win = if let Place::Win(win) = place { win } else { MPI_WIN_NULL };
                function(&mut win, &mut code_for_user);
            }
            UserHandler::File(function) => {
                let mut file = if let Place::File(file) = place { file } else { MPI_FILE_NULL };
                function(&mut file, &mut code_for_user);
            }
        }
    }
    code
}
