//! Error handlers: the objects behind the handles (MPI 5.0 section 9.3).

use crate::core::error::{Error, ErrorObject, Result, fail};
use crate::core::given;
use crate::core::handle::HandleKind;
use crate::core::table::Table;
use tern_abi::*;

/// A function of the program that handles errors, by the kind of object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UserHandler {
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
pub(crate) enum Handler {
    /// `MPI_ERRORS_ARE_FATAL`
    Fatal,
    /// `MPI_ERRORS_ABORT`
    Abort,
    /// `MPI_ERRORS_RETURN`
    Return,
    /// The program's own.
    User(UserHandler),
}

/// An error handler's object. It lives until the program has freed all its handles and no object uses it.
#[derive(Clone, Copy, Debug)]
struct Errhandler {
    function: UserHandler,
    /// Handles that the program holds: the first, and one for each `MPI_X_get_errhandler` (section 9.3).
    handles: u32,
    /// Objects that use it.
    users: u32,
}

/// All error handlers.
pub(crate) struct Errhandlers {
    made: Table<Errhandler>,
    /// The one of `MPI_FILE_NULL`: of errors on no file, and of each file from its opening on (section 14.7).
    pub(super) file: MPI_Errhandler,
}

impl Errhandlers {
    /// None yet.
    pub(crate) const fn new() -> Self {
        Errhandlers { made: Table::new(HandleKind::Errhandler), file: MPI_ERRORS_RETURN }
    }

    /// What the handler of a handle does.
    pub(crate) fn handler(&self, errhandler: MPI_Errhandler) -> Handler {
        match errhandler {
            MPI_ERRORS_RETURN => Handler::Return,
            MPI_ERRORS_ABORT => Handler::Abort,
            MPI_ERRORS_ARE_FATAL => Handler::Fatal,
            _ => self.made.get(errhandler.0).map_or(Handler::Fatal, |object| Handler::User(object.function)),
        }
    }

    /// Whether a function is that of one of them.
    pub(crate) fn have(&self, function: usize) -> bool {
        self.made.iter().any(|(_, object)| object.function.address() == function)
    }

    /// The handler for files.
    pub(crate) fn for_files(&self) -> MPI_Errhandler {
        self.file
    }

    /// One more object uses it.
    pub(crate) fn retain(&mut self, errhandler: MPI_Errhandler) {
        if let Some(object) = self.made.get_mut(errhandler.0) {
            object.users += 1;
        }
    }

    /// One object less uses it.
    pub(crate) fn release(&mut self, errhandler: MPI_Errhandler) {
        if let Some(object) = self.made.get_mut(errhandler.0) {
            object.users -= 1;
            self.forget_if_unused(errhandler);
        }
    }

    /// Checks a handler that the program wants to set on objects of a kind, and counts it as used by one.
    pub(crate) fn use_for(&mut self, place: ErrorObject, errhandler: MPI_Errhandler) -> Result {
        if PREDEFINED.contains(&errhandler) {
            return Ok(());
        }
        let object = self.held(errhandler)?;
        if !object.function.is_for(place) {
            let text = format!(
                "the error handler {:#x} was made for another kind of object",
                given::handle(errhandler.0)
            );
            return Err(fail(MPI_ERR_ERRHANDLER, text));
        }
        object.users += 1;
        Ok(())
    }

    pub(super) fn create(&mut self, function: Option<UserHandler>) -> Result<MPI_Errhandler> {
        let function = function.ok_or_else(|| fail(MPI_ERR_ARG, "the function is a null pointer"))?;
        let handle = self.made.insert(Errhandler { function, handles: 1, users: 0 });
        handle.map(MPI_Errhandler).ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 error handlers exist: free some"))
    }

    /// The program gets a handle of a handler that is in use.
    pub(super) fn hand_out(&mut self, errhandler: MPI_Errhandler) -> MPI_Errhandler {
        if let Some(object) = self.made.get_mut(errhandler.0) {
            object.handles += 1;
        }
        errhandler
    }

    /// The program gives a handle back.
    pub(super) fn take_back(&mut self, errhandler: MPI_Errhandler) -> Result {
        if PREDEFINED.contains(&errhandler) {
            return Ok(());
        }
        self.held(errhandler)?.handles -= 1;
        self.forget_if_unused(errhandler);
        Ok(())
    }

    /// The object of a handle that the program has not freed.
    fn held(&mut self, errhandler: MPI_Errhandler) -> Result<&mut Errhandler> {
        let object = self.made.get_mut(errhandler.0).filter(|object| object.handles > 0);
        object.ok_or_else(|| no_errhandler(errhandler))
    }

    fn forget_if_unused(&mut self, errhandler: MPI_Errhandler) {
        if self.made.get(errhandler.0).is_some_and(|object| object.handles == 0 && object.users == 0) {
            self.made.remove(errhandler.0);
        }
    }
}

const PREDEFINED: [MPI_Errhandler; 3] = [MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN];

impl UserHandler {
    fn address(self) -> usize {
        match self {
            UserHandler::Comm(function) => function as usize,
            UserHandler::Session(function) => function as usize,
            UserHandler::Win(function) => function as usize,
            UserHandler::File(function) => function as usize,
        }
    }

    fn is_for(&self, place: ErrorObject) -> bool {
        match self {
            UserHandler::Comm(_) => matches!(place, ErrorObject::Comm(_)),
            UserHandler::Session(_) => matches!(place, ErrorObject::Session(_)),
            UserHandler::Win(_) => matches!(place, ErrorObject::Win(_)),
            UserHandler::File(_) => matches!(place, ErrorObject::File(_)),
        }
    }
}

#[cold]
fn no_errhandler(errhandler: MPI_Errhandler) -> Box<Error> {
    if errhandler == MPI_ERRHANDLER_NULL {
        return fail(MPI_ERR_ERRHANDLER, "the error handler is MPI_ERRHANDLER_NULL");
    }
    fail(
        MPI_ERR_ERRHANDLER,
        format!("{:#x} is no error handler: it was freed or never was one", given::handle(errhandler.0)),
    )
}
