//! Two macros that write a family of constants down once: as Rust constants, and as a list that maps a
//! value to its name (for messages) and that the tests compare with the ABI tables.

/// Constants of one handle type, and a list of `(handle, name)`.
macro_rules! handle_family {
    ($(#[$doc:meta])* $list:ident: $ty:ident { $($name:ident = $value:literal,)* }) => {
        $(
            #[doc = concat!("`", stringify!($name), "`, a predefined [`", stringify!($ty), "`].")]
            pub const $name: $ty = $ty($value);
        )*
        $(#[$doc])*
        pub const $list: &[($ty, &str)] = &[$(($name, stringify!($name)),)*];
    };
}

/// Integer constants of one family, and a list of `(value, name)`.
macro_rules! int_family {
    ($(#[$doc:meta])* $list:ident: $ty:ident { $($name:ident = $value:expr,)* }) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the standard ABI.")]
            pub const $name: $ty = $value;
        )*
        $(#[$doc])*
        pub const $list: &[($ty, &str)] = &[$(($name, stringify!($name)),)*];
    };
}
