//! Error classes (section 9.4) and those of the tool interface (section 15.3.10): value, name, one line.

/// What is known of an error class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorClass {
    /// The class, which is also the error code that has only a class.
    pub class: i32,
    /// Its name, as in `MPI_ERR_RANK`.
    pub name: &'static str,
    /// What it means, as `MPI_Error_string` says it.
    pub text: &'static str,
}

macro_rules! error_classes {
    ($($name:ident = $value:literal: $text:literal,)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`: ", $text, ".")]
            pub const $name: i32 = $value;
        )*
        /// Every predefined error class, in ascending order.
        pub const ERROR_CLASSES: &[ErrorClass] =
            &[$(ErrorClass { class: $name, name: stringify!($name), text: $text },)*];
    };
}

error_classes! {
    MPI_SUCCESS = 0: "no error",
    MPI_ERR_BUFFER = 1: "invalid buffer pointer",
    MPI_ERR_COUNT = 2: "invalid count argument",
    MPI_ERR_TYPE = 3: "invalid datatype argument",
    MPI_ERR_TAG = 4: "invalid tag argument",
    MPI_ERR_COMM = 5: "invalid communicator",
    MPI_ERR_RANK = 6: "invalid rank",
    MPI_ERR_REQUEST = 7: "invalid request handle",
    MPI_ERR_ROOT = 8: "invalid root",
    MPI_ERR_GROUP = 9: "invalid group",
    MPI_ERR_OP = 10: "invalid operation",
    MPI_ERR_TOPOLOGY = 11: "invalid topology",
    MPI_ERR_DIMS = 12: "invalid dimension argument",
    MPI_ERR_ARG = 13: "invalid argument of some other kind",
    MPI_ERR_UNKNOWN = 14: "unknown error",
    MPI_ERR_TRUNCATE = 15: "message truncated on receive",
    MPI_ERR_OTHER = 16: "known error not in this list",
    MPI_ERR_INTERN = 17: "internal error of the MPI library",
    MPI_ERR_PENDING = 18: "pending request",
    MPI_ERR_IN_STATUS = 19: "error code is in the status",
    MPI_ERR_ACCESS = 20: "permission denied",
    MPI_ERR_AMODE = 21: "invalid or conflicting file access mode",
    MPI_ERR_ASSERT = 22: "invalid assertion argument",
    MPI_ERR_BAD_FILE = 23: "invalid file name",
    MPI_ERR_BASE = 24: "invalid base passed to MPI_Free_mem",
    MPI_ERR_CONVERSION = 25: "error in a user-supplied data conversion function",
    MPI_ERR_DISP = 26: "invalid displacement argument",
    MPI_ERR_DUP_DATAREP = 27: "data representation is already defined",
    MPI_ERR_FILE_EXISTS = 28: "file exists",
    MPI_ERR_FILE_IN_USE = 29: "file is open in another process",
    MPI_ERR_FILE = 30: "invalid file handle",
    MPI_ERR_INFO_KEY = 31: "info key is longer than MPI_MAX_INFO_KEY",
    MPI_ERR_INFO_NOKEY = 32: "info key is not defined",
    MPI_ERR_INFO_VALUE = 33: "info value is too long, or means nothing",
    MPI_ERR_INFO = 34: "invalid info argument",
    MPI_ERR_IO = 35: "input or output error",
    MPI_ERR_KEYVAL = 36: "invalid attribute key",
    MPI_ERR_LOCKTYPE = 37: "invalid lock type",
    MPI_ERR_NAME = 38: "service name is not published",
    MPI_ERR_NO_MEM = 39: "memory is exhausted",
    MPI_ERR_NOT_SAME = 40: "argument differs between the processes of a collective call",
    MPI_ERR_NO_SPACE = 41: "not enough space on the device",
    MPI_ERR_NO_SUCH_FILE = 42: "file does not exist",
    MPI_ERR_PORT = 43: "invalid port name",
    MPI_ERR_QUOTA = 44: "quota exceeded",
    MPI_ERR_READ_ONLY = 45: "file or file system is read-only",
    MPI_ERR_RMA_ATTACH = 46: "memory cannot be attached to the window",
    MPI_ERR_RMA_CONFLICT = 47: "conflicting accesses to a window",
    MPI_ERR_RMA_RANGE = 48: "target memory is not part of the window",
    MPI_ERR_RMA_SHARED = 49: "memory cannot be shared",
    MPI_ERR_RMA_SYNC = 50: "wrong synchronization of one-sided calls",
    MPI_ERR_SERVICE = 51: "invalid service name",
    MPI_ERR_SIZE = 52: "invalid size argument",
    MPI_ERR_SPAWN = 53: "processes cannot be spawned",
    MPI_ERR_UNSUPPORTED_DATAREP = 54: "unsupported data representation",
    MPI_ERR_UNSUPPORTED_OPERATION = 55: "unsupported operation",
    MPI_ERR_WIN = 56: "invalid window",
    MPI_ERR_RMA_FLAVOR = 57: "wrong flavor of window",
    MPI_ERR_PROC_ABORTED = 58: "a peer process has aborted",
    MPI_ERR_VALUE_TOO_LARGE = 59: "value is too large to store",
    MPI_ERR_SESSION = 60: "invalid session",
    MPI_ERR_ERRHANDLER = 61: "invalid error handler",
    MPI_ERR_ABI = 62: "operation on the ABI or its Fortran values was refused",
    MPI_T_ERR_CANNOT_INIT = 1001: "tool interface cannot be initialized",
    MPI_T_ERR_NOT_ACCESSIBLE = 1002: "tool interface function is not accessible",
    MPI_T_ERR_NOT_INITIALIZED = 1003: "tool interface is not initialized",
    MPI_T_ERR_NOT_SUPPORTED = 1004: "not supported by the tool interface",
    MPI_T_ERR_MEMORY = 1005: "tool interface is out of memory",
    MPI_T_ERR_INVALID = 1006: "invalid use of the tool interface or a bad argument",
    MPI_T_ERR_INVALID_INDEX = 1007: "invalid enumeration or variable index",
    MPI_T_ERR_INVALID_ITEM = 1008: "invalid item index",
    MPI_T_ERR_INVALID_SESSION = 1009: "invalid performance variable session",
    MPI_T_ERR_INVALID_HANDLE = 1010: "invalid handle of the tool interface",
    MPI_T_ERR_INVALID_NAME = 1011: "invalid variable or category name",
    MPI_T_ERR_OUT_OF_HANDLES = 1012: "no more handles of the tool interface",
    MPI_T_ERR_OUT_OF_SESSIONS = 1013: "no more performance variable sessions",
    MPI_T_ERR_CVAR_SET_NOT_NOW = 1014: "control variable cannot be set at this moment",
    MPI_T_ERR_CVAR_SET_NEVER = 1015: "control variable cannot be set",
    MPI_T_ERR_PVAR_NO_WRITE = 1016: "performance variable cannot be written",
    MPI_T_ERR_PVAR_NO_STARTSTOP = 1017: "performance variable cannot be started or stopped",
    MPI_T_ERR_PVAR_NO_ATOMIC = 1018: "performance variable cannot be read and reset atomically",
    MPI_ERR_LASTCODE = 16383: "last error code of the standard",
}

/// What is known of a predefined class; none for codes made by the library or the user.
pub fn error_class(class: i32) -> Option<&'static ErrorClass> {
    ERROR_CLASSES.binary_search_by_key(&class, |known| known.class).ok().map(|at| &ERROR_CLASSES[at])
}

/// Name of a predefined class, as in `MPI_ERR_RANK`.
pub fn error_class_name(class: i32) -> Option<&'static str> {
    error_class(class).map(|known| known.name)
}

/// What a predefined class means, in one line.
pub fn error_class_text(class: i32) -> Option<&'static str> {
    error_class(class).map(|known| known.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_ascend_so_that_a_search_finds_them() {
        assert!(ERROR_CLASSES.windows(2).all(|pair| pair[0].class < pair[1].class));
        assert_eq!(error_class(MPI_ERR_TRUNCATE).map(|known| known.name), Some("MPI_ERR_TRUNCATE"));
        assert_eq!(error_class(63), None);
    }

    #[test]
    fn texts_fit_the_standards_buffer() {
        assert!(ERROR_CLASSES.iter().all(|known| known.text.len() < crate::MPI_MAX_ERROR_STRING as usize));
    }
}
