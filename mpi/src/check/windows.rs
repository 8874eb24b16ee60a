//! `TERN_CHECK=windows`: what accesses to a window may do to each other, and what a person is told.
//!
//! An access is open at its target until a synchronization of its kind ends it. Two open accesses to the same bytes conflict, unless
//! both only read, or both are atomic in the same way (MPI 5.0 section 12.7). Where the open accesses are kept, `rma::watch` says.

use crate::rma::call::RmaCall;
use std::collections::{BTreeSet, VecDeque};
use tern_abi::*;
use tern_mem::UserBuf;
use tern_mem::op::PredefinedOp;

/// Accesses whose buffers are looked at again; of older ones nothing is known.
const HELD_MAX: usize = 4096;

/// What a rank remembers of its accesses to a window.
#[derive(Debug)]
pub(crate) struct WindowWatch {
    /// A window of the library's own, which has the table of open accesses of each rank.
    pub tables: MPI_Win,
    /// This rank's accesses whose buffers may not be used yet.
    held: VecDeque<HeldAccess>,
    /// Targets that have accesses of this rank which a flush ends.
    pub entered: BTreeSet<u32>,
    /// A thread has one of the tables.
    pub is_busy: bool,
    /// This rank's memory as its last synchronization left it; `None` where stores since then cannot be told from other changes.
    pub before: Option<Vec<u8>>,
}

/// What a rank has promised of its memory, and what its table does not know; the head of the table has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ExposureState {
    /// `MPI_MODE_NOPUT` of the last fence.
    pub fence_no_put: bool,
    /// `MPI_MODE_NOPUT` of `MPI_Win_post`.
    pub post_no_put: bool,
    /// The epoch of `MPI_Win_post` is open.
    pub is_posted: bool,
    /// It had `MPI_MODE_NOCHECK`.
    pub is_unchecked: bool,
    /// Accesses that the table has no more, or never had, have written the memory since the rank's last synchronization.
    pub is_written: bool,
}

impl ExposureState {
    /// For the table.
    pub(crate) fn word(self) -> u64 {
        let flags = [self.fence_no_put, self.post_no_put, self.is_posted, self.is_unchecked, self.is_written];
        flags.iter().enumerate().fold(0, |word, (at, flag)| word | u64::from(*flag) << at)
    }

    /// From the table.
    pub(crate) fn of_word(word: u64) -> ExposureState {
        let flag = |at: u32| word >> at & 1 != 0;
        ExposureState {
            fence_no_put: flag(0),
            post_no_put: flag(1),
            is_posted: flag(2),
            is_unchecked: flag(3),
            is_written: flag(4),
        }
    }

    /// The call in which the rank has promised that no access with this end changes its memory.
    pub(crate) fn no_put(self, ends: AccessEnd) -> Option<&'static str> {
        match ends {
            AccessEnd::Fence => self.fence_no_put.then_some("MPI_Win_fence"),
            AccessEnd::Complete => self.post_no_put.then_some("MPI_Win_post"),
            AccessEnd::Flush => None,
        }
    }
}

/// What ends an access at its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AccessEnd {
    /// `MPI_Win_fence`.
    Fence,
    /// `MPI_Win_wait` of the target; here, `MPI_Win_complete`.
    Complete,
    /// `MPI_Win_flush` and `MPI_Win_unlock`, with one rank or all.
    Flush,
}

impl AccessEnd {
    const ALL: [AccessEnd; 3] = [AccessEnd::Fence, AccessEnd::Complete, AccessEnd::Flush];
}

/// One run of bytes that an open access uses at its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AccessedBytes {
    /// The call.
    pub call: RmaCall,
    /// Its operation, if it combines.
    pub op: MPI_Op,
    /// The type of its elements, if it combines.
    pub element: MPI_Datatype,
    /// What ends it.
    pub ends: AccessEnd,
    /// Accesses of its origin to one element are ordered (`accumulate_ordering`).
    pub is_ordered: bool,
    /// The rank that makes it.
    pub origin: u32,
    /// The first byte, counted from the beginning of the target's memory; in a dynamic window, its address.
    pub low: u64,
    /// The byte behind the last.
    pub high: u64,
    /// A hash of the bytes as the access left them, if they must not change until it ends.
    pub content: Option<u64>,
}

/// Words of an entry in the table.
const WORDS: usize = 8;

impl AccessedBytes {
    /// Bytes of an entry in the table.
    pub(crate) const BYTES: usize = WORDS * 8;

    /// For the table.
    pub(crate) fn bytes(&self) -> [u8; AccessedBytes::BYTES] {
        let words: [u64; WORDS] = [
            self.call as u64,
            self.op.0 as u64,
            self.element.0 as u64,
            self.ends as u64 | u64::from(self.is_ordered) << 8 | u64::from(self.content.is_some()) << 9,
            self.origin.into(),
            self.low,
            self.high,
            self.content.unwrap_or(0),
        ];
        let mut bytes = [0; AccessedBytes::BYTES];
        for (word, to) in words.iter().zip(bytes.chunks_exact_mut(8)) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// From the table; `None` if nobody wrote such an entry.
    pub(crate) fn read(bytes: &[u8]) -> Option<AccessedBytes> {
        let word = |at: usize| {
            Some(u64::from_le_bytes(bytes.get(at * 8..at * 8 + 8)?.try_into().expect("eight bytes")))
        };
        let flags = word(3)?;
        Some(AccessedBytes {
            call: RmaCall::from_number(word(0)?)?,
            op: MPI_Op(word(1)? as usize),
            element: MPI_Datatype(word(2)? as usize),
            ends: *AccessEnd::ALL.get((flags & 0xff) as usize)?,
            is_ordered: flags & 1 << 8 != 0,
            origin: word(4)? as u32,
            low: word(5)?,
            high: word(6)?,
            content: if flags & 1 << 9 != 0 { Some(word(7)?) } else { None },
        })
    }

    /// Whether it leaves the target as it is.
    pub(crate) fn only_reads(&self) -> bool {
        self.call.is_get() || self.op == MPI_NO_OP
    }

    fn is_atomic(&self) -> bool {
        !self.call.is_get() && !self.call.is_put()
    }

    /// Whether a later access conflicts with this one, which is open.
    pub(crate) fn conflicts(&self, later: &AccessedBytes) -> bool {
        if self.low >= later.high || later.low >= self.high || (self.only_reads() && later.only_reads()) {
            return false;
        }
        !(self.is_atomic() && later.is_atomic() && self.fits(later))
    }

    /// Whether two atomic accesses may meet: with the same operation, or where one comes after the other anyway. A comparison that swaps may
    /// meet any, as in locks that are made of it.
    fn fits(&self, later: &AccessedBytes) -> bool {
        let compares = |entry: &AccessedBytes| entry.call == RmaCall::CompareAndSwap;
        self.element == later.element
            && (self.op == later.op
                || self.only_reads()
                || later.only_reads()
                || compares(self)
                || compares(later)
                || (self.origin == later.origin && self.is_ordered && later.is_ordered))
    }

    fn described(&self) -> String {
        let op = match PredefinedOp::from_handle(self.op.0) {
            Some(op) if self.is_atomic() && self.call != RmaCall::CompareAndSwap => format!(" with {op}"),
            _ => String::new(),
        };
        format!("{}{op} of rank {} to {}", self.call.name(), self.origin, span(self.low, self.high))
    }
}

fn span(low: u64, high: u64) -> String {
    if high - low == 1 { format!("byte {low}") } else { format!("bytes {low} to {}", high - 1) }
}

/// The first open access that one of the later runs conflicts with, and that run.
pub(crate) fn find_conflict<'a>(
    open: &'a [AccessedBytes],
    later: &'a [AccessedBytes],
) -> Option<(&'a AccessedBytes, &'a AccessedBytes)> {
    later.iter().find_map(|run| Some((open.iter().find(|open| open.conflicts(run))?, run)))
}

const WHERE: &str = "(TERN_CHECK=windows, MPI 5.0 section 12.7)";

/// What a person is told of a conflict at rank `target` of a window.
pub(crate) fn conflict(open: &AccessedBytes, later: &AccessedBytes, target: u32, window: &str) -> String {
    let what = match open.ends {
        AccessEnd::Fence => "put MPI_Win_fence between them",
        AccessEnd::Complete => "let them come in different exposure epochs of the target",
        AccessEnd::Flush if open.origin == later.origin => "put MPI_Win_flush between them",
        AccessEnd::Flush => {
            "end the first by MPI_Win_flush or MPI_Win_unlock, and tell the other rank of it, or lock exclusively"
        }
    };
    format!(
        "at rank {target} of {window}, {} meets {}, which is still open: {what} {WHERE}",
        later.described(),
        open.described()
    )
}

/// What a person is told of bytes that changed while an access was open.
pub(crate) fn stored(entry: &AccessedBytes, me: u32, window: &str) -> String {
    let did = if entry.call.is_get() { "read" } else { "written" };
    format!(
        "{} of rank {me} in {window}, which {} of rank {} has {did}, were changed by a store before the epoch ended: a fence, or \
         MPI_Win_wait, has to come first {WHERE}",
        span(entry.low, entry.high),
        entry.call.name(),
        entry.origin
    )
}

const ASSERTED: &str = "(TERN_CHECK=windows, MPI 5.0 section 12.5.5)";

/// What a person is told of an access to a rank that said in `promise` that there would be none.
pub(crate) fn not_promised(call: RmaCall, me: u32, target: u32, promise: &str, window: &str) -> String {
    format!(
        "{} of rank {me} would change memory of rank {target} in {window}, which said MPI_MODE_NOPUT in {promise}: leave out that \
         assertion, or the access {ASSERTED}",
        call.name()
    )
}

/// What a person is told of bytes that changed, though `MPI_MODE_NOSTORE` says that they have not.
pub(crate) fn stored_though(low: u64, high: u64, me: u32, window: &str) -> String {
    format!(
        "assert has MPI_MODE_NOSTORE, but {} of rank {me} in {window} were changed here since its last synchronization {ASSERTED}",
        span(low, high)
    )
}

/// What a person is told if one of `MPI_Win_post` and `MPI_Win_start` has `MPI_MODE_NOCHECK`, and the other not.
pub(crate) fn unlike(target: u32, by_target: bool, window: &str) -> String {
    let (with, without) = if by_target {
        (format!("MPI_Win_post of rank {target}"), "MPI_Win_start here".to_owned())
    } else {
        ("MPI_Win_start here".to_owned(), format!("MPI_Win_post of rank {target}"))
    };
    format!(
        "in {window}, {with} has MPI_MODE_NOCHECK, but {without} has not: both have it, or none {ASSERTED}"
    )
}

/// What a person is told of `MPI_MODE_NOCHECK` in `MPI_Win_start` that comes before the target's `MPI_Win_post`.
pub(crate) fn not_posted(target: u32, window: &str) -> String {
    format!(
        "assert has MPI_MODE_NOCHECK, but rank {target} had not called MPI_Win_post of {window}: that call has to be over before \
         {ASSERTED}"
    )
}

/// The first run of bytes that differ and that no access in the table wrote.
pub(crate) fn find_store(before: &[u8], now: &[u8], entries: &[AccessedBytes]) -> Option<(u64, u64)> {
    let wrote = |at: usize| {
        let at = at as u64;
        entries.iter().find(|entry| (entry.low..entry.high).contains(&at) && !entry.only_reads())
    };
    let end = before.len().min(now.len());
    let mut low = 0;
    loop {
        low += before[low..end].iter().zip(&now[low..end]).position(|(before, now)| before != now)?;
        match wrote(low) {
            Some(entry) => low = (entry.high as usize).min(end),
            None => break,
        }
    }
    let high = (low..end).find(|at| before[*at] == now[*at] || wrote(*at).is_some()).unwrap_or(end);
    Some((low as u64, high as u64))
}

/// An access whose buffers are in use.
#[derive(Debug)]
pub(crate) struct HeldAccess {
    /// The call.
    pub call: RmaCall,
    /// Its target.
    pub target: u32,
    /// What ends it.
    pub ends: AccessEnd,
    /// The bytes that it uses there: the first, and the one behind the last.
    pub there: (u64, u64),
    /// The buffers here.
    pub buffers: Vec<AccessBuffer>,
}

/// A buffer of an access.
#[derive(Clone, Debug)]
pub(crate) struct AccessBuffer {
    /// It.
    pub buffer: UserBuf,
    /// The access writes it.
    pub is_written: bool,
    /// A hash of what was in it when the call returned.
    pub content: u64,
}

impl HeldAccess {
    fn described(&self) -> String {
        format!("{} to {} of rank {}", self.call.name(), span(self.there.0, self.there.1), self.target)
    }
}

impl AccessBuffer {
    fn described(&self) -> String {
        match self.buffer.as_contiguous() {
            Some((at, len)) => format!("{len} bytes at {at:#x}"),
            None => format!("{} bytes with gaps", self.buffer.len()),
        }
    }

    /// Only runs are compared: gaps would have to be, too.
    fn overlaps(&self, other: &AccessBuffer) -> bool {
        let (Some((a, a_len)), Some((b, b_len))) =
            (self.buffer.as_contiguous(), other.buffer.as_contiguous())
        else {
            return false;
        };
        a < b + b_len && b < a + a_len
    }

    fn has_changed(&self) -> bool {
        !self.buffer.is_there(false) || content(&self.buffer, 0, self.buffer.len()) != self.content
    }
}

/// Which accesses of this rank a call ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EndedAccesses {
    /// Of this kind.
    pub ends: AccessEnd,
    /// To this rank, or to all.
    pub target: Option<u32>,
}

impl EndedAccesses {
    fn has(self, held: &HeldAccess) -> bool {
        held.ends == self.ends && self.target.is_none_or(|target| target == held.target)
    }
}

impl WindowWatch {
    /// Of a window that has its tables in another.
    pub(crate) fn new(tables: MPI_Win) -> WindowWatch {
        WindowWatch { tables, held: VecDeque::new(), entered: BTreeSet::new(), is_busy: false, before: None }
    }

    /// What a person is told if a call uses a buffer that an access still has.
    pub(crate) fn reuse(&self, call: RmaCall, buffers: &[AccessBuffer]) -> Option<String> {
        for held in &self.held {
            for (used, new) in held.buffers.iter().flat_map(|used| buffers.iter().map(move |new| (used, new)))
            {
                if used.overlaps(new) && (used.is_written || new.is_written || used.has_changed()) {
                    return Some(format!(
                        "{} uses {} which {} still has: it was not completed by a flush, or by the end of its epoch {WHERE}",
                        call.name(),
                        new.described(),
                        held.described()
                    ));
                }
            }
        }
        None
    }

    /// An access has been made.
    pub(crate) fn hold(&mut self, held: HeldAccess) {
        if self.held.len() == HELD_MAX {
            self.held.pop_front();
        }
        self.held.push_back(held);
    }

    /// A call ends accesses: what a person is told if a buffer was used too early.
    pub(crate) fn release(&mut self, call: &str, which: EndedAccesses) -> Option<String> {
        let mut complaint = None;
        self.held.retain(|held| {
            if !which.has(held) {
                return true;
            }
            let changed = held.buffers.iter().find(|used| used.has_changed());
            if let (None, Some(used)) = (&complaint, changed) {
                complaint = Some(format!(
                    "the buffer of {}, {}, was changed before {call} completed it: a flush, or the end of the epoch, has to come first \
                     {WHERE}",
                    held.described(),
                    used.described()
                ));
            }
            false
        });
        complaint
    }
}

/// A hash of some packed bytes of a buffer.
pub(crate) fn content(buffer: &UserBuf, from: usize, bytes: usize) -> u64 {
    const CHUNK: usize = 4096;
    let (mut chunk, mut hash, mut at) = ([0; CHUNK], 0xcbf2_9ce4_8422_2325u64, 0);
    while at < bytes {
        let part = CHUNK.min(bytes - at);
        chunk[part..].fill(0);
        buffer.read(from + at, &mut chunk[..part]);
        for word in chunk[..part.next_multiple_of(8)].chunks_exact(8) {
            let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
            hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
        }
        at += part;
    }
    hash ^ bytes as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(call: RmaCall, origin: u32, low: u64, high: u64) -> AccessedBytes {
        let op = if call.is_get() || call.is_put() { MPI_OP_NULL } else { MPI_SUM };
        let element = if op == MPI_SUM { MPI_INT64_T } else { MPI_DATATYPE_NULL };
        AccessedBytes {
            call,
            op,
            element,
            ends: AccessEnd::Fence,
            is_ordered: true,
            origin,
            low,
            high,
            content: None,
        }
    }

    #[test]
    fn entries_come_back_from_the_table() {
        let put = AccessedBytes { content: Some(7), ends: AccessEnd::Flush, ..entry(RmaCall::Put, 3, 8, 16) };
        for entry in [put, entry(RmaCall::GetAccumulate, 1, 0, u64::MAX)] {
            assert_eq!(AccessedBytes::read(&entry.bytes()), Some(entry));
        }
        assert_eq!(AccessedBytes::read(&[0xff; AccessedBytes::BYTES]), None);
        assert_eq!(AccessedBytes::read(&[0; 5]), None);
    }

    #[test]
    fn accesses_conflict_where_they_meet_and_one_writes() {
        let put = entry(RmaCall::Put, 0, 0, 8);
        assert!(put.conflicts(&entry(RmaCall::Put, 1, 7, 9)) && put.conflicts(&entry(RmaCall::Get, 0, 0, 1)));
        assert!(!put.conflicts(&entry(RmaCall::Put, 1, 8, 9)), "beside it");
        let get = entry(RmaCall::Get, 0, 0, 8);
        assert!(!get.conflicts(&entry(RmaCall::Get, 1, 0, 8)) && get.conflicts(&put));
    }

    #[test]
    fn what_a_rank_says_comes_back_from_the_table() {
        for word in 0..32 {
            assert_eq!(ExposureState::of_word(word).word(), word);
        }
        let state = ExposureState { post_no_put: true, ..ExposureState::default() };
        assert_eq!(state.no_put(AccessEnd::Complete), Some("MPI_Win_post"));
        assert!(state.no_put(AccessEnd::Fence).is_none() && state.no_put(AccessEnd::Flush).is_none());
    }

    #[test]
    fn stores_are_changes_that_no_access_made() {
        let (before, now) = ([0; 8], [0, 1, 2, 0, 0, 3, 3, 0]);
        let put = entry(RmaCall::Put, 1, 1, 3);
        assert_eq!(find_store(&before, &now, &[]), Some((1, 3)));
        assert_eq!(find_store(&before, &now, &[put]), Some((5, 7)));
        assert_eq!(find_store(&before, &now, &[entry(RmaCall::Get, 1, 0, 8)]), Some((1, 3)));
        assert_eq!(find_store(&before, &now, &[put, entry(RmaCall::Accumulate, 2, 4, 8)]), None);
    }

    #[test]
    fn atomic_accesses_meet_with_one_operation_and_type() {
        let sum = entry(RmaCall::Accumulate, 0, 0, 8);
        let other = |change: fn(&mut AccessedBytes)| {
            let mut other = entry(RmaCall::FetchAndOp, 1, 0, 8);
            change(&mut other);
            sum.conflicts(&other)
        };
        assert!(!other(|_| {}) && !other(|entry| entry.op = MPI_NO_OP));
        assert!(!other(|entry| entry.call = RmaCall::CompareAndSwap));
        assert!(other(|entry| entry.op = MPI_MAX) && other(|entry| entry.element = MPI_DOUBLE));
        assert!(!other(|entry| (entry.op, entry.origin) = (MPI_MAX, 0)), "in the order of the calls");
        assert!(sum.conflicts(&entry(RmaCall::Put, 0, 0, 8)) && sum.conflicts(&entry(RmaCall::Get, 1, 0, 8)));
        assert!(
            !entry(RmaCall::Get, 1, 0, 8).conflicts(&AccessedBytes { op: MPI_NO_OP, ..sum }),
            "both only read"
        );
    }

    #[test]
    fn a_conflict_is_told_with_both_calls_ranks_and_bytes() {
        let (put, sum) = (entry(RmaCall::Put, 0, 0, 8), entry(RmaCall::Accumulate, 2, 4, 5));
        let said = conflict(&put, &sum, 1, "window grid");
        assert!(said.starts_with(
            "at rank 1 of window grid, MPI_Accumulate with MPI_SUM of rank 2 to byte 4 meets MPI_Put of rank 0 to bytes 0 to 7, which"
        ), "{said}");
    }

    #[test]
    fn buffers_are_held_until_their_kind_of_end() {
        let mut watch = WindowWatch::new(MPI_WIN_NULL);
        let access_buffer = |is_written, buffer: &UserBuf| AccessBuffer {
            buffer: buffer.clone(),
            is_written,
            content: content(buffer, 0, buffer.len()),
        };
        let buffer = UserBuf::owned(20);
        let held = |target| HeldAccess {
            call: RmaCall::Put,
            target,
            ends: AccessEnd::Flush,
            there: (0, 20),
            buffers: vec![access_buffer(false, &buffer)],
        };
        watch.hold(held(1));
        watch.hold(held(2));
        assert_eq!(watch.reuse(RmaCall::Put, &[access_buffer(false, &buffer)]), None, "both read it");
        assert!(
            watch
                .reuse(RmaCall::Get, &[access_buffer(true, &buffer)])
                .unwrap()
                .contains("which MPI_Put to bytes 0 to 19 of rank 1")
        );
        let which = |target| EndedAccesses { ends: AccessEnd::Flush, target };
        assert_eq!(watch.release("MPI_Win_flush", which(Some(1))), None);
        buffer.write(19, &[1]);
        assert!(
            watch.reuse(RmaCall::Put, &[access_buffer(false, &buffer)]).is_some(),
            "it was changed meanwhile"
        );
        assert_eq!(
            watch.release("MPI_Win_fence", EndedAccesses { ends: AccessEnd::Fence, target: None }),
            None
        );
        assert!(
            watch
                .release("MPI_Win_unlock_all", which(None))
                .unwrap()
                .contains("before MPI_Win_unlock_all completed")
        );
        assert_eq!(watch.reuse(RmaCall::Get, &[access_buffer(true, &buffer)]), None);
    }
}
