//! What a person is told when the ranks of a collective do not call the same.

use crate::core::error::{Error, fail};
use tern_abi::*;
use tern_coll::Collective;
use tern_shm::Mismatch;
use tern_shmcoll::{Difference, Mark};

/// What to do about lengths that differ.
pub(super) const SAME_DATA: &str =
    "counts and datatypes must describe the same data on all ranks (section 6.1)";

/// What else there is to do.
const COMPARE: &str = "TERN_CHECK=collectives compares the calls of all ranks";

/// Rank `rank` sent other lengths than this one expects.
#[cold]
pub(super) fn unequal(call: &'static str, rank: u32, sent: usize, room: usize) -> Box<Error> {
    let text = match sent > room {
        true => format!(
            "rank {rank} sent {sent} bytes in this {call}, this rank has room for {room}: {SAME_DATA}"
        ),
        false => {
            format!(
                "rank {rank} sent only {sent} bytes in this {call}, this rank expects {room}: {SAME_DATA}"
            )
        }
    };
    fail(MPI_ERR_TRUNCATE, text)
}

/// The kernel does not copy between this rank's memory and that of `rank`.
#[cold]
pub(super) fn refused(call: &'static str, rank: u32) -> Box<Error> {
    let text = format!(
        "the kernel did not copy this rank's block of this {call} to or from the memory of rank {rank}: is all of both buffers \
         memory of the program's? TERN_CMA=0 copies without the kernel"
    );
    fail(MPI_ERR_BUFFER, text)
}

/// This rank sends other lengths to itself than it expects.
#[cold]
pub(super) fn unequal_to_itself(sent: u64, room: u64) -> Box<Error> {
    let text = format!("this rank sends {sent} bytes to itself, but has room for {room}: {SAME_DATA}");
    fail(MPI_ERR_TRUNCATE, text)
}

/// Another rank makes another call than this one, with mark `own`.
#[cold]
pub(super) fn mismatched(call: &'static str, own: Mark, found: Mismatch) -> Box<Error> {
    match found {
        Mismatch::Unlike { rank, mark } => unlike(call, own, rank, Mark::from_bits(mark)),
        Mismatch::Gone { rank } => fail(MPI_ERR_OTHER, gone(call, rank)),
    }
}

fn unlike(call: &'static str, own: Mark, rank: u32, theirs: Mark) -> Box<Error> {
    let (class, text) = match own.difference(theirs) {
        Some(Difference::Root) => (
            MPI_ERR_ROOT,
            format!(
                "{} is the root of this {call} at rank {rank}, {} at this rank: all ranks must name the same (section 6.4)",
                name(theirs.root()),
                name(own.root())
            ),
        ),
        Some(Difference::Operation) => (
            MPI_ERR_OP,
            format!(
                "rank {rank} makes this {call} with another operation or another type of elements: all ranks must name the \
                 same (section 6.9)"
            ),
        ),
        Some(Difference::Bytes | Difference::Lengths) if theirs.is_uneven() => (
            MPI_ERR_TRUNCATE,
            format!(
                "rank {rank} sends another number of bytes to itself in this {call} than it has room for: {SAME_DATA}"
            ),
        ),
        Some(Difference::Bytes) => (
            MPI_ERR_TRUNCATE,
            format!(
                "rank {rank} takes part in this {call} with {} bytes, this rank with {}: {SAME_DATA}",
                theirs.bytes(),
                own.bytes()
            ),
        ),
        Some(Difference::Lengths) => (
            MPI_ERR_TRUNCATE,
            format!(
                "rank {rank} gives other counts for the ranks in this {call}: all must give the same (section 6.1)"
            ),
        ),
        Some(Difference::Collective) | None => {
            let other = theirs.collective().map_or_else(|| "another collective".into(), called);
            (MPI_ERR_OTHER, format!("rank {rank} is in {other} where this rank is in {call}: {COMPARE}"))
        }
    };
    fail(class, text)
}

/// A collective in which another rank is: calls that make windows, for example, use them, too.
fn called(found: Collective) -> String {
    let (first, rest) = found.name().split_at(1);
    format!("MPI_{}{rest}, or a call that uses it,", first.to_ascii_uppercase())
}

fn gone(call: &'static str, rank: Option<u32>) -> String {
    let who = rank.map_or_else(|| "another rank".to_owned(), |rank| format!("rank {rank}"));
    format!("{who} has left this {call}, or made another call instead: {SAME_DATA}; {COMPARE}")
}

fn name(root: Option<u32>) -> String {
    root.map_or_else(|| "no rank".to_owned(), |rank| format!("rank {rank}"))
}
