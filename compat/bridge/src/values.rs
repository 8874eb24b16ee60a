//! The constants of the other ABIs, from `compat/tables/constants.tsv`.

/// What stands for a constant that an ABI does not have: no `int` is equal to it.
pub const ABSENT: i64 = i64::MIN;

include!(concat!(env!("OUT_DIR"), "/values.rs"));
