//! In front of the parser: either dash style becomes two dashes, `:` separates programs, and files with programs are read.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::cli::table::{OptionKey, OptionRow, find};
use crate::watch::exit_cause::Refusal;

/// How deep files may name files.
const FILES_MAX: usize = 16;

/// One program with its options.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ProgramArguments {
    /// What the parser gets: options with two dashes under the name it knows, `--`, the program and its arguments.
    pub words: Vec<OsString>,
    /// The options in order: the name that the parser knows, and what the user wrote without dashes.
    pub typed: Vec<(&'static str, String)>,
    /// An option that nobody knows, as it was written; nothing follows it in `words`.
    pub unknown: Option<OsString>,
    /// Whether a `:` followed.
    pub continues: bool,
}

/// Cuts a command line.
pub(crate) fn segments(words: Vec<OsString>) -> Result<Vec<ProgramArguments>, Refusal> {
    let mut cutter = Cutter { rest: words.into(), files: 0 };
    let mut segments = Vec::new();
    while segments.last().is_none_or(|last: &ProgramArguments| last.continues) {
        segments.push(cutter.segment()?);
    }
    Ok(segments)
}

struct Cutter {
    rest: VecDeque<OsString>,
    files: usize,
}

impl Cutter {
    fn segment(&mut self) -> Result<ProgramArguments, Refusal> {
        let mut segment = ProgramArguments::default();
        while let Some(word) = self.rest.pop_front() {
            if word == "--" {
                break;
            }
            if word.len() < 2 || word.as_bytes()[0] != b'-' {
                self.rest.push_front(word);
                break;
            }
            let (name, value) = split_name(&word);
            match find(&name) {
                Some(row) if row.2 == OptionKey::ConfigFile => self.read(&name, value)?,
                Some(row) => self.option(row, name, value, &mut segment),
                None => {
                    segment.words.push(format!("--{name}").into());
                    segment.unknown = Some(word);
                    return Ok(segment);
                }
            }
        }
        self.program(&mut segment);
        Ok(segment)
    }

    /// An option with as many values as it has. Only the parser says whether they suffice.
    fn option(
        &mut self,
        row: &OptionRow,
        name: String,
        value: Option<OsString>,
        segment: &mut ProgramArguments,
    ) {
        let dashes = if row.id().len() == 1 { "-" } else { "--" };
        let long = format!("{dashes}{}", row.id());
        segment.typed.push((row.id(), name));
        match (value, row.1.len()) {
            (Some(value), 0) => {
                let joined = [long.as_bytes(), b"=", value.as_bytes()].concat();
                segment.words.push(OsString::from_vec(joined));
            }
            (value, 2) if takes_pair(row, value.as_ref().or_else(|| self.rest.front())) => {
                let pair = value.or_else(|| self.rest.pop_front()).unwrap_or_default();
                let parts = pair.as_bytes().splitn(2, |&byte| byte == b'=');
                segment.words.push(long.into());
                segment.words.extend(parts.map(|part| OsString::from_vec(part.to_vec())));
            }
            (value, count) => {
                let more = count - usize::from(value.is_some());
                segment.words.push(long.into());
                segment.words.extend(value);
                segment.words.extend(self.rest.drain(..more.min(self.rest.len())));
            }
        }
    }

    fn program(&mut self, segment: &mut ProgramArguments) {
        if self.rest.is_empty() {
            return;
        }
        segment.words.push("--".into());
        while let Some(word) = self.rest.pop_front() {
            if word == ":" {
                segment.continues = true;
                return;
            }
            segment.words.push(word);
        }
    }

    /// The programs of a file take the place of the option.
    fn read(&mut self, option: &str, value: Option<OsString>) -> Result<(), Refusal> {
        let Some(path) = value.or_else(|| self.rest.pop_front()) else {
            return Err(Refusal::usage(format!("option --{option} needs a value")));
        };
        self.files += 1;
        if self.files > FILES_MAX {
            return Err(Refusal::usage(format!(
                "option --{option}: more than {FILES_MAX} files name each other"
            )));
        }
        let path = path.to_string_lossy();
        let refuse = |why: String| Refusal::usage(format!("option --{option}: '{path}' {why}"));
        let text =
            std::fs::read_to_string(&*path).map_err(|error| refuse(format!("cannot be read: {error}")))?;
        let words = words_of(&text).map_err(|line| refuse(format!("has an open quote in '{line}'")))?;
        if words.is_empty() {
            return Err(refuse("names no program".into()));
        }
        if self.rest.front().is_some_and(|word| word != ":") {
            self.rest.push_front(":".into());
        }
        words.into_iter().rev().for_each(|word| self.rest.push_front(word.into()));
        Ok(())
    }
}

/// Whether the value of an option that sets a variable is `NAME=VALUE`, as MPICH's `mpiexec` also takes it.
fn takes_pair(row: &OptionRow, value: Option<&OsString>) -> bool {
    matches!(row.2, OptionKey::Env | OptionKey::GlobalEnv)
        && value.is_some_and(|value| value.as_bytes().contains(&b'='))
}

/// The words of a file's lines, with `:` between lines. `#` begins a comment, `\` at the end of a line joins it to the next.
fn words_of(text: &str) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = Vec::new();
    for line in text.replace("\r\n", "\n").replace("\\\n", " ").lines() {
        let more = shlex::split(line).ok_or_else(|| line.trim().to_owned())?;
        if !words.is_empty() && !more.is_empty() && words.last().is_some_and(|last| last != ":") {
            words.push(":".into());
        }
        words.extend(more);
    }
    if words.last().is_some_and(|last| last == ":") {
        words.pop();
    }
    Ok(words)
}

/// Splits `--name=value`; a name is not text only if it is unknown anyway.
fn split_name(word: &OsStr) -> (String, Option<OsString>) {
    let bytes = word.as_bytes();
    let bytes = bytes.strip_prefix(b"--").unwrap_or(&bytes[1..]);
    let (name, value) = match bytes.iter().position(|&byte| byte == b'=') {
        Some(at) => (&bytes[..at], Some(OsString::from_vec(bytes[at + 1..].to_vec()))),
        None => (bytes, None),
    };
    (String::from_utf8_lossy(name).into_owned(), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(line: &str) -> Vec<String> {
        let segments = segments(line.split_whitespace().map(OsString::from).collect()).unwrap();
        let joined =
            |segment: ProgramArguments| segment.words.join(OsStr::new(" ")).to_string_lossy().into_owned();
        segments.into_iter().map(joined).collect()
    }

    #[test]
    fn one_dash_becomes_two() {
        assert_eq!(cut("-n 4 -tag-output a -n 3"), ["--np 4 --tag-output -- a -n 3"]);
        assert_eq!(cut("--genv=A 1 -hosts x a"), ["--genv A 1 --host x -- a"]);
        assert_eq!(cut("-genv A=1=2 -env B=2 a"), ["--genv A 1=2 --env B 2 -- a"]);
        assert_eq!(cut("-l=1 a"), ["--tag-output=1 -- a"]);
        assert_eq!(cut("-n 2 -- -odd"), ["--np 2 -- -odd"]);
    }

    #[test]
    fn programs_are_separated() {
        assert_eq!(cut("a x : -n 3 b"), ["-- a x", "--np 3 -- b"]);
        assert_eq!(cut("a :"), ["-- a", ""]);
        assert_eq!(cut("-path : a"), ["--path : -- a"]);
    }

    #[test]
    fn lines_of_a_file_are_programs() {
        let words = words_of("# first\n-n 1 'a b' \\\n  x\n\n-n 2 c # last\n").unwrap();
        assert_eq!(words, ["-n", "1", "a b", "x", ":", "-n", "2", "c"]);
        assert_eq!(words_of("-n 1 \\\r\n a\r\nb\r\n").unwrap(), ["-n", "1", "a", ":", "b"]);
        assert_eq!(words_of("a :\nb\n").unwrap(), ["a", ":", "b"]);
        assert_eq!(words_of("ok\n'open\n").unwrap_err(), "'open");
    }
}
