//! How much the largest cache of the processor holds.

use std::sync::OnceLock;

/// Bytes of the last-level cache, by the processor's own word; `None` where it does not say. All processes of a machine get the same
/// answer. It is found out once, in a few microseconds.
pub fn last_level_bytes() -> Option<u64> {
    static ANSWER: OnceLock<Option<u64>> = OnceLock::new();
    *ANSWER.get_or_init(ask)
}

// Older compilers than those of 2026 call the instruction unsafe.
#[allow(unused_unsafe)]
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn ask() -> Option<u64> {
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
    let bytes = |found: CpuidResult| {
        let [ways, partitions, line] = [found.ebx >> 22, found.ebx >> 12 & 0x3ff, found.ebx & 0xfff]
            .map(|less_one| u64::from(less_one) + 1);
        ways * partitions * line * (u64::from(found.ecx) + 1)
    };
    let leaves = [AMD_CACHES, INTEL_CACHES].into_iter().filter(|number| has(*number));
    leaves.flat_map(caches).map(bytes).max()
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn ask() -> Option<u64> {
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
    }
}
