//! The command line of `tern sim`.

use super::units::{parse_count, parse_time};
use clap::Args;
use std::path::{Path, PathBuf};
use tern_coll::{Algorithm, Collective, algorithms, has_shm};
use tern_sim::faults::{Crash, LinkCut};
use tern_sim::{InjectedFaults, Params, PayloadBytes, RankWork};

/// Simulate a collective on any number of ranks
///
/// All ranks of a job are simulated on one core, with the library's own engine and schedules, over a network after the LogGP
/// model. The same options and seed give the same run, bit for bit.
///
/// Numbers may end in k, m or g, which are powers of 1024.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
pub(crate) struct SimArguments {
    /// Collectives, as in allreduce; or pingpong, or all
    #[arg(value_name = "COLLECTIVE")]
    works: Vec<String>,

    /// Compare the selection table's choice with all algorithms
    #[arg(long, conflicts_with_all = ["check", "print_params", "algorithm", "segment", "plot"], help_heading = WHAT)]
    choose: bool,
    /// Compare with real runs on this machine, with the parameters of a file that tern tune has written here, or measured now;
    /// nothing else should run on the machine
    #[arg(long, conflicts_with_all = NOT_CHECKED, help_heading = WHAT)]
    check: bool,
    /// Price collective accesses to a file whose blocks the ranks have in turn: --bytes are those of one rank
    #[arg(long, conflicts_with_all = OF_COLLECTIVES, help_heading = WHAT)]
    io: bool,
    /// With --io: bytes of a block; without it 4k
    #[arg(long, value_name = "B", value_parser = parse_some, help_heading = WHAT)]
    block: Option<u32>,
    /// With --io: ranks that aggregate; without it, as many as the library takes
    #[arg(long, value_name = "N", value_parser = parse_some, help_heading = WHAT)]
    aggregators: Option<u32>,
    /// With --io: bytes of an aggregator's memory, as the hint cb_buffer_size says; without it 16m
    #[arg(long, value_name = "B", value_parser = parse_some, help_heading = WHAT)]
    buffer: Option<u32>,
    /// Price windows: MPI_Win_fence, and puts of all ranks to all others that end with one
    #[arg(long, conflicts_with = "io", conflicts_with_all = OF_COLLECTIVES, help_heading = WHAT)]
    rma: bool,
    /// With --rma: each rank puts to so many ranks behind it, rather than to all
    #[arg(long, value_name = "N", value_parser = parse_some, help_heading = WHAT)]
    targets: Option<u32>,
    /// Print all parameters, as a file for --params
    #[arg(long, conflicts_with = "check", help_heading = WHAT)]
    print_params: bool,
    /// Ranks, separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [2, 16, 128], value_parser = parse_some, help_heading = WHAT)]
    ranks: Vec<u32>,
    /// Bytes of the call: the whole vector of a broadcast or reduction, one rank's block elsewhere; separated by commas
    #[arg(long, value_name = "B", value_delimiter = ',', default_values_t = [8], default_value_if("io", "true", "4m"), value_parser = parse_count, help_heading = WHAT)]
    bytes: Vec<u64>,
    /// An algorithm of the collective; 'table': what the selection table chooses for messages; 'all'. Without it, as the library
    /// does: over shared memory where all ranks are on one machine, and else as the table says
    #[arg(long, value_name = "A", help_heading = WHAT)]
    algorithm: Option<String>,
    /// Bytes of a segment, for algorithms that cut messages
    #[arg(long, value_name = "B", value_parser = parse_some, help_heading = WHAT)]
    segment: Option<u32>,
    /// The root
    #[arg(long, value_name = "R", default_value_t = 0, help_heading = WHAT)]
    root: u32,
    /// Each rank makes K calls, one after the other; times are per call
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = parse_some, help_heading = WHAT)]
    repeat: u32,
    /// Move real bytes, and compare what every rank has with the definition (up to 1024 ranks)
    #[arg(long, help_heading = WHAT)]
    verify: bool,
    /// Leave out what would send more messages
    #[arg(long, value_name = "M", default_value = "1g", value_parser = parse_count, help_heading = WHAT)]
    messages_max: u64,

    /// Parameters; tern tune measures those of this machine
    #[arg(long, value_name = "FILE", help_heading = MACHINE)]
    params: Option<PathBuf>,
    /// Ranks of a machine
    #[arg(long, value_name = "K", value_parser = parse_some, help_heading = MACHINE)]
    ranks_per_host: Option<u32>,
    /// Ranks of a core
    #[arg(long, value_name = "K", value_parser = parse_some, help_heading = MACHINE)]
    ranks_per_core: Option<u32>,
    /// Machines of a switch
    #[arg(long, value_name = "K", value_parser = parse_some, help_heading = MACHINE)]
    hosts_per_switch: Option<u32>,
    /// Its machines can be reached by multicast
    #[arg(long, help_heading = MACHINE)]
    multicast: bool,

    /// Where all chance comes from
    #[arg(long, value_name = "S", default_value_t = 1, help_heading = FAULTS)]
    seed: u64,
    /// Part of the messages between hosts that is lost, as in 0.001, and sent again after 1 ms, 2 ms ...
    #[arg(long, value_name = "P", default_value_t = 0.0, help_heading = FAULTS)]
    loss: f64,
    /// Messages between hosts take up to so much longer, as in 5us
    #[arg(long, value_name = "T", default_value = "0", value_parser = parse_time, help_heading = FAULTS)]
    jitter: f64,
    /// Ranks begin up to so much later
    #[arg(long, value_name = "T", default_value = "0", value_parser = parse_time, help_heading = FAULTS)]
    skew: f64,
    /// Rank R stops at time T
    #[arg(long, value_name = "R@T", value_parser = parse_crash, help_heading = FAULTS)]
    crash: Vec<Crash>,
    /// Machines A and B cannot reach each other from time T (until U)
    #[arg(long, value_name = "A-B@T[..U]", value_parser = parse_cut, help_heading = FAULTS)]
    cut: Vec<LinkCut>,

    /// Draw time against ranks
    #[arg(long, value_name = "FILE.svg", value_parser = picture)]
    plot: Option<PathBuf>,
}

const WHAT: &str = "What";
const MACHINE: &str = "On what machine";
const FAULTS: &str = "Faults, drawn from the seed";

/// What would be passed over is refused, so that nobody takes a result for that of what was asked.
const NOT_CHECKED: [&str; 22] = [
    "io",
    "rma",
    "works",
    "ranks",
    "bytes",
    "algorithm",
    "segment",
    "root",
    "repeat",
    "verify",
    "messages_max",
    "ranks_per_host",
    "ranks_per_core",
    "hosts_per_switch",
    "multicast",
    "seed",
    "loss",
    "jitter",
    "skew",
    "crash",
    "cut",
    "plot",
];

/// Likewise: files and windows have no collective, no root and no faults.
const OF_COLLECTIVES: [&str; 17] = [
    "works",
    "choose",
    "print_params",
    "algorithm",
    "segment",
    "root",
    "repeat",
    "verify",
    "messages_max",
    "multicast",
    "seed",
    "loss",
    "jitter",
    "skew",
    "crash",
    "cut",
    "plot",
];

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Prices of collective accesses to files.
    Files,
    /// Prices of windows.
    Windows,
    /// The parameters, as a file.
    PrintParams,
    /// The simulator against real runs.
    Check,
    /// The selection table against all algorithms.
    Choose,
    /// Run jobs.
    Simulate,
}

/// Which algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AlgorithmChoice {
    /// As the library chooses for a blocking call.
    Library,
    /// The selection table's choice among schedules.
    Table,
    /// All that the collective has and that suit the call.
    All,
    /// This one.
    One(Algorithm),
}

/// The command line.
#[derive(Clone, Debug)]
pub(super) struct SimOptions {
    pub task: Task,
    pub works: Vec<RankWork>,
    pub which: AlgorithmChoice,
    pub segment_bytes: u64,
    pub ranks: Vec<u32>,
    pub bytes: Vec<u64>,
    pub root: u32,
    pub repeats: u32,
    pub payload: PayloadBytes,
    pub messages_max: u64,
    pub params: Params,
    /// They are those of a file.
    pub has_params: bool,
    pub faults: InjectedFaults,
    pub plot: Option<PathBuf>,
    pub files: FileOptions,
    /// With windows: to how many ranks each puts.
    pub targets: Option<u32>,
}

/// What is asked of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileOptions {
    pub block: u64,
    pub aggregators: Option<u32>,
    pub buffer: u64,
}

impl SimOptions {
    /// What the arguments ask for.
    pub(super) fn new(arguments: SimArguments) -> Result<SimOptions, String> {
        let task = arguments.task();
        if task != Task::Files
            && (arguments.block, arguments.aggregators, arguments.buffer) != (None, None, None)
        {
            return Err("--block, --aggregators and --buffer go with --io".into());
        }
        if task != Task::Windows && arguments.targets.is_some() {
            return Err("--targets goes with --rma".into());
        }
        let works = works(task, &arguments.works)?;
        let options = SimOptions {
            which: which_of(&works, arguments.algorithm.as_deref())?,
            segment_bytes: arguments.segment.unwrap_or(0).into(),
            payload: if arguments.verify { PayloadBytes::Bytes } else { PayloadBytes::Lengths },
            has_params: arguments.params.is_some(),
            params: arguments.machine()?,
            faults: arguments.faults(),
            ranks: arguments.ranks,
            bytes: arguments.bytes,
            root: arguments.root,
            repeats: arguments.repeat,
            messages_max: arguments.messages_max,
            plot: arguments.plot,
            targets: arguments.targets,
            files: FileOptions {
                block: arguments.block.unwrap_or(4 << 10).into(),
                aggregators: arguments.aggregators,
                buffer: arguments.buffer.unwrap_or(16 << 20).into(),
            },
            task,
            works,
        };
        options.check_choice()?;
        options.params.check().map_err(|error| error.to_string())?;
        options.check_cuts()?;
        Ok(options)
    }

    fn check_choice(&self) -> Result<(), String> {
        match self.task {
            Task::Choose if self.works.contains(&RankWork::PingPong) => {
                Err("a ping-pong has no algorithms to choose from".into())
            }
            Task::Simulate => self.check_segment(),
            _ => Ok(()),
        }
    }

    /// Segments are for algorithms that cut messages; the table names its own.
    fn check_segment(&self) -> Result<(), String> {
        let cuts = match (self.which, &self.works[..]) {
            (AlgorithmChoice::One(algorithm), [RankWork::Collective(collective)]) => {
                algorithm.segment_bytes(*collective).is_some()
            }
            (AlgorithmChoice::Library | AlgorithmChoice::Table, _) => false,
            _ => true,
        };
        if self.segment_bytes == 0 || cuts {
            return Ok(());
        }
        Err("--segment is for an algorithm that cuts messages, as in: bcast --algorithm chain --segment 32k; or for all".into())
    }

    /// A cut between hosts that no job has would be none.
    fn check_cuts(&self) -> Result<(), String> {
        let ranks = self.ranks.iter().max().copied().unwrap_or(0);
        let machines = ranks.div_ceil(self.params.ranks_per_host);
        match self.faults.cuts.iter().find(|cut| cut.hosts.0.max(cut.hosts.1) >= machines) {
            Some(LinkCut { hosts: (one, other), .. }) => Err(format!(
                "machines {one} and {other} cannot be cut off from each other: {ranks} ranks with {} on a machine have machines \
                 0 to {}",
                self.params.ranks_per_host,
                machines.saturating_sub(1)
            )),
            None => Ok(()),
        }
    }
}

impl SimArguments {
    fn task(&self) -> Task {
        if self.io {
            return Task::Files;
        }
        if self.rma {
            return Task::Windows;
        }
        match (self.print_params, self.check, self.choose) {
            (true, ..) => Task::PrintParams,
            (_, true, _) => Task::Check,
            (_, _, true) => Task::Choose,
            _ => Task::Simulate,
        }
    }

    /// The file's parameters, and what is said besides.
    fn machine(&self) -> Result<Params, String> {
        let read = self.params.as_deref().map(Params::read).transpose();
        let mut params = read.map_err(|error| error.to_string())?.unwrap_or_default();
        params.multicast |= self.multicast;
        let given = [
            (&mut params.ranks_per_host, self.ranks_per_host),
            (&mut params.ranks_per_core, self.ranks_per_core),
            (&mut params.hosts_per_switch, self.hosts_per_switch),
        ];
        for (parameter, value) in given {
            *parameter = value.unwrap_or(*parameter);
        }
        Ok(params)
    }

    fn faults(&self) -> InjectedFaults {
        InjectedFaults {
            seed: self.seed,
            loss: self.loss,
            jitter_ns: self.jitter,
            skew_ns: self.skew,
            crashes: self.crash.clone(),
            cuts: self.cut.clone(),
            ..InjectedFaults::default()
        }
    }
}

fn works(task: Task, names: &[String]) -> Result<Vec<RankWork>, String> {
    let every = Collective::ALL.map(RankWork::Collective);
    let mut works = Vec::new();
    for name in names {
        match name.as_str() {
            "pingpong" => works.push(RankWork::PingPong),
            "all" => works.extend(every),
            _ => works.push(RankWork::Collective(collective(name)?)),
        }
    }
    match (task, works.is_empty()) {
        (Task::Choose, true) => Ok(every.to_vec()),
        (Task::Simulate, true) => {
            Err("which collective? As in: tern sim allreduce --ranks 1k; or tern sim --help".into())
        }
        _ => Ok(works),
    }
}

fn which_of(works: &[RankWork], algorithm: Option<&str>) -> Result<AlgorithmChoice, String> {
    let name = match algorithm {
        None => return Ok(AlgorithmChoice::Library),
        Some("table") => return Ok(AlgorithmChoice::Table),
        Some("all") => return Ok(AlgorithmChoice::All),
        Some(name) => name,
    };
    let &[RankWork::Collective(collective)] = works else {
        return Err(format!("--algorithm {name} needs one collective that has it"));
    };
    Algorithm::named(collective, name).map(AlgorithmChoice::One).ok_or_else(|| {
        let shared = has_shm(collective).then_some(Algorithm::Shm);
        let all = algorithms(collective).iter().copied().chain(shared);
        let names: Vec<_> = all.map(Algorithm::name).collect();
        format!("{collective} has no algorithm '{name}'; it has {}", names.join(", "))
    })
}

/// Nothing is taken for something else.
fn parse_some(text: &str) -> Result<u32, String> {
    let number = parse_count(text)?;
    if number == 0 { Err("it must be at least 1".into()) } else { small(number) }
}

fn picture(name: &str) -> Result<PathBuf, String> {
    let is_svg = Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg"));
    is_svg.then(|| name.into()).ok_or_else(|| format!("--plot draws SVG: '{name}' must end in .svg"))
}

fn small(number: u64) -> Result<u32, String> {
    u32::try_from(number).map_err(|_| format!("{number} is too large"))
}

fn collective(name: &str) -> Result<Collective, String> {
    let found = Collective::ALL.into_iter().find(|collective| collective.name() == name);
    found.ok_or_else(|| format!("there is no collective '{name}', as in allreduce, bcast or reduce_scatter"))
}

/// `RANK@TIME`.
fn parse_crash(text: &str) -> Result<Crash, String> {
    let (rank, at) = text.split_once('@').ok_or_else(|| format!("'{text}' is no crash, as in 5@10us"))?;
    Ok(Crash { rank: small(parse_count(rank)?)?, at_ns: parse_time(at)? })
}

/// `HOST-HOST@FROM[..UNTIL]`.
fn parse_cut(text: &str) -> Result<LinkCut, String> {
    let wrong = || format!("'{text}' is no cut, as in 0-3@10us..2ms");
    let (hosts, times) = text.split_once('@').ok_or_else(wrong)?;
    let (one, other) = hosts.split_once('-').ok_or_else(wrong)?;
    let hosts = (small(parse_count(one)?)?, small(parse_count(other)?)?);
    let (from, until) = times.split_once("..").map_or((times, None), |(from, until)| (from, Some(until)));
    let cut = LinkCut { hosts, from_ns: parse_time(from)?, until_ns: until.map(parse_time).transpose()? };
    if cut.hosts.0 == cut.hosts.1 {
        return Err(format!("'{text}' cuts off machine {one} from itself"));
    }
    let ends = cut.until_ns.is_none_or(|until| until > cut.from_ns);
    ends.then_some(cut).ok_or_else(|| format!("'{text}' ends before it begins"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: SimArguments,
    }

    /// What the words after `tern sim` ask for.
    pub(crate) fn parse(line: &str) -> Result<SimOptions, String> {
        let words = ["sim"].into_iter().chain(line.split_whitespace());
        SimOptions::new(Line::try_parse_from(words).map_err(|error| error.to_string())?.arguments)
    }

    #[test]
    fn a_job_is_described() {
        let options =
            parse("allreduce --algorithm ring --ranks 2,1k --bytes 8,1m --ranks-per-host 4").unwrap();
        assert_eq!(options.works, [RankWork::Collective(Collective::Allreduce)]);
        assert_eq!((options.ranks, options.bytes), (vec![2, 1024], vec![8, 1 << 20]));
        assert_eq!(
            (options.which, options.params.ranks_per_host),
            (AlgorithmChoice::One(Algorithm::Ring), 4)
        );
        assert!(!options.params.multicast && parse("bcast --multicast").unwrap().params.multicast);
        assert_eq!(parse("pingpong").unwrap().works, [RankWork::PingPong]);
        assert_eq!(parse("all --algorithm all").unwrap().which, AlgorithmChoice::All);
    }

    #[test]
    fn files_are_described() {
        let options = parse("--io --ranks 8 --block 64k --aggregators 2").unwrap();
        assert_eq!((options.task, &options.bytes[..]), (Task::Files, &[4 << 20][..]));
        assert_eq!(options.files, FileOptions { block: 64 << 10, aggregators: Some(2), buffer: 16 << 20 });
        assert!(
            parse("--io bcast").is_err()
                && parse("bcast --block 4k").is_err()
                && parse("--io --loss 0.1").is_err()
        );
    }

    #[test]
    fn faults_are_described() {
        let faults = parse(
            "barrier --ranks-per-host 1 --loss 0.01 --seed 7 --crash 5@2us --cut 0-3@1us..2us --cut 1-2@5",
        )
        .unwrap()
        .faults;
        assert_eq!((faults.loss, faults.seed), (0.01, 7));
        assert_eq!(faults.crashes, [Crash { rank: 5, at_ns: 2000.0 }]);
        let cuts = [((0, 3), 1000.0, Some(2000.0)), ((1, 2), 5.0, None)];
        assert_eq!(faults.cuts, cuts.map(|(hosts, from_ns, until_ns)| LinkCut { hosts, from_ns, until_ns }));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let refusal = |line: &str| parse(line).map(drop).unwrap_err();
        assert!(refusal("allreduces").contains("'allreduces'"));
        assert!(refusal("allreduce --rank 3").contains("'--rank'"));
        assert!(
            refusal("allreduce --rank").contains("'--rank'")
                && refusal("allreduce --rank").contains("'--ranks'")
        );
        assert!(refusal("bcast --plot bcast.png").contains(".svg"));
        assert!(refusal("bcast --ranks 128 --cut 0-2@1us").contains("machines 0 to 1"));
        assert!(refusal("bcast --algorithm bruck").contains("binomial"));
        assert!(refusal("all --algorithm ring").contains("one collective"));
        assert!(refusal("bcast --ranks").contains("'--ranks <N>'"));
        assert!(refusal("bcast --cut 3@1us").contains("3@1us"));
        assert!(refusal("bcast --cut 1-1@1us").contains("from itself"));
        assert!(refusal("bcast --ranks-per-host 1 --cut 0-1@5us..1us").contains("before it begins"));
        assert!(refusal("").contains("which collective"));
        assert!(refusal("bcast --params /nonexistent/file").contains("/nonexistent/file"));
    }

    #[test]
    fn what_would_be_passed_over_is_refused() {
        let refusal = |line: &str| parse(line).map(drop).unwrap_err();
        assert!(refusal("--choose bcast --plot x.svg").contains("--plot"));
        assert!(refusal("--choose bcast --algorithm chain").contains("--algorithm"));
        assert!(refusal("--choose pingpong").contains("ping-pong"));
        assert!(refusal("--check bcast").contains("--check"));
        assert!(refusal("--check --ranks 8").contains("--ranks"));
        assert!(refusal("--check --choose").contains("cannot be used with"));
        for line in ["bcast --segment 1k", "bcast --algorithm binomial --segment 1k"] {
            assert!(refusal(line).contains("--segment is for"), "{line}");
        }
        for line in ["bcast --algorithm chain --segment 1k", "all --algorithm all --segment 1k", "--check"] {
            assert!(parse(line).is_ok(), "{line}");
        }
    }

    #[test]
    fn none_of_what_is_counted_is_refused() {
        let options = [
            "--ranks",
            "--repeat",
            "--segment",
            "--ranks-per-host",
            "--ranks-per-core",
            "--hosts-per-switch",
        ];
        for option in options {
            let refusal = parse(&format!("bcast {option} 0")).map(drop).unwrap_err();
            assert!(refusal.contains(option) && refusal.contains("it must be at least 1"), "{refusal}");
            assert!(parse(&format!("bcast --algorithm chain {option} 1")).is_ok(), "{option}");
        }
        assert!(parse("bcast --ranks 4,0").is_err());
        assert_eq!(parse("bcast --repeat 7").unwrap().repeats, 7);
    }
}
