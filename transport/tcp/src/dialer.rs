//! Connecting to one peer: its addresses in turn, each a little after the other, until the right rank has proved itself.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::endpoint_address::EndpointAddress;
use super::files::with_room;
use super::greeting::Greeting;
use super::handshake::{
    AcceptorVerdict, CHALLENGE_BYTES, ConnectionKeys, HandshakeClient, HandshakeRefusal, WELCOME_BYTES,
};
use super::identity::{Identity, Whom};
use crate::limits::{AUTHENTICATION_S, STAGGER_MS, UNREACHABLE_S};
use tern_transport::socket_bell::SocketBell;

/// What has become of the dialling.
pub(crate) enum Dialled {
    /// Goes on.
    Pending,
    /// The peer insists on its own connection, which is on its way.
    Yielded,
    /// Connected: the socket, the next frame that the peer expects, the keys if it is encrypted.
    Connected(Socket, u64, Option<ConnectionKeys>),
    /// No address is left.
    Failed,
}

/// One round through a peer's addresses.
pub(crate) struct Dialer {
    candidates: VecDeque<SocketAddr>,
    attempts: Vec<Attempt>,
    /// When the next address is tried, though others have not failed.
    next_at: Instant,
    began: Instant,
    /// How long an address may take to answer.
    patience: Duration,
    /// What has failed, and why.
    pub tried: Vec<(SocketAddr, String)>,
    /// At each address that was dialled a machine has answered that nobody listens.
    pub all_refused: bool,
}

struct Attempt {
    address: SocketAddr,
    greeting: Greeting,
    client: Option<HandshakeClient>,
    stage: Stage,
    /// Of those who do not answer, with the time that they had.
    deadline: (Instant, Duration),
    /// A machine has answered that nobody listens there.
    refused: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Connecting,
    AwaitsChallenge,
    AwaitsWelcome,
}

impl Dialer {
    /// Nobody waits for an address longer than `patience`, nor than [`UNREACHABLE_S`].
    pub(crate) fn new(endpoint_address: &EndpointAddress, now: Instant, patience: Duration) -> Self {
        let (mut candidates, mut tried) = (VecDeque::new(), Vec::new());
        for (address, usable) in endpoint_address.candidates() {
            match usable {
                Ok(()) => candidates.push_back(address),
                Err(why) => tried.push((address, why)),
            }
        }
        let all_refused = !candidates.is_empty();
        let patience = patience.min(Duration::from_secs(UNREACHABLE_S));
        Dialer { candidates, attempts: Vec::new(), next_at: now, began: now, patience, tried, all_refused }
    }

    /// How long it has been dialling.
    pub(crate) fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.began)
    }

    /// When to look again though no socket is ready.
    pub(crate) fn deadline(&self) -> Instant {
        let attempts = self.attempts.iter().filter(|attempt| attempt.stage == Stage::Connecting);
        let until = attempts.map(|attempt| attempt.deadline.0).min();
        let next = (!self.candidates.is_empty()).then_some(self.next_at);
        until.into_iter().chain(next).min().unwrap_or(self.began + Duration::from_secs(3600))
    }

    /// Goes on. `next` is the next frame that is expected of the peer.
    pub(crate) fn advance(
        &mut self,
        now: Instant,
        whom: &Whom,
        identity: &Identity,
        next: u64,
        bell: &SocketBell,
    ) -> Dialled {
        if let Some(end) = self.advance_attempts(now, whom, identity, next, bell) {
            return end;
        }
        while self.attempts.is_empty() || now >= self.next_at {
            let Some(address) = self.candidates.pop_front() else { break };
            self.next_at = now + Duration::from_millis(STAGGER_MS);
            match connect(address) {
                Ok(socket) => {
                    bell.watch(socket.as_raw_fd(), true);
                    let deadline = (now + self.patience, self.patience);
                    let (greeting, stage) = (Greeting::new(socket), Stage::Connecting);
                    let attempt =
                        Attempt { address, greeting, client: None, stage, deadline, refused: false };
                    self.attempts.push(attempt);
                }
                Err(error) => {
                    self.all_refused &= is_refusal(&error);
                    self.tried.push((address, error.to_string()));
                }
            }
        }
        if self.attempts.is_empty() { Dialled::Failed } else { Dialled::Pending }
    }

    fn advance_attempts(
        &mut self,
        now: Instant,
        whom: &Whom,
        identity: &Identity,
        next: u64,
        bell: &SocketBell,
    ) -> Option<Dialled> {
        let mut at = 0;
        while at < self.attempts.len() {
            // One proof at a time: two that succeed would both be this pair's connection.
            let proving = self.attempts.iter().any(|attempt| attempt.stage == Stage::AwaitsWelcome);
            let attempt = &mut self.attempts[at];
            match attempt.advance(now, whom, identity, next, proving, bell) {
                Ok(None) => at += 1,
                Ok(Some((AcceptorVerdict::Yield, ..))) => return Some(Dialled::Yielded),
                Ok(Some((AcceptorVerdict::Accepted, next, keys))) => {
                    let attempt = self.attempts.swap_remove(at);
                    return Some(Dialled::Connected(attempt.greeting.into_socket(), next, keys));
                }
                Err(why) => {
                    let attempt = self.attempts.swap_remove(at);
                    self.all_refused &= attempt.refused;
                    self.tried.push((attempt.address, why));
                }
            }
        }
        None
    }
}

impl Attempt {
    fn advance(
        &mut self,
        now: Instant,
        whom: &Whom,
        identity: &Identity,
        next: u64,
        proving: bool,
        bell: &SocketBell,
    ) -> Result<Option<(AcceptorVerdict, u64, Option<ConnectionKeys>)>, String> {
        match self.stage {
            Stage::Connecting => self.connected(now, whom, identity, bell).map(|()| None),
            Stage::AwaitsChallenge if proving => Ok(None),
            Stage::AwaitsChallenge => self.challenged(next).map(|()| None),
            Stage::AwaitsWelcome => self.welcomed(),
        }
    }

    fn connected(
        &mut self,
        now: Instant,
        whom: &Whom,
        identity: &Identity,
        bell: &SocketBell,
    ) -> Result<(), String> {
        let socket = self.greeting.socket();
        if let Some(error) = socket.take_error().map_err(|error| error.to_string())? {
            self.refused = is_refusal(&error);
            return Err(error.to_string());
        }
        if socket.peer_addr().is_err() {
            let (deadline, patience) = self.deadline;
            let late = now >= deadline;
            return if late { Err(format!("no answer in {:.0} s", patience.as_secs_f64())) } else { Ok(()) };
        }
        // On one node a port that nobody listens on can be connected to itself.
        if socket.local_addr().ok().and_then(|own| own.as_socket()) == Some(self.address) {
            self.refused = true;
            return Err("nobody listens there".into());
        }
        bell.change(socket.as_raw_fd(), false);
        let (call, secret, encrypt) = whom.call(identity);
        let (client, hello) =
            HandshakeClient::new(secret, call, encrypt, &identity.fingerprint, &super::greeting::seed());
        self.greeting.say(&hello).map_err(|error| error.to_string())?;
        (self.client, self.stage) = (Some(client), Stage::AwaitsChallenge);
        Ok(())
    }

    fn challenged(&mut self, next: u64) -> Result<(), String> {
        let Some(challenge) = self.greeting.hear::<CHALLENGE_BYTES>().map_err(ended)? else { return Ok(()) };
        let client = self.client.as_mut().ok_or("no hello was said")?;
        let proof = client.challenge(&challenge, next).map_err(|refusal| refusal.to_string())?;
        self.greeting.say(&proof).map_err(|error| error.to_string())?;
        self.stage = Stage::AwaitsWelcome;
        Ok(())
    }

    fn welcomed(&mut self) -> Result<Option<(AcceptorVerdict, u64, Option<ConnectionKeys>)>, String> {
        let Some(welcome) = self.greeting.hear::<WELCOME_BYTES>().map_err(ended)? else { return Ok(None) };
        let client = self.client.take().ok_or("no hello was said")?;
        client.welcome(&welcome).map(Some).map_err(|refusal: HandshakeRefusal| refusal.to_string())
    }
}

fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused
}

/// The other end closed the connection in the middle of the handshake, or the connection broke.
fn ended(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => format!(
            "whoever listens there refused: it is not who it must be, one with other settings, or one on a machine \
             too busy to prove itself within {AUTHENTICATION_S} s"
        ),
        _ => error.to_string(),
    }
}

/// Begins to connect.
fn connect(address: SocketAddr) -> io::Result<Socket> {
    let domain = Domain::for_address(address);
    let socket = with_room(|| Socket::new(domain, Type::STREAM.nonblocking(), Some(Protocol::TCP)))?;
    super::greeting::prepare(&socket)?;
    match socket.connect(&SockAddr::from(address)) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(socket),
    }
}
