//! Type signatures as hashes of a sequence.
//!
//! Two types have the same signature if their typemaps list the same basic types in the same order, however they
//! are nested (MPI 5.0, section 5.1). So the hash must respect concatenation: it is a polynomial over a prime
//! field, with which the hash of `a` followed by `b` follows from those of `a` and `b`, and a repetition is a
//! power computed by squaring.

/// The prime field: 2^61 - 1, whose reduction is two additions.
const PRIME: u64 = (1 << 61) - 1;
/// The point at which the polynomial is evaluated: any large element will do; this one is 2^64 / golden ratio.
const POINT: u64 = 0x9e37_79b9_7f4a_7c15 % PRIME;

/// The signature of a sequence of basic types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    hash: u64,
    /// `POINT` to the power of the sequence's length: what a prefix is multiplied by.
    shift: u64,
}

impl Signature {
    /// The signature of nothing.
    pub const EMPTY: Self = Signature { hash: 0, shift: 1 };

    /// The signature of one basic type with this code.
    pub fn of(code: u32) -> Self {
        // Codes are spread over the field, so that short sequences do not collide by small arithmetic.
        let spread = mul((u64::from(code) + 1) % PRIME, 0x5851_f42d_4c95_7f2d % PRIME);
        Signature { hash: spread, shift: POINT }
    }

    /// The signature of `self` followed by `next`.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        Signature { hash: add(mul(self.hash, next.shift), next.hash), shift: mul(self.shift, next.shift) }
    }

    /// The signature of `count` repetitions.
    #[must_use]
    pub fn times(self, mut count: u64) -> Self {
        if count == 1 {
            return self;
        }
        let (mut result, mut square) = (Self::EMPTY, self);
        while count > 0 {
            if count & 1 == 1 {
                result = result.then(square);
            }
            square = square.then(square);
            count >>= 1;
        }
        result
    }

    /// The hash to send beside a message; never zero, so that zero can mean 'not checked'.
    pub fn value(self) -> u64 {
        (self.hash ^ self.shift.rotate_left(3)) | 1 << 63
    }
}

fn add(a: u64, b: u64) -> u64 {
    let sum = a + b;
    if sum >= PRIME { sum - PRIME } else { sum }
}

fn mul(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    let (low, high) = ((wide as u64) & PRIME, (wide >> 61) as u64);
    add(low % PRIME, high % PRIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_does_not_matter() {
        let (int, double) = (Signature::of(1), Signature::of(2));
        let pair = int.then(double);
        assert_eq!(pair.times(6), pair.times(2).times(3));
        assert_eq!(pair.times(2), int.then(double.then(int)).then(double));
        assert_eq!(int.times(1 << 40), int.times(1 << 20).times(1 << 20));
    }

    #[test]
    fn order_and_count_do_matter() {
        let (int, double) = (Signature::of(1), Signature::of(2));
        assert_ne!(int.then(double).value(), double.then(int).value());
        assert_ne!(int.times(3).value(), int.times(4).value());
        assert_eq!(int.times(0), Signature::EMPTY);
    }
}
