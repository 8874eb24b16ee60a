//! What a user sees of a defect of this library, or of memory that the program has overwritten: a sentence, and no backtrace.

use crate::core::process::{bar_others, complain, is_ours, meet_another, several};
use crate::limits::MEET_WITHIN;
use std::panic::{self, PanicHookInfo};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// From now on a panic says what is known of it in one line. The process aborts then, and mpirun names the rank.
pub(crate) fn explain() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        panic::set_hook(Box::new(|info| {
            meet_another_thread();
            complain(&explanation(info));
        }));
    });
}

/// Two threads in the library at once, where only one may be, may have brought this about. The other one is likely to call again soon, to
/// sleep in its call, or to come here: whichever meets the first one says so, and ends the job.
fn meet_another_thread() {
    static IS_HERE: AtomicBool = AtomicBool::new(false);
    if several() || is_ours() || !has_other_threads() {
        return;
    }
    if IS_HERE.swap(true, Ordering::Relaxed) || bar_others(MEET_WITHIN) {
        meet_another(false);
    }
}

fn has_other_threads() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() > 1)
}

fn explanation(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let literal = payload.downcast_ref::<&str>().copied();
    let what =
        literal.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given");
    let place = info.location().map_or_else(|| "an unknown place".into(), ToString::to_string);
    format!(
        "internal error in Tern {} ({place}: {what}). Either the program has overwritten the library's memory (valgrind may show \
         where), or this is a defect of Tern: please report it with this line and what 'tern info' prints",
        env!("CARGO_PKG_VERSION")
    )
}
