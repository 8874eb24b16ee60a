//! The engine's constants: unit in the name, the reason beside it.

use tern_transport::AM_INLINE_BYTES_MAX;

/// Credits are counted in units of a cache line: what a short message occupies.
pub const CREDIT_UNIT_BYTES: usize = 64;

/// Unexpected-message memory that a receiver grants each peer unless `TERN_CREDIT_BYTES` says otherwise. The T3D's and BIP's
/// windows are a few dozen messages; two mebibytes hold 32,768 short ones, so that ordinary programs never meet it. What comes
/// after them takes the three-way protocol.
pub const CREDIT_BYTES_DEFAULT: usize = 2 << 20;

/// No window is smaller: one short message and its header must always fit.
pub const CREDIT_BYTES_MIN: usize = 4 * CREDIT_UNIT_BYTES;

/// Largest window: what a header's 16 bits can give back at once.
pub const CREDIT_BYTES_MAX: usize = (u16::MAX as usize) * CREDIT_UNIT_BYTES;

/// A receiver gives credits back by a message of their own when this part of the window is owed and no
/// message went the other way (MPI-BIP, section 3: otherwise they are piggy-backed).
pub const CREDIT_RETURN_FRACTION: u32 = 2;

/// Messages from this size on are fetched by the receiver where the transport can, rather than copied in and out of a cell.
/// At 4 KiB both take the same, and a send that does not wait for its receive is what programs expect of short messages
/// (docs/decisions/0020-get-from-4-kib.md).
pub const GET_BYTES_MIN_DEFAULT: usize = 4 * 1024 + 1;

/// Contiguous messages from this size on are copied by both sides at once where the transport can. Below, the
/// invitation costs more than the other core's help brings (docs/decisions/0009-copy-by-both-sides.md).
pub const COOPERATIVE_BYTES_MIN_DEFAULT: usize = 32 * 1024;

/// Bytes of the engine's own at the head of a payload; with them a control message is one cache line.
pub const EXTENDED_HEADER_BYTES_MAX: usize = 40;
const _: () = assert!(EXTENDED_HEADER_BYTES_MAX <= AM_INLINE_BYTES_MAX);

/// Largest fragment of a stream, even if the transport takes more: its length travels in 32 bits of a landing's token.
pub const FRAGMENT_BYTES_MAX: usize = 1 << 30;

/// Before a stream of this size begins, the kernel is asked whether its first byte can be read: 0.1 µs of more than 6. The
/// processor, which copies fragments, would get a signal where the kernel gives an error.
pub const PROBED_BYTES_MIN: u64 = 64 * 1024;

/// Largest message that is taken in before its receive. An honest peer sends no larger one: it never has more credits.
pub const UNEXPECTED_BYTES_MAX: usize = CREDIT_BYTES_MAX;

/// Requests that can exist at once: 24 bits of index.
pub const REQUESTS_MAX: usize = 1 << 24;

/// Ranks of a job up to which each rank has a table of all others: 8 bytes for each, 128 KiB at most. Beyond, the table
/// would be more than all else that the engine holds, and only the peers that are talked to have a place.
pub const PEERS_DENSE_MAX: u32 = 16 * 1024;

/// One of so many blocking receives polls, though its message may be here: what others have sent must not wait for ever.
pub const TAKEN_IN_A_ROW_MAX: u32 = 32;

/// Ready partitions that lie side by side are gathered up to so many bytes before they leave, while the program does nothing but
/// make others ready. From here on one run moves as fast as a longer one.
pub const GATHERED_BYTES_MAX: u64 = 1 << 20;

/// Where both sides copy a half of a run of partitions, the sender's is up to so much longer: it ends with a page, and the
/// receiver begins later.
pub const HALVED_TO_BYTES: u64 = 4 * 1024;

/// A part of a partitioned send from here on is left to the receiver to get, where the sender computes between its partitions: the
/// sender's copy of it would be time that it does not compute, and takes longer than its offer.
pub const LEFT_BYTES_MIN: u64 = 4 * 1024;

/// Partitioned requests of others that are remembered before their counterpart is made here: more than a sound program has, and
/// a bound for a peer that lies.
pub const UNMADE_MAX: usize = 1 << 20;

/// Events that wait for a tool to be told of them: more happen only while the program is in no call for long.
pub const TOOL_EVENTS_MAX: usize = 4096;
/// Elements of a window that are combined by one message at most, in bytes: whoever executes it holds up others so long.
pub const COMBINED_BYTES_MAX: usize = 64 * 1024;

/// Layouts of targets' elements that a peer is remembered to know: a program's loop uses a few.
pub const LAYOUTS_MAX: usize = 16;
const _: () = assert!(LAYOUTS_MAX.is_power_of_two());

/// The longest description of a layout: 8 million irregular pieces. Its length travels beside its place in 32 bits.
pub const DESCRIPTION_BYTES_MAX: usize = 1 << 27;
const _: () = assert!((DESCRIPTION_BYTES_MAX as u64) < 1 << (32 - LAYOUTS_MAX.trailing_zeros()));
