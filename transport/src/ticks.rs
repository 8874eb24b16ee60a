//! The finest clock that is cheap, for questions such as whether two calls come close behind each other.

/// The processor's clock: some nanoseconds to read, and a third of one or so for each tick. Any thread may ask; what two processors say may
/// differ by some ticks.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every processor of this architecture has the counter, and Linux lets programs read it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// The system's clock, as fine.
#[cfg(not(target_arch = "x86_64"))]
pub fn ticks() -> u64 {
    use std::sync::LazyLock;
    use std::time::Instant;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    TICKS_PER_NS * START.elapsed().as_nanos() as u64
}

/// About so many pass in a nanosecond: two to five on today's processors.
pub const TICKS_PER_NS: u64 = 3;
