//! Constants of file input and output (chapter 14).

use crate::MPI_Offset;

/// "Where the file is now", as a displacement of `MPI_File_set_view` (section 14.3).
pub const MPI_DISPLACEMENT_CURRENT: MPI_Offset = -1;

int_family! {
    /// Access modes (section 14.2.1), which combine by `|`, and their names.
    AMODE_NAMES: i32 {
        MPI_MODE_APPEND = 1,
        MPI_MODE_CREATE = 2,
        MPI_MODE_DELETE_ON_CLOSE = 4,
        MPI_MODE_EXCL = 8,
        MPI_MODE_RDONLY = 16,
        MPI_MODE_RDWR = 32,
        MPI_MODE_SEQUENTIAL = 64,
        MPI_MODE_UNIQUE_OPEN = 128,
        MPI_MODE_WRONLY = 256,
    }
}

int_family! {
    /// Directions of seeking (section 14.4.3) and their names.
    SEEK_NAMES: i32 {
        MPI_SEEK_CUR = 401,
        MPI_SEEK_END = 402,
        MPI_SEEK_SET = 403,
    }
}
