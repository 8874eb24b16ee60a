//! The command line of `tern sim`.

use super::units::{parse_count, parse_counts, parse_time};
use std::path::{Path, PathBuf};
use tern_coll::{Algorithm, Collective, algorithms, has_shm};
use tern_sim::faults::{Crash, Cut};
use tern_sim::{Faults, Params, Payload, Work};

/// `tern sim --help`.
pub const HELP: &str = "\
Usage: tern sim COLLECTIVE|pingpong|all [options]
       tern sim --choose [COLLECTIVE ...] [options]
       tern sim --check [--params FILE]
       tern sim --print-params [options]

Simulates all ranks of a job on one core, with the library's own engine and schedules, over a network after the LogGP
model, and prints what a call would take. The same options and seed give the same run, bit for bit.

What:
  --ranks N[,N...]      ranks (default 2,16,128); k and m are powers of 1024, here as everywhere
  --bytes B[,B...]      bytes of the call: the whole vector of a broadcast or reduction, one rank's block elsewhere
                        (default 8)
  --algorithm A|table|all
                        an algorithm of the collective, what the selection table chooses for messages, or all; default: as
                        the library does, over shared memory (shm) where all ranks are on one machine and it can, and
                        else as the table says
  --segment B           bytes of a segment, for algorithms that cut messages
  --root R              the root (default 0)
  --repeat K            each rank makes K calls, one after the other; times are per call
  --verify              move real bytes, and compare what every rank has with the definition (up to 1024 ranks)
  --messages-max M      leave out what would send more messages (default 1g)

On what machine:
  --params FILE         parameters; --print-params shows them all, tern tune measures those of this machine
  --ranks-per-host K, --ranks-per-core K, --hosts-per-switch K
  --multicast           its machines can be reached by multicast

Faults, drawn from a seed:
  --seed S              where all chance comes from (default 1)
  --loss P              part of the messages between machines that is lost and sent again after 1 ms, 2 ms...
  --jitter T            messages between machines take up to T longer, as in 5us; --skew T: ranks begin up to T later
  --crash R@T           rank R stops at time T
  --cut A-B@T[..U]      machines A and B cannot reach each other from time T (until U)

Results:
  --plot FILE.svg       draw time against ranks
  --choose              compare the selection table's choice with all algorithms
  --check               compare with real runs on this machine, with the parameters of a file that tern tune has
                        written here, or measured now; nothing else should run on the machine
";

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// How to ask.
    Help,
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
pub enum Which {
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
pub struct Options {
    pub task: Task,
    pub works: Vec<Work>,
    pub which: Which,
    pub segment_bytes: u64,
    pub ranks: Vec<u32>,
    pub bytes: Vec<u64>,
    pub root: u32,
    pub repeats: u32,
    pub payload: Payload,
    pub messages_max: u64,
    pub params: Params,
    /// They are those of a file.
    pub has_params: bool,
    pub faults: Faults,
    pub plot: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            task: Task::Simulate,
            works: Vec::new(),
            which: Which::Library,
            segment_bytes: 0,
            ranks: vec![2, 16, 128],
            bytes: vec![8],
            root: 0,
            repeats: 1,
            payload: Payload::Lengths,
            messages_max: 1 << 30,
            params: Params::default(),
            has_params: false,
            faults: Faults::default(),
            plot: None,
        }
    }
}

impl Options {
    /// Reads the words after `sim`.
    pub fn parse(words: &[String]) -> Result<Options, String> {
        let mut options = Options::default();
        let (mut names, mut given) = (Vec::new(), Vec::new());
        // The file first: what else is said changes what it says.
        if let Some(at) = words.iter().position(|word| word == "--params") {
            let file = words.get(at + 1).ok_or("--params needs a file")?;
            options.params = Params::read(Path::new(file)).map_err(|error| error.to_string())?;
            options.has_params = true;
        }
        let mut algorithm = None;
        let mut rest = words.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            given.extend(word.starts_with('-').then_some(word));
            match word {
                "--help" | "-h" => return Ok(Options { task: Task::Help, ..options }),
                "--print-params" => options.set_task(Task::PrintParams)?,
                "--choose" => options.set_task(Task::Choose)?,
                "--check" => options.set_task(Task::Check)?,
                "--multicast" => options.params.multicast = true,
                "--verify" => options.payload = Payload::Bytes,
                "--algorithm" => algorithm = Some(value(word, &mut rest)?),
                option if option.starts_with('-') && !HELP.contains(&format!("{option} ")) => {
                    return Err(unknown(option));
                }
                option if option.starts_with('-') => options.set(option, value(option, &mut rest)?)?,
                name => names.push(name),
            }
        }
        options.name_works(&names)?;
        options.which = options.which_of(algorithm)?;
        options.check_uses(&given)?;
        options.params.check().map_err(|error| error.to_string())?;
        options.check_cuts()?;
        Ok(options)
    }

    fn set_task(&mut self, task: Task) -> Result<(), String> {
        let is_other = ![Task::Simulate, task].contains(&self.task);
        self.task = task;
        if is_other { Err("--choose, --check and --print-params exclude each other".into()) } else { Ok(()) }
    }

    /// What would be passed over is refused, so that nobody takes a result for that of what was asked.
    fn check_uses(&self, given: &[&str]) -> Result<(), String> {
        let (task, unused): (_, &[&str]) = match self.task {
            Task::Choose => ("--choose", &["--algorithm", "--segment", "--plot"]),
            Task::Check if !self.works.is_empty() => {
                return Err("--check compares what it compares; it takes no name of a collective".into());
            }
            Task::Check => match given.iter().find(|option| !["--check", "--params"].contains(option)) {
                Some(other) => {
                    return Err(format!("{other} does not go with --check, which takes --params alone"));
                }
                None => return Ok(()),
            },
            Task::Simulate => return self.check_segment(),
            Task::Help | Task::PrintParams => return Ok(()),
        };
        match unused.iter().find(|option| given.contains(option)) {
            Some(option) => Err(format!("{option} does not go with {task}")),
            None if self.works.contains(&Work::PingPong) => {
                Err("a ping-pong has no algorithms to choose from".into())
            }
            None => Ok(()),
        }
    }

    /// Segments are for algorithms that cut messages; the table names its own.
    fn check_segment(&self) -> Result<(), String> {
        let cuts = match (self.which, &self.works[..]) {
            (Which::One(algorithm), [Work::Collective(collective)]) => {
                algorithm.segment_bytes(*collective).is_some()
            }
            (Which::Library | Which::Table, _) => false,
            _ => true,
        };
        if self.segment_bytes == 0 || cuts {
            return Ok(());
        }
        Err("--segment is for an algorithm that cuts messages, as in: bcast --algorithm chain --segment 32k; or for all".into())
    }

    /// A cut between machines that no job has would be none.
    fn check_cuts(&self) -> Result<(), String> {
        let ranks = self.ranks.iter().max().copied().unwrap_or(0);
        let machines = ranks.div_ceil(self.params.ranks_per_host);
        match self.faults.cuts.iter().find(|cut| cut.hosts.0.max(cut.hosts.1) >= machines) {
            Some(Cut { hosts: (one, other), .. }) => Err(format!(
                "machines {one} and {other} cannot be cut off from each other: {ranks} ranks with {} on a machine have machines \
                 0 to {}",
                self.params.ranks_per_host,
                machines.saturating_sub(1)
            )),
            None => Ok(()),
        }
    }

    /// An option with a value.
    fn set(&mut self, option: &str, value: &str) -> Result<(), String> {
        let some = || some_of(option, parse_count(value)?);
        match option {
            "--params" => {}
            "--ranks" => {
                let some = |number| some_of(option, number);
                self.ranks = parse_counts(value)?.into_iter().map(some).collect::<Result<_, _>>()?
            }
            "--bytes" => self.bytes = parse_counts(value)?,
            "--segment" => self.segment_bytes = some()?.into(),
            "--root" => self.root = small(parse_count(value)?)?,
            "--repeat" => self.repeats = some()?,
            "--messages-max" => self.messages_max = parse_count(value)?,
            "--ranks-per-host" => self.params.ranks_per_host = some()?,
            "--ranks-per-core" => self.params.ranks_per_core = some()?,
            "--hosts-per-switch" => self.params.hosts_per_switch = some()?,
            "--plot" => self.plot = Some(picture(value)?),
            _ => return self.set_fault(option, value),
        }
        Ok(())
    }

    fn set_fault(&mut self, option: &str, value: &str) -> Result<(), String> {
        let faults = &mut self.faults;
        match option {
            "--seed" => {
                faults.seed = value.parse().map_err(|_| format!("'{value}' is no seed: a number is"))?
            }
            "--loss" => {
                faults.loss = value.parse().map_err(|_| format!("'{value}' is no part, as in 0.001"))?;
            }
            "--jitter" => faults.jitter_ns = parse_time(value)?,
            "--skew" => faults.skew_ns = parse_time(value)?,
            "--crash" => faults.crashes.push(parse_crash(value)?),
            "--cut" => faults.cuts.push(parse_cut(value)?),
            _ => return Err(unknown(option)),
        }
        Ok(())
    }

    fn name_works(&mut self, names: &[&str]) -> Result<(), String> {
        let every = Collective::ALL.map(Work::Collective);
        for &name in names {
            match name {
                "pingpong" => self.works.push(Work::PingPong),
                "all" => self.works.extend(every),
                _ => self.works.push(Work::Collective(collective(name)?)),
            }
        }
        match (self.task, self.works.is_empty()) {
            (Task::Choose, true) => self.works.extend(every),
            (Task::Simulate, true) => {
                return Err(
                    "which collective? As in: tern sim allreduce --ranks 1k; or tern sim --help".into()
                );
            }
            _ => {}
        }
        Ok(())
    }

    fn which_of(&self, algorithm: Option<&str>) -> Result<Which, String> {
        let name = match algorithm {
            None => return Ok(Which::Library),
            Some("table") => return Ok(Which::Table),
            Some("all") => return Ok(Which::All),
            Some(name) => name,
        };
        let [Work::Collective(collective)] = self.works[..] else {
            return Err(format!("--algorithm {name} needs one collective that has it"));
        };
        Algorithm::named(collective, name).map(Which::One).ok_or_else(|| {
            let shared = has_shm(collective).then_some(Algorithm::Shm);
            let all = algorithms(collective).iter().copied().chain(shared);
            let names: Vec<_> = all.map(Algorithm::name).collect();
            format!("{collective} has no algorithm '{name}'; it has {}", names.join(", "))
        })
    }
}

fn value<'a>(option: &str, rest: &mut impl Iterator<Item = &'a str>) -> Result<&'a str, String> {
    rest.next().ok_or_else(|| format!("{option} needs a value"))
}

fn unknown(option: &str) -> String {
    format!("there is no option '{option}'; see tern sim --help")
}

fn some_of(option: &str, number: u64) -> Result<u32, String> {
    if number == 0 { Err(format!("{option} is 0, but must be at least 1")) } else { small(number) }
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
fn parse_cut(text: &str) -> Result<Cut, String> {
    let wrong = || format!("'{text}' is no cut, as in 0-3@10us..2ms");
    let (hosts, times) = text.split_once('@').ok_or_else(wrong)?;
    let (one, other) = hosts.split_once('-').ok_or_else(wrong)?;
    let hosts = (small(parse_count(one)?)?, small(parse_count(other)?)?);
    let (from, until) = times.split_once("..").map_or((times, None), |(from, until)| (from, Some(until)));
    let cut = Cut { hosts, from_ns: parse_time(from)?, until_ns: until.map(parse_time).transpose()? };
    if cut.hosts.0 == cut.hosts.1 {
        return Err(format!("'{text}' cuts off machine {one} from itself"));
    }
    let ends = cut.until_ns.is_none_or(|until| until > cut.from_ns);
    ends.then_some(cut).ok_or_else(|| format!("'{text}' ends before it begins"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_job_is_described() {
        let options =
            parse("allreduce --algorithm ring --ranks 2,1k --bytes 8,1m --ranks-per-host 4").unwrap();
        assert_eq!(options.works, [Work::Collective(Collective::Allreduce)]);
        assert_eq!((options.ranks, options.bytes), (vec![2, 1024], vec![8, 1 << 20]));
        assert_eq!((options.which, options.params.ranks_per_host), (Which::One(Algorithm::Ring), 4));
        assert!(!options.params.multicast && parse("bcast --multicast").unwrap().params.multicast);
        assert_eq!(parse("pingpong").unwrap().works, [Work::PingPong]);
        assert_eq!(parse("all --algorithm all").unwrap().which, Which::All);
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
        assert_eq!(faults.cuts, cuts.map(|(hosts, from_ns, until_ns)| Cut { hosts, from_ns, until_ns }));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let refusal = |line: &str| parse(line).map(drop).unwrap_err();
        assert!(refusal("allreduces").contains("'allreduces'"));
        assert!(refusal("allreduce --rank 3").contains("'--rank'"));
        assert!(refusal("allreduce --rank").contains("'--rank'"));
        assert!(refusal("bcast --plot bcast.png").contains(".svg"));
        assert!(refusal("bcast --ranks 128 --cut 0-2@1us").contains("machines 0 to 1"));
        assert!(refusal("bcast --algorithm bruck").contains("binomial"));
        assert!(refusal("all --algorithm ring").contains("one collective"));
        assert!(refusal("bcast --ranks").contains("--ranks needs"));
        assert!(refusal("bcast --cut 3@1us").contains("3@1us"));
        assert!(refusal("bcast --cut 1-1@1us").contains("from itself"));
        assert!(refusal("bcast --ranks-per-host 1 --cut 0-1@5us..1us").contains("before it begins"));
        assert!(refusal("").contains("which collective"));
        assert!(refusal("bcast --params /nonexistent/file").contains("/nonexistent/file"));
    }

    #[test]
    fn what_would_be_passed_over_is_refused() {
        let refusal = |line: &str| parse(line).map(drop).unwrap_err();
        assert!(refusal("--choose bcast --plot x.svg").contains("--plot does not go with --choose"));
        assert!(refusal("--choose bcast --algorithm chain").contains("--algorithm"));
        assert!(refusal("--choose pingpong").contains("ping-pong"));
        assert!(refusal("--check bcast").contains("no name"));
        assert!(refusal("--check --ranks 8").contains("--ranks does not go with --check"));
        assert!(refusal("--check --choose").contains("exclude"));
        for line in ["bcast --segment 1k", "bcast --algorithm binomial --segment 1k"] {
            assert!(refusal(line).contains("--segment is for"), "{line}");
        }
        for line in ["bcast --algorithm chain --segment 1k", "all --algorithm all --segment 1k", "--check"] {
            assert!(parse(line).is_ok(), "{line}");
        }
    }

    /// Nothing is taken for something else.
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
            assert_eq!(refusal, format!("{option} is 0, but must be at least 1"));
            assert!(parse(&format!("bcast --algorithm chain {option} 1")).is_ok(), "{option}");
        }
        assert!(parse("bcast --ranks 4,0").is_err());
        assert_eq!(parse("bcast --repeat 7").unwrap().repeats, 7);
    }
}
