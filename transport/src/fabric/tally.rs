//! What came to a rank's sockets, and what of it was dropped, in words.

use std::fmt;

use crate::urtp::link::Counters;

/// Counts of a rank's network since its job began. What is nothing is not said, and an idle network says nothing at all.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Tally {
    /// Of its datagrams, if it has some: what the link has seen, and what the protocol.
    pub packets: Option<(Counters, tern_urtp::Counters)>,
    /// Connections that were closed since they proved nothing.
    pub turned_away: u64,
}

impl Tally {
    fn words(&self) -> Vec<String> {
        let (link, protocol) = self.packets.unwrap_or_default();
        let resent = protocol.resent + protocol.multicast_again;
        let counts = [
            (link.sent, "packets sent"),
            (resent, "of them again"),
            (link.refused, "that the network refused"),
            (link.received, "packets received"),
            (protocol.restored, "brought back by parity"),
            (protocol.requests, "requests for what was missing"),
            (link.filtered, "datagrams of its own or for others, which the kernel's filter dropped"),
            (link.unwanted, "for others, which came through it"),
            (link.overrun, "dropped since the queue was full"),
            (link.forged, "dropped since they were forged"),
            (link.replayed, "dropped since they had come before"),
            (link.malformed + protocol.malformed, "dropped since they made no sense"),
            (self.turned_away, "connections that proved nothing, which were closed"),
        ];
        counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, words)| format!("{count} {words}"))
            .collect()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_there_was_is_said() {
        assert_eq!(Tally::default().to_string(), "");
        assert_eq!(
            Tally { packets: None, turned_away: 2 }.to_string(),
            "2 connections that proved nothing, which were closed"
        );
        let link = Counters { sent: 7, received: 5, forged: 1, ..Counters::default() };
        let protocol = tern_urtp::Counters { resent: 1, multicast_again: 2, ..Default::default() };
        assert_eq!(
            Tally { packets: Some((link, protocol)), turned_away: 0 }.to_string(),
            "7 packets sent, 3 of them again, 5 packets received, 1 dropped since they were forged"
        );
    }
}
