//! Makes constants of the table of values: `values::mpich::MPI_ANY_SOURCE` and its twin for Open MPI.

use std::fmt::Write;

const TABLE: &str = "../tables/constants.tsv";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={TABLE}");
    let table = std::fs::read_to_string(TABLE).expect("the table of constants is there");
    let text =
        module(&table, "mpich", 1) + &module(&table, "openmpi", 2) + &module(&table, "openmpi_fortran", 3);
    let folder = std::env::var("OUT_DIR").expect("cargo names a folder");
    std::fs::write(format!("{folder}/values.rs"), text).expect("the folder can be written");
}

/// The constants of one column. What has no value there gets `ABSENT`; names of variables are left out.
fn module(table: &str, name: &str, column: usize) -> String {
    let mut text = format!("/// Constants of this ABI.\npub mod {name} {{\n");
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        let value = match cells[column] {
            "-" => "super::ABSENT",
            value if value.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => value,
            _ => continue,
        };
        writeln!(text, "    #[allow(missing_docs)]\n    pub const {}: i64 = {value};", cells[0])
            .expect("a text grows");
    }
    text + "}\n"
}
