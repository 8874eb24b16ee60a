//! Functions that the lists of [`crate::calls`] cannot have, because they return something else than an error code.

/// Exports a function as `MPI_X` and `PMPI_X`.
#[macro_export]
macro_rules! plain {
    ($($(#[$doc:meta])* fn $name:ident($($parameter:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {$(
        const _: () = {
            #[inline(always)]
            #[allow(unused_unsafe)]
            unsafe fn body($($parameter: $type),*) $(-> $result)? {
                // SAFETY: the C caller vouches for its arguments.
                unsafe { $body }
            }

            $(#[$doc])*
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($parameter: $type),*) $(-> $result)? {
                // SAFETY: the same contract.
                unsafe { body($($parameter),*) }
            }

            #[unsafe(export_name = concat!("P", stringify!($name)))]
            unsafe extern "C" fn profiled($($parameter: $type),*) $(-> $result)? {
                // SAFETY: the same contract.
                unsafe { body($($parameter),*) }
            }
        };
    )*};
}
