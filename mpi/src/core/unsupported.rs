//! Functions of the standard that Tern does not have yet.
//!
//! Each is exported, so that every program links, and each call of one is an error of class
//! `MPI_ERR_UNSUPPORTED_OPERATION` that goes to the error handler with the function's own name. Beside each,
//! the library exports a symbol `tern_unsupported_MPI_X`, by which `tern info --coverage` knows them.

use crate::core::error::{Error, fail};

/// The error of every call in this state.
#[cold]
pub fn error() -> Box<Error> {
    fail(
        tern_abi::MPI_ERR_UNSUPPORTED_OPERATION,
        "this version of Tern does not have this function ('tern info --coverage' lists those it lacks)",
    )
}

/// Exports functions that raise [`error`], each in the form of [`crate::core::entry::entry`] with `;` for the body.
macro_rules! unsupported {
    ($(
        $(#[$meta:meta])*
        fn $name:ident $(, $large:ident<$w:ident>)? ($($p:ident: $t:ty),* $(,)?) $(on $on:ident)?;
    )*) => {$(
        $crate::core::entry::entry! {
            $(#[$meta])*
            /// Not in this version.
            fn $name $(, $large<$w>)? ($($p: $t),*) $(on $on)? {
                let _ = ($($p,)*);
                Err($crate::core::unsupported::error())
            }
        }
        $crate::core::unsupported::mark!($name);
        $($crate::core::unsupported::mark!($large);)?
    )*};
}

/// Exports the symbol that tells a function apart from those that work.
macro_rules! mark {
    ($name:ident) => {
        const _: () = {
            #[unsafe(export_name = concat!("tern_unsupported_", stringify!($name)))]
            static MARK: u8 = 0;
        };
    };
}

pub(crate) use {mark, unsupported};
