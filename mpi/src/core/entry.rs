//! How an entry point gets its names.
//!
//! A body is written once. [`entry!`] exports it as `MPI_X` and `PMPI_X`, and with a second name also as
//! `MPI_X_c` and `PMPI_X_c`, whose counts are `MPI_Count`. All four are jumps to the body; a
//! profiling library may replace any `MPI_X` and call through to `PMPI_X` (MPI 5.0 section 15.2).

use crate::core::boundary::{Argument, CountInteger};
use std::ffi::c_int;

/// The type of counts and displacements in one of the two forms of a function (MPI 5.0 section 2.5.8).
pub(crate) trait Width {
    /// `int` or `MPI_Count`.
    type Count: Copy + Into<i64> + TryFrom<i64> + Argument + CountInteger;
    /// `int` or `MPI_Aint`: displacements in units of an extent (the v collectives).
    type Displ: Copy + IntoWide + TryFrom<i64> + Argument + CountInteger;
    /// `MPI_Aint` or `MPI_Count`: displacements, bounds and sizes in bytes (chapter 5).
    type Address: Copy + IntoWide + TryFrom<i64> + Argument;
    /// Whether this is the form with large counts.
    const LARGE: bool;
}

/// The form without suffix: `int`.
pub(crate) struct Small;
/// The `_c` form.
pub(crate) struct Large;

impl Width for Small {
    type Count = c_int;
    type Displ = c_int;
    type Address = isize;
    const LARGE: bool = false;
}

impl Width for Large {
    type Count = i64;
    type Displ = isize;
    type Address = i64;
    const LARGE: bool = true;
}

/// The types of [`Small`] by path, for the exported signatures (a generic parameter cannot be exported).
pub(crate) mod small {
    /// `int`.
    pub(crate) type Count = std::ffi::c_int;
    /// `int`.
    pub(crate) type Displ = std::ffi::c_int;
    /// `MPI_Aint`.
    pub(crate) type Address = isize;
}

/// The types of [`Large`] by path.
pub(crate) mod large {
    /// `MPI_Count`.
    pub(crate) type Count = i64;
    /// `MPI_Aint`.
    pub(crate) type Displ = isize;
    /// `MPI_Count`.
    pub(crate) type Address = i64;
}

/// `isize` has no `Into<i64>` in the standard library; on the platforms of the ABI it always fits.
pub(crate) trait IntoWide {
    /// The same number as 64 bits.
    fn wide(self) -> i64;
}

impl IntoWide for c_int {
    fn wide(self) -> i64 {
        i64::from(self)
    }
}

impl IntoWide for i64 {
    fn wide(self) -> i64 {
        self
    }
}

impl IntoWide for isize {
    fn wide(self) -> i64 {
        self as i64
    }
}

/// Exports a body under its standard names.
///
/// ```text
/// entry! {
///     /// Docs, with the section of the standard.
///     safe fn MPI_Send, MPI_Send_c<W>(buf: ChoiceBuf, count: W::Count, …, comm: MPI_Comm) on comm {
///         …; Ok(())
///     }
/// }
/// ```
///
/// The body yields [`crate::core::error::Result`]. `on comm` names the parameter, or in parentheses says the place, whose error handler an error
/// goes to (a communicator, session, window or file handle); without it, errors go to `MPI_COMM_SELF`'s (section 9.3).
///
/// A `safe fn` names the safe types of [`crate::core::boundary`], and its body is safe code: the compiler refuses `unsafe` in it.
macro_rules! entry {
    () => {};
    ($(#[$meta:meta])* safe fn $name:ident($($p:ident: $t:ty),* $(,)?) $(on $on:tt)? $body:block $($rest:tt)*) => {
        const _: () = {
            #[forbid(unsafe_code)]
            #[inline(always)]
            fn safe($($p: $t),*) -> $crate::core::error::Result $body
            unsafe extern "C" fn body($($p: $crate::core::boundary::C<$t>),*) -> ::std::ffi::c_int {
                #[inline(always)]
                unsafe fn outcome($($p: $crate::core::boundary::C<$t>),*) -> $crate::core::error::Result {
                    // SAFETY: the C caller vouches for its pointers, as the standard demands of it.
                    $(let $p = unsafe { <$t as $crate::core::boundary::Argument>::from_c(stringify!($p), $p)? };)*
                    safe($($p),*)
                }
                // SAFETY: the same contract.
                match unsafe { outcome($($p),*) } {
                    Ok(()) => ::tern_abi::MPI_SUCCESS,
                    Err(error) => error.raise(stringify!($name), $crate::core::entry::place!($($on)?)),
                }
            }
            $crate::core::entry::export!(
                $(#[$meta])* $name, concat!("P", stringify!($name)), body, ($($p: $crate::core::boundary::C<$t>),*)
            );
        };
        $crate::core::entry::entry! { $($rest)* }
    };
    ($(#[$meta:meta])* safe fn $name:ident, $large:ident<$w:ident>($($p:ident: $t:ty),* $(,)?) $(on $on:tt)? $body:block $($rest:tt)*) => {
        const _: () = {
            #[forbid(unsafe_code)]
            #[inline(always)]
            fn safe<$w: $crate::core::entry::Width>($($p: $t),*) -> $crate::core::error::Result $body
            unsafe extern "C" fn body<$w: $crate::core::entry::Width>($($p: $crate::core::boundary::C<$t>),*) -> ::std::ffi::c_int {
                #[inline(always)]
                unsafe fn outcome<$w: $crate::core::entry::Width>(
                    $($p: $crate::core::boundary::C<$t>),*
                ) -> $crate::core::error::Result {
                    // SAFETY: the C caller vouches for its pointers, as the standard demands of it.
                    $(let $p = unsafe { <$t as $crate::core::boundary::Argument>::from_c(stringify!($p), $p)? };)*
                    safe::<$w>($($p),*)
                }
                // SAFETY: the same contract.
                match unsafe { outcome::<$w>($($p),*) } {
                    Ok(()) => ::tern_abi::MPI_SUCCESS,
                    Err(error) => {
                        let name = if $w::LARGE { stringify!($large) } else { stringify!($name) };
                        error.raise(name, $crate::core::entry::place!($($on)?))
                    }
                }
            }
            const _: () = {
                #[allow(unused_imports, reason = "all types may be the same in both forms")]
                use $crate::core::entry::small as $w;
                $crate::core::entry::export!(
                    $(#[$meta])* $name, concat!("P", stringify!($name)), body::<$crate::core::entry::Small>,
                    ($($p: $crate::core::boundary::C<$t>),*)
                );
            };
            const _: () = {
                #[allow(unused_imports, reason = "all types may be the same in both forms")]
                use $crate::core::entry::large as $w;
                $crate::core::entry::export!(
                    $(#[$meta])* $large, concat!("P", stringify!($large)), body::<$crate::core::entry::Large>,
                    ($($p: $crate::core::boundary::C<$t>),*)
                );
            };
        };
        $crate::core::entry::entry! { $($rest)* }
    };
}

/// One body under `MPI_X` and `PMPI_X`.
macro_rules! export {
    ($(#[$meta:meta])* $name:ident, $profiled:expr, $body:expr, ($($p:ident: $t:ty),*)) => {
        $(#[$meta])*
        /// # Safety
        /// Pointers must be as the standard demands.
        #[unsafe(no_mangle)]
        #[allow(unreachable_pub, reason = "the loader finds it")]
        pub unsafe extern "C" fn $name($($p: $t),*) -> ::std::ffi::c_int {
            // SAFETY: the same contract.
            unsafe { $body($($p),*) }
        }
        #[unsafe(export_name = $profiled)]
        unsafe extern "C" fn profiled($($p: $t),*) -> ::std::ffi::c_int {
            // SAFETY: the same contract.
            unsafe { $body($($p),*) }
        }
        #[used]
        #[unsafe(link_section = "tern_calls")]
        static NAMED: $crate::core::entry::NamedCall = {
            type Function = unsafe extern "C" fn($($t),*) -> ::std::ffi::c_int;
            let (body, own, other): (Function, Function, Function) = ($body, $name, profiled);
            let starts = [body as *const (), own as *const (), other as *const ()];
            $crate::core::entry::NamedCall::new(starts, stringify!($name))
        };
    };
}

/// Which functions have which name: the linker gathers these, so that a call need not leave its name anywhere.
#[repr(C)]
pub(crate) struct NamedCall {
    /// Where the body begins, and the two exported functions, into which it may have been put.
    starts: [*const (); 3],
    name: &'static str,
}

// SAFETY: it is read alone, and its addresses are never followed.
unsafe impl Sync for NamedCall {}

impl NamedCall {
    /// Of the addresses of a call's functions.
    pub(crate) const fn new(starts: [*const (); 3], name: &'static str) -> Self {
        NamedCall { starts, name }
    }
}

/// The name of the call of which a function begins at an address.
pub(crate) fn name_of_call(start: usize) -> Option<&'static str> {
    unsafe extern "C" {
        // The linker gives these names to the two ends of the section.
        #[link_name = "__start_tern_calls"]
        static FIRST: u8;
        #[link_name = "__stop_tern_calls"]
        static END: u8;
    }
    let (first, end) = ((&raw const FIRST).cast::<NamedCall>(), (&raw const END).cast::<NamedCall>());
    // SAFETY: the section holds nothing else, and never changes.
    let all = unsafe { std::slice::from_raw_parts(first, end.offset_from_unsigned(first)) };
    all.iter().find(|call| call.starts.iter().any(|known| known.addr() == start)).map(|call| call.name)
}

/// Where an error of this call goes.
macro_rules! place {
    () => {
        $crate::core::error::ErrorObject::None
    };
    (($on:expr)) => {
        // SAFETY: the C caller vouches for its pointers here as in the body.
        unsafe { $on }
    };
    ($on:ident) => {
        $crate::core::error::ErrorObject::from($on)
    };
}

pub(crate) use {entry, export, place};
