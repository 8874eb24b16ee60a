//! All ways that a rank has to the ranks of its job, as one transport.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use tern_mem::UserBuf;

use crate::config::Config;
use crate::loopback::Loopback;
use crate::shm::barrier::Barriers;
use crate::shm::{AttachError, Shm};
use crate::{
    Am, Doorbell, Full, Limits, Peer, Remote, ShareKey, Sink, Token, Transfer, TransferError, Transport,
};

/// This rank's place in its job.
#[derive(Debug)]
pub struct Place {
    /// This rank.
    pub me: Peer,
    /// Ranks of the job.
    pub size: u32,
    /// The memfd that all ranks of this machine have, if there are several; it may be empty.
    pub segment: Option<OwnedFd>,
    /// The ranks on this machine outnumber the cores that they may run on.
    pub oversubscribed: bool,
}

/// The transports of one rank, chosen by peer.
pub struct Fabric {
    me: Peer,
    loopback: Loopback,
    shm: Option<Shm>,
}

impl Fabric {
    /// Connects this rank to its job. A job of one needs no segment.
    pub fn attach(place: Place, config: &Config) -> Result<Fabric, AttachError> {
        let Place { me, size, segment, oversubscribed } = place;
        let shm = match segment {
            Some(fd) if size > 1 => Some(Shm::attach(&fd, me, size, oversubscribed, config)?),
            None if size > 1 => return Err(AttachError::NoSegment(size)),
            _ => None,
        };
        let loopback = match &shm {
            Some(shm) => Loopback::with_bell(me, shm.bell().clone()),
            None => Loopback::new(me),
        };
        Ok(Fabric { me, loopback, shm })
    }

    /// Barriers among ranks of this machine, if the job has several ranks.
    pub fn barriers(&self) -> Option<Barriers> {
        self.shm.as_ref().map(Shm::barriers)
    }
}

impl Transport for Fabric {
    fn limits(&mut self, peer: Peer) -> Limits {
        match &mut self.shm {
            Some(shm) if peer != self.me => shm.limits(peer),
            _ => self.loopback.limits(peer),
        }
    }

    #[inline]
    fn send(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        match &mut self.shm {
            Some(shm) if peer != self.me => shm.send(peer, am),
            _ => self.loopback.send(peer, am),
        }
    }

    fn get(&mut self, peer: Peer, from: Remote, into: &UserBuf, done: Token) -> Transfer {
        match &mut self.shm {
            Some(shm) if peer != self.me => shm.get(peer, from, into, done),
            _ => self.loopback.get(peer, from, into, done),
        }
    }

    fn put(&mut self, peer: Peer, from: &UserBuf, into: Remote, done: Token) -> Transfer {
        match &mut self.shm {
            Some(shm) if peer != self.me => shm.put(peer, from, into, done),
            _ => self.loopback.put(peer, from, into, done),
        }
    }

    fn share_open(&mut self, peer: Peer, from: Remote, into: &UserBuf, done: Token) -> Option<ShareKey> {
        match &mut self.shm {
            Some(shm) if peer != self.me => shm.share_open(peer, from, into, done),
            _ => None,
        }
    }

    fn share_pull(&mut self, key: ShareKey) -> Transfer {
        match &mut self.shm {
            Some(shm) => shm.share_pull(key),
            None => Transfer::Failed(TransferError::BadKey),
        }
    }

    fn share_join(
        &mut self,
        peer: Peer,
        key: ShareKey,
        from: &UserBuf,
        into: Remote,
        done: Token,
    ) -> Transfer {
        match &mut self.shm {
            Some(shm) if peer != self.me => shm.share_join(peer, key, from, into, done),
            _ => Transfer::Failed(TransferError::BadKey),
        }
    }

    #[inline]
    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        let own = self.loopback.poll(sink);
        match &mut self.shm {
            Some(shm) => shm.poll(sink) | own,
            None => own,
        }
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        match &self.shm {
            Some(shm) => shm.doorbell(),
            None => self.loopback.doorbell(),
        }
    }
}
