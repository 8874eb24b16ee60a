//! The options as a page of the manual.

use std::fmt::Write;

use crate::cli::table::{GROUPS, OptionRow};

/// What `docs/reference/mpirun-options.md` must be.
pub fn page() -> String {
    let mut page = String::from(
        "# Options of mpirun\n\nA long option takes one dash or two, and a blank or `=` before its value.\n\
         This page comes from the definition of the command line: `tern options-page` prints it.\n",
    );
    for (heading, rows) in GROUPS {
        // Writing to a string cannot fail.
        let _ = write!(page, "\n## {heading}\n\n| option | meaning |\n|---|---|\n");
        rows.iter().for_each(|row| page.push_str(&line(row)));
    }
    page
}

fn line(row: &OptionRow) -> String {
    let values: String = row.1.iter().map(|value| format!(" {value}")).collect();
    let names: Vec<String> = row.0.iter().map(|name| format!("`{}`", dashed(name, &values))).collect();
    let meaning = if row.3.is_empty() { format!("as `{}`", row.meaning()) } else { row.3.to_owned() };
    format!("| {} | {} |\n", names.join(", ").replace('|', "\\|"), meaning.replace('|', "\\|"))
}

fn dashed(name: &str, values: &str) -> String {
    let dashes = if name.len() == 1 { "-" } else { "--" };
    format!("{dashes}{name}{values}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_in_the_manual_is_this_one() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/mpirun-options.md");
        let found = std::fs::read_to_string(file).unwrap_or_default();
        assert!(
            found == page(),
            "write it again: cargo run -p tern-tools --bin tern -- options-page > docs/reference/mpirun-options.md"
        );
    }
}
