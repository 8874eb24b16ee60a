//! Constants, with their units and reasons.

/// One segment of a pipelined chain, bytes: long enough that its copy hides the cost of a message, short
/// enough to stay in a second-level cache on its way through a rank.
pub const CHAIN_SEGMENT_BYTES: u64 = 64 * 1024;

/// Messages that a direct exchange has in flight in each direction, so that a large communicator does not fill
/// every rank's early-arrival memory at once.
pub const DIRECT_PEERS_MAX: u32 = 64;
