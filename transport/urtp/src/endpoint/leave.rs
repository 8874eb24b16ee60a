//! Leaving. Nobody can know that the last word has arrived (section 4.6: the two generals), and the paper's ranks sleep p seconds.
//! Here a rank that has everything says so, and what it says acknowledges all that its peer has sent; it stays until all its
//! peers have said the same, or for a bounded time for those that may still ask.

use super::UrtpEndpoint;
use super::pair::due;
use crate::limits::LINGER_NS;
use crate::{NEVER, Nanos, WorldRank};

impl UrtpEndpoint {
    /// This rank sends nothing new and takes nothing more. Go on with packets and time until
    /// [`UrtpEndpoint::is_closed`].
    pub fn close(&mut self, now: Nanos) {
        self.closing.get_or_insert(now);
        for peer in 0..self.config.size {
            let Some(pair) = self.pairs[peer as usize].as_mut().filter(|pair| !pair.lost) else { continue };
            (pair.inn.waiting, pair.bye_at) = (false, now);
            pair.out.set_needs(0);
            if pair.bye_heard {
                self.forget(peer);
            }
            self.plan(peer);
        }
    }

    /// Whether this rank can go: everything it sent has arrived, and its peers know, or have had the time to ask.
    pub fn is_closed(&self, now: Nanos) -> bool {
        let Some(since) = self.closing else { return false };
        let mut pairs = self.pairs.iter().flatten().filter(|pair| !pair.lost);
        let over = now > since + LINGER_NS;
        pairs.all(|pair| pair.out.is_empty() && (pair.bye_heard || over)) && self.control.is_empty()
    }

    /// A peer leaves. `unheard`: it does not know yet that this rank leaves as well.
    pub(super) fn hear_bye(&mut self, from: WorldRank, now: Nanos, unheard: bool) {
        self.pair(from).bye_heard = true;
        if self.closing.is_some() {
            self.forget(from);
            if unheard {
                self.pair(from).bye_at = now;
            }
        }
    }

    /// A peer that leaves has taken all that it will take: what it has not acknowledged is nobody's any more.
    pub(super) fn forget(&mut self, peer: WorldRank) {
        while !self.pair(peer).out.is_empty() {
            let slot = self.pair(peer).out.release();
            self.acknowledged(slot);
        }
        self.pair(peer).out.probe_at = NEVER;
    }

    pub(super) fn bye_timer(&mut self, peer: WorldRank, now: Nanos) {
        let closing = self.closing;
        let pair = self.pair(peer);
        pair.bye_at = NEVER;
        let Some(since) = closing else { return };
        if !pair.out.is_empty() {
            pair.bye_at = now + pair.rtt.long();
            return;
        }
        if !pair.bye_heard && now <= since + LINGER_NS {
            pair.bye_at = now + pair.rtt.probe();
        }
        self.owe(peer, due::BYE);
    }
}
