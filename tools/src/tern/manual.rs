//! Manual pages and completions, from the definition of the command line.

use std::fs;
use std::io;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::command::Tern;

/// Writes `tern.1` and a page for each subcommand.
pub fn write_pages(folder: &Path) -> Result<String, String> {
    let mut tern = Tern::command();
    tern.build();
    let mut written = Vec::new();
    for (name, command) in pages(&tern) {
        let file = folder.join(format!("{name}.1"));
        write_page(command, name, &file)
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

fn write_page(command: Command, name: String, file: &Path) -> io::Result<()> {
    let mut page = Vec::new();
    Man::new(command)
        .title(name.to_uppercase())
        .source(concat!("Tern ", env!("CARGO_PKG_VERSION")))
        .render(&mut page)?;
    fs::write(file, page)
}

/// The completions for a shell.
pub fn completions(shell: Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Tern::command(), "tern", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subcommand_has_a_page() {
        let names: Vec<String> = pages(&Tern::command()).into_iter().map(|(name, _)| name).collect();
        let expected = ["tern", "tern-info", "tern-sim", "tern-tune", "tern-netpipe", "tern-completions"];
        assert_eq!(names, expected);
    }

    #[test]
    fn shells_learn_the_options() {
        assert!(completions(Shell::Bash).contains("--protocols"));
    }
}
