//! What came to a rank's sockets, and what of it was dropped, in words.

use std::fmt;

use tern_datagram::link::LinkCounters;

/// Counts of a rank's network since its job began. What is nothing is not said, and an idle network says nothing at all.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Tally {
    /// Of its datagrams, if it has some: what the link has seen, and what the protocol.
    pub packets: Option<(LinkCounters, tern_urtp::UrtpCounters)>,
    /// Connections that broke and were made again.
    pub mended: u64,
    /// Connections whose other end closed them before it had proved anything.
    pub given_up: u64,
    /// Connections that were closed since they proved nothing.
    pub turned_away: u64,
    /// Packets over libfabric that were dropped, since they proved nothing.
    pub unproven: u64,
}

impl Tally {
    fn words(&self) -> Vec<String> {
        let (link, protocol) = self.packets.unwrap_or_default();
        let resent = protocol.resent + protocol.multicast_again;
        // How many, of what where that must be said, and what befell them.
        let counts = [
            (link.sent, "packet", "sent"),
            (resent, "", "of them again"),
            (link.refused, "", "that the network refused"),
            (link.received, "packet", "received"),
            (protocol.restored, "", "brought back by parity"),
            (protocol.requests, "request", "for what was missing"),
            (link.filtered, "datagram", "of its own or for others, which the kernel's filter dropped"),
            (link.unwanted, "", "for others, which came through it"),
            (link.overrun, "", "dropped since the queue was full"),
            (link.forged, "", "dropped as forged"),
            (link.replayed, "", "dropped that had come before"),
            (link.malformed + protocol.malformed, "", "dropped that made no sense"),
            (self.mended, "connection", "made again after a break"),
            (self.given_up, "connection", "closed by the other end before it proved anything"),
            (self.turned_away, "connection", "that proved nothing"),
            (self.unproven, "packet", "over libfabric that proved nothing"),
        ];
        let said = counts.iter().filter(|(count, ..)| *count > 0);
        said.map(|(count, noun, fate)| match (count, *noun) {
            (_, "") => format!("{count} {fate}"),
            (1, noun) => format!("1 {noun} {fate}"),
            (_, noun) => format!("{count} {noun}s {fate}"),
        })
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
        let tally = Tally { mended: 3, given_up: 1, turned_away: 2, ..Tally::default() };
        assert_eq!(
            tally.to_string(),
            "3 connections made again after a break, 1 connection closed by the other end before it proved anything, \
             2 connections that proved nothing"
        );
        let tally = Tally { unproven: 1, ..Tally::default() };
        assert_eq!(tally.to_string(), "1 packet over libfabric that proved nothing");
        let link = LinkCounters { sent: 7, received: 1, forged: 1, ..LinkCounters::default() };
        let protocol = tern_urtp::UrtpCounters { resent: 1, multicast_again: 2, ..Default::default() };
        assert_eq!(
            Tally { packets: Some((link, protocol)), ..Tally::default() }.to_string(),
            "7 packets sent, 3 of them again, 1 packet received, 1 dropped as forged"
        );
    }
}
