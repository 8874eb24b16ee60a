//! IEEE binary16, computed in binary32.
//!
//! One operation on two binary16 numbers, done in binary32 and rounded once more, gives the correctly
//! rounded result: 24 bits are enough for the sum and the product of two 11-bit numbers (Figueroa 1995).

use super::combine::Arithmetic;
use std::cmp::Ordering;

/// A binary16 number, as its bits.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Half(pub u16);

const SIGN: u16 = 0x8000;
const INFINITY: u16 = 0x7c00;
const QUIET: u16 = 0x0200;
/// From the exponent bias of binary16 (15) to that of binary32 (127).
const REBIAS: u32 = 127 - 15;
/// Bits by which a binary32 fraction is longer.
const SHIFT: u32 = 23 - 10;
/// Half of binary16's smallest number, 2^-25, as binary32 bits: up to here all becomes zero.
const UNDERFLOW: u32 = (127 - 25) << 23;
/// 2^-14, binary16's smallest normal number, as binary32 bits.
const NORMAL_MIN: u32 = (REBIAS + 1) << 23;
/// 2^16 as binary32 bits: no binary16 number is as great.
const OVERFLOW: u32 = (127 + 16) << 23;

impl Half {
    /// The same number in binary32, exactly.
    pub fn widen(self) -> f32 {
        let sign = ((self.0 & SIGN) as u32) << 16;
        let exponent = ((self.0 >> 10) & 0x1f) as u32;
        let fraction = (self.0 & 0x3ff) as u32;
        let magnitude = match exponent {
            0 => (fraction as f32 * f32::from_bits((127 - 24) << 23)).to_bits(),
            0x1f => 0x7f80_0000 | (fraction << SHIFT),
            _ => ((exponent + REBIAS) << 23) | (fraction << SHIFT),
        };
        f32::from_bits(sign | magnitude)
    }

    /// The nearest binary16 number; of two equally near, the one with an even last bit.
    pub fn round(value: f32) -> Half {
        let bits = value.to_bits();
        let sign = (bits >> 16) as u16 & SIGN;
        let magnitude = bits & 0x7fff_ffff;
        Half(sign | round_magnitude(magnitude))
    }
}

fn round_magnitude(magnitude: u32) -> u16 {
    if magnitude > 0x7f80_0000 {
        // Not a number: keep what fits of its payload.
        INFINITY | QUIET | ((magnitude >> SHIFT) as u16 & 0x1ff)
    } else if magnitude >= OVERFLOW {
        INFINITY
    } else if magnitude <= UNDERFLOW {
        0
    } else if magnitude < NORMAL_MIN {
        // A multiple of 2^-24: make the fraction whole, and drop what is below the unit.
        let exponent = magnitude >> 23;
        let fraction = (magnitude & 0x7f_ffff) | 0x80_0000;
        round_off(fraction, 127 - 24 + 23 - exponent) as u16
    } else {
        // A carry out of the fraction raises the exponent, up to infinity, as it must.
        round_off(magnitude - (REBIAS << 23), SHIFT) as u16
    }
}

/// `value / 2^bits`, to the nearest, ties to even.
fn round_off(value: u32, bits: u32) -> u32 {
    let kept = value >> bits;
    let rest = value & ((1 << bits) - 1);
    let middle = 1 << (bits - 1);
    kept + (rest > middle || (rest == middle && kept & 1 == 1)) as u32
}

impl Arithmetic for Half {
    fn plus(self, other: Self) -> Self {
        Half::round(self.widen() + other.widen())
    }

    fn times(self, other: Self) -> Self {
        Half::round(self.widen() * other.widen())
    }
}

impl PartialEq for Half {
    fn eq(&self, other: &Self) -> bool {
        self.widen() == other.widen()
    }
}

impl PartialOrd for Half {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.widen().partial_cmp(&other.widen())
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

    /// Between two neighbours, the nearer one; in the middle, the even one.
    #[test]
    fn rounds_to_the_nearest_even() {
        for bits in 0..INFINITY {
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
