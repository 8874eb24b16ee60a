//! The listening socket, and the peers who have not proved anything yet. They are few, their time is short, and
//! they can make this rank keep nothing but one message of a fixed length each.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};

use super::door_post::{DoorPost, Knock};
use super::endpoint_address::{EndpointAddress, addresses};
use super::files::with_room;
use super::greeting::{Greeting, prepare, seed};
use super::handshake::{AcceptorVerdict, ConnectionKeys, HELLO_BYTES, HandshakeServer, PROOF_BYTES, Realm};
use super::identity::Identity;
use crate::limits::{
    ACCEPTS_PER_HOUSEKEEPING_MAX, AUTHENTICATION_S, BACKLOG, UNAUTHENTICATED_MAX, UNREACHABLE_S,
};
use tern_transport::Peer;
use tern_transport::config::TcpConfig;
use tern_transport::reach::Interfaces;
use tern_transport::socket_bell::SocketBell;

/// Lets peers in.
pub(crate) struct Acceptor {
    listener: Socket,
    port: u16,
    interfaces: Interfaces,
    unauthenticated: Vec<Unauthenticated>,
    /// Since when nobody can be let in, and why.
    failing: Option<(Instant, String)>,
    /// The descriptor is none any more, or somebody else's.
    closed: Option<String>,
    /// Connections that were closed because they proved nothing.
    pub turned_away: u64,
    /// Connections whose other end closed them before it had proved anything. Ranks that dial each other at once do that, too.
    pub given_up: u64,
    /// Wakes whoever sleeps at the doors.
    knock: Option<Knock>,
}

struct Unauthenticated {
    greeting: Greeting,
    from: Option<IpAddr>,
    /// Something has come that was not looked at.
    speaks: bool,
    server: Option<HandshakeServer>,
    since: Instant,
}

/// Why an unauthenticated peer stays one.
enum Unproved {
    /// The other end has closed the connection, and said nothing wrong.
    Leaves,
    /// What it says is not what a rank would say.
    Errs,
}

impl From<io::Error> for Unproved {
    fn from(_: io::Error) -> Unproved {
        Unproved::Leaves
    }
}

/// A peer that has proved itself and waits for the verdict.
pub(crate) struct Authenticated {
    greeting: Greeting,
    server: HandshakeServer,
    /// Its rank in its world.
    pub peer: Peer,
    /// The frame that it expects next.
    pub next: u64,
}

impl Authenticated {
    /// Where it comes from.
    pub(crate) fn realm(&self) -> Realm {
        self.server.realm()
    }

    /// The settings that are others there, by name.
    pub(crate) fn differs_from(&self, identity: &Identity) -> Option<String> {
        let encryption = self.server.encrypts() != identity.encrypt;
        let names = identity.fingerprint.difference_from(self.server.fingerprint());
        names.or_else(|| encryption.then(|| "TERN_ENCRYPT".into()))
    }

    /// Tells the peer; `next` is the frame that is expected of it.
    pub(crate) fn welcome(
        mut self,
        verdict: AcceptorVerdict,
        next: u64,
    ) -> io::Result<(Socket, Option<ConnectionKeys>)> {
        let (welcome, keys) = self.server.welcome(verdict, next).map_err(io::Error::other)?;
        self.greeting.say(&welcome)?;
        Ok((self.greeting.into_socket(), keys))
    }
}

impl Acceptor {
    /// Listens, by IPv6 and IPv4 where both exist; for this machine alone, where all ranks are on it.
    pub(crate) fn new(config: &TcpConfig) -> io::Result<Self> {
        let [first, second] = listening_addresses(config)?;
        let listen = |address: IpAddr| config.ports.bind(|port| listen((address, port).into()));
        let listener =
            listen(first).or_else(|error| if second == first { Err(error) } else { listen(second) })?;
        let port = listener.local_addr()?.as_socket().map_or(0, |address| address.port());
        Ok(Acceptor {
            listener,
            port,
            interfaces: config.interfaces,
            unauthenticated: Vec::new(),
            failing: None,
            closed: None,
            turned_away: 0,
            given_up: 0,
            knock: None,
        })
    }

    /// Where to find this rank.
    pub(crate) fn endpoint_address(&self) -> io::Result<EndpointAddress> {
        let address = self.listener.local_addr()?.as_socket().map(|address| address.ip());
        match address.filter(|address| !address.is_unspecified()) {
            Some(address) => Ok(EndpointAddress { port: self.port, addresses: vec![address] }),
            None => EndpointAddress::of_this_machine(self.port, &self.interfaces),
        }
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.listener.as_raw_fd()
    }

    /// A thread may sleep at the doors from now on.
    pub(crate) fn expect_visitors(&mut self) -> io::Result<()> {
        if self.knock.is_none() {
            self.knock = Some(Knock::new()?);
        }
        Ok(())
    }

    /// Where it sleeps, unless somebody is being let in, or cannot be.
    pub(crate) fn door_post(&self) -> Option<DoorPost> {
        let is_quiet = self.unauthenticated.is_empty() && self.failing.is_none() && self.closed.is_none();
        self.knock.as_ref().filter(|_| is_quiet).map(|knock| DoorPost::new(self.fd(), knock.clone()))
    }

    /// Whether somebody is being greeted who has said something to the point. Those who say nothing hurry nobody.
    pub(crate) fn is_busy(&self) -> bool {
        self.unauthenticated.iter().any(|connection| connection.server.is_some())
    }

    /// When the oldest unauthenticated peer's time is over, or that of a shut door.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let unauthenticated = self
            .unauthenticated
            .iter()
            .map(|connection| connection.since + Duration::from_secs(AUTHENTICATION_S));
        let failing = self.failing.iter().map(|(since, _)| *since + Duration::from_secs(UNREACHABLE_S));
        unauthenticated.chain(failing).min()
    }

    /// Listens to unauthenticated peers and, where somebody knocks, opens the door. Answers those who have proved themselves.
    pub(crate) fn advance(
        &mut self,
        now: Instant,
        knocks: bool,
        identity: &Identity,
        bell: &SocketBell,
    ) -> Vec<Authenticated> {
        let mut authenticated = Vec::new();
        if !self.unauthenticated.is_empty() {
            self.look_who_speaks();
        }
        let mut at = 0;
        while at < self.unauthenticated.len() {
            // What has been said in time is heard before it is too late: this rank may have looked away.
            let speaks = std::mem::take(&mut self.unauthenticated[at].speaks);
            let heard = if speaks { self.unauthenticated[at].advance(identity) } else { Ok(None) };
            let late =
                now.saturating_duration_since(self.unauthenticated[at].since).as_secs() >= AUTHENTICATION_S;
            match heard {
                Ok(None) if !late => at += 1,
                Ok(Some((peer, next))) => {
                    let connection = self.unauthenticated.remove(at);
                    authenticated.extend(connection.into_authenticated(peer, next));
                }
                Err(Unproved::Leaves) => {
                    self.unauthenticated.remove(at);
                    self.given_up += 1;
                }
                Ok(None) | Err(Unproved::Errs) => {
                    self.unauthenticated.remove(at);
                    self.turned_away += 1;
                }
            }
        }
        if knocks {
            self.accept(now, bell);
        } else {
            self.failing = None;
        }
        authenticated
    }

    /// One system call for all of them: a crowd that says nothing must not cost one each.
    fn look_who_speaks(&mut self) {
        let look = |connection: &Unauthenticated| libc::pollfd {
            fd: connection.greeting.socket().as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let mut looks: Vec<libc::pollfd> = self.unauthenticated.iter().map(look).collect();
        // SAFETY: as many entries as there are; nothing is waited for.
        let answer = unsafe { libc::poll(looks.as_mut_ptr(), looks.len() as libc::nfds_t, 0) };
        for (connection, look) in self.unauthenticated.iter_mut().zip(&looks) {
            // Where the call fails, each is asked.
            connection.speaks = answer < 0 || look.revents != 0;
        }
    }

    fn accept(&mut self, now: Instant, bell: &SocketBell) {
        for _ in 0..ACCEPTS_PER_HOUSEKEEPING_MAX {
            let (socket, from) = match with_room(|| self.listener.accept()) {
                Ok(accepted) => accepted,
                Err(error) => return self.fails(now, &error),
            };
            self.failing = None;
            if socket.set_nonblocking(true).and_then(|()| prepare(&socket)).is_err() {
                continue;
            }
            if self.unauthenticated.len() >= UNAUTHENTICATED_MAX {
                self.unauthenticated.remove(self.least_welcome());
                self.turned_away += 1;
            }
            bell.watch(socket.as_raw_fd(), false);
            // Whoever sleeps at the doors must look more often now.
            self.knock.iter().for_each(Knock::knock);
            let (greeting, from) = (Greeting::new(socket), from.as_socket().map(|from| from.ip()));
            self.unauthenticated.push(Unauthenticated {
                greeting,
                from,
                speaks: false,
                server: None,
                since: now,
            });
        }
    }

    /// Whoever waits to be let in waits for ever if something here is in the way for good.
    fn fails(&mut self, now: Instant, error: &io::Error) {
        match error.kind() {
            io::ErrorKind::WouldBlock => self.failing = None,
            io::ErrorKind::ConnectionAborted => {}
            _ if is_closed(error) => self.closed = Some(error.to_string()),
            _ => drop(self.failing.get_or_insert_with(|| (now, error.to_string()))),
        }
    }

    /// Why nobody could be let in for so long that a peer would have given up.
    pub(crate) fn failure(&self, now: Instant) -> Option<String> {
        if let Some(why) = &self.closed {
            return Some(format!(
                "the program has closed descriptors that MPI uses, so other ranks cannot connect to this one ({why}); \
                 a program that closes all that it has, as daemons do, must do so before MPI_Init"
            ));
        }
        let (since, why) = self.failing.as_ref()?;
        let late = now.saturating_duration_since(*since).as_secs() >= UNREACHABLE_S;
        late.then(|| format!("other ranks could not be let in for {UNREACHABLE_S} s: {why}"))
    }

    /// Who must go for the next one: of the address from which most have come, whoever has not said hello, and of these the
    /// oldest. So a crowd from elsewhere does not drive out a peer, nor do those who say nothing.
    fn least_welcome(&self) -> usize {
        let like = |connection: &Unauthenticated| {
            self.unauthenticated.iter().filter(|other| other.from == connection.from).count()
        };
        let ranked =
            self.unauthenticated.iter().enumerate().map(|(at, connection)| {
                (std::cmp::Reverse(like(connection)), connection.server.is_some(), at)
            });
        ranked.min().map_or(0, |(_, _, at)| at)
    }
}

impl Unauthenticated {
    /// Hears what was said. Who it is, once that is proved; an error when it cannot be.
    fn advance(&mut self, identity: &Identity) -> Result<Option<(Peer, u64)>, Unproved> {
        if self.server.is_none() {
            let Some(hello) = self.greeting.hear::<HELLO_BYTES>()? else { return Ok(None) };
            let realm = Realm::of(&hello).map_err(|_| Unproved::Errs)?;
            let secret = identity.secret_of(realm).ok_or(Unproved::Errs)?;
            let (server, challenge) =
                HandshakeServer::hello(secret, identity.me, &seed(), &hello).map_err(|_| Unproved::Errs)?;
            self.greeting.say(&challenge)?;
            self.server = Some(server);
        }
        let Some(proof) = self.greeting.hear::<PROOF_BYTES>()? else { return Ok(None) };
        let server = self.server.as_mut().ok_or(Unproved::Errs)?;
        server.proof(&proof).map(Some).map_err(|_| Unproved::Errs)
    }

    fn into_authenticated(self, peer: Peer, next: u64) -> Option<Authenticated> {
        Some(Authenticated { greeting: self.greeting, server: self.server?, peer, next })
    }
}

/// The listening socket is closed, or its number is that of something else.
fn is_closed(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBADF | libc::ENOTSOCK | libc::EINVAL))
}

/// Where to listen, and where else if that cannot be. The only address that may be used is all that is listened at.
fn listening_addresses(config: &TcpConfig) -> io::Result<[IpAddr; 2]> {
    if config.local {
        return Ok([Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
    }
    if !config.interfaces.is_all()
        && let [only] = addresses(&config.interfaces)?[..]
    {
        return Ok([only, only]);
    }
    Ok([Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()])
}

fn listen(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}
