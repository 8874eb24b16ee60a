//! Handle types: opaque pointers in C, and here an integer of a pointer's size (chapter 20).
//!
//! A handle is never dereferenced. Its value says what it is: the standard gives predefined handles values
//! below 4096; Tern gives its own objects 31-bit integers above them, so that `MPI_X_toint` loses nothing.

macro_rules! handle_types {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub usize);

        const _: () = assert!(size_of::<$name>() == size_of::<*const ()>());
    )*
    /// The name of every handle type, in the order of the ABI table.
    pub const HANDLE_TYPE_NAMES: &[&str] = &[$(stringify!($name),)*];
    };
}

handle_types! {
    /// A reduction operation (section 6.9).
    MPI_Op,
    /// A communicator (chapter 7).
    MPI_Comm,
    /// An ordered set of processes (section 7.3).
    MPI_Group,
    /// A window of memory for one-sided communication (chapter 12).
    MPI_Win,
    /// An open file (chapter 14).
    MPI_File,
    /// A session (section 11.3).
    MPI_Session,
    /// A message taken off the queue by a matching probe (section 3.8.2).
    MPI_Message,
    /// An ordered set of key and value strings (chapter 10).
    MPI_Info,
    /// What to do about an error (section 9.3).
    MPI_Errhandler,
    /// An operation that has been started (section 3.7).
    MPI_Request,
    /// A datatype (chapter 5).
    MPI_Datatype,
    /// An enumeration of the tool interface (section 15.3.5).
    MPI_T_enum,
    /// A control variable bound to an object (section 15.3.6).
    MPI_T_cvar_handle,
    /// A performance variable bound to an object (section 15.3.7).
    MPI_T_pvar_handle,
    /// A set of performance variable handles (section 15.3.7).
    MPI_T_pvar_session,
    /// A registration for events (section 15.3.8).
    MPI_T_event_registration,
    /// One event, valid inside its callback (section 15.3.8).
    MPI_T_event_instance,
}

handle_family! {
    /// Predefined communicators and their names.
    COMM_NAMES: MPI_Comm {
        MPI_COMM_NULL = 0x100,
        MPI_COMM_WORLD = 0x101,
        MPI_COMM_SELF = 0x102,
    }
}

handle_family! {
    /// Predefined groups and their names.
    GROUP_NAMES: MPI_Group {
        MPI_GROUP_NULL = 0x108,
        MPI_GROUP_EMPTY = 0x109,
    }
}

handle_family! {
    /// Predefined windows and their names.
    WIN_NAMES: MPI_Win {
        MPI_WIN_NULL = 0x110,
    }
}

handle_family! {
    /// Predefined files and their names.
    FILE_NAMES: MPI_File {
        MPI_FILE_NULL = 0x118,
    }
}

handle_family! {
    /// Predefined sessions and their names.
    SESSION_NAMES: MPI_Session {
        MPI_SESSION_NULL = 0x120,
    }
}

handle_family! {
    /// Predefined messages and their names.
    MESSAGE_NAMES: MPI_Message {
        MPI_MESSAGE_NULL = 0x128,
        MPI_MESSAGE_NO_PROC = 0x129,
    }
}

handle_family! {
    /// Predefined info objects and their names.
    INFO_NAMES: MPI_Info {
        MPI_INFO_NULL = 0x130,
        MPI_INFO_ENV = 0x131,
    }
}

handle_family! {
    /// Predefined error handlers and their names.
    ERRHANDLER_NAMES: MPI_Errhandler {
        MPI_ERRHANDLER_NULL = 0x140,
        MPI_ERRORS_ARE_FATAL = 0x141,
        MPI_ERRORS_ABORT = 0x142,
        MPI_ERRORS_RETURN = 0x143,
    }
}

handle_family! {
    /// Predefined requests and their names.
    REQUEST_NAMES: MPI_Request {
        MPI_REQUEST_NULL = 0x180,
    }
}
