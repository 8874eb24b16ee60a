//! Error classes, codes and strings (MPI 5.0 sections 9.4 and 9.5): the standard's and those that the program adds. All
//! of it works at any time (section 11.4.1).

mod object;

pub(crate) use object::Errors;

use crate::comm::attributes;
use crate::core::boundary::{Out, OutText};
use crate::core::entry::entry;
use crate::core::error::fail;
use crate::core::process::enter_anyway;
use crate::env::raise::class_of;
use std::borrow::Cow;
use std::ffi::c_int;
use tern_abi::*;

/// A code as a person reads it.
pub(crate) fn describe(code: c_int) -> String {
    format!("error code {code} ({})", enter_anyway().objects.errors.text(code))
}

entry! {
    /// The error class of an error code.
    safe fn MPI_Error_class(errorcode: c_int, errorclass: Out<'_, c_int>) {
        errorclass.set(class_of(errorcode));
        Ok(())
    }

    /// The text of a code: of a predefined class with the last error of that class.
    safe fn MPI_Error_string(errorcode: c_int, string: OutText<'_>, resultlen: Out<'_, c_int>) {
        let text = enter_anyway().objects.errors.text(errorcode);
        resultlen.set(string.store(&text, MPI_MAX_ERROR_STRING as usize));
        Ok(())
    }

    /// Makes a new error class (section 9.5).
    safe fn MPI_Add_error_class(errorclass: Out<'_, c_int>) {
        let mut process = enter_anyway();
        errorclass.set(process.objects.errors.add(None)?);
        attributes::last_used_code_changed(&mut process);
        Ok(())
    }

    /// Makes a new error code of a class.
    safe fn MPI_Add_error_code(errorclass: c_int, errorcode: Out<'_, c_int>) {
        let mut process = enter_anyway();
        if error_class(errorclass).is_none() && !process.objects.errors.is_added_class(errorclass) {
            return Err(fail(MPI_ERR_ARG, format!("{errorclass} is no error class")));
        }
        errorcode.set(process.objects.errors.add(Some(errorclass))?);
        attributes::last_used_code_changed(&mut process);
        Ok(())
    }

    /// The text of a class or code that the program has added.
    safe fn MPI_Add_error_string(errorcode: c_int, string: Cow<'_, str>) {
        if string.len() >= MPI_MAX_ERROR_STRING as usize {
            let most = MPI_MAX_ERROR_STRING - 1;
            return Err(fail(MPI_ERR_ARG, format!("the string has {} characters, but at most {most} are allowed", string.len())));
        }
        let mut process = enter_anyway();
        process.objects.errors.check_added(errorcode)?;
        process.objects.errors.strings.insert(errorcode, string.into_owned());
        Ok(())
    }

    /// Takes a class of the program's out, which must have no codes left.
    safe fn MPI_Remove_error_class(errorclass: c_int) {
        let mut process = enter_anyway();
        if !process.objects.errors.is_added_class(errorclass) {
            return Err(fail(MPI_ERR_ARG, format!("{errorclass} is no error class that the program has added")));
        }
        let mut codes = process.objects.errors.classes.iter();
        if let Some((code, _)) = codes.find(|&(&code, &class)| class == errorclass && code != errorclass) {
            return Err(fail(MPI_ERR_OTHER, format!("error code {code} is still of class {errorclass}: remove it first")));
        }
        process.objects.errors.remove(errorclass)?;
        attributes::last_used_code_changed(&mut process);
        Ok(())
    }

    /// Removes an error code that the program has added.
    safe fn MPI_Remove_error_code(errorcode: c_int) {
        let mut process = enter_anyway();
        process.objects.errors.check_added(errorcode)?;
        if process.objects.errors.is_added_class(errorcode) {
            return Err(fail(MPI_ERR_ARG, format!("{errorcode} is an error class: MPI_Remove_error_class removes it")));
        }
        process.objects.errors.remove(errorcode)?;
        attributes::last_used_code_changed(&mut process);
        Ok(())
    }

    /// Takes the text of a class or code of the program's away.
    safe fn MPI_Remove_error_string(errorcode: c_int) {
        let mut process = enter_anyway();
        process.objects.errors.check_added(errorcode)?;
        if process.objects.errors.strings.remove(&errorcode).is_none() {
            return Err(fail(MPI_ERR_ARG, format!("error code {errorcode} has no string")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_counted_from_the_last_of_the_standard() {
        let mut errors = Errors::new();
        let class = errors.add(None).unwrap();
        let code = errors.add(Some(class)).unwrap();
        assert_eq!((class, code), (MPI_ERR_LASTCODE + 1, MPI_ERR_LASTCODE + 2));
        assert_eq!((errors.last_used(), errors.class_of_added(code)), (code, Some(class)));
        errors.strings.insert(code, "mine".into());
        assert!(errors.remove(code).is_err());
        errors.strings.remove(&code);
        errors.remove(code).unwrap();
        assert_eq!((errors.last_used(), errors.text(class)), (class, String::new()));
    }

    #[test]
    fn a_class_tells_of_its_last_error() {
        let mut errors = Errors::new();
        assert_eq!(errors.text(MPI_ERR_RANK), "MPI_ERR_RANK: invalid rank");
        errors.remember(MPI_ERR_RANK, "MPI_Send: dest is 9 (MPI_ERR_RANK: invalid rank)");
        assert_eq!(
            errors.text(MPI_ERR_RANK),
            "MPI_ERR_RANK: invalid rank. The last was: MPI_Send: dest is 9"
        );
    }
}
