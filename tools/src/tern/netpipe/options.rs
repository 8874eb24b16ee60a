//! The command line of `tern netpipe`.

use std::path::PathBuf;

use super::limits::{
    ASKED_BYTES_MAX, BYTES_MAX, COLLECTIVE_BYTES, LIMIT_S, PERTURBATION_BYTES, POINT_S, QUICK_BYTES_MAX,
    QUICK_LIMIT_S, QUICK_POINT_S, QUICK_TRIALS, TRIALS, TRIALS_MAX,
};
use crate::sim::units::{parse_count, parse_time};
use clap::{Args, ValueEnum, value_parser};

/// Measure messages over their size, beside raw TCP and other MPI libraries, and draw them
///
/// Messages between two ranks are measured over their size, beside raw TCP between the same two processes and beside other MPI
/// libraries, which take turns. A table, JSON, pictures and a page with them are written.
///
/// Numbers of bytes may end in k, m or g, which are powers of 1024.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
pub(crate) struct NetpipeArguments {
    /// Ping-pong over sizes and their neighbors: latency and throughput, as NetPIPE draws them; what is measured unless
    /// something is named
    #[arg(long, help_heading = WHAT)]
    curves: bool,
    /// The GENESIS benchmark, one way at a time: latency, r_inf, n_1/2
    #[arg(long, help_heading = WHAT)]
    comms1: bool,
    /// The same, both ways at once
    #[arg(long, help_heading = WHAT)]
    comms2: bool,
    /// Throughput round several thresholds between eager and rendezvous, and the deepest dip
    #[arg(long, help_heading = WHAT)]
    thresholds: bool,
    /// How much of a transfer computation hides, with TERN_PROGRESS=poll and thread; how soon a message is there while its
    /// receiver computes; what the thread costs where there is nothing to hide
    #[arg(long, help_heading = WHAT)]
    overlap: bool,
    /// Put, get and accumulate to a window over their size, each completed at the target, beside copies of memory and raw TCP
    #[arg(long, help_heading = WHAT)]
    rma: bool,
    /// Time of a broadcast against the number of hosts: by multicast, over TCP, and what the library chooses
    #[arg(long, value_enum, help_heading = WHAT)]
    collective: Option<MeasuredCollective>,
    /// All of them but the last
    #[arg(long, help_heading = WHAT)]
    all: bool,

    /// What Tern's messages take
    #[arg(long, value_enum, default_value_t, help_heading = BETWEEN)]
    transport: MeasuredTransport,
    /// Between these two hosts; without it both ranks are here
    #[arg(long, value_name = "A,B", value_parser = parse_names, help_heading = BETWEEN)]
    host: Option<Names>,
    /// What runs a command on a host, as for mpirun
    #[arg(long, value_name = "CMD", value_parser = parse_launcher, help_heading = BETWEEN)]
    launcher: Option<String>,
    /// For --collective: N, 2N ... M of the hosts of --host, which may be this one under several names
    #[arg(long, value_name = "N-M", value_parser = parse_range, help_heading = BETWEEN)]
    hosts: Option<(u32, u32)>,
    /// For --collective: these algorithms of Tern, or all, besides
    #[arg(long, value_name = "A[,A...]", value_parser = parse_names, help_heading = BETWEEN)]
    algorithm: Option<Names>,
    /// Compare with this MPI library as well
    #[arg(long, value_name = "NAME=MPICC,MPIRUN", value_parser = parse_peer, help_heading = BETWEEN)]
    peer: Vec<OtherLibrary>,
    /// Only these systems: tern, raw, raw-blocking, memory, and names of peers
    #[arg(long, value_name = "NAMES", value_parser = parse_names, help_heading = BETWEEN)]
    only: Option<Names>,
    /// Do not look for other MPI libraries (in PATH, and beside the installation, as make bench puts them)
    #[arg(long, help_heading = BETWEEN)]
    no_peers: bool,

    /// Few sizes, little time
    #[arg(long, help_heading = EFFORT)]
    quick: bool,
    /// Smallest message
    #[arg(long, value_name = "B", default_value_t = 1, value_parser = parse_count, help_heading = EFFORT)]
    from: u64,
    /// Largest message [default: 16m]
    #[arg(long, value_name = "B", value_parser = parse_count, help_heading = EFFORT)]
    to: Option<u64>,
    /// For --collective: these sizes [default: 8,2k,64k,1m,4m]
    #[arg(long, value_name = "B[,B...]", value_delimiter = ',', value_parser = parse_count, help_heading = EFFORT)]
    bytes: Vec<u64>,
    /// Measure each size also B bytes smaller and larger; 0: do not [default: 3]
    #[arg(long, value_name = "B", value_parser = parse_count, help_heading = EFFORT)]
    perturb: Option<u64>,
    /// Turns of every system, whether figures are steady or not [default: 5, and more where they are not]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=i64::from(TRIALS_MAX)), help_heading = EFFORT)]
    trials: Option<u32>,
    /// How long sizes whose figures are not steady get further turns [default: 300s, with --quick 60s]
    #[arg(long, value_name = "TIME", value_parser = parse_limit, conflicts_with = "trials", help_heading = EFFORT)]
    limit: Option<f64>,
    /// Time for one size in one turn, which decides how often a message is sent [default: 20ms]
    #[arg(long, value_name = "TIME", value_parser = parse_point, help_heading = EFFORT)]
    point: Option<f64>,

    /// Where to write results.txt, results.json, index.html and pictures; what other hosts run or read meanwhile is there, too
    #[arg(long, value_name = "DIR", default_value = "tern-netpipe")]
    output: PathBuf,
}

const WHAT: &str = "Measurement";
const BETWEEN: &str = "Between what";
const EFFORT: &str = "How thoroughly";

/// Names that commas part.
type Names = Vec<String>;

/// A collective that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum MeasuredCollective {
    /// A broadcast.
    Bcast,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measurement {
    /// Ping-pong over sizes.
    Curves,
    /// One way at a time.
    Comms1,
    /// Both ways at once.
    Comms2,
    /// Between eager and rendezvous.
    Thresholds,
    /// Computation and messages.
    Overlap,
    /// Accesses to a window.
    Rma,
    /// A broadcast over hosts.
    Bcast,
}

/// What carries Tern's messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum MeasuredTransport {
    /// What the library chooses.
    #[default]
    Auto,
    /// Shared memory.
    Shm,
    /// Sockets.
    Tcp,
}

/// Where the ranks run, and over what they talk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RankPlacement {
    /// What carries messages.
    pub transport: MeasuredTransport,
    /// None: all here.
    pub hosts: Vec<String>,
    /// What runs a command on a host.
    pub launcher: Option<String>,
}

/// How often each has its turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MeasurementTurns {
    /// At every size.
    pub least: u32,
    /// At sizes where figures are not steady.
    pub most: u32,
    /// How long there may be more than the least, seconds.
    pub limit_s: f64,
}

/// Another MPI library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OtherLibrary {
    /// What it is called.
    pub name: String,
    /// Its compiler wrapper.
    pub mpicc: PathBuf,
    /// Its launcher.
    pub mpirun: PathBuf,
}

/// The command line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NetpipeOptions {
    /// In the order in which they come in the report.
    pub what: Vec<Measurement>,
    pub place: RankPlacement,
    /// For collectives: the least and the most hosts.
    pub hosts: Option<(u32, u32)>,
    pub algorithms: Vec<String>,
    pub peers: Vec<OtherLibrary>,
    /// All, if it is empty.
    pub only: Vec<String>,
    pub look_for_peers: bool,
    pub quick: bool,
    pub from: u64,
    pub to: u64,
    /// Sizes of collectives.
    pub bytes: Vec<u64>,
    pub perturbation: u64,
    pub turns: MeasurementTurns,
    pub point_s: f64,
    pub output: PathBuf,
}

impl NetpipeArguments {
    /// In the order of the report.
    fn what(&self) -> Vec<Measurement> {
        let asked = [
            (Measurement::Curves, self.curves || self.all || !self.names_any()),
            (Measurement::Comms1, self.comms1 || self.all),
            (Measurement::Comms2, self.comms2 || self.all),
            (Measurement::Thresholds, self.thresholds || self.all),
            (Measurement::Overlap, self.overlap || self.all),
            (Measurement::Rma, self.rma || self.all),
            (Measurement::Bcast, self.collective.is_some()),
        ];
        asked.into_iter().filter_map(|(what, asked)| asked.then_some(what)).collect()
    }

    fn names_any(&self) -> bool {
        let pairs = [self.comms1, self.comms2, self.thresholds, self.overlap, self.rma];
        pairs.contains(&true) || self.collective.is_some()
    }
}

impl NetpipeOptions {
    /// What the arguments ask for. What is quick gives way to what is said more exactly.
    pub(super) fn new(arguments: NetpipeArguments) -> Result<NetpipeOptions, String> {
        let what = arguments.what();
        let quick = arguments.quick;
        let either = |quickly, thoroughly| if quick { quickly } else { thoroughly };
        let bytes = arguments.bytes;
        let turns = match arguments.trials {
            Some(trials) => MeasurementTurns { least: trials, most: trials, limit_s: 0.0 },
            None => MeasurementTurns {
                least: if quick { QUICK_TRIALS } else { TRIALS },
                most: TRIALS_MAX,
                limit_s: arguments.limit.unwrap_or(if quick { QUICK_LIMIT_S } else { LIMIT_S }),
            },
        };
        // What is measured shares the time.
        let turns = MeasurementTurns { limit_s: turns.limit_s / what.len() as f64, ..turns };
        let options = NetpipeOptions {
            what,
            place: RankPlacement {
                transport: arguments.transport,
                hosts: arguments.host.unwrap_or_default(),
                launcher: arguments.launcher,
            },
            hosts: arguments.hosts,
            algorithms: arguments.algorithm.unwrap_or_default(),
            peers: arguments.peer,
            only: arguments.only.unwrap_or_default(),
            look_for_peers: !arguments.no_peers,
            quick,
            from: arguments.from,
            to: arguments.to.unwrap_or(either(QUICK_BYTES_MAX, BYTES_MAX)),
            bytes: if bytes.is_empty() { COLLECTIVE_BYTES.to_vec() } else { bytes },
            perturbation: arguments.perturb.unwrap_or(either(0, PERTURBATION_BYTES)),
            turns,
            point_s: arguments.point.unwrap_or(if quick { QUICK_POINT_S } else { POINT_S }),
            output: arguments.output,
        };
        options.check()?;
        Ok(options)
    }

    fn check(&self) -> Result<(), String> {
        let hosts = self.place.hosts.len();
        let pair = self.what.iter().any(|what| *what != Measurement::Bcast);
        if self.from < 1 || self.from > self.to || self.to > ASKED_BYTES_MAX {
            return Err(format!("--from {} --to {}: sizes go from 1 up to 1g", self.from, self.to));
        }
        if self.bytes.iter().any(|bytes| !(1..=ASKED_BYTES_MAX).contains(bytes)) {
            return Err("--bytes: sizes go from 1 up to 1g".into());
        }
        let is_pair = hosts == 0 || hosts == 2 || hosts > 2 && self.what.contains(&Measurement::Bcast);
        if pair && !is_pair {
            return Err(format!(
                "--host: a ping-pong is between two hosts, as in --host a,b, and not {hosts}"
            ));
        }
        self.check_collective()?;
        self.check_hosts()
    }

    /// What no other measurement heeds is not for it.
    fn check_collective(&self) -> Result<(), String> {
        if self.what.contains(&Measurement::Bcast) {
            return Ok(());
        }
        let given =
            [("--algorithm", !self.algorithms.is_empty()), ("--bytes", self.bytes != COLLECTIVE_BYTES)];
        match given.iter().find(|(_, given)| *given) {
            Some((option, _)) => {
                Err(format!("{option} is for --collective; --from and --to are the sizes of all else"))
            }
            None => Ok(()),
        }
    }

    fn check_hosts(&self) -> Result<(), String> {
        let hosts = self.place.hosts.len();
        let most = self.hosts.map_or(hosts, |(_, most)| most as usize);
        if self.what.contains(&Measurement::Bcast) && (hosts < 2 || most > hosts) {
            return Err(format!(
                "--collective needs hosts: --host names {hosts}, and {} are to take part",
                most.max(2)
            ));
        }
        if self.hosts.is_some() && !self.what.contains(&Measurement::Bcast) {
            return Err("--hosts is for --collective; --host names the hosts".into());
        }
        for (at, host) in self.place.hosts.iter().enumerate() {
            if has_slots(host) {
                return Err(format!(
                    "--host: '{host}': each host gets one rank; leave out the number of slots"
                ));
            }
            if self.place.hosts[..at].contains(host) {
                return Err(format!("--host names {host} twice; each host gets one rank"));
            }
        }
        if self.place.transport == MeasuredTransport::Shm && hosts > 0 {
            return Err("--transport shm: hosts share no memory; leave out --host".into());
        }
        Ok(())
    }

    /// Whether a system takes part.
    pub(super) fn wants(&self, system: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == system)
    }

    /// The least and the most hosts of a collective.
    pub(super) fn host_range(&self) -> (u32, u32) {
        self.hosts.unwrap_or((2, self.place.hosts.len() as u32))
    }
}

impl MeasuredTransport {
    /// Its value of `TERN_TRANSPORT`.
    pub(super) fn name(self) -> &'static str {
        match self {
            MeasuredTransport::Auto => "auto",
            MeasuredTransport::Shm => "shm",
            MeasuredTransport::Tcp => "tcp",
        }
    }
}

impl RankPlacement {
    /// Whether messages between two ranks take the network: what two hosts share, or what is forced.
    pub(super) fn is_network(&self) -> bool {
        self.transport == MeasuredTransport::Tcp || !self.hosts.is_empty()
    }

    /// For people.
    pub(super) fn describe(&self) -> String {
        match self.hosts.as_slice() {
            [] => format!("two ranks on this node, transport {}", self.transport.name()),
            hosts => format!("hosts {}, transport {}", hosts.join(", "), self.transport.name()),
        }
    }
}

fn parse_names(words: &str) -> Result<Names, String> {
    let names: Names = words.split(',').map(|word| word.trim().to_owned()).collect();
    if names.iter().any(String::is_empty) { Err("there is an empty name".into()) } else { Ok(names) }
}

/// As `mpirun` reads it.
fn parse_launcher(line: &str) -> Result<String, String> {
    let words = shlex::split(line).filter(|words| !words.is_empty());
    words.map(|_| line.into()).ok_or_else(|| "it must be a command with all its quotes closed".into())
}

/// `a:2` or `[fd83::2]:2`; an address has several colons and no brackets.
fn has_slots(host: &str) -> bool {
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((_, slots)) => !slots.is_empty(),
        None => host.matches(':').count() == 1,
    }
}

/// `2-16`, or `8`.
fn parse_range(word: &str) -> Result<(u32, u32), String> {
    let (least, most) = word.split_once('-').unwrap_or((word, word));
    let number = |word: &str| word.parse::<u32>().ok();
    let range = number(least).zip(number(most)).filter(|(least, most)| (2..=*most).contains(least));
    range.ok_or_else(|| "it must be a range from 2 on, as in 2-16".into())
}

fn parse_peer(word: &str) -> Result<OtherLibrary, String> {
    let parts = word.split_once('=').and_then(|(name, rest)| Some((name, rest.split_once(',')?)));
    let parts = parts.filter(|(name, _)| !name.is_empty());
    let (name, (mpicc, mpirun)) = parts.ok_or("it must be NAME=MPICC,MPIRUN")?;
    Ok(OtherLibrary { name: name.into(), mpicc: mpicc.into(), mpirun: mpirun.into() })
}

fn parse_limit(word: &str) -> Result<f64, String> {
    let seconds = parse_time(word)? / 1e9;
    let limit = Some(seconds).filter(|seconds| *seconds >= 1.0);
    limit.ok_or_else(|| "it must be at least 1s".into())
}

fn parse_point(word: &str) -> Result<f64, String> {
    let seconds = parse_time(word)? / 1e9;
    let point = Some(seconds).filter(|seconds| (1e-4..=60.0).contains(seconds));
    point.ok_or_else(|| "it must be from 100us to 60s".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct FittedLine {
        #[command(flatten)]
        arguments: NetpipeArguments,
    }

    fn parse(line: &str) -> Result<NetpipeOptions, String> {
        let words = ["netpipe"].into_iter().chain(line.split_whitespace());
        NetpipeOptions::new(FittedLine::try_parse_from(words).map_err(|error| error.to_string())?.arguments)
    }

    #[test]
    fn without_a_name_it_is_the_curves() {
        let options = parse("").unwrap();
        assert_eq!(options.what, [Measurement::Curves]);
        assert_eq!((options.from, options.to, options.perturbation), (1, 16 << 20, 3));
        assert_eq!((options.turns.least, options.turns.limit_s), (5, 300.0));
        assert!(options.wants("tern") && options.wants("mpich"));
    }

    #[test]
    fn what_is_said_exactly_counts_more_than_quick() {
        let options = parse("--trials 7 --to 64k --quick --comms2 --curves --comms2").unwrap();
        assert_eq!((options.turns.least, options.turns.most), (7, 7));
        assert_eq!((options.to, options.perturbation), (64 << 10, 0));
        assert_eq!(options.what, [Measurement::Curves, Measurement::Comms2]);
        assert_eq!(parse("--all").unwrap().what.len(), 6);
        assert_eq!(parse("--all --limit 24s").unwrap().turns.limit_s, 4.0);
        assert!((parse("--point 1.5ms").unwrap().point_s - 1.5e-3).abs() < 1e-12);
    }

    #[test]
    fn hosts_and_peers() {
        let options = parse("--host a,b --launcher rsh --transport tcp --peer x=/p/mpicc,/p/mpirun").unwrap();
        let place = RankPlacement {
            transport: MeasuredTransport::Tcp,
            hosts: vec!["a".into(), "b".into()],
            launcher: Some("rsh".into()),
        };
        assert_eq!(options.place, place);
        let peer = OtherLibrary { name: "x".into(), mpicc: "/p/mpicc".into(), mpirun: "/p/mpirun".into() };
        assert_eq!(options.peers, [peer]);
        let options =
            parse("--collective bcast --host a,b,c --hosts 2-3 --algorithm chain,binomial").unwrap();
        assert_eq!((options.what.as_slice(), options.host_range()), (&[Measurement::Bcast][..], (2, 3)));
        let only = parse("--only tern,raw").unwrap();
        assert!(only.wants("raw") && !only.wants("mpich"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let refusal = |line: &str| parse(line).map(drop).unwrap_err();
        assert!(refusal("--transport pigeon").contains("'pigeon'"));
        assert!(refusal("--host a").contains("not 1"));
        assert!(refusal("--host a,b,c").contains("not 3"));
        assert!(refusal("--host a,,b").contains("empty name"));
        assert!(refusal("--host a,b --transport shm").contains("share no memory"));
        assert!(refusal("--from 0").contains("from 1"));
        assert!(refusal("--from 9 --to 8").contains("--from 9"));
        assert!(refusal("--to 2g").contains("1g"));
        assert!(refusal("--trials 0").contains("1..="));
        assert!(refusal("--trials 3 --limit 9s").contains("--limit"));
        assert!(refusal("--limit 60").contains("at least 1s"));
        assert!(refusal("--point 1ns").contains("100us"));
        assert!(refusal("--peer mpich").contains("NAME=MPICC,MPIRUN"));
        assert!(refusal("--collective scan").contains("'scan'"));
        assert!(refusal("--collective bcast").contains("--host names 0"));
        assert!(refusal("--collective bcast --host a,b --hosts 2-4").contains("4 are to take part"));
        assert!(refusal("--hosts 1-4").contains("from 2 on"));
        assert!(refusal("--hosts 2-4").contains("--collective"));
        assert!(refusal("--bytes 1k").contains("--bytes is for --collective"));
        assert!(refusal("--algorithm chain").contains("--algorithm is for --collective"));
        assert!(refusal("--host a:2,b").contains("'a:2'"));
        assert!(refusal("--host [::1]:2,b").contains("slots"));
        assert!(refusal("--host a,a").contains("twice"));
        assert!(parse("--host fd83::1,[fd83::2]").is_ok());
        assert!(refusal("--launcher 'rsh").contains("quotes"));
        assert!(refusal("--fast").contains("'--fast'"));
        assert!(refusal("--output").contains("--output <DIR>"));
    }
}
