//! Predefined datatypes (section 3.2.2, annex A.1.1).
//!
//! The value of a fixed-size type tells its size: bits 3 to 5 hold the binary logarithm of its bytes
//! (chapter 20). Types whose size follows the C compiler do not encode it.

use crate::MPI_Datatype;

handle_family! {
    /// Predefined datatypes and their names.
    DATATYPE_NAMES: MPI_Datatype {
        MPI_DATATYPE_NULL = 0x200,
        MPI_AINT = 0x201,
        MPI_COUNT = 0x202,
        MPI_OFFSET = 0x203,
        MPI_PACKED = 0x207,
        MPI_SHORT = 0x208,
        MPI_INT = 0x209,
        MPI_LONG = 0x20a,
        MPI_LONG_LONG = 0x20b,
        MPI_UNSIGNED_SHORT = 0x20c,
        MPI_UNSIGNED = 0x20d,
        MPI_UNSIGNED_LONG = 0x20e,
        MPI_UNSIGNED_LONG_LONG = 0x20f,
        MPI_FLOAT = 0x210,
        MPI_C_FLOAT_COMPLEX = 0x212,
        MPI_CXX_FLOAT_COMPLEX = 0x213,
        MPI_DOUBLE = 0x214,
        MPI_C_DOUBLE_COMPLEX = 0x216,
        MPI_CXX_DOUBLE_COMPLEX = 0x217,
        MPI_LOGICAL = 0x218,
        MPI_INTEGER = 0x219,
        MPI_REAL = 0x21a,
        MPI_COMPLEX = 0x21b,
        MPI_DOUBLE_PRECISION = 0x21c,
        MPI_DOUBLE_COMPLEX = 0x21d,
        MPI_CHARACTER = 0x21e,
        MPI_LONG_DOUBLE = 0x220,
        MPI_C_LONG_DOUBLE_COMPLEX = 0x224,
        MPI_CXX_LONG_DOUBLE_COMPLEX = 0x225,
        MPI_FLOAT_INT = 0x228,
        MPI_DOUBLE_INT = 0x229,
        MPI_LONG_INT = 0x22a,
        MPI_2INT = 0x22b,
        MPI_SHORT_INT = 0x22c,
        MPI_LONG_DOUBLE_INT = 0x22d,
        MPI_2REAL = 0x230,
        MPI_2DOUBLE_PRECISION = 0x231,
        MPI_2INTEGER = 0x232,
        MPI_C_BOOL = 0x238,
        MPI_CXX_BOOL = 0x239,
        MPI_WCHAR = 0x23c,
        MPI_INT8_T = 0x240,
        MPI_UINT8_T = 0x241,
        MPI_CHAR = 0x243,
        MPI_SIGNED_CHAR = 0x244,
        MPI_UNSIGNED_CHAR = 0x245,
        MPI_BYTE = 0x247,
        MPI_INT16_T = 0x248,
        MPI_UINT16_T = 0x249,
        MPI_INT32_T = 0x250,
        MPI_UINT32_T = 0x251,
        MPI_INT64_T = 0x258,
        MPI_UINT64_T = 0x259,
        MPI_LOGICAL1 = 0x2c0,
        MPI_INTEGER1 = 0x2c1,
        MPI_LOGICAL2 = 0x2c8,
        MPI_INTEGER2 = 0x2c9,
        MPI_REAL2 = 0x2ca,
        MPI_LOGICAL4 = 0x2d0,
        MPI_INTEGER4 = 0x2d1,
        MPI_REAL4 = 0x2d2,
        MPI_COMPLEX4 = 0x2d3,
        MPI_LOGICAL8 = 0x2d8,
        MPI_INTEGER8 = 0x2d9,
        MPI_REAL8 = 0x2da,
        MPI_COMPLEX8 = 0x2db,
        MPI_LOGICAL16 = 0x2e0,
        MPI_INTEGER16 = 0x2e1,
        MPI_REAL16 = 0x2e2,
        MPI_COMPLEX16 = 0x2e3,
        MPI_COMPLEX32 = 0x2eb,
    }
}

/// A second name of [`MPI_LONG_LONG`].
pub const MPI_LONG_LONG_INT: MPI_Datatype = MPI_LONG_LONG;
/// A second name of [`MPI_C_FLOAT_COMPLEX`].
pub const MPI_C_COMPLEX: MPI_Datatype = MPI_C_FLOAT_COMPLEX;

/// The standard's name of a predefined datatype, [`MPI_DATATYPE_NULL`] included.
pub fn datatype_name(datatype: MPI_Datatype) -> Option<&'static str> {
    DATATYPE_NAMES.iter().find(|(handle, _)| *handle == datatype).map(|(_, name)| *name)
}
