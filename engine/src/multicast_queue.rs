//! Multicasts that wait for credits or for the transport.

use crate::slab::Id;
use std::collections::VecDeque;
use tern_transport::{MulticastGroup, Peer};

/// Multicasts that wait, in order.
#[derive(Default)]
pub(crate) struct PendingMulticasts(pub VecDeque<PendingMulticast>);

/// One that waits: a request that says what, and to whom it goes.
pub(crate) struct PendingMulticast {
    pub id: Id,
    pub group: MulticastGroup,
    pub to: Box<[Peer]>,
}

impl PendingMulticasts {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
