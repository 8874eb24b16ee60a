//! Reduction operations (section 6.9.2).

use crate::MPI_Op;

handle_family! {
    /// Predefined operations and their names.
    OP_NAMES: MPI_Op {
        MPI_OP_NULL = 0x20,
        MPI_SUM = 0x21,
        MPI_MIN = 0x22,
        MPI_MAX = 0x23,
        MPI_PROD = 0x24,
        MPI_BAND = 0x28,
        MPI_BOR = 0x29,
        MPI_BXOR = 0x2a,
        MPI_LAND = 0x30,
        MPI_LOR = 0x31,
        MPI_LXOR = 0x32,
        MPI_MINLOC = 0x38,
        MPI_MAXLOC = 0x39,
        MPI_REPLACE = 0x3c,
        MPI_NO_OP = 0x3d,
    }
}

/// The standard's name of a predefined operation, [`MPI_OP_NULL`] included.
pub fn op_name(op: MPI_Op) -> Option<&'static str> {
    OP_NAMES.iter().find(|(handle, _)| *handle == op).map(|(_, name)| *name)
}
