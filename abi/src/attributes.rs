//! Attribute keys of communicators and windows (sections 9.1.2 and 12.2.6).

int_family! {
    /// Predefined attribute keys and their names.
    KEYVAL_NAMES: i32 {
        MPI_KEYVAL_INVALID = 0,
        MPI_TAG_UB = 501,
        MPI_IO = 502,
        MPI_HOST = 503,
        MPI_WTIME_IS_GLOBAL = 504,
        MPI_APPNUM = 505,
        MPI_LASTUSEDCODE = 506,
        MPI_UNIVERSE_SIZE = 507,
        MPI_WIN_BASE = 601,
        MPI_WIN_DISP_UNIT = 602,
        MPI_WIN_SIZE = 603,
        MPI_WIN_CREATE_FLAVOR = 604,
        MPI_WIN_MODEL = 605,
    }
}
