//! Words of a command line: splitting a variable's value, and quoting for a shell.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Splits at blanks; a compiler's path with blanks in it must be given by a link without.
pub(crate) fn split(value: &OsStr) -> Vec<OsString> {
    value
        .as_bytes()
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .map(|word| OsStr::from_bytes(word).to_os_string())
        .collect()
}

/// Flags that a path follows, or a list in which there is one.
const PATH_FLAGS: [&str; 3] = ["-I", "-L", "-Wl,"];

/// One line that a shell reads back as the same words.
pub(crate) fn quote(words: &[OsString]) -> String {
    words.iter().map(|word| quote_word(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

fn quote_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+,./:@%^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    // CMake's FindMPI reads a path with blanks only in double quotes behind its flag.
    let flag = PATH_FLAGS.iter().find(|flag| word.starts_with(**flag));
    if let Some(flag) = flag.filter(|_| word.chars().all(|c| plain(c) || c == ' ')) {
        return format!("{flag}\"{}\"", &word[flag.len()..]);
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_split() {
        assert_eq!(split(OsStr::new("  ccache  gcc ")), ["ccache", "gcc"]);
        assert!(split(OsStr::new(" ")).is_empty());
    }

    #[test]
    fn what_a_shell_would_change_is_quoted() {
        assert_eq!(
            quote(&["-DX=1".into(), "a b".into(), "it's".into(), "".into()]),
            r"-DX=1 'a b' 'it'\''s' ''"
        );
        assert_eq!(quote(&["-I/a b".into(), "-Wl,-rpath,/a b".into()]), r#"-I"/a b" -Wl,"-rpath,/a b""#);
    }
}
