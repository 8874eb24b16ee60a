//! The command line of `tern tune`.

use std::path::PathBuf;

use tern_coll::{Collective, algorithms};

/// `tern tune --help`.
pub const HELP: &str = "\
Usage: tern tune [options]

Measures the algorithms of collectives on this machine, each against what is chosen without a table, and writes the
rows of those that are clearly faster to a file for TERN_COLL_TABLE. Also measures what messages cost, for tern sim.

  --ranks N            up to so many ranks: 2, 4, 8 ... and N (default: twice the cores, and the cores)
  --collective NAMES   only these collectives, separated by commas
  --quick              fewer sizes and repetitions: a quarter of the time, which is about a minute on two
                       cores and grows with them
  --output FILE        where to write the table (default: tern-coll.table)
  --params FILE        where to write the costs of messages (default: tern-params.toml)

While it measures, nothing else should run on the machine.
";

/// What to measure and where to write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The most ranks, if given.
    pub ranks: Option<u32>,
    /// The collectives.
    pub collectives: Vec<Collective>,
    /// Fewer sizes and repetitions.
    pub quick: bool,
    /// The file of the table.
    pub output: PathBuf,
    /// The file of the costs of messages.
    pub params: PathBuf,
}

/// More ranks than this are no measurement of one machine.
const RANKS_MAX: u32 = 4096;

impl Default for Options {
    fn default() -> Self {
        Options {
            ranks: None,
            collectives: tunable().collect(),
            quick: false,
            output: "tern-coll.table".into(),
            params: "tern-params.toml".into(),
        }
    }
}

/// The collectives that have a choice by size. (Of v and w calls no rank knows the sizes of all.)
fn tunable() -> impl Iterator<Item = Collective> {
    let by_size =
        |collective: &Collective| !matches!(collective, Collective::Alltoallv | Collective::Alltoallw);
    Collective::ALL.into_iter().filter(by_size).filter(|collective| algorithms(*collective).len() > 1)
}

impl Options {
    /// Reads the words after `tern tune`; `None` asks for help.
    pub fn parse(words: &[String]) -> Result<Option<Options>, String> {
        let mut options = Options::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = |what: &str| words.next().ok_or(format!("{word} needs {what}"));
            match word.as_str() {
                "--ranks" => options.ranks = Some(parse_ranks(value("a number of ranks")?)?),
                "--collective" => options.collectives = parse_names(value("names of collectives")?)?,
                "--quick" => options.quick = true,
                "--output" => options.output = value("a file")?.into(),
                "--params" => options.params = value("a file")?.into(),
                "--help" | "-h" => return Ok(None),
                other => return Err(format!("there is no option '{other}'; try tern tune --help")),
            }
        }
        if options.output == options.params {
            return Err(format!("--output and --params are both {}", options.output.display()));
        }
        Ok(Some(options))
    }

    /// The numbers of ranks to measure with, ascending.
    pub fn ranks(&self, cores: u32) -> Vec<u32> {
        let most = self.ranks.unwrap_or(2 * cores).max(2);
        let powers = (1..u32::BITS).map(|bit| 1 << bit).take_while(|ranks| *ranks <= most);
        let mut all: Vec<u32> =
            powers.chain([cores, most].into_iter().filter(|n| (2..=most).contains(n))).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

fn parse_ranks(word: &str) -> Result<u32, String> {
    let ranks = word.parse().ok().filter(|ranks| (2..=RANKS_MAX).contains(ranks));
    ranks.ok_or_else(|| format!("--ranks is '{word}', but must be a number from 2 to {RANKS_MAX}"))
}

fn parse_names(words: &str) -> Result<Vec<Collective>, String> {
    let find = |word: &str| {
        tunable().find(|collective| collective.name() == word).ok_or_else(|| {
            let names: Vec<_> = tunable().map(Collective::name).collect();
            format!("'{word}' is no collective with a choice by size; these are {}", names.join(", "))
        })
    };
    words.split(',').map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<Options>, String> {
        Options::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn ranks_are_powers_of_two_the_cores_and_the_most() {
        let ranks = |line: &str, cores| parse(line).unwrap().unwrap().ranks(cores);
        assert_eq!(ranks("", 1), [2]);
        assert_eq!(ranks("", 2), [2, 4]);
        assert_eq!(ranks("", 6), [2, 4, 6, 8, 12]);
        assert_eq!(ranks("--ranks 5", 64), [2, 4, 5]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(parse("--ranks 1").unwrap_err().contains("from 2 to"));
        assert!(parse("--ranks").unwrap_err().contains("--ranks needs a number"));
        assert!(parse("--collective scan").unwrap_err().contains("'scan' is no collective with a choice"));
        assert!(parse("--output x --params x").unwrap_err().contains("both x"));
        assert!(parse("--fast").unwrap_err().contains("'--fast'"));
        assert_eq!(parse("--help"), Ok(None));
        let one = parse("--collective barrier,bcast").unwrap().unwrap().collectives;
        assert_eq!(one, [Collective::Barrier, Collective::Bcast]);
    }
}
