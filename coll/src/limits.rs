//! Constants, with their units and reasons.

/// One segment of a pipelined chain, bytes: long enough that its copy hides the cost of a message, short
/// enough to stay in a second-level cache on its way through a rank.
pub const CHAIN_SEGMENT_BYTES: u64 = 64 * 1024;

/// One segment of a pipelined binary tree, bytes: a rank sends each twice, so they are half as long as a chain's.
pub const TREE_SEGMENT_BYTES: u64 = 32 * 1024;

/// One segment of the segmented ring, bytes: the sum of two such segments stays in the second-level cache from its
/// arrival to its combination.
pub const RING_SEGMENT_BYTES: u64 = 64 * 1024;

/// One segment of a chain over nodes, bytes: what goes over a network at once, without asking the receiver first, so
/// that a segment costs one way and not three.
pub const FAR_SEGMENT_BYTES: u64 = 16 * 1024;

/// What each node brings to a hierarchical allgather, bytes, from which its leaders pass it around a ring: the blocks
/// are long enough then to hide the ring's number of rounds.
pub const LEADERS_RING_BYTES_MIN: u64 = 64 * 1024;

/// The whole vector of a hierarchical reduce_scatter, bytes, up to which leaders that are no power of two reduce it to one of
/// them and scatter it: a pairwise exchange would need a round for each.
pub const LEADERS_TREE_BYTES_MAX: u64 = 16 * 1024;

/// Messages that a direct exchange has in flight in each direction, so that a large communicator does not fill
/// every rank's unexpected-message memory at once.
pub const DIRECT_PEERS_MAX: u32 = 64;

/// One segment of a message that is multicast, bytes: long enough to hide the cost of a message, short enough that the
/// ranks of a node pass on one while the next is on the wire.
pub const MULTICAST_SEGMENT_BYTES: u64 = 64 * 1024;

/// Segments that a rank multicasts, or listens to, before it waits for all of them: so the wire has always something to
/// carry, and a long message does not take a request for each of its segments at once.
pub const MULTICAST_SEGMENTS_AHEAD: u64 = 64;

/// Bytes of small blocks, or of the ends of large ones, that a scatter packs into one multicast. Whoever gets a part of it
/// receives all of it, so it should take no longer than a message costs anyway.
pub const MULTICAST_PACK_BYTES: u64 = 8 * 1024;

/// Bytes that the senders of an allgather may have on their way at once: so much a switch keeps for a receiver to whom
/// several send. Nodes with more take turns.
pub const MULTICAST_TURN_BYTES: u64 = 512 * 1024;

/// Bytes of all nodes' operands of an allreduce that are multicast to all, each of whom combines them: while the wire
/// carries so much to a node, one more message would be no sooner.
pub const MULTICAST_EXCHANGE_BYTES: u64 = 4 * 1024;

/// Nodes that multicast at once in an allgather, however long their blocks are: while the last packets of one are on
/// their way, the next begins.
pub const MULTICAST_SENDERS_MIN: u32 = 2;

/// Nodes that signal one before a barrier is released by multicast: so many small messages are taken in the time that
/// one needs on its way.
pub const MULTICAST_FAN_IN: u32 = 8;
