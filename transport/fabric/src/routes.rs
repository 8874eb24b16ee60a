//! The table of routes: a peer, the transport that carries messages to it, and the number that the peer has there.
//!
//! | route | transport | serves |
//! |---|---|---|
//! | own | [`Loopback`] | this rank |
//! | memory | [`Shm`] | the ranks of this host, unless a network is forced |
//! | pair memory | [`Shm`] | processes of other worlds on this host, once both have it: see `pairs.rs` |
//! | datagrams | [`Urtp`] | the ranks of this world, where `TERN_TRANSPORT=urtp` |
//! | libfabric | [`Ofi`] | ranks that have an endpoint of the same provider |
//! | sockets | [`Tcp`] | everybody else |
//!
//! The first row that serves a peer counts: [`Fabric`](super::Fabric) asks for the first two, and
//! [`Network`](super::network::Network) for the others. A further transport is a row here and a module beside those.

use tern_mem::UserBuf;

use crate::loopback::Loopback;
use tern_datagram::Urtp;
use tern_ofi::Ofi;
use tern_shm::Shm;
use tern_tcp::Tcp;
use tern_transport::{
    Am, CooperativeCopyKey, Full, Limits, Peer, Remote, Token, Transfer, Transport, WindowMemory,
};

/// How messages reach a peer: the transport, and the peer's number there.
pub(super) enum Route<'a> {
    /// This rank itself.
    Own(&'a mut Loopback, Peer),
    /// Shared memory.
    Memory(&'a mut Shm, Peer),
    /// Datagrams that are made reliable.
    Datagrams(&'a mut Urtp, Peer),
    /// An endpoint of libfabric.
    Libfabric(&'a mut Ofi, Peer),
    /// A connection.
    Sockets(&'a mut Tcp, Peer),
}

/// Calls a method of a route's transport.
macro_rules! through {
    ($route:expr, |$transport:ident, $peer:ident| $call:expr) => {
        match $route {
            Route::Own($transport, $peer) => $call,
            Route::Memory($transport, $peer) => $call,
            Route::Datagrams($transport, $peer) => $call,
            Route::Libfabric($transport, $peer) => $call,
            Route::Sockets($transport, $peer) => $call,
        }
    };
}

/// What [`Transport`] says of one peer.
impl Route<'_> {
    pub(super) fn limits(self) -> Limits {
        through!(self, |transport, peer| transport.limits(peer))
    }

    pub(super) fn read_window(self, from: WindowMemory, into: &UserBuf, done: Token) -> Result<(), Full> {
        through!(self, |transport, peer| transport.read_window(peer, from, into, done))
    }

    pub(super) fn write_window(self, from: &UserBuf, to: WindowMemory, done: Token) -> Result<(), Full> {
        through!(self, |transport, peer| transport.write_window(peer, from, to, done))
    }

    pub(super) fn prefers_fragments(self, len: u64) -> bool {
        through!(self, |transport, peer| transport.prefers_fragments(peer, len))
    }

    #[inline(always)]
    pub(super) fn send(self, am: &Am<'_>) -> Result<(), Full> {
        through!(self, |transport, peer| transport.send(peer, am))
    }

    pub(super) fn eager_bytes_at_hand(self) -> usize {
        through!(self, |transport, peer| transport.eager_bytes_at_hand(peer))
    }

    pub(super) fn zero_copy_fragment_bytes_max(self) -> usize {
        through!(self, |transport, peer| transport.zero_copy_fragment_bytes_max(peer))
    }

    pub(super) fn zero_copy_eager_bytes_max(self) -> usize {
        through!(self, |transport, peer| transport.zero_copy_eager_bytes_max(peer))
    }

    pub(super) fn send_zero_copy(self, am: &Am<'_>, done: Option<Token>) -> Result<(), Full> {
        through!(self, |transport, peer| transport.send_zero_copy(peer, am, done))
    }

    pub(super) fn get(self, from: Remote, into: &UserBuf, done: Token) -> Transfer {
        through!(self, |transport, peer| transport.get(peer, from, into, done))
    }

    pub(super) fn put(self, from: &UserBuf, into: Remote, done: Token) -> Transfer {
        through!(self, |transport, peer| transport.put(peer, from, into, done))
    }

    pub(super) fn open_cooperative_copy(
        self,
        from: Remote,
        into: &UserBuf,
        done: Token,
    ) -> Option<CooperativeCopyKey> {
        through!(self, |transport, peer| transport.open_cooperative_copy(peer, from, into, done))
    }

    pub(super) fn join_cooperative_copy(
        self,
        key: CooperativeCopyKey,
        from: &UserBuf,
        into: Remote,
        done: Token,
    ) -> Transfer {
        through!(self, |transport, peer| transport.join_cooperative_copy(peer, key, from, into, done))
    }
}
