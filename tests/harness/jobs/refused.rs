//! What containers take away: system calls that a filter refuses, `/proc`, `/dev`, the user. A job runs all the same, or one sentence
//! says what is missing; it never hangs.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

use super::common::{Jobs, Test, Verdict, expect, expect_code, expect_said, passed, run_command, skip};
use super::places::{as_nobody, is_reachable};
use crate::compile::compile;
use crate::process::Outcome;

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "a filter around mpirun refuses a wait", run: around_mpirun },
    Test { name: "a filter around ranks refuses a wait", run: around_ranks },
    Test { name: "ranks asleep in a collective are left alone", run: asleep },
    Test { name: "a kernel that waits for one word at a time", run: one_word },
    Test { name: "a kernel of 2018", run: old_kernel },
    Test { name: "no /proc", run: no_proc },
    Test { name: "an empty /dev", run: empty_dev },
    Test { name: "ranks that become another user", run: other_user },
    Test { name: "a rank that may not be killed", run: not_to_be_killed },
    Test { name: "windows where the kernel tells little of memory", run: no_advice },
];

const ROUTES: [&str; 2] = ["shm", "tcp"];
const ERRORS: [&str; 2] = ["EPERM", "ENOSYS"];

/// Calls by which a process waits, each with what `mpirun` says of it: nothing where it does without. `epoll_wait` has another name on
/// some processors. (`poll` is not among them: Rust's own start needs it.)
const WAITS: [(&str, Option<&str>); 4] = [
    ("ppoll", None),
    ("waitid", None),
    ("epoll_pwait2", None),
    ("epoll_wait,epoll_pwait,epoll_pwait2", Some("mpirun: cannot wait: epoll_wait: ")),
];

fn filter(jobs: &Jobs<'_>) -> Result<PathBuf, String> {
    compile(jobs.options, &jobs.options.root.join("tests/wrong/refused_call.c"))
}

/// This kernel has no such filters, or forbids them.
fn has_no_filter(outcome: &Outcome) -> bool {
    outcome.code() == Some(125)
}

fn around_mpirun(jobs: &Jobs<'_>) -> Verdict {
    let (filter, program) = (filter(jobs)?, jobs.conformance("p2p_blocking")?);
    for (calls, said) in WAITS {
        for error in ERRORS {
            let mut command = Command::new(&filter);
            command.args([error, calls]).arg(jobs.options.mpirun()).args(["-n", "2"]).arg(&program);
            let outcome = run_command(&mut command)?;
            if has_no_filter(&outcome) {
                return skip("this kernel allows no filter");
            }
            let Some(said) = said else {
                expect_code(&outcome, 0)?;
                continue;
            };
            let is_told = outcome.stderr.starts_with(said) && outcome.stderr.contains("seccomp");
            expect(is_told && outcome.stderr.lines().count() == 1, "one sentence names the call", &outcome)?;
            expect_code(&outcome, 1)?;
        }
    }
    passed()
}

fn around_ranks(jobs: &Jobs<'_>) -> Verdict {
    let (filter, program) = (filter(jobs)?, jobs.conformance("p2p_blocking")?);
    for (calls, _) in WAITS {
        for (error, route) in ERRORS.into_iter().zip(ROUTES) {
            let mut command = jobs.mpirun(3);
            command.env("TERN_TRANSPORT", route).arg(&filter).args([error, calls]).arg(&program);
            let outcome = run_command(&mut command)?;
            if has_no_filter(&outcome) {
                return skip("this kernel allows no filter");
            }
            expect_code(&outcome, 0)?;
        }
    }
    passed()
}

/// Programs in which ranks wait in collectives while messages come, each with a number of ranks.
const COLLECTIVE_WAITS: [(&str, usize); 4] =
    [("coll_random", 5), ("coll_requests", 4), ("stress_random", 4), ("oversubscribed", 16)];

fn asleep(jobs: &Jobs<'_>) -> Verdict {
    let program = compile(jobs.options, &jobs.options.root.join("tests/jobs/asleep.c"))?;
    for ranks in [2, 4] {
        expect_code(&run_command(jobs.mpirun(ranks).arg(&program))?, 0)?;
    }
    passed()
}

/// Before Linux 5.16, and where a filter knows no newer calls, a thread cannot sleep on two words.
fn one_word(jobs: &Jobs<'_>) -> Verdict {
    let filter = filter(jobs)?;
    let asleep = compile(jobs.options, &jobs.options.root.join("tests/jobs/asleep.c"))?;
    let mut cases = vec![(asleep.clone(), 2), (asleep, 4)];
    for (name, ranks) in COLLECTIVE_WAITS {
        cases.push((jobs.conformance(name)?, ranks));
    }
    for (number, (program, ranks)) in cases.into_iter().enumerate() {
        let mut command = jobs.mpirun(ranks);
        command.arg(&filter).args([ERRORS[number % 2], "futex_waitv"]).arg(&program);
        let outcome = run_command(&mut command)?;
        if has_no_filter(&outcome) {
            return skip("this kernel allows no filter");
        }
        expect_code(&outcome, 0)?;
    }
    passed()
}

/// Calls that Linux 4.18 lacks, on which many clusters still run.
const YOUNGER_CALLS: &str = "pidfd_send_signal,io_uring_setup,pidfd_open,clone3,close_range,openat2,pidfd_getfd,faccessat2,\
                             epoll_pwait2,futex_waitv,fchmodat2";

/// What a filter may forbid that is as old, and that the C library does without.
const FILTERED_CALLS: &str =
    "pidfd_send_signal,pidfd_open,pidfd_getfd,io_uring_setup,epoll_pwait2,futex_waitv";

fn old_kernel(jobs: &Jobs<'_>) -> Verdict {
    let filter = filter(jobs)?;
    let run = |(error, calls): (&str, &str), ranks: &str, words: &[&OsStr]| {
        let mut command = Command::new(&filter);
        command.args([error, calls]).arg(jobs.options.mpirun()).args(["-n", ranks]).args(words);
        run_command(&mut command)
    };
    for refused in [("ENOSYS", YOUNGER_CALLS), ("EPERM", FILTERED_CALLS)] {
        for (name, ranks) in [("p2p_blocking", "3"), ("file_access", "3"), ("spawn_near", "2")] {
            let outcome = run(refused, ranks, &[jobs.conformance(name)?.as_os_str()])?;
            if has_no_filter(&outcome) {
                return skip("this kernel allows no filter");
            }
            expect_code(&outcome, 0)?;
        }
        // The end of each rank is learned, whatever it is.
        let job = jobs.job()?;
        let ends =
            |word: &str, value: &str| run(refused, "4", &[job.as_os_str(), word.as_ref(), value.as_ref()]);
        expect_code(&ends("exit", "3")?, 3)?;
        let killed = ends("signal", "11")?;
        expect_code(&killed, 139)?;
        expect_said(&killed, &["SIGSEGV"])?;
    }
    passed()
}

fn no_proc(jobs: &Jobs<'_>) -> Verdict {
    in_a_place(jobs, "mount -t tmpfs -o ro,size=4k none /proc || exit 77; exec \"$@\"")
}

fn empty_dev(jobs: &Jobs<'_>) -> Verdict {
    in_a_place(jobs, "mount -t tmpfs -o ro,size=4k none /dev || exit 77; exec \"$@\"")
}

/// A job over each route, in a mount namespace of its own that the script changes.
fn in_a_place(jobs: &Jobs<'_>, script: &str) -> Verdict {
    let program = jobs.conformance("p2p_blocking")?;
    for route in ROUTES {
        let mut command = Command::new("unshare");
        command.env("TERN_TRANSPORT", route).args(["--mount", "sh", "-c", script, "-"]);
        command.arg(jobs.options.mpirun()).args(["-n", "3"]).arg(&program);
        let outcome = run_command(&mut command)?;
        if outcome.code() == Some(77) || outcome.stderr.contains("unshare failed") {
            return skip("needs the right to mount");
        }
        expect_code(&outcome, 0)?;
    }
    passed()
}

fn other_user(jobs: &Jobs<'_>) -> Verdict {
    let program = jobs.conformance("p2p_blocking")?;
    if !rustix::process::geteuid().is_root() {
        return skip("needs root to become another user");
    }
    if !is_reachable(&program)? {
        return skip("another user cannot reach the build folder");
    }
    for route in ROUTES {
        let wrapped = as_nobody(&program);
        let mut command = jobs.mpirun(3);
        command.env("TERN_TRANSPORT", route).arg(wrapped.get_program()).args(wrapped.get_args());
        expect_code(&run_command(&mut command)?, 0)?;
    }
    passed()
}

/// A rank that has become root, as programs of some graphical systems do, while `mpirun` is another user's.
fn not_to_be_killed(jobs: &Jobs<'_>) -> Verdict {
    if !rustix::process::geteuid().is_root() {
        return skip("needs root to become another user");
    }
    if !is_reachable(&jobs.options.mpirun())? {
        return skip("another user cannot reach the build folder");
    }
    let folder = std::env::temp_dir().join(format!("tern-root-{}", std::process::id()));
    let became_root = folder.join("became-root");
    // Rank 1 becomes root by a copy of setpriv that may, and rank 0 fails then.
    let prepare = "mkdir -m 777 $1 && cp $(command -v setpriv) $1/root && chmod 4755 $1/root";
    let prepared = run_command(Command::new("sh").args(["-c", prepare, "-"]).arg(&folder))?;
    expect_code(&prepared, 0)?;
    let script = "if [ $PMI_RANK = 1 ]; then exec $1/root --ruid 0 sh -c ': >$0/became-root; exec sleep 20' $1; fi; \
                  for i in $(seq 100); do [ -e $1/became-root ] && exit 4; sleep 0.1; done; exit 5";
    let wrapped = as_nobody(&jobs.options.mpirun());
    let mut command = Command::new(wrapped.get_program());
    command.args(wrapped.get_args()).args(["-n", "2", "sh", "-c", script, "-"]).arg(&folder);
    let outcome = run_command(&mut command);
    let is_root = std::fs::metadata(&became_root).is_ok_and(|found| found.uid() == 0);
    let _ = std::fs::remove_dir_all(&folder);
    if !is_root {
        return skip("the folder for temporary files keeps programs from becoming root");
    }
    let outcome = outcome?;
    expect_code(&outcome, 4)?;
    expect_said(&outcome, &["rank 1 (process ", "cannot be killed, since it has become another user"])?;
    passed()
}

/// Whether memory is there is then asked in another way.
fn no_advice(jobs: &Jobs<'_>) -> Verdict {
    let (filter, program) = (filter(jobs)?, jobs.conformance("rma_windows")?);
    for error in ERRORS {
        let mut command = jobs.mpirun(2);
        command.env("TERN_WINDOWS", "messages").arg(&filter).args([error, "madvise"]).arg(&program);
        let outcome = run_command(&mut command)?;
        if has_no_filter(&outcome) {
            return skip("this kernel allows no filter");
        }
        expect_code(&outcome, 0)?;
    }
    passed()
}
