//! Versions, and the lengths that bound strings, each with room for the final null (annex A.1.1).

int_family! {
    /// Versions of the standard and of the ABI, and their names.
    VERSION_NAMES: i32 {
        MPI_VERSION = 5,
        MPI_SUBVERSION = 0,
        MPI_ABI_VERSION = 1,
        MPI_ABI_SUBVERSION = 0,
    }
}

int_family! {
    /// Maximal lengths in bytes and the overhead of one buffered send, and their names.
    LENGTH_NAMES: i32 {
        MPI_MAX_DATAREP_STRING = 128,
        MPI_MAX_ERROR_STRING = 512,
        MPI_MAX_INFO_KEY = 256,
        MPI_MAX_INFO_VAL = 1024,
        MPI_MAX_LIBRARY_VERSION_STRING = 8192,
        MPI_MAX_OBJECT_NAME = 128,
        MPI_MAX_PORT_NAME = 1024,
        MPI_MAX_PROCESSOR_NAME = 256,
        MPI_MAX_STRINGTAG_LEN = 1024,
        MPI_MAX_PSET_NAME_LEN = 1024,
        MPI_BSEND_OVERHEAD = 512,
    }
}
