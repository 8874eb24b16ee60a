//! The command line.

use std::path::PathBuf;

use crate::tune;

/// `tern --help`.
pub const HELP: &str = "\
Usage: tern info [options]
       tern sim COLLECTIVE [options]
       tern tune [options]
       tern netpipe [what] [options]
       tern --help | --version

tern info prints the version, what of this machine matters to MPI jobs, the transports, and all TERN_* variables
with their values here. With options it prints instead:

  --protocols      how a message moves, by mode, size and buffers, under the settings in effect
  --collectives    which algorithm serves which collective
  --coverage       which functions of MPI 5.0 the library has and which it lacks
  --host LIST, --hostfile FILE
                   whether multicast works among these hosts, and if not, why: a job there finds out; --launcher CMD as
                   for mpirun
  --library FILE   look at this libmpi_abi.so.1 (default: the one beside this program)

tern sim simulates a collective on any number of ranks: tern sim --help.
tern tune measures which algorithms of collectives are fastest on this machine, and writes a table of them; see
tern tune --help.
tern netpipe measures messages over their size, beside raw TCP and other MPI libraries, and draws them; see
tern netpipe --help.

Other commands of Tern: mpirun --help, mpicc -help.
";

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    /// How to ask.
    Help,
    /// The version.
    Version,
    /// Simulate; the words after `sim`.
    Sim(Vec<String>),
    /// Measure messages; the words after `netpipe`.
    Netpipe(Vec<String>),
    /// These topics, in this order.
    Info {
        /// At least one.
        topics: Vec<Topic>,
        /// The library, if not the one beside this program.
        library: Option<PathBuf>,
    },
    /// How to tune.
    TuneHelp,
    /// Measure this machine.
    Tune(tune::Options),
}

/// Something that `tern info` tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topic {
    /// The machine and the settings.
    Overview,
    /// How messages move.
    Protocols,
    /// Algorithms of collectives.
    Collectives,
    /// Functions of the standard.
    Coverage,
    /// What a job finds out among hosts; the options of `mpirun` that name them.
    Hosts(Vec<String>),
}

impl Request {
    /// Reads the words after the program's name.
    pub fn parse(words: &[String]) -> Result<Request, String> {
        match words.first().map(String::as_str) {
            None | Some("--help" | "-h" | "help") => Ok(Request::Help),
            Some("--version" | "-V") => Ok(Request::Version),
            Some("info") => parse_info(&words[1..]),
            Some("netpipe") => Ok(Request::Netpipe(words[1..].to_vec())),
            Some("sim") => Ok(Request::Sim(words[1..].to_vec())),
            Some("tune") => Ok(tune::Options::parse(&words[1..])?.map_or(Request::TuneHelp, Request::Tune)),
            Some(other) => Err(format!(
                "there is no command '{other}'; try: tern info, tern sim, tern tune, tern netpipe, or tern --help"
            )),
        }
    }
}

fn parse_info(words: &[String]) -> Result<Request, String> {
    let (mut topics, mut library, mut place) = (Vec::new(), None, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--protocols" => topics.push(Topic::Protocols),
            "--collectives" => topics.push(Topic::Collectives),
            "--coverage" => topics.push(Topic::Coverage),
            "--library" => library = Some(words.next().ok_or("--library needs a file")?.into()),
            "--host" | "--hostfile" | "--launcher" => {
                let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
                place.extend([word.clone(), value.clone()]);
            }
            "--help" | "-h" => return Ok(Request::Help),
            other => {
                return Err(format!(
                    "there is no option '{other}'; tern info takes --protocols, --collectives, --coverage, --library FILE, \
                     --host LIST, --hostfile FILE and --launcher CMD"
                ));
            }
        }
    }
    if !place.is_empty() {
        topics.push(Topic::Hosts(place));
    }
    if topics.is_empty() {
        topics.push(Topic::Overview);
    }
    Ok(Request::Info { topics, library })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Request, String> {
        Request::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn without_options_it_is_the_overview() {
        let overview = Request::Info { topics: vec![Topic::Overview], library: None };
        assert_eq!(parse("info"), Ok(overview));
        assert_eq!(parse(""), Ok(Request::Help));
        assert_eq!(parse("info --help"), Ok(Request::Help));
    }

    #[test]
    fn several_topics_come_in_order() {
        let topics = vec![Topic::Coverage, Topic::Protocols];
        let library = Some("lib.so".into());
        assert_eq!(
            parse("info --coverage --library lib.so --protocols"),
            Ok(Request::Info { topics, library })
        );
    }

    #[test]
    fn hosts_are_for_mpirun() {
        let place = ["--launcher", "rsh", "--host", "a,b"].map(String::from).into();
        let hosts = Request::Info { topics: vec![Topic::Hosts(place)], library: None };
        assert_eq!(parse("info --launcher rsh --host a,b"), Ok(hosts));
        assert!(parse("info --host").unwrap_err().contains("--host"));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        assert!(parse("inof").unwrap_err().contains("'inof'"));
        assert!(parse("info --what").unwrap_err().contains("'--what'"));
        assert!(parse("info --library").is_err());
    }
}
