//! The other way for packets, where the datagrams between two ranks get lost: as messages over TCP. A firewall may begin to drop all
//! of them in the middle of a job. The protocol says which packets go this way as well, and may lose them here like there.

use tern_mem::UserBuf;
use tern_urtp::Reachability;
use tern_urtp::limits::BODY_BYTES_MAX;

use super::packets::Packets;
use super::sinks::pass_on;
use crate::limits::{TUNNEL_KEPT_BYTES_MAX, TUNNEL_LANDINGS_MAX};
use tern_datagram::channel::Tunneled;
use tern_tcp::Tcp;
use tern_transport::{Am, Header, Landing, Peer, Sink, Token, TransferError, Transport};

/// The kind of such messages. The engine has few kinds, counted from 1, and never sees them.
const KIND: u8 = u8::MAX;

/// In a header's flags: see [`Reachability`].
const FLAG_ASKS: u8 = 1;
const FLAG_UNREACHED: u8 = 2;

/// Landings of packets are called by this and their place in the list. The engine's names have the length of a frame there, which never is as much.
const TOKEN: u64 = 0x3FFF_FFFF << 32;

/// Packets that are on their way in.
#[derive(Default)]
pub(super) struct Tunnels {
    landings: Vec<Option<(Peer, Reachability, UserBuf)>>,
}

impl Tunnels {
    fn place(&mut self, from: Peer, reachability: Reachability, len: usize) -> Landing {
        let free = self.landings.iter().position(Option::is_none).unwrap_or(self.landings.len());
        if len > BODY_BYTES_MAX || free >= TUNNEL_LANDINGS_MAX {
            return Landing::Nothing;
        }
        self.landings.resize_with(self.landings.len().max(free + 1), || None);
        let buf = UserBuf::owned(len);
        self.landings[free] = Some((from, reachability, buf.clone()));
        Landing::place(buf, 0, len, Token(TOKEN | free as u64))
    }

    fn take(&mut self, from: Peer, token: Token) -> Option<(Reachability, UserBuf)> {
        let at = usize::try_from(token.0.checked_sub(TOKEN)?).ok()?;
        let (_, reachability, buf) = self.landings.get_mut(at)?.take_if(|(sender, ..)| *sender == from)?;
        Some((reachability, buf))
    }
}

/// What came over TCP: packets to the protocol, all else to the engine.
pub(super) struct Sorted<'a, S> {
    pub sink: &'a mut S,
    pub packets: &'a mut Packets,
}

impl<S: Sink> Sink for Sorted<'_, S> {
    #[inline]
    fn short(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        match header.kind {
            KIND => self.packets.urtp.handle_tunneled(from, reachability_of(header), payload),
            _ => self.sink.short(from, header, payload),
        }
    }

    #[inline]
    fn header(&mut self, from: Peer, header: &Header, len: usize) -> Landing {
        match header.kind {
            KIND => self.packets.tunnels.place(from, reachability_of(header), len),
            _ => self.sink.header(from, header, len),
        }
    }

    #[inline]
    fn landed(&mut self, from: Peer, token: Token) {
        let Some((reachability, buf)) = self.packets.tunnels.take(from, token) else {
            return self.sink.landed(from, token);
        };
        let mut packet = vec![0; buf.len()];
        buf.read(0, &mut packet);
        self.packets.urtp.handle_tunneled(from, reachability, &packet);
    }

    fn spoiled(&mut self, from: Peer, token: Token, error: TransferError) {
        // A packet that is lost comes again.
        if self.packets.tunnels.take(from, token).is_none() {
            self.sink.spoiled(from, token, error);
        }
    }

    pass_on!(backpressure, done);
}

/// Sends a packet this way. If it finds no room it is lost.
#[cold]
pub(super) fn send((to, reachability, packet): Tunneled, tcp: &mut Tcp) {
    if tcp.kept_bytes(to) > TUNNEL_KEPT_BYTES_MAX {
        return;
    }
    let flags = if reachability.asks { FLAG_ASKS } else { 0 }
        | if reachability.unreached { FLAG_UNREACHED } else { 0 };
    let header = Header { kind: KIND, flags, ..Header::default() };
    let am = Am { header, extended: &[], body: &packet, offset: 0, len: packet.len() };
    let _ = tcp.send(to, &am);
}

fn reachability_of(header: &Header) -> Reachability {
    Reachability { asks: header.flags & FLAG_ASKS != 0, unreached: header.flags & FLAG_UNREACHED != 0 }
}
