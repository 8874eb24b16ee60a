//! Functions of the program by number, so that a function of this library with that number finds its own.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// In which language a function of the program is, which says how it takes handles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallbackLanguage {
    /// It takes the address of a handle.
    C,
    /// It takes the address of an integer.
    Fortran,
}

/// Functions of the program, by number. A function that comes again keeps its number. Once all are taken, one that Tern does not
/// call any more is given to another function: a reduction may be under way after its operation was freed.
pub(crate) struct Stock<const N: usize> {
    functions: [AtomicUsize; N],
    of_fortran: [AtomicBool; N],
    /// What each is told to call, see [`crate::callbacks::tell_operation`]. Nothing looks at it in most programs.
    inner: [AtomicUsize; N],
    /// Calls under way that make an object with the function: Tern does not know it yet.
    pending: [AtomicUsize; N],
    used: Mutex<usize>,
}

/// A number that stays its function's while this lives.
#[must_use]
pub(crate) struct StockNumber {
    number: usize,
    pending: &'static AtomicUsize,
}

impl StockNumber {
    /// The number.
    pub(crate) fn get(&self) -> usize {
        self.number
    }
}

impl Drop for StockNumber {
    fn drop(&mut self) {
        self.pending.fetch_sub(1, Ordering::Release);
    }
}

impl<const N: usize> Stock<N> {
    /// None yet.
    pub(crate) const fn new() -> Self {
        Stock {
            functions: [const { AtomicUsize::new(0) }; N],
            of_fortran: [const { AtomicBool::new(false) }; N],
            inner: [const { AtomicUsize::new(0) }; N],
            pending: [const { AtomicUsize::new(0) }; N],
            used: Mutex::new(0),
        }
    }

    /// The number of a function; none if all are taken. Tern may call those that `is_in_use`.
    pub(crate) fn number(
        &'static self,
        function: *const c_void,
        language: CallbackLanguage,
        is_in_use: impl Fn(usize) -> bool,
    ) -> Option<StockNumber> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = |number: &usize| {
            self.function(*number) == function
                && self.language(*number) == language
                && self.inner(*number).is_null()
        };
        if let Some(number) = (0..*used).find(is_known) {
            return Some(self.held(number));
        }
        self.take(used, function, language, is_in_use)
    }

    /// A number of its own for a function, though that has one; none if all are taken.
    pub(crate) fn number_apart(
        &'static self,
        function: *const c_void,
        is_in_use: impl Fn(usize) -> bool,
    ) -> Option<StockNumber> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        self.take(used, function, CallbackLanguage::C, is_in_use)
    }

    fn take(
        &'static self,
        mut used: MutexGuard<'_, usize>,
        function: *const c_void,
        language: CallbackLanguage,
        is_in_use: impl Fn(usize) -> bool,
    ) -> Option<StockNumber> {
        let number = if *used < N {
            *used += 1;
            *used - 1
        } else {
            let is_pending = |number: usize| self.pending[number].load(Ordering::Acquire) > 0;
            (0..N).find(|&number| !is_pending(number) && !is_in_use(number))?
        };
        self.of_fortran[number].store(language == CallbackLanguage::Fortran, Ordering::Release);
        self.inner[number].store(0, Ordering::Release);
        self.functions[number].store(function as usize, Ordering::Release);
        Some(self.held(number))
    }

    fn held(&'static self, number: usize) -> StockNumber {
        self.pending[number].fetch_add(1, Ordering::Relaxed);
        StockNumber { number, pending: &self.pending[number] }
    }

    /// The function with a number.
    pub(crate) fn function(&self, number: usize) -> *const c_void {
        self.functions[number].load(Ordering::Acquire) as *const c_void
    }

    /// The language of a function.
    pub(crate) fn language(&self, number: usize) -> CallbackLanguage {
        if self.of_fortran[number].load(Ordering::Acquire) {
            CallbackLanguage::Fortran
        } else {
            CallbackLanguage::C
        }
    }

    /// What a function is told to call.
    pub(crate) fn inner(&self, number: usize) -> *const c_void {
        self.inner[number].load(Ordering::Acquire) as *const c_void
    }

    /// Tells a function what to call.
    pub(crate) fn tell(&self, number: usize, inner: *const c_void) {
        self.inner[number].store(inner as usize, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(address: usize) -> *const c_void {
        address as *const c_void
    }

    fn number(stock: &'static Stock<2>, address: usize, language: CallbackLanguage) -> Option<usize> {
        stock.number(function(address), language, |_| true).map(|number| number.get())
    }

    #[test]
    fn a_function_keeps_its_number_and_too_many_are_refused() {
        static STOCK: Stock<2> = Stock::new();
        assert_eq!(number(&STOCK, 8, CallbackLanguage::C), Some(0));
        assert_eq!(number(&STOCK, 16, CallbackLanguage::C), Some(1));
        assert_eq!(number(&STOCK, 8, CallbackLanguage::C), Some(0));
        assert_eq!(number(&STOCK, 24, CallbackLanguage::C), None);
        assert_eq!(STOCK.function(1), function(16));
    }

    #[test]
    fn a_number_is_given_on_when_nothing_calls_or_is_about_to_make_its_function() {
        static STOCK: Stock<2> = Stock::new();
        let first = STOCK.number_apart(function(8), |_| true);
        assert_eq!(number(&STOCK, 16, CallbackLanguage::C), Some(1));
        let free = |_: usize| false;
        assert_eq!(STOCK.number_apart(function(24), free).map(|number| number.get()), Some(1));
        drop(first);
        let only_second = |number: usize| number == 1;
        assert_eq!(STOCK.number_apart(function(32), only_second).map(|number| number.get()), Some(0));
        assert_eq!((STOCK.function(0), STOCK.function(1)), (function(32), function(24)));
    }

    #[test]
    fn a_function_that_both_languages_hand_over_has_two_numbers() {
        static STOCK: Stock<2> = Stock::new();
        assert_eq!(number(&STOCK, 8, CallbackLanguage::Fortran), Some(0));
        assert_eq!(number(&STOCK, 8, CallbackLanguage::C), Some(1));
        assert_eq!((STOCK.language(0), STOCK.language(1)), (CallbackLanguage::Fortran, CallbackLanguage::C));
    }
}
