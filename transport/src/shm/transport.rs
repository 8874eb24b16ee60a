//! [`Shm`]: sending, and the trait.

use std::alloc;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tern_mem::UserBuf;

use super::bell::{Bell, NEEDS_FENCE, PeerBell};
use super::cells::CellPool;
use super::cma::{self, Direction};
use super::fill::Fill;
use super::futex;
use super::inbox::{Inbox, Queued};
use super::layout::Layout;
use super::paces::Paces;
use super::peers::{Peers, Reach};
use super::queue::{NONE, QueueReader};
use super::receive::{Half, Incoming, Taken, take_queued};
use super::ring::{CellName, RingReader, RingWriter, lines_for};
use super::segment::{AttachError, LineWord, Segment};
use super::share::Shares;
use super::team::{self, Seat, Team};
use crate::config::Config;
use crate::limits::{
    CELL_TURNS_BYTES_MIN, HEAD_PAYLOAD_BYTES, LINES_BEFORE_CELLS_PAYLOAD_BYTES_MAX, LINES_PAYLOAD_BYTES_MAX,
    POLL_BUDGET, QUEUE_MESSAGES_BEFORE_RING,
};
use crate::{
    Am, Doorbell, Full, Limits, Peer, Remote, ShareKey, Sink, Token, Transfer, TransferError, Transport,
};

/// Bytes that the shared segment of a job of `size` ranks will have (sparse: pages come when touched). `None` if
/// they cannot be addressed.
pub fn segment_bytes(size: u32, config: &Config) -> Option<usize> {
    Layout::new(size, config).segment_bytes()
}

/// The shared-memory transport of one rank.
pub struct Shm {
    me: Peer,
    config: Config,
    /// Payload bytes of the longest message that goes in lines.
    lines_bytes_max: usize,
    /// By rank; zeros until this rank has to do with it. Their pages come when they are used.
    outgoing: Box<[Outgoing]>,
    /// [`NEEDS_FENCE`] if this process cannot be reached by `membarrier`, else 0.
    fence: u32,
    incoming: Vec<Incoming>,
    ring_known: Vec<bool>,
    queue: QueueReader,
    /// The word that tells whether the queue is empty, within the segment.
    queue_stub: NonNull<LineWord>,
    cells: CellPool,
    fill: Fill,
    shares: Shares,
    paces: Paces,
    peers: Peers,
    bell: Arc<Bell>,
    /// `membarrier` reaches this process.
    registered: bool,
    segment: Arc<Segment>,
}

// SAFETY: the pointers in `outgoing`, `incoming` and `queue_stub` lead into the segment, which `segment` keeps mapped and
// which is memory of the process, not of a thread.
unsafe impl Send for Shm {}

/// What this rank knows of a peer as a sender to it. Zeros are nothing.
struct Outgoing {
    ring: RingWriter,
    bell: PeerBell,
    /// Messages sent through the peer's queue.
    queued: u32,
}

impl Outgoing {
    fn new(segment: &Segment, me: Peer, peer: Peer, fence: u32) -> Self {
        // SAFETY: `Shm` keeps the segment as long as its rings.
        let ring = RingWriter::new(unsafe { segment.ring(peer, me) });
        // SAFETY: as above.
        let bell = unsafe { PeerBell::new(segment, peer, fence) };
        Outgoing { ring, bell, queued: 0 }
    }

    /// Nothing of so many peers: memory that costs nothing until it is used.
    fn zeros(size: u32) -> Box<[Outgoing]> {
        let size = size as usize;
        let layout = alloc::Layout::array::<Outgoing>(size).expect("fewer bytes than an address space has");
        assert!(layout.size() > 0, "a job of nobody");
        // SAFETY: the layout is not empty.
        let memory = NonNull::new(unsafe { alloc::alloc_zeroed(layout) });
        let memory = memory.unwrap_or_else(|| alloc::handle_alloc_error(layout));
        let all = std::ptr::slice_from_raw_parts_mut(memory.as_ptr().cast::<Outgoing>(), size);
        // SAFETY: just allocated for so many, by the allocator that boxes use; zeros are an `Outgoing`: numbers, a flag that
        // is false, and pointers that may be null.
        unsafe { Box::from_raw(all) }
    }
}

impl Shm {
    /// Attaches rank `me` of `size` to the job's segment. `oversubscribed`: the job's ranks outnumber the
    /// cores that they may run on.
    pub fn attach(
        fd: &OwnedFd,
        me: Peer,
        size: u32,
        oversubscribed: bool,
        config: &Config,
    ) -> Result<Shm, AttachError> {
        if me >= size {
            return Err(AttachError::NotARank(me, size));
        }
        let segment = Arc::new(Segment::attach(fd, size, config)?);
        let registered = futex::register_for_fences();
        let fence = if registered { 0 } else { NEEDS_FENCE };
        let bell = Bell::shared(segment.clone(), me, oversubscribed || !registered);
        let peers = Peers::new(segment.clone(), config.cma);
        peers.announce(me);
        Ok(Shm {
            me,
            config: config.clamped(),
            lines_bytes_max: match config.copies.by_cells() {
                true => LINES_BEFORE_CELLS_PAYLOAD_BYTES_MAX,
                false => LINES_PAYLOAD_BYTES_MAX,
            },
            outgoing: Outgoing::zeros(size),
            fence,
            incoming: Vec::new(),
            ring_known: vec![false; size as usize],
            queue: QueueReader::new(),
            queue_stub: NonNull::from(&segment.control(me).queue_stub),
            cells: CellPool::new(&segment, me, oversubscribed),
            fill: Fill::default(),
            shares: Shares::new(segment.clone(), me),
            paces: Paces::new(config.copies),
            peers,
            bell: Arc::new(bell),
            registered,
            segment,
        })
    }

    /// This rank's seat in a team; the leader's number is `leader` here, whatever it is in the job. Whoever leads it has made
    /// sure by [`Shm::clear_team`] that the slot is free.
    pub fn team(&self, seat: Seat, leader: Peer) -> Team {
        Team::new(self.segment.clone(), self.bell.clone(), seat, leader, self.registered)
    }

    /// Clears a slot that this rank leads for a new team, if all `size` ranks of the last one have left.
    pub fn clear_team(&self, slot: u32, size: u32) -> bool {
        team::clear(&self.segment, self.me, slot, size)
    }

    /// Whether [`futex::fence_everywhere`] of another process reaches this one.
    pub(crate) fn is_fenced(&self) -> bool {
        self.registered
    }

    /// Wakes a rank that may sleep, after something was published to it otherwise than by a message.
    pub(crate) fn ring(&self, peer: Peer) {
        if peer < self.outgoing.len() as Peer {
            // SAFETY: not used beyond this call, and `self` keeps the segment.
            unsafe { PeerBell::new(&self.segment, peer, NEEDS_FENCE) }.sent();
        }
    }

    pub(crate) fn bell(&self) -> &Arc<Bell> {
        &self.bell
    }

    /// What is known of a peer; it begins here.
    #[inline]
    fn outgoing(&mut self, peer: Peer) -> &mut Outgoing {
        let to = &mut self.outgoing[peer as usize];
        if to.bell.is_nobodys() {
            *to = Outgoing::new(&self.segment, self.me, peer, self.fence);
        }
        to
    }

    /// All that is not one line of an open ring with known room.
    #[inline(never)]
    fn send_otherwise(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        let len = am.payload_len();
        assert!(len <= self.config.shm_eager_bytes_max(), "{len} bytes do not fit an eager message");
        self.try_send(peer, am, len).or_else(|Full| {
            // This rank may be about to sleep, and must not miss the room that has just been made.
            if self.bell.words().want_room() { self.try_send(peer, am, len) } else { Err(Full) }
        })
    }

    fn try_send(&mut self, peer: Peer, am: &Am<'_>, len: usize) -> Result<(), Full> {
        if !self.outgoing(peer).ring.is_open() {
            self.send_by_queue(peer, am, len)?;
        } else if len <= self.lines_bytes_max {
            self.send_by_lines(peer, am, len)?;
        } else {
            self.send_by_cells(peer, am, len)?;
        }
        self.outgoing(peer).bell.sent();
        Ok(())
    }

    fn send_by_lines(&mut self, peer: Peer, am: &Am<'_>, len: usize) -> Result<(), Full> {
        let to = self.outgoing(peer);
        if !to.ring.reserve(lines_for(len)) {
            return Err(Full);
        }
        if len <= HEAD_PAYLOAD_BYTES {
            // SAFETY: a line has room for as many bytes.
            to.ring.push_line(&am.header, len, |to| unsafe { am.write_payload(to, 0, len) });
        } else if let Some(run) = am.run() {
            // SAFETY: the payload is one run of `len` bytes; the ring asks for no more than that and each line has room for.
            to.ring.push_lines(&am.header, len, |to, offset, n| unsafe { run.add(offset).copy_to(to, n) });
        } else {
            // SAFETY: the ring asks for no more than each line has room for.
            to.ring.push_lines(&am.header, len, |to, offset, n| unsafe { am.write_payload(to, offset, n) });
        }
        Ok(())
    }

    /// A line for each cell, all reserved before the first: once a message has begun, nothing stops it.
    fn send_by_cells(&mut self, peer: Peer, am: &Am<'_>, len: usize) -> Result<(), Full> {
        let cells = self.cells_for(len);
        if !self.outgoing(peer).ring.reserve(cells) {
            return Err(Full);
        }
        if cells > 1 && !self.cells.has(&self.segment, peer, cells) {
            return Err(Full);
        }
        let cell = self.fill_cell(peer, am, len, 0).ok_or(Full)?;
        self.outgoing(peer).ring.push_cell(&am.header, cell, len as u32);
        if cells > 1 {
            self.send_further_cells(peer, am, len);
        }
        Ok(())
    }

    /// The first cell goes by the queue. If there are others, the ring follows at once.
    fn send_by_queue(&mut self, peer: Peer, am: &Am<'_>, len: usize) -> Result<(), Full> {
        let cells = self.cells_for(len);
        if !self.cells.has(&self.segment, peer, cells) {
            return Err(Full);
        }
        let cell = self.fill_cell(peer, am, len, 0).ok_or(Full)?;
        let rings = self.config.rings;
        let to = self.outgoing(peer);
        to.queued = to.queued.saturating_add(1);
        let ring_follows = rings && (to.queued == QUEUE_MESSAGES_BEFORE_RING || cells > 1);
        let queued = Queued { header: am.header, len: len as u32, ring_follows };
        queued.write(&self.segment.cell_line(self.me, cell.cell()).head);
        Inbox { segment: &self.segment, receiver: peer }.push(self.me, cell.cell());
        if ring_follows {
            self.outgoing(peer).ring.open();
            self.send_further_cells(peer, am, len);
        }
        Ok(())
    }

    /// All but the first cell of a message. The peer copies them out as they come.
    fn send_further_cells(&mut self, peer: Peer, am: &Am<'_>, len: usize) {
        for at in (0..len).step_by(self.config.cell_bytes as usize).skip(1) {
            let Some(cell) = self.fill_cell(peer, am, len, at) else {
                unreachable!("the caller has made sure of cells for all of the message")
            };
            self.outgoing(peer).ring.push_further_cell(cell);
        }
    }

    /// A cell with the payload from `at` on, of `len` bytes in all. It is ours until its line is pushed.
    #[inline]
    fn fill_cell(&mut self, peer: Peer, am: &Am<'_>, len: usize, at: usize) -> Option<CellName> {
        let cell = self.cells.take(&self.segment, peer, len)?;
        let n = (len - at).min(self.config.cell_bytes as usize);
        let to = self.segment.cell(self.me, cell);
        if n >= CELL_TURNS_BYTES_MIN
            && let Some(run) = am.run()
        {
            let (segment, me) = (&self.segment, self.me);
            // SAFETY: as below; the payload is one run of `len` bytes. Cells begin with a page.
            let timed =
                unsafe { self.fill.copy(|cell| segment.cell_line(me, cell), cell, to, run.add(at), n) };
            return Some(CellName::new(cell, timed));
        }
        // SAFETY: `n` is at most a cell's size, and the cell is not another's yet.
        unsafe { am.write_payload(to, at, n) };
        Some(CellName::new(cell, false))
    }

    fn cells_for(&self, len: usize) -> u32 {
        match self.config.cell_bytes as usize {
            most if len <= most => 1,
            most => len.div_ceil(most) as u32,
        }
    }

    #[inline(always)]
    fn queue_may_have_some(&self) -> bool {
        // SAFETY: within the segment, which `self` keeps.
        let stub = unsafe { self.queue_stub.as_ref() };
        !self.queue.at_stub() || stub.0.load(Ordering::Relaxed) != NONE
    }

    #[inline(never)]
    fn drain_queue(&mut self, sink: &mut impl Sink) -> bool {
        let segment = self.segment.clone();
        let inbox = Inbox { segment: &segment, receiver: self.me };
        for taken in 0..POLL_BUDGET {
            let Some(link) = self.queue.pop(&inbox) else { return taken > 0 };
            if let Some(Taken { from, ring_follows, half }) = take_queued(&inbox, link, &mut self.paces, sink)
            {
                if ring_follows {
                    self.expect_ring(from, half);
                }
                self.outgoing(from).bell.made_room();
            }
            if sink.enough() {
                break;
            }
        }
        true
    }

    /// From now on `from`'s messages come by its ring, first the rest of `half`.
    fn expect_ring(&mut self, from: Peer, half: Option<Half>) {
        if !std::mem::replace(&mut self.ring_known[from as usize], true) {
            // SAFETY: `self` keeps the segment as long as its rings.
            let ring = RingReader::new(unsafe { self.segment.ring(self.me, from) });
            let bell = self.outgoing(from).bell;
            self.incoming.push(Incoming { ring, from, bell, half });
        }
    }

    fn transfer(&mut self, direction: Direction, peer: Peer, local: &UserBuf, remote: Remote) -> Transfer {
        let Some(pid) = self.peers.pid(peer) else {
            return Transfer::Failed(TransferError::Os(libc::EPERM));
        };
        match cma::copy(direction, pid, local, 0, remote.addr, remote.len as usize) {
            Ok(()) => Transfer::Done,
            Err(error) => Transfer::Failed(error),
        }
    }
}

impl Transport for Shm {
    fn limits(&mut self, peer: Peer) -> Limits {
        let direct = matches!(self.peers.reach(peer), Reach::Process(_));
        Limits {
            eager_bytes_max: self.config.shm_eager_bytes_max(),
            get: direct,
            put: direct,
            share: direct,
            sends: self.config.copies.by_cells(),
        }
    }

    fn streams(&mut self, peer: Peer, len: u64) -> bool {
        self.paces.by_cells(peer, len)
    }

    #[inline(always)]
    fn send(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        let len = am.payload_len();
        let to = &mut self.outgoing[peer as usize];
        if len > HEAD_PAYLOAD_BYTES || !to.ring.has_room() {
            // A copy, so that the usual message stays in registers.
            let am = *am;
            return self.send_otherwise(peer, &am);
        }
        // SAFETY: a line has room for as many bytes.
        to.ring.push_line(&am.header, len, |to| unsafe { am.write_payload(to, 0, len) });
        to.bell.sent();
        Ok(())
    }

    fn get(&mut self, peer: Peer, from: Remote, into: &UserBuf, _done: Token) -> Transfer {
        self.transfer(Direction::Read, peer, into, from)
    }

    fn put(&mut self, peer: Peer, from: &UserBuf, into: Remote, _done: Token) -> Transfer {
        self.transfer(Direction::Write, peer, from, into)
    }

    fn share_open(&mut self, peer: Peer, from: Remote, into: &UserBuf, done: Token) -> Option<ShareKey> {
        let pid = self.peers.pid(peer)?;
        self.shares.open(peer, pid, from, into, done)
    }

    fn share_pull(&mut self, key: ShareKey) -> Transfer {
        self.shares.pull(key, &mut self.paces)
    }

    fn share_join(
        &mut self,
        peer: Peer,
        key: ShareKey,
        from: &UserBuf,
        into: Remote,
        done: Token,
    ) -> Transfer {
        let pid = self.peers.pid(peer);
        self.shares.join(peer, pid, key, from, into, done)
    }

    #[inline]
    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        let mut any = false;
        if self.queue_may_have_some() {
            any |= self.drain_queue(sink);
        }
        for incoming in &mut self.incoming {
            any |= incoming.drain(&self.segment, &mut self.paces, sink);
        }
        if !self.shares.is_empty() {
            any |= self.shares.poll(&mut self.paces, sink);
        }
        any
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        self.bell.clone()
    }
}
