//! The command line as `clap` knows it: made from the table of options.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command, value_parser};

use crate::cli::table::{GROUPS, OptionKey, OptionRow};

/// What names the program and its arguments to the parser.
pub(crate) const PROGRAM: &str = "program";

/// How the command is used.
pub const USAGE: &str = "mpirun [options] program [arguments] [: [options] program [arguments]] ...";

const ABOUT: &str = "Starts programs as the ranks of one MPI job, on this node unless hosts are named";

const DASHES: &str =
    "Every long option may be written with one dash or two, and with a space or '=' before its value.";

/// Each paragraph is one line, which the parser breaks where the terminal ends.
const AFTER: &str = "\
Options of other launchers are known, too: each is done, or a line says what to use instead; with -v, those that change \
nothing are named.

Signals: SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGUSR2 go to all ranks, a second within 10 s kills them; \
SIGTSTP and SIGCONT stop and continue them. SIGUSR1 prints where each rank stands.

The exit status is that of the first rank that failed, 128 + N for a rank that signal N killed, \
126 or 127 for a program that cannot be run or found, 124 for a timeout.";

/// The definition.
pub(crate) fn command() -> Command {
    let command = Command::new("mpirun")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .long_about(format!("{ABOUT}. {DASHES}"))
        .after_help(AFTER)
        .override_usage(USAGE)
        .help_template(format!(
            "{{usage-heading}} {{usage}}\n\n{{about}}.\n{DASHES}\n\n{{all-args}}{{after-help}}\n"
        ))
        .max_term_width(120)
        .args_override_self(true)
        .disable_help_flag(true)
        .disable_version_flag(true);
    let program = Arg::new(PROGRAM).num_args(0..).last(true).hide(true).value_parser(value_parser!(OsString));
    let options = GROUPS.iter().flat_map(|(heading, rows)| rows.iter().map(|row| option(row, heading)));
    command.args(options).arg(program)
}

fn option(row: &OptionRow, heading: &'static str) -> Arg {
    let mut arg = Arg::new(row.id()).help_heading(heading).help(row.3).hide(row.is_hidden());
    for name in row.0 {
        let mut letters = name.chars();
        arg = match (letters.next(), letters.next()) {
            (Some(letter), None) if arg.get_short().is_none() => arg.short(letter),
            (Some(letter), None) => arg.visible_short_alias(letter),
            _ if *name == row.id() => arg.long(*name),
            _ => arg.visible_alias(*name),
        };
    }
    match (row.2, row.1.len()) {
        (OptionKey::Help, _) => arg.action(ArgAction::Help),
        (OptionKey::Version, _) => arg.action(ArgAction::Version),
        (_, 0) => arg.action(ArgAction::SetTrue),
        (_, count) => arg
            .action(ArgAction::Append)
            .num_args(count)
            .value_names(row.1)
            .allow_hyphen_values(true)
            .value_parser(value_parser!(OsString)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn the_help_names_what_it_shows() {
        let help = command().render_help().to_string();
        assert!(help.starts_with("Usage: mpirun [options] program"), "{help}");
        for word in ["--np <N>", "--rank-by", "Output and input:", "SIGUSR1", "--configfile"] {
            assert!(help.contains(word), "{word}: {help}");
        }
        // A line that was broken twice would leave a short one.
        let (_, end) = help.split_once("Options of other launchers").unwrap();
        let paragraphs = end.trim_end().split("\n\n").map(|paragraph| paragraph.lines().collect::<Vec<_>>());
        for lines in paragraphs {
            let (_, whole) = lines.split_last().unwrap();
            assert!(whole.iter().skip(1).all(|line| line.len() > 70), "{lines:?}");
        }
        assert!(!help.contains("--xterm") && !help.contains("--mca"), "{help}");
    }
}
