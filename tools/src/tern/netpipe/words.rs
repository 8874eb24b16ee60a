//! Numbers in words.

use crate::sim::units;

/// `4`, `64k`, `1m`.
pub(super) fn size(bytes: u64) -> String {
    units::count(bytes)
}

/// `4 B`, `64 KiB`, `1 MiB`.
pub(super) fn bytes(bytes: u64) -> String {
    units::bytes(bytes as f64).replace(".0 ", " ")
}

/// Three digits and a unit, of seconds.
pub(super) fn time(seconds: f64) -> String {
    units::time(seconds * 1e9)
}

/// `97.3 %`, of a part.
pub(super) fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}
