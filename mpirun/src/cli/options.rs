//! What the options of the command line mean.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};
use tern_job::limits::{PROCESSORS_MAX, RANKS_MAX};
use tern_job::ranges;

use crate::cli::dashes::{ProgramArguments, segments};
use crate::cli::definition::{self, PROGRAM};
use crate::cli::habits;
use crate::cli::standard;
use crate::cli::table::{OptionKey, OptionRow, find};
use crate::launch::family::Abi;
use crate::launch::launcher;
use crate::output::files::FileNamePattern;
use crate::plan::map_by::{MapBy, parse_count};
use crate::plan::{App, PlanSettings, StdinTo};
use crate::watch::exit_cause::Refusal;

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub(crate) enum CommandRequest {
    /// Print the help.
    Help,
    /// Print the version.
    Version,
    /// Print what this `mpirun` is.
    Info,
    /// Run a job.
    Run(Box<PlanSettings>),
}

/// Variables that set the timeout where no option does.
const TIMEOUT_VARIABLES: [&str; 2] = ["TERN_TIMEOUT", "MPIEXEC_TIMEOUT"];

/// The variable by which ranks learn their network interfaces.
const INTERFACE_VARIABLE: &str = "TERN_INTERFACE";
/// The variable by which ranks learn that they are to count.
const STATS_VARIABLE: &str = "TERN_STATS";

/// No program was named.
const NO_PROGRAM: &str = "which program is to be run? Try: mpirun -n 4 ./program, or mpirun --help";

/// Reads the command line. `variable` reads the environment.
pub(crate) fn parse(
    arguments: Vec<OsString>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<CommandRequest, Refusal> {
    let mut command = definition::command();
    let mut settings = PlanSettings::default();
    for segment in segments(arguments)? {
        if let Some(request) = read(&mut command, segment, &mut settings)? {
            return Ok(request);
        }
    }
    let timeout = match settings.timeout {
        None => timeout_of_environment(variable)?,
        given => given,
    };
    settings.timeout = timeout.filter(|time| !time.is_zero());
    Ok(CommandRequest::Run(Box::new(settings)))
}

fn timeout_of_environment(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Duration>, Refusal> {
    for name in TIMEOUT_VARIABLES {
        if let Some(value) = variable(name).filter(|value| !value.is_empty()) {
            return seconds(name, &value).map(Some);
        }
    }
    Ok(None)
}

/// Reads one program with its options.
fn read(
    command: &mut Command,
    segment: ProgramArguments,
    settings: &mut PlanSettings,
) -> Result<Option<CommandRequest>, Refusal> {
    let words = std::iter::once(OsStr::new("mpirun")).chain(segment.words.iter().map(OsString::as_os_str));
    let mut matches = match command.try_get_matches_from_mut(words) {
        Ok(matches) => matches,
        Err(error) => return requested(&error, &segment),
    };
    let mut app = App::default();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for (id, name) in &segment.typed {
        let Some(row) = find(id) else { continue };
        if row.2 == OptionKey::Info {
            return Ok(Some(CommandRequest::Info));
        }
        let nth = uses.entry(id).or_default();
        apply(row, name, values(&matches, row, *nth), settings, &mut app)?;
        *nth += 1;
    }
    take_program(&mut matches, &mut app, settings.apps.is_empty())?;
    if let Some(set) = &app.soft {
        app.count = Some(standard::soft(set, app.count.unwrap_or_else(tern_job::cores))?);
    }
    settings.apps.push(app);
    Ok(None)
}

/// The values of one use of an option.
fn values(matches: &ArgMatches, row: &OptionRow, nth: usize) -> Vec<OsString> {
    if row.1.is_empty() {
        return Vec::new();
    }
    let mut uses = matches.get_occurrences::<OsString>(row.id()).into_iter().flatten();
    uses.nth(nth).into_iter().flatten().cloned().collect()
}

fn take_program(matches: &mut ArgMatches, app: &mut App, first: bool) -> Result<(), Refusal> {
    let mut words = matches.remove_many::<OsString>(PROGRAM).into_iter().flatten();
    match words.next() {
        Some(word) if !word.is_empty() => app.program = word,
        _ if first => return Err(Refusal::usage(NO_PROGRAM.into())),
        _ => return Err(Refusal::usage("a ':' must be followed by another program".into())),
    }
    app.arguments = words.collect();
    Ok(())
}

/// What the parser stopped at: a question, or a mistake, which is said in one line.
fn requested(error: &clap::Error, segment: &ProgramArguments) -> Result<Option<CommandRequest>, Refusal> {
    match error.kind() {
        ErrorKind::DisplayHelp => Ok(Some(CommandRequest::Help)),
        ErrorKind::DisplayVersion => Ok(Some(CommandRequest::Version)),
        ErrorKind::UnknownArgument => Err(unknown(error, segment)),
        _ => Err(wrong_values(error, segment)),
    }
}

fn context(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

fn unknown(error: &clap::Error, segment: &ProgramArguments) -> Refusal {
    let word = segment.unknown.as_ref().map(|word| word.to_string_lossy().into_owned());
    let word = word.or_else(|| context(error, ContextKind::InvalidArg)).unwrap_or_default();
    let hint = match context(error, ContextKind::SuggestedArg).filter(|close| is_close(&word, close)) {
        Some(close) => format!(": did you mean {close}?"),
        None => "; mpirun --help lists the options, and options of the program come after its name".into(),
    };
    Refusal::usage(format!("there is no option {word}{hint}"))
}

/// Whether a user may have meant this: a third of the letters are other ones at most.
fn is_close(word: &str, known: &str) -> bool {
    let [word, known] = [word, known].map(|option| option.trim_start_matches('-'));
    strsim::damerau_levenshtein(word, known) <= (known.len() / 3).max(1).min(word.len() / 2)
}

/// Too few values, or one where there must be none. The parser names the option as `--np <N>`.
fn wrong_values(error: &clap::Error, segment: &ProgramArguments) -> Refusal {
    let shown = context(error, ContextKind::InvalidArg).unwrap_or_default();
    let id = shown.trim_start_matches('-').split(' ').next().unwrap_or_default();
    let name = segment.typed.iter().rfind(|(typed, _)| *typed == id).map_or(id, |(_, name)| name);
    Refusal::usage(match find(id).map_or(0, |row| row.1.len()) {
        0 => format!("option {} takes no value", dashed(name)),
        1 => format!("option {} needs a value", dashed(name)),
        count => format!("option {} needs {count} values", dashed(name)),
    })
}

fn apply(
    row: &OptionRow,
    name: &str,
    values: Vec<OsString>,
    settings: &mut PlanSettings,
    app: &mut App,
) -> Result<(), Refusal> {
    let mut values = values.into_iter();
    let mut raw = || values.next().unwrap_or_default();
    match row.2 {
        OptionKey::Count => app.count = Some(number_of("ranks", name, &text(name, raw())?)?),
        OptionKey::Directory => app.directory = Some(raw()),
        OptionKey::Soft => app.soft = Some(text(name, raw())?),
        OptionKey::Architecture => standard::check_architecture(&text(name, raw())?)?,
        OptionKey::Abi => app.abi = abi(&text(name, raw())?)?,
        OptionKey::Path => app.path = Some(raw()),
        OptionKey::InitialErrhandler => {
            app.environment.push(standard::initial_errhandler(&text(name, raw())?)?);
        }
        OptionKey::Env => app.environment.push(pair(name, raw(), raw())?),
        OptionKey::GlobalEnv => settings.environment.push(pair(name, raw(), raw())?),
        OptionKey::Export => export(settings, name, raw())?,
        OptionKey::Interface => settings.environment.push((INTERFACE_VARIABLE.into(), raw())),
        OptionKey::Tag => settings.output.tag = true,
        OptionKey::Timestamp => settings.output.timestamp = true,
        OptionKey::Merge => settings.output.merge = true,
        OptionKey::Output => habits::output(settings, &text(name, raw())?)?,
        OptionKey::OutputFiles => settings.output.set_folder(&text(name, raw())?),
        OptionKey::OutPattern => {
            settings.output.files[0] = Some(FileNamePattern::parse(name, &text(name, raw())?)?)
        }
        OptionKey::ErrPattern => {
            settings.output.files[1] = Some(FileNamePattern::parse(name, &text(name, raw())?)?)
        }
        OptionKey::Quiet => settings.quiet = true,
        OptionKey::Timeout => settings.timeout = Some(seconds("--timeout", &text(name, raw())?)?),
        OptionKey::Stdin => settings.stdin = stdin_to(&text(name, raw())?)?,
        OptionKey::Bind => habits::bind_to(settings, &text(name, raw())?)?,
        OptionKey::BindFixed(to) => settings.bind.take(to)?,
        OptionKey::CpuSet => settings.bind.cpus = cpu_set(name, &text(name, raw())?)?,
        OptionKey::ReportBindings => settings.report_bindings = true,
        OptionKey::Display => habits::display(settings, &text(name, raw())?)?,
        OptionKey::Host => app.hosts.extend(text(name, raw())?.split(',').map(String::from)),
        OptionKey::Hostfile => settings.hostfile = Some(raw().into()),
        OptionKey::RankFile => settings.rankfile = Some(raw().into()),
        OptionKey::MapBy => habits::map_by(settings, &text(name, raw())?)?,
        OptionKey::MapFixed(way) => habits::map_by(settings, way)?,
        OptionKey::PerSocket => habits::map_by(settings, &format!("ppr:{}:socket", text(name, raw())?))?,
        OptionKey::HwThreadCpus => settings.bind.threads = true,
        OptionKey::NoLocal => settings.nolocal = true,
        OptionKey::CoresPerRank => settings.bind.widen(number_of("cores", name, &text(name, raw())?)?),
        OptionKey::PerNode => {
            settings.map_by = MapBy::PerNode(number_of("ranks", name, &text(name, raw())?)?);
            settings.per_node_is_limit = ["N", "npernode"].contains(&name);
        }
        OptionKey::RankBy => habits::rank_by(settings, &text(name, raw())?)?,
        OptionKey::NoOversubscribe => settings.slots_bind = true,
        OptionKey::ShowMap => settings.show_map = true,
        OptionKey::ShowAllocation => settings.show_allocation = true,
        OptionKey::DryRun => settings.dry_run = true,
        OptionKey::Launcher => settings.set_launcher(launcher(&text(name, raw())?)?),
        OptionKey::Bootstrap => settings.set_launcher(habits::bootstrap(&text(name, raw())?)?),
        OptionKey::Prefix => settings.prefix = Some(text(name, raw())?),
        OptionKey::Tree => settings.tree = Some(number_of("hosts", name, &text(name, raw())?)?),
        OptionKey::Verbose => settings.verbose = true,
        OptionKey::Stats => {
            settings.stats = true;
            settings.environment.push((STATS_VARIABLE.into(), "1".into()));
        }
        OptionKey::MemoryKinds => app.environment.push(standard::memory_alloc_kinds(raw())),
        OptionKey::Mca => habits::mca(settings, name, &text(name, raw())?, &text(name, raw())?),
        OptionKey::NoEffect => settings.without_effect.push(dashed(name)),
        OptionKey::Remark(remark) => {
            settings.remarks.push(format!("option {} changes nothing: {remark}", dashed(name)));
        }
        OptionKey::Instead(instead) => {
            return Err(Refusal::usage(format!("option {} is not built here: {instead}", dashed(name))));
        }
        OptionKey::ConfigFile | OptionKey::Info | OptionKey::Help | OptionKey::Version => {}
    }
    Ok(())
}

/// An option as it is typed: one of a letter has one dash.
fn dashed(name: &str) -> String {
    format!("{}{name}", if name.chars().count() == 1 { "-" } else { "--" })
}

fn abi(value: &str) -> Result<Abi, Refusal> {
    Abi::parse(value).ok_or_else(|| {
        Refusal::usage(format!("option --abi: '{value}' is none of mpich, openmpi, standard and auto"))
    })
}

fn cpu_set(name: &str, value: &str) -> Result<Vec<u32>, Refusal> {
    ranges::parse(value, PROCESSORS_MAX).ok_or_else(|| {
        Refusal::usage(format!("option {}: '{value}' is no list of processors such as 0-3,8", dashed(name)))
    })
}

fn text(name: &str, value: OsString) -> Result<String, Refusal> {
    value
        .into_string()
        .map_err(|value| Refusal::usage(format!("option {}: {value:?} is not text", dashed(name))))
}

fn number_of(what: &str, name: &str, value: &str) -> Result<u32, Refusal> {
    parse_count(value).ok_or_else(|| {
        Refusal::usage(format!(
            "option {}: '{value}' is no number of {what} from 1 to {RANKS_MAX}",
            dashed(name)
        ))
    })
}

/// A command with its own options, such as `ssh -p 2222`.
fn launcher(value: &str) -> Result<Vec<String>, Refusal> {
    if let Some(known) = habits::known_launcher(value) {
        return known;
    }
    launcher::words(value).ok_or_else(|| {
        Refusal::usage(format!("option --launcher needs a command with all its quotes closed, not '{value}'"))
    })
}

/// A time; 0 is no limit, as others have it.
fn seconds(what: &str, value: &str) -> Result<Duration, Refusal> {
    let seconds: Option<f64> = value.parse().ok();
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero() || seconds == Some(0.0)).ok_or_else(|| {
        Refusal::usage(format!("{what}: '{value}' is neither 0 nor a number of seconds from 1e-9 to 1.8e19"))
    })
}

fn stdin_to(value: &str) -> Result<StdinTo, Refusal> {
    match value {
        "all" => Ok(StdinTo::All),
        "none" => Ok(StdinTo::None),
        _ => value.parse().map(StdinTo::Rank).map_err(|_| {
            let most = RANKS_MAX - 1;
            Refusal::usage(format!(
                "option --stdin: '{value}' is neither a rank from 0 to {most} nor 'all' nor 'none'"
            ))
        }),
    }
}

/// A name that is empty cannot stand in an environment. What follows its first `=` is the value.
fn pair(option: &str, name: OsString, value: OsString) -> Result<(OsString, OsString), Refusal> {
    if name.is_empty() {
        return Err(Refusal::usage(format!("option {}: a variable needs a name", dashed(option))));
    }
    Ok((name, value))
}

/// `-x NAME=VALUE` sets; `-x NAME` and `-x 'START*'` pass on what is passed on anyway.
fn export(settings: &mut PlanSettings, option: &str, value: OsString) -> Result<(), Refusal> {
    let bytes = value.as_bytes();
    if let Some(at) = bytes.iter().position(|&byte| byte == b'=') {
        let [name, value] = [&bytes[..at], &bytes[at + 1..]].map(|bytes| OsString::from_vec(bytes.to_vec()));
        settings.environment.push(pair(option, name, value)?);
        return Ok(());
    }
    let is_set = match bytes.strip_suffix(b"*") {
        Some(start) => std::env::vars_os().any(|(name, _)| name.as_bytes().starts_with(start)),
        None => std::env::var_os(&value).is_some(),
    };
    if !is_set {
        let (option, name) = (dashed(option), value.to_string_lossy());
        settings.remarks.push(format!(
            "option {option} {name} changes nothing: no such variable is set; {option} NAME=VALUE sets one"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::table::rows;

    fn parse_line(line: &str) -> Result<CommandRequest, Refusal> {
        parse(line.split_whitespace().map(OsString::from).collect(), |_| None)
    }

    fn run(line: &str) -> PlanSettings {
        match parse_line(line) {
            Ok(CommandRequest::Run(settings)) => *settings,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn refusal(line: &str) -> String {
        parse_line(line).unwrap_err().to_string()
    }

    #[test]
    fn both_dash_styles_and_equals_signs() {
        for line in ["-n 4 a", "--n 4 a", "-np 4 a", "--np=4 a", "-c 4 a", "-n=4 a"] {
            assert_eq!(run(line).apps[0].count, Some(4), "{line}");
        }
        assert!(run("-tag-output a").output.tag && run("--l a").output.tag);
    }

    #[test]
    fn what_follows_the_program_is_its_own() {
        let settings = run("-n 2 a -n 3 --help");
        assert_eq!(settings.apps[0].arguments, ["-n", "3", "--help"]);
        assert_eq!(run("-n 2 -- -odd").apps[0].program, "-odd");
    }

    #[test]
    fn several_programs() {
        let settings = run("-n 2 -wdir /tmp a x : -n 3 -env K V b : c");
        let counts: Vec<_> = settings.apps.iter().map(|app| app.count).collect();
        assert_eq!(counts, [Some(2), Some(3), None]);
        assert_eq!(settings.apps[0].directory, Some("/tmp".into()));
        assert_eq!(settings.apps[1].environment, [("K".into(), "V".into())]);
        assert_eq!(settings.apps[2].program, "c");
        assert!(refusal("a :").contains("':'"));
        assert!(refusal(": a").contains("which program"));
    }

    #[test]
    fn options_that_the_standard_names() {
        let settings = run("-n 7 -soft 2:8:2 -path /a:/b -initial-errhandler mpi_errors_return a : -n 1 b");
        let app = &settings.apps[0];
        assert_eq!((app.count, app.path.as_deref()), (Some(6), Some("/a:/b".as_ref())));
        assert_eq!(app.environment, [("TERN_INITIAL_ERRHANDLER".into(), "mpi_errors_return".into())]);
        assert_eq!(settings.apps[1].environment, []);
        assert!(refusal("-n 2 -soft 3:4 a").contains("allows no number"));
        assert!(refusal("-arch vax a").contains("vax"));
    }

    #[test]
    fn variables() {
        let settings = run("-genv A 1 -x B=2=3 a");
        assert_eq!(settings.environment, [("A".into(), "1".into()), ("B".into(), "2=3".into())]);
        for names in ["TERN_SURELY_NOT_SET", "TERN_SURELY_NOT*"] {
            let remarks = run(&format!("-x {names} a")).remarks;
            assert!(
                remarks.len() == 1 && remarks[0].contains(&format!("-x {names} changes nothing")),
                "{remarks:?}"
            );
        }
        assert!(run("-x PATH -x PA* a").remarks.is_empty());
        assert_eq!(
            run("-genv A=1 -x B=2 a").environment,
            [("A".into(), "1".into()), ("B".into(), "2".into())]
        );
        assert!(refusal("-genv =1 a").contains("needs a name"));
        assert!(refusal("-x =1 a").contains("needs a name"));
    }

    #[test]
    fn options_may_come_several_times() {
        let settings = run("-x A=1 -x B=2 -env C 3 -env D 4 -H a -H b -l -l -n 1 -n 2 p");
        assert_eq!(settings.environment, [("A".into(), "1".into()), ("B".into(), "2".into())]);
        assert_eq!(settings.apps[0].environment, [("C".into(), "3".into()), ("D".into(), "4".into())]);
        assert_eq!((settings.apps[0].hosts.join(" "), settings.apps[0].count), ("a b".into(), Some(2)));
    }

    #[test]
    fn no_line_makes_it_panic() {
        let names = rows().flat_map(|row| row.0).flat_map(|name| [format!("-{name}"), format!("--{name}=1")]);
        let others = ["1", "a", ":", "--", "-", "", "=", "-=", "--=", "node:", "ppr:1:core", "/nonexistent"];
        let words: Vec<String> = names.chain(others.map(String::from)).collect();
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..3000 {
            let line: Vec<OsString> =
                (0..random.usize(0..8)).map(|_| words[random.usize(..words.len())].clone().into()).collect();
            if let Err(refusal) = parse(line.clone(), |_| None) {
                assert_eq!(refusal.to_string().lines().count(), 1, "{line:?}");
            }
        }
    }

    #[test]
    fn an_abi_belongs_to_a_program() {
        let settings = run("--abi mpich a : --abi openmpi b : c");
        let found: Vec<Abi> = settings.apps.iter().map(|app| app.abi).collect();
        assert_eq!(found, [Abi::Mpich, Abi::OpenMpi, Abi::Auto]);
        assert!(refusal("--abi lam a").contains("none of mpich"));
    }

    #[test]
    fn timeouts() {
        assert_eq!(run("--timeout 1.5 a").timeout, Some(Duration::from_millis(1500)));
        let request = parse(vec!["a".into()], |name| (name == "MPIEXEC_TIMEOUT").then(|| "3".into()));
        assert!(
            matches!(request, Ok(CommandRequest::Run(settings)) if settings.timeout == Some(Duration::from_secs(3)))
        );
        assert_eq!(run("--timeout 5 --timeout 0 a").timeout, None);
        let endless = |line: [&str; 3]| parse(line.map(OsString::from).into(), |_| Some("3".into()));
        let unlimited = endless(["--timeout", "0", "a"]);
        assert!(matches!(unlimited, Ok(CommandRequest::Run(settings)) if settings.timeout.is_none()));
        let zero = parse(vec!["a".into()], |name| (name == "MPIEXEC_TIMEOUT").then(|| "0".into()));
        assert!(matches!(zero, Ok(CommandRequest::Run(settings)) if settings.timeout.is_none()));
        for bad in ["-1", "x", "1e400", "nan"] {
            assert!(refusal(&format!("--timeout {bad} a")).contains("seconds"), "{bad}");
        }
    }

    #[test]
    fn hosts_and_how_they_are_reached() {
        let settings = run("--host a:2,b -ppn 3 --launcher=rsh a");
        assert_eq!(settings.apps[0].hosts, ["a:2", "b"]);
        assert_eq!((settings.map_by, settings.launcher.join(" ")), (MapBy::PerNode(3), "rsh".into()));
        let words = ["--launcher", "ssh -p 2222", "a"].map(OsString::from);
        let request = parse(words.into(), |_| None);
        assert!(
            matches!(request, Ok(CommandRequest::Run(settings)) if settings.launcher == ["ssh", "-p", "2222"])
        );
        assert!(refusal("--map-by nod a").contains("'nod'"));
        assert!(refusal("-ppn 0 a").contains("'0'"));
    }

    #[test]
    fn mistakes_are_explained() {
        assert!(refusal("--timout 3 a").contains("did you mean --timeout?"));
        assert!(refusal("--frobnicate a").contains("--help"));
        assert!(!refusal("-s a").contains("mean"), "one letter is near everything");
        assert!(!refusal("--show-allowance a").contains("mean"));
        assert!(refusal("-n 0 a").contains("'0'"));
        assert!(refusal("-n x a").contains("'x'"));
        assert!(refusal("-n").contains("needs a value"));
        assert!(refusal("-genv K").contains("needs 2 values"));
        assert!(refusal("--tag-output=1 a").contains("takes no value"));
        assert!(refusal("--stdin some a").contains("'some'"));
        assert!(refusal("").contains("which program"));
    }

    #[test]
    fn numbers_out_of_range_are_told_the_range() {
        for (line, range) in [
            ("-n 99999999999 a", "ranks from 1 to 1048576"),
            ("-ppn 1048577 a", "ranks from 1 to 1048576"),
            ("--tree 0 a", "hosts from 1 to 1048576"),
            ("--map-by ppr:99999999999:node a", "ranks from 1 to 1048576"),
            ("--stdin 99999999999 a", "a rank from 0 to 1048575"),
            ("-soft 1:99999999999 a", "with numbers from -1048576 to 1048576"),
            ("--timeout 1e20 a", "seconds from 1e-9 to 1.8e19"),
            ("--timeout 1e-10 a", "seconds from 1e-9 to 1.8e19"),
        ] {
            let said = refusal(line);
            let value = line.split(' ').nth(1).unwrap();
            assert!(said.contains(range) && said.contains(&format!("'{value}'")), "{said}");
        }
        for line in ["--timeout 1e-9 a", "--timeout 1.8e19 a"] {
            assert!(run(line).timeout.is_some(), "{line}");
        }
    }

    #[test]
    fn foreign_habits_are_accepted() {
        let settings = run("--allow-run-as-root --oversubscribe --rank-by core --mca btl self a");
        assert_eq!((settings.without_effect.len(), settings.remarks.len()), (2, 1));
        assert_eq!(settings.apps[0].program, "a");
    }
}
