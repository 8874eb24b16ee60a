//! Files and whole jobs: what `MPI_File_sync` has confirmed is there after all ranks were killed, and hosts that do not see a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::common::{JOB_LIMIT, Jobs, Test, Verdict, expect, expect_code, passed, run_command, skip};
use super::hosts;
use crate::compile::compile;
use crate::process::Running;

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "what was synced survives kill -9", run: synced },
    Test { name: "a file that a host does not see", run: unseen },
    Test { name: "hints that change nothing", run: ignored },
];

/// What `tests/jobs/files.c` knows.
const BLOCK: usize = 64;
const BYTES: usize = 64 * 1024;
const RANKS: usize = 3;

/// As often as that, so that ranks die at other moments.
const JOBS: usize = 5;

fn synced(jobs: &Jobs<'_>) -> Verdict {
    let program = compile(jobs.options, &jobs.options.root.join("tests/jobs/files.c"))?;
    let folder = std::env::temp_dir().join(format!("tern-synced-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let path = folder.join("data");
    for _ in 0..JOBS {
        let mut command = jobs.mpirun(RANKS);
        command.arg(&program).arg(&path);
        let running = Running::start(&mut command).map_err(|error| error.to_string())?;
        let outcome = running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
        expect_code(&outcome, 137)?;
        let file = fs::read(&path).map_err(|error| error.to_string())?;
        let owner = |at: usize| (at / BLOCK % RANKS) as u8 + 1;
        let is_whole = file.len() >= RANKS * BYTES && (0..RANKS * BYTES).all(|at| file[at] == owner(at));
        expect(is_whole, "all that was synced is there", &outcome)?;
        // What was under way came or did not.
        let is_clean = file[RANKS * BYTES..].iter().all(|byte| [0, 99].contains(byte));
        expect(is_clean, "nothing but what was being written lies behind it", &outcome)?;
        let beside = fs::read_dir(&folder).map_err(|error| error.to_string())?.count();
        expect(beside == 1, "the file is alone", &outcome)?;
        fs::remove_file(&path).map_err(|error| error.to_string())?;
    }
    fs::remove_dir(&folder).map_err(|error| error.to_string())?;
    passed()
}

/// Host b has a folder of its own where the others have theirs, without the file or with another of that name.
fn unseen(jobs: &Jobs<'_>) -> Verdict {
    let program = compile(jobs.options, &jobs.options.root.join("tests/jobs/unseen.c"))?;
    let folder = std::env::temp_dir().join(format!("tern-unseen-{}", std::process::id()));
    let may_mount =
        Command::new("unshare").args(["--mount", "--uts", "mount", "-t", "tmpfs", "none", "/mnt"]).output();
    if !may_mount.is_ok_and(|outcome| outcome.status.success()) {
        return skip("needs the right to mount");
    }
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let host = HostApart { jobs, program, folder: &folder };
    host.refuses("a:2,b:2", None, "host b does not see it")?;
    expect_files(&folder, 0)?;
    // Rank 0 is at b, so it is b's folder in which the file is made.
    host.refuses("b:1,a:2", None, "does not see it")?;
    expect_files(&folder, 0)?;
    fs::write(folder.join("data"), "theirs").map_err(|error| error.to_string())?;
    host.refuses("a:2,b:2", Some("data"), "host b has another file of that name")?;
    host.refuses("b:1,a:2", Some("data"), "has another file of that name")?;
    expect_files(&folder, 1)?;
    let kept = fs::read(folder.join("data")).map_err(|error| error.to_string())?;
    fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    if kept == b"theirs" { passed() } else { Err(format!("a file that was there has become {kept:?}")) }
}

fn expect_files(folder: &Path, wanted: usize) -> Result<(), String> {
    let found = fs::read_dir(folder).map_err(|error| error.to_string())?.count();
    if found == wanted { Ok(()) } else { Err(format!("{found} files are left, not {wanted}")) }
}

/// Jobs of which a host has another folder.
struct HostApart<'a> {
    jobs: &'a Jobs<'a>,
    program: PathBuf,
    folder: &'a Path,
}

impl HostApart<'_> {
    /// All ranks of such a job get the error, with the file's path, its class and these words.
    fn refuses(&self, hosts: &str, other_file: Option<&str>, words: &str) -> Result<(), String> {
        let path = self.folder.join("data");
        let mut command = hosts::launched_by(self.jobs, "tests/net/apart.sh");
        command.args(["--host", hosts]).arg(&self.program).arg(&path);
        command.env("APART", self.folder).env("APART_FILE", other_file.unwrap_or(""));
        let outcome = run_command(&mut command)?;
        expect_code(&outcome, 0)?;
        let ranks = hosts.split(',').filter_map(|host| host.split_once(':')?.1.parse::<usize>().ok()).sum();
        for rank in 0..ranks {
            let start = format!("rank {rank}: no such file: ");
            let line = outcome.stdout.lines().find(|line| line.starts_with(&start)).unwrap_or("");
            let tells = line.contains(words) && line.contains(&path.display().to_string());
            expect(tells, &format!("rank {rank} says {words:?}, and the path"), &outcome)?;
        }
        Ok(())
    }
}

/// Each is told of once, with the reason, if that is asked for; of others nothing is said.
fn ignored(jobs: &Jobs<'_>) -> Verdict {
    let program = compile(jobs.options, &jobs.options.root.join("tests/jobs/hints.c"))?;
    let path = std::env::temp_dir().join(format!("tern-hints-{}", std::process::id()));
    let said = |verbose: &str| {
        let mut command = jobs.mpirun(RANKS);
        command
            .env("TERN_IO_VERBOSE", verbose)
            .env("TERN_IO_HINTS", "direct_read=true,romio_ds_read=disable");
        let outcome = run_command(command.arg(&program).arg(&path))?;
        expect_code(&outcome, 0)?;
        Ok::<_, String>(outcome)
    };
    let outcome = said("1")?;
    for words in [
        "hint direct_read='true' is ignored: accesses go through the page cache",
        "hint striping_factor='3' is ignored: over how many servers",
        "hint nb_proc='4' is ignored: nothing depends on",
        "hint cb_nodes='many' is ignored: it must be a number above 0",
        "hint romio_cb_pfr='aar' is ignored: Tern's plans have no such choice",
        "hint nonsense='1' is ignored: no hint of this name is known",
        "hint cb_buffer_size='65536' is ignored: it was settled when the file was opened",
    ] {
        expect(outcome.stderr.matches(words).count() == 1, &format!("it says {words:?} once"), &outcome)?;
    }
    expect(outcome.stderr.matches("is ignored").count() == 7, "it says nothing of others", &outcome)?;
    let outcome = said("0")?;
    expect(outcome.stderr.is_empty(), "without the setting it says nothing", &outcome)?;
    passed()
}
