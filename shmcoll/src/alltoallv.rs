//! All-to-all of blocks of any length: what a rank has for another is known to these two alone, so each rank says of every
//! block how long it is, and of a long one where it lies.
//!
//! In one sync step all tell each other, and short blocks travel with what is said of them: between two ranks in the line of
//! the flag, among more in a sync buffer with a cell for each pair. Where anybody has a long block, which all have heard, they
//! are then fetched from the buffers they lie in, and nobody goes on before all have what they want; or they are messages, where
//! these go by cells and an all-to-all of such blocks would be messages.

use crate::limits::{SHM_ALLTOALL_FETCH_BYTES_MIN, SHM_CELLS_BLOCK_BYTES_MIN};
use crate::method::{VectorBlocks, alltoall_goes_by_message};
use crate::{
    CallFault, CallHost, CallResult, NO_PAYLOAD, Remainder, ShmCall, Unequal, WORD_BYTES, pieces, two_words,
    whole_lines, word_at,
};
use tern_mem::UserBuf;
use tern_shm::shm_comm::FlagPayload;
use tern_shm::{Area, ShmComm, SyncStep};
use tern_transport::Remote;

/// What is said of a block, in the first bytes of its cell, or between two of the flag's payload.
#[derive(Clone, Copy)]
struct Heading {
    bytes: u64,
    /// Where it lies.
    address: u64,
}

/// What all have said.
struct Outlook {
    /// The longest of all blocks.
    longest: usize,
    /// Some rank cannot take part in fetching.
    obstacle: bool,
}

/// Beside the length of a rank's longest block: it cannot fetch, or what it has cannot be fetched.
const OBSTACLE: u64 = 1 << 63;

impl Heading {
    const BYTES: usize = 2 * WORD_BYTES;

    fn of(block: &UserBuf) -> Heading {
        let address = block.as_contiguous().map_or(0, |(base, _)| base as u64);
        Heading { bytes: block.len() as u64, address }
    }

    fn to_bytes(self) -> [u8; Heading::BYTES] {
        two_words([self.bytes, self.address])
    }

    fn from_bytes(bytes: &[u8]) -> Heading {
        Heading { bytes: word_at(bytes, 0), address: word_at(bytes, WORD_BYTES) }
    }

    fn len(&self) -> usize {
        (self.bytes & !OBSTACLE) as usize
    }
}

/// Bytes of a block that travel beside its heading in a flag payload.
const PAYLOAD_BLOCK_BYTES_MAX: usize = ShmComm::FLAG_PAYLOAD_BYTES - Heading::BYTES;

/// The blocks of a call, and the longest one that travels with its heading.
#[derive(Clone, Copy)]
struct ToldBlocks<'b> {
    slices: &'b VectorBlocks,
    short_max: usize,
}

impl<S: CallHost> ShmCall<'_, S> {
    /// `by_cells`: payloads go by cells, and the kernel copies more slowly than a processor. `sends_rest`: messages may follow.
    pub(crate) fn alltoallv(
        &mut self,
        blocks: &VectorBlocks,
        by_cells: bool,
        sends_rest: bool,
    ) -> CallResult {
        let sync = self.begin_sync_writing()?;
        let by_message = by_cells && sends_rest;
        let blocks = ToldBlocks { slices: blocks, short_max: self.short_max(by_message) };
        let mine = self.outlook_of(blocks);
        let mut fault = None;
        let outlook = match self.size() {
            2 => self.tell_one(sync, blocks, mine, &mut fault)?,
            _ => self.tell_all(sync, blocks, mine, &mut fault)?,
        };
        let has_long = outlook.longest > blocks.short_max;
        if has_long && by_message && alltoall_goes_by_message(outlook.longest, self.size()) {
            self.by_message = self.long_blocks(sync, blocks);
        } else if has_long {
            let is_passed = by_cells && outlook.longest < SHM_ALLTOALL_FETCH_BYTES_MIN;
            let fetched = !is_passed && !outlook.obstacle && self.fetch_long(sync, blocks)?;
            if !fetched {
                self.pass_long(blocks, outlook.longest)?;
            }
        }
        fault.map_or(Ok(()), |found| Err(CallFault::Unequal(found)))
    }

    /// The longest block that travels with its heading.
    fn short_max(&self, by_message: bool) -> usize {
        let first_long = match by_message && self.size() == 2 {
            true => SHM_CELLS_BLOCK_BYTES_MIN,
            false => SHM_ALLTOALL_FETCH_BYTES_MIN + 1,
        };
        (first_long - 1).min(self.cell_bytes() - Heading::BYTES)
    }

    /// Those which are not short, by what the sender of each has said.
    fn long_blocks(&self, sync: SyncStep, blocks: ToldBlocks<'_>) -> Remainder {
        let sent = |rank: u32| self.host.buffer(&blocks.slices.to[rank as usize]).len();
        let comes = |rank: u32| self.heading(sync, rank as usize).len();
        Remainder {
            to: self.others().filter(|&rank| sent(rank) > blocks.short_max).collect(),
            from: self.others().filter(|&rank| comes(rank) > blocks.short_max).collect(),
        }
    }

    /// Bytes of the sync buffer for one rank's block for another.
    fn cell_bytes(&self) -> usize {
        let cells = if self.size() == 2 { 2 } else { self.size() * self.size() };
        whole_lines(ShmComm::SYNC_AREA_BYTES / cells)
    }

    /// Where in the sync buffer such a block lies.
    fn cell(&self, source: usize, dest: usize) -> usize {
        let number = if self.size() == 2 { source } else { source * self.size() + dest };
        number * self.cell_bytes()
    }

    /// What this rank says of itself.
    fn outlook_of(&self, blocks: ToldBlocks<'_>) -> Outlook {
        let (mut longest, mut is_contiguous, mut reads) = (0, true, false);
        for rank in self.others().map(|rank| rank as usize) {
            let (to, from) =
                (self.host.buffer(&blocks.slices.to[rank]), self.host.buffer(&blocks.slices.from[rank]));
            longest = longest.max(to.len());
            is_contiguous &= to.len() <= blocks.short_max || to.as_contiguous().is_some();
            reads |= from.len() > blocks.short_max;
        }
        Outlook { longest, obstacle: !is_contiguous || (reads && !self.can_fetch()) }
    }

    /// Two ranks tell each other.
    fn tell_one(
        &self,
        sync: SyncStep,
        blocks: ToldBlocks<'_>,
        mine: Outlook,
        fault: &mut Option<Unequal>,
    ) -> CallResult<Outlook> {
        let (me, other) = (self.me(), self.other() as usize);
        let (to, into) =
            (self.host.buffer(&blocks.slices.to[other]), self.host.buffer(&blocks.slices.from[other]));
        let area = self.shm_comm.sync_buffer(sync);
        let mut payload = NO_PAYLOAD;
        let heading = Heading { bytes: word_of(&mine), ..Heading::of(&to) };
        payload[..Heading::BYTES].copy_from_slice(&heading.to_bytes());
        if to.len() <= PAYLOAD_BLOCK_BYTES_MAX {
            to.read(0, &mut payload[Heading::BYTES..][..to.len()]);
        } else if to.len() <= blocks.short_max {
            area.will_write(self.cell(me, other), to.len());
            self.host.copy(&to, 0, area.buf(), self.cell(me, other), to.len());
        }
        self.shm_comm.post(sync, &payload);
        self.keep_own_of(blocks, fault);
        self.after_post(sync)?;
        let said = self.shm_comm.posted_payload(sync, other as u32);
        let len = Heading::from_bytes(&said).len();
        self.compare(other, len, into.len(), fault);
        if len <= PAYLOAD_BLOCK_BYTES_MAX {
            into.write(0, &said[Heading::BYTES..][..len.min(into.len())]);
        } else if len <= blocks.short_max {
            self.host.copy(area.buf(), self.cell(other, me), &into, 0, len.min(into.len()));
        }
        Ok(mine.and(&said))
    }

    /// More than two tell each other.
    fn tell_all(
        &self,
        sync: SyncStep,
        blocks: ToldBlocks<'_>,
        mine: Outlook,
        fault: &mut Option<Unequal>,
    ) -> CallResult<Outlook> {
        let area = self.shm_comm.sync_buffer(sync);
        for dest in self.others().map(|rank| rank as usize) {
            let to = self.host.buffer(&blocks.slices.to[dest]);
            let at = self.cell(self.me(), dest);
            area.buf().write(at, &Heading::of(&to).to_bytes());
            if to.len() <= blocks.short_max {
                self.host.copy(&to, 0, area.buf(), at + Heading::BYTES, to.len());
            }
        }
        self.shm_comm.post(sync, &crate::payload_of_word(word_of(&mine)));
        let arrival = self.shm_comm.arrive(sync);
        self.keep_own_of(blocks, fault);
        self.after_arrival(sync, arrival, || ())?;
        for source in self.others().map(|rank| rank as usize) {
            let (into, at) = (self.host.buffer(&blocks.slices.from[source]), self.cell(source, self.me()));
            let len = heading_at(&area, at).len();
            self.compare(source, len, into.len(), fault);
            if len <= blocks.short_max {
                self.host.copy(area.buf(), at + Heading::BYTES, &into, 0, len.min(into.len()));
            }
        }
        Ok(self.others().fold(mine, |all, rank| all.and(&self.shm_comm.posted_payload(sync, rank))))
    }

    /// What this rank has for itself.
    fn keep_own_of(&self, blocks: ToldBlocks<'_>, fault: &mut Option<Unequal>) {
        let (from, into) = (
            self.host.buffer(&blocks.slices.to[self.me()]),
            self.host.buffer(&blocks.slices.from[self.me()]),
        );
        self.compare(self.me(), from.len(), into.len(), fault);
        self.keep_own((&from, 0), (&into, 0), from.len().min(into.len()));
    }

    fn compare(&self, source: usize, sent: usize, room: usize, fault: &mut Option<Unequal>) {
        if sent != room {
            fault.get_or_insert(Unequal { rank: source as u32, sent, room });
        }
    }

    /// Fetches the blocks that are not short. False, at all ranks alike, if some rank could not.
    fn fetch_long(&mut self, sync: SyncStep, blocks: ToldBlocks<'_>) -> CallResult<bool> {
        let fetched = self.read_in_turns(|source| {
            let said = self.heading(sync, source as usize);
            let into = self.host.buffer(&blocks.slices.from[source as usize]);
            let from = Remote { addr: said.address, len: said.len().min(into.len()) as u64 };
            said.len() <= blocks.short_max || from.len == 0 || self.get(source, from, &into)
        });
        let ended = self.sync_with(u64::from(fetched))?;
        Ok(self.all_say(ended))
    }

    /// What a rank has said of its block for this one.
    fn heading(&self, sync: SyncStep, source: usize) -> Heading {
        match self.size() {
            2 => Heading::from_bytes(&self.shm_comm.posted_payload(sync, source as u32)),
            _ => heading_at(&self.shm_comm.sync_buffer(sync), self.cell(source, self.me())),
        }
    }

    /// Passes the blocks that are not short through the sync buffer, piece by piece.
    fn pass_long(&mut self, blocks: ToldBlocks<'_>, longest: usize) -> CallResult {
        for (at, len) in pieces(longest, self.cell_bytes()) {
            let sync = self.begin_sync_writing()?;
            let area = self.shm_comm.sync_buffer(sync);
            let left = |block: &UserBuf| match block.len() > blocks.short_max {
                true => block.len().saturating_sub(at).min(len),
                false => 0,
            };
            for dest in self.others().map(|rank| rank as usize) {
                let to = self.host.buffer(&blocks.slices.to[dest]);
                self.host.copy(&to, at, area.buf(), self.cell(self.me(), dest), left(&to));
            }
            self.all_come(sync)?;
            for source in self.others().map(|rank| rank as usize) {
                let into = self.host.buffer(&blocks.slices.from[source]);
                self.host.copy(area.buf(), self.cell(source, self.me()), &into, at, left(&into));
            }
        }
        Ok(())
    }
}

impl Outlook {
    /// Together with what another rank says in its payload.
    fn and(self, payload: &FlagPayload) -> Outlook {
        let said = crate::word_of(payload);
        Outlook {
            longest: self.longest.max((said & !OBSTACLE) as usize),
            obstacle: self.obstacle || said & OBSTACLE != 0,
        }
    }
}

fn word_of(outlook: &Outlook) -> u64 {
    outlook.longest as u64 | if outlook.obstacle { OBSTACLE } else { 0 }
}

fn heading_at(area: &Area, at: usize) -> Heading {
    let mut bytes = [0; Heading::BYTES];
    area.buf().read(at, &mut bytes);
    Heading::from_bytes(&bytes)
}
