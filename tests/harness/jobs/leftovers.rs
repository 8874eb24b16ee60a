//! Nothing is left in /dev/shm and /tmp, however a job ends.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::common::{JOB_LIMIT, Jobs, Test, Verdict, passed};
use crate::process::{Running, wait_until_gone};

const FOLDERS: [&str; 2] = ["/dev/shm", "/tmp"];

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[Test { name: "nothing left behind", run: nothing_left }];

/// How long a compiler has its files.
const OTHERS_LAST: Duration = Duration::from_secs(20);

/// Ways to end: what the job does, and what it is sent.
const ENDINGS: [(&str, Option<Signal>); 4] =
    [("hello", None), ("abort", None), ("signal", None), ("traffic", Some(Signal::KILL))];

/// Other programs of this user have files there, too. Those of a job are called after Tern; whatever else it left, it would leave
/// again.
fn nothing_left(jobs: &Jobs<'_>) -> Verdict {
    for ending in ENDINGS {
        let new = left_by(jobs, ending)?;
        let is_left = new.iter().any(|path| path.contains("tern"))
            || !new.is_empty() && !left_by(jobs, ending)?.is_empty();
        if is_left {
            return Err(format!("after '{}' there is {}", ending.0, new.join(", ")));
        }
    }
    passed()
}

/// What is there after a job that was not there before.
fn left_by(jobs: &Jobs<'_>, (what, signal): (&str, Option<Signal>)) -> Result<Vec<String>, String> {
    let before = listing();
    let mut command = jobs.mpirun(4);
    command.arg(&jobs.job()?).args([what, "9"]);
    let running = Running::start(&mut command).map_err(|error| error.to_string())?;
    let mark = running.mark();
    if let Some(signal) = signal {
        std::thread::sleep(Duration::from_millis(500));
        running.signal(signal);
    }
    running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
    wait_until_gone(&mark, Duration::from_secs(2));
    Ok(lasting(listing().difference(&before).cloned().collect()))
}

/// Those of the files that stay: a compiler beside the tests has some for a moment.
fn lasting(mut new: Vec<String>) -> Vec<String> {
    let until = Instant::now() + OTHERS_LAST;
    while !new.is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
        new.retain(|path| fs::symlink_metadata(path).is_ok());
    }
    new
}

/// What lies in the folders and is ours; other users' files come and go.
fn listing() -> BTreeSet<String> {
    let own = |entry: &fs::DirEntry| {
        use std::os::unix::fs::MetadataExt;
        entry.metadata().is_ok_and(|data| data.uid() == rustix::process::geteuid().as_raw())
    };
    let paths = |folder: &&str| fs::read_dir(folder).map(|entries| entries.flatten().filter(own).collect());
    FOLDERS
        .iter()
        .flat_map(|folder| paths(folder).unwrap_or_else(|_: std::io::Error| Vec::new()))
        .map(|entry| entry.path().display().to_string())
        .collect()
}
