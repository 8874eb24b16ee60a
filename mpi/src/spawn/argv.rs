//! The programs that `MPI_Comm_spawn` and `MPI_Comm_spawn_multiple` are given, in C's form.

use std::borrow::Cow;
use std::ffi::{CStr, c_char};
use std::marker::PhantomData;

use tern_abi::*;
use tern_job::text;

use crate::core::boundary::{Argument, Array};
use crate::core::error::Result;

/// The arguments of a program, behind its name: strings up to a null pointer, or `MPI_ARGV_NULL`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Argv<'a> {
    start: *const *mut c_char,
    call: PhantomData<&'a CStr>,
}

impl Argv<'_> {
    /// The strings.
    pub(super) fn strings(self) -> Vec<String> {
        let mut strings = Vec::new();
        if self.start.addr() == MPI_ARGV_NULL {
            return strings;
        }
        // SAFETY: by `Argument::from_c`, up to the null pointer the strings are there.
        while let Some(string) = unsafe { (*self.start.add(strings.len())).as_ref() } {
            // SAFETY: as above.
            strings.push(text::from_bytes(unsafe { CStr::from_ptr(string) }.to_bytes()).into_owned());
        }
        strings
    }
}

impl Argument for Argv<'_> {
    type C = *mut *mut c_char;

    unsafe fn from_c(_: &'static str, start: *mut *mut c_char) -> Result<Self> {
        Ok(Argv { start, call: PhantomData })
    }
}

/// The arguments of several programs, or `MPI_ARGVS_NULL`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Argvs<'a>(Array<'a, *mut *mut c_char>);

impl<'a> Argvs<'a> {
    /// Those of each.
    pub(super) fn of(self, count: usize) -> Result<Vec<Argv<'a>>> {
        let argv = |start| Argv { start, call: PhantomData };
        if self.0.address() == MPI_ARGVS_NULL {
            return Ok(vec![argv(std::ptr::without_provenance(MPI_ARGV_NULL)); count]);
        }
        Ok(self.0.of(count)?.iter().map(|start| argv(start.cast_const())).collect())
    }
}

impl Argument for Argvs<'_> {
    type C = *mut *mut *mut c_char;

    unsafe fn from_c(name: &'static str, start: *mut *mut *mut c_char) -> Result<Self> {
        // SAFETY: the same contract.
        unsafe { Array::from_c(name, start) }.map(Argvs)
    }
}

/// The names of several programs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Commands<'a>(Array<'a, *mut c_char>);

impl<'a> Commands<'a> {
    /// That of each.
    pub(super) fn of(self, count: usize) -> Result<Vec<Cow<'a, str>>> {
        // SAFETY: by `Argument::from_c`, each is null or a string.
        self.0.of(count)?.iter().map(|start| unsafe { Cow::from_c("command", *start) }).collect()
    }
}

impl Argument for Commands<'_> {
    type C = *mut *mut c_char;

    unsafe fn from_c(name: &'static str, start: *mut *mut c_char) -> Result<Self> {
        // SAFETY: the same contract.
        unsafe { Array::from_c(name, start) }.map(Commands)
    }
}
