//! Tables as text: what `tern info --collectives` prints, `tern tune` writes and `TERN_COLL_TABLE` reads.
//!
//! One row a line, in columns separated by blanks; what follows a `#` is a comment:
//!
//! ```text
//! # collective  bytes   ranks  nodes  algorithm       segment
//! allreduce     64k-1m  8-     any       segmented-ring  16k
//! barrier       any     2-16   1         shm
//! ```

use std::fmt;
use std::path::Path;

use super::bounds::{NumberRange, number, parse_number};
use super::{Choice, TableRow};
use crate::algorithm::{Algorithm, algorithms, has_shm};
use crate::call::Collective;

/// The heading of a table; a comment.
pub const HEADING: &str = "# collective          bytes          ranks     nodes  algorithm           segment";

/// A line of a table that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// The number of the line, from 1 on.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub what: String,
}

/// Reads a table from a file; an error names file, line and what is wrong.
pub fn load(file: &Path) -> Result<Vec<TableRow>, String> {
    let bytes = std::fs::read(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{}: this is no text", file.display()))?;
    parse(&text).map_err(|bad| format!("{}, {bad}", file.display()))
}

/// Reads a table. Every line must be understood.
pub fn parse(text: &str) -> Result<Vec<TableRow>, BadLine> {
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
        if !words.is_empty() {
            rows.push(parse_row(&words).map_err(|what| BadLine { line: index + 1, what })?);
        }
    }
    Ok(rows)
}

fn parse_row(words: &[&str]) -> Result<TableRow, String> {
    let (&[name, bytes, ranks, nodes, algorithm], rest) = words.split_first_chunk::<5>().ok_or_else(|| {
        format!(
            "a row has collective, bytes, ranks, nodes, algorithm and perhaps a segment, but here are {} words",
            words.len()
        )
    })?;
    let collective = parse_collective(name)?;
    let algorithm = parse_algorithm(collective, algorithm)?;
    let segment_bytes = match rest {
        [] | ["-"] => 0,
        [segment] => parse_segment(collective, algorithm, segment)?,
        [_, other, ..] => return Err(format!("'{other}' is too much: a row ends with the segment")),
    };
    let column = |column: &str, text| NumberRange::parse(text).map_err(|what| format!("{column}: {what}"));
    Ok(TableRow {
        collective,
        bytes: column("bytes", bytes)?,
        ranks: column("ranks", ranks)?,
        nodes: column("nodes", nodes)?,
        choice: Choice { algorithm, segment_bytes },
    })
}

fn parse_collective(name: &str) -> Result<Collective, String> {
    Collective::ALL.into_iter().find(|collective| collective.name() == name).ok_or_else(|| {
        let names = Collective::ALL.map(Collective::name).join(", ");
        format!("there is no collective '{name}'; there are {names}")
    })
}

fn parse_algorithm(collective: Collective, name: &str) -> Result<Algorithm, String> {
    Algorithm::named(collective, name).ok_or_else(|| {
        let mut names: Vec<_> = algorithms(collective).iter().map(|algorithm| algorithm.name()).collect();
        names.extend(has_shm(collective).then_some(Algorithm::Shm.name()));
        format!("{collective} has no algorithm '{name}'; it has {}", names.join(", "))
    })
}

fn parse_segment(collective: Collective, algorithm: Algorithm, text: &str) -> Result<u64, String> {
    if algorithm.segment_bytes(collective).is_none() {
        return Err(format!("{algorithm} of {collective} cuts no segments: leave the last column out"));
    }
    parse_number(text)
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| format!("segment: '{text}' is no number of bytes, as in 4096, 64k or 1m"))
}

/// One line of a table, under [`HEADING`].
impl fmt::Display for TableRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let segment = match self.choice.segment_bytes {
            0 => "-".into(),
            bytes => number(bytes),
        };
        let TableRow { collective, bytes, ranks, nodes, .. } = self;
        let algorithm = self.choice.algorithm;
        // A number may be as wide as its column; the blanks between columns stay.
        write!(f, "{collective:<21} {bytes:<14} {ranks:<9} {nodes:<9} {algorithm:<19} {segment}")
    }
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for BadLine {}

#[cfg(test)]
mod tests {
    use super::super::TABLE;
    use super::*;

    #[test]
    fn the_printed_table_is_read_again() {
        let text: String = TABLE.iter().map(|row| format!("{row}\n")).collect();
        assert_eq!(parse(&format!("{HEADING}\n\n{text}")), Ok(TABLE.to_vec()));
    }

    #[test]
    fn segments_and_comments() {
        let rows = parse("# mine\nbcast 64k- any 2- chain 32k # by hand\nbarrier any any 1 shm -\n").unwrap();
        assert_eq!(rows[0].choice, Choice { algorithm: Algorithm::Chain, segment_bytes: 32 << 10 });
        assert_eq!((rows[0].bytes, rows[0].nodes), (NumberRange::from(64 << 10), NumberRange::from(2)));
        assert_eq!(rows[1].choice, Algorithm::Shm.into());
    }

    #[test]
    fn errors_name_the_line_and_what_would_be_right() {
        let cases = [
            ("\nfoo any any any ring", "line 2: there is no collective 'foo'; there are barrier, bcast"),
            ("scan any any any ring", "scan has no algorithm 'ring'; it has doubling"),
            (
                "barrier any any any ring",
                "it has dissemination, unbalanced-tree, hierarchical, multicast, shm",
            ),
            ("bcast 1-x any any chain", "bytes: '1-x' is no range"),
            ("bcast any 8-2 any chain", "ranks: the range 8-2 is empty"),
            ("bcast any any any chain 0", "segment: '0' is no number of bytes"),
            ("bcast any any any binomial 64k", "binomial of bcast cuts no segments"),
            ("bcast any any any chain 1k 2k", "'2k' is too much"),
            ("bcast any chain", "here are 3 words"),
        ];
        for (text, expected) in cases {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
