//! What `MPI_File_sync` has confirmed is there after all ranks were killed, and no file lies beside it.

use std::fs;

use super::{JOB_LIMIT, Jobs, Test, Verdict, expect, expect_code, passed};
use crate::compile::compile;
use crate::process::Running;

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[Test { name: "what was synced survives kill -9", run: synced }];

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
