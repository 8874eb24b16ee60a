//! Signals that end this program while it measures: what it has started is ended, and its folders are removed.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use tern_job::procfs::ignored_signals;

use crate::family::{ProcessFamily, children};

/// Folders that exist now.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A signal is ending this program.
static ENDING: AtomicBool = AtomicBool::new(false);

/// How long launchers may take to end their jobs.
const PATIENCE: Duration = Duration::from_millis(1500);

/// How often it is looked whether they have.
const LOOK: Duration = Duration::from_millis(5);

/// This folder goes away if a signal ends the program.
pub(crate) fn add_folder(folder: PathBuf) {
    static WATCH: Once = Once::new();
    folders().push(folder);
    // Without a watch the folder is left behind, and nothing worse.
    WATCH.call_once(|| drop(watch()));
}

/// The folder has gone, or goes by other means.
pub(crate) fn remove_folder(folder: &PathBuf) {
    folders().retain(|other| other != folder);
}

fn folders() -> MutexGuard<'static, Vec<PathBuf>> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What this program was started to ignore, as by `nohup`, stays ignored.
fn watch() -> std::io::Result<()> {
    let ignored = ignored_signals();
    let watched =
        [SIGHUP, SIGINT, SIGQUIT, SIGTERM].into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
    let mut signals = Signals::new(watched)?;
    thread::Builder::new().name("tern-interrupt".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            end(signal);
        }
    })?;
    Ok(())
}

/// For the main thread, whose command has failed: that is nothing to tell of where a signal is the reason.
pub(crate) fn give_way() {
    while ENDING.load(Ordering::Acquire) {
        thread::park();
    }
}

/// The main thread may meanwhile start another command.
fn end(signal: i32) {
    ENDING.store(true, Ordering::Release);
    let start = Instant::now();
    let mut asked = Vec::new();
    loop {
        let children = children(getpid());
        if children.is_empty() || start.elapsed() > PATIENCE {
            children.into_iter().map(ProcessFamily::of).for_each(|family| family.signal(Signal::KILL));
            break;
        }
        for child in children.into_iter().filter(|child| !asked.contains(child)).collect::<Vec<_>>() {
            let _ = kill_process(child, Signal::TERM);
            asked.push(child);
        }
        thread::sleep(LOOK);
    }
    folders().drain(..).for_each(|folder| drop(fs::remove_dir_all(folder)));
    std::process::exit(128 + signal);
}
