//! Programs that are linked with an MPI library whose ranks cannot find each other under `mpirun`.

mod common;

use std::process::Command;

use common::{Folder, Outcome, command, mpirun, start};

/// What stands for the other library, and a program of it that runs for a while, or ends at once.
const LIBRARY: &str = "int MPI_Init(int *c, char ***v) { (void)c; (void)v; return 0; }\n";
const PROGRAM: &str = "#include <unistd.h>\nint MPI_Init(int *, char ***);\n\
    int main(int c, char **v) { (void)v; MPI_Init(0, 0); if (c > 1) sleep(40); return 0; }\n";

/// A program linked with a library of this name, and the folder of both.
fn linked_with(soname: &str) -> (Folder, String) {
    let folder = Folder::new(&format!("linked-{soname}"));
    std::fs::write(folder.path("library.c"), LIBRARY).unwrap();
    std::fs::write(folder.path("program.c"), PROGRAM).unwrap();
    let cc = |words: &[&str]| {
        assert!(Command::new("cc").current_dir(&folder.0).args(words).status().unwrap().success())
    };
    cc(&["-shared", "-fPIC", &format!("-Wl,-soname,{soname}"), "-o", soname, "library.c"]);
    cc(&["-o", "program", "program.c", soname, "-Wl,-rpath,$ORIGIN"]);
    let program = folder.path("program");
    (folder, program)
}

fn expect_refused(outcome: &Outcome) {
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    let said =
        ["libmpi.so.40", "Open MPI", "world of one", "mpicc"].map(|word| outcome.stderr.contains(word));
    assert_eq!((said, outcome.stderr.lines().count()), ([true; 4], 1), "{}", outcome.stderr);
}

#[test]
fn a_program_of_open_mpi_is_refused_before_it_starts() {
    let (_folder, program) = linked_with("libmpi.so.40");
    expect_refused(&mpirun(&["-n", "2", &program]));
    expect_refused(&mpirun(&["-n", "1", "true", ":", "-n", "1", &program]));
    let alone = mpirun(&["-n", "1", &program]);
    assert_eq!((alone.status, alone.stderr.as_str()), (0, ""));
}

#[test]
fn behind_a_script_it_is_found_by_what_it_has_loaded() {
    let (_folder, program) = linked_with("libmpi.so.40");
    let script = format!("{program} stays; true");
    expect_refused(&mpirun(&["-n", "2", "sh", "-c", &script]));
}

#[test]
fn a_job_of_another_launcher_inside_a_rank_is_let_be() {
    let (_folder, program) = linked_with("libmpi.so.40");
    let script = format!("PMIX_RANK=0 timeout 1 {program} stays; true");
    let outcome = mpirun(&["-n", "2", "sh", "-c", &script]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
}

#[test]
fn others_run_silently() {
    // What speaks PMI may find its peers.
    let (_folder, program) = linked_with("libmpi.so.12");
    for words in
        [&["-n", "2", program.as_str()][..], &["-n", "2", "hostname"], &["-n", "2", "sh", "-c", "sleep 0.2"]]
    {
        let outcome = start(command(words)).finish();
        assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{words:?}");
    }
}

#[test]
fn a_program_of_a_version_that_is_nowhere_is_refused_with_what_is_served() {
    for soname in ["libmpi.so.1", "libmpich.so.3", "libmpi_abi.so.2"] {
        let (folder, program) = linked_with(soname);
        let here = folder.path(soname);
        assert_eq!(mpirun(&["-n", "1", &program]).status, 0, "{soname}");
        std::fs::rename(&here, folder.path("elsewhere")).unwrap();
        let outcome = mpirun(&["-n", "1", &program]);
        let said =
            [soname, "is not on this machine", "libmpi.so.40"].map(|word| outcome.stderr.contains(word));
        assert_eq!((outcome.status, said), (1, [true; 3]), "{}", outcome.stderr);
    }
}
