//! Strings in and out of the tool interface.

use std::ffi::{CStr, c_int};

use tern_abi::MPI_T_ERR_INVALID_NAME;

use super::state::ToolResult;
use crate::core::boundary::{InOut, OutText};

/// Returns a string in the way of section 15.3.3: at most `*length - 1` bytes and a null, and in `*length`
/// what the whole string needs. Null for the length: nothing is wanted; null for the text or a length of
/// zero: only the length is.
pub(super) fn put_text(text: Option<OutText<'_>>, length: Option<InOut<'_, c_int>>, value: &str) {
    let Some(length) = length else { return };
    let room = usize::try_from(length.get()).unwrap_or(0);
    if let Some(text) = text.filter(|_| room > 0) {
        text.store(value, room);
    }
    length.set(value.len() as c_int + 1);
}

/// A name given by the caller.
pub(super) fn name_of(name: Option<&CStr>) -> ToolResult<&str> {
    name.and_then(|name| name.to_str().ok()).ok_or(MPI_T_ERR_INVALID_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::boundary::Argument;
    use std::ffi::c_char;

    /// # Safety
    /// As of `Argument::from_c`.
    unsafe fn of<A: Argument>(name: &'static str, c: A::C) -> Option<A> {
        // SAFETY: by the caller.
        unsafe { A::from_c(name, c) }.ok()
    }

    fn returned(room: c_int) -> (Vec<u8>, c_int) {
        let mut text = [b'#' as c_char; 8];
        let mut length = room;
        // SAFETY: the room given is at most the array's.
        let (place, room) = unsafe { (of("name", text.as_mut_ptr()), of("name_len", &raw mut length)) };
        put_text(place, room, "cvars");
        (text.iter().map(|byte| *byte as u8).collect(), length)
    }

    #[test]
    fn the_length_is_always_the_whole_strings() {
        assert_eq!(returned(8), (b"cvars\0##".to_vec(), 6));
        assert_eq!(returned(3), (b"cv\0#####".to_vec(), 6));
        assert_eq!(returned(0), (b"########".to_vec(), 6));
    }
}
