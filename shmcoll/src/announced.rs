//! `MPI_Gatherv` and `MPI_Scatterv`: no rank but the root knows all lengths, so whoever has a block announces it.
//!
//! There is one eager step, whatever the lengths. What is said of a block is its length and how it goes ([`BlockWay`]); the other side
//! follows. A short block comes with what is said of it, or lies in the eager slot. A long one is moved by the rank that is not the root,
//! straight to or from the root's buffer; how that ended it tells in a second step, which has no slot. What is neither is left to a message.

use crate::limits::SHM_SLOT_BLOCK_BYTES_MAX;
use crate::method::{VectorBlocks, gathers_directly, pays_one_copy, scatters_directly};
use crate::{
    CallFault, CallHost, CallResult, NO_PAYLOAD, RankSet, ShmCall, Unequal, WORD_BYTES, payload_of_word,
    two_words, word_at, word_of,
};
use std::ops::Range;
use tern_coll::TypedCount;
use tern_mem::UserBuf;
use tern_shm::limits::{EAGER_SLOT_BYTES, LINE_BYTES, SHM_COMM_RANKS_MAX};
use tern_shm::{CommonFacts, EagerStep, ShmComm};
use tern_transport::Remote;

/// How a block goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BlockWay {
    /// With what is said of it.
    Beside,
    /// Through the eager slot.
    Slot,
    /// Straight between the buffers, by the kernel.
    Straight,
    /// By a message, after the steps.
    Message,
}

impl BlockWay {
    const ALL: [BlockWay; 4] = [BlockWay::Beside, BlockWay::Slot, BlockWay::Straight, BlockWay::Message];
}

/// What is said of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Announcement {
    way: BlockWay,
    bytes: usize,
}

/// Bits of an announcement that say how the block goes; the others are its bytes.
const WAY_BITS: u32 = 2;

impl Announcement {
    fn word(self) -> u64 {
        (self.bytes as u64) << WAY_BITS | self.way as u64
    }

    fn of(word: u64) -> Announcement {
        let way = BlockWay::ALL[word as usize % (1 << WAY_BITS)];
        Announcement { way, bytes: (word >> WAY_BITS) as usize }
    }
}

/// Bytes of a gathered block that travel in the line of its flag, behind the announcement.
const BESIDE_FLAG_BYTES: usize = ShmComm::FLAG_PAYLOAD_BYTES - WORD_BYTES;

/// Of a scatterv, the eager slot begins with a line for each rank: the announcement, where the block is, and a short block.
const CELL_BYTES: usize = LINE_BYTES;
const CELL_HEAD_BYTES: usize = 2 * WORD_BYTES;
const BESIDE_CELL_BYTES: usize = CELL_BYTES - CELL_HEAD_BYTES;

/// Of a gatherv, the root's share of the eager slot has, for each rank, where its block goes and how much room there is.
const PLACE_BYTES: usize = 2 * WORD_BYTES;
const _: () = assert!(PLACE_BYTES * SHM_COMM_RANKS_MAX <= EAGER_SLOT_BYTES / SHM_COMM_RANKS_MAX);

/// How the kernel's copy of a block ended, as its mover says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CopyEnd {
    Refused,
    Done,
    /// The other buffer has gaps: a message takes the place of the copy.
    Message,
}

impl CopyEnd {
    const ALL: [CopyEnd; 3] = [CopyEnd::Refused, CopyEnd::Done, CopyEnd::Message];

    fn of(word: u64) -> CopyEnd {
        Self::ALL.get(word as usize).copied().unwrap_or(CopyEnd::Refused)
    }
}

/// The two steps of a call.
struct AnnouncedSteps {
    blocks: EagerStep,
    ends: EagerStep,
}

impl<S: CallHost> ShmCall<'_, S> {
    /// Without `send`, the root's own block is in its place.
    pub(crate) fn gatherv(
        &mut self,
        send: Option<TypedCount>,
        root: u32,
        blocks: &VectorBlocks,
    ) -> CallResult {
        let own = send.map(|send| self.buffer(send.in_send()));
        if self.shm_comm.rank() == root {
            return self.gatherv_here(own.as_ref(), blocks);
        }
        own.map_or(Ok(()), |own| self.gatherv_there(&own, root))
    }

    /// Without `recv`, the root's own block stays where it is.
    pub(crate) fn scatterv(
        &mut self,
        recv: Option<TypedCount>,
        root: u32,
        blocks: &VectorBlocks,
    ) -> CallResult {
        let own = recv.map(|recv| self.buffer(recv.in_recv()));
        if self.shm_comm.rank() == root {
            return self.scatterv_here(own.as_ref(), blocks);
        }
        own.map_or(Ok(()), |own| self.scatterv_there(&own, root))
    }

    /// Begins both steps, before anything is written.
    fn begin_announced(&mut self) -> CallResult<(AnnouncedSteps, CommonFacts)> {
        let common = self.common()?;
        let (blocks, ends) = (self.shm_comm.begin_eager(), self.shm_comm.begin_eager_payload());
        Ok((AnnouncedSteps { blocks, ends }, common))
    }

    /// Where `rank`'s share of the eager slot begins, and its bytes.
    fn share(&self, rank: u32) -> (usize, usize) {
        let bytes = self.slot_share();
        (rank as usize * bytes, bytes)
    }

    /// At a rank that is not the root.
    fn gatherv_there(&mut self, own: &UserBuf, root: u32) -> CallResult {
        let (steps, common) = self.begin_announced()?;
        self.free(steps.blocks)?;
        let ((place, room), bytes) = (self.share(self.shm_comm.rank()), own.len());
        let way = match bytes {
            0..=BESIDE_FLAG_BYTES => BlockWay::Beside,
            _ if bytes <= room.min(SHM_SLOT_BLOCK_BYTES_MAX) => BlockWay::Slot,
            _ if self.gathers_straight(bytes, common) => BlockWay::Straight,
            _ => BlockWay::Message,
        };
        if way == BlockWay::Slot {
            self.host.copy(own, 0, self.shm_comm.eager_slot(steps.blocks).buf(), place, bytes);
        }
        let mut payload = payload_of_word(Announcement { way, bytes }.word());
        if way == BlockWay::Beside {
            own.read(0, &mut payload[WORD_BYTES..][..bytes]);
        }
        self.shm_comm.contribute(steps.blocks, &payload);
        let outcome = match way {
            BlockWay::Straight => self.put_straight(own, root, &steps),
            BlockWay::Message => {
                self.by_message.to.insert(root);
                Ok(())
            }
            BlockWay::Beside | BlockWay::Slot => Ok(()),
        };
        self.shm_comm.end_eager(steps.ends);
        outcome
    }

    /// Moves a block into the root's buffer, once that has said where it goes.
    fn put_straight(&mut self, own: &UserBuf, root: u32, steps: &AnnouncedSteps) -> CallResult {
        self.copied = self.of_all_others(own.len());
        self.wait(self.shm_comm.published(steps.blocks, root))?;
        let at = self.share(root).0 + self.me() * PLACE_BYTES;
        let mut place = [0; PLACE_BYTES];
        self.shm_comm.eager_slot(steps.blocks).buf().read(at, &mut place);
        let [addr, room] = [0, WORD_BYTES].map(|at| word_at(&place, at));
        let there = Remote { addr, len: own.len() as u64 };
        let end = match addr {
            0 => CopyEnd::Message,
            // The root says what is wrong.
            _ if room != there.len => CopyEnd::Done,
            _ if self.host.put(root, own, there) => CopyEnd::Done,
            _ => CopyEnd::Refused,
        };
        self.tell_end(end, root, steps)
    }

    /// Tells the root how a copy has ended.
    fn tell_end(&mut self, end: CopyEnd, root: u32, steps: &AnnouncedSteps) -> CallResult {
        self.shm_comm.contribute(steps.ends, &payload_of_word(end as u64));
        match end {
            CopyEnd::Refused => return Err(CallFault::Refused { rank: root }),
            CopyEnd::Message => self.by_message.to.insert(root),
            CopyEnd::Done => {}
        }
        Ok(())
    }

    /// At the root.
    fn gatherv_here(&mut self, own: Option<&UserBuf>, blocks: &VectorBlocks) -> CallResult {
        let (steps, common) = self.begin_announced()?;
        let bytes_from = |rank| self.host.buffer(&blocks.from[rank as usize]).len();
        let mut is_told = self.others().any(|rank| self.gathers_straight(bytes_from(rank), common));
        if is_told {
            self.publish_places(&steps, blocks)?;
        }
        let (mut straight, mut longest, mut outcome) = (RankSet::default(), 0, Ok(()));
        for rank in self.others() {
            self.wait(self.shm_comm.contributed(steps.blocks, rank))?;
            let into = self.host.buffer(&blocks.from[rank as usize]);
            let announcement = self.take_announced(rank, &into, &steps);
            match announcement.way {
                BlockWay::Message => {
                    self.by_message.from.insert(rank);
                    continue;
                }
                BlockWay::Straight => {
                    straight.insert(rank);
                    longest = longest.max(into.len());
                    if !std::mem::replace(&mut is_told, true) {
                        self.publish_places(&steps, blocks)?;
                    }
                }
                BlockWay::Beside | BlockWay::Slot => {}
            }
            if announcement.bytes != into.len() {
                outcome = Err(unequal(rank, announcement.bytes, &into));
            }
        }
        if let Some(own) = own {
            let into = self.host.buffer(&blocks.from[self.me()]);
            self.host.copy(own, 0, &into, 0, own.len().min(into.len()));
        }
        self.copied = self.of_all_others(longest);
        let ended = self.await_copies(straight, &steps);
        self.shm_comm.end_eager(steps.ends);
        ended.and(outcome)
    }

    /// Whether a gathered block of so many bytes is moved by the kernel.
    fn gathers_straight(&self, bytes: usize, common: CommonFacts) -> bool {
        common.all_reach && gathers_directly(bytes, self.size(), pays_one_copy(bytes, common))
    }

    /// Takes what came with what is said of a rank's block, and what lies in the eager slot.
    fn take_announced(&self, rank: u32, into: &UserBuf, steps: &AnnouncedSteps) -> Announcement {
        let payload = self.shm_comm.contributed_payload(steps.blocks, rank);
        let announcement = Announcement::of(word_of(&payload));
        match announcement.way {
            BlockWay::Beside => {
                let bytes = announcement.bytes.min(BESIDE_FLAG_BYTES).min(into.len());
                into.write(0, &payload[WORD_BYTES..][..bytes]);
            }
            BlockWay::Slot => {
                let (slot, (place, room)) = (self.shm_comm.eager_slot(steps.blocks), self.share(rank));
                self.host.copy(slot.buf(), place, into, 0, announcement.bytes.min(room));
            }
            BlockWay::Straight | BlockWay::Message => {}
        }
        announcement
    }

    /// Says where each rank's block goes, and how much room there is.
    fn publish_places(&mut self, steps: &AnnouncedSteps, blocks: &VectorBlocks) -> CallResult {
        self.free(steps.blocks)?;
        self.free(steps.ends)?;
        let (slot, (first, _)) = (self.shm_comm.eager_slot(steps.blocks), self.share(self.shm_comm.rank()));
        for (rank, block) in blocks.from.iter().enumerate() {
            let (addr, room) = self.host.buffer(block).as_contiguous().unwrap_or((0, 0));
            slot.buf().write(first + rank * PLACE_BYTES, &two_words([addr as u64, room as u64]));
        }
        self.shm_comm.publish(steps.blocks, &NO_PAYLOAD);
        Ok(())
    }

    /// Until all of these have moved their blocks.
    fn await_copies(&mut self, straight: RankSet, steps: &AnnouncedSteps) -> CallResult {
        let mut outcome = Ok(());
        for rank in self.others().filter(|&rank| straight.contains(rank)) {
            self.wait(self.shm_comm.contributed(steps.ends, rank))?;
            match CopyEnd::of(word_of(&self.shm_comm.contributed_payload(steps.ends, rank))) {
                CopyEnd::Done => {}
                CopyEnd::Message => self.by_message.from.insert(rank),
                CopyEnd::Refused => outcome = Err(CallFault::Refused { rank }),
            }
        }
        outcome
    }

    /// At the root.
    fn scatterv_here(&mut self, own: Option<&UserBuf>, blocks: &VectorBlocks) -> CallResult {
        let (steps, common) = self.begin_announced()?;
        self.free(steps.blocks)?;
        self.free(steps.ends)?;
        let (mut straight, mut longest) = (RankSet::default(), 0);
        let mut room = CELL_BYTES * self.size()..EAGER_SLOT_BYTES;
        for rank in self.others() {
            let from = self.host.buffer(&blocks.to[rank as usize]);
            let (way, cell) = self.announce(&from, &mut room, (steps.blocks, common));
            self.shm_comm.eager_slot(steps.blocks).buf().write(rank as usize * CELL_BYTES, &cell);
            match way {
                BlockWay::Message => self.by_message.to.insert(rank),
                BlockWay::Straight => {
                    straight.insert(rank);
                    longest = longest.max(from.len());
                }
                BlockWay::Beside | BlockWay::Slot => {}
            }
        }
        self.shm_comm.publish(steps.blocks, &NO_PAYLOAD);
        if let Some(own) = own {
            let from = self.host.buffer(&blocks.to[self.me()]);
            self.host.copy(&from, 0, own, 0, from.len().min(own.len()));
        }
        self.copied = self.of_all_others(longest);
        let outcome = self.await_copies(straight, &steps);
        self.shm_comm.end_eager(steps.ends);
        outcome
    }

    /// How a rank's block goes, and what is said of it. One that goes through the eager slot is there, in what was still free of `room`.
    fn announce(
        &self,
        from: &UserBuf,
        room: &mut Range<usize>,
        (step, common): (EagerStep, CommonFacts),
    ) -> (BlockWay, [u8; CELL_BYTES]) {
        let (bytes, base) = (from.len(), from.as_contiguous().map(|(base, _)| base as u64));
        let is_long = scatters_directly(bytes, self.size(), pays_one_copy(bytes, common));
        let goes_straight = common.all_reach && is_long;
        let (way, place) = match base {
            _ if bytes <= BESIDE_CELL_BYTES => (BlockWay::Beside, 0),
            Some(base) if goes_straight => (BlockWay::Straight, base),
            _ if bytes <= room.len().min(SHM_SLOT_BLOCK_BYTES_MAX) => (BlockWay::Slot, room.start as u64),
            _ => (BlockWay::Message, 0),
        };
        let mut cell = [0; CELL_BYTES];
        cell[..CELL_HEAD_BYTES].copy_from_slice(&two_words([Announcement { way, bytes }.word(), place]));
        match way {
            BlockWay::Beside => from.read(0, &mut cell[CELL_HEAD_BYTES..][..bytes]),
            BlockWay::Slot => {
                self.host.copy(from, 0, self.shm_comm.eager_slot(step).buf(), room.start, bytes);
                room.start += bytes.next_multiple_of(LINE_BYTES);
            }
            BlockWay::Straight | BlockWay::Message => {}
        }
        (way, cell)
    }

    /// At a rank that is not the root.
    fn scatterv_there(&mut self, own: &UserBuf, root: u32) -> CallResult {
        let (steps, _) = self.begin_announced()?;
        self.wait(self.shm_comm.published(steps.blocks, root))?;
        let slot = self.shm_comm.eager_slot(steps.blocks);
        let mut cell = [0; CELL_BYTES];
        slot.buf().read(self.me() * CELL_BYTES, &mut cell);
        let [word, place] = [0, WORD_BYTES].map(|at| word_at(&cell, at));
        let announcement = Announcement::of(word);
        let bytes = announcement.bytes.min(own.len());
        let mut outcome = Ok(());
        match announcement.way {
            BlockWay::Beside => own.write(0, &cell[CELL_HEAD_BYTES..][..bytes.min(BESIDE_CELL_BYTES)]),
            BlockWay::Slot => self.host.copy(slot.buf(), place as usize, own, 0, bytes),
            BlockWay::Message => self.by_message.from.insert(root),
            BlockWay::Straight => {
                let there = Remote { addr: place, len: bytes as u64 };
                let is_moved = announcement.bytes != own.len() || self.host.get(root, there, own);
                let end = if is_moved { CopyEnd::Done } else { CopyEnd::Refused };
                outcome = self.tell_end(end, root, &steps);
            }
        }
        self.shm_comm.end_eager(steps.ends);
        if announcement.way != BlockWay::Message && announcement.bytes != own.len() {
            outcome = Err(unequal(root, announcement.bytes, own));
        }
        outcome
    }
}

fn unequal(rank: u32, sent: usize, room: &UserBuf) -> CallFault {
    CallFault::Unequal(Unequal { rank, sent, room: room.len() })
}
