//! Files into which the output of each rank is written, and the form of lines.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::watch::exit_cause::Refusal;

/// So many files stay open; with more, they are opened again where something is written.
const OPEN_MAX: usize = 64;

/// What the options say about the output of ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Style {
    /// Prefix each line with its rank.
    pub tag: bool,
    /// Prefix each line with the time.
    pub timestamp: bool,
    /// The standard error goes to the standard output.
    pub merge: bool,
    /// Files for the standard output and the standard error.
    pub files: [Option<FileNamePattern>; 2],
}

impl Style {
    /// `DIR` or `DIR:nocopy`: the folders of Open MPI, which a script may look into.
    pub(crate) fn set_folder(&mut self, value: &str) {
        let (folder, copies) = split_copies(value);
        self.files = ["stdout", "stderr"].map(|stream| {
            Some(FileNamePattern::new(&format!("{}/1/rank.%R/{stream}", escape(folder)), copies))
        });
    }

    /// `NAME` or `NAME:nocopy`: both streams go to `NAME.1.RANK`.
    pub(crate) fn set_file(&mut self, value: &str) {
        let (name, copies) = split_copies(value);
        let pattern = FileNamePattern::new(&format!("{}.1.%R", escape(name)), copies);
        self.files = [Some(pattern.clone()), Some(pattern)];
    }
}

fn split_copies(value: &str) -> (&str, bool) {
    value.strip_suffix(":nocopy").map_or((value.trim_end_matches(":copy"), true), |name| (name, false))
}

fn escape(path: &str) -> String {
    path.replace('%', "%%")
}

/// The name of a file with places for the rank and its host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FileNamePattern {
    text: String,
    /// Whether what is written there goes to `mpirun`'s own output, too.
    pub copies: bool,
}

impl FileNamePattern {
    fn new(text: &str, copies: bool) -> FileNamePattern {
        FileNamePattern { text: text.into(), copies }
    }

    /// Reads the value of `-outfile-pattern` or `-errfile-pattern`.
    pub(crate) fn parse(option: &str, text: &str) -> Result<FileNamePattern, Refusal> {
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            if letter == '%' && !letters.next().is_some_and(|next| "rgph%".contains(next)) {
                return Err(Refusal::usage(format!(
                    "option --{option}: in '{text}' each '%' must be one of %r (rank), %h (host), %p (its number), %g (0), %%"
                )));
            }
        }
        match text {
            "" => Err(Refusal::usage(format!("option --{option} needs the name of a file"))),
            _ => Ok(FileNamePattern::new(text, false)),
        }
    }

    /// The file of a rank.
    fn path(&self, of: &Writer) -> PathBuf {
        let mut path = String::new();
        let mut letters = self.text.chars();
        while let Some(letter) = letters.next() {
            match (letter, if letter == '%' { letters.next() } else { None }) {
                ('%', Some('r')) => path += &of.rank.to_string(),
                // As many digits as the last rank has, so that names sort as ranks do.
                ('%', Some('R')) => path += &format!("{:0width$}", of.rank, width = of.digits),
                ('%', Some('g')) => path.push('0'),
                ('%', Some('p')) => path += &of.host.to_string(),
                ('%', Some('h')) => path += of.host_name,
                _ => path.push(letter),
            }
        }
        path.into()
    }
}

/// The rank that writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer<'a> {
    /// Its number.
    pub rank: u32,
    /// Digits of the largest number.
    pub digits: usize,
    /// The number of its host.
    pub host: u32,
    /// The host's name.
    pub host_name: &'a str,
}

/// The files.
#[derive(Debug, Default)]
pub(crate) struct OutputFiles {
    open: HashMap<PathBuf, File>,
    /// Files of this job: what another job wrote there before goes away.
    begun: HashSet<PathBuf>,
}

impl OutputFiles {
    /// Makes the file of a rank, which may say nothing, and empties one of another job. An error names the file.
    pub(crate) fn begin(
        &mut self,
        pattern: &FileNamePattern,
        of: &Writer,
    ) -> Result<(), (PathBuf, io::Error)> {
        let path = pattern.path(of);
        self.file(&path).map(drop).map_err(|error| (path.clone(), error))?;
        // Until the ranks run, their descriptors come first. Who reads a FIFO would take a closed one for the end.
        self.open.retain(|_, file| file.metadata().is_ok_and(|about| !about.is_file()));
        Ok(())
    }

    /// Writes what a rank says. An error names the file.
    pub(crate) fn write(
        &mut self,
        pattern: &FileNamePattern,
        of: &Writer,
        bytes: &[u8],
    ) -> Result<(), (PathBuf, io::Error)> {
        let path = pattern.path(of);
        let result = self.file(&path).and_then(|mut file| file.write_all(bytes));
        result.map_err(|error| (path, error))
    }

    fn file(&mut self, path: &Path) -> io::Result<&File> {
        if !self.open.contains_key(path) {
            if self.open.len() >= OPEN_MAX {
                self.open.clear();
            }
            let first = self.begun.insert(path.to_owned());
            if let (true, Some(folder)) = (first, path.parent()) {
                fs::create_dir_all(folder)?;
            }
            self.open.insert(path.to_owned(), open(path, first)?);
        }
        Ok(&self.open[path])
    }
}

/// Opens a file, at its end unless it is `new`. It does not wait for somebody to read a FIFO, which may never happen.
fn open(path: &Path, new: bool) -> io::Result<File> {
    let nonblocking = OFlags::NONBLOCK.bits() as i32;
    let opened = OpenOptions::new()
        .create(true)
        .append(!new)
        .write(true)
        .truncate(new)
        .custom_flags(nonblocking)
        .open(path)
        .map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::NXIO) => io::Error::other("no process reads this FIFO"),
            _ => error,
        })?;
    fcntl_setfl(&opened, fcntl_getfl(&opened)? - OFlags::NONBLOCK)?;
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(pattern: &str) -> String {
        let of = Writer { rank: 7, digits: 2, host: 1, host_name: "b" };
        FileNamePattern::new(pattern, false).path(&of).to_string_lossy().into_owned()
    }

    #[test]
    fn names_have_the_rank_and_its_host() {
        assert_eq!(named("out-%r-%h-%p-%g-100%%"), "out-7-b-1-0-100%");
        assert_eq!(named("x/1/rank.%R/stdout"), "x/1/rank.07/stdout");
        assert!(FileNamePattern::parse("outfile-pattern", "a%x").unwrap_err().to_string().contains("'a%x'"));
        assert!(
            FileNamePattern::parse("outfile-pattern", "a%").is_err()
                && FileNamePattern::parse("o", "").is_err()
        );
    }

    #[test]
    fn a_folder_may_be_all_that_gets_the_output() {
        let mut style = Style::default();
        style.set_folder("/tmp/100%:nocopy");
        let [Some(out), Some(error)] = style.files else { panic!("two files") };
        assert!(!out.copies && error.text == "/tmp/100%%/1/rank.%R/stderr");
    }

    #[test]
    fn more_files_than_stay_open_lose_nothing() {
        let folder = std::env::temp_dir().join(format!("tern-files-{}", std::process::id()));
        let pattern = FileNamePattern::new(&format!("{}/%r", folder.display()), false);
        let mut files = OutputFiles::default();
        for turn in ["a", "b"] {
            for rank in 0..OPEN_MAX as u32 + 3 {
                let of = Writer { rank, digits: 2, host: 0, host_name: "a" };
                files.write(&pattern, &of, turn.as_bytes()).unwrap();
            }
        }
        assert_eq!(fs::read_to_string(folder.join("1")).unwrap(), "ab");
        let of = Writer { rank: 1, digits: 2, host: 0, host_name: "a" };
        OutputFiles::default().begin(&pattern, &of).unwrap();
        assert_eq!(fs::read_to_string(folder.join("1")).unwrap(), "", "of another job");
        fs::remove_dir_all(folder).unwrap();
    }
}
