//! How fast packets may go: a token bucket.
//!
//! A switch, or a `tbf` queue, holds a burst of some size and drops what goes beyond it. Whoever sends many packets to somebody who
//! gets them at a lower rate must keep to that rate itself.

use super::Nanos;

const NS_PER_S: u128 = 1_000_000_000;

/// So many bytes a second, and a burst of so many after a pause.
#[derive(Clone, Debug)]
pub struct Pacer {
    bytes_per_s: u64,
    burst_bytes: u64,
    /// When the bucket would have been empty, had it filled at this rate ever since: what is in it now grows with the time
    /// since then.
    empty_at: Nanos,
}

impl Pacer {
    /// With a full bucket. The rate is at least one byte a second.
    pub fn new(bytes_per_s: u64, burst_bytes: u64, now: Nanos) -> Pacer {
        let mut pacer = Pacer { bytes_per_s: bytes_per_s.max(1), burst_bytes, empty_at: 0 };
        pacer.empty_at = now.saturating_sub(pacer.time_for(burst_bytes));
        pacer
    }

    /// Goes on at another rate, with what the bucket holds.
    pub fn set_rate(&mut self, bytes_per_s: u64, now: Nanos) {
        let held = self.allowance(now);
        let owed = self.time_for_debt(now);
        self.bytes_per_s = bytes_per_s.max(1);
        self.empty_at = now.saturating_sub(self.time_for(held)) + owed;
    }

    /// Bytes that may go now.
    pub fn allowance(&self, now: Nanos) -> u64 {
        let ns = u128::from(now.saturating_sub(self.empty_at));
        let bytes = ns * u128::from(self.bytes_per_s) / NS_PER_S;
        u64::try_from(bytes).map_or(self.burst_bytes, |bytes| bytes.min(self.burst_bytes))
    }

    /// Bytes have gone. It may be more than was allowed: then the bucket is empty for longer.
    pub fn spend(&mut self, bytes: u64, now: Nanos) {
        let full_since = now.saturating_sub(self.time_for(self.burst_bytes));
        self.empty_at = self.empty_at.max(full_since).saturating_add(self.time_for(bytes));
    }

    /// When so many bytes may go; no more than a burst are waited for.
    pub fn ready_at(&self, bytes: u64) -> Nanos {
        self.empty_at.saturating_add(self.time_for(bytes.min(self.burst_bytes)))
    }

    /// Rounded up, so that what is waited for is there.
    fn time_for(&self, bytes: u64) -> Nanos {
        let ns = (u128::from(bytes) * NS_PER_S).div_ceil(u128::from(self.bytes_per_s));
        u64::try_from(ns).unwrap_or(Nanos::MAX)
    }

    fn time_for_debt(&self, now: Nanos) -> Nanos {
        self.empty_at.saturating_sub(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// A queue like the kernel's `tbf`: it passes bytes on at a rate, and drops what finds it full.
    struct Queue {
        bytes_per_s: u64,
        room: u64,
        held: VecDeque<(Nanos, u64)>,
        free_at: Nanos,
        dropped: u64,
    }

    impl Queue {
        fn put(&mut self, bytes: u64, now: Nanos) {
            self.held.retain(|(leaves, _)| *leaves > now);
            if self.held.iter().map(|(_, bytes)| bytes).sum::<u64>() + bytes > self.room {
                self.dropped += bytes;
                return;
            }
            self.free_at = self.free_at.max(now) + bytes * 1_000_000_000 / self.bytes_per_s;
            self.held.push_back((self.free_at, bytes));
        }
    }

    /// Sends 4 MiB in packets of 1,448 bytes into a queue of 125 MB/s that holds 256 KiB. Answers drops and time.
    fn transfer(pacer: &mut Pacer) -> (u64, Nanos) {
        let mut queue = Queue {
            bytes_per_s: 125_000_000,
            room: 256 << 10,
            held: VecDeque::new(),
            free_at: 0,
            dropped: 0,
        };
        let mut now = 1_000_000_000;
        let start = now;
        for _ in 0..2897 {
            now = now.max(pacer.ready_at(1448));
            pacer.spend(1448, now);
            queue.put(1448, now);
        }
        (queue.dropped, queue.free_at - start)
    }

    #[test]
    fn a_burst_beyond_the_queue_is_dropped_and_a_paced_one_is_not() {
        let now = 1_000_000_000;
        let (dropped, _) = transfer(&mut Pacer::new(10_000_000_000, 64 << 10, now));
        assert!(dropped > 3 << 20, "only {dropped} bytes were dropped");
        let (dropped, ns) = transfer(&mut Pacer::new(125_000_000, 64 << 10, now));
        assert_eq!(dropped, 0);
        assert!((33_000_000..34_500_000).contains(&ns), "{ns} ns instead of 33.6 ms");
    }

    #[test]
    fn another_rate_takes_the_bucket_over() {
        let mut pacer = Pacer::new(1_000_000, 1000, 5_000_000);
        pacer.spend(400, 5_000_000);
        pacer.set_rate(2_000_000, 5_000_000);
        assert_eq!(pacer.allowance(5_000_000), 600);
        assert_eq!(pacer.allowance(5_100_000), 800);
        assert_eq!(pacer.allowance(9_000_000), 1000, "no more than a burst");
    }

    proptest! {
        #[test]
        fn no_more_goes_than_rate_and_burst_allow(
            rate in 1_000u64..10_000_000_000, burst in 1u64..1_000_000, packets in prop::collection::vec(1u64..70_000, 1..200)
        ) {
            let start = 1 << 40;
            let mut pacer = Pacer::new(rate, burst, start);
            let (mut now, mut gone) = (start, 0u128);
            for bytes in packets {
                now = now.max(pacer.ready_at(bytes));
                prop_assert!(pacer.allowance(now) >= bytes.min(burst));
                let allowed = u128::from(now - start) * u128::from(rate) / NS_PER_S + u128::from(burst);
                prop_assert!(gone <= allowed, "{} bytes, {} allowed", gone, allowed);
                pacer.spend(bytes, now);
                gone += u128::from(bytes);
            }
        }
    }
}
