//! Strings in and out of the tool interface.

use std::ffi::{CStr, c_char, c_int};

use tern_abi::MPI_T_ERR_INVALID_NAME;

use super::Outcome;

/// Returns a string in the way of section 15.3.3: at most `*length - 1` bytes and a null, and in `*length`
/// what the whole string needs. Null for the length: nothing is wanted; null for the text or a length of
/// zero: only the length is.
///
/// # Safety
/// `length` must be null or valid, and `text` null or valid for `*length` bytes.
pub unsafe fn put_text(text: *mut c_char, length: *mut c_int, value: &str) {
    if length.is_null() {
        return;
    }
    // SAFETY: the caller vouches for both pointers.
    unsafe {
        let room = usize::try_from(*length).unwrap_or(0);
        if !text.is_null() && room > 0 {
            let bytes = value.len().min(room - 1);
            text.copy_from_nonoverlapping(value.as_ptr().cast(), bytes);
            text.add(bytes).write(0);
        }
        *length = value.len() as c_int + 1;
    }
}

/// A name given by the caller.
///
/// # Safety
/// `name` must be null or a C string that outlives the result.
pub unsafe fn name_of<'a>(name: *const c_char) -> Outcome<&'a str> {
    if name.is_null() {
        return Err(MPI_T_ERR_INVALID_NAME);
    }
    // SAFETY: not null, so the caller vouches for it.
    unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| MPI_T_ERR_INVALID_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returned(room: c_int) -> (Vec<u8>, c_int) {
        let mut text = [b'#' as c_char; 8];
        let mut length = room;
        // SAFETY: the room given is at most the array's.
        unsafe { put_text(text.as_mut_ptr(), &mut length, "cvars") };
        (text.iter().map(|byte| *byte as u8).collect(), length)
    }

    #[test]
    fn the_length_is_always_the_whole_strings() {
        assert_eq!(returned(8), (b"cvars\0##".to_vec(), 6));
        assert_eq!(returned(3), (b"cv\0#####".to_vec(), 6));
        assert_eq!(returned(0), (b"########".to_vec(), 6));
    }
}
