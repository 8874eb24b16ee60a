//! Standard input reaches the ranks that should have it, and no others.

mod common;

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use common::{command, mpirun, mpirun_with_input, start};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

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

/// A terminal: the side of the person, and the side of the program.
fn terminal() -> (std::fs::File, OwnedFd) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap();
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
    let program = rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty()).unwrap();
    (person.into(), program)
}

#[test]
fn a_person_at_a_terminal_sees_the_prompt_and_can_answer() {
    let (mut person, program) = terminal();
    let mut command = command(&["-n", "2", "sh", "-c", "printf 'name? '; read name && echo got $name; true"]);
    command.stdin(program.try_clone().unwrap()).stdout(program.try_clone().unwrap()).stderr(program);
    let running = start(command);
    let asked = Instant::now();
    let mut seen = String::new();
    let mut read_until = |person: &mut std::fs::File, word: &str| {
        let mut bytes = [0; 256];
        while !seen.contains(word) {
            let count = person.read(&mut bytes).unwrap();
            seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    };
    read_until(&mut person, "name? ");
    assert!(asked.elapsed() < Duration::from_secs(5));
    person.write_all(b"bob\n").unwrap();
    read_until(&mut person, "got bob");
    assert_eq!(running.finish().status, 0);
}
