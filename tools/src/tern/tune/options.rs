//! The command line of `tern tune`.

use std::path::PathBuf;

use clap::Args;
use tern_coll::{Collective, algorithms};

/// Measure which algorithms of collectives are fastest on this machine, and write a table of them
///
/// The algorithms of collectives are measured on this machine, each against what is chosen without a table. The rows of those
/// that are clearly faster go to a file for TERN_COLL_TABLE. What messages cost goes to a file for tern sim.
///
/// While it measures, nothing else should run on the machine.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
pub(crate) struct TuneArguments {
    /// Up to so many ranks: 2, 4, 8 ... and N [default: twice the cores, and the cores]
    #[arg(long, value_name = "N", value_parser = parse_ranks)]
    ranks: Option<u32>,
    /// Only these collectives, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = parse_name)]
    collective: Vec<Collective>,
    /// Fewer sizes and repetitions: a quarter of the time, which is about a minute on two cores and grows with them
    #[arg(long)]
    quick: bool,
    /// Where to write the table
    #[arg(long, value_name = "FILE", default_value = "tern-coll.table")]
    output: PathBuf,
    /// Where to write the costs of messages
    #[arg(long, value_name = "FILE", default_value = "tern-params.toml")]
    params: PathBuf,
}

impl TuneArguments {
    /// What they ask for.
    pub(crate) fn options(self) -> Result<TuneOptions, String> {
        if self.output == self.params {
            return Err(format!("--output and --params are both {}", self.output.display()));
        }
        let named = self.collective;
        Ok(TuneOptions {
            ranks: self.ranks,
            collectives: if named.is_empty() { tunable().collect() } else { named },
            quick: self.quick,
            output: self.output,
            params: self.params,
        })
    }
}

/// What to measure and where to write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TuneOptions {
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

/// The collectives that have a choice by size. (Of v and w calls no rank knows the sizes of all.)
fn tunable() -> impl Iterator<Item = Collective> {
    let by_size =
        |collective: &Collective| !matches!(collective, Collective::Alltoallv | Collective::Alltoallw);
    Collective::ALL.into_iter().filter(by_size).filter(|collective| algorithms(*collective).len() > 1)
}

impl TuneOptions {
    /// The numbers of ranks to measure with, ascending.
    pub(crate) fn ranks(&self, cores: u32) -> Vec<u32> {
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
    ranks.ok_or_else(|| format!("it must be a number from 2 to {RANKS_MAX}"))
}

fn parse_name(word: &str) -> Result<Collective, String> {
    tunable().find(|collective| collective.name() == word).ok_or_else(|| {
        let names: Vec<_> = tunable().map(Collective::name).collect();
        format!("the collectives with a choice by size are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: TuneArguments,
    }

    fn parse(line: &str) -> Result<TuneOptions, String> {
        let words = ["tune"].into_iter().chain(line.split_whitespace());
        Line::try_parse_from(words).map_err(|error| error.to_string())?.arguments.options()
    }

    #[test]
    fn ranks_are_powers_of_two_the_cores_and_the_most() {
        let ranks = |line: &str, cores| parse(line).unwrap().ranks(cores);
        assert_eq!(ranks("", 1), [2]);
        assert_eq!(ranks("", 2), [2, 4]);
        assert_eq!(ranks("", 6), [2, 4, 6, 8, 12]);
        assert_eq!(ranks("--ranks 5", 64), [2, 4, 5]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(parse("--ranks 1").unwrap_err().contains("from 2 to"));
        assert!(parse("--ranks").unwrap_err().contains("--ranks <N>"));
        let refusal = parse("--collective scan").unwrap_err();
        assert!(refusal.contains("'scan'") && refusal.contains("with a choice by size are"));
        assert!(parse("--output x --params x").unwrap_err().contains("both x"));
        assert!(parse("--fast").unwrap_err().contains("'--fast'"));
        let two = parse("--collective barrier,bcast").unwrap().collectives;
        assert_eq!(two, [Collective::Barrier, Collective::Bcast]);
    }
}
