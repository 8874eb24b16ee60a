//! The command line of `tern`. What `--help` prints, the manual pages and the completions come from it as well.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::{doctor, netpipe, sim, tune};

/// Tells what this Tern is, and measures and simulates messages.
#[derive(Debug, Parser)]
#[command(
    name = "tern",
    version,
    arg_required_else_help = true,
    max_term_width = 120,
    after_help = "Other commands of Tern: mpirun --help, mpicc -help."
)]
pub(crate) struct Tern {
    /// What to do.
    #[command(subcommand)]
    pub command: TernCommand,
}

/// What `tern` can do. The arguments of each describe it.
#[derive(Debug, Subcommand)]
pub(crate) enum TernCommand {
    Info(InfoArguments),
    Doctor(doctor::DoctorArguments),
    Sim(sim::SimArguments),
    Tune(tune::TuneArguments),
    Netpipe(netpipe::NetpipeArguments),
    /// Print completions for a shell, for a file that it reads at its start
    Completions {
        /// The shell
        shell: Shell,
        /// The program whose command line they complete
        #[arg(default_value = "tern", value_parser = ["tern", "mpirun", "mpiexec"])]
        program: String,
    },
    /// Print the options of mpirun as a page of the manual
    #[command(hide = true)]
    OptionsPage,
    /// Write the manual pages to a folder, as the installation does
    #[command(hide = true)]
    ManualPages {
        /// The folder, which must exist
        folder: PathBuf,
    },
}

/// Tell version, machine, transports and settings
///
/// The settings are all TERN_* variables with their values here. With options it prints what they ask for instead.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
pub(crate) struct InfoArguments {
    /// How a message moves, by mode, size and buffers, under the settings in effect
    #[arg(long)]
    pub protocols: bool,
    /// Which algorithm serves which collective
    #[arg(long)]
    pub collectives: bool,
    /// Which functions of MPI 5.0 the library has and which it lacks
    #[arg(long)]
    pub coverage: bool,
    /// Whether multicast works among these hosts, and if not, why: a job there finds out
    #[arg(long, value_name = "LIST")]
    pub host: Option<String>,
    /// The same for the hosts of a file
    #[arg(long, value_name = "FILE")]
    pub hostfile: Option<String>,
    /// What runs a command on a host, as for mpirun
    #[arg(long, value_name = "CMD")]
    pub launcher: Option<String>,
    /// Look at this libmpi_abi.so.1 in place of the one beside this program
    #[arg(long, value_name = "FILE")]
    pub library: Option<PathBuf>,
}

/// Something that `tern info` tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
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

impl InfoArguments {
    /// What is asked for: at least one topic.
    pub(crate) fn topics(&self) -> Vec<Topic> {
        let mut topics = Vec::new();
        topics.extend(self.protocols.then_some(Topic::Protocols));
        topics.extend(self.collectives.then_some(Topic::Collectives));
        topics.extend(self.coverage.then_some(Topic::Coverage));
        let place = self.place();
        topics.extend((!place.is_empty()).then_some(Topic::Hosts(place)));
        if topics.is_empty() {
            topics.push(Topic::Overview);
        }
        topics
    }

    /// The options of `mpirun` that name hosts.
    fn place(&self) -> Vec<String> {
        let given = [("--host", &self.host), ("--hostfile", &self.hostfile), ("--launcher", &self.launcher)];
        let pair = |(option, value): (&str, &Option<String>)| Some([option.to_owned(), value.clone()?]);
        given.into_iter().filter_map(pair).flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn topics(line: &str) -> Result<Vec<Topic>, String> {
        match Tern::try_parse_from(line.split_whitespace()).map_err(|error| error.to_string())?.command {
            TernCommand::Info(arguments) => Ok(arguments.topics()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_definition_is_sound() {
        Tern::command().debug_assert();
    }

    #[test]
    fn without_options_it_is_the_overview() {
        assert_eq!(topics("tern info"), Ok(vec![Topic::Overview]));
        assert!(topics("tern").unwrap_err().contains("Usage"));
        assert!(topics("tern info --help").unwrap_err().contains("--protocols"));
    }

    #[test]
    fn several_topics_may_be_asked_for() {
        let asked = topics("tern info --coverage --library lib.so --protocols");
        assert_eq!(asked, Ok(vec![Topic::Protocols, Topic::Coverage]));
    }

    #[test]
    fn hosts_are_for_mpirun() {
        let place = ["--host", "a,b", "--launcher", "rsh"].map(String::from).into();
        assert_eq!(topics("tern info --launcher rsh --host a,b"), Ok(vec![Topic::Hosts(place)]));
        assert!(topics("tern info --host").unwrap_err().contains("--host"));
    }

    #[test]
    fn what_was_meant_is_suggested() {
        assert!(topics("tern inof").unwrap_err().contains("'info'"));
        assert!(topics("tern info --protocol").unwrap_err().contains("'--protocols'"));
        assert!(topics("tern info --library").is_err());
    }
}
