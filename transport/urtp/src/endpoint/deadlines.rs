//! What happens because time passes: the only place where the protocol tries again.

use super::UrtpEndpoint;
use super::pair::due;
use crate::limits::{ALONE_PROBES, REQUEST_NS_MAX, REQUEST_SHARE_NS, TUNNEL_AFTER_NS};
use crate::{NEVER, Nanos, WorldRank};

impl UrtpEndpoint {
    /// When [`UrtpEndpoint::poll_transmit`] may have something though nothing else happens.
    pub fn poll_timeout(&mut self) -> Option<Nanos> {
        if !self.control.is_empty() || !self.reports.is_empty() {
            return Some(0);
        }
        let fresh = (!self.fresh.is_empty() || self.run.is_some()).then_some(self.paced_until);
        let again = (!self.again.is_empty()).then_some(self.paced_until.max(self.gather_until));
        self.next_deadline().into_iter().chain(fresh).chain(again).min()
    }

    /// The next deadline that still is one. Many go by with what they were waiting for: whoever sleeps, or leaves the library, should not
    /// be kept by those.
    fn next_deadline(&mut self) -> Option<Nanos> {
        while let Some((at, owner)) = self.timers.next() {
            let deadline = match owner.checked_sub(self.config.size) {
                Some(ack_tree) => self.ack_trees.get(ack_tree).map_or(NEVER, |ack_tree| ack_tree.report_at),
                None => self.pair(owner).deadline(),
            };
            let looks_at_once = at == 0;
            if deadline <= at || looks_at_once {
                return Some(at);
            }
            self.timers.forget(owner);
            if deadline != NEVER {
                self.timers.call_by(owner, deadline);
            } else if owner < self.config.size {
                self.plan(owner);
            }
        }
        None
    }

    /// Sees to it that a pair's next deadline is kept.
    pub(super) fn plan(&mut self, peer: WorldRank) {
        let deadline = self.pair(peer).deadline();
        if deadline != NEVER {
            self.timers.call_by(peer, deadline);
        } else if self.pair(peer).out.is_blocked() {
            // The first look comes with the next call, which knows the time.
            self.timers.call_by(peer, 0);
        }
    }

    pub(super) fn run_timers(&mut self, now: Nanos) {
        while let Some(owner) = self.timers.pop(now) {
            if let Some(at) = owner.checked_sub(self.config.size) {
                self.ack_tree_timer(at, now);
            } else {
                self.pair_timer(owner, now);
                self.plan(owner);
            }
        }
    }

    fn ack_tree_timer(&mut self, at: u32, now: Nanos) {
        let Some(ack_tree) = self.ack_trees.get(at) else { return };
        if ack_tree.report_at <= now {
            self.report(at);
        } else if ack_tree.report_at != NEVER {
            self.timers.call_by(self.config.size + at, ack_tree.report_at);
        }
    }

    fn pair_timer(&mut self, peer: WorldRank, now: Nanos) {
        let pair = self.pair(peer);
        if pair.lost {
            return;
        }
        if pair.inn.ack_at <= now {
            pair.inn.ack_at = NEVER;
            self.tell_sender(now, peer);
        }
        if self.pair(peer).inn.request_at <= now {
            self.request(peer, now);
        }
        let jitter = self.jitter();
        let pair = self.pair(peer);
        if pair.out.is_blocked() && pair.out.probe_at == NEVER {
            (pair.out.quiet_since, pair.out.stands_since) = (now, now);
            pair.out.probe_at = pair.next_probe(now, jitter);
        }
        if pair.out.probe_at <= now {
            self.probe(peer, now);
        }
        if self.pair(peer).bye_at <= now {
            self.bye_timer(peer, now);
        }
    }

    /// Asks for what is missing, at growing intervals, and not so often that all members together flood the sender.
    fn request(&mut self, peer: WorldRank, now: Nanos) {
        let jitter = self.jitter();
        let via = self.pair(peer).inn.via;
        let members =
            via.and_then(|group| self.groups.get(group)).map_or(0, |group| group.members.len() as u64);
        let pair = self.pair(peer);
        let inn = &mut pair.inn;
        let wanted = inn.has_gap() || (inn.waiting && inn.ready() == 0);
        if !wanted {
            (inn.request_at, inn.requests) = (NEVER, 0);
            return;
        }
        let share = members * REQUEST_SHARE_NS;
        let once = pair.rtt.request().max(share);
        let wait = once.saturating_mul(1 << inn.requests.min(16)).min(REQUEST_NS_MAX.max(share));
        inn.requests += 1;
        inn.quiet_until = now + once / 2;
        inn.request_at = now + wait + wait * jitter / 4096;
        self.owe(peer, due::REQUEST);
    }

    /// Nothing has been heard for too long: a packet goes again, and shall be answered. First the newest, since a receiver that lacks
    /// others before it then knows, and asks for all of them at once; after that the oldest, for which any receiver has room.
    fn probe(&mut self, peer: WorldRank, now: Nanos) {
        let jitter = self.jitter();
        let (timeout, tunnels) = (self.config.peer_timeout, self.config.tunnel);
        let pair = self.pair(peer);
        if pair.out.is_empty() && !pair.out.is_blocked() {
            pair.out.probe_at = NEVER;
            return;
        }
        if timeout.is_some_and(|timeout| now - pair.out.quiet_since > timeout) {
            return self.lose(peer);
        }
        if tunnels && now.saturating_sub(pair.out.stands_since) >= TUNNEL_AFTER_NS {
            pair.tunnel.ask(now);
            self.knows_tunnels = true;
        }
        let pair = self.pair(peer);
        pair.out.probe_at = pair.next_probe(now, jitter);
        pair.out.probes += 1;
        let (first, alone) = (pair.out.probes == 1, pair.out.probes >= ALONE_PROBES);
        match if first { pair.out.newest() } else { pair.out.oldest() } {
            Some(slot) => {
                self.send_again(peer, slot, true);
                self.slots.get_mut(slot).alone |= alone;
            }
            // What waits for the pace will go by itself; the memory may be full of what others lack.
            None if pair.out.is_empty() && pair.out.is_blocked() => self.owe(peer, due::POLL),
            None => pair.out.unblock(),
        }
    }
}
