//! The measured round trip, and the intervals that follow from it.

use crate::Nanos;
use crate::limits::{DELTA_MAX_NS, DELTA_MIN_NS, PROBE_NS_MIN, REQUEST_NS_MIN, RTT_FIRST_NS};

/// A smoothed round trip and its variation (RFC 6298, section 2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rtt {
    smooth: Nanos,
    variation: Nanos,
}

impl Rtt {
    pub(crate) fn sample(&mut self, rtt: Nanos) {
        if self.smooth == 0 {
            (self.smooth, self.variation) = (rtt.max(1), rtt / 2);
            return;
        }
        let off = self.smooth.abs_diff(rtt);
        self.variation = (3 * self.variation + off) / 4;
        self.smooth = ((7 * self.smooth + rtt) / 8).max(1);
    }

    pub(crate) fn smooth(&self) -> Nanos {
        if self.smooth == 0 { RTT_FIRST_NS } else { self.smooth }
    }

    /// Nothing takes longer unless it is lost.
    pub(crate) fn long(&self) -> Nanos {
        if self.smooth == 0 { 2 * RTT_FIRST_NS } else { self.smooth + 4 * self.variation }
    }

    /// δ: what was sent less long ago is taken to be on its way (section 3.2.1, case 2).
    pub(crate) fn delta(&self) -> Nanos {
        self.smooth().clamp(DELTA_MIN_NS, DELTA_MAX_NS)
    }

    /// When a receiver asks again.
    pub(crate) fn request(&self) -> Nanos {
        self.long().max(REQUEST_NS_MIN)
    }

    /// When a sender asks what has come.
    pub(crate) fn probe(&self) -> Nanos {
        PROBE_NS_MIN + 2 * self.long()
    }
}

/// A clock of 32 bits in µs, in which 0 means none.
pub(crate) fn stamp(now: Nanos) -> u32 {
    ((now / 1000) as u32).max(1)
}

/// The time since a stamp, unless that cannot be.
pub(crate) fn since(echo: u32, now: Nanos) -> Option<Nanos> {
    let micros = stamp(now).wrapping_sub(echo);
    (echo != 0 && micros < 60_000_000).then(|| u64::from(micros) * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_round_trip_is_learnt_and_its_variation_fades() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.delta(), RTT_FIRST_NS);
        (0..100).for_each(|_| rtt.sample(2_000_000));
        assert_eq!(rtt.smooth(), 2_000_000);
        assert!(rtt.long() < 2_100_000, "{}", rtt.long());
    }

    #[test]
    fn a_stamp_from_the_future_or_long_ago_says_nothing() {
        assert_eq!(since(stamp(5_000_000), 7_000_000), Some(2_000_000));
        assert_eq!(since(stamp(9_000_000), 7_000_000), None);
        assert_eq!(since(0, 7_000_000), None);
    }
}
