//! Handles of MPICH: integers. Predefined ones have values of MPICH's; all others are Tern's own 31 bits, with upper bits set
//! that no predefined handle of their kind has.

use std::ffi::c_int;

use tern_abi::naming::{DATATYPE_HANDLE, FILE_HANDLE};
use tern_abi::*;
use tern_bridge::foreign::ForeignHandle;
use tern_bridge::removed::{LOWER_BOUND, UPPER_BOUND};
use tern_bridge::values::mpich as values;

/// Set in handles that are not predefined. Those of MPICH have it in its pair datatypes only.
const MADE: u32 = 1 << 31;
/// The same for datatypes: the upper bits that say in MPICH that a handle is of an object of the program's.
const MADE_DATATYPE: u32 = 0b11 << 30;
/// Where handles of the standard's own end.
const PREDEFINED_END: usize = 4096;
/// Marks a handle that is none, so that Tern's message names the value.
const FOREIGN: usize = 1 << 32;

/// The program's value of a handle that Tern refuses: what its message names.
pub(crate) extern "C" fn given(number: usize, kind: c_int) -> usize {
    match kind {
        FILE_HANDLE => number,
        _ if number & FOREIGN != 0 => number & !FOREIGN,
        _ if number < PREDEFINED_END => number,
        DATATYPE_HANDLE => number | MADE_DATATYPE as usize,
        _ => number | MADE as usize,
    }
}

/// A kind of handle with few predefined values.
macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident: $inner:ident { $($constant:ident)* })*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct $name(pub(crate) c_int);

        impl ForeignHandle for $name {
            type Inner = $inner;
            const UNWRITTEN: $inner = $inner(usize::MAX);

            #[inline(always)]
            fn inner(self) -> $inner {
                $(if self.0 == values::$constant as u32 as c_int {
                    return $constant;
                })*
                let bits = self.0 as u32;
                $inner(if bits & MADE != 0 { (bits & !MADE) as usize } else { FOREIGN | bits as usize })
            }

            #[inline(always)]
            fn outer(inner: $inner) -> Self {
                $(if inner == $constant {
                    return $name(values::$constant as u32 as c_int);
                })*
                $name((inner.0 as u32 | MADE) as c_int)
            }

            fn fortran(self) -> c_int {
                self.0 as c_int
            }
        }
    )*};
}

handles! {
    /// `MPI_Comm`
    Comm: MPI_Comm { MPI_COMM_WORLD MPI_COMM_SELF MPI_COMM_NULL }
    /// `MPI_Group`
    Group: MPI_Group { MPI_GROUP_NULL MPI_GROUP_EMPTY }
    /// `MPI_Op`
    Op: MPI_Op {
        MPI_SUM MPI_MAX MPI_MIN MPI_PROD MPI_LAND MPI_BAND MPI_LOR MPI_BOR MPI_LXOR MPI_BXOR MPI_MINLOC MPI_MAXLOC
        MPI_REPLACE MPI_NO_OP MPI_OP_NULL
    }
    /// `MPI_Info`
    Info: MPI_Info { MPI_INFO_NULL MPI_INFO_ENV }
    /// `MPI_Errhandler`
    Errhandler: MPI_Errhandler { MPI_ERRORS_ARE_FATAL MPI_ERRORS_RETURN MPI_ERRORS_ABORT MPI_ERRHANDLER_NULL }
    /// `MPI_Request`
    Request: MPI_Request { MPI_REQUEST_NULL }
    /// `MPI_Message`
    Message: MPI_Message { MPI_MESSAGE_NULL MPI_MESSAGE_NO_PROC }
    /// `MPI_Session`
    Session: MPI_Session { MPI_SESSION_NULL }
    /// `MPI_Win`
    Win: MPI_Win { MPI_WIN_NULL }
}

/// `MPI_File`: a pointer in MPICH, and null for no file.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MpichFile(pub usize);

impl ForeignHandle for MpichFile {
    type Inner = MPI_File;
    const UNWRITTEN: MPI_File = MPI_File(usize::MAX);

    fn inner(self) -> MPI_File {
        if self.0 == 0 { MPI_FILE_NULL } else { MPI_File(self.0) }
    }

    fn outer(inner: MPI_File) -> Self {
        if inner == MPI_FILE_NULL { MpichFile(0) } else { MpichFile(inner.0) }
    }

    fn fortran(self) -> c_int {
        self.0 as c_int
    }
}

/// `MPI_Datatype`: the lowest byte numbers the predefined ones, but for pairs of different types.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Datatype(pub c_int);

impl ForeignHandle for Datatype {
    type Inner = MPI_Datatype;
    const UNWRITTEN: MPI_Datatype = MPI_Datatype(usize::MAX);

    #[inline(always)]
    fn inner(self) -> MPI_Datatype {
        let bits = self.0 as u32;
        let (value, inner) = BY_NUMBER[(bits & 0xff) as usize];
        if value == bits {
            return MPI_Datatype(inner as usize);
        }
        if bits & MADE_DATATYPE == MADE_DATATYPE {
            return MPI_Datatype((bits & !MADE_DATATYPE) as usize);
        }
        let pair = PAIRS.iter().find(|pair| pair.0 == bits);
        pair.map_or(MPI_Datatype(FOREIGN | bits as usize), |pair| pair.1)
    }

    #[inline(always)]
    fn outer(inner: MPI_Datatype) -> Self {
        if inner.0 >= PREDEFINED_END {
            return Datatype((inner.0 as u32 | MADE_DATATYPE) as c_int);
        }
        Datatype(BY_INNER[inner.0 % BY_INNER.len()] as c_int)
    }

    fn fortran(self) -> c_int {
        self.0 as c_int
    }
}

/// Pairs of different types and the null handle, whose lowest bytes stand for others.
const PAIRS: [(u32, MPI_Datatype); 6] = [
    (values::MPI_DATATYPE_NULL as u32, MPI_DATATYPE_NULL),
    (values::MPI_FLOAT_INT as u32, MPI_FLOAT_INT),
    (values::MPI_DOUBLE_INT as u32, MPI_DOUBLE_INT),
    (values::MPI_LONG_INT as u32, MPI_LONG_INT),
    (values::MPI_SHORT_INT as u32, MPI_SHORT_INT),
    (values::MPI_LONG_DOUBLE_INT as u32, MPI_LONG_DOUBLE_INT),
];

/// The other predefined datatypes, in both ABIs.
macro_rules! datatypes {
    ($($constant:ident)*) => {
        const DATATYPES: &[(u32, MPI_Datatype)] = &[
            $((values::$constant as u32, $constant),)*
            // MPI_LB and MPI_UB, which the standard has removed.
            (0x4c00_0010, LOWER_BOUND),
            (0x4c00_0011, UPPER_BOUND),
        ];
    };
}

datatypes! {
    MPI_AINT MPI_COUNT MPI_OFFSET MPI_PACKED MPI_SHORT MPI_INT MPI_LONG MPI_LONG_LONG MPI_UNSIGNED_SHORT
    MPI_UNSIGNED MPI_UNSIGNED_LONG MPI_UNSIGNED_LONG_LONG MPI_FLOAT MPI_C_FLOAT_COMPLEX MPI_CXX_FLOAT_COMPLEX
    MPI_DOUBLE MPI_C_DOUBLE_COMPLEX MPI_CXX_DOUBLE_COMPLEX MPI_LOGICAL MPI_INTEGER MPI_REAL MPI_COMPLEX
    MPI_DOUBLE_PRECISION MPI_DOUBLE_COMPLEX MPI_CHARACTER MPI_LONG_DOUBLE MPI_C_LONG_DOUBLE_COMPLEX
    MPI_CXX_LONG_DOUBLE_COMPLEX MPI_2INT MPI_2REAL MPI_2DOUBLE_PRECISION MPI_2INTEGER MPI_C_BOOL MPI_CXX_BOOL
    MPI_WCHAR MPI_INT8_T MPI_UINT8_T MPI_CHAR MPI_SIGNED_CHAR MPI_UNSIGNED_CHAR MPI_BYTE MPI_INT16_T
    MPI_UINT16_T MPI_INT32_T MPI_UINT32_T MPI_INT64_T MPI_UINT64_T MPI_LOGICAL1 MPI_INTEGER1 MPI_LOGICAL2
    MPI_INTEGER2 MPI_REAL2 MPI_LOGICAL4 MPI_INTEGER4 MPI_REAL4 MPI_COMPLEX4 MPI_LOGICAL8 MPI_INTEGER8
    MPI_REAL8 MPI_COMPLEX8 MPI_LOGICAL16 MPI_INTEGER16 MPI_REAL16 MPI_COMPLEX16 MPI_COMPLEX32
}

/// Value and standard handle by the lowest byte of the value.
static BY_NUMBER: [(u32, u16); 256] = {
    let mut table = [(0, 0); 256];
    let mut index = 0;
    while index < DATATYPES.len() {
        let (value, inner) = DATATYPES[index];
        assert!(table[(value & 0xff) as usize].0 == 0, "two datatypes have one number");
        table[(value & 0xff) as usize] = (value, inner.0 as u16);
        index += 1;
    }
    table[(C_FLOAT16 & 0xff) as usize] = (C_FLOAT16, MPI_REAL2.0 as u16);
    table
};

/// MPICH's datatype of C's `_Float16`, which the standard does not have: the same two bytes as Fortran's `REAL*2`.
const C_FLOAT16: u32 = 0x4c00_0246;

/// Values by the standard's handle.
static BY_INNER: [u32; 1024] = {
    let mut table = [values::MPI_DATATYPE_NULL as u32; 1024];
    let mut index = 0;
    while index < DATATYPES.len() {
        table[DATATYPES[index].1.0] = DATATYPES[index].0;
        index += 1;
    }
    index = 0;
    while index < PAIRS.len() {
        table[PAIRS[index].1.0] = PAIRS[index].0;
        index += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    fn survives<H: ForeignHandle + std::fmt::Debug>(inner: H::Inner)
    where
        H::Inner: std::fmt::Debug,
    {
        let outer = H::outer(inner);
        assert_eq!(outer.inner(), inner, "{outer:?}");
    }

    #[test]
    fn predefined_handles_survive_the_way_out_and_in() {
        COMM_NAMES.iter().for_each(|&(handle, _)| survives::<Comm>(handle));
        GROUP_NAMES.iter().for_each(|&(handle, _)| survives::<Group>(handle));
        OP_NAMES.iter().for_each(|&(handle, _)| survives::<Op>(handle));
        INFO_NAMES.iter().for_each(|&(handle, _)| survives::<Info>(handle));
        ERRHANDLER_NAMES.iter().for_each(|&(handle, _)| survives::<Errhandler>(handle));
        REQUEST_NAMES.iter().for_each(|&(handle, _)| survives::<Request>(handle));
        MESSAGE_NAMES.iter().for_each(|&(handle, _)| survives::<Message>(handle));
        SESSION_NAMES.iter().for_each(|&(handle, _)| survives::<Session>(handle));
        WIN_NAMES.iter().for_each(|&(handle, _)| survives::<Win>(handle));
        FILE_NAMES.iter().for_each(|&(handle, _)| survives::<MpichFile>(handle));
        DATATYPE_NAMES.iter().for_each(|&(handle, _)| survives::<Datatype>(handle));
    }

    #[test]
    fn handles_of_objects_survive_and_are_no_predefined_ones() {
        for value in [4096, 0x0c00_0000, 0x0c00_0405, 0x0bff_ffff, 0x2bff_ffff, (1 << 30) - 1] {
            survives::<Datatype>(MPI_Datatype(value));
            survives::<Comm>(MPI_Comm(value));
            survives::<MpichFile>(MPI_File(value));
            assert!(
                DATATYPES
                    .iter()
                    .chain(&PAIRS)
                    .all(|pair| pair.0 != Datatype::outer(MPI_Datatype(value)).0 as u32)
            );
        }
        for value in [1 << 30, (1_usize << 31) - 1] {
            survives::<Request>(MPI_Request(value));
        }
    }

    #[test]
    fn what_is_no_handle_stays_none() {
        assert!(Comm(0x4400_0007).inner().0 > u32::MAX as usize);
        assert!(Datatype(0x4c00_0499).inner().0 > u32::MAX as usize);
        assert!(Comm(0).inner().0 > u32::MAX as usize);
    }

    #[test]
    fn a_refused_handle_is_named_as_the_program_gave_it() {
        for value in [0, 0x101, 0x4400_0007, 0x4c00_0499, 0xdead_beef_u32] {
            assert_eq!(given(Comm(value as c_int).inner().0, 0), value as usize);
            assert_eq!(given(Datatype(value as c_int).inner().0, DATATYPE_HANDLE), value as usize);
        }
        assert_eq!(given(MpichFile(0x7fff_0000_1001).inner().0, FILE_HANDLE), 0x7fff_0000_1001);
    }
}
