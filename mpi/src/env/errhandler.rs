//! Error handlers (MPI 5.0 section 9.3): what an error of a call leads to.

use crate::core::boundary::Out;
use crate::core::entry::entry;
use crate::core::error::{ErrorObject, Result};
use crate::core::process::{self, Process, enter_anyway};
use crate::env::error_codes;
use crate::env::handlers::{Handler, UserHandler};
use crate::env::raise::call_handler;
use std::ffi::c_int;
use tern_abi::*;

entry! {
    /// A handler for communicators (section 9.3.1).
    safe fn MPI_Comm_create_errhandler(comm_errhandler_fn: Option<MPI_Comm_errhandler_function>, errhandler: Out<'_, MPI_Errhandler>) {
        let mut process = enter_anyway();
        process.engine()?;
        errhandler.set(process.objects.errhandlers.create(comm_errhandler_fn.map(UserHandler::Comm))?);
        Ok(())
    }

    /// Sets a communicator's handler.
    safe fn MPI_Comm_set_errhandler(comm: MPI_Comm, errhandler: MPI_Errhandler) on comm {
        let mut process = enter_anyway();
        process.comm(comm)?;
        process.objects.errhandlers.use_for(comm.into(), errhandler)?;
        let old = std::mem::replace(&mut process.comm_mut(comm)?.errhandler, errhandler);
        process.objects.errhandlers.release(old);
        Ok(())
    }

    /// A communicator's handler; the program frees the handle.
    safe fn MPI_Comm_get_errhandler(comm: MPI_Comm, errhandler: Out<'_, MPI_Errhandler>) on comm {
        let mut process = enter_anyway();
        let used = process.comm(comm)?.errhandler;
        errhandler.set(process.objects.errhandlers.hand_out(used));
        Ok(())
    }

    /// Calls a communicator's handler (section 9.5).
    safe fn MPI_Comm_call_errhandler(comm: MPI_Comm, errorcode: c_int) on comm {
        enter_anyway().comm(comm)?;
        call_on_demand("MPI_Comm_call_errhandler", comm.into(), errorcode);
        Ok(())
    }

    /// A handler for sessions, at any time (section 9.3.4).
    safe fn MPI_Session_create_errhandler(session_errhandler_fn: Option<MPI_Session_errhandler_function>, errhandler: Out<'_, MPI_Errhandler>) {
        let function = session_errhandler_fn.map(UserHandler::Session);
        errhandler.set(enter_anyway().objects.errhandlers.create(function)?);
        Ok(())
    }

    /// Sets a session's handler.
    safe fn MPI_Session_set_errhandler(session: MPI_Session, errhandler: MPI_Errhandler) on session {
        let mut process = enter_anyway();
        process.session(session)?;
        process.objects.errhandlers.use_for(session.into(), errhandler)?;
        let old = std::mem::replace(&mut process.session_mut(session)?.errhandler, errhandler);
        process.objects.errhandlers.release(old);
        Ok(())
    }

    /// A session's handler; the program frees the handle.
    safe fn MPI_Session_get_errhandler(session: MPI_Session, errhandler: Out<'_, MPI_Errhandler>) on session {
        let mut process = enter_anyway();
        let used = process.session(session)?.errhandler;
        errhandler.set(process.objects.errhandlers.hand_out(used));
        Ok(())
    }

    /// Calls a session's handler.
    safe fn MPI_Session_call_errhandler(session: MPI_Session, errorcode: c_int) on session {
        enter_anyway().session(session)?;
        call_on_demand("MPI_Session_call_errhandler", session.into(), errorcode);
        Ok(())
    }

    /// A handler for files (section 9.3.3).
    safe fn MPI_File_create_errhandler(file_errhandler_fn: Option<MPI_File_errhandler_function>, errhandler: Out<'_, MPI_Errhandler>) {
        let mut process = enter_anyway();
        process.engine()?;
        errhandler.set(process.objects.errhandlers.create(file_errhandler_fn.map(UserHandler::File))?);
        Ok(())
    }

    /// Sets a file's handler; that of `MPI_FILE_NULL` is the one of files to be opened (section 14.7).
    safe fn MPI_File_set_errhandler(file: MPI_File, errhandler: MPI_Errhandler) on file {
        let mut process = enter_anyway();
        known_file(&mut process, file)?;
        process.objects.errhandlers.use_for(file.into(), errhandler)?;
        let old = if file == MPI_FILE_NULL {
            std::mem::replace(&mut process.objects.errhandlers.file, errhandler)
        } else {
            std::mem::replace(&mut process.file_mut(file)?.errhandler, errhandler)
        };
        process.objects.errhandlers.release(old);
        Ok(())
    }

    /// A file's handler; the program frees the handle.
    safe fn MPI_File_get_errhandler(file: MPI_File, errhandler: Out<'_, MPI_Errhandler>) on file {
        let mut process = enter_anyway();
        known_file(&mut process, file)?;
        let used = match file {
            MPI_FILE_NULL => process.objects.errhandlers.file,
            _ => process.file(file)?.errhandler,
        };
        errhandler.set(process.objects.errhandlers.hand_out(used));
        Ok(())
    }

    /// Calls a file's handler.
    safe fn MPI_File_call_errhandler(fh: MPI_File, errorcode: c_int) on fh {
        known_file(&mut enter_anyway(), fh)?;
        call_on_demand("MPI_File_call_errhandler", fh.into(), errorcode);
        Ok(())
    }

    /// A handler for windows (section 9.3.2).
    safe fn MPI_Win_create_errhandler(win_errhandler_fn: Option<MPI_Win_errhandler_function>, errhandler: Out<'_, MPI_Errhandler>) {
        let mut process = enter_anyway();
        process.engine()?;
        errhandler.set(process.objects.errhandlers.create(win_errhandler_fn.map(UserHandler::Win))?);
        Ok(())
    }

    /// Sets a window's handler.
    safe fn MPI_Win_set_errhandler(win: MPI_Win, errhandler: MPI_Errhandler) on win {
        let mut process = enter_anyway();
        process.window(win)?;
        process.objects.errhandlers.use_for(win.into(), errhandler)?;
        let old = std::mem::replace(&mut process.window_mut(win)?.errhandler, errhandler);
        process.objects.errhandlers.release(old);
        Ok(())
    }

    /// The error handler of a window.
    safe fn MPI_Win_get_errhandler(win: MPI_Win, errhandler: Out<'_, MPI_Errhandler>) on win {
        let mut process = enter_anyway();
        let used = process.window(win)?.errhandler;
        errhandler.set(process.objects.errhandlers.hand_out(used));
        Ok(())
    }

    /// Calls a window's handler.
    safe fn MPI_Win_call_errhandler(win: MPI_Win, errorcode: c_int) on win {
        enter_anyway().window(win)?;
        call_on_demand("MPI_Win_call_errhandler", win.into(), errorcode);
        Ok(())
    }

    /// Gives a handle back, at any time; objects that use the handler go on with it.
    safe fn MPI_Errhandler_free(errhandler: &mut MPI_Errhandler) {
        enter_anyway().objects.errhandlers.take_back(*errhandler)?;
        *errhandler = MPI_ERRHANDLER_NULL;
        Ok(())
    }
}

/// A file, or `MPI_FILE_NULL`, which has a handler too.
fn known_file(process: &mut Process, file: MPI_File) -> Result {
    process.engine()?;
    if file == MPI_FILE_NULL { Ok(()) } else { process.file(file).map(|_| ()) }
}

/// The program wants an object's handler to be called.
fn call_on_demand(call: &str, place: ErrorObject, code: c_int) {
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
            call_handler(function, place, code);
        }
    }
}
