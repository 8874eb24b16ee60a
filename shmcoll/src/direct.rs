//! Straight between the ranks' buffers, where the kernel allows it: one copy instead of two.

use crate::{CallFault, CallHost, CallResult, RankSet, ShmCall, payload_of_word, word_of};
use tern_coll::Span;
use tern_mem::UserBuf;
use tern_shm::{CommonFacts, ShmComm, SyncStep};
use tern_transport::Remote;

/// What a rank tells: the kernel lets it reach all others' memory.
const CAN_REACH: u64 = 1;
/// The ranks of its node outnumber the cores.
const IS_CROWDED: u64 = 2;
/// Its processor copies through cells faster than the kernel copies.
const FAST_CELLS: u64 = 4;

/// A block to be fetched: the bytes from `offset` on of what a rank has told the address of.
pub(crate) struct Fetch {
    pub offset: usize,
    pub into: UserBuf,
}

impl<S: CallHost> ShmCall<'_, S> {
    /// Each rank tells where its data lie and fetches what `wanted` names of each other rank; nobody's data may change until
    /// all have what they want. False, at all ranks alike, if some cannot: then nothing that matters has been written.
    pub(crate) fn fetch_all(
        &mut self,
        from: Option<&UserBuf>,
        wanted: impl Fn(u32) -> Fetch,
    ) -> CallResult<bool> {
        let from = from.filter(|_| self.can_fetch());
        let address = from.and_then(UserBuf::as_contiguous).map_or(0, |(base, _)| base as u64);
        let told = self.sync_with(address)?;
        if !self.all_say(told) {
            return Ok(false);
        }
        let fetched = self.read_in_turns(|rank| self.fetch(told, rank, &wanted(rank)));
        // All blocks are as long.
        self.copied = self.others().next().map_or(0, |rank| self.of_all_others(wanted(rank).into.len()));
        let ended = self.sync_with(u64::from(fetched))?;
        Ok(self.all_say(ended))
    }

    /// The other ranks, in an order in which no two turn to the same one at once (MPI for the T3D, section 3.3).
    pub(crate) fn others(&self) -> impl Iterator<Item = u32> + use<S> {
        let (me, size) = (self.shm_comm.rank(), self.shm_comm.size());
        (1..size).map(move |step| (me + step) % size)
    }

    /// Reads from each other rank; false once that fails. Ranks get ahead of others, and then many read from the same one: who
    /// would be one too many passes that rank over and comes back. Nobody waits, since who reads may not have a core: where
    /// only such ranks are left, they are read all the same.
    pub(crate) fn read_in_turns(&self, read: impl Fn(u32) -> bool) -> bool {
        if self.size() <= ShmComm::READERS_MAX + 1 {
            return self.others().all(read);
        }
        let mut left: RankSet = self.others().collect();
        while !left.is_empty() {
            let before = left;
            for rank in self.others().filter(|&rank| before.contains(rank)) {
                if self.shm_comm.begin_reading(rank) {
                    let done = read(rank);
                    self.shm_comm.end_reading(rank);
                    if !done {
                        return false;
                    }
                    left.remove(rank);
                }
            }
            if left == before {
                return self.others().filter(|&rank| left.contains(rank)).all(read);
            }
        }
        true
    }

    /// Whether the kernel lets this rank read all others' memory.
    pub(crate) fn can_fetch(&self) -> bool {
        self.host.can_get(self.others())
    }

    /// What all ranks tell each other once.
    pub(crate) fn common(&mut self) -> CallResult<CommonFacts> {
        if let Some(known) = self.shm_comm.common() {
            return Ok(known);
        }
        let mine = [
            (self.can_fetch(), CAN_REACH),
            (self.host.is_crowded(), IS_CROWDED),
            (self.host.has_fast_cells(), FAST_CELLS),
        ];
        let told = self.sync_with(mine.iter().filter(|(holds, _)| *holds).map(|(_, bit)| bit).sum())?;
        let words =
            || (0..self.shm_comm.size()).map(|rank| word_of(&self.shm_comm.posted_payload(told, rank)));
        let facts = CommonFacts {
            all_reach: words().all(|word| word & CAN_REACH != 0),
            is_crowded: words().any(|word| word & IS_CROWDED != 0),
            fast_cells: words().all(|word| word & FAST_CELLS != 0),
        };
        self.shm_comm.set_common(facts);
        Ok(facts)
    }

    /// At the root: each other rank moves its block of so many bytes to or from `all` itself. False, at all ranks alike, if the kernel does
    /// not let them, or `all` is not flat; then nothing has been moved.
    pub(crate) fn offer(
        &mut self,
        all: &UserBuf,
        bytes: usize,
        meanwhile: impl FnOnce(&Self),
    ) -> CallResult<bool> {
        if !self.common()?.all_reach {
            return Ok(false);
        }
        self.copied = self.of_all_others(bytes);
        let base = all.as_contiguous().map_or(0, |(base, _)| base as u64);
        let eager = self.shm_comm.begin_eager_payload();
        self.free(eager)?;
        self.shm_comm.publish(eager, &payload_of_word(base));
        let mut outcome = Ok(base != 0);
        if base != 0 {
            meanwhile(self);
            for rank in self.others() {
                self.wait(self.shm_comm.contributed(eager, rank))?;
                if word_of(&self.shm_comm.contributed_payload(eager, rank)) == 0 {
                    outcome = Err(CallFault::Refused { rank });
                }
            }
        }
        self.shm_comm.end_eager(eager);
        outcome
    }

    /// At another rank: `mover` moves its block `own`, given where that is in the root's memory.
    pub(crate) fn accept(
        &mut self,
        own: &UserBuf,
        root: u32,
        mover: impl FnOnce(&S, Remote) -> bool,
    ) -> CallResult<bool> {
        if !self.common()?.all_reach {
            return Ok(false);
        }
        // The others may not have ended the call before.
        self.copied = self.of_all_others(own.len());
        let eager = self.shm_comm.begin_eager_payload();
        self.wait(self.shm_comm.published(eager, root))?;
        let base = word_of(&self.shm_comm.published_payload(eager));
        let mut outcome = Ok(base != 0);
        if base != 0 {
            let addr = base.wrapping_add((self.me() * own.len()) as u64);
            let is_moved = mover(self.host, Remote { addr, len: own.len() as u64 });
            self.shm_comm.contribute(eager, &payload_of_word(u64::from(is_moved)));
            if !is_moved {
                outcome = Err(CallFault::Refused { rank: root });
            }
        }
        self.shm_comm.end_eager(eager);
        outcome
    }

    pub(crate) fn of_all_others(&self, bytes: usize) -> usize {
        bytes.saturating_mul(self.size() - 1)
    }

    fn fetch(&self, told: SyncStep, rank: u32, fetch: &Fetch) -> bool {
        let addr = word_of(&self.shm_comm.posted_payload(told, rank)).wrapping_add(fetch.offset as u64);
        self.get(rank, Remote { addr, len: fetch.into.len() as u64 }, &fetch.into)
    }

    /// Gets a rank's memory; whether that was possible.
    pub(crate) fn get(&self, rank: u32, from: Remote, into: &UserBuf) -> bool {
        self.host.get(rank, from, into)
    }

    /// A sync step in which each rank leaves a word for all.
    pub(crate) fn sync_with(&mut self, word: u64) -> CallResult<SyncStep> {
        let sync = self.shm_comm.begin_sync();
        self.shm_comm.post(sync, &payload_of_word(word));
        match self.size() {
            2 => self.after_post(sync)?,
            _ => self.all_come(sync)?,
        }
        Ok(sync)
    }

    /// Whether no rank left zero.
    pub(crate) fn all_say(&self, sync: SyncStep) -> bool {
        (0..self.shm_comm.size()).all(|rank| word_of(&self.shm_comm.posted_payload(sync, rank)) != 0)
    }
}

/// Some of the elements of a span.
pub(crate) fn part(span: Span, first: u64, count: u64) -> Span {
    let offset = span.offset + first as i64 * span.layout.extent;
    Span { offset, count, ..span }
}
