//! Strings of C as strings of Rust: file names, arguments and hints may hold any bytes, most of which are UTF-8.
//!
//! A byte that is not part of a character becomes one itself, of the last 256 of Unicode that are for private use. One of these in the
//! text of a program stands for its bytes in the same way. So every text comes back as it was.

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// The character of byte 0.
const FIRST: u32 = 0x10_ff00;

fn escape(byte: u8) -> char {
    char::from_u32(FIRST + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn is_escape(character: char) -> bool {
    u32::from(character) >= FIRST
}

/// The text of some bytes.
pub fn from_bytes(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) if !text.contains(is_escape) => Cow::Borrowed(text),
        _ => Cow::Owned(escaped(bytes)),
    }
}

#[cold]
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match is_escape(character) {
                true => text.extend(character.encode_utf8(&mut [0; 4]).bytes().map(escape)),
                false => text.push(character),
            }
        }
        text.extend(chunk.invalid().iter().map(|byte| escape(*byte)));
    }
    text
}

/// The bytes of a text that came [from bytes](from_bytes).
pub fn to_bytes(text: &str) -> Cow<'_, [u8]> {
    if !text.contains(is_escape) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match is_escape(character) {
            true => bytes.push((u32::from(character) - FIRST) as u8),
            false => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

/// The same, for calls of the system.
pub fn to_os_string(text: &str) -> OsString {
    OsString::from_vec(to_bytes(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back() {
        let texts: [&[u8]; 7] = [
            b"",
            b"plain",
            "größe \u{10ffff}\u{10ff41} \u{10feff}".as_bytes(),
            b"na\xefve.dat",
            b"\xff\xfe\xf4\x8f\xbf",
            b"\xe2\x82 cut off \xe2",
            &(1..=255).collect::<Vec<u8>>(),
        ];
        for bytes in texts {
            let text = from_bytes(bytes);
            assert_eq!(*to_bytes(&text), *bytes, "{text:?}");
        }
        assert!(matches!(from_bytes("größe".as_bytes()), Cow::Borrowed("größe")));
        assert_ne!(from_bytes(b"\xe9"), from_bytes(b"\xe8"));
        assert_ne!(from_bytes(b"\xe9"), from_bytes("\u{10ffe9}".as_bytes()));
    }
}
