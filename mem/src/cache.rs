//! How much the largest cache of the processor holds, and how many share it.

use std::sync::OnceLock;

/// Bytes of the last-level cache, by the processor's own word; `None` where it does not say. All processes of a machine get the same
/// answer. It is found out once, in a few microseconds.
pub fn last_level_bytes() -> Option<u64> {
    last_level().map(|cache| cache.bytes)
}

/// Bytes of it for each of the hardware threads that share it.
pub fn last_level_share_bytes() -> Option<u64> {
    last_level().map(|cache| cache.bytes / cache.sharers)
}

/// A cache, as the processor describes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LastLevelCache {
    bytes: u64,
    /// Hardware threads, at least one.
    sharers: u64,
}

fn last_level() -> Option<LastLevelCache> {
    static ANSWER: OnceLock<Option<LastLevelCache>> = OnceLock::new();
    *ANSWER.get_or_init(ask)
}

// Older compilers than those of 2026 call the instruction unsafe.
#[allow(unused_unsafe)]
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn ask() -> Option<LastLevelCache> {
    use std::arch::x86_64::{__cpuid, __cpuid_count, CpuidResult};
    // Where Intel's and AMD's manuals describe caches: one subleaf each, up to one of type 0.
    const INTEL_CACHES: u32 = 4;
    const AMD_CACHES: u32 = 0x8000_001d;
    const SUBLEAVES_MAX: u32 = 16;
    // SAFETY: every processor of this architecture has the instruction, and answers any number.
    let leaf = |number| unsafe { __cpuid(number) };
    // SAFETY: likewise.
    let subleaf = |number, at| unsafe { __cpuid_count(number, at) };
    let has = |number: u32| leaf(number & 0x8000_0000).eax >= number;
    let caches = |number: u32| {
        let found = (0..SUBLEAVES_MAX).map(move |at| subleaf(number, at));
        found.take_while(|found: &CpuidResult| found.eax & 31 != 0).filter(|found| (found.eax >> 5) & 7 == 3)
    };
    let described = |found: CpuidResult| {
        let [ways, partitions, line] = [found.ebx >> 22, found.ebx >> 12 & 0x3ff, found.ebx & 0xfff]
            .map(|less_one| u64::from(less_one) + 1);
        let bytes = ways * partitions * line * (u64::from(found.ecx) + 1);
        LastLevelCache { bytes, sharers: u64::from(found.eax >> 14 & 0xfff) + 1 }
    };
    let leaves = [AMD_CACHES, INTEL_CACHES].into_iter().filter(|number| has(*number));
    leaves.flat_map(caches).map(described).max()
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn ask() -> Option<LastLevelCache> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_has_a_credible_size() {
        let bytes = last_level_bytes();
        assert!(bytes.is_none_or(|bytes| (1 << 18..1 << 36).contains(&bytes)), "{bytes:?}");
        assert_eq!(last_level_bytes(), bytes);
        assert!(last_level_share_bytes() <= bytes && last_level_share_bytes() != Some(0));
    }
}
