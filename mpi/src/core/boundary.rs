//! How the arguments of a C call become safe values.
//!
//! An entry point names the safe types of its parameters. [`entry!`](crate::core::entry) gives the exported function the C types
//! that belong to them, and makes the one of the other by [`Argument::from_c`], once, before the body. So the body of a
//! `safe fn` is safe code. What the compiler cannot know is said here: that C's pointers are as the standard demands.
//!
//! | C | here |
//! |---|---|
//! | a place for one result | [`Out`], or [`Handed`] for a handle |
//! | a place whose value the call reads and changes | `&mut T`, or [`InOut`] where others may lie in the same place |
//! | an array to read, an array to fill | [`Array`], [`OutArray`] |
//! | a string, room for one | `Cow<str>` or `&CStr`, [`OutText`] |
//! | a place for an address | [`OutPointer`] |
//! | a choice buffer to send from, to receive into | [`ChoiceBuf`], [`ChoiceBufMut`] |
//! | an address that is handed on | itself |
//!
//! A null pointer is an error before the body begins. `Option` lets it through as `None`, and `Result` leaves it to the body, as
//! a call needs whose other members wait until all have met. [`AtRoot`] is looked at by nobody else.

use crate::core::error::{Error, Result, fail};
use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;
use tern_abi::*;
use tern_job::text;

/// What a parameter of an entry point can be.
pub(crate) trait Argument: Sized {
    /// What C passes.
    type C;

    /// The safe value, or what is wrong with it.
    ///
    /// # Safety
    /// What C has passed is as the standard demands of this parameter, until the call returns.
    unsafe fn from_c(name: &'static str, c: Self::C) -> Result<Self>;
}

/// What C passes for a parameter.
pub(crate) type C<A> = <A as Argument>::C;

/// Types that are the same on both sides.
macro_rules! same {
    ($($type:ty),* $(,)?) => {$(
        impl Argument for $type {
            type C = $type;

            #[inline(always)]
            unsafe fn from_c(_: &'static str, c: $type) -> Result<$type> {
                Ok(c)
            }
        }
    )*};
}

same! {
    c_int, i64, isize, MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_File, MPI_Group, MPI_Info, MPI_Message, MPI_Op, MPI_Request,
    MPI_Session, MPI_Win, MPI_T_cb_safety, MPI_T_cvar_handle, MPI_T_enum, MPI_T_event_instance, MPI_T_event_registration,
    MPI_T_pvar_handle, MPI_T_pvar_session,
}

/// An address that is handed on, as of a message or of the program's own state.
impl<T> Argument for *mut T {
    type C = *mut T;

    #[inline(always)]
    unsafe fn from_c(_: &'static str, c: *mut T) -> Result<*mut T> {
        Ok(c)
    }
}

/// As of `*mut T`.
impl<T> Argument for *const T {
    type C = *const T;

    #[inline(always)]
    unsafe fn from_c(_: &'static str, c: *const T) -> Result<*const T> {
        Ok(c)
    }
}

/// Functions of the program, which may be null.
macro_rules! functions {
    ($($function:ty),* $(,)?) => { same! { $(Option<$function>),* } };
}

functions! {
    MPI_Comm_copy_attr_function, MPI_Type_delete_attr_function, MPI_Type_copy_attr_function, MPI_Comm_delete_attr_function,
    MPI_Win_copy_attr_function, MPI_Win_delete_attr_function, MPI_T_event_cb_function, MPI_T_event_free_cb_function,
    MPI_T_event_dropped_cb_function, MPI_Comm_errhandler_function, MPI_File_errhandler_function, MPI_Win_errhandler_function,
    MPI_Session_errhandler_function, MPI_User_function, MPI_User_function_c, MPI_Grequest_query_function,
    MPI_Grequest_free_function, MPI_Grequest_cancel_function, MPI_Datarep_extent_function, MPI_Datarep_conversion_function,
    MPI_Datarep_conversion_function_c,
}

/// A buffer of elements of any type (section 2.5.5), by its address. The program vouches for what its call says of the memory, until the communication is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ChoiceBuf(*const c_void);

/// A buffer that may be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ChoiceBufMut(*mut c_void);

// SAFETY: the address is the program's; it is used only as the standard allows, by whichever thread completes the request.
unsafe impl Send for ChoiceBuf {}

impl ChoiceBuf {
    /// Memory of the library's own.
    ///
    /// # Safety
    /// What a call says of it holds until the communication is complete.
    pub(crate) unsafe fn of_memory(address: *const c_void) -> ChoiceBuf {
        ChoiceBuf(address)
    }

    /// Its address.
    #[inline(always)]
    pub(crate) fn address(self) -> *const c_void {
        self.0
    }

    /// The bytes from its address on.
    #[inline(always)]
    pub(crate) fn bytes(self) -> *mut u8 {
        self.0.cast_mut().cast()
    }

    /// Whether the address is null, which it may be for no elements, or with datatypes that hold addresses.
    #[inline(always)]
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The part that begins so many bytes further on.
    pub(crate) fn after(self, bytes: isize) -> ChoiceBuf {
        ChoiceBuf(self.0.wrapping_byte_offset(bytes))
    }
}

impl ChoiceBufMut {
    /// The bytes from its address on.
    #[inline(always)]
    pub(crate) fn bytes(self) -> *mut u8 {
        self.0.cast()
    }
}

impl ChoiceBuf {
    /// Reads an element; the standard demands that there are more than `index` of this type.
    pub(crate) fn load<T: Copy>(self, index: usize) -> T {
        // SAFETY: by `Argument::from_c`, the elements are there, aligned or not.
        unsafe { self.0.cast::<T>().add(index).read_unaligned() }
    }
}

impl ChoiceBufMut {
    /// Writes an element; the standard demands room for more than `index` of this type.
    pub(crate) fn store<T: Copy>(self, index: usize, value: T) {
        // SAFETY: by `Argument::from_c`, there is room, aligned or not.
        unsafe { self.0.cast::<T>().add(index).write_unaligned(value) }
    }

    /// Whether the address is null.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }
}

impl From<ChoiceBufMut> for ChoiceBuf {
    #[inline(always)]
    fn from(buf: ChoiceBufMut) -> ChoiceBuf {
        ChoiceBuf(buf.0)
    }
}

impl Argument for ChoiceBuf {
    type C = *const c_void;

    #[inline(always)]
    unsafe fn from_c(_: &'static str, c: *const c_void) -> Result<ChoiceBuf> {
        Ok(ChoiceBuf(c))
    }
}

impl Argument for ChoiceBufMut {
    type C = *mut c_void;

    #[inline(always)]
    unsafe fn from_c(_: &'static str, c: *mut c_void) -> Result<ChoiceBufMut> {
        Ok(ChoiceBufMut(c))
    }
}

/// The place for one result. There is memory, and nobody else looks at it during the call; its old value means nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out<'a, T> {
    place: NonNull<T>,
    call: PhantomData<&'a mut T>,
}

impl<T: Copy> Out<'_, T> {
    /// Hands the result out.
    #[inline]
    pub(crate) fn set(&self, value: T) {
        // SAFETY: by `Argument::from_c`, this is a place for a value; what is there needs no end.
        unsafe { self.place.write(value) }
    }
}

impl<T> Argument for Out<'_, T> {
    type C = *mut T;

    #[inline]
    unsafe fn from_c(name: &'static str, c: *mut T) -> Result<Self> {
        Ok(Out { place: NonNull::new(c).ok_or_else(|| null(name))?, call: PhantomData })
    }
}

/// The place for an address, which calls declare as `void *`. It may lie anywhere, also where no pointer is aligned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutPointer<'a>(Out<'a, usize>);

impl OutPointer<'_> {
    /// Hands the address out.
    // It is written down, and not followed.
    #[allow(clippy::not_unsafe_ptr_arg_deref)]
    pub(crate) fn set<T>(&self, address: *mut T) {
        // SAFETY: by `Argument::from_c`, this is a place for an address.
        unsafe { self.0.place.cast::<*mut T>().write_unaligned(address) }
    }
}

impl Argument for OutPointer<'_> {
    type C = *mut c_void;

    unsafe fn from_c(name: &'static str, c: *mut c_void) -> Result<Self> {
        // SAFETY: the same contract.
        unsafe { Out::from_c(name, c.cast()) }.map(OutPointer)
    }
}

/// A handle that has a value for none.
pub(crate) trait Handle: Copy {
    /// The null handle.
    const NULL: Self;
}

macro_rules! null_handles {
    ($($handle:ty: $null:ident),* $(,)?) => {$(
        impl Handle for $handle {
            const NULL: Self = $null;
        }
    )*};
}

null_handles! {
    MPI_Comm: MPI_COMM_NULL, MPI_Datatype: MPI_DATATYPE_NULL, MPI_File: MPI_FILE_NULL, MPI_Win: MPI_WIN_NULL, MPI_Request: MPI_REQUEST_NULL,
}

/// The place for the handle of something to be made. Until it is, and after an error, the null handle is there, which programs
/// look for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handed<'a, H>(Out<'a, H>);

impl<H: Handle> Handed<'_, H> {
    /// Hands the handle out.
    pub(crate) fn set(&self, handle: H) {
        self.0.set(handle);
    }
}

impl<H: Handle> Argument for Handed<'_, H> {
    type C = *mut H;

    unsafe fn from_c(name: &'static str, c: *mut H) -> Result<Self> {
        // SAFETY: the same contract.
        let place = unsafe { Out::from_c(name, c)? };
        place.set(H::NULL);
        Ok(Handed(place))
    }
}

/// A value that the call reads and may change.
impl<T> Argument for &mut T {
    type C = *mut T;

    #[inline]
    unsafe fn from_c(name: &'static str, c: *mut T) -> Result<Self> {
        // SAFETY: not null, and by the caller a value that nobody else uses.
        unsafe { c.as_mut() }.ok_or_else(|| null(name))
    }
}

/// A value that the call reads and writes. A program may give one place for several parameters, so it is not borrowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InOut<'a, T>(Out<'a, T>);

impl<T: Copy> InOut<'_, T> {
    /// Reads it.
    pub(crate) fn get(&self) -> T {
        // SAFETY: by `Argument::from_c`, the program has set a value there.
        unsafe { self.0.place.read() }
    }

    /// Writes it.
    pub(crate) fn set(&self, value: T) {
        self.0.set(value);
    }
}

impl<T> Argument for InOut<'_, T> {
    type C = *mut T;

    unsafe fn from_c(name: &'static str, c: *mut T) -> Result<Self> {
        // SAFETY: the same contract.
        unsafe { Out::from_c(name, c) }.map(InOut)
    }
}

/// A value that the call reads.
impl<T> Argument for &T {
    type C = *const T;

    #[inline]
    unsafe fn from_c(name: &'static str, c: *const T) -> Result<Self> {
        // SAFETY: not null, and by the caller a value that stays.
        unsafe { c.as_ref() }.ok_or_else(|| null(name))
    }
}

/// An array to read. How long it is, the standard says in terms of other arguments, so the body names the length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array<'a, T> {
    name: &'static str,
    start: *const T,
    call: PhantomData<&'a T>,
}

impl<'a, T> Array<'a, T> {
    /// The elements; `len` is the length that the standard gives this array. It may be null if that is 0.
    pub(crate) fn of(&self, len: usize) -> Result<&'a [T]> {
        if len == 0 {
            return Ok(&[]);
        }
        if self.start.is_null() {
            return Err(null_array(self.name, len));
        }
        // SAFETY: by `Argument::from_c`, the array is as long as the standard demands, and stays.
        Ok(unsafe { std::slice::from_raw_parts(self.start, len) })
    }

    /// Its address, to be compared with the standard's special ones.
    pub(crate) fn address(&self) -> usize {
        self.start.addr()
    }
}

impl<T> Argument for Array<'_, T> {
    type C = *const T;

    unsafe fn from_c(name: &'static str, c: *const T) -> Result<Self> {
        Ok(Array { name, start: c, call: PhantomData })
    }
}

/// Whether it is the same memory.
impl<T> PartialEq for Array<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.start, other.start)
    }
}

/// An array of the library's own.
impl<'a, T> From<&'a [T]> for Array<'a, T> {
    fn from(elements: &'a [T]) -> Self {
        Array { name: "the array", start: elements.as_ptr(), call: PhantomData }
    }
}

/// An array of counts or displacements, of the width that the entry point has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Integers<'a> {
    /// Of `int`.
    Int(Array<'a, c_int>),
    /// Of `MPI_Count`.
    Count(Array<'a, i64>),
    /// Of `MPI_Aint`.
    Aint(Array<'a, isize>),
}

/// A type of counts or displacements.
pub(crate) trait CountInteger: Sized {
    /// An array of them.
    fn array(array: Array<'_, Self>) -> Integers<'_>;
}

macro_rules! integers {
    ($($type:ty: $variant:ident),*) => {$(
        impl CountInteger for $type {
            fn array(array: Array<'_, $type>) -> Integers<'_> {
                Integers::$variant(array)
            }
        }
    )*};
}

integers!(c_int: Int, i64: Count, isize: Aint);

/// An array to fill.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutArray<'a, T> {
    name: &'static str,
    start: *mut T,
    call: PhantomData<&'a mut T>,
}

impl<'a, T: Copy> OutArray<'a, T> {
    /// Writes values from the start on: no more than the standard demands room for. It may be null if there are none.
    pub(crate) fn store(&self, values: impl IntoIterator<Item = T>) -> Result {
        values.into_iter().enumerate().try_for_each(|(index, value)| self.set(index, value))
    }

    /// Writes one value; `index` is below the number of elements that the standard demands room for.
    pub(crate) fn set(&self, index: usize, value: T) -> Result {
        if self.start.is_null() {
            return Err(null(self.name));
        }
        // SAFETY: by `Argument::from_c`, there is room for as many as the standard demands.
        unsafe { self.start.add(index).write(value) };
        Ok(())
    }

    /// Refuses a null pointer for an array of `len` elements, unless that is 0.
    pub(crate) fn expect_room(&self, len: usize) -> Result {
        if len > 0 && self.start.is_null() { Err(null(self.name)) } else { Ok(()) }
    }

    /// All elements, which the program has set; `len` is the length that the standard gives this array.
    pub(crate) fn of(self, len: usize) -> Result<&'a mut [T]> {
        if len == 0 {
            return Ok(&mut []);
        }
        if self.start.is_null() {
            return Err(null_array(self.name, len));
        }
        // SAFETY: by `Argument::from_c`, the array is as long as the standard demands, and nobody else uses it.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start, len) })
    }

    /// Its address, to be compared with the standard's special ones.
    pub(crate) fn address(&self) -> usize {
        self.start.addr()
    }
}

impl<T> Argument for OutArray<'_, T> {
    type C = *mut T;

    unsafe fn from_c(name: &'static str, c: *mut T) -> Result<Self> {
        Ok(OutArray { name, start: c, call: PhantomData })
    }
}

/// A string, of any bytes ([`text`]).
impl Argument for Cow<'_, str> {
    type C = *const c_char;

    unsafe fn from_c(name: &'static str, c: *const c_char) -> Result<Self> {
        // SAFETY: the same contract.
        unsafe { <&CStr>::from_c(name, c) }.map(|c| text::from_bytes(c.to_bytes()))
    }
}

/// A string as it is.
impl Argument for &CStr {
    type C = *const c_char;

    unsafe fn from_c(name: &'static str, c: *const c_char) -> Result<Self> {
        // SAFETY: not null, and by the caller a C string that stays.
        if c.is_null() { Err(null(name)) } else { Ok(unsafe { CStr::from_ptr(c) }) }
    }
}

/// Room for a string.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutText<'a>(Out<'a, c_char>);

impl OutText<'_> {
    /// Writes a string with its final zero, cut to `capacity` bytes in all, the room that the standard demands; returns its
    /// length without the zero.
    pub(crate) fn store(&self, text: &str, capacity: usize) -> c_int {
        // SAFETY: by `Argument::from_c`, there is so much room.
        unsafe { store_string(self.0.place.as_ptr(), text, capacity) }
    }
}

/// Writes a string with its final zero, cut to `capacity` bytes in all.
///
/// # Safety
/// `to` has room for `capacity` bytes.
unsafe fn store_string(to: *mut c_char, text: &str, capacity: usize) -> c_int {
    let bytes = text::to_bytes(text);
    let bytes = &bytes[..bytes.len().min(capacity.saturating_sub(1))];
    // SAFETY: by the caller.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len());
        *to.add(bytes.len()) = 0;
    }
    bytes.len() as c_int
}

impl Argument for OutText<'_> {
    type C = *mut c_char;

    unsafe fn from_c(name: &'static str, c: *mut c_char) -> Result<Self> {
        // SAFETY: the same contract.
        unsafe { Out::from_c(name, c) }.map(OutText)
    }
}

/// What may be null.
macro_rules! optional {
    ($(($($generic:tt)*) $type:ty),* $(,)?) => {$(
        impl<$($generic)*> Argument for Option<$type> {
            type C = C<$type>;

            unsafe fn from_c(name: &'static str, c: Self::C) -> Result<Self> {
                if c.is_null() {
                    return Ok(None);
                }
                // SAFETY: the same contract.
                unsafe { <$type>::from_c(name, c) }.map(Some)
            }
        }
    )*};
}

optional!(('a, T) Out<'a, T>, ('a, T) InOut<'a, T>, ('a, T) OutArray<'a, T>, ('a, T) &'a mut T, ('a, T) &'a T, ('a) Cow<'a, str>, ('a) &'a CStr, ('a) OutText<'a>);

/// An argument that counts at the root only: nobody looks at it elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtRoot<A: Argument> {
    name: &'static str,
    c: A::C,
}

impl<A: Argument> AtRoot<A> {
    /// The argument, at the root.
    pub(crate) fn get(self) -> Result<A> {
        // SAFETY: by `AtRoot::from_c`, at the root it is as the standard demands.
        unsafe { A::from_c(self.name, self.c) }
    }
}

impl<A: Argument> Argument for AtRoot<A> {
    type C = A::C;

    unsafe fn from_c(name: &'static str, c: A::C) -> Result<Self> {
        Ok(AtRoot { name, c })
    }
}

/// An argument whose fault the body tells, once all members of the call have met.
impl<A: Argument> Argument for Result<A> {
    type C = A::C;

    unsafe fn from_c(name: &'static str, c: A::C) -> Result<Self> {
        // SAFETY: the same contract.
        Ok(unsafe { A::from_c(name, c) })
    }
}

#[cold]
fn null(name: &str) -> Box<Error> {
    fail(MPI_ERR_ARG, format!("{name} is a null pointer"))
}

#[cold]
fn null_array(name: &str, len: usize) -> Box<Error> {
    fail(MPI_ERR_ARG, format!("{name} is a null pointer, but has {len} elements"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::{null, null_mut};

    /// As `entry!` does, with pointers that are right.
    fn of<A: Argument>(c: A::C) -> Result<A> {
        // SAFETY: the tests pass what lives, or null.
        unsafe { A::from_c("it", c) }
    }

    #[test]
    fn a_result_needs_a_place() {
        let mut number = 1;
        of::<Out<'_, c_int>>(&mut number).unwrap().set(7);
        assert_eq!(number, 7);
        assert_eq!(of::<Out<'_, c_int>>(null_mut()).unwrap_err().text(), "it is a null pointer");
        assert!(of::<Option<Out<'_, c_int>>>(null_mut()).unwrap().is_none());
        assert!(of::<Result<Out<'_, c_int>>>(null_mut()).unwrap().is_err());
    }

    #[test]
    fn a_handle_is_null_until_it_is_made() {
        let mut comm = MPI_COMM_WORLD;
        let handed = of::<Handed<'_, MPI_Comm>>(&mut comm).unwrap();
        handed.set(MPI_COMM_SELF);
        let _again = of::<Handed<'_, MPI_Comm>>(&mut comm).unwrap();
        assert_eq!(comm, MPI_COMM_NULL);
    }

    #[test]
    fn an_array_of_nothing_may_be_null() {
        let array = of::<Array<'_, c_int>>(null()).unwrap();
        assert_eq!(array.of(0).unwrap(), []);
        assert_eq!(array.of(2).unwrap_err().text(), "it is a null pointer, but has 2 elements");
        let out = of::<OutArray<'_, c_int>>(null_mut()).unwrap();
        assert!(out.store([]).is_ok() && out.store([1]).is_err() && out.of(1).is_err());
    }

    #[test]
    fn an_array_is_borrowed_and_filled() {
        let mut numbers = [1, 2, 3];
        assert_eq!(of::<Array<'_, c_int>>(numbers.as_ptr()).unwrap().of(3).unwrap(), [1, 2, 3]);
        of::<OutArray<'_, c_int>>(numbers.as_mut_ptr()).unwrap().store([8, 9]).unwrap();
        assert_eq!(numbers, [8, 9, 3]);
    }

    #[test]
    fn strings_are_cut_to_the_room_that_there_is() {
        let mut room = [1 as c_char; 4];
        assert_eq!(of::<OutText<'_>>(room.as_mut_ptr()).unwrap().store("abcdef", 4), 3);
        assert_eq!(of::<Cow<'_, str>>(room.as_ptr()).unwrap(), "abc");
        assert!(of::<Cow<'_, str>>(null()).is_err());
    }
}
