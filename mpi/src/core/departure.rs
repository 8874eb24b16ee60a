//! A process ends with the last of the program's threads: those of the library must not keep it alive.
//!
//! A main thread may end by `pthread_exit` and leave others that go on, also in MPI. When they have ended, too, without `MPI_Finalize`,
//! the C library would end the process; it does not while a thread of this library's is there. So once the thread
//! that has started MPI ends, one more looks now and then whether any of the program's is left. No other program has that one.

use crate::limits::{DEPARTURE_LOOK, DEPARTURE_LOOK_MAX};
use std::ffi::c_void;
use tern_transport::threads::{Serving, serving};

/// Lets the end of the calling thread be noticed. `exit` and a return from `main` are none.
pub(crate) fn notice() {
    let mut key = 0;
    // SAFETY: the key's function fits, and stays, since the library is never unloaded with threads of its own. The value is not
    // followed; one that is not null calls for the function.
    unsafe {
        if libc::pthread_key_create(&raw mut key, Some(on_end)) == 0 {
            libc::pthread_setspecific(key, std::ptr::NonNull::<c_void>::dangling().as_ptr());
        }
    }
}

unsafe extern "C" fn on_end(_: *mut c_void) {
    if serving() > 0 {
        let serving = Serving::start();
        // Without a thread the process stays, as it would without this.
        let _ = std::thread::Builder::new().name("tern-departure".into()).spawn(move || watch(&serving));
    }
}

/// Ends the process as the last of its threads would.
fn watch(own: &Serving) {
    own.begin();
    let mut pause = DEPARTURE_LOOK;
    while serving() > 1 {
        std::thread::sleep(pause);
        pause = (pause * 2).min(DEPARTURE_LOOK_MAX);
        if threads().is_some_and(|threads| threads <= serving()) {
            // SAFETY: no thread of the program's is left that could be in the middle of something.
            unsafe { libc::exit(0) };
        }
    }
}

/// How many threads of this process run. The first one stays as a zombie until all have ended.
fn threads() -> Option<usize> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?.flatten();
    let runs = |stat: String| {
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        !matches!(state, Some('Z' | 'X') | None)
    };
    let stats = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
    Some(stats.filter(|stat| runs(stat.clone())).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted() {
        let before = threads().unwrap();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || stopped.recv());
        assert!(before >= 1 && threads().unwrap() >= 2);
        drop(stop);
        let _ = other.join();
    }
}
