//! Another way to a peer, beside the link: for when nothing comes through it any more, as behind a firewall that has begun to drop all
//! datagrams. Packets to one rank then go both ways at once, and whatever comes twice is dropped as ever. Whoever carries the other
//! way gets them from [`Transmit::tunnel`](crate::Transmit) and hands them to
//! [`UrtpEndpoint::handle_tunneled`](crate::UrtpEndpoint::handle_tunneled); it may lose them, too.
//!
//! A sender begins when nothing of what it has sent is acknowledged for a while. Perhaps the peer only computes: so each packet says
//! whether its sender hears the peer by the link, and as soon as both do the fallback tunnel ends.

use crate::Nanos;
use crate::limits::{TUNNEL_ANSWER_NS, TUNNEL_HEARS_NS, TUNNEL_NS};

/// What a packet through the fallback tunnel says of its sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reachability {
    /// It wants answers through the fallback tunnel as well.
    pub asks: bool,
    /// The link does not reach it.
    pub unreached: bool,
}

/// What is known of one peer.
#[derive(Debug, Default)]
pub(crate) struct FallbackTunnel {
    asks_until: Nanos,
    answers_until: Nanos,
    /// When a packet to this rank came by the link last.
    direct_at: Option<Nanos>,
}

impl FallbackTunnel {
    /// Nothing is acknowledged: packets go both ways from now on.
    pub(crate) fn ask(&mut self, now: Nanos) {
        self.asks_until = now + TUNNEL_NS;
    }

    /// Whether this rank thinks that nothing comes through the link.
    pub(crate) fn asks(&self, now: Nanos) -> bool {
        now < self.asks_until
    }

    /// A packet came by the link.
    pub(crate) fn hears_directly(&mut self, now: Nanos) {
        self.direct_at = Some(now);
    }

    /// A packet came through the fallback tunnel.
    pub(crate) fn hears(&mut self, reachability: Reachability, now: Nanos) {
        self.asks_until = if reachability.unreached || self.is_unreached(now) { now + TUNNEL_NS } else { 0 };
        if reachability.asks {
            self.answers_until = now + TUNNEL_ANSWER_NS;
        }
    }

    /// What a packet through the fallback tunnel has to say, if one shall go.
    pub(crate) fn reachability(&self, now: Nanos) -> Option<Reachability> {
        let reachability = Reachability { asks: self.asks(now), unreached: self.is_unreached(now) };
        (reachability.asks || now < self.answers_until).then_some(reachability)
    }

    fn is_unreached(&self, now: Nanos) -> bool {
        self.direct_at.is_none_or(|at| now.saturating_sub(at) > TUNNEL_HEARS_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    /// Two ranks that send each other a packet each tenth of a second, the first one stuck at first; `through`: what comes through the link.
    /// Whether packets still go through the fallback tunnel at the end.
    fn talk(seconds: u64, through: [bool; 2]) -> [bool; 2] {
        let mut ends = [FallbackTunnel::default(), FallbackTunnel::default()];
        let mut now = 100 * SECOND;
        ends[0].ask(now);
        for _ in 0..10 * seconds {
            for from in [0, 1] {
                now += SECOND / 20;
                let reachability = ends[from].reachability(now);
                let to = &mut ends[1 - from];
                // The slower way for some.
                if let Some(reachability) = reachability {
                    to.hears(reachability, now);
                }
                if through[from] {
                    to.hears_directly(now);
                }
            }
        }
        ends.map(|end| end.reachability(now).is_some())
    }

    #[test]
    fn it_lasts_while_one_of_them_hears_nothing() {
        for through in [[false, false], [false, true], [true, false]] {
            assert_eq!(talk(100, through), [true, true], "{through:?}");
        }
    }

    #[test]
    fn it_ends_soon_where_the_peer_was_only_busy() {
        assert_eq!(talk(3, [true, true]), [false, false]);
    }

    #[test]
    fn it_ends_where_nobody_answers() {
        let mut end = FallbackTunnel::default();
        end.ask(SECOND);
        assert!(
            end.reachability(SECOND + TUNNEL_NS - 1).is_some()
                && end.reachability(SECOND + TUNNEL_NS).is_none()
        );
    }
}
