//! Constants of one-sided communication (chapter 12).

int_family! {
    /// Lock types, window flavours and memory models, and their names.
    WIN_VALUE_NAMES: i32 {
        MPI_LOCK_EXCLUSIVE = 301,
        MPI_LOCK_SHARED = 302,
        MPI_WIN_FLAVOR_CREATE = 311,
        MPI_WIN_FLAVOR_ALLOCATE = 312,
        MPI_WIN_FLAVOR_DYNAMIC = 313,
        MPI_WIN_FLAVOR_SHARED = 314,
        MPI_WIN_UNIFIED = 321,
        MPI_WIN_SEPARATE = 322,
    }
}

int_family! {
    /// Assertions of the synchronization calls (section 12.5.5), which combine by `|`, and their names.
    ASSERTION_NAMES: i32 {
        MPI_MODE_NOCHECK = 1024,
        MPI_MODE_NOPRECEDE = 2048,
        MPI_MODE_NOPUT = 4096,
        MPI_MODE_NOSTORE = 8192,
        MPI_MODE_NOSUCCEED = 16384,
    }
}
