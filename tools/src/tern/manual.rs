//! Manual pages and completions, from the definition of the command line.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::command::Tern;

/// Writes `tern.1`, a page for each subcommand, and `mpirun.1`.
pub(crate) fn write_pages(folder: &Path) -> Result<String, String> {
    let mut tern = Tern::command();
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

/// Names and commands: a page's name has its command's path with dashes, as git's have.
fn pages(tern: &Command) -> Vec<(String, Command)> {
    let of_subcommand = |command: &Command| {
        (!command.is_hide_set()).then(|| (format!("tern-{}", command.get_name()), command.clone()))
    };
    let all = tern.get_subcommands().filter(|command| command.get_name() != "help");
    [("tern".to_owned(), tern.clone())].into_iter().chain(all.filter_map(of_subcommand)).collect()
}

fn manual(command: Command, name: &str) -> Man {
    Man::new(command).title(name.to_uppercase()).source(concat!("Tern ", env!("CARGO_PKG_VERSION")))
}

fn page(command: Command, name: &str) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    manual(command, name).render(&mut page)?;
    Ok(page)
}

/// Programs are separated by `:`, which a synopsis made from the options would not show.
fn page_of_mpirun() -> io::Result<Vec<u8>> {
    let manual = manual(tern_mpirun::command(), "mpirun");
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
        let names: Vec<String> = pages(&Tern::command()).into_iter().map(|(name, _)| name).collect();
        let expected =
            ["tern", "tern-info", "tern-doctor", "tern-sim", "tern-tune", "tern-netpipe", "tern-completions"];
        assert_eq!(names, expected);
    }

    #[test]
    fn mpirun_has_a_page() {
        let page = String::from_utf8(page_of_mpirun().unwrap()).unwrap();
        for words in [".TH MPIRUN 1", "mpirun [options] program", "rank\\-by", "SIGUSR1"] {
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
