//! Hints (MPI 5.0 section 14.2.8): the reserved ones, and those that users of ROMIO know. Each does what it says.

use crate::limits::*;
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
    /// `striping_factor`: over how many servers.
    pub striping_factor: Option<u64>,
    /// `file_perm`: the mode of a file that is made.
    pub file_perm: Option<u32>,
    /// `access_style`, as it was given.
    pub access_style: Option<String>,
    /// `nb_proc`, as it was given.
    pub nb_proc: Option<u64>,
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
            striping_factor: None,
            file_perm: None,
            access_style: None,
            nb_proc: None,
        }
    }
}

/// A value that a hint cannot have; such a hint is ignored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadHint {
    /// The hint.
    pub key: String,
    /// What it was given.
    pub value: String,
    /// What it could have.
    pub wanted: &'static str,
}

impl fmt::Display for BadHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hint {} is '{}', but must be {}; it is ignored", self.key, self.value, self.wanted)
    }
}

const ACCESS_STYLES: [&str; 7] =
    ["read_once", "write_once", "read_mostly", "write_mostly", "sequential", "reverse_sequential", "random"];

impl Hints {
    /// Takes a hint. Unknown ones change nothing, as the standard says.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), BadHint> {
        let value = value.trim();
        let bad = |wanted| BadHint { key: key.to_owned(), value: value.to_owned(), wanted };
        let number = || value.parse::<u64>().ok().filter(|n| *n > 0).ok_or_else(|| bad("a number above 0"));
        let switch = || Switch::parse(value).ok_or_else(|| bad("enable, disable or automatic"));
        match key {
            "cb_buffer_size" => {
                self.cb_buffer_size = number()?.clamp(CB_BUFFER_BYTES_MIN, CB_BUFFER_BYTES_MAX)
            }
            "cb_nodes" | "num_io_nodes" => self.cb_nodes = Some(number()?),
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
            "striping_factor" => self.striping_factor = Some(number()?),
            "nb_proc" => self.nb_proc = Some(number()?),
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
            _ => {}
        }
        Ok(())
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
            ("striping_factor", self.striping_factor),
            ("nb_proc", self.nb_proc),
        ];
        all.extend(given.into_iter().filter_map(|(key, value)| Some((key, value?.to_string()))));
        all.extend(self.file_perm.map(|mode| ("file_perm", format!("{mode:04o}"))));
        all.extend(self.access_style.clone().map(|style| ("access_style", style)));
        all
    }

    /// What must be the same at all ranks: they would make different plans.
    pub fn shared(&self) -> [u64; 5] {
        let switches = self.cb_read as u64 | (self.cb_write as u64) << 8;
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
            ("access_style", "read_mostly,sequential"),
            ("something_else", "x"),
        ] {
            hints.set(key, value).unwrap();
        }
        let listed = hints.listed();
        let value = |key| listed.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str());
        assert_eq!((value("cb_buffer_size"), value("cb_nodes")), (Some("1048576"), Some("3")));
        assert_eq!((value("romio_cb_write"), value("romio_ds_read")), (Some("enable"), Some("disable")));
        assert_eq!((value("file_perm"), value("striping_factor")), (Some("0640"), None));
        assert_eq!(value("something_else"), None);
        for (key, value) in &listed {
            let mut again = hints.clone();
            again.set(key, value).unwrap();
        }
    }

    #[test]
    fn a_value_that_makes_no_sense_is_refused() {
        let mut hints = Hints::default();
        for (key, value) in
            [("cb_nodes", "0"), ("romio_cb_read", "maybe"), ("file_perm", "9"), ("access_style", "wild")]
        {
            assert_eq!(hints.set(key, value).unwrap_err().key, key);
        }
        assert_eq!(hints, Hints::default());
        hints.set("cb_buffer_size", "1").unwrap();
        assert_eq!(hints.cb_buffer_size, CB_BUFFER_BYTES_MIN);
    }
}
