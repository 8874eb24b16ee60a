//! Constants, with their units and reasons.

/// One segment of a pipelined chain, bytes: long enough that its copy hides the cost of a message, short
/// enough to stay in a second-level cache on its way through a rank.
pub const CHAIN_SEGMENT_BYTES: u64 = 64 * 1024;

/// One segment of a pipelined binary tree, bytes: a rank sends each twice, so they are half as long as a chain's.
pub const TREE_SEGMENT_BYTES: u64 = 32 * 1024;

/// One segment of the segmented ring, bytes: the sum of two such segments stays in the second-level cache from its
/// arrival to its combination.
pub const RING_SEGMENT_BYTES: u64 = 64 * 1024;

/// One segment of a chain over machines, bytes: what goes over a network at once, without asking the receiver first, so
/// that a segment costs one way and not three.
pub const FAR_SEGMENT_BYTES: u64 = 16 * 1024;

/// What each machine brings to a hierarchical allgather, bytes, from which its leaders pass it around a ring: the blocks
/// are long enough then to hide the ring's number of rounds.
pub const LEADERS_RING_BYTES_MIN: u64 = 64 * 1024;

/// Messages that a direct exchange has in flight in each direction, so that a large communicator does not fill
/// every rank's early-arrival memory at once.
pub const DIRECT_PEERS_MAX: u32 = 64;
