//! [`Shm`]: sending, and the trait.

use std::alloc;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tern_mem::{ContiguousBuf, UserBuf, copy_between_cores};

use super::abroad::{BellOf, FileOf};
use super::bell::{Bell, PeerBell};
use super::bell_words::NEEDS_FENCE;
use super::cells::{CellPool, SendCell};
use super::cma::{self, CopyDirection};
use super::cooperative_copy::CooperativeCopies;
use super::inbox::{Inbox, Queued};
use super::layout::SegmentLayout;
use super::node_cores::NodeCores;
use super::path_tuner::PathTuner;
use super::peers::{MemoryReach, ShmPeers};
use super::queue::{NONE, QueueReader};
use super::receive::{IncomingRing, MessageInProgress, ReceivingSide, TakenMessage, take_queued};
use super::ring::{CellName, RingReader, RingWriter, lines_for};
use super::segment::{AttachError, FarBell, Segment};
use super::segment_words::LineWord;
use super::shm_comm::{self, ShmComm, ShmMember};
use super::store_tuner::StoreTuner;
use crate::limits::{
    CELL_TURNS_BYTES_MIN, HEAD_PAYLOAD_BYTES, LINES_BEFORE_CELLS_PAYLOAD_BYTES_MAX, LINES_PAYLOAD_BYTES_MAX,
    POLL_BUDGET, QUEUE_MESSAGES_BEFORE_RING,
};
use tern_transport::config::TransportConfig;
use tern_transport::fence::register_for_all;
use tern_transport::{
    Am, CooperativeCopyKey, Doorbell, Full, Header, Limits, Peer, Remote, ShortPayload, Sink, Token,
    Transfer, TransferError, Transport,
};

/// Bytes that the shared segment of a job of `size` ranks will have (sparse: pages come when touched). `None` if
/// they cannot be addressed.
pub fn segment_bytes(size: u32, config: &TransportConfig) -> Option<usize> {
    SegmentLayout::new(size, config).segment_bytes()
}

/// Of a rank that has opened no ring to this one.
const NO_RING: u32 = u32::MAX;

/// The shared-memory transport of one rank.
pub struct Shm {
    me: Peer,
    config: TransportConfig,
    /// Payload bytes of the longest message that goes in lines.
    lines_bytes_max: usize,
    /// By rank; zeros until this rank has to do with it. Their pages come when they are used.
    outgoing: Box<[OutgoingPeer]>,
    /// [`NEEDS_FENCE`] if this process cannot be reached by `membarrier`, else 0.
    fence: u32,
    incoming: Vec<IncomingRing>,
    /// By rank: where its ring is in `incoming`, or [`NO_RING`].
    ring_of: Vec<u32>,
    queue: QueueReader,
    /// The word that tells whether the queue is empty, within the segment.
    queue_stub: NonNull<LineWord>,
    cells: CellPool,
    /// Payload bytes of the longest message that goes without asking in any case.
    eager_bytes_max: usize,
    store_tuner: StoreTuner,
    cooperative_copies: CooperativeCopies,
    path_tuner: PathTuner,
    peers: ShmPeers,
    bell: Arc<Bell>,
    /// `membarrier` reaches this process.
    registered: bool,
    segment: Arc<Segment>,
}

// SAFETY: the pointers in `outgoing`, `incoming` and `queue_stub` lead into the segment, which `segment` keeps mapped and
// which is memory of the process, not of a thread.
unsafe impl Send for Shm {}

/// What this rank knows of a peer as a sender to it. Zeros are nothing.
struct OutgoingPeer {
    ring: RingWriter,
    bell: PeerBell,
    /// Messages sent through the peer's queue.
    queued: u32,
}

impl OutgoingPeer {
    fn new(segment: &Segment, me: Peer, peer: Peer, fence: u32) -> Self {
        // SAFETY: `Shm` keeps the segment as long as its rings.
        let ring = RingWriter::new(unsafe { segment.ring(peer, me) });
        // SAFETY: as above.
        let bell = unsafe { PeerBell::new(segment, peer, fence) };
        OutgoingPeer { ring, bell, queued: 0 }
    }

    /// Nothing of so many peers: memory that costs nothing until it is used.
    fn zeros(size: u32) -> Box<[OutgoingPeer]> {
        let size = size as usize;
        let layout =
            alloc::Layout::array::<OutgoingPeer>(size).expect("fewer bytes than an address space has");
        assert!(layout.size() > 0, "a job of nobody");
        // SAFETY: the layout is not empty.
        let memory = NonNull::new(unsafe { alloc::alloc_zeroed(layout) });
        let memory = memory.unwrap_or_else(|| alloc::handle_alloc_error(layout));
        let all = std::ptr::slice_from_raw_parts_mut(memory.as_ptr().cast::<OutgoingPeer>(), size);
        // SAFETY: just allocated for so many, by the allocator that boxes use; zeros are an `OutgoingPeer`: numbers, a
        // flag that is false, and pointers that may be null.
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
        config: &TransportConfig,
    ) -> Result<Shm, AttachError> {
        if me >= size {
            return Err(AttachError::NotARank(me, size));
        }
        let segment = Arc::new(Segment::attach(fd, size, config)?);
        let registered = register_for_all();
        let bell = Bell::shared(segment.clone(), me, oversubscribed || !registered);
        Ok(Shm::with_bell(segment, me, Arc::new(bell), registered, oversubscribed, config))
    }

    /// Attaches one of two processes of different worlds, 0 or 1, to the memory of the two. Each sleeps on the bell that it has in its
    /// own world.
    pub fn attach_pair(
        fd: &OwnedFd,
        me: Peer,
        bell: Arc<Bell>,
        far: FarBell,
        config: &TransportConfig,
    ) -> Result<Shm, AttachError> {
        let segment = Arc::new(Segment::attach(fd, 2, config)?.with_far_bell(far));
        let registered = register_for_all();
        Ok(Shm::with_bell(segment, me, bell, registered, false, config))
    }

    /// `registered`: `membarrier` reaches this process. `oversubscribed`: ranks outnumber the cores.
    fn with_bell(
        segment: Arc<Segment>,
        me: Peer,
        bell: Arc<Bell>,
        registered: bool,
        oversubscribed: bool,
        config: &TransportConfig,
    ) -> Shm {
        let size = segment.layout().size;
        let fence = if registered { 0 } else { NEEDS_FENCE };
        let peers = ShmPeers::new(segment.clone(), config.cma);
        let eager_bytes_max = config.clamped().shm_eager_bytes_max(oversubscribed);
        peers.announce(me);
        Shm {
            me,
            config: config.clamped(),
            lines_bytes_max: match config.copies.by_cells() {
                true => LINES_BEFORE_CELLS_PAYLOAD_BYTES_MAX,
                false => LINES_PAYLOAD_BYTES_MAX,
            },
            outgoing: OutgoingPeer::zeros(size),
            fence,
            incoming: Vec::new(),
            ring_of: vec![NO_RING; size as usize],
            queue: QueueReader::new(),
            queue_stub: NonNull::from(&segment.control(me).queue_stub),
            cells: CellPool::new(&segment, me, oversubscribed),
            eager_bytes_max,
            store_tuner: StoreTuner::new(oversubscribed),
            cooperative_copies: CooperativeCopies::new(segment.clone(), me),
            path_tuner: match oversubscribed {
                true => PathTuner::on_shared_cores(config.copies, eager_bytes_max),
                false => PathTuner::new(config.copies),
            },
            peers,
            bell,
            registered,
            segment,
        }
    }

    /// Where this rank sleeps, for processes of other worlds; `file` is the segment's.
    pub fn bell_of(&self, file: FileOf) -> BellOf {
        BellOf { file, page: self.segment.bell_page(self.me) }
    }

    /// Tells of cooperative copies that have ended, and takes no message.
    pub fn poll_copies(&mut self, sink: &mut impl Sink) -> bool {
        !self.cooperative_copies.is_empty() && self.cooperative_copies.poll(&mut self.path_tuner, sink)
    }

    /// This rank's side of a shm communicator; the leader's number is `leader` here, whatever it is in the job. Whoever leads it has made
    /// sure by [`Shm::clear_shm_slot`] that the slot is free.
    pub fn shm_comm(&self, member: ShmMember, leader: Peer) -> ShmComm {
        ShmComm::new(self.segment.clone(), self.bell.clone(), member, leader, self.registered)
    }

    /// Where the ranks of this node run.
    pub fn node_cores(&self) -> NodeCores {
        NodeCores::new(self.segment.clone(), self.me)
    }

    /// Clears a slot that this rank leads for a new shm communicator, if all `size` ranks of the last one have left.
    pub fn clear_shm_slot(&self, slot: u32, size: u32) -> bool {
        shm_comm::clear(&self.segment, self.me, slot, size)
    }

    /// Whether [`fence_everywhere`](tern_transport::fence::fence_everywhere) of another process reaches this one.
    pub fn is_fenced(&self) -> bool {
        self.registered
    }

    /// Wakes a rank that may sleep, after something was published to it otherwise than by a message. Whether it slept.
    pub fn ring(&self, peer: Peer) -> bool {
        // SAFETY: not used beyond this call, and `self` keeps the segment.
        peer < self.outgoing.len() as Peer && unsafe { PeerBell::new(&self.segment, peer, self.fence) }.wake()
    }

    /// On which this process sleeps.
    pub fn bell(&self) -> &Arc<Bell> {
        &self.bell
    }

    /// What is known of a peer; it begins here.
    #[inline]
    fn outgoing(&mut self, peer: Peer) -> &mut OutgoingPeer {
        let to = &mut self.outgoing[peer as usize];
        if to.bell.is_nobodys() {
            *to = OutgoingPeer::new(&self.segment, self.me, peer, self.fence);
        }
        to
    }

    /// The ring that a peer has opened.
    #[inline(always)]
    fn incoming_from(&mut self, peer: Peer) -> Option<&mut IncomingRing> {
        self.incoming.get_mut(*self.ring_of.get(peer as usize)? as usize)
    }

    /// All that is not one line of an open ring with known room.
    #[inline(never)]
    fn send_general(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        let len = am.payload_len();
        assert!(len <= self.config.shm_message_bytes_max(), "{len} bytes do not fit an eager message");
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
            // SAFETY: the payload is one run of `len` bytes.
            unsafe { to.ring.push_run(&am.header, run, len) };
        } else {
            // SAFETY: the ring asks for no more than each line has room for.
            to.ring.push_lines(&am.header, len, |to, offset, n| unsafe { am.write_payload(to, offset, n) });
        }
        Ok(())
    }

    /// A line for each piece, all reserved before the first: once a message has begun, nothing stops it.
    fn send_by_cells(&mut self, peer: Peer, am: &Am<'_>, len: usize) -> Result<(), Full> {
        let (cells, pieces) = (self.cells_for(len), self.segment.layout().pieces(len));
        if !self.outgoing(peer).ring.reserve(pieces) {
            return Err(Full);
        }
        if cells > 1 && !self.cells.has_for_ring(&self.segment, peer, cells) {
            return Err(Full);
        }
        let cell = self.cells.take_for_ring(&self.segment, peer, len).ok_or(Full)?;
        let n = self.segment.layout().piece(0, len);
        let name = self.fill(cell, am, (0, n, len));
        self.outgoing(peer).ring.push_cell(&am.header, name, len as u32);
        if pieces > 1 {
            self.send_further_pieces(peer, am, (cell, n, len));
        }
        Ok(())
    }

    /// All of the first cell goes by the queue. If there are others, the ring follows at once.
    fn send_by_queue(&mut self, peer: Peer, am: &Am<'_>, len: usize) -> Result<(), Full> {
        let cells = self.cells_for(len);
        if !self.cells.has(&self.segment, peer, cells) {
            return Err(Full);
        }
        let cell = self.cells.take(&self.segment, peer, len).ok_or(Full)?;
        let n = len.min(self.config.cell_bytes as usize);
        let queued_cell = SendCell { owner: self.me, name: CellName::new(cell, false), is_hot: false };
        self.fill(queued_cell, am, (0, n, len));
        let rings = self.config.rings;
        let to = self.outgoing(peer);
        to.queued = to.queued.saturating_add(1);
        let ring_follows = rings && (to.queued == QUEUE_MESSAGES_BEFORE_RING || cells > 1);
        let queued = Queued { header: am.header, len: len as u32, ring_follows };
        queued.write(&self.segment.cell_line(self.me, cell).head);
        Inbox { segment: &self.segment, receiver: peer }.push(self.me, cell);
        if ring_follows {
            self.outgoing(peer).ring.open();
            self.send_further_pieces(peer, am, (queued_cell, n, len));
        }
        Ok(())
    }

    /// What follows the first `at` of `len` bytes, of which the last are in this cell. The peer copies pieces out as they come.
    fn send_further_pieces(
        &mut self,
        peer: Peer,
        am: &Am<'_>,
        (mut cell, mut at, len): (SendCell, usize, usize),
    ) {
        while at < len {
            if at.is_multiple_of(self.config.cell_bytes as usize) {
                let next = self.cells.take_for_ring(&self.segment, peer, len);
                cell = next.expect("the caller has made sure of cells for all of the message");
            }
            let n = self.segment.layout().piece(at, len);
            let name = self.fill(cell, am, (at, n, len));
            self.outgoing(peer).ring.push_further_piece(name);
            at += n;
        }
    }

    /// Writes the `n` bytes from `at` on, of `len` in all, to their place in a cell. They are ours until their line is pushed.
    #[inline]
    fn fill(&mut self, cell: SendCell, am: &Am<'_>, (at, n, len): (usize, usize, usize)) -> CellName {
        let (SendCell { owner, name, is_hot }, offset) = (cell, at % self.config.cell_bytes as usize);
        // SAFETY: a piece lies within its cell.
        let to = unsafe { self.segment.cell(owner, name.cell()).add(offset) };
        let run = am.run().filter(|_| len >= CELL_TURNS_BYTES_MIN);
        match run {
            // SAFETY: the piece is not another's yet, and the payload is one run of `len` bytes.
            Some(run) if is_hot => unsafe { copy_between_cores(to, run.add(at), n) },
            Some(run) => {
                let (segment, me) = (&self.segment, self.me);
                let line = |cell| segment.cell_line(me, cell);
                // SAFETY: as above. Cells begin with a page, and pieces with a line.
                let timed = unsafe { self.store_tuner.copy(line, name.cell(), to, run.add(at), n) };
                return name.timed(timed);
            }
            // SAFETY: the piece is not another's yet.
            None => unsafe { am.write_payload(to, at, n) },
        }
        name
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
            let (path_tuner, cells) = (&mut self.path_tuner, &mut self.cells);
            let side = &mut ReceivingSide { segment: &segment, path_tuner, cells };
            if let Some(TakenMessage { from, ring_follows, in_progress }) =
                take_queued(&inbox, link, side, sink)
            {
                if ring_follows {
                    self.expect_ring(from, in_progress);
                }
                self.outgoing(from).bell.made_room();
            }
            if sink.backpressure() {
                break;
            }
        }
        true
    }

    /// From now on `from`'s messages come by its ring, first the rest of the message in progress.
    fn expect_ring(&mut self, from: Peer, in_progress: Option<MessageInProgress>) {
        if self.ring_of[from as usize] == NO_RING {
            self.ring_of[from as usize] = self.incoming.len() as u32;
            // SAFETY: `self` keeps the segment as long as its rings.
            let ring = RingReader::new(unsafe { self.segment.ring(self.me, from) });
            let bell = self.outgoing(from).bell;
            self.incoming.push(IncomingRing { ring, from, bell, in_progress });
        }
    }

    fn transfer(
        &mut self,
        direction: CopyDirection,
        peer: Peer,
        local: &UserBuf,
        remote: Remote,
    ) -> Transfer {
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
        let direct = matches!(self.peers.reach(peer), MemoryReach::Process(_));
        Limits {
            eager_bytes_max: self.eager_bytes_max,
            get: direct,
            put: direct,
            cooperative_copy: direct,
            prefers_send: self.config.copies.by_cells(),
        }
    }

    fn eager_bytes_at_hand(&mut self, peer: Peer) -> usize {
        let hot = self.cells.hot_for(peer) as usize * self.config.cell_bytes as usize;
        hot.min(self.config.shm_message_bytes_max())
    }

    fn prefers_fragments(&mut self, peer: Peer, len: u64) -> bool {
        let ahead = self.cooperative_copies.reads_from(peer);
        let heard = (self.outgoing[peer as usize].ring.readers_path(), peer < self.me);
        let choice = self.path_tuner.choose(peer, len, ahead, heard);
        if let (Some(said), Some(from)) = (choice.said, self.incoming_from(peer)) {
            from.ring.say_path(said);
        }
        choice.by_cells
    }

    #[inline(always)]
    fn send(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        let len = am.payload_len();
        let to = &mut self.outgoing[peer as usize];
        if len > HEAD_PAYLOAD_BYTES || !to.ring.has_room() {
            // A copy, so that the usual message stays in registers.
            let am = *am;
            return self.send_general(peer, &am);
        }
        // SAFETY: a line has room for as many bytes.
        to.ring.push_line(&am.header, len, |to| unsafe { am.write_payload(to, 0, len) });
        to.bell.sent();
        Ok(())
    }

    #[inline(always)]
    fn send_short(&mut self, peer: Peer, header: &Header, payload: ContiguousBuf) -> bool {
        debug_assert!(payload.len() <= HEAD_PAYLOAD_BYTES);
        let Some(to) = self.outgoing.get_mut(peer as usize).filter(|to| to.ring.has_room()) else {
            return false;
        };
        // SAFETY: a line has room for as many bytes.
        to.ring.push_line(header, payload.len(), |to| unsafe { payload.read_to(to) });
        to.bell.sent();
        true
    }

    #[inline]
    fn send_run(&mut self, peer: Peer, header: &Header, payload: ContiguousBuf) -> bool {
        let (run, len) = (payload.base(), payload.len());
        let is_in_lines = len > HEAD_PAYLOAD_BYTES && len <= self.lines_bytes_max;
        let Some(to) = self.outgoing.get_mut(peer as usize).filter(|_| is_in_lines) else { return false };
        if !to.ring.reserve(lines_for(len)) {
            return false;
        }
        // SAFETY: the run has `len` bytes.
        unsafe { to.ring.push_run(header, run, len) };
        to.bell.sent();
        true
    }

    #[inline(always)]
    fn next_short(&mut self, peer: Peer) -> Option<(Header, ShortPayload<'_>)> {
        self.incoming_from(peer)?.ring.next_short()
    }

    #[inline]
    fn await_next(&mut self, peer: Peer, looks: u32) -> bool {
        let incoming = self.incoming_from(peer);
        incoming.is_some_and(|incoming| (0..looks).any(|_| incoming.ring.has_next()))
    }

    #[inline(always)]
    fn pass_short(&mut self, peer: Peer) {
        if let Some(incoming) = self.incoming_from(peer) {
            incoming.pass_short();
        }
    }

    fn get(&mut self, peer: Peer, from: Remote, into: &UserBuf, _done: Token) -> Transfer {
        self.transfer(CopyDirection::Read, peer, into, from)
    }

    fn put(&mut self, peer: Peer, from: &UserBuf, into: Remote, _done: Token) -> Transfer {
        self.transfer(CopyDirection::Write, peer, from, into)
    }

    fn open_cooperative_copy(
        &mut self,
        peer: Peer,
        from: Remote,
        into: &UserBuf,
        done: Token,
    ) -> Option<CooperativeCopyKey> {
        let pid = self.peers.pid(peer)?;
        self.cooperative_copies.open(peer, pid, from, into, done)
    }

    fn pull_cooperative_copy(&mut self, key: CooperativeCopyKey) -> Transfer {
        self.cooperative_copies.pull(key, &mut self.path_tuner)
    }

    fn join_cooperative_copy(
        &mut self,
        peer: Peer,
        key: CooperativeCopyKey,
        from: &UserBuf,
        into: Remote,
        done: Token,
    ) -> Transfer {
        let pid = self.peers.pid(peer);
        self.cooperative_copies.join(peer, pid, key, from, into, done)
    }

    #[inline]
    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        let mut any = false;
        if self.queue_may_have_some() {
            any |= self.drain_queue(sink);
        }
        for incoming in &mut self.incoming {
            any |= incoming.drain(&self.segment, &mut self.path_tuner, &mut self.cells, sink);
        }
        if !self.cooperative_copies.is_empty() {
            any |= self.cooperative_copies.poll(&mut self.path_tuner, sink);
        }
        any
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        self.bell.clone()
    }
}
