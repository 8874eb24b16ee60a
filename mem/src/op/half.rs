//! IEEE binary16, computed in binary32.
//!
//! One operation on two binary16 numbers, done in binary32 and rounded once more, gives the correctly
//! rounded result: 24 bits are enough for the sum and the product of two 11-bit numbers (Figueroa 1995).

use super::combine::Arithmetic;
use std::cmp::Ordering;

/// A binary16 number, as its bits.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Half(pub u16);

const SIGN: u16 = 0x8000;
const INFINITY: u32 = 0x7c00;
const QUIET: u32 = 0x0200;
/// Bits by which a binary32 fraction is longer.
const SHIFT: u32 = 23 - 10;
/// From the exponent bias of binary16 (15) to that of binary32 (127), in its place.
const REBIAS: u32 = (127 - 15) << 23;
/// 2^-14, binary16's smallest normal number, as binary32 bits.
const NORMAL_MIN: u32 = REBIAS + (1 << 23);
/// 2^16 as binary32 bits: no binary16 number is as great.
const OVERFLOW: u32 = (127 + 16) << 23;
/// Infinity as binary32 bits; what is above is not a number.
const WIDE_INFINITY: u32 = 0x7f80_0000;

// Both conversions compute every case and then choose, without a branch, so that the loop over an array
// becomes vector instructions.
impl Half {
    /// The same number in binary32, exactly.
    #[inline(always)]
    pub(super) fn widen(self) -> f32 {
        let sign = ((self.0 & SIGN) as u32) << 16;
        let magnitude = ((self.0 & !SIGN) as u32) << SHIFT;
        let normal = magnitude + REBIAS;
        // A subnormal number lacks the leading one: put one there, and take its value away again.
        let subnormal = (f32::from_bits(magnitude + NORMAL_MIN) - f32::from_bits(NORMAL_MIN)).to_bits();
        let special = magnitude | WIDE_INFINITY;
        let finite = if magnitude < 1 << 23 { subnormal } else { normal };
        f32::from_bits(sign | if magnitude < INFINITY << SHIFT { finite } else { special })
    }

    /// The nearest binary16 number; of two equally near, the one with an even last bit.
    #[inline(always)]
    pub(super) fn round(value: f32) -> Half {
        let bits = value.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        let odd = (magnitude >> SHIFT) & 1;
        let nearly_half = (1 << (SHIFT - 1)) - 1;
        // A carry out of the fraction raises the exponent, up to infinity, as it must.
        let normal = magnitude.wrapping_sub(REBIAS).wrapping_add(nearly_half + odd) >> SHIFT;
        // The last bit of 0.5 in binary32 stands for 2^-24, the unit of subnormal numbers: adding rounds.
        let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5_f32.to_bits());
        let finite = if magnitude < NORMAL_MIN { subnormal } else { normal };
        let not_a_number = INFINITY | QUIET | ((magnitude >> SHIFT) & 0x3ff);
        let special = if magnitude > WIDE_INFINITY { not_a_number } else { INFINITY };
        let rounded = if magnitude < OVERFLOW { finite } else { special };
        Half((bits >> 16) as u16 & SIGN | rounded as u16)
    }
}

impl Arithmetic for Half {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Half::round(self.widen() + other.widen())
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Half::round(self.widen() * other.widen())
    }
}

impl PartialEq for Half {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.widen() == other.widen()
    }
}

impl PartialOrd for Half {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.widen().partial_cmp(&other.widen())
    }

    #[inline(always)]
    fn lt(&self, other: &Self) -> bool {
        self.widen() < other.widen()
    }

    #[inline(always)]
    fn gt(&self, other: &Self) -> bool {
        self.widen() > other.widen()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_survives_the_way_there_and_back() {
        for bits in 0..=u16::MAX {
            let there = Half(bits).widen();
            let back = Half::round(there);
            assert!(back.0 == bits || there.is_nan() && back.widen().is_nan(), "{bits:#x} {there}");
        }
    }

    #[test]
    fn known_values() {
        let known = [(0x3c00, 1.0), (0xc000, -2.0), (0x7bff, 65504.0), (0x0001, 5.960_464_5e-8)];
        for (bits, value) in known {
            assert_eq!(Half(bits).widen(), value);
        }
        assert_eq!(Half(0x7c00).widen(), f32::INFINITY);
        assert!(Half(0x7e00).widen().is_nan());
    }

    /// Between two neighbors, the nearer one; in the middle, the even one.
    #[test]
    fn rounds_to_the_nearest_even() {
        for bits in 0..INFINITY as u16 {
            let (low, high) = (Half(bits).widen(), Half(bits + 1).widen());
            let high = if high.is_infinite() { 65536.0 } else { high };
            let middle = low + (high - low) / 2.0;
            let even = if bits & 1 == 0 { bits } else { bits + 1 };
            assert_eq!(Half::round(middle).0, even, "{bits:#x}");
            assert_eq!(Half::round(middle.next_down()).0, bits);
            assert_eq!(Half::round(-middle.next_up()).0, SIGN | (bits + 1));
        }
    }
}
