//! Constants of the tool information interface (chapter 15).

use crate::{MPI_T_cvar_handle, MPI_T_enum, MPI_T_pvar_handle, MPI_T_pvar_session};

handle_family! {
    /// Predefined enumerations and their names.
    T_ENUM_NAMES: MPI_T_enum {
        MPI_T_ENUM_NULL = 0,
    }
}

handle_family! {
    /// Predefined control variable handles and their names.
    T_CVAR_HANDLE_NAMES: MPI_T_cvar_handle {
        MPI_T_CVAR_HANDLE_NULL = 0,
    }
}

handle_family! {
    /// Predefined performance variable handles and their names.
    T_PVAR_HANDLE_NAMES: MPI_T_pvar_handle {
        MPI_T_PVAR_HANDLE_NULL = 0,
        MPI_T_PVAR_ALL_HANDLES = 1,
    }
}

handle_family! {
    /// Predefined performance variable sessions and their names.
    T_PVAR_SESSION_NAMES: MPI_T_pvar_session {
        MPI_T_PVAR_SESSION_NULL = 0,
    }
}

/// How safe a callback must be (section 15.3.8): an enumeration type in C.
pub type MPI_T_cb_safety = u32;
/// Whether a source's events come in order of time (section 15.3.8): an enumeration type in C.
pub type MPI_T_source_order = u32;

int_family! {
    /// Levels of callback safety and their names.
    T_CB_SAFETY_NAMES: MPI_T_cb_safety {
        MPI_T_CB_REQUIRE_NONE = 0x00,
        MPI_T_CB_REQUIRE_MPI_RESTRICTED = 0x03,
        MPI_T_CB_REQUIRE_THREAD_SAFE = 0x0f,
        MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE = 0x3f,
    }
}

int_family! {
    /// Orders of event sources and their names.
    T_SOURCE_ORDER_NAMES: MPI_T_source_order {
        MPI_T_SOURCE_ORDERED = 1,
        MPI_T_SOURCE_UNORDERED = 2,
    }
}

int_family! {
    /// Who a variable is meant for, and in how much detail (section 15.3.1), and their names.
    T_VERBOSITY_NAMES: i32 {
        MPI_T_VERBOSITY_USER_BASIC = 0x09,
        MPI_T_VERBOSITY_USER_DETAIL = 0x0a,
        MPI_T_VERBOSITY_USER_ALL = 0x0c,
        MPI_T_VERBOSITY_TUNER_BASIC = 0x11,
        MPI_T_VERBOSITY_TUNER_DETAIL = 0x12,
        MPI_T_VERBOSITY_TUNER_ALL = 0x14,
        MPI_T_VERBOSITY_MPIDEV_BASIC = 0x21,
        MPI_T_VERBOSITY_MPIDEV_DETAIL = 0x22,
        MPI_T_VERBOSITY_MPIDEV_ALL = 0x24,
    }
}

int_family! {
    /// Objects that a variable may be bound to (section 15.3.2) and their names.
    T_BIND_NAMES: i32 {
        MPI_T_BIND_NO_OBJECT = 1,
        MPI_T_BIND_MPI_COMM = 2,
        MPI_T_BIND_MPI_DATATYPE = 3,
        MPI_T_BIND_MPI_ERRHANDLER = 4,
        MPI_T_BIND_MPI_FILE = 5,
        MPI_T_BIND_MPI_GROUP = 6,
        MPI_T_BIND_MPI_OP = 7,
        MPI_T_BIND_MPI_REQUEST = 8,
        MPI_T_BIND_MPI_WIN = 9,
        MPI_T_BIND_MPI_MESSAGE = 10,
        MPI_T_BIND_MPI_INFO = 11,
        MPI_T_BIND_MPI_SESSION = 12,
    }
}

int_family! {
    /// Scopes in which a control variable must be set alike (section 15.3.6) and their names.
    T_SCOPE_NAMES: i32 {
        MPI_T_SCOPE_CONSTANT = 1,
        MPI_T_SCOPE_READONLY = 2,
        MPI_T_SCOPE_LOCAL = 3,
        MPI_T_SCOPE_GROUP = 4,
        MPI_T_SCOPE_GROUP_EQ = 5,
        MPI_T_SCOPE_ALL = 6,
        MPI_T_SCOPE_ALL_EQ = 7,
    }
}

int_family! {
    /// Classes of performance variables (section 15.3.7) and their names.
    T_PVAR_CLASS_NAMES: i32 {
        MPI_T_PVAR_CLASS_STATE = 1,
        MPI_T_PVAR_CLASS_LEVEL = 2,
        MPI_T_PVAR_CLASS_SIZE = 3,
        MPI_T_PVAR_CLASS_PERCENTAGE = 4,
        MPI_T_PVAR_CLASS_HIGHWATERMARK = 5,
        MPI_T_PVAR_CLASS_LOWWATERMARK = 6,
        MPI_T_PVAR_CLASS_COUNTER = 7,
        MPI_T_PVAR_CLASS_AGGREGATE = 8,
        MPI_T_PVAR_CLASS_TIMER = 9,
        MPI_T_PVAR_CLASS_GENERIC = 10,
    }
}
