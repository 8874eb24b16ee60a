//! The command line of `tern netpipe`.

use std::path::PathBuf;

use super::limits::{
    ASKED_BYTES_MAX, BYTES_MAX, COLLECTIVE_BYTES, PERTURBATION_BYTES, POINT_S, QUICK_BYTES_MAX,
    QUICK_POINT_S, QUICK_TRIALS, TRIALS, TRIALS_MAX,
};
use crate::sim::units::{parse_count, parse_counts, parse_time};

/// `tern netpipe --help`.
pub const HELP: &str = "\
Usage: tern netpipe [what] [options]

Measures messages between two ranks over their size, beside raw TCP between the same two processes and beside other MPI
libraries, which take turns, and writes a table, JSON, pictures and a page with them.

What (several may be named; without any of them, --curves):
  --curves              ping-pong over sizes and their neighbours: latency and throughput, as NetPIPE draws them
  --comms1, --comms2    the GENESIS benchmarks, one way at a time and both at once: latency, r_inf, n_1/2
  --thresholds          throughput round several thresholds between eager and rendezvous, and the deepest dip
  --overlap             how much of a transfer computation hides, with TERN_PROGRESS=poll and thread; how soon a message is
                        there while its receiver computes; what the thread costs where there is nothing to hide
  --collective bcast    time of a broadcast against the number of hosts: by multicast, over TCP, and what the library chooses
  --all                 all of them but the last

Between what:
  --transport T         shm, tcp or auto (default): what Tern's messages take
  --host A,B            between these two hosts; without it both ranks are here
  --launcher CMD        what runs a command on a host, as for mpirun
  --hosts N-M           for --collective: N, 2N ... M of the hosts of --host, which may be this one under several names
  --algorithm A[,A...]  for --collective: these algorithms of Tern, or all, besides
  --peer NAME=MPICC,MPIRUN   compare with this MPI library as well
  --only NAMES          only these systems: tern, raw, raw-blocking, and names of peers
  --no-peers            do not look for other MPI libraries (in PATH, and beside the installation, as make bench puts
                        them)

How thoroughly:
  --quick               few sizes, little time
  --from B, --to B      smallest and largest message (default 1 and 16m); k and m are powers of 1024
  --bytes B[,B...]      for --collective: these sizes (default 8,2k,64k,1m,4m)
  --perturb B           measure each size also B bytes smaller and larger (default 3; 0: do not)
  --trials N            turns of every system (default 5)
  --point TIME          time for one size in one turn (default 20ms); it decides how often a message is sent

Results:
  --output DIR          where to write results.txt, results.json, index.html and pictures (default tern-netpipe); what
                        other hosts run or read meanwhile is there, too
";

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
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
    /// A broadcast over hosts.
    Bcast,
}

/// What carries Tern's messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
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
pub struct Place {
    /// What carries messages.
    pub transport: Transport,
    /// None: all here.
    pub hosts: Vec<String>,
    /// What runs a command on a host.
    pub launcher: Option<String>,
}

/// Another MPI library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What it is called.
    pub name: String,
    /// Its compiler wrapper.
    pub mpicc: PathBuf,
    /// Its launcher.
    pub mpirun: PathBuf,
}

/// The command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// In the order in which they come in the report.
    pub what: Vec<What>,
    pub place: Place,
    /// For collectives: the least and the most hosts.
    pub hosts: Option<(u32, u32)>,
    pub algorithms: Vec<String>,
    pub peers: Vec<Asked>,
    /// All, if it is empty.
    pub only: Vec<String>,
    pub look_for_peers: bool,
    pub quick: bool,
    pub from: u64,
    pub to: u64,
    /// Sizes of collectives.
    pub bytes: Vec<u64>,
    pub perturbation: u64,
    pub trials: u32,
    pub point_s: f64,
    pub output: PathBuf,
}

impl Options {
    fn new(quick: bool) -> Options {
        let (to, trials) = if quick { (QUICK_BYTES_MAX, QUICK_TRIALS) } else { (BYTES_MAX, TRIALS) };
        Options {
            what: Vec::new(),
            place: Place::default(),
            hosts: None,
            algorithms: Vec::new(),
            peers: Vec::new(),
            only: Vec::new(),
            look_for_peers: true,
            quick,
            from: 1,
            to,
            bytes: COLLECTIVE_BYTES.to_vec(),
            perturbation: if quick { 0 } else { PERTURBATION_BYTES },
            trials,
            point_s: if quick { QUICK_POINT_S } else { POINT_S },
            output: "tern-netpipe".into(),
        }
    }

    /// Reads the words after `netpipe`; `None` asks for help.
    pub fn parse(words: &[String]) -> Result<Option<Options>, String> {
        // What is quick gives way to what is said more exactly, wherever that stands.
        let mut options = Options::new(words.iter().any(|word| word == "--quick"));
        let mut rest = words.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            match word {
                "--help" | "-h" => return Ok(None),
                "--quick" => {}
                "--no-peers" => options.look_for_peers = false,
                _ if options.add_what(word) => {}
                _ => {
                    let value =
                        rest.next().ok_or_else(|| format!("{word} needs a value; see tern netpipe --help"));
                    options.set(word, value)?;
                }
            }
        }
        if options.what.is_empty() {
            options.what.push(What::Curves);
        }
        options.check()?;
        Ok(Some(options))
    }

    fn add_what(&mut self, word: &str) -> bool {
        let all = [What::Curves, What::Comms1, What::Comms2, What::Thresholds, What::Overlap];
        let names = ["--curves", "--comms1", "--comms2", "--thresholds", "--overlap"];
        let named = names.iter().zip(all).find(|(name, _)| **name == word).map(|(_, what)| what);
        let asked = if word == "--all" { all.to_vec() } else { named.into_iter().collect() };
        for what in &asked {
            self.add(*what);
        }
        !asked.is_empty()
    }

    fn add(&mut self, what: What) {
        if !self.what.contains(&what) {
            self.what.push(what);
        }
    }

    /// An option with a value. One that does not exist is named before a value is missed.
    fn set(&mut self, option: &str, value: Result<&str, String>) -> Result<(), String> {
        match option {
            "--transport" => self.place.transport = parse_transport(value?)?,
            "--host" => self.place.hosts = parse_names(value?)?,
            "--launcher" => self.place.launcher = Some(parse_launcher(value?)?),
            "--hosts" => self.hosts = Some(parse_range(value?)?),
            "--algorithm" => self.algorithms = parse_names(value?)?,
            "--collective" => match value? {
                "bcast" => self.add(What::Bcast),
                other => return Err(format!("'{other}' is not measured by tern netpipe; bcast is")),
            },
            "--peer" => self.peers.push(parse_peer(value?)?),
            "--only" => self.only = parse_names(value?)?,
            "--output" => self.output = value?.into(),
            _ => return self.set_effort(option, value),
        }
        Ok(())
    }

    fn set_effort(&mut self, option: &str, value: Result<&str, String>) -> Result<(), String> {
        match option {
            "--from" => self.from = parse_count(value?)?,
            "--to" => self.to = parse_count(value?)?,
            "--bytes" => self.bytes = parse_counts(value?)?,
            "--perturb" => self.perturbation = parse_count(value?)?,
            "--trials" => self.trials = parse_trials(value?)?,
            "--point" => self.point_s = parse_point(value?)?,
            _ => return Err(format!("there is no option '{option}'; see tern netpipe --help")),
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let hosts = self.place.hosts.len();
        let pair = self.what.iter().any(|what| *what != What::Bcast);
        if self.from < 1 || self.from > self.to || self.to > ASKED_BYTES_MAX {
            return Err(format!("--from {} --to {}: sizes go from 1 up to 1g", self.from, self.to));
        }
        if self.bytes.iter().any(|bytes| !(1..=ASKED_BYTES_MAX).contains(bytes)) {
            return Err("--bytes: sizes go from 1 up to 1g".into());
        }
        let is_pair = hosts == 0 || hosts == 2 || hosts > 2 && self.what.contains(&What::Bcast);
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
        if self.what.contains(&What::Bcast) {
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
        if self.what.contains(&What::Bcast) && (hosts < 2 || most > hosts) {
            return Err(format!(
                "--collective needs hosts: --host names {hosts}, and {} are to take part",
                most.max(2)
            ));
        }
        if self.hosts.is_some() && !self.what.contains(&What::Bcast) {
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
        if self.place.transport == Transport::Shm && hosts > 0 {
            return Err("--transport shm: hosts share no memory; leave out --host".into());
        }
        Ok(())
    }

    /// Whether a system takes part.
    pub fn wants(&self, system: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == system)
    }

    /// The least and the most hosts of a collective.
    pub fn host_range(&self) -> (u32, u32) {
        self.hosts.unwrap_or((2, self.place.hosts.len() as u32))
    }
}

impl Transport {
    /// Its value of `TERN_TRANSPORT`.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Auto => "auto",
            Transport::Shm => "shm",
            Transport::Tcp => "tcp",
        }
    }
}

impl Place {
    /// Whether messages between two ranks take the network: what two hosts share, or what is forced.
    pub fn is_network(&self) -> bool {
        self.transport == Transport::Tcp || !self.hosts.is_empty()
    }

    /// For people.
    pub fn describe(&self) -> String {
        match self.hosts.as_slice() {
            [] => format!("two ranks on this machine, transport {}", self.transport.name()),
            hosts => format!("hosts {}, transport {}", hosts.join(", "), self.transport.name()),
        }
    }
}

fn parse_transport(word: &str) -> Result<Transport, String> {
    let all = [Transport::Auto, Transport::Shm, Transport::Tcp];
    let found = all.into_iter().find(|transport| transport.name() == word);
    found.ok_or_else(|| format!("--transport is '{word}', but must be shm, tcp or auto"))
}

fn parse_names(words: &str) -> Result<Vec<String>, String> {
    let names: Vec<String> = words.split(',').map(|word| word.trim().to_owned()).collect();
    if names.iter().any(String::is_empty) { Err(format!("'{words}' has an empty name")) } else { Ok(names) }
}

/// As `mpirun` reads it.
fn parse_launcher(line: &str) -> Result<String, String> {
    let words = shlex::split(line).filter(|words| !words.is_empty());
    words
        .map(|_| line.into())
        .ok_or_else(|| format!("--launcher is '{line}', but must be a command with all its quotes closed"))
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
    range.ok_or_else(|| format!("--hosts is '{word}', but must be a range from 2 on, as in 2-16"))
}

fn parse_peer(word: &str) -> Result<Asked, String> {
    let parts = word.split_once('=').and_then(|(name, rest)| Some((name, rest.split_once(',')?)));
    let parts = parts.filter(|(name, _)| !name.is_empty());
    let (name, (mpicc, mpirun)) =
        parts.ok_or_else(|| format!("--peer is '{word}', but must be NAME=MPICC,MPIRUN"))?;
    Ok(Asked { name: name.into(), mpicc: mpicc.into(), mpirun: mpirun.into() })
}

fn parse_trials(word: &str) -> Result<u32, String> {
    let trials = word.parse().ok().filter(|trials| (1..=TRIALS_MAX).contains(trials));
    trials.ok_or_else(|| format!("--trials is '{word}', but must be a number from 1 to {TRIALS_MAX}"))
}

fn parse_point(word: &str) -> Result<f64, String> {
    let seconds = parse_time(word)? / 1e9;
    let point = Some(seconds).filter(|seconds| (1e-4..=60.0).contains(seconds));
    point.ok_or_else(|| format!("--point is '{word}', but must be from 100us to 60s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        Options::parse(&words).map(|options| options.expect("no --help"))
    }

    #[test]
    fn without_a_name_it_is_the_curves() {
        let options = parse("").unwrap();
        assert_eq!(options.what, [What::Curves]);
        assert_eq!((options.from, options.to, options.perturbation, options.trials), (1, 16 << 20, 3, 5));
        assert!(options.wants("tern") && options.wants("mpich"));
    }

    #[test]
    fn what_is_said_exactly_counts_more_than_quick() {
        let options = parse("--trials 7 --to 64k --quick --comms2 --curves --comms2").unwrap();
        assert_eq!((options.trials, options.to, options.perturbation), (7, 64 << 10, 0));
        assert_eq!(options.what, [What::Comms2, What::Curves]);
        assert_eq!(parse("--all").unwrap().what.len(), 5);
        assert!((parse("--point 1.5ms").unwrap().point_s - 1.5e-3).abs() < 1e-12);
    }

    #[test]
    fn hosts_and_peers() {
        let options = parse("--host a,b --launcher rsh --transport tcp --peer x=/p/mpicc,/p/mpirun").unwrap();
        let place = Place {
            transport: Transport::Tcp,
            hosts: vec!["a".into(), "b".into()],
            launcher: Some("rsh".into()),
        };
        assert_eq!(options.place, place);
        let peer = Asked { name: "x".into(), mpicc: "/p/mpicc".into(), mpirun: "/p/mpirun".into() };
        assert_eq!(options.peers, [peer]);
        let options =
            parse("--collective bcast --host a,b,c --hosts 2-3 --algorithm chain,binomial").unwrap();
        assert_eq!((options.what.as_slice(), options.host_range()), (&[What::Bcast][..], (2, 3)));
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
        assert!(refusal("--trials 0").contains("from 1 to"));
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
        assert!(refusal("--output").contains("--output needs a value"));
        assert_eq!(Options::parse(&["--help".into()]), Ok(None));
    }
}
