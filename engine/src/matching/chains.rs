//! First-in-first-out chains by key, linked through nodes that the owner numbers.

use super::Pattern;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// One node's place in one chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChainLink {
    before: u32,
    after: u32,
}

impl ChainLink {
    /// In no chain.
    pub(super) const FREE: ChainLink = ChainLink { before: NONE, after: NONE };
}

/// Chains by key. A chain that becomes empty goes away, so memory follows what is there now.
#[derive(Default, Debug)]
pub(super) struct Chains {
    ends: HashMap<Pattern, ChainEnds, BuildHasherDefault<Mixer>>,
}

#[derive(Clone, Copy, Debug)]
struct ChainEnds {
    first: u32,
    last: u32,
}

impl Chains {
    /// The oldest node under `key`, or [`NONE`].
    #[inline]
    pub(super) fn first(&self, key: &Pattern) -> u32 {
        self.ends.get(key).map_or(NONE, |ends| ends.first)
    }

    /// Hangs `node` at the end of its chain; `link` gives the link of a node in these chains.
    pub(super) fn push(
        &mut self,
        key: Pattern,
        node: u32,
        mut link: impl FnMut(u32, &mut dyn FnMut(&mut ChainLink)),
    ) {
        let ends = self.ends.entry(key).or_insert(ChainEnds { first: NONE, last: NONE });
        let last = ends.last;
        ends.last = node;
        if last == NONE {
            ends.first = node;
        } else {
            link(last, &mut |l| l.after = node);
        }
        link(node, &mut |l| *l = ChainLink { before: last, after: NONE });
    }

    /// Takes `node` out of the chain under `key`.
    pub(super) fn remove(
        &mut self,
        key: &Pattern,
        node: u32,
        mut link: impl FnMut(u32, &mut dyn FnMut(&mut ChainLink)),
    ) {
        let mut at = ChainLink::FREE;
        link(node, &mut |l| at = std::mem::replace(l, ChainLink::FREE));
        let Some(ends) = self.ends.get_mut(key) else { return };
        if at.before == NONE {
            ends.first = at.after;
        } else {
            link(at.before, &mut |l| l.after = at.after);
        }
        if at.after == NONE {
            ends.last = at.before;
        } else {
            link(at.after, &mut |l| l.before = at.before);
        }
        if ends.first == NONE {
            self.ends.remove(key);
        }
    }

    /// Makes room for so many chains.
    pub(super) fn reserve(&mut self, chains: usize) {
        self.ends.reserve(chains.saturating_sub(self.ends.len()));
    }

    /// Forgets all chains (all nodes have been taken out).
    pub(super) fn clear(&mut self) {
        self.ends.clear();
    }
}

/// A multiplicative hash: keys are three integers of this process's own making or a peer's tag, and a peer
/// that wants to slow us down has simpler means.
#[derive(Default)]
pub(crate) struct Mixer(u64);

impl Mixer {
    #[inline]
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.mix(u64::from(*byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.mix(u64::from(word));
    }

    #[inline]
    fn write_i32(&mut self, word: i32) {
        self.mix(word as u32 as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        // The table takes its bucket from the low bits, which a multiplication leaves weak.
        self.0 ^ (self.0 >> 32)
    }
}
