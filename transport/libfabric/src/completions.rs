//! Room for what a poll finds, which the usual poll leaves as it is, and for much at once.

use std::mem::MaybeUninit;

use crate::abi::CqEntry;

/// Completions that are taken at once.
pub(crate) const ENTRIES: usize = 16;

/// What a poll has found: for [`Endpoint::take`](crate::Endpoint::take).
pub struct Completions {
    entries: [MaybeUninit<CqEntry>; ENTRIES],
    /// Entries that the provider has written, or its code.
    count: isize,
    /// They are in the endpoint's [`CompletionBacklog`].
    is_backlog: bool,
}

impl Completions {
    /// Room for them.
    #[inline]
    pub fn new() -> Completions {
        Completions { entries: [const { MaybeUninit::uninit() }; ENTRIES], count: 0, is_backlog: false }
    }

    /// Where the provider writes, and how many entries at most.
    #[inline]
    pub(crate) fn room(&mut self) -> (*mut CqEntry, usize) {
        (self.entries.as_mut_ptr().cast(), ENTRIES)
    }

    /// The same in an endpoint's backlog.
    #[cold]
    pub(crate) fn room_in(&mut self, backlog: &mut CompletionBacklog) -> (*mut CqEntry, usize) {
        self.is_backlog = true;
        (backlog.entries.as_mut_ptr().cast(), backlog.entries.len())
    }

    /// The provider has answered `count`.
    ///
    /// # Safety
    /// If that is a number of entries, it has written them.
    #[inline]
    pub(crate) unsafe fn found(&mut self, count: isize) {
        self.count = count;
    }

    /// Whether the entries are in the endpoint's backlog.
    pub(crate) fn is_backlog(&self) -> bool {
        self.is_backlog
    }

    /// The provider's answer.
    pub(crate) fn code(&self) -> isize {
        self.count
    }

    /// The entries that it has written here.
    pub(crate) fn entries(&self) -> &[CqEntry] {
        let count = self.count.clamp(0, ENTRIES as isize) as usize;
        // SAFETY: as `found` was told.
        unsafe { std::slice::from_raw_parts(self.entries.as_ptr().cast(), count) }
    }
}

impl Default for Completions {
    fn default() -> Completions {
        Completions::new()
    }
}

/// Room for more completions than [`ENTRIES`], of a provider that must not be left behind.
///
/// Each read of provider shm's queue lets it take in all that peers have sent. So who reads less at a time than a read takes in falls
/// behind without end, until the memory for packets is used up, and nothing comes any more.
pub(crate) struct CompletionBacklog {
    entries: Vec<MaybeUninit<CqEntry>>,
    /// The last read that found something was full, so more may wait.
    pub(crate) is_needed: bool,
}

impl CompletionBacklog {
    /// Room for so many; with 0 it is never needed.
    pub(crate) fn new(count: usize) -> CompletionBacklog {
        CompletionBacklog { entries: vec![MaybeUninit::uninit(); count], is_needed: false }
    }

    /// A read has found something; was it full, more may wait.
    #[inline]
    pub(crate) fn found(&mut self, is_full: bool) {
        self.is_needed = is_full && !self.entries.is_empty();
    }

    /// An entry that the provider has written.
    ///
    /// # Safety
    /// It has.
    pub(crate) unsafe fn entry(&self, at: usize) -> CqEntry {
        // SAFETY: by the caller.
        unsafe { self.entries[at].assume_init() }
    }
}
