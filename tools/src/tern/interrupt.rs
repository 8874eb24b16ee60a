//! Signals that end this program while it measures: what it has started is ended, and its folders are removed.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use tern_runtime::procfs::ignored_signals;

/// Folders that exist now.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A signal is ending this program.
static ENDING: AtomicBool = AtomicBool::new(false);

/// How long launchers may take to end their jobs.
const PATIENCE: Duration = Duration::from_millis(1500);

/// How often it is looked whether they have.
const LOOK: Duration = Duration::from_millis(5);

/// This folder goes away if a signal ends the program.
pub fn add_folder(folder: PathBuf) {
    static WATCH: Once = Once::new();
    folders().push(folder);
    // Without a watch the folder is left behind, and nothing worse.
    WATCH.call_once(|| drop(watch()));
}

/// The folder has gone, or goes by other means.
pub fn remove_folder(folder: &PathBuf) {
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
pub fn give_way() {
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
        let children = children();
        if children.is_empty() || start.elapsed() > PATIENCE {
            for child in children {
                let _ = kill_process(child, Signal::KILL);
            }
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

/// Processes that this one has started; the kernel lists them with the thread that did.
fn children() -> Vec<Pid> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let numbers = |list: String| -> Vec<Pid> {
        list.split_whitespace().filter_map(|number| Pid::from_raw(number.parse().ok()?)).collect()
    };
    lists.flat_map(numbers).collect()
}
