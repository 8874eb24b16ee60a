//! Cards of ranks: which are known here, and who waits for which.
//!
//! The same at `mpirun` and at every agent of another host: whoever does not know a card asks the next one on the way to
//! the host where it was published, and everybody on the way back keeps it.

use std::collections::HashMap;
use std::rc::Rc;

/// Who wants a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// A rank of this host.
    Rank(u32),
    /// A child agent of the tree of agents.
    ChildAgent(u32),
    /// Whoever started this agent.
    Parent,
}

/// What comes of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// This card.
    Known(Rc<[u8]>),
    /// Nobody has asked for it before: it is to be asked for.
    First,
    /// It has been asked for already.
    Again,
}

/// The cards that are known here.
#[derive(Debug, Default)]
pub struct Directory {
    cards: HashMap<u32, Rc<[u8]>>,
    wanted: HashMap<u32, Vec<Asker>>,
}

impl Directory {
    /// Somebody wants the card of `rank`. Asking twice is asking once.
    pub fn ask(&mut self, rank: u32, asker: Asker) -> Asked {
        if let Some(card) = self.cards.get(&rank) {
            return Asked::Known(card.clone());
        }
        let first = !self.wanted.contains_key(&rank);
        let askers = self.wanted.entry(rank).or_default();
        if !askers.contains(&asker) {
            askers.push(asker);
        }
        if first { Asked::First } else { Asked::Again }
    }

    /// The card of `rank` has come. Returns it with those who have waited for it. The first one counts.
    pub fn learn(&mut self, rank: u32, card: &[u8]) -> (Rc<[u8]>, Vec<Asker>) {
        let card = self.cards.entry(rank).or_insert_with(|| card.into()).clone();
        (card, self.wanted.remove(&rank).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_told_once() {
        let mut directory = Directory::default();
        assert_eq!(directory.ask(7, Asker::Rank(1)), Asked::First);
        assert_eq!(directory.ask(7, Asker::Rank(2)), Asked::Again);
        assert_eq!(directory.ask(7, Asker::Rank(1)), Asked::Again);
        let (card, waiting) = directory.learn(7, b"card");
        assert_eq!((&card[..], &waiting[..]), (&b"card"[..], &[Asker::Rank(1), Asker::Rank(2)][..]));
        assert_eq!(directory.learn(7, b"forged").1, []);
        assert_eq!(directory.ask(7, Asker::Rank(3)), Asked::Known(card));
    }
}
