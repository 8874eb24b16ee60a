//! Windows, whose memory peers read and write at once (FI_RMA).
//!
//! The provider holds an access against the bounds of the memory, and its key is known to ranks of the job alone. Accesses are in no
//! order with messages, and none is asked for: whoever synchronizes waits for the end of each.

use tern_libfabric::RemoteMemory;
use tern_mem::UserBuf;

use super::reads::OfiReader;
use super::transport::Ofi;
use tern_transport::{Full, Peer, Sink, Token, TransferError, WindowMemory};

/// What is done with a peer's memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WindowAccess {
    Read,
    Write,
}

impl Ofi {
    /// Lets peers read and write memory.
    pub(super) fn expose_memory(&mut self, memory: &UserBuf) -> Option<WindowMemory> {
        let start = memory.contiguous_at(0, memory.len())?;
        let is_able = self.refused.is_none() && self.endpoint.write_bytes_max() > 0;
        if memory.is_empty() || !is_able {
            return None;
        }
        // SAFETY: it stays until it is hidden, which is the promise of whoever exposes it. Regions go before the endpoint.
        let region = unsafe { self.endpoint.expose_window(start, memory.len()) }.ok()?;
        let RemoteMemory { start, key } = region.place();
        self.windows.push(region);
        Some(WindowMemory { start, key })
    }

    /// Begins an access of a peer's memory, if the provider takes it now.
    pub(super) fn access_window(
        &mut self,
        peer: Peer,
        there: WindowMemory,
        here: &UserBuf,
        done: Token,
        access: WindowAccess,
    ) -> Result<(), Full> {
        let most = match access {
            WindowAccess::Read => self.endpoint.read_bytes_max(),
            WindowAccess::Write => self.endpoint.write_bytes_max(),
        };
        let len = here.len();
        let start =
            here.contiguous_at(0, len).filter(|_| len <= most && self.refused.is_none()).ok_or(Full)?;
        let (way, slot) = (self.way(peer).ok_or(Full)?, self.read_slots.last().copied().ok_or(Full)?);
        let place = (way.to, RemoteMemory { start: there.start, key: there.key });
        // SAFETY: the buffer of an access is left alone until that has ended, and the slot is free.
        let taken = unsafe {
            match access {
                WindowAccess::Read => self.endpoint.read(slot, place, start, len),
                WindowAccess::Write => self.endpoint.write(slot, place, start, len),
            }
        };
        if !taken.unwrap_or(false) {
            return Err(Full);
        }
        self.read_slots.pop();
        self.readers[slot] = Some(OfiReader { peer, token: Some(done) });
        self.counters.windows += 1;
        Ok(())
    }

    /// Tells the engine of accesses that have ended.
    #[cold]
    pub(super) fn tell_window_ends(&mut self, sink: &mut impl Sink) {
        for (token, is_well) in std::mem::take(&mut self.window_ends) {
            sink.done(token, if is_well { Ok(()) } else { Err(TransferError::PeersMemory) });
        }
    }
}
