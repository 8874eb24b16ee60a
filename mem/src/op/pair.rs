//! A value and where it was found, for `MPI_MINLOC` and `MPI_MAXLOC` (MPI 5.0, section 6.9.4).

use super::combine::Combine;

/// C's struct of the two; Fortran's pairs of equal types lie in the same way.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Located<V, I> {
    /// What is compared.
    pub value: V,
    /// Where it was found.
    pub index: I,
}

/// The least value; of equal ones, that with the least index.
pub struct Minloc;
/// The greatest value; of equal ones, that with the least index.
pub struct Maxloc;

impl<V: Copy + PartialOrd, I: Copy + PartialOrd> Combine<Located<V, I>> for Minloc {
    #[inline(always)]
    fn combine(a: Located<V, I>, b: Located<V, I>) -> Located<V, I> {
        let first = a.value < b.value || (a.value == b.value && a.index < b.index);
        if first { a } else { b }
    }
}

impl<V: Copy + PartialOrd, I: Copy + PartialOrd> Combine<Located<V, I>> for Maxloc {
    #[inline(always)]
    fn combine(a: Located<V, I>, b: Located<V, I>) -> Located<V, I> {
        let first = a.value > b.value || (a.value == b.value && a.index < b.index);
        if first { a } else { b }
    }
}
