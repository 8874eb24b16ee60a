//! The predefined objects of Open MPI, which programs know by the addresses of variables. A program that is not position
//! independent has copies of them, made by the loader: so each is as large as Open MPI's, and constant.

use std::sync::atomic::{AtomicUsize, Ordering};

use tern_abi::*;
use tern_bridge::removed::{LOWER_BOUND, UPPER_BOUND};
use tern_bridge::values::openmpi_fortran as fortran;

/// A variable whose address is a handle. Its first word is the standard's handle.
#[repr(C, align(32))]
pub(crate) struct HandleObject<const WORDS: usize>([usize; WORDS]);

impl<const WORDS: usize> HandleObject<WORDS> {
    const fn new(handle: usize) -> Self {
        let mut words = [0; WORDS];
        words[0] = handle;
        HandleObject(words)
    }
}

/// An address of a variable.
#[derive(Clone, Copy)]
pub(crate) struct HandleAddress(pub *const ());

// SAFETY: the address is a constant, and what is there is constant.
unsafe impl Sync for HandleAddress {}

/// What a variable stands for.
pub(crate) struct Known {
    /// The standard's handle.
    pub handle: usize,
    /// The integer that Fortran has for it.
    pub fortran: i64,
    /// Where it is: in the library, or the program's copy.
    pub address: HandleAddress,
}

/// The variables of one kind of object, and a list of them.
macro_rules! objects {
    ($(#[$doc:meta])* $list:ident, $words:literal; $($variable:ident = $handle:ident, $fortran:expr;)*) => {
        $(
            #[doc = concat!("`", stringify!($handle), "`")]
            #[unsafe(no_mangle)]
            #[allow(unreachable_pub, reason = "the loader finds it")]
            pub static $variable: HandleObject<$words> = HandleObject::new($handle.0);
        )*
        $(#[$doc])*
        pub(crate) static $list: &[Known] = &[$(Known {
            handle: $handle.0,
            fortran: $fortran,
            address: HandleAddress((&raw const $variable).cast()),
        }),*];
    };
}

objects! {
    /// Predefined handles of type `MPI_Op`.
    OPS, 256;
    ompi_mpi_op_null = MPI_OP_NULL, fortran::MPI_OP_NULL;
    ompi_mpi_op_sum = MPI_SUM, fortran::MPI_SUM;
    ompi_mpi_op_min = MPI_MIN, fortran::MPI_MIN;
    ompi_mpi_op_max = MPI_MAX, fortran::MPI_MAX;
    ompi_mpi_op_prod = MPI_PROD, fortran::MPI_PROD;
    ompi_mpi_op_band = MPI_BAND, fortran::MPI_BAND;
    ompi_mpi_op_bor = MPI_BOR, fortran::MPI_BOR;
    ompi_mpi_op_bxor = MPI_BXOR, fortran::MPI_BXOR;
    ompi_mpi_op_land = MPI_LAND, fortran::MPI_LAND;
    ompi_mpi_op_lor = MPI_LOR, fortran::MPI_LOR;
    ompi_mpi_op_lxor = MPI_LXOR, fortran::MPI_LXOR;
    ompi_mpi_op_minloc = MPI_MINLOC, fortran::MPI_MINLOC;
    ompi_mpi_op_maxloc = MPI_MAXLOC, fortran::MPI_MAXLOC;
    ompi_mpi_op_replace = MPI_REPLACE, fortran::MPI_REPLACE;
    ompi_mpi_op_no_op = MPI_NO_OP, fortran::MPI_NO_OP;
}

objects! {
    /// Predefined handles of type `MPI_Comm`.
    COMMS, 64;
    ompi_mpi_comm_null = MPI_COMM_NULL, fortran::MPI_COMM_NULL;
    ompi_mpi_comm_world = MPI_COMM_WORLD, fortran::MPI_COMM_WORLD;
    ompi_mpi_comm_self = MPI_COMM_SELF, fortran::MPI_COMM_SELF;
}

objects! {
    /// Predefined handles of type `MPI_Group`.
    GROUPS, 32;
    ompi_mpi_group_null = MPI_GROUP_NULL, fortran::MPI_GROUP_NULL;
    ompi_mpi_group_empty = MPI_GROUP_EMPTY, fortran::MPI_GROUP_EMPTY;
}

objects! {
    /// Predefined handles of type `MPI_Win`.
    WINS, 64;
    ompi_mpi_win_null = MPI_WIN_NULL, fortran::MPI_WIN_NULL;
}

objects! {
    /// Predefined handles of type `MPI_File`.
    FILES, 192;
    ompi_mpi_file_null = MPI_FILE_NULL, fortran::MPI_FILE_NULL;
}

objects! {
    /// Predefined handles of type `MPI_Session`.
    SESSIONS, 64;
    ompi_mpi_instance_null = MPI_SESSION_NULL, fortran::MPI_SESSION_NULL;
}

objects! {
    /// Predefined handles of type `MPI_Message`.
    MESSAGES, 32;
    ompi_message_null = MPI_MESSAGE_NULL, fortran::MPI_MESSAGE_NULL;
    ompi_message_no_proc = MPI_MESSAGE_NO_PROC, fortran::MPI_MESSAGE_NO_PROC;
}

objects! {
    /// Predefined handles of type `MPI_Info`.
    INFOS, 32;
    ompi_mpi_info_null = MPI_INFO_NULL, fortran::MPI_INFO_NULL;
    ompi_mpi_info_env = MPI_INFO_ENV, fortran::MPI_INFO_ENV;
}

objects! {
    /// Predefined handles of type `MPI_Errhandler`.
    ERRHANDLERS, 128;
    ompi_mpi_errhandler_null = MPI_ERRHANDLER_NULL, fortran::MPI_ERRHANDLER_NULL;
    ompi_mpi_errors_are_fatal = MPI_ERRORS_ARE_FATAL, fortran::MPI_ERRORS_ARE_FATAL;
    ompi_mpi_errors_abort = MPI_ERRORS_ABORT, fortran::MPI_ERRORS_ABORT;
    ompi_mpi_errors_return = MPI_ERRORS_RETURN, fortran::MPI_ERRORS_RETURN;
}

objects! {
    /// Predefined handles of type `MPI_Request`.
    REQUESTS, 32;
    ompi_request_null = MPI_REQUEST_NULL, fortran::MPI_REQUEST_NULL;
}

objects! {
    /// Predefined handles of type `MPI_Datatype`.
    DATATYPES, 64;
    ompi_mpi_double = MPI_DOUBLE, fortran::MPI_DOUBLE;
    ompi_mpi_int = MPI_INT, fortran::MPI_INT;
    ompi_mpi_byte = MPI_BYTE, fortran::MPI_BYTE;
    ompi_mpi_char = MPI_CHAR, fortran::MPI_CHAR;
    ompi_mpi_float = MPI_FLOAT, fortran::MPI_FLOAT;
    ompi_mpi_long = MPI_LONG, fortran::MPI_LONG;
    ompi_mpi_datatype_null = MPI_DATATYPE_NULL, fortran::MPI_DATATYPE_NULL;
    ompi_mpi_aint = MPI_AINT, fortran::MPI_AINT;
    ompi_mpi_count = MPI_COUNT, fortran::MPI_COUNT;
    ompi_mpi_offset = MPI_OFFSET, fortran::MPI_OFFSET;
    ompi_mpi_packed = MPI_PACKED, fortran::MPI_PACKED;
    ompi_mpi_short = MPI_SHORT, fortran::MPI_SHORT;
    ompi_mpi_long_long_int = MPI_LONG_LONG, fortran::MPI_LONG_LONG;
    ompi_mpi_unsigned_short = MPI_UNSIGNED_SHORT, fortran::MPI_UNSIGNED_SHORT;
    ompi_mpi_unsigned = MPI_UNSIGNED, fortran::MPI_UNSIGNED;
    ompi_mpi_unsigned_long = MPI_UNSIGNED_LONG, fortran::MPI_UNSIGNED_LONG;
    ompi_mpi_unsigned_long_long = MPI_UNSIGNED_LONG_LONG, fortran::MPI_UNSIGNED_LONG_LONG;
    ompi_mpi_c_float_complex = MPI_C_FLOAT_COMPLEX, fortran::MPI_C_FLOAT_COMPLEX;
    ompi_mpi_cxx_cplex = MPI_CXX_FLOAT_COMPLEX, fortran::MPI_CXX_FLOAT_COMPLEX;
    ompi_mpi_c_double_complex = MPI_C_DOUBLE_COMPLEX, fortran::MPI_C_DOUBLE_COMPLEX;
    ompi_mpi_cxx_dblcplex = MPI_CXX_DOUBLE_COMPLEX, fortran::MPI_CXX_DOUBLE_COMPLEX;
    ompi_mpi_logical = MPI_LOGICAL, fortran::MPI_LOGICAL;
    ompi_mpi_integer = MPI_INTEGER, fortran::MPI_INTEGER;
    ompi_mpi_real = MPI_REAL, fortran::MPI_REAL;
    ompi_mpi_cplex = MPI_COMPLEX, fortran::MPI_COMPLEX;
    ompi_mpi_dblprec = MPI_DOUBLE_PRECISION, fortran::MPI_DOUBLE_PRECISION;
    ompi_mpi_dblcplex = MPI_DOUBLE_COMPLEX, fortran::MPI_DOUBLE_COMPLEX;
    ompi_mpi_character = MPI_CHARACTER, fortran::MPI_CHARACTER;
    ompi_mpi_long_double = MPI_LONG_DOUBLE, fortran::MPI_LONG_DOUBLE;
    ompi_mpi_c_long_double_complex = MPI_C_LONG_DOUBLE_COMPLEX, fortran::MPI_C_LONG_DOUBLE_COMPLEX;
    ompi_mpi_cxx_ldblcplex = MPI_CXX_LONG_DOUBLE_COMPLEX, fortran::MPI_CXX_LONG_DOUBLE_COMPLEX;
    ompi_mpi_float_int = MPI_FLOAT_INT, fortran::MPI_FLOAT_INT;
    ompi_mpi_double_int = MPI_DOUBLE_INT, fortran::MPI_DOUBLE_INT;
    ompi_mpi_long_int = MPI_LONG_INT, fortran::MPI_LONG_INT;
    ompi_mpi_2int = MPI_2INT, fortran::MPI_2INT;
    ompi_mpi_short_int = MPI_SHORT_INT, fortran::MPI_SHORT_INT;
    ompi_mpi_longdbl_int = MPI_LONG_DOUBLE_INT, fortran::MPI_LONG_DOUBLE_INT;
    ompi_mpi_2real = MPI_2REAL, fortran::MPI_2REAL;
    ompi_mpi_2dblprec = MPI_2DOUBLE_PRECISION, fortran::MPI_2DOUBLE_PRECISION;
    ompi_mpi_2integer = MPI_2INTEGER, fortran::MPI_2INTEGER;
    ompi_mpi_c_bool = MPI_C_BOOL, fortran::MPI_C_BOOL;
    ompi_mpi_cxx_bool = MPI_CXX_BOOL, fortran::MPI_CXX_BOOL;
    ompi_mpi_wchar = MPI_WCHAR, fortran::MPI_WCHAR;
    ompi_mpi_int8_t = MPI_INT8_T, fortran::MPI_INT8_T;
    ompi_mpi_uint8_t = MPI_UINT8_T, fortran::MPI_UINT8_T;
    ompi_mpi_signed_char = MPI_SIGNED_CHAR, fortran::MPI_SIGNED_CHAR;
    ompi_mpi_unsigned_char = MPI_UNSIGNED_CHAR, fortran::MPI_UNSIGNED_CHAR;
    ompi_mpi_int16_t = MPI_INT16_T, fortran::MPI_INT16_T;
    ompi_mpi_uint16_t = MPI_UINT16_T, fortran::MPI_UINT16_T;
    ompi_mpi_int32_t = MPI_INT32_T, fortran::MPI_INT32_T;
    ompi_mpi_uint32_t = MPI_UINT32_T, fortran::MPI_UINT32_T;
    ompi_mpi_int64_t = MPI_INT64_T, fortran::MPI_INT64_T;
    ompi_mpi_uint64_t = MPI_UINT64_T, fortran::MPI_UINT64_T;
    ompi_mpi_logical1 = MPI_LOGICAL1, fortran::MPI_LOGICAL1;
    ompi_mpi_integer1 = MPI_INTEGER1, fortran::MPI_INTEGER1;
    ompi_mpi_logical2 = MPI_LOGICAL2, fortran::MPI_LOGICAL2;
    ompi_mpi_integer2 = MPI_INTEGER2, fortran::MPI_INTEGER2;
    ompi_mpi_real2 = MPI_REAL2, fortran::MPI_REAL2;
    ompi_mpi_logical4 = MPI_LOGICAL4, fortran::MPI_LOGICAL4;
    ompi_mpi_integer4 = MPI_INTEGER4, fortran::MPI_INTEGER4;
    ompi_mpi_real4 = MPI_REAL4, fortran::MPI_REAL4;
    ompi_mpi_complex4 = MPI_COMPLEX4, fortran::MPI_COMPLEX4;
    ompi_mpi_logical8 = MPI_LOGICAL8, fortran::MPI_LOGICAL8;
    ompi_mpi_integer8 = MPI_INTEGER8, fortran::MPI_INTEGER8;
    ompi_mpi_real8 = MPI_REAL8, fortran::MPI_REAL8;
    ompi_mpi_complex8 = MPI_COMPLEX8, fortran::MPI_COMPLEX8;
    ompi_mpi_integer16 = MPI_INTEGER16, fortran::MPI_INTEGER16;
    ompi_mpi_real16 = MPI_REAL16, fortran::MPI_REAL16;
    ompi_mpi_complex16 = MPI_COMPLEX16, fortran::MPI_COMPLEX16;
    ompi_mpi_complex32 = MPI_COMPLEX32, fortran::MPI_COMPLEX32;
    ompi_mpi_lb = LOWER_BOUND, 4;
    ompi_mpi_ub = UPPER_BOUND, 3;
}

/// Variables that are other names of handles, or of nothing that the standard has.
macro_rules! others {
    ($($(#[$doc:meta])* $variable:ident: $words:literal = $handle:expr;)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            #[allow(unreachable_pub, reason = "the loader finds it")]
            pub static $variable: HandleObject<$words> = HandleObject::new($handle);
        )*
        static OTHERS: &[(usize, HandleAddress)] = &[$(($handle, HandleAddress((&raw const $variable).cast()))),*];
    };
}

/// No handle of the standard, one for each variable: no call takes it. It is odd, and other values that are no handles are not.
const fn unknown(number: usize) -> usize {
    1 << 63 | number << 1 | 1
}

others! {
    /// No datatype of the standard.
    ompi_mpi_2cplex: 64 = unknown(0);
    /// As above.
    ompi_mpi_2dblcplex: 64 = unknown(1);
    /// As above.
    ompi_mpi_c_short_float_complex: 64 = unknown(2);
    /// As above.
    ompi_mpi_cxx_sfltcplex: 64 = unknown(3);
    /// As above.
    ompi_mpi_unavailable: 64 = unknown(4);
    /// Open MPI's datatype of C's `_Float16`: the same two bytes as Fortran's `REAL*2`.
    ompi_mpi_short_float: 64 = MPI_REAL2.0;
    /// Where errors become exceptions. The C++ bindings have a handler for each kind of object in its place.
    ompi_mpi_errors_throw_exceptions: 128 = MPI_ERRORS_ARE_FATAL.0;
    /// Open MPI's other names of two datatypes.
    ompi_mpi_c_complex: 64 = MPI_C_FLOAT_COMPLEX.0;
    /// As above.
    ompi_mpi_ldblcplex: 64 = MPI_C_LONG_DOUBLE_COMPLEX.0;
}

/// All variables, with the standard's handles.
fn all() -> impl Iterator<Item = (usize, usize)> {
    let lists =
        [OPS, COMMS, GROUPS, WINS, FILES, SESSIONS, MESSAGES, INFOS, ERRHANDLERS, REQUESTS, DATATYPES];
    let known = lists.into_iter().flatten().map(|known| (known.handle, known.address.0 as usize));
    let others = OTHERS.iter().map(|&(handle, address)| (handle, address.0 as usize));
    known.chain(others)
}

/// The address of the variable that holds something that is none of the standard's handles.
pub(crate) fn address_of(value: usize) -> Option<usize> {
    OTHERS.iter().find(|object| object.0 == value).map(|object| object.1.0 as usize)
}

/// The standard's handle of the variable at an address.
pub(crate) fn handle_at(address: usize) -> Option<usize> {
    all().find(|object| object.1 == address).map(|object| object.0)
}

/// Addresses near each other, all of which can be read.
pub(crate) struct Range {
    first: AtomicUsize,
    length: AtomicUsize,
}

impl Range {
    const fn empty() -> Range {
        Range { first: AtomicUsize::new(0), length: AtomicUsize::new(0) }
    }

    /// Whether an aligned word begins at an address within.
    #[inline(always)]
    pub(crate) fn has(&self, address: usize) -> bool {
        let offset = address.wrapping_sub(self.first.load(Ordering::Relaxed));
        offset < self.length.load(Ordering::Relaxed) && offset % align_of::<usize>() == 0
    }

    fn set(&self, (first, last): (usize, usize)) {
        self.first.store(first, Ordering::Relaxed);
        self.length.store(last - first + size_of::<usize>(), Ordering::Relaxed);
    }
}

/// Where the library's variables are.
pub(crate) static LIBRARY: Range = Range::empty();
/// Where the program has its copies, if it is not position independent.
pub(crate) static PROGRAM: Range = Range::empty();

/// Variables further from each other are not of one file. All of them together are smaller.
const GAP_MAX: usize = 1 << 16;

/// Finds out where the variables are, when the loader has placed them.
pub(crate) fn locate() {
    let mut addresses: Vec<usize> = all().map(|object| object.1).collect();
    addresses.sort_unstable();
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for address in addresses {
        match ranges.last_mut() {
            Some(last) if address - last.1 < GAP_MAX => last.1 = address,
            _ => ranges.push((address, address)),
        }
    }
    for (place, &range) in [&LIBRARY, &PROGRAM].into_iter().zip(&ranges) {
        place.set(range);
    }
}
