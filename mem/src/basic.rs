//! The predefined element types: what a datatype is made of once every constructor is unfolded.
//!
//! One row of [`ROWS`] per named predefined datatype gives its identity (handle, name), its memory
//! ([`MachineType`], from which size, extent and alignment follow), its size in the `external32`
//! representation (MPI 5.0, section 14.5.2) and the class that decides which reductions it admits
//! (section 6.9.2). Everything is a constant; every question is an array lookup.

use std::ffi::{c_char, c_int, c_long, c_longlong, c_short};

/// How one number lies in memory, on the machine that this library was compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names of the machine types say it")]
pub enum MachineType {
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    /// IEEE binary16.
    F16,
    F32,
    F64,
    /// C's `long double`: x87 extended precision on x86-64, IEEE binary128 on aarch64.
    LongDouble,
    /// IEEE binary128.
    F128,
    /// Real part, then imaginary part, of each of the floating-point types.
    ComplexF16,
    ComplexF32,
    ComplexF64,
    ComplexLongDouble,
    ComplexF128,
    /// Two numbers, with C's padding between and after them: see [`Basic::pieces`].
    Pair,
}

impl MachineType {
    /// Bytes of one element; 0 for [`MachineType::Pair`], whose parts differ.
    pub const fn size(self) -> usize {
        use MachineType::*;
        match self {
            I8 | U8 => 1,
            I16 | U16 | F16 => 2,
            I32 | U32 | F32 | ComplexF16 => 4,
            I64 | U64 | F64 | ComplexF32 => 8,
            I128 | LongDouble | F128 | ComplexF64 => 16,
            ComplexLongDouble | ComplexF128 => 32,
            Pair => 0,
        }
    }

    /// The alignment that the C ABI gives it; a complex number aligns like its parts.
    const fn align(self) -> usize {
        use MachineType::*;
        match self {
            ComplexF16 => F16.size(),
            ComplexF32 => F32.size(),
            ComplexF64 => F64.size(),
            ComplexLongDouble | ComplexF128 => 16,
            other => other.size(),
        }
    }

    const fn signed(bytes: usize) -> MachineType {
        match bytes {
            1 => MachineType::I8,
            2 => MachineType::I16,
            4 => MachineType::I32,
            8 => MachineType::I64,
            _ => panic!("no machine integer of this size"),
        }
    }

    const fn unsigned(bytes: usize) -> MachineType {
        match bytes {
            1 => MachineType::U8,
            2 => MachineType::U16,
            4 => MachineType::U32,
            8 => MachineType::U64,
            _ => panic!("no machine integer of this size"),
        }
    }
}

/// The groups of types by which section 6.9.2 of the standard says what a predefined operation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The integers of C.
    CInteger,
    /// `INTEGER` of Fortran, and its sized forms.
    FortranInteger,
    /// Real numbers of both languages.
    Floating,
    /// Truth values of all languages.
    Logical,
    /// Complex numbers of all languages.
    Complex,
    /// `MPI_BYTE`.
    Byte,
    /// `MPI_AINT`, `MPI_OFFSET`, `MPI_COUNT`.
    MultiLanguage,
    /// A value and an index, for `MPI_MINLOC` and `MPI_MAXLOC` (section 6.9.4).
    Pair,
    /// Printable characters: `MPI_CHAR`, `MPI_WCHAR`, `MPI_CHARACTER`.
    Text,
    /// `MPI_PACKED`.
    Packed,
}

/// A predefined element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs, reason = "each variant is the standard's name in Rust's spelling: see ROWS")]
pub enum Basic {
    Aint,
    Count,
    Offset,
    Packed,
    Short,
    Int,
    Long,
    LongLong,
    UnsignedShort,
    Unsigned,
    UnsignedLong,
    UnsignedLongLong,
    Float,
    CFloatComplex,
    CxxFloatComplex,
    Double,
    CDoubleComplex,
    CxxDoubleComplex,
    Logical,
    Integer,
    Real,
    Complex,
    DoublePrecision,
    DoubleComplex,
    Character,
    LongDouble,
    CLongDoubleComplex,
    CxxLongDoubleComplex,
    FloatInt,
    DoubleInt,
    LongInt,
    TwoInt,
    ShortInt,
    LongDoubleInt,
    TwoReal,
    TwoDoublePrecision,
    TwoInteger,
    CBool,
    CxxBool,
    Wchar,
    Int8,
    Uint8,
    Char,
    SignedChar,
    UnsignedChar,
    Byte,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Int64,
    Uint64,
    Logical1,
    Integer1,
    Logical2,
    Integer2,
    Real2,
    Logical4,
    Integer4,
    Real4,
    Complex4,
    Logical8,
    Integer8,
    Real8,
    Complex8,
    Logical16,
    Integer16,
    Real16,
    Complex16,
    Complex32,
}

/// One number inside an element: where it starts, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Bytes from the start of the element.
    pub offset: usize,
    /// The number there; never a pair.
    pub basic: Basic,
}

/// How many predefined element types there are.
pub const BASIC_COUNT: usize = ROWS.len();

impl Basic {
    /// All of them, in the order of their handle values.
    pub const ALL: [Basic; BASIC_COUNT] = {
        let mut all = [Basic::Aint; BASIC_COUNT];
        let mut i = 0;
        while i < BASIC_COUNT {
            all[i] = ROWS[i].basic;
            i += 1;
        }
        all
    };

    /// The type whose predefined handle has this value, if there is one.
    #[inline]
    pub const fn from_handle(value: usize) -> Option<Basic> {
        if value < HANDLE_FIRST || value >= HANDLE_END {
            return None;
        }
        BY_HANDLE[value - HANDLE_FIRST]
    }

    /// Bytes of an element of the type with this handle value, if the value is a named predefined datatype's and its
    /// elements have no padding: in one look-up, for the path of every message.
    #[inline(always)]
    pub const fn contiguous_size(value: usize) -> Option<usize> {
        let at = value.wrapping_sub(HANDLE_FIRST);
        if at >= CONTIGUOUS_SIZES.len() || CONTIGUOUS_SIZES[at] == 0 {
            return None;
        }
        Some(CONTIGUOUS_SIZES[at] as usize)
    }

    /// The value of the predefined handle in the standard ABI.
    #[inline]
    pub const fn handle_value(self) -> u16 {
        self.row().handle
    }

    /// The standard's name, which is also what `MPI_Type_get_name` answers.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// How it lies in memory.
    #[inline]
    pub const fn machine(self) -> MachineType {
        self.row().machine
    }

    /// The group of types that it belongs to in reductions.
    #[inline]
    pub const fn class(self) -> Class {
        self.row().class
    }

    /// Bytes of data in one element, without padding.
    #[inline]
    pub const fn size(self) -> usize {
        LAYOUTS[self as usize].size as usize
    }

    /// Bytes from one element to the next in an array; the lower bound is always 0.
    #[inline]
    pub const fn extent(self) -> usize {
        LAYOUTS[self as usize].extent as usize
    }

    /// The alignment that C gives it, which decides the padding of `MPI_Type_create_struct`.
    #[inline]
    pub const fn align(self) -> usize {
        LAYOUTS[self as usize].align as usize
    }

    /// Bytes of one element in the `external32` representation (section 14.5.2, table 14.2).
    #[inline]
    pub const fn external_size(self) -> usize {
        LAYOUTS[self as usize].external as usize
    }

    /// Whether its bytes have no padding between or after them.
    #[inline]
    pub const fn is_contiguous(self) -> bool {
        self.size() == self.extent()
    }

    /// The numbers that an element consists of, in order: two for a pair, else itself.
    pub const fn pieces(self) -> &'static [Piece] {
        PIECES[self as usize].as_slice()
    }

    const fn row(self) -> &'static BasicRow {
        &ROWS[self as usize]
    }

    /// The two types of a pair.
    const fn pair(self) -> Option<(Basic, Basic)> {
        use Basic::*;
        match self {
            FloatInt => Some((Float, Int)),
            DoubleInt => Some((Double, Int)),
            LongInt => Some((Long, Int)),
            TwoInt => Some((Int, Int)),
            ShortInt => Some((Short, Int)),
            LongDoubleInt => Some((LongDouble, Int)),
            TwoReal => Some((Real, Real)),
            TwoDoublePrecision => Some((DoublePrecision, DoublePrecision)),
            TwoInteger => Some((Integer, Integer)),
            _ => None,
        }
    }
}

impl std::fmt::Display for Basic {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name())
    }
}

/// The predefined datatype handles lie between these values (MPI 5.0, appendix A.1.1).
pub(crate) const HANDLE_FIRST: usize = 0x200;
pub(crate) const HANDLE_END: usize = 0x300;

static BY_HANDLE: [Option<Basic>; HANDLE_END - HANDLE_FIRST] = {
    let mut table = [None; HANDLE_END - HANDLE_FIRST];
    let mut i = 0;
    while i < BASIC_COUNT {
        table[ROWS[i].handle as usize - HANDLE_FIRST] = Some(ROWS[i].basic);
        i += 1;
    }
    table
};

/// Bytes of an element by handle; 0 where there is no such type, or where it has padding.
static CONTIGUOUS_SIZES: [u8; HANDLE_END - HANDLE_FIRST] = {
    let mut table = [0; HANDLE_END - HANDLE_FIRST];
    let mut i = 0;
    while i < BASIC_COUNT {
        if ROWS[i].basic.is_contiguous() {
            table[ROWS[i].handle as usize - HANDLE_FIRST] = ROWS[i].basic.size() as u8;
        }
        i += 1;
    }
    table
};

#[derive(Clone, Copy)]
struct BasicLayout {
    size: u8,
    extent: u8,
    align: u8,
    external: u8,
}

static LAYOUTS: [BasicLayout; BASIC_COUNT] = {
    let mut table = [BasicLayout { size: 0, extent: 0, align: 1, external: 0 }; BASIC_COUNT];
    let mut i = 0;
    while i < BASIC_COUNT {
        table[i] = layout_of(&ROWS[i]);
        i += 1;
    }
    table
};

const fn layout_of(row: &BasicRow) -> BasicLayout {
    match row.basic.pair() {
        None => BasicLayout {
            size: row.machine.size() as u8,
            extent: row.machine.size() as u8,
            align: row.machine.align() as u8,
            external: row.external,
        },
        Some((value, index)) => pair_layout(value.row(), index.row(), row.external),
    }
}

/// The layout of C's `struct { value; index; }`.
const fn pair_layout(value: &BasicRow, index: &BasicRow, external: u8) -> BasicLayout {
    let (value, index) = (value.machine, index.machine);
    let align = if value.align() > index.align() { value.align() } else { index.align() };
    let end = value.size().next_multiple_of(index.align()) + index.size();
    BasicLayout {
        size: (value.size() + index.size()) as u8,
        extent: end.next_multiple_of(align) as u8,
        align: align as u8,
        external,
    }
}

static PIECES: [PieceList; BASIC_COUNT] = {
    let mut table = [PieceList::one(Basic::Byte); BASIC_COUNT];
    let mut i = 0;
    while i < BASIC_COUNT {
        table[i] = match ROWS[i].basic.pair() {
            None => PieceList::one(ROWS[i].basic),
            Some((value, index)) => PieceList::two(value, index),
        };
        i += 1;
    }
    table
};

#[derive(Clone, Copy)]
enum PieceList {
    One([Piece; 1]),
    Two([Piece; 2]),
}

impl PieceList {
    const fn one(basic: Basic) -> PieceList {
        PieceList::One([Piece { offset: 0, basic }])
    }

    const fn two(value: Basic, index: Basic) -> PieceList {
        let offset = value.row().machine.size().next_multiple_of(index.row().machine.align());
        PieceList::Two([Piece { offset: 0, basic: value }, Piece { offset, basic: index }])
    }

    const fn as_slice(&self) -> &[Piece] {
        match self {
            PieceList::One(one) => one,
            PieceList::Two(two) => two,
        }
    }
}

struct BasicRow {
    basic: Basic,
    handle: u16,
    name: &'static str,
    machine: MachineType,
    external: u8,
    class: Class,
}

const fn row(
    basic: Basic,
    handle: u16,
    name: &'static str,
    machine: MachineType,
    external: u8,
    class: Class,
) -> BasicRow {
    BasicRow { basic, handle, name, machine, external, class }
}

const SHORT: MachineType = MachineType::signed(size_of::<c_short>());
const USHORT: MachineType = MachineType::unsigned(size_of::<c_short>());
const INT: MachineType = MachineType::signed(size_of::<c_int>());
const UINT: MachineType = MachineType::unsigned(size_of::<c_int>());
const LONG: MachineType = MachineType::signed(size_of::<c_long>());
const ULONG: MachineType = MachineType::unsigned(size_of::<c_long>());
const LLONG: MachineType = MachineType::signed(size_of::<c_longlong>());
const ULLONG: MachineType = MachineType::unsigned(size_of::<c_longlong>());
const AINT: MachineType = MachineType::signed(size_of::<isize>());
const CHAR: MachineType = if c_char::MIN == 0 { MachineType::U8 } else { MachineType::I8 };

/// One row per type, in the order of the enum: type, handle, name, memory, bytes in external32, class.
/// Fortran's default kinds are those of every compiler here: INTEGER, REAL and LOGICAL take 4 bytes.
#[rustfmt::skip]
static ROWS: [BasicRow; 70] = {
    use Basic as B;
    use Class as C;
    use MachineType as M;
    [
        row(B::Aint, 0x201, "MPI_AINT", AINT, 8, C::MultiLanguage),
        row(B::Count, 0x202, "MPI_COUNT", M::I64, 8, C::MultiLanguage),
        row(B::Offset, 0x203, "MPI_OFFSET", M::I64, 8, C::MultiLanguage),
        row(B::Packed, 0x207, "MPI_PACKED", M::U8, 1, C::Packed),
        row(B::Short, 0x208, "MPI_SHORT", SHORT, 2, C::CInteger),
        row(B::Int, 0x209, "MPI_INT", INT, 4, C::CInteger),
        row(B::Long, 0x20a, "MPI_LONG", LONG, 4, C::CInteger),
        row(B::LongLong, 0x20b, "MPI_LONG_LONG_INT", LLONG, 8, C::CInteger),
        row(B::UnsignedShort, 0x20c, "MPI_UNSIGNED_SHORT", USHORT, 2, C::CInteger),
        row(B::Unsigned, 0x20d, "MPI_UNSIGNED", UINT, 4, C::CInteger),
        row(B::UnsignedLong, 0x20e, "MPI_UNSIGNED_LONG", ULONG, 4, C::CInteger),
        row(B::UnsignedLongLong, 0x20f, "MPI_UNSIGNED_LONG_LONG", ULLONG, 8, C::CInteger),
        row(B::Float, 0x210, "MPI_FLOAT", M::F32, 4, C::Floating),
        row(B::CFloatComplex, 0x212, "MPI_C_COMPLEX", M::ComplexF32, 8, C::Complex),
        row(B::CxxFloatComplex, 0x213, "MPI_CXX_FLOAT_COMPLEX", M::ComplexF32, 8, C::Complex),
        row(B::Double, 0x214, "MPI_DOUBLE", M::F64, 8, C::Floating),
        row(B::CDoubleComplex, 0x216, "MPI_C_DOUBLE_COMPLEX", M::ComplexF64, 16, C::Complex),
        row(B::CxxDoubleComplex, 0x217, "MPI_CXX_DOUBLE_COMPLEX", M::ComplexF64, 16, C::Complex),
        row(B::Logical, 0x218, "MPI_LOGICAL", M::U32, 4, C::Logical),
        row(B::Integer, 0x219, "MPI_INTEGER", M::I32, 4, C::FortranInteger),
        row(B::Real, 0x21a, "MPI_REAL", M::F32, 4, C::Floating),
        row(B::Complex, 0x21b, "MPI_COMPLEX", M::ComplexF32, 8, C::Complex),
        row(B::DoublePrecision, 0x21c, "MPI_DOUBLE_PRECISION", M::F64, 8, C::Floating),
        row(B::DoubleComplex, 0x21d, "MPI_DOUBLE_COMPLEX", M::ComplexF64, 16, C::Complex),
        row(B::Character, 0x21e, "MPI_CHARACTER", M::U8, 1, C::Text),
        row(B::LongDouble, 0x220, "MPI_LONG_DOUBLE", M::LongDouble, 16, C::Floating),
        row(B::CLongDoubleComplex, 0x224, "MPI_C_LONG_DOUBLE_COMPLEX", M::ComplexLongDouble, 32, C::Complex),
        row(B::CxxLongDoubleComplex, 0x225, "MPI_CXX_LONG_DOUBLE_COMPLEX", M::ComplexLongDouble, 32, C::Complex),
        row(B::FloatInt, 0x228, "MPI_FLOAT_INT", M::Pair, 8, C::Pair),
        row(B::DoubleInt, 0x229, "MPI_DOUBLE_INT", M::Pair, 12, C::Pair),
        row(B::LongInt, 0x22a, "MPI_LONG_INT", M::Pair, 8, C::Pair),
        row(B::TwoInt, 0x22b, "MPI_2INT", M::Pair, 8, C::Pair),
        row(B::ShortInt, 0x22c, "MPI_SHORT_INT", M::Pair, 6, C::Pair),
        row(B::LongDoubleInt, 0x22d, "MPI_LONG_DOUBLE_INT", M::Pair, 20, C::Pair),
        row(B::TwoReal, 0x230, "MPI_2REAL", M::Pair, 8, C::Pair),
        row(B::TwoDoublePrecision, 0x231, "MPI_2DOUBLE_PRECISION", M::Pair, 16, C::Pair),
        row(B::TwoInteger, 0x232, "MPI_2INTEGER", M::Pair, 8, C::Pair),
        row(B::CBool, 0x238, "MPI_C_BOOL", M::U8, 1, C::Logical),
        row(B::CxxBool, 0x239, "MPI_CXX_BOOL", M::U8, 1, C::Logical),
        row(B::Wchar, 0x23c, "MPI_WCHAR", M::U32, 2, C::Text),
        row(B::Int8, 0x240, "MPI_INT8_T", M::I8, 1, C::CInteger),
        row(B::Uint8, 0x241, "MPI_UINT8_T", M::U8, 1, C::CInteger),
        row(B::Char, 0x243, "MPI_CHAR", CHAR, 1, C::Text),
        row(B::SignedChar, 0x244, "MPI_SIGNED_CHAR", M::I8, 1, C::CInteger),
        row(B::UnsignedChar, 0x245, "MPI_UNSIGNED_CHAR", M::U8, 1, C::CInteger),
        row(B::Byte, 0x247, "MPI_BYTE", M::U8, 1, C::Byte),
        row(B::Int16, 0x248, "MPI_INT16_T", M::I16, 2, C::CInteger),
        row(B::Uint16, 0x249, "MPI_UINT16_T", M::U16, 2, C::CInteger),
        row(B::Int32, 0x250, "MPI_INT32_T", M::I32, 4, C::CInteger),
        row(B::Uint32, 0x251, "MPI_UINT32_T", M::U32, 4, C::CInteger),
        row(B::Int64, 0x258, "MPI_INT64_T", M::I64, 8, C::CInteger),
        row(B::Uint64, 0x259, "MPI_UINT64_T", M::U64, 8, C::CInteger),
        row(B::Logical1, 0x2c0, "MPI_LOGICAL1", M::U8, 1, C::Logical),
        row(B::Integer1, 0x2c1, "MPI_INTEGER1", M::I8, 1, C::FortranInteger),
        row(B::Logical2, 0x2c8, "MPI_LOGICAL2", M::U16, 2, C::Logical),
        row(B::Integer2, 0x2c9, "MPI_INTEGER2", M::I16, 2, C::FortranInteger),
        row(B::Real2, 0x2ca, "MPI_REAL2", M::F16, 2, C::Floating),
        row(B::Logical4, 0x2d0, "MPI_LOGICAL4", M::U32, 4, C::Logical),
        row(B::Integer4, 0x2d1, "MPI_INTEGER4", M::I32, 4, C::FortranInteger),
        row(B::Real4, 0x2d2, "MPI_REAL4", M::F32, 4, C::Floating),
        row(B::Complex4, 0x2d3, "MPI_COMPLEX4", M::ComplexF16, 4, C::Complex),
        row(B::Logical8, 0x2d8, "MPI_LOGICAL8", M::U64, 8, C::Logical),
        row(B::Integer8, 0x2d9, "MPI_INTEGER8", M::I64, 8, C::FortranInteger),
        row(B::Real8, 0x2da, "MPI_REAL8", M::F64, 8, C::Floating),
        row(B::Complex8, 0x2db, "MPI_COMPLEX8", M::ComplexF32, 8, C::Complex),
        row(B::Logical16, 0x2e0, "MPI_LOGICAL16", M::I128, 16, C::Logical),
        row(B::Integer16, 0x2e1, "MPI_INTEGER16", M::I128, 16, C::FortranInteger),
        row(B::Real16, 0x2e2, "MPI_REAL16", M::F128, 16, C::Floating),
        row(B::Complex16, 0x2e3, "MPI_COMPLEX16", M::ComplexF64, 16, C::Complex),
        row(B::Complex32, 0x2eb, "MPI_COMPLEX32", M::ComplexF128, 32, C::Complex),
    ]
};

// A row out of place would answer for another type: refuse to compile.
const _: () = {
    let mut i = 0;
    while i < BASIC_COUNT {
        assert!(ROWS[i].basic as usize == i);
        assert!(i == 0 || ROWS[i - 1].handle < ROWS[i].handle);
        i += 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows `(name, value)` of the ABI table whose type is `MPI_Datatype`.
    fn abi_datatypes() -> Vec<(String, usize)> {
        let table = include_str!("../../abi/tables/constants.tsv");
        let rows = table.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t'));
        rows.map(|cells| cells.collect::<Vec<_>>())
            .filter(|cells| cells[1] == "MPI_Datatype" && cells[0] != "MPI_DATATYPE_NULL")
            .map(|cells| (cells[0].to_string(), parse_hex(cells[2])))
            .collect()
    }

    fn parse_hex(text: &str) -> usize {
        usize::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
    }

    #[test]
    fn every_datatype_of_the_abi_is_here_under_its_handle() {
        let ours: Vec<_> = Basic::ALL
            .iter()
            .map(|b| (first_name(b.name()).to_string(), b.handle_value() as usize))
            .collect();
        assert_eq!(abi_datatypes(), ours);
        for basic in Basic::ALL {
            assert_eq!(Basic::from_handle(basic.handle_value() as usize), Some(basic));
        }
    }

    /// Of two names the one that the table has.
    fn first_name(name: &str) -> &str {
        match name {
            "MPI_LONG_LONG_INT" => "MPI_LONG_LONG",
            "MPI_C_COMPLEX" => "MPI_C_FLOAT_COMPLEX",
            _ => name,
        }
    }

    #[test]
    fn other_values_are_no_type() {
        let known: Vec<_> = abi_datatypes().into_iter().map(|row| row.1).collect();
        for value in (0..5000).chain([usize::MAX]).filter(|value| !known.contains(value)) {
            assert_eq!(Basic::from_handle(value), None, "{value:#x}");
        }
    }

    /// The layouts that C gives the pair types on both of our targets.
    #[test]
    fn pairs_lie_as_c_structs() {
        let layouts = [
            (Basic::FloatInt, 8, 8, 4, 4),
            (Basic::DoubleInt, 12, 16, 8, 8),
            (Basic::LongInt, 12, 16, 8, 8),
            (Basic::TwoInt, 8, 8, 4, 4),
            (Basic::ShortInt, 6, 8, 4, 4),
            (Basic::LongDoubleInt, 20, 32, 16, 16),
            (Basic::TwoReal, 8, 8, 4, 4),
            (Basic::TwoDoublePrecision, 16, 16, 8, 8),
            (Basic::TwoInteger, 8, 8, 4, 4),
        ];
        for (basic, size, extent, align, second) in layouts {
            assert_eq!((basic.size(), basic.extent(), basic.align()), (size, extent, align), "{basic}");
            assert_eq!(basic.pieces()[1].offset, second, "{basic}");
        }
    }

    #[test]
    fn pieces_add_up_to_the_element() {
        for basic in Basic::ALL {
            let handle = usize::from(basic.handle_value());
            assert_eq!(Basic::contiguous_size(handle), basic.is_contiguous().then(|| basic.size()));
            let pieces = basic.pieces();
            assert_eq!(pieces.iter().map(|p| p.basic.size()).sum::<usize>(), basic.size());
            assert_eq!(pieces.iter().map(|p| p.basic.external_size()).sum::<usize>(), basic.external_size());
            assert!(pieces.iter().all(|p| p.offset % p.basic.align() == 0 && p.basic.is_contiguous()));
        }
    }

    #[test]
    fn sized_types_have_the_size_in_their_name() {
        for basic in Basic::ALL {
            let digits: String = basic.name().chars().filter(char::is_ascii_digit).collect();
            if let (Ok(number), false) = (digits.parse::<usize>(), basic.class() == Class::Pair) {
                let bytes = if basic.name().ends_with("_T") { number / 8 } else { number };
                assert_eq!(basic.size(), bytes, "{basic}");
            }
        }
    }
}
