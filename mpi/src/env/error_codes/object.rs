//! The error classes, codes and strings of this process.

use crate::core::error::{Result, fail};
use std::collections::BTreeMap;
use std::ffi::c_int;
use tern_abi::*;

/// Error classes, codes and strings that the program has added, and the last message of each class.
pub(crate) struct Errors {
    /// Class of each added code; a class is a code of its own class.
    pub(super) classes: BTreeMap<c_int, c_int>,
    /// Strings of added codes.
    pub(super) strings: BTreeMap<c_int, String>,
    /// The last error of each class, as the program will want to print it.
    pub(super) last: BTreeMap<c_int, String>,
}

impl Errors {
    /// None yet.
    pub(crate) const fn new() -> Self {
        Errors { classes: BTreeMap::new(), strings: BTreeMap::new(), last: BTreeMap::new() }
    }

    /// Keeps a message, so that `MPI_Error_string` can say what happened and not only of which class it was.
    pub(crate) fn remember(&mut self, class: c_int, message: &str) {
        self.last.insert(class, message.to_owned());
    }

    /// `MPI_LASTUSEDCODE`.
    pub(crate) fn last_used(&self) -> c_int {
        self.classes.last_key_value().map_or(MPI_ERR_LASTCODE, |(&code, _)| code)
    }

    /// The class of a code that the program has added.
    pub(crate) fn class_of_added(&self, code: c_int) -> Option<c_int> {
        self.classes.get(&code).copied()
    }

    /// A new code; of a class of its own where none is given.
    pub(super) fn add(&mut self, class: Option<c_int>) -> Result<c_int> {
        let full = || fail(MPI_ERR_NO_MEM, "there are no more error codes: remove some");
        let code = self.last_used().checked_add(1).ok_or_else(full)?;
        self.classes.insert(code, class.unwrap_or(code));
        Ok(code)
    }

    /// Takes a code or class out, which must have no string left.
    pub(super) fn remove(&mut self, code: c_int) -> Result {
        if self.strings.contains_key(&code) {
            let text = format!("error code {code} still has a string: MPI_Remove_error_string removes it");
            return Err(fail(MPI_ERR_OTHER, text));
        }
        self.classes.remove(&code);
        Ok(())
    }

    pub(super) fn check_added(&self, code: c_int) -> Result {
        if self.classes.contains_key(&code) {
            return Ok(());
        }
        Err(fail(MPI_ERR_ARG, format!("{code} is no error class or code that the program has added")))
    }

    pub(super) fn is_added_class(&self, code: c_int) -> bool {
        self.class_of_added(code) == Some(code)
    }

    /// What is known of a code: the text of its class, and of the last error of that class.
    pub(super) fn text(&self, code: c_int) -> String {
        if self.classes.contains_key(&code) {
            return self.strings.get(&code).cloned().unwrap_or_default();
        }
        let Some(known) = error_class(code) else {
            return format!("{code} is no error code of MPI or the program");
        };
        let general = format!("{}: {}", known.name, known.text);
        match self.last.get(&code) {
            Some(last) => {
                let last = last.strip_suffix(&format!(" ({general})")).unwrap_or(last);
                format!("{general}. The last was: {last}")
            }
            None => general,
        }
    }
}
