//! The types that Fortran's `selected_real_kind` and `selected_int_kind` choose (MPI 5.0, section 19.1.9).
//!
//! The standard makes the returned handles predefined: the caller keeps one per pair of arguments. None stands
//! for `MPI_UNDEFINED`, an argument left open.

use std::sync::Arc;

use super::Datatype;
use super::contents::{Combiner, ConstructorForm, Contents};
use super::core::DatatypeCore;
use super::error::{Any, TypeError, TypeResult};
use crate::basic::Basic;

/// One kind: decimal digits, decimal exponent range, and its real and complex types.
struct RealKind {
    precision: i32,
    range: i32,
    real: Basic,
    complex: Basic,
}

/// Fortran's kinds in the order in which `selected_real_kind` prefers them.
const REAL_KINDS: &[RealKind] = &[
    RealKind { precision: 6, range: 37, real: Basic::Real, complex: Basic::Complex },
    RealKind { precision: 15, range: 307, real: Basic::DoublePrecision, complex: Basic::DoubleComplex },
    #[cfg(target_arch = "x86_64")]
    RealKind { precision: 18, range: 4931, real: Basic::LongDouble, complex: Basic::CLongDoubleComplex },
    RealKind { precision: 33, range: 4931, real: Basic::Real16, complex: Basic::Complex32 },
];

/// Decimal digits that every value of the type can have.
const INTEGER_KINDS: &[(i32, Basic)] = &[
    (2, Basic::Integer1),
    (4, Basic::Integer2),
    (9, Basic::Integer4),
    (18, Basic::Integer8),
    (38, Basic::Integer16),
];

impl Datatype {
    /// `MPI_Type_create_f90_real`.
    pub fn f90_real(precision: Option<i32>, range: Option<i32>) -> TypeResult {
        let kind = real_kind("real type", precision, range)?;
        Ok(f90(Combiner::F90Real, &[precision, range], kind.real))
    }

    /// `MPI_Type_create_f90_complex`.
    pub fn f90_complex(precision: Option<i32>, range: Option<i32>) -> TypeResult {
        let kind = real_kind("complex type", precision, range)?;
        Ok(f90(Combiner::F90Complex, &[precision, range], kind.complex))
    }

    /// `MPI_Type_create_f90_integer`.
    pub fn f90_integer(range: i32) -> TypeResult {
        let kind = INTEGER_KINDS.iter().find(|kind| range <= kind.0);
        let no_such =
            TypeError::NoSuchKind { what: "integer type", precision: Any(None), range: Any(Some(range)) };
        Ok(f90(Combiner::F90Integer, &[Some(range)], kind.ok_or(no_such)?.1))
    }

    /// The predefined pair of a value and an index, if there is one (`MPI_Type_get_value_index`, section
    /// 6.9.4).
    pub fn value_index(value: &Datatype, index: &Datatype) -> Option<Basic> {
        let (value, index) = (value.named()?, index.named()?);
        Basic::ALL.into_iter().find(|pair| match pair.pieces() {
            [first, second] => (first.basic, second.basic) == (value, index),
            _ => false,
        })
    }

    /// The basic type, if this is the predefined type itself.
    pub fn named(&self) -> Option<Basic> {
        self.uniform().filter(|_| self.contents.combiner == Combiner::Named)
    }
}

fn real_kind(
    what: &'static str,
    precision: Option<i32>,
    range: Option<i32>,
) -> TypeResult<&'static RealKind> {
    if precision.or(range).is_none() {
        return Err(TypeError::OpenKind);
    }
    let enough =
        |kind: &&RealKind| precision.unwrap_or(0) <= kind.precision && range.unwrap_or(0) <= kind.range;
    let no_such = TypeError::NoSuchKind { what, precision: Any(precision), range: Any(range) };
    REAL_KINDS.iter().find(enough).ok_or(no_such)
}

/// `MPI_UNDEFINED`: how an argument left open is handed back.
const UNDEFINED: i32 = -32766;

fn f90(combiner: Combiner, arguments: &[Option<i32>], basic: Basic) -> Arc<Datatype> {
    let integers: Vec<i32> = arguments.iter().map(|argument| argument.unwrap_or(UNDEFINED)).collect();
    let contents = Contents::new(combiner, ConstructorForm::Int).integers(&integers);
    Arc::new(Datatype::committed(contents, DatatypeCore::basic(basic)))
}
