//! Doors: where processes of worlds that have not met can find this one (`MPI_Open_port`). Whoever knows a door's secret gets a
//! conversation, in which both tell who they are. Nobody else gets more than an unauthenticated peer does.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use socket2::Socket;

use super::dialer::{Dialer, Dialled};
use super::endpoint_address::EndpointAddress;
use super::handshake::{ConnectionKeys, SECRET_BYTES, Secret};
use super::identity::{Identity, Whom, door_number};
use super::peer::{Seal, what_was_tried};
use super::sealed::Sealed;
use super::wire::{ProvedWire, Wire, piece, piece_mut};
use crate::limits::{TALK_BYTES_MAX, VISITORS_MAX};
use tern_transport::socket_bell::SocketBell;

/// A conversation between two processes that know a door's secret, encrypted. Nothing here waits.
pub struct Talk {
    line: ProvedWire,
    unsaid: VecDeque<u8>,
    heard: Vec<u8>,
    bell: Arc<SocketBell>,
}

impl Talk {
    fn new(socket: Socket, seal: Seal, bell: &Arc<SocketBell>) -> Talk {
        let (seal, open) = seal.keys();
        let line = ProvedWire::Sealed(Box::new(Sealed::new(socket, seal, open)));
        Talk { line, unsaid: VecDeque::new(), heard: Vec::new(), bell: bell.clone() }
    }

    /// Says a message. What the connection does not take goes with later calls.
    pub fn say(&mut self, message: &[u8]) -> io::Result<()> {
        self.unsaid.extend((message.len() as u32).to_le_bytes());
        self.unsaid.extend(message);
        self.flush().map(drop)
    }

    /// Whether all that was said is on its way.
    pub fn flush(&mut self) -> io::Result<bool> {
        while !self.unsaid.is_empty() {
            let part = self.unsaid.make_contiguous();
            // SAFETY: the bytes live during the call.
            match unsafe { self.line.write(&[piece(part)]) } {
                Ok(bytes) => drop(self.unsaid.drain(..bytes)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.line.flush()
    }

    /// A message, once all of it has come. The end of the conversation is an error.
    pub fn hear(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.flush()?;
        loop {
            if let Some(message) = self.take_message()? {
                return Ok(Some(message));
            }
            let mut bytes = [0; 4096];
            // SAFETY: the bytes live during the call.
            match unsafe { self.line.read(&[piece_mut(&mut bytes)]) } {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.heard.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    fn take_message(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(len) = self.heard.first_chunk::<4>().map(|len| u32::from_le_bytes(*len) as usize) else {
            return Ok(None);
        };
        if len > TALK_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message of an impossible length"));
        }
        if self.heard.len() < 4 + len {
            return Ok(None);
        }
        let message = self.heard[4..4 + len].to_vec();
        self.heard.drain(..4 + len);
        Ok(Some(message))
    }

    /// The connection wakes threads that sleep.
    fn watch(&self) {
        self.bell.watch(self.line.fd(), false);
    }
}

impl Drop for Talk {
    /// The other side hears of the end at once, as of that of a [`Greeting`](super::greeting::Greeting).
    fn drop(&mut self) {
        // SAFETY: the descriptor is open as long as the line. What was said goes first.
        unsafe { libc::shutdown(self.line.fd(), libc::SHUT_WR) };
    }
}

/// The doors of this rank, who has come, and whom it visits itself.
#[derive(Default)]
pub(crate) struct Doors {
    visitors: VecDeque<(u64, Talk)>,
    visits: Vec<DoorVisit>,
    next: u64,
    /// When to wake whoever sleeps, since its time is over.
    alarm: Option<Instant>,
}

/// This rank is on its way to somebody's door.
struct DoorVisit {
    number: u64,
    dialer: Dialer,
    whom: Whom,
    end: Option<Result<Talk, String>>,
}

impl Doors {
    /// Somebody has proved to know a door's secret. A crowd at a door that nobody opens stays outside.
    pub(crate) fn come(
        &mut self,
        door: u64,
        socket: Socket,
        keys: Option<ConnectionKeys>,
        bell: &Arc<SocketBell>,
    ) {
        if let Some(keys) = keys.filter(|_| self.visitors.len() < VISITORS_MAX) {
            // Nobody wakes for what a visitor says before it is let in.
            bell.unwatch(socket.as_raw_fd());
            self.visitors.push_back((door, Talk::new(socket, Seal::acceptors(keys), bell)));
        }
    }

    /// Who has waited longest at a door.
    pub(crate) fn let_in(&mut self, door: u64) -> Option<Talk> {
        let at = self.visitors.iter().position(|(number, _)| *number == door)?;
        let (_, talk) = self.visitors.remove(at)?;
        talk.watch();
        Some(talk)
    }

    /// Sends away those who wait at a door.
    pub(crate) fn shut(&mut self, door: u64) {
        self.visitors.retain(|(number, _)| *number != door);
    }

    /// Sets out to the door with this secret at the addresses of an endpoint address.
    pub(crate) fn visit(
        &mut self,
        endpoint_address: &EndpointAddress,
        secret: [u8; SECRET_BYTES],
        patience: Duration,
    ) -> u64 {
        let whom = Whom::Door { number: door_number(&secret), secret: Secret(secret) };
        let dialer = Dialer::new(endpoint_address, Instant::now(), patience);
        self.next += 1;
        self.visits.push(DoorVisit { number: self.next, dialer, whom, end: None });
        self.next
    }

    /// Whoever sleeps wakes by then.
    pub(crate) fn wake_by(&mut self, time: Instant) {
        self.alarm = Some(self.alarm.map_or(time, |alarm| alarm.min(time)));
    }

    /// Whether a time is set at which threads that sleep wake.
    pub(crate) fn will_wake(&self) -> bool {
        self.alarm.is_some()
    }

    /// How a visit has begun, once that is known.
    pub(crate) fn arrived(&mut self, number: u64) -> Option<Result<Talk, String>> {
        let at = self.visits.iter().position(|visit| visit.number == number && visit.end.is_some())?;
        self.visits.swap_remove(at).end
    }

    /// A visit is of no use any more.
    pub(crate) fn give_up(&mut self, number: u64) {
        self.visits.retain(|visit| visit.number != number);
    }

    /// Whether somebody is on the way.
    pub(crate) fn is_busy(&self) -> bool {
        self.visits.iter().any(|visit| visit.end.is_none())
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        let visits = self.visits.iter().filter(|visit| visit.end.is_none());
        visits.map(|visit| visit.dialer.deadline()).chain(self.alarm).min()
    }

    /// Goes on. Whether somebody has arrived, or never will.
    pub(crate) fn advance(&mut self, now: Instant, identity: &Identity, bell: &Arc<SocketBell>) -> bool {
        let mut any = self.alarm.take_if(|alarm| *alarm <= now).is_some();
        for visit in self.visits.iter_mut().filter(|visit| visit.end.is_none()) {
            visit.end = match visit.dialer.advance(now, &visit.whom, identity, 0, bell) {
                Dialled::Pending => None,
                Dialled::Connected(socket, _, Some(keys)) => {
                    bell.change(socket.as_raw_fd(), false);
                    Some(Ok(Talk::new(socket, Seal::dialers(keys), bell)))
                }
                Dialled::Connected(..) | Dialled::Yielded => Some(Err("it does not encrypt".into())),
                Dialled::Failed => Some(Err(what_was_tried(&visit.dialer.tried))),
            };
            any |= visit.end.is_some();
        }
        any
    }
}
