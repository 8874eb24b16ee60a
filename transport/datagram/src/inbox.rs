//! Messages on their way in: each packet's bytes go to where their message lands.

use tern_mem::UserBuf;

use super::frame::{UrtpFrame, parse};
use tern_transport::am::AM_INLINE_BYTES_MAX;
use tern_transport::{Header, Landing, Peer, Sink, Token};

/// Messages that have begun to come, by their sender.
#[derive(Default)]
pub(super) struct UrtpInbox {
    /// Few senders have something begun here, and few things each.
    in_progress: Vec<PartialMessage>,
    /// Packets that made no sense.
    malformed: u64,
}

/// A message of which a part is here.
struct PartialMessage {
    from: Peer,
    lane: u8,
    /// Bytes of all, and how many have come.
    len: usize,
    came: usize,
    place: Option<MessageLanding>,
}

struct MessageLanding {
    buf: UserBuf,
    offset: usize,
    /// Bytes wanted.
    len: usize,
    token: Token,
}

impl UrtpInbox {
    /// Takes one packet. Whether it was the first of a message.
    pub(super) fn take(&mut self, from: Peer, packet: &[u8], sink: &mut impl Sink) -> bool {
        match parse(packet) {
            Some(UrtpFrame::First { lane, header, len, payload }) if self.find(from, lane).is_none() => {
                let len = len as usize;
                if len <= AM_INLINE_BYTES_MAX {
                    self.short(from, &header, len, payload, sink);
                    return true;
                }
                let place = match sink.header(from, &header, len) {
                    Landing::Place { buf, offset, len, token, .. } => {
                        Some(MessageLanding { buf, offset, len, token })
                    }
                    Landing::Nothing => None,
                };
                self.in_progress.push(PartialMessage { from, lane, len, came: 0, place });
                self.add(self.in_progress.len() - 1, payload, sink);
                return true;
            }
            Some(UrtpFrame::Next { lane, payload }) => match self.find(from, lane) {
                Some(at) if payload.len() <= self.in_progress[at].len - self.in_progress[at].came => {
                    self.add(at, payload, sink);
                }
                _ => self.malformed += 1,
            },
            _ => self.malformed += 1,
        }
        false
    }

    /// So few bytes come in one packet.
    fn short(&mut self, from: Peer, header: &Header, len: usize, payload: &[u8], sink: &mut impl Sink) {
        if payload.len() == len {
            sink.short(from, header, payload);
        } else {
            self.malformed += 1;
        }
    }

    fn find(&self, from: Peer, lane: u8) -> Option<usize> {
        self.in_progress.iter().position(|message| (message.from, message.lane) == (from, lane))
    }

    fn add(&mut self, at: usize, payload: &[u8], sink: &mut impl Sink) {
        let message = &mut self.in_progress[at];
        if let Some(place) = &message.place {
            let wanted = place.len.saturating_sub(message.came).min(payload.len());
            if wanted > 0 {
                place.buf.write(place.offset + message.came, &payload[..wanted]);
            }
        }
        message.came += payload.len();
        if message.came == message.len {
            let message = self.in_progress.swap_remove(at);
            if let Some(place) = message.place {
                sink.landed(message.from, place.token);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::write_first;
    use super::*;
    use tern_transport::conformance::{Keeper, header, pattern};

    fn first(lane: u8, seed: usize, len: usize, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; super::super::frame::FIRST_BYTES];
        write_first(&mut packet, lane, &header(seed), len as u32);
        packet.extend(payload);
        packet
    }

    fn next(lane: u8, payload: &[u8]) -> Vec<u8> {
        [&[lane], payload].concat()
    }

    #[test]
    fn messages_of_several_lanes_and_senders_come_together() {
        let (mut inbox, mut keeper) = (UrtpInbox::default(), Keeper::default());
        let [long, other] = [pattern(1, 3000), pattern(2, 2000)];
        assert!(inbox.take(4, &first(1, 1, 3000, &long[..1000]), &mut keeper));
        assert!(inbox.take(4, &first(0, 3, 8, &[7; 8]), &mut keeper));
        assert!(inbox.take(5, &first(1, 2, 2000, &other[..1]), &mut keeper));
        assert!(!inbox.take(4, &next(1, &long[1000..2000]), &mut keeper));
        inbox.take(5, &next(1, &other[1..]), &mut keeper);
        inbox.take(4, &next(1, &long[2000..]), &mut keeper);
        let came: Vec<_> =
            keeper.received.iter().map(|message| (message.from, message.payload.len())).collect();
        assert_eq!(came, [(4, 8), (5, 2000), (4, 3000)]);
        assert_eq!((&keeper.received[1].payload, &keeper.received[2].payload), (&other, &long));
        assert!(inbox.in_progress.is_empty() && inbox.malformed == 0);
    }

    #[test]
    fn what_does_not_fit_is_dropped() {
        let (mut inbox, mut keeper) = (UrtpInbox::default(), Keeper::default());
        inbox.take(1, &next(1, &[1]), &mut keeper);
        inbox.take(1, &first(1, 1, 100, &[0; 60]), &mut keeper);
        inbox.take(1, &first(1, 2, 100, &[0; 60]), &mut keeper);
        inbox.take(1, &next(1, &[0; 41]), &mut keeper);
        inbox.take(1, &next(2, &[0; 40]), &mut keeper);
        inbox.take(1, &[], &mut keeper);
        assert_eq!((inbox.malformed, keeper.received.len(), keeper.begun()), (5, 0, 1));
        inbox.take(1, &next(1, &[0; 40]), &mut keeper);
        assert_eq!(keeper.received.len(), 1);
    }
}
