//! How a count holds the number of a call and a step of it.

/// Bits of a count that number the steps of a call; those above number calls.
pub(super) const STEP_BITS: u32 = 24;
pub(super) const STEPS: u64 = (1 << STEP_BITS) - 1;
/// Bits of a mark in which the call's number is: what a rank says of its call is read in two parts, which must belong together.
pub(super) const CALL_BITS: u64 = 0xf;

/// The number of the call that a count is of.
#[inline]
pub(super) fn call_of(count: u64) -> u64 {
    count >> STEP_BITS
}

/// The count with which a call begins.
#[inline]
pub(super) fn first_step_of(call: u64) -> u64 {
    call << STEP_BITS
}

/// The mark of a gate that was opened for ranks with different marks.
pub(super) const UNLIKE: u64 = u64::MAX;
