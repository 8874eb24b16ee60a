//! Special values of pointer arguments, as integers to compare a pointer's address with.

int_family! {
    /// Special addresses and their names.
    ADDRESS_NAMES: usize {
        MPI_BOTTOM = 0,
        MPI_IN_PLACE = 1,
        MPI_BUFFER_AUTOMATIC = 2,
        MPI_ARGV_NULL = 0,
        MPI_ARGVS_NULL = 0,
        MPI_ERRCODES_IGNORE = 0,
        MPI_STATUS_IGNORE = 0,
        MPI_STATUSES_IGNORE = 0,
        MPI_UNWEIGHTED = 10,
        MPI_WEIGHTS_EMPTY = 11,
    }
}
