//! How a rank goes, and comes back. Of a packet that has left nobody knows whether it arrived. So a rank that goes says to those that it
//! has sent to that it sends nothing more, and they answer. It stays until those that have sent to it have said the same.
//!
//! One that comes back, since a session begins after the world has ended, sends as before. Peers that have not gone yet keep what it
//! sends for their own return, and do not wait for its next farewell.

use super::limits::OFI_CLOSE_S_MAX;
use super::packet::OfiPacketKind;
use super::transport::{Ofi, OfiPeer};
use std::time::{Duration, Instant};
use tern_transport::{Peer, Transport, Void};

impl Ofi {
    /// Tells the peers that this rank goes. It may come back.
    pub fn say_goodbye(&mut self) {
        let peers = 0..self.links.len() as Peer;
        self.untold = peers.filter(|&peer| self.links[peer as usize].was_sent_to).collect();
        self.goes_until = Some(Instant::now() + Duration::from_secs(OFI_CLOSE_S_MAX));
        self.tell();
    }

    /// Takes [`Ofi::say_goodbye`] back.
    pub fn come_back(&mut self) {
        self.goes_until = None;
        self.untold.clear();
        self.links.iter_mut().for_each(|link| link.has_ended = false);
    }

    /// Whether this rank goes, and a peer lacks something, or may still send something. It is not waited for longer than is sensible.
    pub fn owes_something(&self) -> bool {
        let waits = self.goes_until.is_some_and(|until| Instant::now() < until);
        waits && self.lost.is_none() && !self.is_through()
    }

    /// Waits until all that was sent has arrived, for the end of the job, at which all ranks call this.
    pub fn close(&mut self) {
        self.say_goodbye();
        while self.owes_something() {
            self.poll(&mut Void);
        }
    }

    /// Tells those who have not been told.
    #[cold]
    pub(super) fn tell(&mut self) {
        let mut untold = std::mem::take(&mut self.untold);
        untold.retain(|&peer| {
            let told = self.send_mark(peer, OfiPacketKind::Last).is_ok();
            if told {
                let link = &mut self.links[peer as usize];
                (link.was_sent_to, link.owes_answer) = (false, true);
            }
            !told
        });
        self.untold = untold;
    }

    fn is_through(&self) -> bool {
        let is_open = |link: &OfiPeer| link.owes_answer || (link.has_sent && !link.has_ended);
        let told = self.untold.is_empty() && self.unanswered.is_empty();
        told && !self.has_unsent() && !self.links.iter().any(is_open)
    }
}
