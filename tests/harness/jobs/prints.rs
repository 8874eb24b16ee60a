//! What ranks have printed is seen, however their job ends.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use super::common::{JOB_LIMIT, Jobs, Test, Verdict, expect, expect_code, passed, run_command, skip};
use super::endings::wait_for_ranks;
use super::hosts;
use crate::compile::{compile, has_fortran};
use crate::process::{Outcome, Running};

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "lines printed in C", run: in_c },
    Test { name: "lines printed in C, a program's own buffer", run: own_buffer },
    Test { name: "lines printed in C, mpirun terminated", run: terminated },
    Test { name: "lines printed in Fortran", run: in_fortran },
    Test { name: "lines printed in Python", run: in_python },
];

const RANKS: usize = 3;

/// Over shared memory, over TCP, and on several hosts.
fn ways(jobs: &Jobs<'_>) -> [Command; 3] {
    let mut by_tcp = jobs.mpirun(RANKS);
    by_tcp.env("TERN_TRANSPORT", "tcp");
    let mut ways = [jobs.mpirun(RANKS), by_tcp, hosts::mpirun(jobs, "a:2,b:1")];
    // Whoever runs the tests may have it.
    for command in &mut ways {
        command.env_remove("PYTHONUNBUFFERED");
    }
    ways
}

/// Each rank's line is there.
fn expect_lines(outcome: &Outcome) -> Result<(), String> {
    let has = |rank| {
        let line = format!("line of rank {rank}");
        outcome.stdout.lines().any(|other| other.starts_with(&line))
    };
    expect((0..RANKS).all(has), "every rank's line is there", outcome)
}

/// A job that ends in the way `how` shows every line, and with `whole` also one that rank 1 has begun.
fn print_in_all_ways(
    jobs: &Jobs<'_>,
    program: &Path,
    how: &str,
    code: i32,
    whole: bool,
) -> Result<(), String> {
    for mut command in ways(jobs) {
        if how == "wait" {
            command.args(["--timeout", "2"]);
        }
        let outcome = run_command(command.arg(program).arg(how))?;
        expect_code(&outcome, code)?;
        expect_lines(&outcome)?;
        let is_there = !whole || outcome.stdout.contains("begun by rank 1");
        expect(is_there, "and a line that has begun", &outcome)?;
    }
    Ok(())
}

fn in_c(jobs: &Jobs<'_>) -> Verdict {
    let program = compile(jobs.options, &jobs.options.root.join("tests/jobs/print.c"))?;
    for (how, code, whole) in [
        ("abort", 3, true),
        ("fatal", 6, true),
        ("signal", 139, false),
        ("exit", 3, false),
        ("wait", 124, false),
    ] {
        print_in_all_ways(jobs, &program, how, code, whole)?;
    }
    // Somebody who keeps the stream keeps the job's end for a moment only.
    let outcome = run_command(jobs.mpirun(RANKS).arg(&program).arg("lock"))?;
    expect_code(&outcome, 3)?;
    expect_lines(&outcome)?;
    expect(outcome.took < Duration::from_secs(10), "it ended soon", &outcome)?;
    passed()
}

/// What a program says about its buffer holds, and what is there when it aborts is written.
fn own_buffer(jobs: &Jobs<'_>) -> Verdict {
    let program = compile(jobs.options, &jobs.options.root.join("tests/jobs/print.c"))?;
    for buffer in ["full", "own"] {
        let outcome = run_command(jobs.mpirun(RANKS).arg(&program).args(["none", buffer]))?;
        expect_code(&outcome, 0)?;
        let lines = outcome.stdout.lines().filter(|line| line.ends_with("by lines: 0")).count();
        expect(lines == RANKS, "all keep their buffers", &outcome)?;
        let outcome = run_command(jobs.mpirun(RANKS).arg(&program).args(["abort", buffer]))?;
        expect_code(&outcome, 3)?;
        expect(outcome.stdout.contains("line of rank 1"), "who aborts writes what it holds", &outcome)?;
    }
    // As does what stands before the program.
    let outcome = run_command(jobs.mpirun(RANKS).args(["stdbuf", "-o", "64K"]).arg(&program).arg("none"))?;
    expect_code(&outcome, 0)?;
    let lines = outcome.stdout.lines().filter(|line| line.ends_with("by lines: 0")).count();
    expect(lines == RANKS, "stdbuf holds", &outcome)?;
    passed()
}

fn terminated(jobs: &Jobs<'_>) -> Verdict {
    let program = compile(jobs.options, &jobs.options.root.join("tests/jobs/print.c"))?;
    for mut command in ways(jobs) {
        let running = Running::start(command.arg(&program).arg("wait")).map_err(|error| error.to_string())?;
        // Rank 1 calls itself so when all have printed.
        wait_for_ranks(&running, "printed", 1)?;
        running.signal(Signal::TERM);
        let outcome = running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
        expect_code(&outcome, 143)?;
        expect_lines(&outcome)?;
    }
    passed()
}

fn in_fortran(jobs: &Jobs<'_>) -> Verdict {
    if !has_fortran(jobs.options) {
        return skip("there is no Fortran compiler");
    }
    let source = jobs.options.root.join("tests/jobs/print.F90");
    let program = jobs.options.programs().join("print-fortran");
    let mut compiler = Command::new(jobs.options.prefix.join("bin/mpifort"));
    let compiled = run_command(compiler.arg(source).arg("-o").arg(&program))?;
    expect_code(&compiled, 0)?;
    for (how, code) in [("abort", 3), ("wait", 124)] {
        print_in_all_ways(jobs, &program, how, code, true)?;
    }
    passed()
}

/// By the standard ABI, without any module: the handle of `MPI_COMM_WORLD` is 257.
const PYTHON: &str = "
import ctypes, os, sys, time
mpi = ctypes.CDLL(sys.argv[1])
world = ctypes.c_void_p(257)
mpi.MPI_Init(None, None)
rank = int(os.environ['PMI_RANK'])
print('line of rank', rank, flush=False)
mpi.MPI_Barrier(world)
if rank == 1 and sys.argv[2] == 'abort': mpi.MPI_Abort(world, 3)
if rank == 1: time.sleep(60)
mpi.MPI_Barrier(world)
";

fn in_python(jobs: &Jobs<'_>) -> Verdict {
    let library = jobs.options.prefix.join("lib/libmpi_abi.so.1");
    if run_command(Command::new("sh").args(["-c", "command -v python3"]))?.code() != Some(0) {
        return skip("there is no Python");
    }
    for (how, code) in [("abort", 3), ("wait", 124)] {
        for mut command in ways(jobs) {
            if how == "wait" {
                command.args(["--timeout", "3"]);
            }
            command.args(["python3", "-c", PYTHON]).arg(&library).arg(how);
            let outcome = run_command(&mut command)?;
            expect_code(&outcome, code)?;
            expect_lines(&outcome)?;
        }
    }
    // Who wants a buffer says so.
    let show = ["python3", "-c", "import os; print(os.environ['PYTHONUNBUFFERED'] + '.')"];
    let outcome = run_command(jobs.mpirun(1).env("PYTHONUNBUFFERED", "").args(show))?;
    expect(outcome.stdout == ".\n", "what the user has set holds", &outcome)?;
    passed()
}
