//! Standard input reaches the ranks that should have it, and no others.

mod common;

use common::{mpirun, mpirun_with_input};

#[test]
fn rank_0_gets_standard_input() {
    let outcome = mpirun_with_input(&["-l", "-n", "3", "cat"], b"one\ntwo\n");
    assert_eq!(outcome.stdout, "[0] one\n[0] two\n");
}

#[test]
fn another_rank_may_get_it() {
    let outcome = mpirun_with_input(&["-l", "-n", "3", "--stdin", "2", "cat"], b"one\n");
    assert_eq!(outcome.stdout, "[2] one\n");
}

#[test]
fn nobody_may_get_it() {
    let outcome = mpirun_with_input(&["-n", "2", "--stdin", "none", "cat"], b"one\n");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, ""));
}

#[test]
fn everybody_may_get_a_copy_however_long_and_slow() {
    let input = b"0123456789abcde\n".repeat(100_000);
    let outcome = mpirun_with_input(
        &["-n", "1", "--stdin", "all", "sh", "-c", "sleep 0.3; wc -c", ":", "-n", "2", "wc", "-c"],
        &input,
    );
    assert_eq!(outcome.sorted(), ["1600000"; 3]);
}

#[test]
fn a_reader_that_leaves_does_not_stop_the_others() {
    let input = b"0123456789abcde\n".repeat(100_000);
    let outcome =
        mpirun_with_input(&["--stdin", "all", "-n", "1", "true", ":", "-n", "1", "wc", "-c"], &input);
    assert_eq!((outcome.status, outcome.stdout.trim()), (0, "1600000"));
}

#[test]
fn a_rank_that_does_not_read_does_not_matter() {
    let outcome = mpirun_with_input(&["-n", "2", "true"], &[b'x'; 1 << 20]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
}

#[test]
fn the_end_of_input_arrives() {
    assert_eq!(mpirun(&["-n", "2", "cat"]).status, 0);
    assert_eq!(mpirun(&["-n", "2", "--stdin", "all", "cat"]).status, 0);
}

#[test]
fn a_script_that_reads_on_keeps_what_the_ranks_did_not_read() {
    let mpirun = env!("CARGO_BIN_EXE_mpirun");
    let script = format!(
        "while read line; do {mpirun} -n 1 echo got $line < /dev/null; done; {mpirun} -n 1 head -n 1"
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &format!("printf 'a\\nb\\n' | ({script})")])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "got a\ngot b\n");
}
