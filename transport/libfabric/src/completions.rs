//! Room for what a poll finds, which the usual poll leaves as it is.

use std::mem::MaybeUninit;

use crate::abi::CqEntry;

/// Completions that are taken at once.
pub(crate) const ENTRIES: usize = 16;

/// What a poll has found: for [`Endpoint::take`](crate::Endpoint::take).
pub struct Completions {
    entries: [MaybeUninit<CqEntry>; ENTRIES],
    /// Entries that the provider has written, or its code.
    count: isize,
}

impl Completions {
    /// Room for them.
    #[inline]
    pub fn new() -> Completions {
        Completions { entries: [const { MaybeUninit::uninit() }; ENTRIES], count: 0 }
    }

    /// Where the provider writes at most [`ENTRIES`].
    #[inline]
    pub(crate) fn room(&mut self) -> *mut CqEntry {
        self.entries.as_mut_ptr().cast()
    }

    /// The provider has answered `count`.
    ///
    /// # Safety
    /// If that is a number of entries, it has written them.
    #[inline]
    pub(crate) unsafe fn found(&mut self, count: isize) {
        self.count = count;
    }

    /// The provider's answer.
    pub(crate) fn code(&self) -> isize {
        self.count
    }

    /// The entries that it has written.
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
