//! How payloads cross between two cores: through cells of the segment, copied in by the one and out by the other, or by the
//! kernel, copied once (by both sides at the same time where they can).
//!
//! Which is faster, the machine decides: what a system call and the kernel's look at each page cost, and how fast modified lines come out of
//! another core's cache (docs/performance/constants.md).

use std::sync::OnceLock;

/// How payloads cross between the ranks of a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Copies {
    /// As was measured to be faster on this kind of processor.
    #[default]
    Auto,
    /// Through the segment.
    Cells,
    /// By the kernel, where it allows that.
    Kernel,
}

impl Copies {
    /// All, in the order of their words.
    pub const ALL: [Copies; 3] = [Copies::Auto, Copies::Cells, Copies::Kernel];
    /// What `TERN_COPIES` calls each.
    pub const WORDS: [&str; 3] = ["auto", "cells", "kernel"];

    /// Whether payloads go through the segment on this node.
    pub fn by_cells(self) -> bool {
        match self {
            Copies::Auto => known_zen_family().is_some(),
            Copies::Cells => true,
            Copies::Kernel => false,
        }
    }

    /// Whether cells are so much faster than the kernel that two copies through them take less than one by it even where ranks share cores.
    pub fn has_fast_cells(self) -> bool {
        match self {
            Copies::Auto => known_zen_family() >= Some(ZEN_3_FAMILY),
            Copies::Cells => true,
            Copies::Kernel => false,
        }
    }
}

/// Asked once: under a hypervisor the question leaves the machine.
fn known_zen_family() -> Option<u32> {
    static FAMILY: OnceLock<Option<u32>> = OnceLock::new();
    *FAMILY.get_or_init(zen_family)
}

/// The family of a processor of AMD's Zen line, whose cores share a cache that takes up what leaves their own.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn zen_family() -> Option<u32> {
    use std::arch::x86_64::__cpuid;
    // SAFETY: every processor of this architecture has the instruction. Later versions of Rust need not be told.
    #[allow(unused_unsafe, reason = "Rust 1.88 needs it")]
    let (vendor, version) = unsafe { (__cpuid(0), __cpuid(1)) };
    let vendor = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
    let (base, extended) = (version.eax >> 8 & 0xf, version.eax >> 20 & 0xff);
    let family = if base == 0xf { base + extended } else { base };
    let is_amd = matches!(vendor.as_flattened(), b"AuthenticAMD" | b"HygonGenuine");
    (is_amd && family >= ZEN_FAMILY).then_some(family)
}

/// Elsewhere nothing was measured, and the kernel copies.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn zen_family() -> Option<u32> {
    None
}

/// The family of the first Zen, as `cpuid` counts.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const ZEN_FAMILY: u32 = 0x17;

/// That of the third and the fourth. The first copies in halves of a vector.
const ZEN_3_FAMILY: u32 = 0x19;
