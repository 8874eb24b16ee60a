//! Handles of Open MPI: pointers. A predefined one is the address of a variable of [`crate::objects`], or of the program's copy
//! of it, and the standard's handle is the first word there. All others are odd numbers.

use std::ffi::c_int;

use tern_abi::*;
use tern_bridge::foreign::ForeignHandle;

use crate::objects;

/// Marks a handle that is none, so that Tern's message names the value.
const FOREIGN: usize = 1 << 63;

/// The program's value of a handle that Tern refuses: what its message names.
pub(crate) extern "C" fn given(number: usize, _kind: c_int) -> usize {
    if number & FOREIGN == 0 {
        return number_out(number);
    }
    objects::address_of(number).unwrap_or(number & !FOREIGN)
}

/// The standard's number of a handle's value.
#[inline(always)]
fn number_in(value: usize) -> usize {
    if value & 1 != 0 {
        return value >> 1;
    }
    if !(objects::LIBRARY.has(value) || objects::PROGRAM.has(value)) {
        return number_of_stray(value);
    }
    // SAFETY: the address lies among the predefined objects, of which the first word is the standard's handle.
    unsafe { *(value as *const usize) }
}

/// The same where the two ranges do not have the address: the loader may have spread the objects over more, and a program
/// may pass what is no handle. That is not followed.
#[cold]
fn number_of_stray(value: usize) -> usize {
    objects::handle_at(value).unwrap_or(FOREIGN | value)
}

/// The value of a handle that is not predefined.
#[inline(always)]
fn number_out(number: usize) -> usize {
    number << 1 | 1
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident: $inner:ident by $table:ident;)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct $name(pub(crate) usize);

        impl ForeignHandle for $name {
            type Inner = $inner;
            const UNWRITTEN: $inner = $inner(usize::MAX);

            #[inline(always)]
            fn inner(self) -> $inner {
                $inner(number_in(self.0))
            }

            #[inline(always)]
            fn outer(inner: $inner) -> Self {
                let predefined = objects::$table.iter().find(|object| object.handle == inner.0);
                $name(predefined.map_or(number_out(inner.0), |object| object.address.0 as usize))
            }

            fn fortran(self) -> c_int {
                let number = number_in(self.0);
                let has_integer = |fortran| fortran != tern_bridge::values::ABSENT;
                let predefined =
                    objects::$table.iter().find(|object| object.handle == number && has_integer(object.fortran));
                predefined.map_or(number as i32, |object| object.fortran as i32)
            }
        }

        impl $name {
            /// The handle of an integer of Fortran's.
            pub(crate) fn from_fortran(integer: i32) -> Self {
                let predefined = objects::$table.iter().find(|object| object.fortran == i64::from(integer));
                match predefined {
                    Some(object) => $name(object.address.0 as usize),
                    None => Self::outer($inner(integer as u32 as usize)),
                }
            }
        }
    )*};
}

handles! {
    /// `MPI_Comm`
    Comm: MPI_Comm by COMMS;
    /// `MPI_Group`
    Group: MPI_Group by GROUPS;
    /// `MPI_Op`
    Op: MPI_Op by OPS;
    /// `MPI_Info`
    Info: MPI_Info by INFOS;
    /// `MPI_Errhandler`
    Errhandler: MPI_Errhandler by ERRHANDLERS;
    /// `MPI_Request`
    Request: MPI_Request by REQUESTS;
    /// `MPI_Message`
    Message: MPI_Message by MESSAGES;
    /// `MPI_Session`
    Session: MPI_Session by SESSIONS;
    /// `MPI_Win`
    Win: MPI_Win by WINS;
    /// `MPI_File`
    File: MPI_File by FILES;
    /// `MPI_Datatype`
    Datatype: MPI_Datatype by DATATYPES;
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! survive {
        ($($handle:ident $names:ident;)*) => {$(
            for &(inner, name) in $names {
                let outer = $handle::outer(inner);
                assert_eq!(outer.inner(), inner, "{name}");
                let has_variable = outer.0 & 1 == 0;
                assert!(has_variable || ["MPI_LOGICAL16", "MPI_REAL2", "MPI_COMPLEX4"].contains(&name), "{name}");
                assert_eq!($handle::from_fortran(outer.fortran()).inner(), inner, "{name} in Fortran");
            }
        )*};
    }

    #[test]
    fn predefined_handles_survive_the_way_out_and_in() {
        survive! {
            Comm COMM_NAMES; Group GROUP_NAMES; Op OP_NAMES; Info INFO_NAMES; Errhandler ERRHANDLER_NAMES;
            Request REQUEST_NAMES; Message MESSAGE_NAMES; Session SESSION_NAMES; Win WIN_NAMES; File FILE_NAMES;
            Datatype DATATYPE_NAMES;
        }
    }

    #[test]
    fn handles_of_objects_survive() {
        for value in [4096, 0x0c00_0405, (1 << 30) - 1, (1 << 31) - 1] {
            let outer = Request::outer(MPI_Request(value));
            assert_eq!((outer.inner(), outer.fortran()), (MPI_Request(value), value as i32));
            assert_eq!(Request::from_fortran(value as i32), outer);
        }
    }

    #[test]
    fn a_refused_handle_is_named_as_the_program_gave_it() {
        for value in [0, 0x101, 0x4400_0000, 0x4c00_0405, 0x7fff_dead_beef] {
            assert_eq!(given(Comm(value).inner().0, 0), value);
        }
        for variable in [&objects::ompi_mpi_2cplex, &objects::ompi_mpi_2dblcplex] {
            let value = &raw const *variable as usize;
            assert_eq!(given(Datatype(value).inner().0, 1), value);
        }
    }

    #[test]
    fn what_is_no_handle_stays_none_and_is_not_followed() {
        let near = Comm::outer(MPI_COMM_WORLD).0;
        let here = &raw const near as usize & !15;
        for _ in 0..2 {
            for stray in [0, 8, 0x4400_0002, 0x4c00_0408, usize::MAX - 7, here, near + 2, near - (1 << 20)] {
                assert_eq!(Comm(stray).inner().0, FOREIGN | stray, "{stray:#x}");
            }
            assert_eq!(Comm(near).inner(), MPI_COMM_WORLD);
            objects::locate();
        }
    }
}
