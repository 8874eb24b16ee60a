//! Fetching straight from the other ranks' buffers, where the kernel allows it: one copy instead of two.

use super::{Joint, note_of_word, word_of};
use crate::process::enter;
use tern_coll::Span;
use tern_mem::UserBuf;
use tern_transport::{Remote, Token, Transfer, Transport};

/// A block to be fetched: the bytes from `offset` on of what a rank has told the address of.
pub(super) struct Fetch {
    pub from: u32,
    pub offset: usize,
    pub into: UserBuf,
}

impl Joint<'_> {
    /// Each rank tells where its data lie and fetches what `wanted` names; nobody's data may change until all have what they
    /// want. False, at all ranks alike, if some cannot: then nothing that matters has been written.
    pub(super) fn fetch_all(
        &mut self,
        from: Option<&UserBuf>,
        mut wanted: impl Iterator<Item = Fetch>,
    ) -> bool {
        let from = from.filter(|_| self.can_fetch());
        let address = from.and_then(UserBuf::as_flat).map_or(0, |(base, _)| base as u64);
        let told = self.meet_with(address);
        if !self.all_say(told) {
            return false;
        }
        let fetched = wanted.all(|fetch| self.fetch(told, &fetch));
        let met = self.meet_with(u64::from(fetched));
        self.all_say(met)
    }

    /// Whether the kernel lets this rank read all others' memory.
    fn can_fetch(&self) -> bool {
        let mut process = enter();
        let Ok(engine) = process.engine() else { return false };
        let transport = engine.transport();
        let mut others = (0..self.team.size()).filter(|&rank| rank != self.team.rank());
        others.all(|rank| self.names.peer(rank).is_some_and(|peer| transport.limits(peer).get))
    }

    fn fetch(&self, told: u64, fetch: &Fetch) -> bool {
        let addr = word_of(&self.team.post_of(told, fetch.from)) + fetch.offset as u64;
        let from = Remote { addr, len: fetch.into.len() as u64 };
        let mut process = enter();
        let (Some(peer), Ok(engine)) = (self.names.peer(fetch.from), process.engine()) else { return false };
        matches!(engine.transport().get(peer, from, &fetch.into, Token(0)), Transfer::Done)
    }

    /// A meeting in which each rank leaves a word for all.
    fn meet_with(&mut self, word: u64) -> u64 {
        let meeting = self.team.meet();
        self.team.post(meeting, &note_of_word(word));
        match self.size() {
            2 => self.wait(self.team.posted(meeting, self.other())),
            _ => self.all_come(meeting),
        }
        meeting
    }

    /// Whether no rank left zero.
    fn all_say(&self, meeting: u64) -> bool {
        (0..self.team.size()).all(|rank| word_of(&self.team.post_of(meeting, rank)) != 0)
    }
}

/// Some of the elements of a span.
pub(super) fn part(span: Span, first: u64, count: u64) -> Span {
    let offset = span.offset + first as i64 * span.layout.extent;
    Span { offset, count, ..span }
}
