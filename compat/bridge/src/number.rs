//! Constants that are numbers: families with a list of pairs.

use std::ffi::c_int;

use tern_abi::{MPI_ERR_LASTCODE, MPI_SUCCESS};

/// A family of constants in both ABIs.
pub trait ConstantFamily {
    /// The standard's number.
    fn inner(outer: c_int) -> c_int;
    /// The other ABI's number.
    fn outer(inner: c_int) -> c_int;
}

/// A constant in the other ABI, and in the standard one.
pub type ConstantPair = (i64, c_int);

/// What the standard's library takes for no constant of any family.
pub const NONE: c_int = -0x7fff_0001;

/// The standard's number in a list of pairs.
pub fn inner_of(pairs: &[ConstantPair], outer: c_int) -> Option<c_int> {
    pairs.iter().find(|pair| pair.0 == i64::from(outer)).map(|pair| pair.1)
}

/// The other ABI's number in a list of pairs.
pub fn outer_of(pairs: &[ConstantPair], inner: c_int) -> Option<c_int> {
    let found = pairs.iter().find(|pair| pair.1 == inner && pair.0 != crate::values::ABSENT);
    found.map(|pair| pair.0 as c_int)
}

/// Flags, each of one bit: what is no flag makes the whole refused.
pub fn flags(from: impl Iterator<Item = (c_int, c_int)>, all: c_int) -> c_int {
    let (mut left, mut result) = (all, 0);
    for (flag, becomes) in from {
        if flag != 0 && left & flag == flag {
            left &= !flag;
            result |= becomes;
        }
    }
    if left == 0 { result } else { NONE }
}

/// The standard's number of an error code. Codes of the program's begin behind the last one of each ABI.
pub fn code_in(pairs: &[ConstantPair], last: c_int, outer: c_int) -> c_int {
    if outer == MPI_SUCCESS {
        return MPI_SUCCESS;
    }
    let added = || Some(outer.checked_sub(last)?.checked_add(MPI_ERR_LASTCODE)?).filter(|_| outer >= last);
    inner_of(pairs, outer).or_else(added).unwrap_or(NONE)
}

/// The other ABI's number of an error code.
pub fn code_out(pairs: &[ConstantPair], last: c_int, unknown: c_int, inner: c_int) -> c_int {
    if inner == MPI_SUCCESS {
        return MPI_SUCCESS;
    }
    let added = || {
        Some(inner.checked_sub(MPI_ERR_LASTCODE)?.checked_add(last)?).filter(|_| inner >= MPI_ERR_LASTCODE)
    };
    outer_of(pairs, inner).or_else(added).unwrap_or(unknown)
}

/// What is in no list is refused. Tern's message has the number, unless it would take it for one of its own.
pub fn refuse(pairs: &[ConstantPair], number: c_int) -> c_int {
    if pairs.iter().any(|pair| pair.1 == number) { NONE } else { number }
}

/// What is in no list is a number that the program has from somewhere else.
pub fn keep(_: &[ConstantPair], number: c_int) -> c_int {
    number
}

/// Keys of the program's are above the predefined ones of both ABIs, and the same in both.
pub fn keep_above(_: &[ConstantPair], key: c_int) -> c_int {
    if key > 4095 { key } else { NONE }
}

/// One family: the pairs of these constants, and what becomes of other numbers.
#[macro_export]
macro_rules! family {
    ($values:ident $doc:literal $family:ident $others:ident $($constant:ident)*) => {
        #[doc = $doc]
        #[derive(Debug)]
        pub struct $family;

        impl $family {
            /// Each constant in both ABIs.
            pub const PAIRS: &'static [$crate::number::ConstantPair] =
                &[$(($crate::values::$values::$constant, ::tern_abi::$constant as ::std::ffi::c_int)),*];
        }

        impl $crate::number::ConstantFamily for $family {
            fn inner(outer: ::std::ffi::c_int) -> ::std::ffi::c_int {
                $crate::number::inner_of(Self::PAIRS, outer).unwrap_or_else(|| $crate::number::$others(Self::PAIRS, outer))
            }

            fn outer(inner: ::std::ffi::c_int) -> ::std::ffi::c_int {
                $crate::number::outer_of(Self::PAIRS, inner).unwrap_or(inner)
            }
        }
    };
}

/// One family of flags.
#[macro_export]
macro_rules! flag_family {
    ($values:ident $doc:literal $family:ident $($constant:ident)*) => {
        #[doc = $doc]
        #[derive(Debug)]
        pub struct $family;

        impl $family {
            /// Each constant in both ABIs.
            pub const PAIRS: &'static [$crate::number::ConstantPair] =
                &[$(($crate::values::$values::$constant, ::tern_abi::$constant)),*];
        }

        impl $crate::number::ConstantFamily for $family {
            fn inner(outer: ::std::ffi::c_int) -> ::std::ffi::c_int {
                $crate::number::flags(Self::PAIRS.iter().map(|&(flag, becomes)| (flag as i32, becomes)), outer)
            }

            fn outer(inner: ::std::ffi::c_int) -> ::std::ffi::c_int {
                $crate::number::flags(Self::PAIRS.iter().map(|&(becomes, flag)| (flag, becomes as i32)), inner)
            }
        }
    };
}

/// All families, with the values of one ABI.
#[macro_export]
macro_rules! families {
    ($values:ident) => {
        $crate::family! { $values "Results of comparisons." Comparison refuse
            MPI_IDENT MPI_CONGRUENT MPI_SIMILAR MPI_UNEQUAL }
        $crate::family! { $values "Kinds of topologies." TopologyType refuse
            MPI_GRAPH MPI_CART MPI_DIST_GRAPH MPI_UNDEFINED }
        $crate::family! { $values "How a communicator is split." SplitType refuse
            MPI_COMM_TYPE_SHARED MPI_COMM_TYPE_HW_UNGUIDED MPI_COMM_TYPE_HW_GUIDED MPI_COMM_TYPE_RESOURCE_GUIDED
            MPI_UNDEFINED }
        $crate::family! { $values "Locks of windows." LockType refuse MPI_LOCK_EXCLUSIVE MPI_LOCK_SHARED }
        $crate::family! { $values "Where a file pointer is counted from." Whence refuse
            MPI_SEEK_SET MPI_SEEK_CUR MPI_SEEK_END }
        $crate::family! { $values "Storage orders of arrays." Order refuse MPI_ORDER_C MPI_ORDER_FORTRAN }
        $crate::family! { $values "Distributions of arrays." Distribution refuse
            MPI_DISTRIBUTE_NONE MPI_DISTRIBUTE_BLOCK MPI_DISTRIBUTE_CYCLIC }
        $crate::family! { $values "Arguments of distributions." DistributionArgument keep MPI_DISTRIBUTE_DFLT_DARG }
        $crate::family! { $values "How a datatype was made." Combiner refuse
            MPI_COMBINER_NAMED MPI_COMBINER_DUP MPI_COMBINER_CONTIGUOUS MPI_COMBINER_VECTOR MPI_COMBINER_HVECTOR
            MPI_COMBINER_INDEXED MPI_COMBINER_HINDEXED MPI_COMBINER_INDEXED_BLOCK MPI_COMBINER_HINDEXED_BLOCK
            MPI_COMBINER_STRUCT MPI_COMBINER_SUBARRAY MPI_COMBINER_DARRAY MPI_COMBINER_F90_REAL
            MPI_COMBINER_F90_COMPLEX MPI_COMBINER_F90_INTEGER MPI_COMBINER_RESIZED MPI_COMBINER_VALUE_INDEX }
        $crate::family! { $values "Classes of Fortran's types." TypeClass refuse
            MPI_TYPECLASS_REAL MPI_TYPECLASS_INTEGER MPI_TYPECLASS_COMPLEX }
        $crate::family! { $values "Thread levels." ThreadLevel keep
            MPI_THREAD_SINGLE MPI_THREAD_FUNNELED MPI_THREAD_SERIALIZED MPI_THREAD_MULTIPLE }
        $crate::family! { $values "Keys of attributes." Keyval keep_above
            MPI_KEYVAL_INVALID MPI_TAG_UB MPI_HOST MPI_IO MPI_WTIME_IS_GLOBAL MPI_APPNUM MPI_UNIVERSE_SIZE
            MPI_LASTUSEDCODE MPI_WIN_BASE MPI_WIN_SIZE MPI_WIN_DISP_UNIT MPI_WIN_CREATE_FLAVOR MPI_WIN_MODEL }
        $crate::family! { $values "Flavors of windows." Flavor refuse
            MPI_WIN_FLAVOR_CREATE MPI_WIN_FLAVOR_ALLOCATE MPI_WIN_FLAVOR_DYNAMIC MPI_WIN_FLAVOR_SHARED }
        $crate::family! { $values "Memory models of windows." Model refuse MPI_WIN_SEPARATE MPI_WIN_UNIFIED }
        $crate::family! { $values "Levels of detail of the tool interface." Verbosity refuse
            MPI_T_VERBOSITY_USER_BASIC MPI_T_VERBOSITY_USER_DETAIL MPI_T_VERBOSITY_USER_ALL
            MPI_T_VERBOSITY_TUNER_BASIC MPI_T_VERBOSITY_TUNER_DETAIL MPI_T_VERBOSITY_TUNER_ALL
            MPI_T_VERBOSITY_MPIDEV_BASIC MPI_T_VERBOSITY_MPIDEV_DETAIL MPI_T_VERBOSITY_MPIDEV_ALL }
        $crate::family! { $values "What a variable of the tool interface is bound to." Bind refuse
            MPI_T_BIND_NO_OBJECT MPI_T_BIND_MPI_COMM MPI_T_BIND_MPI_DATATYPE MPI_T_BIND_MPI_ERRHANDLER
            MPI_T_BIND_MPI_FILE MPI_T_BIND_MPI_GROUP MPI_T_BIND_MPI_OP MPI_T_BIND_MPI_REQUEST MPI_T_BIND_MPI_WIN
            MPI_T_BIND_MPI_MESSAGE MPI_T_BIND_MPI_INFO MPI_T_BIND_MPI_SESSION }
        $crate::family! { $values "Scopes of control variables." Scope refuse
            MPI_T_SCOPE_CONSTANT MPI_T_SCOPE_READONLY MPI_T_SCOPE_LOCAL MPI_T_SCOPE_GROUP MPI_T_SCOPE_GROUP_EQ
            MPI_T_SCOPE_ALL MPI_T_SCOPE_ALL_EQ }
        $crate::family! { $values "Classes of performance variables." PvarClass refuse
            MPI_T_PVAR_CLASS_STATE MPI_T_PVAR_CLASS_LEVEL MPI_T_PVAR_CLASS_SIZE MPI_T_PVAR_CLASS_PERCENTAGE
            MPI_T_PVAR_CLASS_HIGHWATERMARK MPI_T_PVAR_CLASS_LOWWATERMARK MPI_T_PVAR_CLASS_COUNTER
            MPI_T_PVAR_CLASS_AGGREGATE MPI_T_PVAR_CLASS_TIMER MPI_T_PVAR_CLASS_GENERIC }
        $crate::family! { $values "What a callback of the tool interface may do." CallbackSafety keep
            MPI_T_CB_REQUIRE_NONE MPI_T_CB_REQUIRE_MPI_RESTRICTED MPI_T_CB_REQUIRE_THREAD_SAFE
            MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE }
        $crate::family! { $values "Orders of events of the tool interface." SourceOrder keep
            MPI_T_SOURCE_ORDERED MPI_T_SOURCE_UNORDERED }
        $crate::flag_family! { $values "What the program promises of windows." Assertion
            MPI_MODE_NOCHECK MPI_MODE_NOSTORE MPI_MODE_NOPUT MPI_MODE_NOPRECEDE MPI_MODE_NOSUCCEED }
        $crate::flag_family! { $values "How a file is opened." AccessMode
            MPI_MODE_CREATE MPI_MODE_RDONLY MPI_MODE_WRONLY MPI_MODE_RDWR MPI_MODE_DELETE_ON_CLOSE
            MPI_MODE_UNIQUE_OPEN MPI_MODE_EXCL MPI_MODE_APPEND MPI_MODE_SEQUENTIAL }
        $crate::family! { $values "Classes of errors." ErrorClass refuse
            MPI_ERR_BUFFER MPI_ERR_COUNT MPI_ERR_TYPE MPI_ERR_TAG MPI_ERR_COMM MPI_ERR_RANK MPI_ERR_REQUEST
            MPI_ERR_ROOT MPI_ERR_GROUP MPI_ERR_OP MPI_ERR_TOPOLOGY MPI_ERR_DIMS MPI_ERR_ARG MPI_ERR_UNKNOWN
            MPI_ERR_TRUNCATE MPI_ERR_OTHER MPI_ERR_INTERN MPI_ERR_PENDING MPI_ERR_IN_STATUS MPI_ERR_ACCESS
            MPI_ERR_AMODE MPI_ERR_ASSERT MPI_ERR_BAD_FILE MPI_ERR_BASE MPI_ERR_CONVERSION MPI_ERR_DISP
            MPI_ERR_DUP_DATAREP MPI_ERR_FILE_EXISTS MPI_ERR_FILE_IN_USE MPI_ERR_FILE MPI_ERR_INFO_KEY
            MPI_ERR_INFO_NOKEY MPI_ERR_INFO_VALUE MPI_ERR_INFO MPI_ERR_IO MPI_ERR_KEYVAL MPI_ERR_LOCKTYPE
            MPI_ERR_NAME MPI_ERR_NO_MEM MPI_ERR_NOT_SAME MPI_ERR_NO_SPACE MPI_ERR_NO_SUCH_FILE MPI_ERR_PORT
            MPI_ERR_QUOTA MPI_ERR_READ_ONLY MPI_ERR_RMA_ATTACH MPI_ERR_RMA_CONFLICT MPI_ERR_RMA_RANGE
            MPI_ERR_RMA_SHARED MPI_ERR_RMA_SYNC MPI_ERR_SERVICE MPI_ERR_SIZE MPI_ERR_SPAWN
            MPI_ERR_UNSUPPORTED_DATAREP MPI_ERR_UNSUPPORTED_OPERATION MPI_ERR_WIN MPI_ERR_RMA_FLAVOR
            MPI_ERR_PROC_ABORTED MPI_ERR_VALUE_TOO_LARGE MPI_ERR_SESSION MPI_ERR_ERRHANDLER MPI_ERR_ABI
            MPI_T_ERR_CANNOT_INIT MPI_T_ERR_NOT_ACCESSIBLE MPI_T_ERR_NOT_INITIALIZED MPI_T_ERR_NOT_SUPPORTED
            MPI_T_ERR_MEMORY MPI_T_ERR_INVALID MPI_T_ERR_INVALID_INDEX MPI_T_ERR_INVALID_ITEM
            MPI_T_ERR_INVALID_SESSION MPI_T_ERR_INVALID_HANDLE MPI_T_ERR_INVALID_NAME MPI_T_ERR_OUT_OF_HANDLES
            MPI_T_ERR_OUT_OF_SESSIONS MPI_T_ERR_CVAR_SET_NOT_NOW MPI_T_ERR_CVAR_SET_NEVER
            MPI_T_ERR_PVAR_NO_WRITE MPI_T_ERR_PVAR_NO_STARTSTOP MPI_T_ERR_PVAR_NO_ATOMIC }

        /// Codes of errors: the classes, and what the program adds.
        #[derive(Debug)]
        pub struct ErrorCode;

        impl $crate::number::ConstantFamily for ErrorCode {
            #[cold]
            fn inner(outer: ::std::ffi::c_int) -> ::std::ffi::c_int {
                $crate::number::code_in(ErrorClass::PAIRS, $crate::values::$values::MPI_ERR_LASTCODE as i32, outer)
            }

            #[cold]
            fn outer(inner: ::std::ffi::c_int) -> ::std::ffi::c_int {
                let unknown = $crate::values::$values::MPI_ERR_UNKNOWN as i32;
                let last = $crate::values::$values::MPI_ERR_LASTCODE as i32;
                $crate::number::code_out(ErrorClass::PAIRS, last, unknown, inner)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIRS: &[ConstantPair] = &[(7, 8), (crate::values::ABSENT, 9), (13, 14)];

    #[test]
    fn what_an_abi_lacks_is_never_answered() {
        assert_eq!((inner_of(PAIRS, 7), outer_of(PAIRS, 8)), (Some(8), Some(7)));
        assert_eq!((inner_of(PAIRS, 0), outer_of(PAIRS, 9)), (None, None));
    }

    #[test]
    fn codes_of_the_program_follow_the_last_of_each_abi() {
        assert_eq!(code_out(PAIRS, 92, 14, MPI_ERR_LASTCODE + 3), 95);
        assert_eq!(code_in(PAIRS, 92, 95), MPI_ERR_LASTCODE + 3);
        assert_eq!((code_in(PAIRS, 92, 0), code_in(PAIRS, 92, 50), code_in(PAIRS, 92, -5)), (0, NONE, NONE));
        assert_eq!((code_out(PAIRS, 92, 14, 9), code_out(PAIRS, 92, 14, 0)), (14, 0));
    }

    #[test]
    fn a_flag_that_is_none_makes_the_whole_refused() {
        let pairs = || [(1, 16), (2, 32)].into_iter();
        assert_eq!((flags(pairs(), 3), flags(pairs(), 0), flags(pairs(), 5)), (48, 0, NONE));
    }
}
