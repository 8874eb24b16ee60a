//! Functions of the program by number, so that a function of this library with that number finds its own.

use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// In which language a function of the program is, which says how it takes handles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// It takes the address of a handle.
    C,
    /// It takes the address of an integer.
    Fortran,
}

/// Functions of the program, by number. A function that comes again keeps its number, and none is ever given up: a
/// reduction may be under way after its operation was freed.
pub struct Stock<const N: usize> {
    functions: [AtomicUsize; N],
    of_fortran: [AtomicBool; N],
    /// What each is told to call, see [`crate::callbacks::tell_operation`]. Nothing looks at it in most programs.
    inner: [AtomicUsize; N],
    used: Mutex<usize>,
}

impl<const N: usize> Stock<N> {
    /// None yet.
    pub const fn new() -> Self {
        Stock {
            functions: [const { AtomicUsize::new(0) }; N],
            of_fortran: [const { AtomicBool::new(false) }; N],
            inner: [const { AtomicUsize::new(0) }; N],
            used: Mutex::new(0),
        }
    }

    /// The number of a function; none if all are taken.
    pub fn number(&self, function: *const c_void, language: Language) -> Option<usize> {
        let mut used = self.used.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let known =
            (0..*used).find(|&number| self.function(number) == function && self.language(number) == language);
        known.or_else(|| self.take(&mut used, function, language))
    }

    /// A number of its own for a function, though that has one; none if all are taken.
    pub fn number_apart(&self, function: *const c_void) -> Option<usize> {
        let mut used = self.used.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.take(&mut used, function, Language::C)
    }

    fn take(&self, used: &mut usize, function: *const c_void, language: Language) -> Option<usize> {
        let number = *used;
        self.of_fortran.get(number)?.store(language == Language::Fortran, Ordering::Release);
        self.functions[number].store(function as usize, Ordering::Release);
        *used += 1;
        Some(number)
    }

    /// The function with a number.
    pub fn function(&self, number: usize) -> *const c_void {
        self.functions[number].load(Ordering::Acquire) as *const c_void
    }

    /// The language of a function.
    pub fn language(&self, number: usize) -> Language {
        if self.of_fortran[number].load(Ordering::Acquire) { Language::Fortran } else { Language::C }
    }

    /// What a function is told to call.
    pub fn inner(&self, number: usize) -> *const c_void {
        self.inner[number].load(Ordering::Acquire) as *const c_void
    }

    /// Tells a function what to call.
    pub fn tell(&self, number: usize, inner: *const c_void) {
        self.inner[number].store(inner as usize, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(address: usize) -> *const c_void {
        address as *const c_void
    }

    #[test]
    fn a_function_keeps_its_number_and_too_many_are_refused() {
        static STOCK: Stock<2> = Stock::new();
        assert_eq!(STOCK.number(function(8), Language::C), Some(0));
        assert_eq!(STOCK.number(function(16), Language::C), Some(1));
        assert_eq!(STOCK.number(function(8), Language::C), Some(0));
        assert_eq!(STOCK.number(function(24), Language::C), None);
        assert_eq!(STOCK.function(1), function(16));
    }

    #[test]
    fn a_function_that_both_languages_hand_over_has_two_numbers() {
        static STOCK: Stock<2> = Stock::new();
        assert_eq!(STOCK.number(function(8), Language::Fortran), Some(0));
        assert_eq!(STOCK.number(function(8), Language::C), Some(1));
        assert_eq!((STOCK.language(0), STOCK.language(1)), (Language::Fortran, Language::C));
    }
}
