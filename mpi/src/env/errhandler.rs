//! Error handlers (MPI 5.0 section 9.3): what an error of a call leads to.

use crate::core::arguments::out;
use crate::core::entry::entry;
use crate::core::error::{Error, Place, Result, fail};
use crate::core::handle::Kind;
use crate::core::process::{self, enter_anyway};
use crate::core::table::Table;
use crate::env::error_codes;
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
pub struct Errhandlers {
    made: Table<Errhandler>,
    /// The one of `MPI_FILE_NULL`: of errors on no file, and of each file from its opening on (section 14.7).
    file: MPI_Errhandler,
}

impl Errhandlers {
    /// None yet.
    pub const fn new() -> Self {
        Errhandlers { made: Table::new(Kind::Errhandler), file: MPI_ERRORS_RETURN }
    }

    /// What the handler of a handle does.
    pub fn handler(&self, errhandler: MPI_Errhandler) -> Handler {
        match errhandler {
            MPI_ERRORS_RETURN => Handler::Return,
            MPI_ERRORS_ABORT => Handler::Abort,
            MPI_ERRORS_ARE_FATAL => Handler::Fatal,
            _ => self.made.get(errhandler.0).map_or(Handler::Fatal, |object| Handler::User(object.function)),
        }
    }

    /// The handler for files.
    pub fn for_files(&self) -> MPI_Errhandler {
        self.file
    }

    /// One more object uses it.
    pub fn retain(&mut self, errhandler: MPI_Errhandler) {
        if let Some(object) = self.made.get_mut(errhandler.0) {
            object.users += 1;
        }
    }

    /// One object less uses it.
    pub fn release(&mut self, errhandler: MPI_Errhandler) {
        if let Some(object) = self.made.get_mut(errhandler.0) {
            object.users -= 1;
            self.forget_if_unused(errhandler);
        }
    }

    /// Checks a handler that the program wants to set on objects of a kind, and counts it as used by one.
    pub fn use_for(&mut self, place: Place, errhandler: MPI_Errhandler) -> Result {
        if PREDEFINED.contains(&errhandler) {
            return Ok(());
        }
        let object = self.held(errhandler)?;
        if !object.function.is_for(place) {
            let text = format!("the error handler {:#x} was made for another kind of object", errhandler.0);
            return Err(fail(MPI_ERR_ERRHANDLER, text));
        }
        object.users += 1;
        Ok(())
    }

    fn create(&mut self, function: Option<UserHandler>) -> Result<MPI_Errhandler> {
        let function = function.ok_or_else(|| fail(MPI_ERR_ARG, "the function is a null pointer"))?;
        let handle = self.made.insert(Errhandler { function, handles: 1, users: 0 });
        handle.map(MPI_Errhandler).ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 error handlers exist: free some"))
    }

    /// The program gets a handle of a handler that is in use.
    fn hand_out(&mut self, errhandler: MPI_Errhandler) -> MPI_Errhandler {
        if let Some(object) = self.made.get_mut(errhandler.0) {
            object.handles += 1;
        }
        errhandler
    }

    /// The program gives a handle back.
    fn take_back(&mut self, errhandler: MPI_Errhandler) -> Result {
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
    fn is_for(&self, place: Place) -> bool {
        match self {
            UserHandler::Comm(_) => matches!(place, Place::Comm(_)),
            UserHandler::Session(_) => matches!(place, Place::Session(_)),
            UserHandler::Win(_) => matches!(place, Place::Win(_)),
            UserHandler::File(_) => matches!(place, Place::File(_)),
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
        format!("{:#x} is no error handler: it was freed or never was one", errhandler.0),
    )
}

entry! {
    /// A handler for communicators (section 9.3.1).
    fn MPI_Comm_create_errhandler(comm_errhandler_fn: Option<MPI_Comm_errhandler_function>, errhandler: *mut MPI_Errhandler) {
        let mut process = enter_anyway();
        process.engine()?;
        *out("errhandler", errhandler)? = process.errhandlers.create(comm_errhandler_fn.map(UserHandler::Comm))?;
        Ok(())
    }

    /// Sets a communicator's handler.
    fn MPI_Comm_set_errhandler(comm: MPI_Comm, errhandler: MPI_Errhandler) on comm {
        let mut process = enter_anyway();
        process.comm(comm)?;
        process.errhandlers.use_for(comm.into(), errhandler)?;
        let old = std::mem::replace(&mut process.comm_mut(comm)?.errhandler, errhandler);
        process.errhandlers.release(old);
        Ok(())
    }

    /// A communicator's handler; the program frees the handle.
    fn MPI_Comm_get_errhandler(comm: MPI_Comm, errhandler: *mut MPI_Errhandler) on comm {
        let errhandler = out("errhandler", errhandler)?;
        let mut process = enter_anyway();
        let used = process.comm(comm)?.errhandler;
        *errhandler = process.errhandlers.hand_out(used);
        Ok(())
    }

    /// Calls a communicator's handler (section 9.5).
    fn MPI_Comm_call_errhandler(comm: MPI_Comm, errorcode: c_int) on comm {
        enter_anyway().comm(comm)?;
        call_on_demand("MPI_Comm_call_errhandler", comm.into(), errorcode);
        Ok(())
    }

    /// A handler for sessions, at any time (section 9.3.4).
    fn MPI_Session_create_errhandler(session_errhandler_fn: Option<MPI_Session_errhandler_function>, errhandler: *mut MPI_Errhandler) {
        let function = session_errhandler_fn.map(UserHandler::Session);
        *out("errhandler", errhandler)? = enter_anyway().errhandlers.create(function)?;
        Ok(())
    }

    /// Sets a session's handler.
    fn MPI_Session_set_errhandler(session: MPI_Session, errhandler: MPI_Errhandler) on session {
        let mut process = enter_anyway();
        process.session(session)?;
        process.errhandlers.use_for(session.into(), errhandler)?;
        let old = std::mem::replace(&mut process.session_mut(session)?.errhandler, errhandler);
        process.errhandlers.release(old);
        Ok(())
    }

    /// A session's handler; the program frees the handle.
    fn MPI_Session_get_errhandler(session: MPI_Session, errhandler: *mut MPI_Errhandler) on session {
        let errhandler = out("errhandler", errhandler)?;
        let mut process = enter_anyway();
        let used = process.session(session)?.errhandler;
        *errhandler = process.errhandlers.hand_out(used);
        Ok(())
    }

    /// Calls a session's handler.
    fn MPI_Session_call_errhandler(session: MPI_Session, errorcode: c_int) on session {
        enter_anyway().session(session)?;
        call_on_demand("MPI_Session_call_errhandler", session.into(), errorcode);
        Ok(())
    }

    /// A handler for files (section 9.3.3).
    fn MPI_File_create_errhandler(file_errhandler_fn: Option<MPI_File_errhandler_function>, errhandler: *mut MPI_Errhandler) {
        let mut process = enter_anyway();
        process.engine()?;
        *out("errhandler", errhandler)? = process.errhandlers.create(file_errhandler_fn.map(UserHandler::File))?;
        Ok(())
    }

    /// Sets the handler of `MPI_FILE_NULL`, the only file that there is.
    fn MPI_File_set_errhandler(file: MPI_File, errhandler: MPI_Errhandler) on file {
        null_file(file)?;
        let mut process = enter_anyway();
        process.engine()?;
        process.errhandlers.use_for(file.into(), errhandler)?;
        let old = std::mem::replace(&mut process.errhandlers.file, errhandler);
        process.errhandlers.release(old);
        Ok(())
    }

    /// The handler of `MPI_FILE_NULL`.
    fn MPI_File_get_errhandler(file: MPI_File, errhandler: *mut MPI_Errhandler) on file {
        null_file(file)?;
        let errhandler = out("errhandler", errhandler)?;
        let mut process = enter_anyway();
        process.engine()?;
        let used = process.errhandlers.file;
        *errhandler = process.errhandlers.hand_out(used);
        Ok(())
    }

    /// Calls the handler of `MPI_FILE_NULL`.
    fn MPI_File_call_errhandler(fh: MPI_File, errorcode: c_int) on fh {
        null_file(fh)?;
        call_on_demand("MPI_File_call_errhandler", fh.into(), errorcode);
        Ok(())
    }

    /// A handler for windows (section 9.3.2).
    fn MPI_Win_create_errhandler(win_errhandler_fn: Option<MPI_Win_errhandler_function>, errhandler: *mut MPI_Errhandler) {
        let mut process = enter_anyway();
        process.engine()?;
        *out("errhandler", errhandler)? = process.errhandlers.create(win_errhandler_fn.map(UserHandler::Win))?;
        Ok(())
    }

    /// Sets a window's handler.
    fn MPI_Win_set_errhandler(win: MPI_Win, errhandler: MPI_Errhandler) on win {
        let mut process = enter_anyway();
        process.window(win)?;
        process.errhandlers.use_for(win.into(), errhandler)?;
        let old = std::mem::replace(&mut process.window_mut(win)?.errhandler, errhandler);
        process.errhandlers.release(old);
        Ok(())
    }

    /// A window's handler.
    fn MPI_Win_get_errhandler(win: MPI_Win, errhandler: *mut MPI_Errhandler) on win {
        let errhandler = out("errhandler", errhandler)?;
        let mut process = enter_anyway();
        let used = process.window(win)?.errhandler;
        *errhandler = process.errhandlers.hand_out(used);
        Ok(())
    }

    /// Calls a window's handler.
    fn MPI_Win_call_errhandler(win: MPI_Win, errorcode: c_int) on win {
        enter_anyway().window(win)?;
        call_on_demand("MPI_Win_call_errhandler", win.into(), errorcode);
        Ok(())
    }

    /// Gives a handle back, at any time; objects that use the handler go on with it.
    fn MPI_Errhandler_free(errhandler: *mut MPI_Errhandler) {
        let errhandler = out("errhandler", errhandler)?;
        enter_anyway().errhandlers.take_back(*errhandler)?;
        *errhandler = MPI_ERRHANDLER_NULL;
        Ok(())
    }
}

fn null_file(file: MPI_File) -> Result {
    if file == MPI_FILE_NULL {
        return Ok(());
    }
    Err(fail(MPI_ERR_FILE, format!("{:#x} is no file", file.0)))
}

/// The program wants an object's handler to be called.
fn call_on_demand(call: &str, place: Place, code: c_int) {
    let (handler, object) = {
        let process = enter_anyway();
        (process.handler_of(place), process.name_of(place))
    };
    let message = || {
        let object = object.as_deref().unwrap_or("an object without name");
        format!("{call} on {object}: the program reports {}", error_codes::describe(code))
    };
    match handler {
        Handler::Return => {}
        Handler::Fatal => process::die(code, &message(), false),
        Handler::Abort => process::die(code, &message(), true),
        Handler::User(function) => {
            self::call(function, place, code);
        }
    }
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
