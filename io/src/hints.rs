//! Hints (MPI 5.0 section 14.2.8): the reserved ones, and those that users of ROMIO know. Each does what it says.

use crate::limits::*;
use std::ffi::c_int;
use std::fmt;

/// Whether something is done: always, never, or where it is better.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Switch {
    /// Always.
    Enable,
    /// Never.
    Disable,
    /// Where it is better.
    #[default]
    Automatic,
}

impl Switch {
    /// The words of a hint's value, and of settings.
    pub const WORDS: [&'static str; 3] = ["enable", "disable", "automatic"];
    const ALL: [Switch; 3] = [Switch::Enable, Switch::Disable, Switch::Automatic];

    /// The switch of a word.
    pub fn parse(word: &str) -> Option<Switch> {
        let at = Switch::WORDS.iter().position(|known| known.eq_ignore_ascii_case(word))?;
        Some(Switch::ALL[at])
    }

    /// The word of the switch.
    pub fn word(self) -> &'static str {
        Switch::WORDS[self as usize]
    }
}

/// What the hints of a file say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hints {
    /// `cb_buffer_size`: bytes of an aggregator's buffer.
    pub cb_buffer_size: u64,
    /// `cb_nodes`: how many ranks aggregate.
    pub cb_nodes: Option<u64>,
    /// `cb_block_size`: what file ranges of aggregators are aligned to.
    pub cb_block_size: Option<u64>,
    /// `romio_cb_read`, and `collective_buffering` for both.
    pub cb_read: Switch,
    /// `romio_cb_write`.
    pub cb_write: Switch,
    /// `romio_ds_read`: sieving.
    pub ds_read: Switch,
    /// `romio_ds_write`.
    pub ds_write: Switch,
    /// `ind_rd_buffer_size`: bytes of a block that is sieved.
    pub ind_rd_buffer_size: u64,
    /// `ind_wr_buffer_size`.
    pub ind_wr_buffer_size: u64,
    /// `striping_unit`: bytes that a parallel file system puts on one server.
    pub striping_unit: Option<u64>,
    /// `file_perm`: the mode of a file that is made.
    pub file_perm: Option<u32>,
    /// `access_style`, as it was given.
    pub access_style: Option<String>,
}

impl Default for Hints {
    fn default() -> Self {
        Hints {
            cb_buffer_size: CB_BUFFER_BYTES,
            cb_nodes: None,
            cb_block_size: None,
            cb_read: Switch::Automatic,
            cb_write: Switch::Automatic,
            ds_read: Switch::Automatic,
            ds_write: Switch::Automatic,
            ind_rd_buffer_size: SIEVE_READ_BYTES,
            ind_wr_buffer_size: SIEVE_WRITE_BYTES,
            striping_unit: None,
            file_perm: None,
            access_style: None,
        }
    }
}

/// A hint that changes nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IgnoredHint {
    /// The hint.
    pub key: String,
    /// What it was given.
    pub value: String,
    /// Why it is ignored.
    pub why: IgnoredWhy,
}

/// Why a hint is ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IgnoredWhy {
    /// It has a value that it cannot have; what it could have.
    Wrong(&'static str),
    /// It is a hint of the standard's or of ROMIO's that Tern has no use for; why.
    NoUse(&'static str),
    /// It was settled when the file was opened.
    Settled,
    /// There is no such hint.
    Unknown,
}

impl fmt::Display for IgnoredHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hint {}='{}' is ignored: ", self.key, self.value)?;
        match self.why {
            IgnoredWhy::Wrong(wanted) => write!(f, "it must be {wanted}"),
            IgnoredWhy::NoUse(why) => f.write_str(why),
            IgnoredWhy::Settled => f.write_str("it was settled when the file was opened"),
            IgnoredWhy::Unknown => f.write_str("no hint of this name is known"),
        }
    }
}

const NO_DEVICES: &str = "Tern has no I/O nodes; cb_nodes says how many ranks aggregate";
const NO_CHUNKS: &str = "files are not stored as arrays of chunks";
const NO_CHOICE: &str = "Tern's plans have no such choice";
const BY_ALL: &str = "all ranks open the file";
const BY_CACHE: &str = "accesses go through the page cache";

/// The hints of the standard and of ROMIO that change nothing, and why.
pub const UNUSED: [(&str, &str); 19] = [
    ("filename", "it is told by MPI_File_get_info alone"),
    ("io_node_list", NO_DEVICES),
    ("num_io_nodes", NO_DEVICES),
    ("nb_proc", "nothing depends on how many processes use a file"),
    (
        "striping_factor",
        "over how many servers a file is spread is said to the file system, as by lfs setstripe",
    ),
    ("chunked", NO_CHUNKS),
    ("chunked_item", NO_CHUNKS),
    ("chunked_size", NO_CHUNKS),
    ("cb_config_list", "aggregators are spread over all hosts; cb_nodes says how many"),
    ("romio_filesystem_type", "the file system is recognized"),
    ("romio_no_indep_rw", BY_ALL),
    ("deferred_open", BY_ALL),
    ("direct_read", BY_CACHE),
    ("direct_write", BY_CACHE),
    ("romio_cb_pfr", NO_CHOICE),
    ("romio_cb_fr_types", NO_CHOICE),
    ("romio_cb_fr_alignment", NO_CHOICE),
    ("romio_cb_ds_threshold", NO_CHOICE),
    ("romio_cb_alltoall", NO_CHOICE),
];

/// What is settled when a file is opened.
pub const SETTLED: [&str; 5] = ["cb_buffer_size", "cb_nodes", "cb_block_size", "striping_unit", "file_perm"];

const ACCESS_STYLES: [&str; 7] =
    ["read_once", "write_once", "read_mostly", "write_mostly", "sequential", "reverse_sequential", "random"];

impl Hints {
    /// Takes a hint, or says why it changes nothing.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), IgnoredHint> {
        let value = value.trim();
        let ignored = |why| IgnoredHint { key: key.to_owned(), value: value.to_owned(), why };
        let bad = |wanted| ignored(IgnoredWhy::Wrong(wanted));
        let number = || value.parse::<u64>().ok().filter(|n| *n > 0).ok_or_else(|| bad("a number above 0"));
        let switch = || Switch::parse(value).ok_or_else(|| bad("enable, disable or automatic"));
        match key {
            "cb_buffer_size" => {
                self.cb_buffer_size = number()?.clamp(CB_BUFFER_BYTES_MIN, CB_BUFFER_BYTES_MAX)
            }
            "cb_nodes" => self.cb_nodes = Some(number()?),
            "cb_block_size" => self.cb_block_size = Some(number()?),
            "collective_buffering" => {
                let on = match value {
                    "true" => Switch::Enable,
                    "false" => Switch::Disable,
                    _ => return Err(bad("true or false")),
                };
                (self.cb_read, self.cb_write) = (on, on);
            }
            "romio_cb_read" => self.cb_read = switch()?,
            "romio_cb_write" => self.cb_write = switch()?,
            "romio_ds_read" => self.ds_read = switch()?,
            "romio_ds_write" => self.ds_write = switch()?,
            "ind_rd_buffer_size" => self.ind_rd_buffer_size = number()?,
            "ind_wr_buffer_size" => self.ind_wr_buffer_size = number()?,
            "striping_unit" => self.striping_unit = Some(number()?),
            "file_perm" => {
                let mode = u32::from_str_radix(value, 8).ok().filter(|mode| *mode <= 0o7777);
                self.file_perm = Some(mode.ok_or_else(|| bad("an octal mode, as in 0640"))?);
            }
            "access_style" => {
                let known = |style: &str| ACCESS_STYLES.contains(&style.trim());
                if !value.split(',').all(known) {
                    return Err(bad("a list of the standard's styles"));
                }
                self.access_style = Some(value.to_owned());
            }
            _ => {
                let unused = UNUSED.iter().find(|(known, _)| *known == key);
                return Err(ignored(unused.map_or(IgnoredWhy::Unknown, |(_, why)| IgnoredWhy::NoUse(why))));
            }
        }
        Ok(())
    }

    /// What `access_style` means for the system's reading ahead and keeping, as advice of `posix_fadvise`.
    pub fn advice(&self) -> Vec<c_int> {
        let styles: Vec<&str> =
            self.access_style.iter().flat_map(|all| all.split(',')).map(str::trim).collect();
        let meant = |styles_of: &[&str]| styles.iter().any(|style| styles_of.contains(style));
        let all = [
            (libc::POSIX_FADV_SEQUENTIAL, meant(&["sequential"])),
            // What lies behind is not read next.
            (libc::POSIX_FADV_RANDOM, meant(&["random", "reverse_sequential"])),
            (libc::POSIX_FADV_NOREUSE, meant(&["read_once"])),
        ];
        all.into_iter().filter_map(|(advice, is_meant)| is_meant.then_some(advice)).collect()
    }

    /// What is in use, by names and values.
    pub fn listed(&self) -> Vec<(&'static str, String)> {
        let both = (self.cb_read != Switch::Disable || self.cb_write != Switch::Disable).to_string();
        let mut all = vec![
            ("cb_buffer_size", self.cb_buffer_size.to_string()),
            ("collective_buffering", both),
            ("romio_cb_read", self.cb_read.word().to_owned()),
            ("romio_cb_write", self.cb_write.word().to_owned()),
            ("romio_ds_read", self.ds_read.word().to_owned()),
            ("romio_ds_write", self.ds_write.word().to_owned()),
            ("ind_rd_buffer_size", self.ind_rd_buffer_size.to_string()),
            ("ind_wr_buffer_size", self.ind_wr_buffer_size.to_string()),
        ];
        let given = [
            ("cb_nodes", self.cb_nodes),
            ("cb_block_size", self.cb_block_size),
            ("striping_unit", self.striping_unit),
        ];
        all.extend(given.into_iter().filter_map(|(key, value)| Some((key, value?.to_string()))));
        all.extend(self.file_perm.map(|mode| ("file_perm", format!("{mode:04o}"))));
        all.extend(self.access_style.clone().map(|style| ("access_style", style)));
        all
    }

    /// What must be the same at all ranks: they would make different plans, or write what others read and write back, without a lock.
    pub fn shared(&self) -> [u64; 5] {
        let sieves = u64::from(self.ds_write == Switch::Enable);
        let switches = self.cb_read as u64 | (self.cb_write as u64) << 8 | sieves << 16;
        let unset = |value: Option<u64>| value.unwrap_or(0);
        [
            self.cb_buffer_size,
            unset(self.cb_nodes),
            unset(self.cb_block_size),
            unset(self.striping_unit),
            switches,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_taken_and_listed() {
        let mut hints = Hints::default();
        for (key, value) in [
            ("cb_buffer_size", "1048576"),
            ("cb_nodes", "3"),
            ("romio_cb_write", "ENABLE"),
            ("romio_ds_read", "disable"),
            ("file_perm", "0640"),
            ("striping_unit", "65536"),
            ("access_style", "read_mostly, sequential,read_once"),
        ] {
            hints.set(key, value).unwrap();
        }
        let listed = hints.listed();
        let value = |key| listed.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str());
        assert_eq!((value("cb_buffer_size"), value("cb_nodes")), (Some("1048576"), Some("3")));
        assert_eq!((value("romio_cb_write"), value("romio_ds_read")), (Some("enable"), Some("disable")));
        assert_eq!((value("file_perm"), value("striping_factor")), (Some("0640"), None));
        assert_eq!(hints.advice(), [libc::POSIX_FADV_SEQUENTIAL, libc::POSIX_FADV_NOREUSE]);
        for (key, value) in &listed {
            let mut again = hints.clone();
            again.set(key, value).unwrap();
        }
    }

    #[test]
    fn ranks_agree_about_locks() {
        let (mut hints, others) = (Hints::default(), Hints::default());
        hints.set("romio_ds_write", "disable").unwrap();
        assert_eq!(hints.shared(), others.shared(), "it never sieves unless it is asked to");
        hints.set("romio_ds_write", "enable").unwrap();
        assert_ne!(hints.shared(), others.shared());
    }

    #[test]
    fn a_value_that_makes_no_sense_is_refused() {
        let mut hints = Hints::default();
        for (key, value) in
            [("cb_nodes", "0"), ("romio_cb_read", "maybe"), ("file_perm", "9"), ("access_style", "wild")]
        {
            let ignored = hints.set(key, value).unwrap_err();
            assert!(ignored.key == key && matches!(ignored.why, IgnoredWhy::Wrong(_)));
        }
        for (key, why) in UNUSED {
            let said = hints.set(key, "1").unwrap_err().to_string();
            assert_eq!(said, format!("hint {key}='1' is ignored: {why}"));
        }
        assert_eq!(hints.set("something_else", "x").unwrap_err().why, IgnoredWhy::Unknown);
        assert_eq!(hints, Hints::default());
        hints.set("cb_buffer_size", "1").unwrap();
        assert_eq!(hints.cb_buffer_size, CB_BUFFER_BYTES_MIN);
    }
}
