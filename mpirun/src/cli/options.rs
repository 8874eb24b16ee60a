//! The command line: options in either dash style, programs separated by `:`.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use tern_job::limits::RANKS_MAX;
use tern_job::words;

use crate::cli::habits;
use crate::cli::help;
use crate::cli::standard;
use crate::launch::launcher;
use crate::plan::placement::{MapBy, parse_count};
use crate::plan::topology::Bind;
use crate::plan::{App, Settings, StdinTo};
use crate::watch::exit_cause::Refusal;

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub enum Request {
    /// Print the help.
    Help,
    /// Print the version.
    Version,
    /// Run a job.
    Run(Box<Settings>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Count,
    Directory,
    Env,
    GlobalEnv,
    Export,
    Tag,
    Timeout,
    Stdin,
    Bind,
    ReportBindings,
    Host,
    Hostfile,
    MapBy,
    PerNode,
    Launcher,
    Tree,
    Verbose,
    Version,
    Help,
    Soft,
    Architecture,
    Path,
    InitialErrhandler,
    NoEffect,
    HwThreadCpus,
    RankBy,
    Mca,
}

/// An option: its names without dashes, how many values follow, and what it means.
struct Spec(&'static [&'static str], usize, Key);

const SPECS: &[Spec] = &[
    Spec(&["n", "np", "c"], 1, Key::Count),
    Spec(&["wdir", "wd"], 1, Key::Directory),
    Spec(&["env"], 2, Key::Env),
    Spec(&["soft"], 1, Key::Soft),
    Spec(&["arch"], 1, Key::Architecture),
    Spec(&["path"], 1, Key::Path),
    Spec(&["initial-errhandler"], 1, Key::InitialErrhandler),
    Spec(&["genv"], 2, Key::GlobalEnv),
    Spec(&["x"], 1, Key::Export),
    Spec(&["l", "tag-output", "prepend-rank"], 0, Key::Tag),
    Spec(&["timeout"], 1, Key::Timeout),
    Spec(&["stdin"], 1, Key::Stdin),
    Spec(&["bind-to"], 1, Key::Bind),
    Spec(&["report-bindings"], 0, Key::ReportBindings),
    Spec(&["host", "hosts", "H"], 1, Key::Host),
    Spec(&["hostfile", "machinefile", "f"], 1, Key::Hostfile),
    Spec(&["map-by"], 1, Key::MapBy),
    Spec(&["ppn", "perhost", "N", "npernode"], 1, Key::PerNode),
    Spec(&["launcher"], 1, Key::Launcher),
    Spec(&["tree"], 1, Key::Tree),
    Spec(&["v", "verbose"], 0, Key::Verbose),
    Spec(&["V", "version"], 0, Key::Version),
    Spec(&["h", "help"], 0, Key::Help),
    // What scripts written for other launchers say, and what Tern does anyway or can do without.
    Spec(&["genvall", "envall", "oversubscribe", "allow-run-as-root"], 0, Key::NoEffect),
    // What they say, and Tern does not.
    Spec(&["use-hwthread-cpus"], 0, Key::HwThreadCpus),
    Spec(&["rank-by"], 1, Key::RankBy),
    Spec(&["mca", "gmca", "prtemca", "pmixmca"], 2, Key::Mca),
];

/// Variables that set the timeout where no option does.
const TIMEOUT_VARIABLES: [&str; 2] = ["TERN_TIMEOUT", "MPIEXEC_TIMEOUT"];

/// Reads the command line. `variable` reads the environment.
pub fn parse(
    arguments: Vec<OsString>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Request, Refusal> {
    let mut parser = Parser { rest: arguments.into(), settings: Settings::default() };
    loop {
        if let Some(request) = parser.app()? {
            return Ok(request);
        }
        if parser.rest.is_empty() {
            break;
        }
    }
    let mut settings = parser.settings;
    settings.timeout = match settings.timeout {
        None => timeout_of_environment(variable)?,
        given => given,
    };
    Ok(Request::Run(Box::new(settings)))
}

fn timeout_of_environment(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Duration>, Refusal> {
    for name in TIMEOUT_VARIABLES {
        if let Some(value) = variable(name).filter(|value| !value.is_empty()) {
            return seconds(name, &value).map(Some);
        }
    }
    Ok(None)
}

struct Parser {
    rest: VecDeque<OsString>,
    settings: Settings,
}

impl Parser {
    /// Reads one program with its options, up to `:` or the end.
    fn app(&mut self) -> Result<Option<Request>, Refusal> {
        let mut app = App::default();
        while let Some(word) = self.rest.front() {
            if word.len() < 2 || word.as_bytes()[0] != b'-' {
                break;
            }
            let word = self.rest.pop_front().unwrap_or_default();
            if word == "--" {
                break;
            }
            if let Some(request) = self.option(&word, &mut app)? {
                return Ok(Some(request));
            }
        }
        self.program(&mut app)?;
        if let Some(set) = &app.soft {
            app.count = Some(standard::soft(set, app.count.unwrap_or_else(tern_job::cores))?);
        }
        self.settings.apps.push(app);
        Ok(None)
    }

    fn program(&mut self, app: &mut App) -> Result<(), Refusal> {
        match self.rest.pop_front() {
            Some(word) if word != ":" && !word.is_empty() => app.program = word,
            _ if self.settings.apps.is_empty() => return Err(Refusal::usage(help::NO_PROGRAM.into())),
            _ => return Err(no_program_after_colon()),
        }
        while let Some(word) = self.rest.pop_front() {
            if word == ":" {
                return if self.rest.is_empty() { Err(no_program_after_colon()) } else { Ok(()) };
            }
            app.arguments.push(word);
        }
        Ok(())
    }

    fn option(&mut self, word: &OsStr, app: &mut App) -> Result<Option<Request>, Refusal> {
        let (name, inline) = split_name(word);
        let Some(Spec(_, count, key)) = find(&name) else { return Err(unknown(word, &name)) };
        let values = self.values(&name, *count, inline)?;
        match key {
            Key::Help => return Ok(Some(Request::Help)),
            Key::Version => return Ok(Some(Request::Version)),
            _ => self.apply(*key, &name, values, app)?,
        }
        Ok(None)
    }

    /// The values of an option: what followed its `=`, then the next words.
    fn values(
        &mut self,
        name: &str,
        count: usize,
        inline: Option<OsString>,
    ) -> Result<Vec<OsString>, Refusal> {
        let mut values: Vec<OsString> = inline.into_iter().collect();
        if values.len() > count {
            return Err(Refusal::usage(format!("option --{name} takes no value")));
        }
        while values.len() < count {
            let value = self.rest.pop_front();
            let needs = if count == 1 { "a value".into() } else { format!("{count} values") };
            values.push(value.ok_or_else(|| Refusal::usage(format!("option --{name} needs {needs}")))?);
        }
        Ok(values)
    }

    fn apply(&mut self, key: Key, name: &str, values: Vec<OsString>, app: &mut App) -> Result<(), Refusal> {
        let settings = &mut self.settings;
        let mut values = values.into_iter();
        let mut raw = || values.next().unwrap_or_default();
        match key {
            Key::Count => app.count = Some(number_of("ranks", name, &text(name, raw())?)?),
            Key::Directory => app.directory = Some(raw()),
            Key::Soft => app.soft = Some(text(name, raw())?),
            Key::Architecture => standard::check_architecture(&text(name, raw())?)?,
            Key::Path => app.path = Some(raw()),
            Key::InitialErrhandler => {
                app.environment.push(standard::initial_errhandler(&text(name, raw())?)?);
            }
            Key::Env => app.environment.push(pair(name, raw(), raw())?),
            Key::GlobalEnv => settings.environment.push(pair(name, raw(), raw())?),
            Key::Export => settings.environment.extend(export(name, raw())?),
            Key::Tag => settings.tag_output = true,
            Key::Timeout => settings.timeout = Some(seconds("--timeout", &text(name, raw())?)?),
            Key::Stdin => settings.stdin = stdin_to(&text(name, raw())?)?,
            Key::Bind => settings.bind.take(Bind::parse(&text(name, raw())?)?),
            Key::ReportBindings => settings.report_bindings = true,
            Key::Host => app.hosts.extend(text(name, raw())?.split(',').map(String::from)),
            Key::Hostfile => settings.hostfile = Some(raw().into()),
            Key::MapBy => habits::map_by(settings, &text(name, raw())?)?,
            Key::PerNode => {
                settings.map_by = MapBy::PerNode(number_of("ranks", name, &text(name, raw())?)?);
            }
            Key::Launcher => settings.launcher = launcher(&text(name, raw())?)?,
            Key::Tree => settings.tree = Some(number_of("hosts", name, &text(name, raw())?)?),
            Key::Verbose => settings.verbose = true,
            Key::HwThreadCpus => settings.remarks.push(habits::HWTHREAD_CPUS.into()),
            Key::RankBy => habits::rank_by(settings, &text(name, raw())?)?,
            Key::Mca => habits::mca(settings, &text(name, raw())?, &text(name, raw())?),
            Key::NoEffect => settings.without_effect.push(format!("--{name}")),
            Key::Help | Key::Version => {}
        }
        Ok(())
    }
}

/// Splits `--name=value`; a name is not text only if it is unknown anyway.
fn split_name(word: &OsStr) -> (String, Option<OsString>) {
    let bytes = word.as_bytes();
    let bytes = bytes.strip_prefix(b"--").unwrap_or(&bytes[1..]);
    let (name, value) = match bytes.iter().position(|&byte| byte == b'=') {
        Some(at) => (&bytes[..at], Some(OsString::from_vec(bytes[at + 1..].to_vec()))),
        None => (bytes, None),
    };
    (String::from_utf8_lossy(name).into_owned(), value)
}

fn find(name: &str) -> Option<&'static Spec> {
    SPECS.iter().find(|spec| spec.0.contains(&name))
}

fn no_program_after_colon() -> Refusal {
    Refusal::usage("a ':' must be followed by another program".into())
}

fn unknown(word: &OsStr, name: &str) -> Refusal {
    let names = SPECS.iter().flat_map(|spec| spec.0.iter().copied());
    let hint = match words::closest(name, names) {
        Some(close) => format!(": did you mean --{close}?"),
        None => "; mpirun --help lists the options, and options of the program come after its name".into(),
    };
    Refusal::usage(format!("there is no option {}{hint}", word.to_string_lossy()))
}

fn text(name: &str, value: OsString) -> Result<String, Refusal> {
    value.into_string().map_err(|value| Refusal::usage(format!("option --{name}: {value:?} is not text")))
}

fn number_of(what: &str, name: &str, value: &str) -> Result<u32, Refusal> {
    parse_count(value).ok_or_else(|| {
        Refusal::usage(format!("option --{name}: '{value}' is no number of {what} from 1 to {RANKS_MAX}"))
    })
}

/// A command with its own options, such as `ssh -p 2222`.
fn launcher(value: &str) -> Result<Vec<String>, Refusal> {
    launcher::words(value).ok_or_else(|| {
        Refusal::usage(format!("option --launcher needs a command with all its quotes closed, not '{value}'"))
    })
}

fn seconds(what: &str, value: &str) -> Result<Duration, Refusal> {
    let seconds = value.parse().ok().and_then(|value: f64| Duration::try_from_secs_f64(value).ok());
    seconds.filter(|time| !time.is_zero()).ok_or_else(|| {
        Refusal::usage(format!("{what}: '{value}' is no number of seconds from 1e-9 to 1.8e19"))
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

/// A name that is empty or holds `=` cannot stand in an environment.
fn pair(option: &str, name: OsString, value: OsString) -> Result<(OsString, OsString), Refusal> {
    if name.is_empty() || name.as_bytes().contains(&b'=') {
        return Err(Refusal::usage(format!("option --{option}: {name:?} is no name of a variable")));
    }
    Ok((name, value))
}

/// `-x NAME=VALUE` sets; `-x NAME` passes on what is passed on anyway.
fn export(option: &str, value: OsString) -> Result<Option<(OsString, OsString)>, Refusal> {
    let bytes = value.as_bytes();
    match bytes.iter().position(|&byte| byte == b'=') {
        Some(at) => {
            let (name, value) = (bytes[..at].to_vec(), bytes[at + 1..].to_vec());
            pair(option, OsString::from_vec(name), OsString::from_vec(value)).map(Some)
        }
        None if std::env::var_os(&value).is_none() => Err(Refusal::usage(format!(
            "option --{option}: the variable {} is not set; --{option} NAME=VALUE sets one",
            value.to_string_lossy()
        ))),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Request, Refusal> {
        parse(line.split_whitespace().map(OsString::from).collect(), |_| None)
    }

    fn run(line: &str) -> Settings {
        match parse_line(line) {
            Ok(Request::Run(settings)) => *settings,
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
        assert!(run("-tag-output a").tag_output && run("--l a").tag_output);
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
        assert!(refusal("-x TERN_SURELY_NOT_SET a").contains("not set"));
        assert!(refusal("-genv = 1 a").contains("no name"));
    }

    #[test]
    fn timeouts() {
        assert_eq!(run("--timeout 1.5 a").timeout, Some(Duration::from_millis(1500)));
        let request = parse(vec!["a".into()], |name| (name == "MPIEXEC_TIMEOUT").then(|| "3".into()));
        assert!(
            matches!(request, Ok(Request::Run(settings)) if settings.timeout == Some(Duration::from_secs(3)))
        );
        for bad in ["0", "-1", "x", "1e400", "nan"] {
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
        assert!(matches!(request, Ok(Request::Run(settings)) if settings.launcher == ["ssh", "-p", "2222"]));
        assert!(refusal("--map-by nod a").contains("'nod'"));
        assert!(refusal("-ppn 0 a").contains("'0'"));
    }

    #[test]
    fn mistakes_are_explained() {
        assert!(refusal("--timout 3 a").contains("did you mean --timeout?"));
        assert!(refusal("--frobnicate a").contains("--help"));
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
        assert_eq!((settings.without_effect.len(), settings.remarks.len()), (2, 2));
        assert_eq!(settings.apps[0].program, "a");
    }
}
