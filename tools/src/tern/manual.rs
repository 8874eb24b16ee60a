//! Manual pages and completions, from the definition of the command line.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::command::Tern;

/// Writes `tern.1`, a page for each subcommand, and `mpirun.1`.
pub(crate) fn write_pages(folder: &Path) -> Result<String, String> {
    let mut tern = tern();
    tern.build();
    let own = pages(&tern).into_iter().map(|(name, command)| {
        let page = page(command, &name);
        (name, page)
    });
    let mut written = Vec::new();
    for (name, page) in own.chain([("mpirun".into(), page_of_mpirun())]) {
        let file = folder.join(format!("{name}.1"));
        page.and_then(|page| fs::write(&file, page))
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        written.push(format!("{}\n", file.display()));
    }
    Ok(written.concat())
}

/// The command without `help`, which has no page of its own.
fn tern() -> Command {
    Tern::command().disable_help_subcommand(true)
}

/// Names and commands: a page's name has its command's path with dashes, as git's have.
fn pages(tern: &Command) -> Vec<(String, Command)> {
    let of_subcommand = |command: &Command| {
        (!command.is_hide_set()).then(|| (format!("tern-{}", command.get_name()), command.clone()))
    };
    let all = tern.get_subcommands().filter_map(of_subcommand);
    [("tern".to_owned(), tern.clone())].into_iter().chain(all).collect()
}

fn manual(command: Command, name: &str) -> Man {
    Man::new(command).title(name.to_uppercase()).source(concat!("Tern ", env!("CARGO_PKG_VERSION")))
}

fn page(command: Command, name: &str) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    manual(command, name).render(&mut page)?;
    Ok(page)
}

/// An option whose other names are told behind its meaning: the page's generator leaves them out.
fn with_other_names(arg: Arg) -> Arg {
    let letters = arg.get_visible_short_aliases().unwrap_or_default();
    let names = arg.get_visible_aliases().unwrap_or_default();
    let letters = letters.iter().map(|letter| format!("-{letter}"));
    let others: Vec<String> = letters.chain(names.iter().map(|name| format!("--{name}"))).collect();
    match arg.get_help() {
        Some(help) if !others.is_empty() => {
            let help = format!("{help} (also {})", others.join(", "));
            arg.help(help)
        }
        _ => arg,
    }
}

/// Programs are separated by `:`, which a synopsis made from the options would not show.
fn page_of_mpirun() -> io::Result<Vec<u8>> {
    let manual = manual(tern_mpirun::command().mut_args(with_other_names), "mpirun");
    let mut page = Vec::new();
    manual.render_title(&mut page)?;
    manual.render_name_section(&mut page)?;
    writeln!(page, ".SH SYNOPSIS\n{}", tern_mpirun::USAGE)?;
    manual.render_description_section(&mut page)?;
    manual.render_options_section(&mut page)?;
    manual.render_extra_section(&mut page)?;
    Ok(page)
}

/// The completions of a program for a shell.
pub(crate) fn completions(shell: Shell, program: &str) -> String {
    let mut command = if program == "tern" { Tern::command() } else { tern_mpirun::command() };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, program, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subcommand_has_a_page() {
        let mut built = tern();
        built.build();
        let names: Vec<String> = pages(&built).into_iter().map(|(name, _)| name).collect();
        let expected =
            ["tern", "tern-info", "tern-doctor", "tern-sim", "tern-tune", "tern-netpipe", "tern-completions"];
        assert_eq!(names, expected);
        let overview = String::from_utf8(page(built, "tern").unwrap()).unwrap();
        assert!(!overview.contains("tern\\-help"), "{overview}");
    }

    #[test]
    fn mpirun_has_a_page() {
        let page = String::from_utf8(page_of_mpirun().unwrap()).unwrap();
        for words in [
            ".TH MPIRUN 1",
            "mpirun [options] program",
            "rank\\-by",
            "SIGUSR1",
            "\\-\\-machinefile",
            "\\-\\-perhost",
        ] {
            assert!(page.contains(words), "{words}: {page}");
        }
    }

    #[test]
    fn shells_learn_the_options() {
        assert!(completions(Shell::Bash, "tern").contains("--protocols"));
        for program in ["mpirun", "mpiexec"] {
            let text = completions(Shell::Bash, program);
            assert!(
                text.contains("--rank-by") && text.contains(&format!("complete -F _{program}")),
                "{program}"
            );
        }
    }
}
