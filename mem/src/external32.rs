//! The `external32` representation: the same bytes on every machine (MPI 5.0, section 14.5.2).
//!
//! Big-endian two's complement and IEEE numbers of fixed sizes, without padding. Most types only turn
//! their bytes around; `long` and `wchar_t` are narrower there than here, and `long double` is binary128.

use crate::basic::{Basic, MachineType, Piece};
use crate::op::{long_double_from_quad, long_double_to_quad};

/// Bytes of one element in `external32`.
pub const fn external_size(basic: Basic) -> usize {
    basic.external_size()
}

/// Writes one element of memory in its external form.
///
/// A `long` or `wchar_t` that does not fit the narrower external number keeps its low-order bytes.
///
/// # Safety
/// `src` must be readable for `basic.extent()` bytes, and `dst` writable for [`external_size`] bytes. The
/// two must not overlap; no alignment is needed.
pub unsafe fn encode(basic: Basic, src: *const u8, dst: *mut u8) {
    let mut written = 0;
    for scalar in scalars(basic) {
        // SAFETY: the scalars of an element lie within its extent, and their external sizes add up to
        // that of the element.
        unsafe { encode_scalar(scalar, src.add(scalar.offset), dst.add(written)) };
        written += scalar.external;
    }
}

/// Reads one element from its external form into memory; padding is left as it is.
///
/// # Safety
/// `src` must be readable for [`external_size`] bytes, and `dst` writable for `basic.extent()` bytes. The
/// two must not overlap; no alignment is needed.
pub unsafe fn decode(basic: Basic, src: *const u8, dst: *mut u8) {
    let mut read = 0;
    for scalar in scalars(basic) {
        // SAFETY: as in `encode`.
        unsafe { decode_scalar(scalar, src.add(read), dst.add(scalar.offset)) };
        read += scalar.external;
    }
}

/// [`encode`] for `count` elements that follow each other, here at their extent, there without gaps.
///
/// # Safety
/// As for [`encode`], `count` times.
pub unsafe fn encode_array(basic: Basic, src: *const u8, dst: *mut u8, count: usize) {
    let (extent, external) = (basic.extent(), basic.external_size());
    for i in 0..count {
        // SAFETY: the caller's promise.
        unsafe { encode(basic, src.add(i * extent), dst.add(i * external)) };
    }
}

/// [`decode`] for `count` elements that follow each other, here at their extent, there without gaps.
///
/// # Safety
/// As for [`decode`], `count` times.
pub unsafe fn decode_array(basic: Basic, src: *const u8, dst: *mut u8, count: usize) {
    let (extent, external) = (basic.extent(), basic.external_size());
    for i in 0..count {
        // SAFETY: the caller's promise.
        unsafe { decode(basic, src.add(i * external), dst.add(i * extent)) };
    }
}

/// One number of an element: a complex number has two, a pair has two or more.
#[derive(Clone, Copy)]
struct Scalar {
    /// Bytes from the start of the element in memory.
    offset: usize,
    kind: ConversionKind,
    /// Bytes in memory.
    native: usize,
    /// Bytes in external32.
    external: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum ConversionKind {
    Unsigned,
    Signed,
    LongDouble,
}

fn scalars(basic: Basic) -> impl Iterator<Item = Scalar> {
    basic.pieces().iter().flat_map(|piece| {
        let parts = if is_complex(piece.basic.machine()) { 2 } else { 1 };
        (0..parts).map(move |part| scalar(piece, part, parts))
    })
}

fn scalar(piece: &Piece, part: usize, parts: usize) -> Scalar {
    let native = piece.basic.size() / parts;
    Scalar {
        offset: piece.offset + part * native,
        kind: kind(piece.basic.machine()),
        native,
        external: piece.basic.external_size() / parts,
    }
}

fn is_complex(machine: MachineType) -> bool {
    use MachineType::*;
    matches!(machine, ComplexF16 | ComplexF32 | ComplexF64 | ComplexLongDouble | ComplexF128)
}

fn kind(machine: MachineType) -> ConversionKind {
    match machine {
        MachineType::LongDouble | MachineType::ComplexLongDouble => ConversionKind::LongDouble,
        MachineType::I8 | MachineType::I16 | MachineType::I32 | MachineType::I64 | MachineType::I128 => {
            ConversionKind::Signed
        }
        _ => ConversionKind::Unsigned,
    }
}

/// The widest number: binary128 and the 16-byte integers.
const SCALAR_BYTES_MAX: usize = 16;

/// # Safety
/// `src` must be readable for `scalar.native` bytes, `dst` writable for `scalar.external` bytes.
unsafe fn encode_scalar(scalar: Scalar, src: *const u8, dst: *mut u8) {
    let mut number = [0; SCALAR_BYTES_MAX];
    // SAFETY: the caller's promise; no scalar is wider than the array, and the low-order bytes that are
    // copied out are at most as many as were copied in.
    unsafe {
        match scalar.kind {
            ConversionKind::LongDouble => long_double_to_quad(src, number.as_mut_ptr()),
            _ => src.copy_to_nonoverlapping(number.as_mut_ptr(), scalar.native),
        }
        to_big_endian(&mut number[..scalar.native]);
        let low = &number[scalar.native - scalar.external..scalar.native];
        low.as_ptr().copy_to_nonoverlapping(dst, scalar.external);
    }
}

/// # Safety
/// `src` must be readable for `scalar.external` bytes, `dst` writable for `scalar.native` bytes.
unsafe fn decode_scalar(scalar: Scalar, src: *const u8, dst: *mut u8) {
    let mut number = [0; SCALAR_BYTES_MAX];
    let high = scalar.native - scalar.external;
    // SAFETY: the caller's promise; no scalar is wider than the array.
    unsafe {
        src.copy_to_nonoverlapping(number[high..].as_mut_ptr(), scalar.external);
        if scalar.kind == ConversionKind::Signed && number[high] >= 0x80 {
            number[..high].fill(0xff);
        }
        to_big_endian(&mut number[..scalar.native]);
        match scalar.kind {
            ConversionKind::LongDouble => long_double_from_quad(number.as_ptr(), dst),
            _ => number.as_ptr().copy_to_nonoverlapping(dst, scalar.native),
        }
    }
}

/// Turns this machine's byte order into big-endian, or back.
fn to_big_endian(number: &mut [u8]) {
    if cfg!(target_endian = "little") {
        number.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded<const N: usize>(basic: Basic, native: [u8; N]) -> Vec<u8> {
        assert_eq!(basic.extent(), N);
        let mut external = vec![0; external_size(basic)];
        // SAFETY: both hold one element.
        unsafe { encode(basic, native.as_ptr(), external.as_mut_ptr()) };
        external
    }

    fn decoded<const N: usize>(basic: Basic, external: &[u8]) -> [u8; N] {
        assert_eq!((basic.extent(), external_size(basic)), (N, external.len()));
        let mut native = [0; N];
        // SAFETY: both hold one element.
        unsafe { decode(basic, external.as_ptr(), native.as_mut_ptr()) };
        native
    }

    #[test]
    fn numbers_are_big_endian() {
        assert_eq!(encoded(Basic::Int, 0x0102_0304_i32.to_ne_bytes()), [1, 2, 3, 4]);
        assert_eq!(encoded(Basic::Double, 1.0_f64.to_ne_bytes()), [0x3f, 0xf0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(i16::from_ne_bytes(decoded(Basic::Short, &[0xff, 0xfe])), -2);
        assert_eq!(encoded(Basic::Byte, [7]), [7]);
    }

    #[test]
    fn long_and_wchar_are_narrow() {
        assert_eq!(encoded(Basic::Long, (-2_i64).to_ne_bytes()), [0xff, 0xff, 0xff, 0xfe]);
        assert_eq!(i64::from_ne_bytes(decoded(Basic::Long, &[0xff, 0xff, 0xff, 0xfe])), -2);
        assert_eq!(u64::from_ne_bytes(decoded(Basic::UnsignedLong, &[0xff, 0, 0, 1])), 0xff00_0001);
        assert_eq!(encoded(Basic::Wchar, ('é' as u32).to_ne_bytes()), [0, 0xe9]);
        assert_eq!(u32::from_ne_bytes(decoded(Basic::Wchar, &[0xff, 0xe9])), 0xffe9);
    }

    #[test]
    fn parts_keep_their_order_and_padding_is_gone() {
        let complex = [1.0_f32.to_ne_bytes(), 2.0_f32.to_ne_bytes()].concat();
        let external = encoded::<8>(Basic::CFloatComplex, complex.try_into().unwrap());
        assert_eq!(external, [0x3f, 0x80, 0, 0, 0x40, 0, 0, 0]);
        let mut short_int = [0x55; 8];
        short_int[..2].copy_from_slice(&3_i16.to_ne_bytes());
        short_int[4..].copy_from_slice(&4_i32.to_ne_bytes());
        assert_eq!(encoded(Basic::ShortInt, short_int), [0, 3, 0, 0, 0, 4]);
    }

    /// -1.5 in x87 extended precision, and in binary128 where that is what a long double is.
    fn minus_one_and_a_half() -> [u8; 16] {
        let mut bytes = [0; 16];
        if cfg!(target_arch = "x86_64") {
            bytes[7..10].copy_from_slice(&[0xc0, 0xff, 0xbf]);
        } else {
            bytes = (0xbfff_8000_u128 << 96).to_ne_bytes();
        }
        bytes
    }

    #[test]
    fn long_double_is_binary128() {
        let native = minus_one_and_a_half();
        let mut external = [0; 16];
        external[..3].copy_from_slice(&[0xbf, 0xff, 0x80]);
        assert_eq!(encoded(Basic::LongDouble, native), external);
        assert_eq!(decoded(Basic::LongDouble, &external), native);
    }

    #[test]
    fn every_type_comes_back_as_it_went() {
        for basic in Basic::ALL {
            let native = small_numbers(basic);
            let mut external = vec![0; 3 * external_size(basic)];
            let mut back = vec![0; native.len()];
            // SAFETY: three elements on both sides.
            unsafe {
                encode_array(basic, native.as_ptr(), external.as_mut_ptr(), 3);
                decode_array(basic, external.as_ptr(), back.as_mut_ptr(), 3);
            }
            assert_eq!(back, native, "{basic}");
        }
    }

    /// Three elements whose numbers are all small enough for their external form.
    fn small_numbers(basic: Basic) -> Vec<u8> {
        let mut bytes = vec![0; 3 * basic.extent()];
        for i in 0..3 {
            for scalar in scalars(basic) {
                let at = i * basic.extent() + scalar.offset;
                match scalar.kind {
                    ConversionKind::LongDouble => bytes[at..at + 16].copy_from_slice(&minus_one_and_a_half()),
                    _ if cfg!(target_endian = "little") => bytes[at] = i as u8 + 1,
                    _ => bytes[at + scalar.native - 1] = i as u8 + 1,
                }
            }
        }
        bytes
    }
}
