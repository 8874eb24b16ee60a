//! How fast packets may go to a receiver.
//!
//! Loss alone does not say that a sender is too fast: some networks lose whatever the pace. So a pace that loses more than
//! before is lowered, to what the receiver says comes through, and the next epoch judges: if the loss has gone down, the pace
//! was the reason; if it has not, the old pace is restored, and so much loss is taken to be the network's own.

use crate::Nanos;
use crate::limits::{PACE_CHANCE, PACE_EPOCH_PACKETS, PACE_FLOOD, RATE_MIN};

#[derive(Clone, Debug)]
pub(crate) struct Pace {
    /// Bytes per second.
    rate: u64,
    rate_max: u64,
    /// What the receiver said last, bytes per second.
    reported: u64,
    acked: u32,
    lost: u32,
    /// Loss that a slower pace did not cure, in thousandths.
    usual_loss: u32,
    /// The last epoch lost more than usual as well. One alone may be a burst: a datagram of many segments is lost as a whole.
    bad: bool,
    /// The pace and loss before it was lowered.
    trial: Option<(u64, u32)>,
    /// When that was: what went earlier says nothing of the new pace.
    changed: Nanos,
}

impl Pace {
    pub(crate) fn new(rate_first: u64, rate_max: u64) -> Pace {
        Pace {
            rate: rate_first,
            rate_max,
            reported: 0,
            acked: 0,
            lost: 0,
            usual_loss: 0,
            bad: false,
            trial: None,
            changed: 0,
        }
    }

    pub(crate) fn rate(&self) -> u64 {
        self.rate
    }

    pub(crate) fn report(&mut self, kib_per_s: u32) {
        if kib_per_s > 0 {
            self.reported = u64::from(kib_per_s) << 10;
        }
    }

    /// A packet was lost that went at `sent`.
    pub(crate) fn lost(&mut self, sent: Nanos, now: Nanos) {
        if sent >= self.changed {
            self.lost += 1;
            self.end_epoch(now);
        }
    }

    /// Some packets came that went at about `sent`.
    pub(crate) fn acked(&mut self, packets: u32, sent: Nanos, now: Nanos) {
        if sent >= self.changed {
            self.acked += packets;
            self.end_epoch(now);
        }
    }

    fn end_epoch(&mut self, now: Nanos) {
        let packets = self.acked + self.lost;
        if packets >= PACE_EPOCH_PACKETS {
            self.judge(self.lost * 1000 / packets, now);
            (self.acked, self.lost) = (0, 0);
        }
    }

    fn judge(&mut self, loss: u32, now: Nanos) {
        if let Some((rate, before)) = self.trial.take()
            && loss > before * 7 / 10
        {
            (self.usual_loss, self.rate) = (loss.min(before), rate);
            return;
        }
        let bad = loss > self.usual_loss + PACE_CHANCE;
        if bad && !self.bad && loss < PACE_FLOOD {
            self.bad = true;
        } else if bad {
            self.bad = false;
            (self.trial, self.changed) = (Some((self.rate, loss)), now);
            self.slow_down();
        } else {
            self.bad = false;
            self.usual_loss = (7 * self.usual_loss + loss) / 8;
            self.speed_up();
        }
    }

    /// Faster, unless the receiver says that no more comes through.
    fn speed_up(&mut self) {
        let faster = (self.rate + self.rate / 8).min(self.rate_max);
        if self.reported == 0 || faster <= self.reported + self.reported / 4 {
            self.rate = faster;
        }
    }

    /// What comes through, if that is known and tells; else less by a quarter.
    fn slow_down(&mut self) {
        let told = (self.rate / 16..self.rate * 9 / 10).contains(&self.reported);
        let slower = if told { self.reported } else { self.rate / 4 * 3 };
        self.rate = slower.max(RATE_MIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends epochs over a link of this capacity that also loses `own` thousandths. Returns the paces.
    fn paces(capacity: u64, own: u32, epochs: usize) -> Vec<u64> {
        let mut pace = Pace::new(1_000_000_000, 1_000_000_000);
        let epoch = || {
            let through = capacity.min(pace.rate()) * u64::from(1000 - own) / 1000;
            let acked = (u64::from(PACE_EPOCH_PACKETS) * through / pace.rate()) as u32;
            pace.report((through >> 10) as u32);
            (acked..PACE_EPOCH_PACKETS).for_each(|_| pace.lost(0, 0));
            pace.acked(acked, 0, 0);
            pace.rate()
        };
        std::iter::repeat_with(epoch).take(epochs).collect()
    }

    #[test]
    fn the_pace_finds_the_capacity() {
        let paces = paces(125_000_000, 0, 200);
        let late = &paces[50..];
        assert!(late.iter().all(|rate| (90_000_000..160_000_000).contains(rate)), "{late:?}");
    }

    #[test]
    fn loss_that_is_not_the_paces_fault_does_not_stop_the_sender() {
        let paces = paces(2_000_000_000, 200, 200);
        let late = &paces[50..];
        let mean = late.iter().sum::<u64>() / late.len() as u64;
        assert!(mean > 700_000_000, "{mean}");
    }
}
