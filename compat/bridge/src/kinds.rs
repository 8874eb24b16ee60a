//! Kinds of parameters: how an argument goes in, and what comes back.
//!
//! A call does three things with each parameter: it holds what the program passes in its converted form, passes that on,
//! and gives back what the call has written. All of it is inlined; a number that is the same in both ABIs costs nothing.

use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;

use tern_abi::*;

use crate::foreign::{ForeignAbi, ForeignHandle, rank_in, rank_out, tag_in, tag_out};
use crate::lists::ConvertedElements;
use crate::number::ConstantFamily;

/// A kind of parameter.
pub trait Param {
    /// What the program passes.
    type C: Copy;
    /// What Tern's function takes.
    type Inner;
    /// What is kept during the call.
    type Held;

    /// Converts an argument; `length` is that of an array.
    ///
    /// # Safety
    /// The argument is as the standard demands.
    unsafe fn hold(c: Self::C, length: usize) -> Self::Held;

    /// The argument of Tern's function. Addresses in it are good while what is held stays where it is.
    fn pass(held: &mut Self::Held) -> Self::Inner;

    /// Gives back what Tern's function has written.
    ///
    /// # Safety
    /// As [`Param::hold`].
    #[inline(always)]
    unsafe fn give(_held: &mut Self::Held, _c: Self::C, _failed: bool) {}
}

/// The length of an array, as another parameter has it.
pub trait Length {
    /// As a length; none for what is negative.
    fn length(self) -> usize;
}

impl Length for c_int {
    fn length(self) -> usize {
        usize::try_from(self).unwrap_or(0)
    }
}

impl Length for i64 {
    fn length(self) -> usize {
        usize::try_from(self).unwrap_or(0)
    }
}

impl Length for usize {
    fn length(self) -> usize {
        self
    }
}

/// What is the same in both ABIs: counts, addresses, sizes, places of them.
pub struct Plain<T>(PhantomData<T>);

impl<T: Copy> Param for Plain<T> {
    type C = T;
    type Inner = T;
    type Held = T;

    #[inline(always)]
    unsafe fn hold(c: T, _: usize) -> T {
        c
    }

    #[inline(always)]
    fn pass(held: &mut T) -> T {
        *held
    }
}

/// An `int`.
pub type Int = Plain<c_int>;
/// An `MPI_Count`.
pub type Count = Plain<MPI_Count>;
/// An `MPI_Aint`.
pub type Aint = Plain<MPI_Aint>;
/// An `MPI_Offset`.
pub type Offset = Plain<MPI_Offset>;
/// A displacement in a file, which may be `MPI_DISPLACEMENT_CURRENT`: both other ABIs have one number for it.
pub struct Displacement;

impl Param for Displacement {
    type C = MPI_Offset;
    type Inner = MPI_Offset;
    type Held = MPI_Offset;

    unsafe fn hold(c: MPI_Offset, _: usize) -> MPI_Offset {
        const CURRENT: MPI_Offset = crate::values::mpich::MPI_DISPLACEMENT_CURRENT;
        const _: () = assert!(CURRENT == crate::values::openmpi::MPI_DISPLACEMENT_CURRENT);
        if c == CURRENT { MPI_DISPLACEMENT_CURRENT } else { c }
    }

    fn pass(held: &mut MPI_Offset) -> MPI_Offset {
        *held
    }
}

/// An address of anything.
pub type Pointer = Plain<*mut c_void>;

/// A handle that is used.
pub struct In<H>(PhantomData<H>);

impl<H: ForeignHandle> Param for In<H> {
    type C = H;
    type Inner = H::Inner;
    type Held = H::Inner;

    #[inline(always)]
    unsafe fn hold(c: H, _: usize) -> H::Inner {
        c.inner()
    }

    #[inline(always)]
    fn pass(held: &mut H::Inner) -> H::Inner {
        *held
    }
}

/// The place of a handle that the call makes.
pub struct HandleOut<H>(PhantomData<H>);

impl<H: ForeignHandle> Param for HandleOut<H> {
    type C = *mut H;
    type Inner = *mut H::Inner;
    type Held = (H::Inner, bool);

    #[inline(always)]
    unsafe fn hold(c: *mut H, _: usize) -> Self::Held {
        (H::UNWRITTEN, c.is_null())
    }

    #[inline(always)]
    fn pass(held: &mut Self::Held) -> *mut H::Inner {
        if held.1 { std::ptr::null_mut() } else { &raw mut held.0 }
    }

    #[inline(always)]
    unsafe fn give(held: &mut Self::Held, c: *mut H, _: bool) {
        if held.0 != H::UNWRITTEN {
            // SAFETY: the program gave the place of a handle.
            unsafe { *c = H::outer(held.0) };
        }
    }
}

/// The place of a handle that the call uses and may change.
pub struct HandleInOut<H>(PhantomData<H>);

impl<H: ForeignHandle> Param for HandleInOut<H> {
    type C = *mut H;
    type Inner = *mut H::Inner;
    type Held = (H::Inner, bool);

    #[inline(always)]
    unsafe fn hold(c: *mut H, _: usize) -> Self::Held {
        if c.is_null() {
            return (H::UNWRITTEN, true);
        }
        // SAFETY: the program gave the place of a handle.
        (unsafe { *c }.inner(), false)
    }

    #[inline(always)]
    fn pass(held: &mut Self::Held) -> *mut H::Inner {
        HandleOut::<H>::pass(held)
    }

    #[inline(always)]
    unsafe fn give(held: &mut Self::Held, c: *mut H, _: bool) {
        // What has not changed is left alone: another thread may use the same handle.
        // SAFETY: the program gave the place of a handle.
        unsafe {
            if !held.1 && held.0 != (*c).inner() {
                *c = H::outer(held.0);
            }
        }
    }
}

/// An array of handles that are used.
pub struct HandleList<H>(PhantomData<H>);

impl<H: ForeignHandle> Param for HandleList<H> {
    type C = *const H;
    type Inner = *const H::Inner;
    type Held = (ConvertedElements<H::Inner>, bool);

    unsafe fn hold(c: *const H, length: usize) -> Self::Held {
        let length = if c.is_null() { 0 } else { length };
        // SAFETY: the program gave as many handles.
        (ConvertedElements::new(length, |index| unsafe { *c.add(index) }.inner()), c.is_null())
    }

    fn pass(held: &mut Self::Held) -> *const H::Inner {
        if held.1 { std::ptr::null() } else { held.0.address() }
    }
}

/// An array of handles that the call uses and may change.
pub struct InOutList<H>(PhantomData<H>);

impl<H: ForeignHandle> Param for InOutList<H> {
    type C = *mut H;
    type Inner = *mut H::Inner;
    type Held = (ConvertedElements<H::Inner>, bool);

    unsafe fn hold(c: *mut H, length: usize) -> Self::Held {
        // SAFETY: the same contract.
        unsafe { HandleList::<H>::hold(c, length) }
    }

    fn pass(held: &mut Self::Held) -> *mut H::Inner {
        if held.1 { std::ptr::null_mut() } else { held.0.address() }
    }

    unsafe fn give(held: &mut Self::Held, c: *mut H, _: bool) {
        for (index, &handle) in held.0.all().iter().enumerate() {
            // SAFETY: the program gave as many handles.
            unsafe {
                if handle != (*c.add(index)).inner() {
                    *c.add(index) = H::outer(handle);
                }
            }
        }
    }
}

/// The place of handles that the call makes, some or all.
pub struct OutList<H>(PhantomData<H>);

impl<H: ForeignHandle> Param for OutList<H> {
    type C = *mut H;
    type Inner = *mut H::Inner;
    type Held = (ConvertedElements<H::Inner>, bool);

    unsafe fn hold(c: *mut H, length: usize) -> Self::Held {
        let length = if c.is_null() { 0 } else { length };
        (ConvertedElements::new(length, |_| H::UNWRITTEN), c.is_null())
    }

    fn pass(held: &mut Self::Held) -> *mut H::Inner {
        if held.1 { std::ptr::null_mut() } else { held.0.address() }
    }

    unsafe fn give(held: &mut Self::Held, c: *mut H, _: bool) {
        let all = held.0.all().iter().enumerate();
        for (index, &handle) in all.filter(|&(_, &handle)| handle != H::UNWRITTEN) {
            // SAFETY: the program gave the place of as many handles.
            unsafe { *c.add(index) = H::outer(handle) };
        }
    }
}

/// A number of a family.
pub struct NumberIn<N>(PhantomData<N>);

impl<N: ConstantFamily> Param for NumberIn<N> {
    type C = c_int;
    type Inner = c_int;
    type Held = c_int;

    unsafe fn hold(c: c_int, _: usize) -> c_int {
        N::inner(c)
    }

    fn pass(held: &mut c_int) -> c_int {
        *held
    }
}

/// The place of a number of a family that the call writes. It is written there and then converted.
pub struct NumberOut<N>(PhantomData<N>);

impl<N: ConstantFamily> Param for NumberOut<N> {
    type C = *mut c_int;
    type Inner = *mut c_int;
    type Held = *mut c_int;

    unsafe fn hold(c: *mut c_int, _: usize) -> *mut c_int {
        c
    }

    fn pass(held: &mut *mut c_int) -> *mut c_int {
        *held
    }

    unsafe fn give(held: &mut *mut c_int, _: *mut c_int, failed: bool) {
        if !failed && !held.is_null() {
            // SAFETY: the program gave the place of a number, and the call has written it.
            unsafe { **held = N::outer(**held) };
        }
    }
}

/// The place of a number of a family that the call uses and changes.
pub struct NumberInOut<N>(PhantomData<N>);

impl<N: ConstantFamily> Param for NumberInOut<N> {
    type C = *mut c_int;
    type Inner = *mut c_int;
    type Held = (c_int, bool);

    unsafe fn hold(c: *mut c_int, _: usize) -> Self::Held {
        if c.is_null() {
            return (0, true);
        }
        // SAFETY: the program gave the place of a number.
        (N::inner(unsafe { *c }), false)
    }

    fn pass(held: &mut Self::Held) -> *mut c_int {
        if held.1 { std::ptr::null_mut() } else { &raw mut held.0 }
    }

    unsafe fn give(held: &mut Self::Held, c: *mut c_int, failed: bool) {
        if !failed && !held.1 {
            // SAFETY: the program gave the place of a number.
            unsafe { *c = N::outer(held.0) };
        }
    }
}

/// An array of numbers of a family.
pub struct NumberList<N>(PhantomData<N>);

impl<N: ConstantFamily> Param for NumberList<N> {
    type C = *const c_int;
    type Inner = *const c_int;
    type Held = (ConvertedElements<c_int>, bool);

    unsafe fn hold(c: *const c_int, length: usize) -> Self::Held {
        let length = if c.is_null() { 0 } else { length };
        // SAFETY: the program gave as many numbers.
        (ConvertedElements::new(length, |index| N::inner(unsafe { *c.add(index) })), c.is_null())
    }

    fn pass(held: &mut Self::Held) -> *const c_int {
        if held.1 { std::ptr::null() } else { held.0.address() }
    }
}

/// Ranks as a family of numbers.
pub struct RankNumbers<F>(PhantomData<F>);

impl<F: ForeignAbi> ConstantFamily for RankNumbers<F> {
    #[inline(always)]
    fn inner(outer: c_int) -> c_int {
        rank_in::<F>(outer)
    }

    #[inline(always)]
    fn outer(inner: c_int) -> c_int {
        rank_out::<F>(inner)
    }
}

/// Tags as a family of numbers.
pub struct Tags<F>(PhantomData<F>);

impl<F: ForeignAbi> ConstantFamily for Tags<F> {
    #[inline(always)]
    fn inner(outer: c_int) -> c_int {
        tag_in::<F>(outer)
    }

    #[inline(always)]
    fn outer(inner: c_int) -> c_int {
        tag_out::<F>(inner)
    }
}

/// The place of ranks that the call writes. They are written there and then converted.
pub struct RankList<F>(PhantomData<F>);

impl<F: ForeignAbi> Param for RankList<F> {
    type C = *mut c_int;
    type Inner = *mut c_int;
    type Held = (*mut c_int, usize);

    unsafe fn hold(c: *mut c_int, length: usize) -> Self::Held {
        (c, length)
    }

    fn pass(held: &mut Self::Held) -> *mut c_int {
        held.0
    }

    unsafe fn give(held: &mut Self::Held, c: *mut c_int, failed: bool) {
        if failed || c.is_null() {
            return;
        }
        for index in 0..held.1 {
            // SAFETY: the program gave the place of as many ranks, and the call has written them.
            unsafe { *c.add(index) = rank_out::<F>(*c.add(index)) };
        }
    }
}

/// A buffer, which may be `MPI_IN_PLACE` or `MPI_BUFFER_AUTOMATIC` where the standard allows them, and is refused elsewhere.
pub struct Place<F>(PhantomData<F>);

impl<F: ForeignAbi> Param for Place<F> {
    type C = *mut c_void;
    type Inner = *mut c_void;
    type Held = *mut c_void;

    #[inline(always)]
    unsafe fn hold(c: *mut c_void, _: usize) -> *mut c_void {
        if c as usize == F::IN_PLACE {
            MPI_IN_PLACE as *mut c_void
        } else if F::BUFFER_AUTOMATIC == Some(c as usize) {
            MPI_BUFFER_AUTOMATIC as *mut c_void
        } else {
            c
        }
    }

    #[inline(always)]
    fn pass(held: &mut *mut c_void) -> *mut c_void {
        *held
    }
}

/// The place of the address of a buffer that was attached.
pub struct DetachedBuffer<F>(PhantomData<F>);

impl<F: ForeignAbi> Param for DetachedBuffer<F> {
    type C = *mut c_void;
    type Inner = *mut c_void;
    type Held = *mut c_void;

    unsafe fn hold(c: *mut c_void, _: usize) -> *mut c_void {
        c
    }

    fn pass(held: &mut *mut c_void) -> *mut c_void {
        *held
    }

    unsafe fn give(_: &mut *mut c_void, c: *mut c_void, failed: bool) {
        let Some(automatic) = F::BUFFER_AUTOMATIC else { return };
        let place = c.cast::<usize>();
        if !failed && !place.is_null() {
            // SAFETY: the program gave the place of an address, and the call has written it.
            unsafe {
                if *place == MPI_BUFFER_AUTOMATIC {
                    *place = automatic;
                }
            }
        }
    }
}

/// Weights of a graph, or one of the two addresses that say something else.
pub struct GraphWeights<F>(PhantomData<F>);

impl<F: ForeignAbi> Param for GraphWeights<F> {
    type C = *mut c_void;
    type Inner = *mut c_void;
    type Held = *mut c_void;

    unsafe fn hold(c: *mut c_void, _: usize) -> *mut c_void {
        if c.cast_const() == F::unweighted() {
            MPI_UNWEIGHTED as *mut c_void
        } else if c.cast_const() == F::weights_empty() {
            MPI_WEIGHTS_EMPTY as *mut c_void
        } else {
            c
        }
    }

    fn pass(held: &mut *mut c_void) -> *mut c_void {
        *held
    }
}

/// A handle of a performance variable, or `MPI_T_PVAR_ALL_HANDLES`.
pub struct Pvar<F>(PhantomData<F>);

impl<F: ForeignAbi> Param for Pvar<F> {
    type C = *mut c_void;
    type Inner = *mut c_void;
    type Held = *mut c_void;

    unsafe fn hold(c: *mut c_void, _: usize) -> *mut c_void {
        if c.cast_const() == F::all_pvars() { MPI_T_PVAR_ALL_HANDLES.0 as *mut c_void } else { c }
    }

    fn pass(held: &mut *mut c_void) -> *mut c_void {
        *held
    }
}

/// A text that the call writes where the other ABI has `OUTER` characters and the standard one `INNER`.
pub struct Text<const INNER: usize, const OUTER: usize>;

impl<const INNER: usize, const OUTER: usize> Param for Text<INNER, OUTER> {
    type C = *mut c_char;
    type Inner = *mut c_char;
    type Held = ([c_char; INNER], bool);

    unsafe fn hold(c: *mut c_char, _: usize) -> Self::Held {
        ([0; INNER], c.is_null())
    }

    fn pass(held: &mut Self::Held) -> *mut c_char {
        if held.1 { std::ptr::null_mut() } else { held.0.as_mut_ptr() }
    }

    unsafe fn give(held: &mut Self::Held, c: *mut c_char, failed: bool) {
        if failed || held.1 {
            return;
        }
        let length = held.0.iter().position(|&character| character == 0).unwrap_or(INNER - 1).min(OUTER - 1);
        // SAFETY: the program gave a place of this many characters.
        unsafe {
            c.copy_from_nonoverlapping(held.0.as_ptr(), length);
            *c.add(length) = 0;
        }
    }
}

/// The length of such a text.
pub struct TextLength<const OUTER: usize>;

impl<const OUTER: usize> Param for TextLength<OUTER> {
    type C = *mut c_int;
    type Inner = *mut c_int;
    type Held = *mut c_int;

    unsafe fn hold(c: *mut c_int, _: usize) -> *mut c_int {
        c
    }

    fn pass(held: &mut *mut c_int) -> *mut c_int {
        *held
    }

    unsafe fn give(_: &mut *mut c_int, c: *mut c_int, failed: bool) {
        if !failed && !c.is_null() {
            // SAFETY: the program gave the place of a number, and the call has written it.
            unsafe { *c = (*c).min(OUTER as c_int - 1) };
        }
    }
}
