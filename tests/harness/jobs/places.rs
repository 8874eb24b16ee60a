//! Where jobs run: alone, as another user, with few cores, few descriptors, no /dev/shm, and under a filter that
//! refuses what containers refuse.

use std::path::Path;
use std::process::Command;

use super::common::{Jobs, Test, Verdict, expect, expect_code, expect_said, passed, run_command, skip};
use crate::process::Outcome;

/// A user and group that own nothing ('nobody').
const NOBODY: &str = "65534";

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "alone", run: alone },
    Test { name: "alone in an empty environment", run: alone_in_empty_environment },
    Test { name: "alone under a foreign launcher", run: foreign_launcher },
    Test { name: "another user", run: another_user },
    Test { name: "process_vm_readv refused", run: refused },
    Test { name: "no /dev/shm", run: no_shared_memory_folder },
    Test { name: "few descriptors for mpirun", run: few_descriptors },
    Test { name: "few descriptors for ranks", run: few_descriptors_in_ranks },
    Test { name: "few descriptors and windows", run: few_descriptors_and_windows },
    Test { name: "a connection to each of more ranks than descriptors", run: few_descriptors_for_peers },
    Test { name: "limited length of files", run: short_files },
    Test { name: "limited length of files in ranks", run: short_files_in_ranks },
    Test { name: "16 ranks on two cores", run: two_cores },
    Test { name: "8 ranks on one core", run: one_core },
    Test { name: "as many ranks as a cpuset has processors", run: few_processors },
    Test { name: "as many ranks as a quota allows cores", run: quota },
    Test { name: "64 ranks", run: many_ranks },
    Test { name: "variables of ranks", run: variables },
];

fn alone(jobs: &Jobs<'_>) -> Verdict {
    let outcome = run_command(Command::new(jobs.job()?).arg("hello"))?;
    expect_code(&outcome, 0)?;
    expect(outcome.stdout == "rank 0 of 1\n", "it is a world of one", &outcome)?;
    for program in ["self_messages", "coll_data", "type_constructors"] {
        expect_code(&run_command(&mut Command::new(jobs.conformance(program)?))?, 0)?;
    }
    passed()
}

/// Runs a command in a control group of its own with a quota of one core, of either version; 77 if that may not be.
const ONE_CORES_TIME: &str = r#"
base=/sys/fs/cgroup
if [ -e $base/cpu/cpu.cfs_quota_us ] || [ -e $base/cpu/cgroup.procs ]; then
    group=$base/cpu/tern-test-$$ file=cpu.cfs_quota_us quota=100000
else
    group=$base/tern-test-$$ file=cpu.max quota="100000 100000"
fi
mkdir $group 2> /dev/null || exit 77
if [ -e $group/$file ] && echo $quota > $group/$file; then
    sh -c 'echo $$ > $0/cgroup.procs || exit 77; exec "$@"' $group "$@"
    code=$?
else
    code=77
fi
for try in 1 2 3 4 5 6 7 8 9 10; do rmdir $group 2> /dev/null && break; sleep 0.1; done
exit $code
"#;

/// Whether a job whose size nobody says has one rank.
fn expect_one(outcome: &Outcome) -> Result<(), String> {
    expect_code(outcome, 0)?;
    expect(outcome.stdout == "rank 0 of 1\n", "there is one rank", outcome)
}

fn few_processors(jobs: &Jobs<'_>) -> Verdict {
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(jobs.options.mpirun()).arg(jobs.job()?).arg("hello");
    let outcome = run_command(&mut command)?;
    if outcome.stderr.contains("failed to set") {
        return skip("processor 0 is not ours");
    }
    expect_one(&outcome)?;
    passed()
}

fn quota(jobs: &Jobs<'_>) -> Verdict {
    let mut command = Command::new("sh");
    command.args(["-c", ONE_CORES_TIME, "sh"]).arg(jobs.options.mpirun()).arg(jobs.job()?).arg("hello");
    let outcome = run_command(&mut command)?;
    if outcome.code() == Some(77) {
        return skip("no control group can be made here");
    }
    expect_one(&outcome)?;
    passed()
}

fn alone_in_empty_environment(jobs: &Jobs<'_>) -> Verdict {
    let outcome = run_command(Command::new(jobs.job()?).arg("hello").env_clear())?;
    expect_code(&outcome, 0)?;
    expect(outcome.stdout == "rank 0 of 1\n", "it is a world of one", &outcome)?;
    passed()
}

/// One of four by the environment, but nobody to ask: an error, never a silent 'rank 0 of 1'.
fn foreign_launcher(jobs: &Jobs<'_>) -> Verdict {
    for (rank, size) in [("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")] {
        let outcome = run_command(Command::new(jobs.job()?).arg("hello").env(rank, "1").env(size, "4"))?;
        let refused = outcome.code().is_some_and(|code| code != 0) && !outcome.stdout.contains("of 1");
        expect(refused, &format!("it refuses to start with {size}=4"), &outcome)?;
        expect(outcome.stderr.contains("mpirun"), "it says how to start", &outcome)?;
    }
    passed()
}

/// What scripts read that start a program.
fn variables(jobs: &Jobs<'_>) -> Verdict {
    let script = "echo $PMI_RANK/$PMI_SIZE $MPI_LOCALRANKID/$MPI_LOCALNRANKS";
    let outcome = run_command(jobs.mpirun(3).args(["sh", "-c", script]))?;
    expect_code(&outcome, 0)?;
    let mut lines: Vec<&str> = outcome.stdout.lines().collect();
    lines.sort_unstable();
    expect(lines == ["0/3 0/3", "1/3 1/3", "2/3 2/3"], "each rank has its numbers", &outcome)?;
    let script = script.replace("PMI_", "OMPI_COMM_WORLD_");
    let script = script.replace("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK");
    let script = script.replace("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE");
    let outcome = run_command(jobs.mpirun(3).args(["sh", "-c", &script]))?;
    let mut open_mpis: Vec<&str> = outcome.stdout.lines().collect();
    open_mpis.sort_unstable();
    expect(open_mpis == lines, "they have Open MPI's names, too", &outcome)?;
    passed()
}

fn another_user(jobs: &Jobs<'_>) -> Verdict {
    if !rustix::process::geteuid().is_root() {
        return skip("needs root to become another user");
    }
    let program = jobs.conformance("p2p_blocking")?;
    if !is_reachable(&program)? {
        return skip("another user cannot reach the build folder");
    }
    let outcome = run_command(as_nobody(&jobs.options.mpirun()).args(["-n", "3"]).arg(&program))?;
    expect_code(&outcome, 0)?;
    passed()
}

/// A command as a user who owns nothing; for root.
pub(super) fn as_nobody(word: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]).arg(word);
    command
}

/// Whether that user can run a program.
pub(super) fn is_reachable(program: &Path) -> Result<bool, String> {
    Ok(run_command(as_nobody(Path::new("test")).arg("-x").arg(program))?.success())
}

fn refused(jobs: &Jobs<'_>) -> Verdict {
    let deny = jobs.deny()?;
    for (ranks, name) in [(3, "p2p_blocking"), (2, "type_transfer"), (4, "coll_data"), (2, "p2p_nonblocking")]
    {
        // A filter may leave one of the two calls.
        for which in [&[][..], &["--writing"]] {
            let mut command = jobs.mpirun(ranks);
            command
                .env("TERN_COPIES", if which.is_empty() { "auto" } else { "kernel" })
                .arg(&deny)
                .args(which)
                .arg(jobs.conformance(name)?);
            let outcome = run_command(&mut command)?;
            if outcome.code() == Some(77) {
                return skip("this kernel allows no filter");
            }
            expect_code(&outcome, 0)?;
            expect(outcome.stderr.is_empty(), "it falls back silently", &outcome)?;
        }
    }
    passed()
}

/// In a mount namespace of its own where /dev/shm is an empty folder that cannot be written.
fn no_shared_memory_folder(jobs: &Jobs<'_>) -> Verdict {
    let script = "mount -t tmpfs -o ro,size=4k none /dev/shm || exit 77; exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "-"]);
    command.arg(jobs.options.mpirun()).args(["-n", "3"]).arg(jobs.conformance("p2p_blocking")?);
    let outcome = run_command(&mut command)?;
    if outcome.code() == Some(77) || outcome.stderr.contains("unshare failed") {
        return skip("needs the right to mount");
    }
    expect_code(&outcome, 0)?;
    passed()
}

// Either it works all the same, or one line says what is short.
fn works_or_says_so(outcome: &Outcome) -> Result<(), String> {
    let clear = ["open files", "descriptor", "ulimit"].iter().any(|word| outcome.stderr.contains(word));
    let crashed = outcome.code().is_none_or(|code| code >= 128);
    expect(outcome.success() || (clear && !crashed), "it works or says what is short", outcome)
}

fn few_descriptors(jobs: &Jobs<'_>) -> Verdict {
    for limit in [6, 8, 12, 20, 40, 100] {
        let script = format!("ulimit -n {limit}; exec \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &script, "-"]).arg(jobs.options.mpirun()).args(["-n", "8"]);
        works_or_says_so(&run_command(command.arg(jobs.job()?).arg("hello"))?)?;
    }
    passed()
}

fn few_descriptors_in_ranks(jobs: &Jobs<'_>) -> Verdict {
    for limit in ["3", "5", "8", "16"] {
        works_or_says_so(&jobs.run_job(4, &["descriptors", limit])?)?;
    }
    passed()
}

/// The memory that windows share is a descriptor of each rank, whose number is high where the limit allows that.
fn few_descriptors_and_windows(jobs: &Jobs<'_>) -> Verdict {
    let script = "ulimit -n 64; exec \"$@\"";
    let mut command = jobs.mpirun(3);
    command.args(["sh", "-c", script, "-"]).arg(jobs.conformance("rma_windows")?);
    expect_code(&run_command(&mut command)?, 0)?;
    passed()
}

/// A rank raises its limit where it may; where not, it says so, whether it dials or is dialled.
fn few_descriptors_for_peers(jobs: &Jobs<'_>) -> Verdict {
    let run = |limit: &str| {
        let script = format!("ulimit {limit}; exec \"$@\"");
        let mut command = Command::new(jobs.options.mpirun());
        command.args(["-n", "24", "-x", "TERN_TRANSPORT=tcp", "sh", "-c", &script, "-"]);
        run_command(command.arg(jobs.net()?).args(["exchange", "0.1"]))
    };
    expect_code(&run("-Sn 20")?, 0)?;
    let outcome = run("-Sn 20; ulimit -Hn 20")?;
    expect_code(&outcome, 16)?;
    expect_said(&outcome, &["no more than 20 open files", "ulimit -n"])?;
    passed()
}

/// The limit counts for shared memory too, and a process that goes beyond it is killed, not told. In units of 512 bytes or
/// 1 KiB, as the shell has it.
fn short_files(jobs: &Jobs<'_>) -> Verdict {
    for limit in [0, 1, 10, 10_000] {
        let script = format!("ulimit -f {limit}; exec \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &script, "-"]).arg(jobs.options.mpirun()).args(["-n", "4"]);
        let outcome = run_command(command.arg(jobs.job()?).arg("hello"))?;
        let said = outcome.stderr.contains("ulimit -f") && outcome.code().is_some_and(|code| code < 128);
        expect(said, "it says what is short", &outcome)?;
    }
    passed()
}

/// A rank whose files may not grow from the start says so. One that is in the job already goes on.
fn short_files_in_ranks(jobs: &Jobs<'_>) -> Verdict {
    let limited = |route: &str| {
        let mut command = jobs.mpirun(3);
        command.env("TERN_TRANSPORT", route).args(["sh", "-c", "ulimit -f 0; exec \"$@\"", "-"]);
        run_command(command.arg(jobs.job()?).arg("no-files"))
    };
    for route in ["shm", "tcp"] {
        let outcome = limited(route)?;
        expect_said(&outcome, &["ulimit -f"])?;
        expect(outcome.code().is_some_and(|code| code < 128), "nobody is killed", &outcome)?;
        let mut command = jobs.mpirun(3);
        expect_code(&run_command(command.env("TERN_TRANSPORT", route).arg(jobs.job()?).arg("no-files"))?, 0)?;
    }
    passed()
}

fn pinned(jobs: &Jobs<'_>, cores: &str, ranks: usize) -> Verdict {
    let mut command = Command::new("taskset");
    command.args(["-c", cores]).arg(jobs.options.mpirun()).args(["-n", &ranks.to_string()]);
    let outcome = run_command(command.arg(jobs.conformance("oversubscribed")?))?;
    if outcome.stderr.contains("failed to set") {
        return skip(format!("cores {cores} are not ours"));
    }
    expect_code(&outcome, 0)?;
    passed()
}

fn two_cores(jobs: &Jobs<'_>) -> Verdict {
    pinned(jobs, "0,1", 16)
}

fn one_core(jobs: &Jobs<'_>) -> Verdict {
    pinned(jobs, "0", 8)
}

fn many_ranks(jobs: &Jobs<'_>) -> Verdict {
    let outcome = jobs.run_job(64, &["hello"])?;
    expect_code(&outcome, 0)?;
    expect(outcome.stdout.lines().count() == 64, "64 lines came out", &outcome)?;
    passed()
}
