//! Accumulation into memory that others accumulate into at the same time (MPI 5.0 section 12.7.1): atomic for each element.
//!
//! Elements of 1, 2, 4 and 8 bytes at addresses that are multiples of that are combined by the processor's atomic instructions:
//! integers by one, all others by comparing and swapping until nobody was faster. For other elements the caller needs a lock;
//! [`is_atomic`] says which they are. An element is always reached by the same rule, whichever function combines it.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::PredefinedOp::{self, Band, Bor, Bxor, NoOp, Replace, Sum};
use super::kernel::Kernel;
use super::kernel_for;
use crate::basic::{Basic, MachineType};

/// Whether elements of this type at `address` are combined by atomic instructions.
#[inline]
pub fn is_atomic(basic: Basic, address: usize) -> bool {
    let size = basic.size();
    matches!(size, 1 | 2 | 4 | 8) && basic.extent() == size && address.is_multiple_of(size)
}

/// `target[i] = origin[i] op target[i]` for `count` elements, each atomically. Where `fetched` is not null, it gets what was there.
///
/// # Panics
/// If `op` does not allow `basic`, except for [`Replace`] and [`NoOp`], or [`is_atomic`] is false.
///
/// # Safety
/// `count` elements must be readable at `origin` (nothing for [`NoOp`]), writable at `fetched`, and readable and writable at `target`,
/// where other threads and processes only access them atomically meanwhile. `origin` and `fetched` need no alignment.
#[inline]
pub unsafe fn accumulate(
    op: PredefinedOp,
    basic: Basic,
    origin: *const u8,
    target: *mut u8,
    fetched: *mut u8,
    count: usize,
) {
    assert!(is_atomic(basic, target.addr()), "{basic} at {target:?} needs a lock");
    if let (Sum, MachineType::F64) = (op, basic.machine()) {
        // SAFETY: by the caller, and the elements are aligned.
        return unsafe { add_doubles(origin, target, fetched, count) };
    }
    // SAFETY: as above.
    unsafe {
        match basic.size() {
            1 => each::<AtomicU8>(op, basic, origin, target, fetched, count),
            2 => each::<AtomicU16>(op, basic, origin, target, fetched, count),
            4 => each::<AtomicU32>(op, basic, origin, target, fetched, count),
            _ => each::<AtomicU64>(op, basic, origin, target, fetched, count),
        }
    }
}

/// Puts `origin` into the element at `target` if that equals `compared`; `fetched` gets what was there (section 12.3.4.5).
///
/// # Panics
/// If [`is_atomic`] is false.
///
/// # Safety
/// As [`accumulate`], for one element at each of the four.
#[inline]
pub unsafe fn compare_and_swap(
    basic: Basic,
    origin: *const u8,
    compared: *const u8,
    target: *mut u8,
    fetched: *mut u8,
) {
    assert!(is_atomic(basic, target.addr()), "{basic} at {target:?} needs a lock");
    // SAFETY: by the caller, and the element is aligned.
    unsafe {
        match basic.size() {
            1 => swap_if_equal::<AtomicU8>(origin, compared, target, fetched),
            2 => swap_if_equal::<AtomicU16>(origin, compared, target, fetched),
            4 => swap_if_equal::<AtomicU32>(origin, compared, target, fetched),
            _ => swap_if_equal::<AtomicU64>(origin, compared, target, fetched),
        }
    }
}

/// An element as the processor's atomic instructions see it.
trait Cell: Sized {
    /// Its value.
    type Word: Copy + PartialEq + Default;

    /// # Safety
    /// The element at `at` is aligned, and lives and is accessed atomically only, as long as the reference is used.
    unsafe fn at<'a>(at: *mut u8) -> &'a Self;
    fn load(&self) -> Self::Word;
    fn swap(&self, value: Self::Word) -> Self::Word;
    fn add(&self, value: Self::Word) -> Self::Word;
    fn and(&self, value: Self::Word) -> Self::Word;
    fn or(&self, value: Self::Word) -> Self::Word;
    fn xor(&self, value: Self::Word) -> Self::Word;
    fn compare(&self, old: Self::Word, new: Self::Word) -> Result<Self::Word, Self::Word>;
}

macro_rules! cell {
    ($atomic:ident, $word:ident) => {
        impl Cell for $atomic {
            type Word = $word;

            #[inline(always)]
            unsafe fn at<'a>(at: *mut u8) -> &'a Self {
                // SAFETY: by the caller.
                unsafe { $atomic::from_ptr(at.cast()) }
            }
            #[inline(always)]
            fn load(&self) -> $word {
                self.load(Ordering::SeqCst)
            }
            #[inline(always)]
            fn swap(&self, value: $word) -> $word {
                self.swap(value, Ordering::SeqCst)
            }
            #[inline(always)]
            fn add(&self, value: $word) -> $word {
                self.fetch_add(value, Ordering::SeqCst)
            }
            #[inline(always)]
            fn and(&self, value: $word) -> $word {
                self.fetch_and(value, Ordering::SeqCst)
            }
            #[inline(always)]
            fn or(&self, value: $word) -> $word {
                self.fetch_or(value, Ordering::SeqCst)
            }
            #[inline(always)]
            fn xor(&self, value: $word) -> $word {
                self.fetch_xor(value, Ordering::SeqCst)
            }
            #[inline(always)]
            fn compare(&self, old: $word, new: $word) -> Result<$word, $word> {
                self.compare_exchange_weak(old, new, Ordering::SeqCst, Ordering::SeqCst)
            }
        }
    };
}

cell!(AtomicU8, u8);
cell!(AtomicU16, u16);
cell!(AtomicU32, u32);
cell!(AtomicU64, u64);

/// Integers are added by the processor, whatever their sign.
fn is_integer(machine: MachineType) -> bool {
    use MachineType::*;
    matches!(machine, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64)
}

/// # Safety
/// As [`accumulate`], with elements of the cell's size.
#[inline]
unsafe fn each<C: Cell>(
    op: PredefinedOp,
    basic: Basic,
    origin: *const u8,
    target: *mut u8,
    fetched: *mut u8,
    count: usize,
) {
    // SAFETY: by the caller, for every element.
    unsafe {
        match op {
            NoOp => walk::<C>(target, fetched, count, |_, cell| cell.load()),
            Replace => walk::<C>(target, fetched, count, |at, cell| cell.swap(word::<C>(origin, at))),
            Sum if is_integer(basic.machine()) => {
                walk::<C>(target, fetched, count, |at, cell| cell.add(word::<C>(origin, at)))
            }
            Band => walk::<C>(target, fetched, count, |at, cell| cell.and(word::<C>(origin, at))),
            Bor => walk::<C>(target, fetched, count, |at, cell| cell.or(word::<C>(origin, at))),
            Bxor => walk::<C>(target, fetched, count, |at, cell| cell.xor(word::<C>(origin, at))),
            _ => by_kernel::<C>(kernel_for(op, basic), origin, target, fetched, count),
        }
    }
}

/// # Safety
/// As [`each`].
#[inline(always)]
unsafe fn walk<C: Cell>(
    target: *mut u8,
    fetched: *mut u8,
    count: usize,
    step: impl Fn(usize, &C) -> C::Word,
) {
    for at in 0..count {
        // SAFETY: by the caller, `count` elements are at each place.
        unsafe {
            let old = step(at, C::at(target.add(at * size_of::<C>())));
            if !fetched.is_null() {
                fetched.cast::<C::Word>().add(at).write_unaligned(old);
            }
        }
    }
}

/// # Safety
/// Element `at` can be read.
#[inline(always)]
unsafe fn word<C: Cell>(origin: *const u8, at: usize) -> C::Word {
    // SAFETY: by the caller.
    unsafe { origin.cast::<C::Word>().add(at).read_unaligned() }
}

#[inline(always)]
fn until_swapped<C: Cell>(cell: &C, new: impl Fn(C::Word) -> C::Word) -> C::Word {
    let mut old = cell.load();
    loop {
        match cell.compare(old, new(old)) {
            Ok(old) => return old,
            Err(other) => old = other,
        }
    }
}

/// What most programs accumulate.
///
/// # Safety
/// As [`each`].
unsafe fn add_doubles(origin: *const u8, target: *mut u8, fetched: *mut u8, count: usize) {
    // SAFETY: by the caller.
    unsafe {
        walk::<AtomicU64>(target, fetched, count, |at, cell| {
            let mine = f64::from_bits(word::<AtomicU64>(origin, at));
            until_swapped(cell, |old| (mine + f64::from_bits(old)).to_bits())
        });
    }
}

/// Any operation: a reduction of one element into a copy of what is there.
///
/// # Safety
/// As [`each`]; the kernel is for elements of the cell's size.
unsafe fn by_kernel<C: Cell>(
    kernel: Kernel,
    origin: *const u8,
    target: *mut u8,
    fetched: *mut u8,
    count: usize,
) {
    // SAFETY: by the caller; the result of the kernel is an element of its own.
    unsafe {
        walk::<C>(target, fetched, count, |at, cell| {
            let mine = word::<C>(origin, at);
            until_swapped(cell, |old| {
                let mut new = C::Word::default();
                kernel((&raw const mine).cast(), (&raw const old).cast(), (&raw mut new).cast(), 1);
                new
            })
        });
    }
}

/// # Safety
/// As [`compare_and_swap`], with an element of the cell's size.
#[inline(always)]
unsafe fn swap_if_equal<C: Cell>(origin: *const u8, compared: *const u8, target: *mut u8, fetched: *mut u8) {
    // SAFETY: by the caller.
    unsafe {
        let (new, wanted) = (word::<C>(origin, 0), word::<C>(compared, 0));
        let cell = C::at(target);
        let old = loop {
            match cell.compare(wanted, new) {
                // It may fail without a reason.
                Err(other) if other == wanted => {}
                Ok(old) | Err(old) => break old,
            }
        };
        fetched.cast::<C::Word>().write_unaligned(old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<T: Copy>(values: &[T]) -> *const u8 {
        values.as_ptr().cast()
    }

    /// Everything that is combined one by one gives what a reduction gives, and what was there before.
    #[test]
    fn it_is_a_reduction_that_tells_what_was_there() {
        use PredefinedOp::*;
        for basic in Basic::ALL.into_iter().filter(|basic| is_atomic(*basic, 64)) {
            for op in [Sum, Min, Max, Prod, Band, Bor, Bxor, Land, Lor, Lxor, Replace, NoOp] {
                if !matches!(op, Replace | NoOp) && !op.allows(basic) {
                    continue;
                }
                let (origin, before) = ([0x0102_0304_0506_0708u64, 3], [0x0807_0001_0102_0304u64, 5]);
                let (mut target, mut expected, mut fetched) = (before, before, [0u64; 2]);
                let count = 16 / basic.size();
                // SAFETY: all are arrays of sixteen bytes.
                unsafe {
                    super::super::reduce(op, basic, bytes(&origin), expected.as_mut_ptr().cast(), count);
                    let (to, old) = (target.as_mut_ptr().cast(), fetched.as_mut_ptr().cast());
                    accumulate(op, basic, bytes(&origin), to, old, count);
                }
                assert_eq!((target, fetched), (expected, before), "{op} of {basic}");
            }
        }
    }

    #[test]
    fn nothing_is_lost_between_threads() {
        let mut cells = [0u64; 2];
        let at = cells.as_mut_ptr().addr();
        let add = || {
            let target = std::ptr::with_exposed_provenance_mut::<u8>(at);
            for _ in 0..10_000 {
                // SAFETY: the array outlives the threads, which access it atomically.
                unsafe {
                    accumulate(Sum, Basic::Double, bytes(&[1.5f64]), target, std::ptr::null_mut(), 1);
                    let (target, one) = (target.add(8), bytes(&[3u64]));
                    accumulate(PredefinedOp::Max, Basic::Uint64, one, target, std::ptr::null_mut(), 1);
                }
            }
        };
        let _ = cells.as_mut_ptr().expose_provenance();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(add);
            }
        });
        assert_eq!((f64::from_bits(cells[0]), cells[1]), (60_000.0, 3));
    }

    #[test]
    fn only_what_is_equal_is_swapped() {
        for (compared, after) in [(7u16, 9u16), (8, 7)] {
            let (mut target, mut fetched) = ([7u16], [0u16]);
            // SAFETY: all are elements of two bytes.
            unsafe {
                let (to, old) = (target.as_mut_ptr().cast(), fetched.as_mut_ptr().cast());
                compare_and_swap(Basic::Uint16, bytes(&[9u16]), bytes(&[compared]), to, old);
            }
            assert_eq!((target[0], fetched[0]), (after, 7));
        }
    }

    #[test]
    fn what_needs_a_lock_is_known() {
        assert!(is_atomic(Basic::Double, 16) && !is_atomic(Basic::Double, 12));
        assert!(!is_atomic(Basic::LongDouble, 16) && !is_atomic(Basic::DoubleInt, 16));
    }
}
