//! What ranks write comes out whole: every line, in one piece, and none lost.

mod common;

use std::process::Stdio;
use std::time::Duration;

use common::{command, mpirun, start};
use rustix::process::Signal;

#[test]
fn lines_of_many_ranks_are_not_torn() {
    // Each line in two writes, so that a launcher which forwards bytes as they come would mix them.
    let script = "i=0; while [ $i -lt 50 ]; do printf 'begin '; printf 'end\\n'; i=$((i+1)); done";
    let outcome = mpirun(&["-n", "8", "sh", "-c", script]);
    assert_eq!(outcome.status, 0);
    assert_eq!(outcome.stdout.lines().count(), 400);
    assert!(outcome.stdout.lines().all(|line| line == "begin end"), "a line was torn");
}

#[test]
fn much_output_is_complete() {
    let outcome = mpirun(&["-n", "4", "-l", "sh", "-c", "yes 0123456789 | head -n 100000"]);
    for rank in 0..4 {
        let line = format!("[{rank}] 0123456789");
        assert_eq!(outcome.stdout.lines().filter(|&other| other == line).count(), 100_000, "rank {rank}");
    }
}

#[test]
fn a_slow_reader_loses_nothing() {
    let script =
        format!("{} -n 2 sh -c 'yes | head -c 3000000' | (sleep 0.5; wc -c)", env!("CARGO_BIN_EXE_mpirun"));
    let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "6000000");
}

/// What a shell prints of a command that has `mpirun` in it, under a limit of time.
fn shell(command: &str) -> String {
    let script = command.replace("mpirun", concat!("timeout 30 ", env!("CARGO_BIN_EXE_mpirun")));
    let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The ranks end while their last output waits in pipes, since the reader has taken nothing yet.
#[test]
fn a_reader_that_pauses_at_the_end_loses_nothing() {
    assert_eq!(shell("mpirun -n 8 sh -c 'seq 1 26000' | (sleep 1.2; wc -l)"), "208000");
    let fails = "head -c 1130000 /dev/zero | tr \"\\0\" x | fold -w 79; echo; echo the reason >&2; exit 3";
    let last = shell(&format!("mpirun -n 1 sh -c '{fails}' 2>&1 | (sleep 1.2; tail -n 1)"));
    assert_eq!(last, "the reason");
    // What copies a rank's output to another place outlives the rank for as long as that takes.
    let copies = "{ sleep 0.2; seq 1 300000; } & seq 1 100000";
    assert_eq!(shell(&format!("mpirun -n 1 sh -c '{copies}' | (sleep 1.2; wc -l)")), "400000");
}

#[test]
fn a_reader_that_never_reads_keeps_no_interrupted_job() {
    let folder = common::Folder::new("unread");
    let name = folder.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&name).status().unwrap().success());
    let unread = std::fs::File::options().read(true).write(true).open(&name).unwrap();
    let mut command = command(&["-n", "2", "sh", "-c", "seq 1 200000; echo over >&2"]);
    command.stdout(unread.try_clone().unwrap());
    let running = start(command);
    // The ranks have written what goes into mpirun and the pipes; some has no place.
    std::thread::sleep(Duration::from_millis(500));
    running.signal(Signal::TERM);
    std::thread::sleep(Duration::from_millis(500));
    running.signal(Signal::TERM);
    let outcome = running.finish();
    assert_eq!(outcome.status, 143);
    assert!(outcome.took < Duration::from_secs(20), "{:?}", outcome.took);
}

#[test]
fn a_long_line_stays_in_one_piece() {
    let script = "head -c 900000 /dev/zero | tr '\\0' x; echo";
    let outcome = mpirun(&["-n", "3", "sh", "-c", script]);
    let lengths: Vec<_> = outcome.stdout.lines().map(str::len).collect();
    assert_eq!(lengths, [900_000; 3]);
}

#[test]
fn a_line_without_an_end_is_not_lost_and_not_joined() {
    assert_eq!(mpirun(&["-n", "1", "printf", "ab"]).stdout, "ab");
    let outcome = mpirun(&["-n", "2", "printf", "ab"]);
    assert_eq!(outcome.stdout, "ab\nab");
}

#[test]
fn standard_error_goes_to_standard_error() {
    let outcome = mpirun(&["-n", "2", "-l", "sh", "-c", "echo out; echo err >&2"]);
    assert_eq!(outcome.sorted(), ["[0] out", "[1] out"]);
    assert_eq!(outcome.stderr.lines().count(), 2);
    assert!(outcome.stderr.lines().all(|line| line.ends_with("] err")));
}

#[test]
fn both_streams_to_one_place_do_not_mix() {
    let script = "i=0; while [ $i -lt 200 ]; do echo oooooooooo; echo eeeeeeeeee >&2; i=$((i+1)); done";
    let shell = format!("{} -n 2 sh -c '{script}' 2>&1 | sort | uniq -c", env!("CARGO_BIN_EXE_mpirun"));
    let output = std::process::Command::new("sh").args(["-c", &shell]).output().unwrap();
    let counts: Vec<_> =
        String::from_utf8_lossy(&output.stdout).split_whitespace().map(String::from).collect();
    assert_eq!(counts, ["400", "eeeeeeeeee", "400", "oooooooooo"]);
}

#[test]
fn a_closed_reader_ends_the_job_quietly() {
    let mut command = command(&["-n", "2", "yes"]);
    command.stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let outcome = child.wait_with_output().unwrap();
    assert_eq!(outcome.status.code(), Some(141));
    assert_eq!(String::from_utf8_lossy(&outcome.stderr), "");
}

#[test]
fn a_full_disk_is_reported() {
    let mut command = command(&["-n", "1", "yes"]);
    command.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
    let outcome = start(command).finish();
    assert_eq!(outcome.status, 1);
    assert!(outcome.stderr.contains("No space left"), "{}", outcome.stderr);
}

/// Often the last line and the ends of all ranks come in one turn of the loop, after which nothing wakes it.
#[test]
fn a_full_disk_is_reported_when_the_ranks_have_ended_too() {
    for _ in 0..40 {
        let mut command = command(&["-n", "2", "echo", "line"]);
        command.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
        let outcome = start(command).finish();
        assert_eq!(outcome.status, 1);
        assert!(outcome.stderr.contains("No space left"), "{}", outcome.stderr);
    }
}

#[test]
fn two_hundred_ranks() {
    let outcome = mpirun(&["-n", "200", "sh", "-c", "echo line"]);
    assert_eq!((outcome.status, outcome.stdout.lines().count()), (0, 200));
}

#[test]
fn a_thousand_ranks_under_the_usual_limit_on_descriptors() {
    let shell = format!("ulimit -Sn 1024; exec {} -n 1000 sh -c 'ulimit -Sn'", env!("CARGO_BIN_EXE_mpirun"));
    let output = std::process::Command::new("sh").args(["-c", &shell]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1024\n".repeat(1000));
}

#[test]
fn too_few_descriptors_are_one_clear_line() {
    let shell = format!("ulimit -n 100; exec {} -n 1000 true", env!("CARGO_BIN_EXE_mpirun"));
    let output = std::process::Command::new("sh").args(["-c", &shell]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.lines().count() == 1 && stderr.contains("limit is 100"), "{stderr}");
}

#[test]
fn what_stays_in_the_background_may_finish_its_output() {
    let outcome = mpirun(&["-n", "1", "sh", "-c", "(sleep 0.2; echo late) & echo early"]);
    assert_eq!(outcome.stdout, "early\nlate\n");
    let outcome = mpirun(&["-n", "1", "sh", "-c", "sleep 100 & echo early"]);
    assert_eq!(outcome.stdout, "early\n");
    assert!(outcome.took < Duration::from_secs(5));
}
