//! The job descriptor: the one environment variable through which `mpirun` tells a process which rank it is.
//!
//! ```text
//! TERN_JOB=3 rank=3 size=8 app=0 universe=8 cores=2 bound=0 local=8 hosts=1 launcher=4242 segment=100/51 status=101/52
//!     control=102/53 answers=103/54 lifeline=104/55
//! ```
//!
//! The fields come in this order, each exactly once. A descriptor is written as its number and its
//! inode: the number alone may since have been closed or taken by something else.

use std::ffi::OsStr;
use std::fmt;

use crate::limits::{DESCRIPTOR_BYTES_MAX, RANKS_MAX};

/// Name of the environment variable that carries the job descriptor.
pub const DESCRIPTOR_VARIABLE: &str = "TERN_JOB";

const VERSION: &str = "3";

/// What a rank is told by its launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobDescriptor {
    /// Rank in the job's world.
    pub rank: u32,
    /// Number of ranks.
    pub size: u32,
    /// Which of the programs of the command line this is (`MPI_APPNUM`).
    pub app: u32,
    /// `MPI_UNIVERSE_SIZE`.
    pub universe: u32,
    /// Cores that the job may use on this host.
    pub cores: u32,
    /// Whether the launcher bound this rank to some of those cores.
    pub bound: bool,
    /// Ranks on this host.
    pub local: u32,
    /// Hosts of the job.
    pub hosts: u32,
    /// Process id of the launcher on this host.
    pub launcher: u32,
    /// The memory file that the ranks share.
    pub segment: FdName,
    /// The memory file in which the ranks say where they stand.
    pub status_page: FdName,
    /// The writing end of the pipe to the launcher.
    pub control: FdName,
    /// The reading end of the pipe for answers to this rank.
    pub answers: FdName,
    /// The reading end of a pipe that says nothing: it ends when the launcher does.
    pub lifeline: FdName,
}

/// A descriptor that was handed down, and how to recognize it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FdName {
    /// Its number in the launcher and, unless something closed it, in this process.
    pub number: i32,
    /// Its inode.
    pub inode: u64,
}

/// Why a job descriptor was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DescriptorError {
    /// Not text, or far too long.
    #[error("it is not text of at most {DESCRIPTOR_BYTES_MAX} bytes")]
    NotText,
    /// Written by another version of Tern.
    #[error(
        "it has format '{0}' and this library reads format '{VERSION}': mpirun and the library come from different versions of Tern"
    )]
    Version(String),
    /// A field is absent or out of order.
    #[error("the field '{0}' is missing")]
    Missing(&'static str),
    /// A field's value makes no sense.
    #[error("the field '{field}' has the impossible value '{value}'")]
    Impossible {
        /// Name of the field.
        field: &'static str,
        /// What stood there.
        value: String,
    },
    /// Something follows the last field.
    #[error("'{0}' follows the last field")]
    Surplus(String),
}

impl JobDescriptor {
    /// Parses the value of `TERN_JOB`, trusting nothing in it.
    pub fn parse(text: &OsStr) -> Result<JobDescriptor, DescriptorError> {
        let text = text
            .to_str()
            .filter(|text| text.len() <= DESCRIPTOR_BYTES_MAX)
            .ok_or(DescriptorError::NotText)?;
        let mut fields = Fields { words: text.split(' ') };
        fields.version()?;
        let rank = fields.number("rank", 0, RANKS_MAX - 1)?;
        let size = fields.number("size", rank + 1, RANKS_MAX)?;
        let descriptor = JobDescriptor {
            rank,
            size,
            app: fields.number("app", 0, RANKS_MAX)?,
            universe: fields.number("universe", size, u32::MAX)?,
            cores: fields.number("cores", 1, u32::MAX)?,
            bound: fields.number("bound", 0, 1)? == 1,
            local: fields.number("local", 1, size)?,
            hosts: fields.number("hosts", 1, size)?,
            launcher: fields.number("launcher", 1, i32::MAX as u32)?,
            segment: fields.descriptor("segment")?,
            status_page: fields.descriptor("status")?,
            control: fields.descriptor("control")?,
            answers: fields.descriptor("answers")?,
            lifeline: fields.descriptor("lifeline")?,
        };
        fields.end()?;
        Ok(descriptor)
    }
}

impl fmt::Display for JobDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JobDescriptor { rank, size, app, universe, cores, local, hosts, launcher, .. } = self;
        let JobDescriptor { segment, status_page, control, answers, lifeline, .. } = self;
        let bound = u8::from(self.bound);
        write!(
            f,
            "{VERSION} rank={rank} size={size} app={app} universe={universe} cores={cores} bound={bound}"
        )?;
        write!(f, " local={local} hosts={hosts} launcher={launcher}")?;
        write!(f, " segment={segment} status={status_page} control={control} answers={answers}")?;
        write!(f, " lifeline={lifeline}")
    }
}

impl fmt::Display for FdName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.inode)
    }
}

/// The words of a job descriptor, taken one at a time.
struct Fields<'a> {
    words: std::str::Split<'a, char>,
}

impl<'a> Fields<'a> {
    fn version(&mut self) -> Result<(), DescriptorError> {
        match self.words.next() {
            Some(VERSION) => Ok(()),
            other => Err(DescriptorError::Version(other.unwrap_or_default().into())),
        }
    }

    fn value(&mut self, field: &'static str) -> Result<&'a str, DescriptorError> {
        let word = self.words.next().ok_or(DescriptorError::Missing(field))?;
        word.strip_prefix(field)
            .and_then(|rest| rest.strip_prefix('='))
            .ok_or(DescriptorError::Missing(field))
    }

    fn number(&mut self, field: &'static str, least: u32, most: u32) -> Result<u32, DescriptorError> {
        let value = self.value(field)?;
        digits(value)
            .filter(|number| (u64::from(least)..=u64::from(most)).contains(number))
            .map(|number| number as u32)
            .ok_or_else(|| DescriptorError::Impossible { field, value: value.into() })
    }

    fn descriptor(&mut self, field: &'static str) -> Result<FdName, DescriptorError> {
        let value = self.value(field)?;
        parse_descriptor(value).ok_or_else(|| DescriptorError::Impossible { field, value: value.into() })
    }

    fn end(&mut self) -> Result<(), DescriptorError> {
        match self.words.next() {
            None => Ok(()),
            Some(word) => Err(DescriptorError::Surplus(word.into())),
        }
    }
}

/// Numbers 0 to 2 belong to the program, so no launcher hands them down.
fn parse_descriptor(value: &str) -> Option<FdName> {
    let (number, inode) = value.split_once('/')?;
    let number = digits(number).filter(|number| (3..=i32::MAX as u64).contains(number))? as i32;
    Some(FdName { number, inode: digits(inode)? })
}

/// Plain decimal digits only: `u64::from_str` alone would take a sign as well.
fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> JobDescriptor {
        let fd = |number, inode| FdName { number, inode };
        JobDescriptor {
            rank: 3,
            size: 8,
            app: 1,
            universe: 8,
            cores: 2,
            bound: true,
            local: 4,
            hosts: 2,
            launcher: 4242,
            segment: fd(100, 51),
            status_page: fd(101, 52),
            control: fd(102, 53),
            answers: fd(103, 54),
            lifeline: fd(104, u64::MAX),
        }
    }

    fn parse(text: &str) -> Result<JobDescriptor, DescriptorError> {
        JobDescriptor::parse(OsStr::new(text))
    }

    #[test]
    fn what_is_written_is_read_back() {
        assert_eq!(parse(&sample().to_string()), Ok(sample()));
    }

    #[test]
    fn every_damaged_byte_is_refused_or_changes_one_value() {
        let good = sample().to_string();
        for cut in 0..good.len() {
            let parsed = parse(&good[..cut]);
            // Only a cut inside the last number can still be a job descriptor.
            assert!(parsed.is_err() || cut > good.rfind('/').unwrap() + 1, "{cut}: {parsed:?}");
        }
    }

    #[test]
    fn hostile_values_are_named() {
        let impossible = |from: &str, to: &str| {
            let text = sample().to_string().replace(from, to);
            match parse(&text) {
                Err(DescriptorError::Impossible { field, .. }) => field,
                other => panic!("{text}: {other:?}"),
            }
        };
        assert_eq!(impossible("rank=3", "rank=8"), "size");
        assert_eq!(impossible("rank=3", "rank=-1"), "rank");
        assert_eq!(impossible("rank=3", "rank=+3"), "rank");
        assert_eq!(impossible("rank=3", "rank="), "rank");
        assert_eq!(impossible("size=8", "size=99999999999999999999999"), "size");
        assert_eq!(impossible("universe=8", "universe=7"), "universe");
        assert_eq!(impossible("cores=2", "cores=0"), "cores");
        assert_eq!(impossible("bound=1", "bound=2"), "bound");
        assert_eq!(impossible("local=4", "local=9"), "local");
        assert_eq!(impossible("hosts=2", "hosts=0"), "hosts");
        assert_eq!(impossible("segment=100/51", "segment=2/51"), "segment");
        assert_eq!(impossible("status=101/52", "status=101"), "status");
        assert_eq!(impossible("status=101/52", "status=99999999999/52"), "status");
    }

    #[test]
    fn foreign_text_is_refused() {
        assert_eq!(parse(""), Err(DescriptorError::Version(String::new())));
        assert_eq!(parse("1 rank=0"), Err(DescriptorError::Version("1".into())));
        assert_eq!(parse("3 size=3"), Err(DescriptorError::Missing("rank")));
        assert_eq!(parse(&"1".repeat(600)), Err(DescriptorError::NotText));
        assert_eq!(parse(&format!("{} x", sample())), Err(DescriptorError::Surplus("x".into())));
    }
}
