//! What a user sees of a defect of this library, or of memory that the program has overwritten: a sentence, and no backtrace.

use crate::core::process::complain;
use std::panic::{self, PanicHookInfo};
use std::sync::Once;

/// From now on a panic says what is known of it in one line. The process aborts then, and mpirun names the rank.
pub fn explain() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| panic::set_hook(Box::new(|info| complain(&explanation(info)))));
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
