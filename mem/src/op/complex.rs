//! Complex numbers, with the product that C defines (C17, annex G): an infinite factor makes an infinite product. Open MPI multiplies
//! so, and MPICH the types of C; those of Fortran it multiplies by the formula of the textbook alone. Where no part is a NaN all
//! agree. Nothing is fused, as a compiler may do for C, so results do not depend on the processor.

use super::combine::{Arithmetic, Prod, Quick};
use super::half::Half;

/// Real part and imaginary part, as C and Fortran store them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(super) struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}

macro_rules! complex_floats {
    ($($float:ty)*) => {$(
        impl Arithmetic for Complex<$float> {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                Complex { re: self.re + other.re, im: self.im + other.im }
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                let plain = self.plain_product(other);
                if plain.is_nowhere() { self.infinite_product(other) } else { plain }
            }
        }

        impl Quick<Complex<$float>> for Prod {
            const MAY_BE_WRONG: bool = true;

            #[inline(always)]
            fn quick(a: Complex<$float>, b: Complex<$float>) -> Complex<$float> {
                a.plain_product(b)
            }

            /// Where one part is a number it is right, but to ask whether any is not takes fewer instructions.
            #[inline(always)]
            fn is_wrong(result: &Complex<$float>) -> bool {
                result.re.is_nan() | result.im.is_nan()
            }
        }

        impl Complex<$float> {
            /// The product by the formula of the textbook, which is right unless it [`is_nowhere`](Self::is_nowhere).
            #[inline(always)]
            fn plain_product(self, other: Self) -> Self {
                Complex {
                    re: self.re * other.re - self.im * other.im,
                    im: self.re * other.im + self.im * other.re,
                }
            }

            /// Whether neither part is a number.
            #[inline(always)]
            fn is_nowhere(self) -> bool {
                self.re.is_nan() & self.im.is_nan()
            }

            /// The product where the plain formula gave no number at all: an infinite factor still makes
            /// an infinite product (C17, G.5.1).
            #[cold]
            fn infinite_product(self, other: Self) -> Self {
                let overflow = [
                    self.re * other.re,
                    self.im * other.im,
                    self.re * other.im,
                    self.im * other.re,
                ];
                let either = self.is_infinite() || other.is_infinite();
                let huge = overflow.iter().any(|product| product.is_infinite());
                if !either && !huge {
                    return Complex { re: <$float>::NAN, im: <$float>::NAN };
                }
                let (a, b) = (self.boxed(), other.boxed());
                Complex {
                    re: <$float>::INFINITY * (a.re * b.re - a.im * b.im),
                    im: <$float>::INFINITY * (a.re * b.im + a.im * b.re),
                }
            }

            fn is_infinite(self) -> bool {
                self.re.is_infinite() || self.im.is_infinite()
            }

            /// The direction of an infinite number, as ±1 and ±0; of another, itself without its NaNs.
            fn boxed(self) -> Self {
                let infinite = self.is_infinite();
                let part = |x: $float| match (infinite, x.is_infinite(), x.is_nan()) {
                    (true, true, _) => (1.0 as $float).copysign(x),
                    (true, false, _) | (_, _, true) => (0.0 as $float).copysign(x),
                    _ => x,
                };
                Complex { re: part(self.re), im: part(self.im) }
            }
        }
    )*};
}

complex_floats! { f32 f64 }

impl Complex<Half> {
    #[inline(always)]
    fn widen(self) -> Complex<f32> {
        Complex { re: self.re.widen(), im: self.im.widen() }
    }

    #[inline(always)]
    fn round(wide: Complex<f32>) -> Self {
        Complex { re: Half::round(wide.re), im: Half::round(wide.im) }
    }
}

impl Arithmetic for Complex<Half> {
    fn plus(self, other: Self) -> Self {
        Complex::round(self.widen().plus(other.widen()))
    }

    fn times(self, other: Self) -> Self {
        Complex::round(self.widen().times(other.widen()))
    }
}

impl Quick<Complex<Half>> for Prod {
    const MAY_BE_WRONG: bool = true;

    #[inline(always)]
    fn quick(a: Complex<Half>, b: Complex<Half>) -> Complex<Half> {
        Complex::round(a.widen().plain_product(b.widen()))
    }

    /// Rounding makes no number of what was none, and the other way round.
    #[inline(always)]
    fn is_wrong(result: &Complex<Half>) -> bool {
        result.widen().is_nowhere()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products() {
        let product = |a: (f64, f64), b: (f64, f64)| {
            let p = Complex { re: a.0, im: a.1 }.times(Complex { re: b.0, im: b.1 });
            (p.re, p.im)
        };
        assert_eq!(product((1.0, 2.0), (3.0, 4.0)), (-5.0, 10.0));
        let (re, im) = product((f64::INFINITY, f64::NAN), (1.0, 1.0));
        assert!(re.is_infinite() || im.is_infinite());
        let (re, im) = product((f64::INFINITY, f64::INFINITY), (0.0, 1.0));
        assert_eq!((re, im), (f64::NEG_INFINITY, f64::INFINITY));
        let (re, im) = product((f64::NAN, 1.0), (f64::NAN, 1.0));
        assert!(re.is_nan() && im.is_nan());
    }
}
