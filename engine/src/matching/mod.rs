//! Matching of messages and receives in O(1), in the order that MPI demands.
//!
//! MPI 5.0 section 3.5: of the receives that fit an arriving message, the one posted first gets it; of
//! the messages that fit a receive, the one that arrived first is taken. The thesis and the T3D paper search one
//! list, which costs as much as it is long. Here it is a list as long as searches end among its first
//! [`SEARCH_ENTRIES_MAX`] entries, as they do in most programs however many entries follow. From the first search that does
//! not, entries go into bins by (context, source, tag), wildcards being keys of their own, each with a stamp
//! of its arrival, so that the oldest of at most four bins' heads is the right one. They go there a few in each search and
//! when another comes, the oldest first; the rest is searched one by one. When nothing is left, it is a list again.

mod chains;
mod fifo;
mod posted;
mod unexpected;

pub(crate) use chains::Mixer;
pub use posted::Posted;
pub use unexpected::Unexpected;

/// So many entries are looked at one by one: that is as fast as hashing.
pub const SEARCH_ENTRIES_MAX: usize = 16;

/// So many entries go from the rest to the chains in a search, and one of so many of the rest besides. To put one into a chain
/// takes as long as to look at some hundred: what a search does for those that follow then costs about as much as the search.
const CHAINED_PER_SEARCH: usize = 32;
const REST_PER_CHAINED: usize = 256;
/// So many go there when one more comes: the rest becomes shorter.
const CHAINED_PER_ENTRY: usize = 2;

fn chained_per_search(rest: usize) -> usize {
    CHAINED_PER_SEARCH + rest / REST_PER_CHAINED
}

/// `MPI_ANY_SOURCE` in a [`Pattern`].
pub const ANY_SOURCE: u32 = u32::MAX;
/// `MPI_ANY_TAG` in a [`Pattern`]. No message has it: tags are not negative.
pub const ANY_TAG: i32 = i32::MIN;

/// What a message is matched by (MPI 5.0 section 3.2.3). Never wild: whoever takes headers from peers sees to that.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Envelope {
    /// Communicator context.
    pub context: u64,
    /// Rank of the sender in the communicator.
    pub source: u32,
    /// Tag.
    pub tag: i32,
}

/// What a receive asks for: an envelope in which source and tag may be wild.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pattern {
    /// Communicator context.
    pub context: u64,
    /// Rank of the sender, or [`ANY_SOURCE`].
    pub source: u32,
    /// Tag, or [`ANY_TAG`].
    pub tag: i32,
}

impl Pattern {
    /// Whether a message with this envelope fits.
    #[inline(always)]
    pub fn fits(&self, envelope: &Envelope) -> bool {
        self.context == envelope.context
            && (self.source == envelope.source || self.source == ANY_SOURCE)
            && (self.tag == envelope.tag || self.tag == ANY_TAG)
    }

    /// Which of the four kinds of wildness this is: 0 none, 1 any tag, 2 any source, 3 both.
    #[inline]
    fn wildness(&self) -> usize {
        usize::from(self.tag == ANY_TAG) + 2 * usize::from(self.source == ANY_SOURCE)
    }
}

impl Envelope {
    /// The pattern of each wildness that this envelope fits.
    #[inline]
    fn pattern(&self, wildness: usize) -> Pattern {
        Pattern {
            context: self.context,
            source: if wildness & 2 == 0 { self.source } else { ANY_SOURCE },
            tag: if wildness & 1 == 0 { self.tag } else { ANY_TAG },
        }
    }
}

#[cfg(test)]
mod tests;
