//! Every operation on every type that allows it, against a second definition that is written for
//! clearness: integers in 128 bits, real numbers in binary64.

use super::half::Half;
use super::select;
use super::{PredefinedOp, Registers, reduce, reduce3};
use crate::basic::{Basic, Class, MachineType};
use PredefinedOp::*;

/// Counts around the widths of vector registers, and none.
const COUNTS: [usize; 8] = [0, 1, 2, 3, 7, 16, 33, 131];

/// Small numbers, so that every type holds them, and their sums and products, exactly.
fn sample(seed: usize) -> i128 {
    [1, 2, 0, 3, 1, 4, 2, 0, 5][seed % 9]
}

#[test]
fn a_kernel_exists_exactly_where_the_standard_allows_one() {
    for op in PredefinedOp::ALL.into_iter().filter(|op| op.reduces()) {
        for basic in Basic::ALL {
            assert_eq!(select::kernel(op, basic).is_some(), op.allows(basic), "{op} on {basic}");
        }
    }
}

#[test]
fn allowed_types_are_those_of_the_standard() {
    let allowed = |op: PredefinedOp, class| {
        Basic::ALL.iter().filter(|basic| basic.class() == class).all(|basic| op.allows(*basic))
    };
    for op in [Sum, Prod] {
        assert!(allowed(op, Class::CInteger) && allowed(op, Class::Floating) && allowed(op, Class::Complex));
        assert!(!op.allows(Basic::Byte) && !op.allows(Basic::Logical) && !op.allows(Basic::TwoInt));
    }
    for op in [Min, Max] {
        assert!(allowed(op, Class::FortranInteger) && allowed(op, Class::MultiLanguage));
        assert!(!op.allows(Basic::Complex) && !op.allows(Basic::CBool));
    }
    for op in [Band, Bor, Bxor] {
        assert!(allowed(op, Class::CInteger) && allowed(op, Class::Byte));
        assert!(!op.allows(Basic::Double) && !op.allows(Basic::Logical));
    }
    for op in [Land, Lor, Lxor] {
        assert!(allowed(op, Class::CInteger) && allowed(op, Class::Logical));
        assert!(!op.allows(Basic::Byte) && !op.allows(Basic::Float));
    }
    for op in [Minloc, Maxloc] {
        assert!(Basic::ALL.iter().all(|basic| op.allows(*basic) == (basic.class() == Class::Pair)));
    }
    assert!(Basic::ALL.iter().all(|basic| Replace.allows(*basic) && NoOp.allows(*basic)));
    assert!(!Sum.allows(Basic::Wchar) && !Sum.allows(Basic::Character) && !Band.allows(Basic::Packed));
}

#[test]
fn identities_are_those_of_the_abi() {
    let table = include_str!("../../../abi/tables/constants.tsv");
    let mut found = 0;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        if cells[1] == "MPI_Op" && cells[0] != "MPI_OP_NULL" {
            let value = usize::from_str_radix(cells[2].trim_start_matches("0x"), 16).unwrap();
            assert_eq!(PredefinedOp::from_handle(value).map(PredefinedOp::name), Some(cells[0]));
            found += 1;
        }
    }
    assert_eq!(found, PredefinedOp::ALL.len());
    assert!(
        [0, 0x20, 0x3e, 0x40, usize::MAX].iter().all(|value| PredefinedOp::from_handle(*value).is_none())
    );
    for (i, op) in PredefinedOp::ALL.into_iter().enumerate() {
        assert_eq!(op as usize, i);
    }
}

#[test]
fn every_operation_on_every_type_agrees_with_its_definition() {
    for op in PredefinedOp::ALL {
        for basic in Basic::ALL.into_iter().filter(|basic| op.allows(*basic)) {
            for count in COUNTS {
                check(op, basic, count, 0);
                check(op, basic, count, 1);
            }
        }
    }
}

/// Kernels for narrower registers than this machine's are what other machines run.
#[test]
fn kernels_for_all_registers_do_the_same() {
    for on in Registers::ALL.into_iter().filter(|on| *on <= Registers::here()) {
        for op in PredefinedOp::ALL {
            for basic in Basic::ALL {
                let Some(kernel) = select::kernel_for(op, basic, on) else { continue };
                for count in COUNTS {
                    let a: Vec<Element> = (0..count).map(|i| Element::sample(basic, i)).collect();
                    let b: Vec<Element> = (0..count).map(|i| Element::sample(basic, 3 * i + 1)).collect();
                    let expected: Vec<Element> =
                        a.iter().zip(&b).map(|(a, b)| naive(op, basic, a, b)).collect();
                    let (left, mut right) = (Array::of(basic, &a, 1), Array::of(basic, &b, 1));
                    let out = right.start_mut();
                    // SAFETY: both arrays hold `count` elements, and the machine has these registers.
                    unsafe { kernel(left.start(), out, out, count) };
                    assert!(right.holds(basic, &expected), "{op} on {basic}, {count} elements, {on:?}");
                    assert!(right.fences_stand(), "{op} on {basic}, {on:?}, wrote beyond {count} elements");
                }
            }
        }
    }
}

/// All three forms (in place on either side, and apart), `shift` bytes off alignment.
fn check(op: PredefinedOp, basic: Basic, count: usize, shift: usize) {
    let a: Vec<Element> = (0..count).map(|i| Element::sample(basic, i)).collect();
    let b: Vec<Element> = (0..count).map(|i| Element::sample(basic, 3 * i + 1)).collect();
    let expected: Vec<Element> = a.iter().zip(&b).map(|(a, b)| naive(op, basic, a, b)).collect();

    let (left, right) = (Array::of(basic, &a, shift), Array::of(basic, &b, shift));
    let (mut onto_left, mut onto_right) = (left.clone(), right.clone());
    let mut apart = Array::of(basic, &vec![Element::sample(basic, 2); count], shift);
    // SAFETY: each array holds `count` elements, and those that are written are not shared.
    unsafe {
        reduce(op, basic, left.start(), onto_right.start_mut(), count);
        reduce3(op, basic, left.start(), right.start(), apart.start_mut(), count);
        let out = onto_left.start_mut();
        reduce3(op, basic, out, right.start(), out, count);
    }
    for (form, result) in [("onto b", onto_right), ("apart", apart), ("onto a", onto_left)] {
        assert!(
            result.holds(basic, &expected),
            "{op} on {basic}, {count} elements, {form}: not {expected:?}"
        );
        assert!(result.fences_stand(), "{op} on {basic} wrote beyond {count} elements");
    }
}

/// An element as the numbers that it consists of: one, two parts of a complex number, or value and index.
type Numbers = Vec<i128>;

#[derive(Clone, Debug, PartialEq)]
struct Element(Numbers);

impl Element {
    fn sample(basic: Basic, seed: usize) -> Element {
        Element((0..scalars(basic).len()).map(|part| sample(seed + 5 * part)).collect())
    }
}

fn naive(op: PredefinedOp, basic: Basic, a: &Element, b: &Element) -> Element {
    let (a, b) = (&a.0, &b.0);
    let parts = || a.iter().zip(b).map(|(a, b)| (*a, *b));
    let each = |f: fn(i128, i128) -> i128| Element(parts().map(|(a, b)| f(a, b)).collect());
    match op {
        Sum => each(|a, b| a + b),
        Prod if basic.class() == Class::Complex => {
            Element(vec![a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]])
        }
        Prod => each(|a, b| a * b),
        Min => each(i128::min),
        Max => each(i128::max),
        Band => each(|a, b| a & b),
        Bor => each(|a, b| a | b),
        Bxor => each(|a, b| a ^ b),
        Land => each(|a, b| (a != 0 && b != 0) as i128),
        Lor => each(|a, b| (a != 0 || b != 0) as i128),
        Lxor => each(|a, b| ((a != 0) != (b != 0)) as i128),
        Minloc => Element(a.min(b).clone()),
        Maxloc if a[0] == b[0] => Element(a.min(b).clone()),
        Maxloc => Element(a.max(b).clone()),
        Replace => Element(a.clone()),
        NoOp => Element(b.clone()),
    }
}

/// The scalars of an element: where each starts and what it is.
fn scalars(basic: Basic) -> Vec<(usize, MachineType)> {
    let pieces = basic.pieces().iter();
    pieces
        .flat_map(|piece| match complex_part(piece.basic.machine()) {
            Some(part) => vec![(piece.offset, part), (piece.offset + part.size(), part)],
            None => vec![(piece.offset, piece.basic.machine())],
        })
        .collect()
}

fn complex_part(machine: MachineType) -> Option<MachineType> {
    match machine {
        MachineType::ComplexF16 => Some(MachineType::F16),
        MachineType::ComplexF32 => Some(MachineType::F32),
        MachineType::ComplexF64 => Some(MachineType::F64),
        MachineType::ComplexLongDouble => Some(MachineType::LongDouble),
        MachineType::ComplexF128 => Some(MachineType::F128),
        _ => None,
    }
}

/// Bytes of an array of elements with a fence on both sides.
#[derive(Clone)]
struct Array {
    bytes: Vec<u8>,
    start: usize,
}

const FENCE: usize = 64;
const FENCE_BYTE: u8 = 0xa5;

impl Array {
    fn of(basic: Basic, elements: &[Element], shift: usize) -> Array {
        let start = FENCE + shift;
        let mut bytes = vec![FENCE_BYTE; start + elements.len() * basic.extent() + FENCE];
        for (i, element) in elements.iter().enumerate() {
            for ((offset, machine), number) in scalars(basic).into_iter().zip(&element.0) {
                let scalar = scalar_bytes(machine, *number);
                let at = start + i * basic.extent() + offset;
                bytes[at..at + scalar.len()].copy_from_slice(&scalar);
            }
        }
        Array { bytes, start }
    }

    fn start(&self) -> *const u8 {
        self.bytes[self.start..].as_ptr()
    }

    fn start_mut(&mut self) -> *mut u8 {
        self.bytes[self.start..].as_mut_ptr()
    }

    /// Whether these are the elements, whatever lies in their padding.
    fn holds(&self, basic: Basic, elements: &[Element]) -> bool {
        let scalars = scalars(basic);
        elements.iter().enumerate().all(|(i, element)| {
            scalars.iter().zip(&element.0).all(|((offset, machine), number)| {
                let at = self.start + i * basic.extent() + offset;
                self.bytes[at..].starts_with(&scalar_bytes(*machine, *number))
            })
        })
    }

    fn fences_stand(&self) -> bool {
        let (low, high) = (&self.bytes[..self.start], &self.bytes[self.bytes.len() - FENCE..]);
        low.iter().chain(high).all(|byte| *byte == FENCE_BYTE)
    }
}

/// A whole number as a scalar of this type; of x87, without the unused bytes.
fn scalar_bytes(machine: MachineType, number: i128) -> Vec<u8> {
    let float = number as f64;
    match machine {
        MachineType::F32 => (float as f32).to_ne_bytes().to_vec(),
        MachineType::F64 => float.to_ne_bytes().to_vec(),
        MachineType::F16 => ((ieee_bits(float, 5, 10)) as u16).to_ne_bytes().to_vec(),
        MachineType::F128 => ieee_bits(float, 15, 112).to_ne_bytes().to_vec(),
        MachineType::LongDouble if cfg!(target_arch = "x86_64") => {
            x87_bits(float).to_ne_bytes()[..10].to_vec()
        }
        MachineType::LongDouble => ieee_bits(float, 15, 112).to_ne_bytes().to_vec(),
        integer if cfg!(target_endian = "little") => number.to_le_bytes()[..integer.size()].to_vec(),
        integer => number.to_be_bytes()[16 - integer.size()..].to_vec(),
    }
}

/// A whole number in an IEEE format with so many bits of exponent and fraction.
fn ieee_bits(value: f64, exponent_bits: u32, fraction_bits: u32) -> u128 {
    let sign = (value.is_sign_negative() as u128) << (exponent_bits + fraction_bits);
    if value == 0.0 {
        return sign;
    }
    let magnitude = value.abs() as u128;
    let exponent = magnitude.ilog2();
    let biased = exponent as u128 + (1 << (exponent_bits - 1)) - 1;
    let fraction = (magnitude ^ (1 << exponent)) << (fraction_bits - exponent);
    sign | (biased << fraction_bits) | fraction
}

/// A whole number as x87 has it: the leading one of the fraction is written out.
fn x87_bits(value: f64) -> u128 {
    let quad = ieee_bits(value, 15, 112);
    let one = if value == 0.0 { 0 } else { 1 << 63 };
    ((quad >> 112) << 64) | one | ((quad >> 49) & ((1 << 63) - 1))
}

/// Runs an operation on single elements that are given as bytes.
fn one<const N: usize>(op: PredefinedOp, basic: Basic, a: [u8; N], b: [u8; N]) -> [u8; N] {
    assert_eq!(basic.extent(), N);
    let mut out = b;
    super::reduce_slices(op, basic, &a, &mut out);
    out
}

#[test]
fn integers_wrap() {
    let i32s = |op, a: i32, b: i32| i32::from_ne_bytes(one(op, Basic::Int, a.to_ne_bytes(), b.to_ne_bytes()));
    assert_eq!(i32s(Sum, i32::MAX, 1), i32::MIN);
    assert_eq!(i32s(Prod, i32::MAX, 2), -2);
    assert_eq!(i32s(Min, -1, 1), -1);
    let u64s =
        |op, a: u64, b: u64| u64::from_ne_bytes(one(op, Basic::Uint64, a.to_ne_bytes(), b.to_ne_bytes()));
    assert_eq!(u64s(Max, u64::MAX, 1), u64::MAX);
    assert_eq!(u64s(Sum, u64::MAX, 2), 1);
}

#[test]
fn extremes_with_not_a_number_follow_the_comparison_of_c() {
    let f64s =
        |op, a: f64, b: f64| f64::from_ne_bytes(one(op, Basic::Double, a.to_ne_bytes(), b.to_ne_bytes()));
    for op in [Min, Max] {
        assert_eq!(f64s(op, f64::NAN, 1.0), 1.0);
        assert!(f64s(op, 1.0, f64::NAN).is_nan());
    }
    assert!(f64s(Sum, f64::NAN, 1.0).is_nan());
    assert_eq!(f64s(Min, f64::NEG_INFINITY, 1.0), f64::NEG_INFINITY);
}

#[test]
fn halves_round_and_overflow() {
    let sum = |a: u16, b: u16| u16::from_ne_bytes(one(Sum, Basic::Real2, a.to_ne_bytes(), b.to_ne_bytes()));
    assert_eq!(sum(0x3c00, 0x1000), 0x3c00, "1 + 2^-11 rounds to even");
    assert_eq!(sum(0x7bff, 0x7bff), 0x7c00, "beyond the greatest is infinite");
    assert_eq!(sum(0x0001, 0x0001), 0x0002, "subnormal numbers add");
}

#[test]
fn an_infinite_factor_makes_an_infinite_product_wherever_it_stands() {
    let bytes =
        |numbers: &[(f64, f64)]| numbers.iter().flat_map(|z| [z.0, z.1]).flat_map(f64::to_ne_bytes).collect();
    for place in 0..33 {
        let mut left = [(2.0, 0.0); 33];
        left[place] = (f64::INFINITY, f64::NAN);
        let (left, mut right): (Vec<u8>, Vec<u8>) = (bytes(&left), bytes(&[(1.0, 1.0); 33]));
        super::reduce_slices(Prod, Basic::CDoubleComplex, &left, &mut right);
        let parts: Vec<f64> =
            right.chunks(8).map(|bytes| f64::from_ne_bytes(bytes.try_into().unwrap())).collect();
        let products = parts.chunks(2).enumerate();
        for (i, product) in products {
            let right = if i == place { product[0].is_infinite() } else { product == [2.0, 2.0] };
            assert!(right, "{place}: {i} is {product:?}");
        }
    }
}

#[test]
fn the_lower_index_wins_a_tie() {
    let pair = |value: i32, index: i32| {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&value.to_ne_bytes());
        bytes[4..].copy_from_slice(&index.to_ne_bytes());
        bytes
    };
    for op in [Minloc, Maxloc] {
        assert_eq!(one(op, Basic::TwoInt, pair(7, 2), pair(7, 5)), pair(7, 2));
        assert_eq!(one(op, Basic::TwoInt, pair(7, 5), pair(7, 2)), pair(7, 2));
    }
    assert_eq!(one(Minloc, Basic::TwoInt, pair(6, 9), pair(7, 2)), pair(6, 9));
    assert_eq!(one(Maxloc, Basic::TwoInt, pair(6, 9), pair(7, 2)), pair(7, 2));
}

#[test]
fn slices_reduce_without_unsafe_code() {
    let mut inout = [1, 2, 250];
    super::reduce_slices(Sum, Basic::Uint8, &[1, 1, 10], &mut inout);
    assert_eq!(inout, [2, 3, 4]);
}

#[test]
#[should_panic(expected = "a part of an element")]
fn slices_hold_whole_elements() {
    super::reduce_slices(Sum, Basic::Int, &[0; 6], &mut [0; 6]);
}

#[test]
#[should_panic(expected = "MPI_BAND is not defined for MPI_DOUBLE")]
fn a_forbidden_combination_is_refused() {
    one(Band, Basic::Double, [0; 8], [0; 8]);
}

/// Numbers that are not like others: they compare or multiply in ways of their own, or have no inverse in a shorter type.
const UNUSUAL: [f64; 11] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, -1.5, 6e-8, 1e-5, 65504.0, -300.25];

/// Two arrays of `count` elements of such numbers, in which nearly all pairs meet; indices are 0 and 1.
fn unusual(basic: Basic, count: usize) -> [Vec<u8>; 2] {
    [1, 7].map(|stride| {
        let mut bytes = vec![0; count * basic.extent()];
        let mut scalar = 0;
        for element in bytes.chunks_exact_mut(basic.extent()) {
            for (offset, machine) in scalars(basic) {
                scalar += 1;
                let place = stride * scalar + scalar / UNUSUAL.len();
                let number = match machine {
                    MachineType::I32 => vec![(place % 2) as u8, 0, 0, 0],
                    _ => unusual_bytes(machine, UNUSUAL[place % UNUSUAL.len()]),
                };
                element[offset..offset + number.len()].copy_from_slice(&number);
            }
        }
        bytes
    })
}

fn unusual_bytes(machine: MachineType, number: f64) -> Vec<u8> {
    match machine {
        MachineType::F16 => Half::round(number as f32).0.to_ne_bytes().to_vec(),
        MachineType::F32 => (number as f32).to_ne_bytes().to_vec(),
        MachineType::F64 => number.to_ne_bytes().to_vec(),
        MachineType::LongDouble if cfg!(target_arch = "x86_64") => {
            let (sign, bits) = ((number.is_sign_negative() as u128) << 79, number.to_bits());
            let fraction = ((bits & ((1 << 52) - 1)) as u128) << 11 | 1 << 63;
            let magnitude = match (bits >> 52 & 0x7ff) as u128 {
                0 => 0,
                0x7ff => 0x7fff << 64 | fraction,
                exponent => (exponent + 16383 - 1023) << 64 | fraction,
            };
            (sign | magnitude).to_ne_bytes()[..10].to_vec()
        }
        _ => panic!("{machine:?} is none of these"),
    }
}

/// Bytes of an element in which all NaNs are one.
fn without_payloads(basic: Basic, element: &[u8]) -> Vec<u8> {
    let mut bytes = element.to_vec();
    for (offset, machine) in scalars(basic) {
        let part = &mut bytes[offset..offset + machine.size()];
        let is_nan = match machine {
            MachineType::F16 => Half(u16::from_ne_bytes((&*part).try_into().unwrap())).widen().is_nan(),
            MachineType::F32 => f32::from_ne_bytes((&*part).try_into().unwrap()).is_nan(),
            MachineType::F64 => f64::from_ne_bytes((&*part).try_into().unwrap()).is_nan(),
            _ => false,
        };
        if is_nan {
            part.fill(0xff);
        }
    }
    bytes
}

/// Each element's result is the one that it has by itself, whatever stands beside it and whichever registers it goes through.
#[test]
fn unusual_numbers_combine_alike_in_all_registers() {
    use Basic::*;
    let types = [Real2, Real4, Real8, Complex4, Complex8, Complex16, DoubleInt, FloatInt, TwoDoublePrecision];
    for on in Registers::ALL.into_iter().filter(|on| *on <= Registers::here()) {
        for (basic, op) in types.into_iter().flat_map(|basic| PredefinedOp::ALL.map(|op| (basic, op))) {
            let Some(alone) = select::kernel_for(op, basic, Registers::Common) else { continue };
            let together = select::kernel_for(op, basic, on).unwrap();
            for count in [1, 3, 15, 16, 500] {
                let [a, b] = unusual(basic, count);
                let (mut expected, mut found) = (b.clone(), b.clone());
                let step = basic.extent();
                // SAFETY: the arrays hold `count` elements, and the machine has these registers.
                unsafe {
                    for at in (0..count).map(|i| i * step) {
                        alone(a[at..].as_ptr(), b[at..].as_ptr(), expected[at..].as_mut_ptr(), 1);
                    }
                    let out = found.as_mut_ptr();
                    together(a.as_ptr(), out, out, count);
                }
                for (i, (left, right)) in expected.chunks(step).zip(found.chunks(step)).enumerate() {
                    let (left, right) = (without_payloads(basic, left), without_payloads(basic, right));
                    assert_eq!(left, right, "{op} on {basic}, {i} of {count}, {on:?}");
                }
            }
        }
    }
}

/// What lies between the parts of pairs is the program's.
#[test]
fn padding_stays_as_it_is() {
    let mut state = 5u64;
    let mut byte = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 56) as u8
    };
    let types = [Basic::DoubleInt, Basic::LongInt, Basic::ShortInt, Basic::LongDoubleInt];
    for on in Registers::ALL.into_iter().filter(|on| *on <= Registers::here()) {
        for (basic, op) in types.into_iter().flat_map(|basic| [(basic, Minloc), (basic, Maxloc)]) {
            let kernel = select::kernel_for(op, basic, on).unwrap();
            let is_data: Vec<bool> = (0..basic.extent())
                .map(|at| {
                    let mut parts = scalars(basic).into_iter();
                    parts.any(|(offset, machine)| {
                        (offset..offset + scalar_bytes(machine, 1).len()).contains(&at)
                    })
                })
                .collect();
            for (count, place) in
                [1, 2, 4, 5, 9, 100].into_iter().flat_map(|count| [(count, 0), (count, 1), (count, 2)])
            {
                let arrays: [Vec<u8>; 3] =
                    std::array::from_fn(|_| (0..count * basic.extent()).map(|_| byte()).collect());
                let [mut a, mut b, mut out] = arrays.clone();
                let out = match place {
                    0 => &mut a,
                    1 => &mut b,
                    _ => &mut out,
                };
                let (before, result) = (out.clone(), out.as_mut_ptr());
                let [a, b, _] = &arrays;
                let [left, right] =
                    [(0, a), (1, b)].map(
                        |(number, operand)| {
                            if number == place { result } else { operand.as_ptr().cast_mut() }
                        },
                    );
                // SAFETY: the arrays hold `count` elements, and the machine has these registers.
                unsafe { kernel(left, right, result, count) };
                for (at, (old, new)) in before.iter().zip(out.iter()).enumerate() {
                    let kept = is_data[at % basic.extent()] || old == new;
                    assert!(kept, "{op} on {basic}, byte {at} of {count} pairs, {on:?}");
                }
            }
        }
    }
}

/// `long double` has kernels of its own, for which the comparisons of binary64 are the definition here.
#[test]
#[cfg(target_arch = "x86_64")]
fn unusual_long_doubles_compare_as_in_c() {
    for (a, b) in UNUSUAL.into_iter().flat_map(|a| UNUSUAL.map(|b| (a, b))) {
        let padded = |number: f64, index: Option<u8>| {
            let mut bytes = [0; 32];
            bytes[..10].copy_from_slice(&unusual_bytes(MachineType::LongDouble, number));
            bytes[16] = index.unwrap_or(0);
            bytes
        };
        for (op, first) in [(Min, a < b), (Max, a > b)] {
            let [left, right] = [a, b].map(|x| <[u8; 16]>::try_from(&padded(x, None)[..16]).unwrap());
            let expected = if first { left } else { right };
            assert_eq!(one(op, Basic::LongDouble, left, right), expected, "{op} of {a} and {b}");
        }
        for (i, j) in [(0, 0), (0, 1), (1, 0)] {
            for (op, first) in [(Minloc, a < b), (Maxloc, a > b)] {
                let (left, right) = (padded(a, Some(i)), padded(b, Some(j)));
                let expected = if first || a == b && i < j { left } else { right };
                let found = one(op, Basic::LongDoubleInt, left, right);
                assert_eq!(found, expected, "{op} of {a} at {i} and {b} at {j}");
            }
        }
    }
}

/// What is converted in the processor is rounded as what is not.
#[test]
fn all_halves_add_and_multiply_alike_in_all_registers() {
    let all: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_ne_bytes).collect();
    for other in [0x3c01_u16, 0x0001, 0x83ff, 0x7bff, 0x1234] {
        let others: Vec<u8> = (0..=u16::MAX).flat_map(|_| other.to_ne_bytes()).collect();
        for op in [Sum, Prod] {
            let results = [Registers::Common, Registers::here()].map(|on| {
                let (kernel, mut out) = (select::kernel_for(op, Basic::Real2, on).unwrap(), others.clone());
                // SAFETY: both arrays hold all numbers of two bytes.
                unsafe { kernel(all.as_ptr(), out.as_ptr(), out.as_mut_ptr(), 1 << 16) };
                out.chunks(2).map(|half| without_payloads(Basic::Real2, half)).collect::<Vec<_>>()
            });
            assert!(results[0] == results[1], "{op} with {other:#x}");
        }
    }
}
