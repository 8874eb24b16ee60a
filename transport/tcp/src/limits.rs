//! Constants of TCP, each with its unit and its reason.

use std::time::Duration;

pub use tern_transport::limits::*;
use tern_transport::ticks::TICKS_PER_NS;

/// Payload bytes of a frame at most: what is sent without a copy to one frame.
pub const FRAME_PAYLOAD_BYTES_MAX: u32 = 1 << 30;

/// Payload bytes that are copied beside the header at once, rather than written from where they lie: one piece less in the
/// system call.
pub const INLINE_PAYLOAD_BYTES_MAX: usize = 84;

/// Bytes of frames to one peer that are kept for the case that the connection breaks; beyond, the transport is full.
pub const KEPT_BYTES_MAX: usize = 2 << 20;

/// What a frame counts beside its payload: the record of it.
pub const FRAME_COST_BYTES: usize = 256;

/// A receiver acknowledges by a frame of its own when its peer keeps so much: the sender never runs out meanwhile.
pub const ACK_OWED_BYTES_MAX: usize = KEPT_BYTES_MAX / 4;

/// Blocks for copies that are kept for the next messages to a peer.
pub const SPARE_BLOCKS_MAX: usize = 16;

/// Pieces of memory in one system call on a socket; 1 KiB of stack.
pub const GATHER_PIECES_MAX: usize = 64;

/// Bytes of the block in which a connection's short frames arrive. What of a long payload comes with the header is copied from
/// here; a quarter of a thousand frames of 8 bytes fit.
pub const BLOCK_BYTES_TCP: usize = 16 * 1024;

/// Messages to one peer that go at once, without a poll in between: a message, and one that belongs to it.
pub const SENDS_AT_ONCE: u32 = 2;

/// Ticks that a gathered frame waits for the next one while the program goes on sending: a few system calls' time, some 20 µs.
pub const GATHER_TICKS_MAX: u64 = 20_000 * TICKS_PER_NS;

/// Frames that are gathered at most: one system call for so many is nearly none for each.
pub const GATHER_FRAMES_MAX: u32 = 64;

/// Longest payload that waits. A longer one is copied for longer than a system call takes.
pub const GATHER_PAYLOAD_BYTES_MAX: usize = 1024;

/// Shortest body before which a frame is padded, where that makes its copy faster: see `outbox.rs`.
pub const PADDED_BYTES_MIN: usize = 8 * 1024;

/// Bytes that are read to the block where a long message is expected: its header, and several short frames if it is none.
pub const LONG_HEAD_BYTES: usize = 512;

/// Replies in a row, each before the program looked for anything else, after which an acknowledgement waits for the reply.
pub const REPLIES_TO_WAIT: u8 = 2;

/// Rest of a payload from which on it is read straight to its place.
pub const DIRECT_BYTES_MIN: usize = 2 * 1024;

/// Tries for the rest of a message before this connection is left to the next poll: between near programs the next part is there after some
/// 6 µs, and a try takes 0.4.
pub const PARTIAL_READ_TRIES: u32 = 16;

/// Where these were in vain, the next are given up without, so many times at most: the network is slower than that.
pub const PARTIAL_READ_SKIPS_MAX: u32 = 256;

/// Reads of one connection in one poll: no peer starves the others.
pub const READS_PER_POLL_MAX: usize = 4;

/// Plain bytes of an encrypted record.
pub const RECORD_BYTES_MAX: usize = 16 * 1024;

/// Seconds after which a peer none of whose addresses answers is given up.
pub const UNREACHABLE_S: u64 = 10;

/// Milliseconds after which the next of a peer's addresses is tried beside the one that has not answered (RFC 8305 section 5).
pub const STAGGER_MS: u64 = 250;

/// Milliseconds before a peer whose addresses all failed is dialled again, at first and at most.
pub const REDIAL_MS: u64 = 50;

/// See [`REDIAL_MS`].
pub const REDIAL_MS_MAX: u64 = 1000;

/// Seconds that an address has to answer, however little is left until its peer is given up.
pub const PATIENCE_MIN_S: u64 = 1;

/// Housekeeping through a peer's addresses that must have failed before it is given up, unless they took most of the time.
pub const ATTEMPTS_MIN: u32 = 5;

/// Milliseconds that the higher rank of a pair leaves to the lower for dialling again.
pub const HIGHER_WAITS_MS: u64 = 200;

/// Milliseconds that the lower rank of a pair insists on its own connection when both have dialled at once.
pub const INSIST_MS: u64 = 1500;

/// Seconds without an acknowledgement by the peer's kernel, while bytes are on their way, after which a connection is made
/// anew: TCP itself would go on for a quarter of an hour.
pub const SILENT_S: u64 = 5;

/// Shortest round trip of a connection up to which its peer is near, microseconds: machines of one site.
pub const NEAR_US_MAX: u32 = 2_000;

/// Microseconds beyond the round trip after which the kernel sends again what no acknowledgement has come for, the first of these
/// that it takes: 8 ms are two of the steps in which usual kernels count time, which is the least, 20 ms those of others. The peer's
/// kernel, told the same, then acknowledges within less (docs/decisions/0013-retransmit-soon.md).
pub const RETRANSMIT_US: [i32; 2] = [8_000, 20_000];

/// Connections that have not proved anything yet. One that has said nothing goes when one more comes: whoever means well needs
/// milliseconds.
pub const UNAUTHENTICATED_MAX: usize = 64;

/// Connections taken from the listening socket in one round, so that a flood delays no message for long.
pub const ACCEPTS_PER_HOUSEKEEPING_MAX: usize = 16;

/// Seconds in which an unauthenticated peer must have proved itself.
pub const AUTHENTICATION_S: u64 = 5;

/// Connections that wait for this rank to look: as many peers may dial while it computes; the kernel has a bound of its own.
pub const BACKLOG: i32 = 4096;

/// Polls between looks at the clock, whether it is time to see to what is rare: new connections, answers of the directory, timers.
pub const POLLS_PER_HOUSEKEEPING: u32 = 64;

/// The time between two such looks after something was found. Each that finds nothing doubles it.
pub const HOUSEKEEPING_PAUSE: Duration = Duration::from_micros(10);

/// The most: a look takes as long as several polls, and one message of 8 bytes in ten met one. A peer that dials waits for so long while
/// this rank looks for messages without a pause.
pub const HOUSEKEEPING_PAUSE_MAX: Duration = Duration::from_micros(250);

/// A rank that has not slept for so long is taken for one that spins: its sockets tell nobody what has come, and are told to do so, by a
/// system call each, before it sleeps.
pub const LONG_AWAKE: Duration = Duration::from_millis(10);

/// Polls for which a look at one peer alone counts: the others are looked at every 32nd time.
pub const POLLS_PER_POLL_FIRST: u32 = POLLS_PER_HOUSEKEEPING / 32;

/// Connections up to which each poll tries every socket; with more it first asks which are ready.
pub const TRIED_SOCKETS_MAX: usize = 2;

/// Milliseconds until a question to the launcher that found no room is sent again.
pub const QUESTION_AGAIN_MS: u64 = 5;

/// Before a payload of this size lands, the kernel is asked whether its first byte can be written: 0.1 µs of 16. The processor
/// copies the beginning, and would get a signal where the kernel gives an error.
pub const PROBED_BYTES_MIN: usize = 64 * 1024;

const _: () = assert!(ZERO_COPY_BYTES_MAX <= FRAME_PAYLOAD_BYTES_MAX as usize);
const _: () =
    assert!(TCP_EAGER_BYTES_MAX <= FRAME_PAYLOAD_BYTES_MAX && TCP_EAGER_BYTES <= TCP_EAGER_BYTES_MAX);
const _: () = assert!(DIRECT_BYTES_MIN <= BLOCK_BYTES_TCP);

/// Changes of connections that are remembered for a tool: more than a rank sees between two of its calls.
pub const CHANGES_MAX: usize = 256;

/// Bytes that one end of a conversation at a door says at most: the endpoint addresses of all processes of a large job.
pub const TALK_BYTES_MAX: usize = 1 << 30;

/// Who wait at the doors of one rank to be let in. Each holds a descriptor.
pub const VISITORS_MAX: usize = 256;

/// Processes of other worlds that have proved themselves before this rank has heard of them, and how long they wait for that.
pub const EARLY_PEERS_MAX: usize = 256;

/// See [`EARLY_PEERS_MAX`].
pub const EARLY_PEER_S: u64 = 10;

/// Milliseconds for a process of another world to answer a farewell. One that has others in common with this rank does not.
pub const PARTING_MS: u64 = 1000;

/// The same, of a process that has not taken all that was sent before the farewell: it would lack that.
pub const PARTING_UNTAKEN_MS: u64 = 10_000;

/// Housekeeping of dialling a process of another world in which its machine says that it is gone: it may be about to part from
/// this one.
pub const REFUSALS_MAX: u32 = 4;

/// Seconds for which the machine of a rank of this job may refuse connections until the rank counts as gone. Its socket listens as long as
/// it lives.
pub const REFUSED_S: u64 = 5;
