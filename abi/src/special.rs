//! Special values of integer arguments: ranks, tags, thread levels, and where a Fortran status keeps what.

int_family! {
    /// Special ranks, tags and counts, and their names.
    SPECIAL_NAMES: i32 {
        MPI_ANY_SOURCE = -1,
        MPI_ANY_TAG = -2,
        MPI_PROC_NULL = -3,
        MPI_ROOT = -4,
        MPI_UNDEFINED = -32766,
    }
}

int_family! {
    /// Levels of thread support (section 11.2.1) and their names.
    THREAD_LEVEL_NAMES: i32 {
        MPI_THREAD_SINGLE = 0,
        MPI_THREAD_FUNNELED = 1024,
        MPI_THREAD_SERIALIZED = 2048,
        MPI_THREAD_MULTIPLE = 4096,
    }
}

int_family! {
    /// Size and places of a status as Fortran integers (section 19.3.5), and their names.
    F_STATUS_NAMES: i32 {
        MPI_F_STATUS_SIZE = 8,
        MPI_F_SOURCE = 0,
        MPI_F_TAG = 1,
        MPI_F_ERROR = 2,
    }
}
