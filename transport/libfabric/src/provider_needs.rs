//! What single providers need: how they are told of memory to receive into, and how much of it.

use crate::abi::{Ep, OPT_ENDPOINT, OPT_MIN_MULTI_RECV};
use crate::slots::Slots;

/// How much an endpoint sends and receives at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Bytes of the longest packet.
    pub packet_bytes_max: usize,
    /// Packets that may be on their way out.
    pub sends: usize,
    /// Bytes into which packets may come before this process has looked at any.
    pub receive_bytes: usize,
}

/// Pieces of memory for packets that come: while one is full, others are free.
const RECEIVES: usize = 4;

/// A receive is given back when it has no room for another packet. Whether the provider agrees.
pub(crate) unsafe fn set_least(ep: *mut Ep, bytes: usize) -> bool {
    // SAFETY: open, and the option is a size.
    unsafe {
        let setopt = (*(*ep).ops).setopt;
        let value = (&raw const bytes).cast();
        setopt(ep.cast(), OPT_ENDPOINT, OPT_MIN_MULTI_RECV, value, size_of::<usize>()) == 0
    }
}

/// Whether the provider says that it gives a receive back later than it was told. Many do not say anything.
pub(crate) unsafe fn forgets_least(ep: *mut Ep, bytes: usize) -> bool {
    let (mut value, mut len) = (0_usize, size_of::<usize>());
    // SAFETY: open, and the option is a size.
    let code = unsafe {
        let getopt = (*(*ep).ops).getopt;
        getopt(ep.cast(), OPT_ENDPOINT, OPT_MIN_MULTI_RECV, (&raw mut value).cast(), &raw mut len)
    };
    code == 0 && len == size_of::<usize>() && value < bytes
}

/// Provider ofi_rxd loses packets that one receive serves. Where more packets come at once than there are receives, it may deliver some
/// twice, out of order or never (`bench/raw_packets.c` shows it without Tern). So it gets all receives that it takes.
pub(crate) fn is_rxd(provider: &str) -> bool {
    provider.ends_with("ofi_rxd")
}

/// Packets that the provider takes in while its queue is read once, or 0 where that is of no account: of provider shm as many as its
/// receives, since a peer's send finds no room behind them.
pub(crate) fn takes_in(provider: &str, receives_max: usize) -> usize {
    if provider == "shm" { receives_max } else { 0 }
}

/// Bytes into which packets come before this process has looked at any, and in how many pieces. Provider shm keeps packets for which no
/// piece has room in the entries by which pieces are posted. Once it has used them up, no piece can be posted any more, and nothing comes.
/// So the pieces have room for the longest packets of four reads (`CompletionBacklog`): one whose completions are being looked at, one
/// that waits behind it, one that comes with the next read, and what pieces waste that are partly used.
fn pieces(provider: &str, sizes: Sizes, receives_max: usize) -> (usize, usize) {
    match takes_in(provider, receives_max) {
        0 => (RECEIVES, sizes.receive_bytes),
        packets => (2 * RECEIVES, sizes.receive_bytes.max(4 * packets * sizes.packet_bytes_max)),
    }
}

/// Completions that wait at once, or 0 for as many as the provider chooses. Over ofi_rxd they are those of all its receives, and of the
/// sends. Provider sockets loses those for which there is no room, and then nothing of that sender comes any more. So there is room for
/// every packet that the receives take.
pub(crate) fn completions(provider: &str) -> usize {
    match provider {
        "sockets" => 128 * 1024,
        _ if is_rxd(provider) => 4096,
        _ => 0,
    }
}

/// One in so many receives is for packets that peers have not been told of as arrived. The others are for those that ofi_rxd takes, and
/// tells of, in one call.
pub(crate) const RXD_RECEIVES_SPARE: usize = 4;

pub(crate) fn receive_slots(provider: &str, sizes: Sizes, is_multi: bool, receives_max: usize) -> Slots {
    if is_multi {
        let (count, bytes) = pieces(provider, sizes, receives_max);
        return Slots::new(count, (bytes / count).max(4 * sizes.packet_bytes_max));
    }
    let wanted = if is_rxd(provider) { receives_max } else { sizes.receive_bytes / sizes.packet_bytes_max };
    Slots::new(wanted.clamp(2, receives_max.max(2)), sizes.packet_bytes_max)
}
