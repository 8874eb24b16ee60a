//! How a line of [`crate::calls`] becomes an exported function.

/// Exports the functions of a list, each as `MPI_X` and `PMPI_X`. The crate that uses it has a type `Abi` and the names of
/// [`crate::foreign_kinds`] in scope.
#[macro_export]
macro_rules! export {
    ($(fn $name:ident($($parameter:ident: $kind:ty $([$length:expr])?),*) $(via $via:ident)?;)*) => {$(
        const _: () = {
            #[inline(always)]
            unsafe fn body($($parameter: <$kind as $crate::kinds::Param>::C),*) -> ::std::ffi::c_int {
                // SAFETY: the C caller vouches for its arguments.
                unsafe { $crate::converted!($name ($($parameter: $kind $([$length])?),*) $(via $via)?) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($parameter: <$kind as $crate::kinds::Param>::C),*) -> ::std::ffi::c_int {
                // SAFETY: the same contract.
                unsafe { body($($parameter),*) }
            }

            #[unsafe(export_name = concat!("P", stringify!($name)))]
            unsafe extern "C" fn profiled($($parameter: <$kind as $crate::kinds::Param>::C),*) -> ::std::ffi::c_int {
                // SAFETY: the same contract.
                unsafe { body($($parameter),*) }
            }
        };
    )*};
}

/// What a function does: convert, call, give back; or what [`crate::special`] does.
#[macro_export]
macro_rules! converted {
    ($name:ident ($($parameter:ident: $kind:ty $([$length:expr])?),*) via $via:ident) => {
        $crate::special::$via::<Abi>($($parameter),*)
    };
    ($name:ident ($($parameter:ident: $kind:ty $([$length:expr])?),*)) => {{
        #[allow(unused_mut)]
        let mut held = ($(<$kind as $crate::kinds::Param>::hold($parameter, $crate::length!($($length)?)),)*);
        let code = {
            #[allow(unused_variables)]
            let ($($parameter,)*) = &mut held;
            $crate::tern!($name($(
                <$kind as $crate::kinds::Param>::pass($parameter) => <$kind as $crate::kinds::Param>::Inner
            ),*))
        };
        let failed = code != ::tern_abi::MPI_SUCCESS;
        $crate::given_back!(held, failed; $($parameter: $kind),*);
        $crate::foreign::code_out::<Abi>(code)
    }};
}

/// What the call has written, parameter by parameter.
#[macro_export]
macro_rules! given_back {
    ($held:ident, $failed:ident; $($parameter:ident: $kind:ty),*) => {
        let given = ($($parameter,)*);
        #[allow(unused_variables)]
        let ($($parameter,)*) = &mut $held;
        $crate::given_each!(given, $failed; (0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15) $($parameter: $kind,)*);
    };
}

/// One after the other, each with its place in the tuple of arguments.
#[macro_export]
macro_rules! given_each {
    ($given:ident, $failed:ident; ($($index:tt)*)) => {
        let _ = ($given, $failed);
    };
    ($given:ident, $failed:ident; ($index:tt $($others:tt)*) $parameter:ident: $kind:ty, $($rest:tt)*) => {
        <$kind as $crate::kinds::Param>::give($parameter, $given.$index, $failed);
        $crate::given_each!($given, $failed; ($($others)*) $($rest)*);
    };
}

/// The length of an array, or none.
#[macro_export]
macro_rules! length {
    () => {
        0
    };
    ($length:expr) => {
        $crate::kinds::Length::length($length)
    };
}

/// The kinds of parameters by the names that the lists use, for one ABI.
#[macro_export]
macro_rules! foreign_kinds {
    ($abi:ident, $values:ident) => {
        type Abi = $abi;
        type Rank = kinds::NumberIn<kinds::RankNumbers<$abi>>;
        type RankOut = kinds::NumberOut<kinds::RankNumbers<$abi>>;
        type RanksIn = kinds::NumberList<kinds::RankNumbers<$abi>>;
        type RanksOut = kinds::RankList<$abi>;
        type Tag = kinds::NumberIn<kinds::Tags<$abi>>;
        type TagOut = kinds::NumberOut<kinds::Tags<$abi>>;
        type Place = kinds::Place<$abi>;
        type GraphWeights = kinds::GraphWeights<$abi>;
        type Pvar = kinds::Pvar<$abi>;
        type DetachedBuffer = kinds::DetachedBuffer<$abi>;
        type StatusIn = $crate::status::StatusIn<$abi>;
        type ForeignStatusOut = $crate::status::ForeignStatusOut<$abi>;
        type StatusInOut = $crate::status::StatusInOut<$abi>;
        type Statuses = $crate::status::Statuses<$abi>;

        type ErrorCode = kinds::NumberIn<numbers::ErrorCode>;
        type ErrorCodeOut = kinds::NumberOut<numbers::ErrorCode>;
        type Keyval = kinds::NumberIn<numbers::Keyval>;
        type KeyvalInOut = kinds::NumberInOut<numbers::Keyval>;
        type ThreadLevel = kinds::NumberIn<numbers::ThreadLevel>;
        type ThreadLevelOut = kinds::NumberOut<numbers::ThreadLevel>;
        type ComparisonOut = kinds::NumberOut<numbers::Comparison>;
        type TopologyTypeOut = kinds::NumberOut<numbers::TopologyType>;
        type SplitType = kinds::NumberIn<numbers::SplitType>;
        type LockType = kinds::NumberIn<numbers::LockType>;
        type Assertion = kinds::NumberIn<numbers::Assertion>;
        type AccessMode = kinds::NumberIn<numbers::AccessMode>;
        type AccessModeOut = kinds::NumberOut<numbers::AccessMode>;
        type Whence = kinds::NumberIn<numbers::Whence>;
        type Order = kinds::NumberIn<numbers::Order>;
        type Distributions = kinds::NumberList<numbers::Distribution>;
        type DistributionArguments = kinds::NumberList<numbers::DistributionArgument>;
        type CombinerOut = kinds::NumberOut<numbers::Combiner>;
        type TypeClass = kinds::NumberIn<numbers::TypeClass>;
        type VerbosityOut = kinds::NumberOut<numbers::Verbosity>;
        type BindOut = kinds::NumberOut<numbers::Bind>;
        type ScopeOut = kinds::NumberOut<numbers::Scope>;
        type PvarClass = kinds::NumberIn<numbers::PvarClass>;
        type PvarClassOut = kinds::NumberOut<numbers::PvarClass>;
        type CallbackSafety = kinds::NumberIn<numbers::CallbackSafety>;
        type SourceOrderOut = kinds::NumberOut<numbers::SourceOrder>;

        type ProcessorName = $crate::text!(MPI_MAX_PROCESSOR_NAME, $values);
        type ProcessorNameLength = $crate::text_length!(MPI_MAX_PROCESSOR_NAME, $values);
        type ErrorText = $crate::text!(MPI_MAX_ERROR_STRING, $values);
        type ErrorTextLength = $crate::text_length!(MPI_MAX_ERROR_STRING, $values);
        type ObjectName = $crate::text!(MPI_MAX_OBJECT_NAME, $values);
        type ObjectNameLength = $crate::text_length!(MPI_MAX_OBJECT_NAME, $values);
        type PortName = $crate::text!(MPI_MAX_PORT_NAME, $values);
        type InfoKey = $crate::text!(MPI_MAX_INFO_KEY, $values);
        type DatarepName = $crate::text!(MPI_MAX_DATAREP_STRING, $values);
    };
}

/// The entry points that are the same code for each ABI; expanded beside [`foreign_kinds`].
#[macro_export]
macro_rules! shared_entries {
    () => {
        /// How many datatypes a rank sends with: none matter if all is in place.
        fn senders(sendbuf: *mut c_void, comm: Comm) -> usize {
            let in_place = sendbuf as usize == <Abi as $crate::foreign::ForeignAbi>::IN_PLACE;
            if in_place { 0 } else { $crate::special::peers(comm) }
        }

        fn sources(comm: Comm) -> usize {
            $crate::special::neighbors(comm.inner()).0
        }

        fn targets(comm: Comm) -> usize {
            $crate::special::neighbors(comm.inner()).1
        }

        $crate::plain! {
            /// Seconds since some time.
            fn MPI_Wtime() -> f64 {
                $crate::tern!(MPI_Wtime() -> f64)
            }

            /// Seconds between ticks.
            fn MPI_Wtick() -> f64 {
                $crate::tern!(MPI_Wtick() -> f64)
            }

            /// A sum of an address and a displacement.
            fn MPI_Aint_add(base: isize, displacement: isize) -> isize {
                base.wrapping_add(displacement)
            }

            /// A difference of addresses.
            fn MPI_Aint_diff(one: isize, other: isize) -> isize {
                one.wrapping_sub(other)
            }
        }
    };
}

/// A text as long as a constant says in each ABI.
#[macro_export]
macro_rules! text {
    ($most:ident, $values:ident) => {
        kinds::Text<{ ::tern_abi::$most as usize }, { $crate::values::$values::$most as usize }>
    };
}

/// The length of such a text.
#[macro_export]
macro_rules! text_length {
    ($most:ident, $values:ident) => {
        kinds::TextLength<{ $crate::values::$values::$most as usize }>
    };
}
