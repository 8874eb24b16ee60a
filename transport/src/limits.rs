//! Constants of this room, each with its unit and its reason.

use std::time::Duration;

/// Bytes of a cache line, the unit in which ranks pass each other data.
pub const LINE_BYTES: usize = 64;

/// Regions start on a page so that a silent rank's region is never touched.
pub use tern_mem::limits::PAGE_BYTES;

/// Payload bytes in a message's first line: 64 less 8 of marks, 8 of context, 8 of source and tag.
pub const HEAD_PAYLOAD_BYTES: usize = 40;

/// Payload bytes in each further line: 64 less 8 of marks.
pub const MORE_PAYLOAD_BYTES: usize = 56;

/// Lines of one message in a ring: enough for 4 KiB. The reader takes them while the writer is at the later ones: 4 KiB
/// take 0.75 µs instead of 1.1 by a cell. Above, the kernel's copy is faster than lines that cross between the cores.
pub const MESSAGE_LINES_MAX: usize = 74;

/// Lines of a message that are written before its first one, which tells the reader to begin. A reader that comes too close
/// takes lines away from under the writer: 4 KiB take 0.71 µs with 8 or 16 lines ahead, 0.8 with none or with all.
pub const LINES_AHEAD: u32 = 8;

/// Payload bytes of a message that travels in ring lines.
pub const LINES_PAYLOAD_BYTES_MAX: usize = HEAD_PAYLOAD_BYTES + (MESSAGE_LINES_MAX - 1) * MORE_PAYLOAD_BYTES;

/// Lines of a ring unless `TERN_RING_SLOTS` says otherwise: 16 KiB for a pair, which with its twin of the other direction fits
/// the first-level cache; three messages of the most lines, or four windows of 64 short ones. Pages come when touched.
pub const RING_LINES: u32 = 256;

/// Lines of the smallest ring: a message of the most lines must fit when the reader has published all but
/// its last quarter.
pub const RING_LINES_MIN: u32 = 128;

/// Lines of the largest ring; positions are compared modulo 2^32, which needs far fewer than 2^31.
pub const RING_LINES_MAX: u32 = 4096;

/// The same where payloads go by cells rather than by the kernel: a cell's one mark for all of its lines costs less than a mark in
/// each. Measured on two cores of a Zen 4: 200 bytes take 0.18 µs in lines and 0.20 by a cell, 256 bytes 0.21 and 0.19,
/// 4 KiB 1.3 and 0.5.
pub const LINES_BEFORE_CELLS_PAYLOAD_BYTES_MAX: usize = HEAD_PAYLOAD_BYTES + 3 * MORE_PAYLOAD_BYTES;

/// Cells of a rank unless `TERN_CELLS` says otherwise: messages of more than a ring's line that may be on
/// their way from one rank at once. Pages come when touched.
pub const CELLS: u32 = 128;

/// Most cells a rank may have: which are free is one word.
pub const CELLS_MAX: u32 = 128;

/// Bytes of a message from which cells are taken in turn. By the time a cell is used again, its lines
/// have left both cores' own caches for the one that they share, from where they come several times as fast: on
/// two cores of a Zen 4 64 KiB take 3.0 µs in turn and 4.5 to 9 by the cell used last. A shorter message is faster in the cell
/// used last: 4 KiB 0.5 instead of 0.65 µs.
pub const CELL_TURNS_BYTES_MIN: usize = 8 * 1024;

/// Cells that take turns while as many are free: with those of [`CELL_BYTES`] 1 MiB, as much as a core's own cache holds. What all ranks
/// of a job write in turn should stay in the cache that they share: among 16 ranks on two cores of a Zen 5 an all-to-all of
/// 64 KiB takes 1.0 ms in turns of 64 and 1.4 in turns of 128, among eight 0.10 and 0.12; between two ranks it is the same.
pub const CELLS_IN_TURN: u32 = 64;

/// Bytes of all that take turns, as they are unless a variable says otherwise.
pub const CELLS_IN_TURN_BYTES: u64 = (CELLS_IN_TURN * CELL_BYTES) as u64;

/// Cells that a rank uses at least where ranks outnumber the cores: three of the longest messages that go by cells. What 16 ranks had in 128
/// cells each filled the last cache of a Zen 5 alone, since nobody emptied them before he had the core: an all-to-all of 64 KiB took 1.9 ms,
/// and 1.2 with 16.
pub const CROWDED_CELLS_MIN: u32 = 16;

/// Bytes of a cell unless `TERN_CELL_BYTES` says otherwise: where the kernel copies fast, a copy through the segment costs more
/// than the system call of a get beyond it.
pub const CELL_BYTES: u32 = 16 * 1024;

/// Cells of the longest message that is sent without asking: a round trip saved is a tenth of the time of 64 KiB.
pub const MESSAGE_CELLS_MAX: u32 = 4;

/// Cells that each peer may keep to answer with, at least: those of one message.
pub const CELLS_LENT_PER_PEER_MIN: u32 = MESSAGE_CELLS_MAX;

/// Cells of others that a rank keeps: of a few peers as many as it may. Of more, the latest.
pub const CELLS_KEPT_MAX: usize = 64;

/// Pieces in which a cell is filled and emptied: the receiver copies one while the sender writes the next.
pub const CELL_PIECES: u32 = 4;

/// Bytes of a piece at least: each has a line of the ring.
pub const CELL_PIECE_BYTES_MIN: u32 = 4 * 1024;

/// Largest cell; it keeps a rank's region addressable in 32 bits.
pub const CELL_BYTES_MAX: u32 = 1024 * 1024;

/// Messages that a peer sends through the receiver's queue before it opens a ring: pairs that meet only in
/// start-up and tear-down never touch a ring's pages, and the receiver never polls for them.
pub const QUEUE_MESSAGES_BEFORE_RING: u32 = 4;

/// While messages come faster than they are taken, the reader asks for the line so far ahead.
pub const BURST_LINES: u32 = 6;

/// What is lost by trials of the slower of two ways is about one part in so many: a choice between ways that take 1 and 1.5 tries
/// once in 32 runs, between 1 and 5 once in 256.
pub const TUNER_LOSS: f32 = 64.0;
/// Runs between two trials at least: ways that are as good as equal are not worth more.
pub const TUNER_RUNS_MIN: u32 = 8;
/// Runs of a trial: the first brings to the caches what the other way has not used.
pub const TUNER_TRIAL_RUNS: u32 = 2;
/// Runs between two trials at most: in a second of messages that take a millisecond.
pub const TUNER_RUNS_MAX: u32 = 1024;

/// Pieces of which the last one is measured: as many as all cells have, so that all have been filled in the same way.
pub const STORES_PER_SAMPLE: u32 = CELLS * CELL_PIECES;

/// Bytes of the longest message that tries a way that was slower before: a millisecond or two are lost at most. One of
/// which nothing is known is tried with any message.
pub const TRIAL_BYTES_MAX: u64 = 4 << 20;

/// Lines taken from one ring, and messages from the queue, in one poll: no peer starves the others.
pub const POLL_BUDGET: u32 = 32;

/// Shared copies that a receiver may have open at once; beyond it the engine gets alone.
pub const COOPERATIVE_COPY_SLOTS: usize = 16;

/// Shm communicators that each rank can lead: communicators whose barriers go through shared memory.
pub const SHM_COMM_SLOTS: usize = 256;

/// How many of them have memory for data as well. A shared buffer is only address space until it is used.
pub const SHARED_BUFFERS: usize = 32;

/// Ranks of the largest shm communicator that moves data through its shared buffer: beyond, what each rank has to look at grows too
/// long, and the schedules over messages are faster.
pub const SHM_COMM_RANKS_MAX: usize = 64;

/// Payload bytes beside a flag's count in its line.
pub const FLAG_PAYLOAD_BYTES: usize = 48;

/// Eager slots: so many eager steps may the first ranks be ahead of the last. As many as let the roots of sixteen ranks take turns without
/// waiting.
pub const EAGER_SLOTS: usize = 16;

/// The same of eager steps whose bytes all fit beside a flag, and so need no eager slot. Where ranks share cores, each wait of a
/// root for the last rank is a change of core for all of them.
pub const EAGER_PAYLOADS: usize = 128;

/// Bytes of an eager slot; all eager slots together lie in a second-level cache of today.
pub const EAGER_SLOT_BYTES: usize = 64 * 1024;

/// Bytes of a sync buffer: a quarter of such a cache.
pub const SYNC_BUFFER_BYTES: usize = 512 * 1024;

/// Sync buffers, which calls use in turn: who took part in a sync step two calls ago knows without looking that the next buffer is free.
pub const SYNC_BUFFERS: usize = 4;

/// Bytes whose lines are asked for ahead of writing them: more than the core can ask for at once gains nothing.
pub const ANNOUNCED_BYTES_MAX: usize = 8 * 1024;

/// Ranks that read one rank's memory at once: the kernel's lock on a process's pages makes more of them wait for each other.
pub const READERS_MAX: usize = 4;

/// Flags of a shared buffer. A rank has two for posts, two for turns, one that says how far it is and one for those who read its memory.
/// An eager step has one for the root, and one a rank for contributions, whether it has a slot or not.
pub const SHARED_BUFFER_FLAGS: usize =
    (6 + EAGER_SLOTS + EAGER_PAYLOADS) * SHM_COMM_RANKS_MAX + EAGER_SLOTS + EAGER_PAYLOADS;

/// Counts of those who sleep on the flags of a shm communicator. So many fit one line, beside those of the gate.
pub const FLAG_SLEEPERS: usize = 32;

/// Bytes of data of a shared buffer.
pub const SHARED_BUFFER_DATA_BYTES: usize = SYNC_BUFFERS * SYNC_BUFFER_BYTES + EAGER_SLOTS * EAGER_SLOT_BYTES;

/// Pieces of memory handed to the kernel in one `process_vm_readv`; 2 KiB of stack.
pub const IOVECS_PER_CALL: usize = 128;

/// Average bytes of a local piece below which a get or put goes through a block on the stack: the kernel takes
/// about as long for each piece as for copying so many bytes. Measured: pieces of 8 bytes are 11 times faster by
/// the block, of 256 equal, of 4 KiB half as fast.
pub const PIECE_BYTES_MIN: usize = 256;

/// Bytes of that block: large enough to make the system call cheap, small enough for any thread's stack.
pub const BLOCK_BYTES: usize = 16 * 1024;

/// How long the first question about a peer waits for that peer to attach, milliseconds. Ranks start within
/// milliseconds of each other; one that takes longer is asked through the segment alone.
pub const ATTACH_WAIT_MS: u64 = 2000;

/// How long of it a rank only lets others have its core. Then it naps.
pub const ATTACH_YIELDS: Duration = Duration::from_millis(1);

/// Such a nap.
pub const ATTACH_NAP: Duration = Duration::from_micros(50);

/// Messages to itself that a rank may have on the way.
pub const LOOPBACK_MESSAGES_MAX: usize = 256;

const _: () = assert!(HEAD_PAYLOAD_BYTES == crate::am::AM_INLINE_BYTES_MAX);
const _: () = assert!(FLAG_PAYLOAD_BYTES + 16 == LINE_BYTES && SHARED_BUFFERS <= SHM_COMM_SLOTS);
const _: () = assert!(HEAD_PAYLOAD_BYTES + 3 * 8 == LINE_BYTES && MORE_PAYLOAD_BYTES + 8 == LINE_BYTES);
const _: () = assert!(LINES_PAYLOAD_BYTES_MAX >= 4096);
const _: () = assert!(MESSAGE_LINES_MAX as u32 <= RING_LINES_MIN - RING_LINES_MIN / 4);
const _: () = assert!(MESSAGE_CELLS_MAX * CELL_PIECES <= RING_LINES_MIN - RING_LINES_MIN / 4);
const _: () = assert!(CELLS <= CELLS_MAX && CELLS_MAX <= u128::BITS);
const _: () =
    assert!(LINES_PAYLOAD_BYTES_MAX < CELL_BYTES as usize && LINES_PAYLOAD_BYTES_MAX <= u16::MAX as usize);

/// Chunks that a cooperative copy is divided into while they stay within the two bounds below: enough that both
/// sides end at nearly the same time, few enough that the system calls (about 0.5 µs each) do not count.
/// Measured: 8 is better than 16 by a tenth from 256 KiB to 1 MiB, and 32 is worse everywhere.
pub const COOPERATIVE_CHUNKS: u64 = 8;

/// Smallest chunk of a cooperative copy that is long enough for one such chunk a side; a shorter copy has one chunk a side.
/// Measured: with 64 KiB, 128 and 256 KiB take 0.6 and 0.75 of the time that they take with 16 KiB.
pub const COOPERATIVE_CHUNK_BYTES_MIN: u64 = 64 * 1024;

/// Largest chunk of a cooperative copy: an eighth of a second-level cache.
pub const COOPERATIVE_CHUNK_BYTES_MAX: u64 = 256 * 1024;

/// Longest message over TCP that is sent without asking, unless `TERN_TCP_EAGER_BYTES` says otherwise: what the engine's credits
/// allow. To ask takes as long as 100 KB need on a loop-back, which is little only beside more than this.
pub const TCP_EAGER_BYTES: u32 = 2 * 1024 * 1024;

/// What `TERN_TCP_EAGER_BYTES` can be at most.
pub const TCP_EAGER_BYTES_MAX: u32 = 16 * 1024 * 1024;

/// Longest message over TCP that is copied for the case that it must be sent again, so that its sender can go on. Beyond, the
/// copy costs more than an acknowledgement.
pub const TCP_COPIED_BYTES: u32 = 128 * 1024;

/// Payload bytes of a frame at most: what is sent without a copy to one frame.
pub const FRAME_PAYLOAD_BYTES_MAX: u32 = 1 << 30;

/// Bytes of a frame that is sent without a copy: long enough that headers and calls do not count, short enough that other
/// messages to the same peer get in between within a millisecond or so.
pub const ZERO_COPY_BYTES_MAX: usize = 4 << 20;

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

/// Microseconds that a gathered frame waits for the next one while the program goes on sending: a few system calls' time.
pub const GATHER_US_MAX: u64 = 20;

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

/// Seconds for a peer whose connection broke to come back, unless `TERN_PEER_TIMEOUT` says otherwise: a switch restarts in
/// that time.
pub const PEER_TIMEOUT_S: u32 = 30;

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
/// kernel, told the same, then acknowledges within less. Measured with 1 % loss: the slowest of 300 barriers takes 11 ms, not 216.
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

/// Polls of shared memory for each look at the sockets: a look costs as much as so many polls, and a message over the network
/// takes longer than they do.
pub const POLLS_PER_TCP_POLL: u32 = 8;

/// The same after something has come over shared memory: there a message is late by the look that it meets. 8 bytes between ranks
/// of one node take 0.20 µs instead of 0.40 in a job on several nodes.
pub const POLLS_PER_TCP_POLL_NEAR: u32 = 64;

/// Before a payload of this size lands, the kernel is asked whether its first byte can be written: 0.1 µs of 16. The processor
/// copies the beginning, and would get a signal where the kernel gives an error.
pub const PROBED_BYTES_MIN: usize = 64 * 1024;
const _: () = assert!(ZERO_COPY_BYTES_MAX <= FRAME_PAYLOAD_BYTES_MAX as usize);
const _: () =
    assert!(TCP_EAGER_BYTES_MAX <= FRAME_PAYLOAD_BYTES_MAX && TCP_EAGER_BYTES <= TCP_EAGER_BYTES_MAX);
const _: () = assert!(DIRECT_BYTES_MIN <= BLOCK_BYTES_TCP);

/// Bytes of a multicast packet's head that its tag covers: see `urtp/link/head.rs`.
pub const SEALED_HEAD_BYTES: usize = 32;

/// Bytes of a tag: whoever tries a million a second for a year has a chance of 2^-83.
pub const LINK_TAG_BYTES: usize = 16;

/// Bytes of the link's head.
pub const HEAD_BYTES: usize = SEALED_HEAD_BYTES + LINK_TAG_BYTES;

/// Bytes of the protocol's head, which the link copies beside its own.
pub const PROTOCOL_HEAD_BYTES_MAX: usize = 256;

/// Packets of a sender within which the link knows which have come; what is older is taken for a repetition. The network
/// disorders far fewer.
pub const REPLAY_WINDOW_PACKETS: u64 = 1024;

/// Packets that one call to the link takes: three datagrams of the most segments.
pub const PACKETS_PER_CALL_MAX: usize = 192;

/// Segments of one datagram: `UDP_MAX_SEGMENTS` of the kernels before 6.9.
pub const SEGMENTS_MAX: usize = 64;

/// Bytes of a datagram that the kernel cuts into segments: IP's 65,535 less the largest headers, rounded.
pub const SEGMENTED_BYTES_MAX: usize = 65_000;

/// Bytes of a datagram that is not cut, where the interface carries longer ones, as loop-back does: that of jumbo frames.
pub const DATAGRAM_BYTES_MAX: usize = 8972;

/// Datagrams in one system call; 4 KiB of stack for their heads.
pub const DATAGRAMS_PER_CALL: usize = 64;

/// Bytes of the blocks into which datagrams are received: 16 of the longest that a socket hands out.
pub const INTAKE_BYTES: usize = 16 * 64 * 1024;

/// Bytes that the kernel is asked to queue for a rank: 64 ms at 1 Gbit/s.
pub const RECEIVE_QUEUE_BYTES: usize = 8 << 20;

/// Bytes that may wait for the interface: enough for it to be busy while the rank computes for 2 ms at 1 Gbit/s. More would
/// only overrun the queues after it.
pub const SEND_QUEUE_BYTES: usize = 256 << 10;

/// Multicast addresses of a job: a network interface filters about a dozen (MPI-CCL section 3.2.1), and Linux lets a socket
/// join 20.
pub const MULTICAST_ADDRESSES: u32 = 16;

/// First of the ports that jobs multicast to: beyond those that Linux gives to whoever asks for any.
pub const MULTICAST_PORT_MIN: u16 = 61_000;

/// Milliseconds in which members must have heard each other: start-up takes as long at most where multicast does not work. Where ranks
/// share cores, as many times as long.
pub const PROBE_MS: u64 = 100;

/// So many times as long at most: a job whose multicasts do not work has to start, too.
pub const PROBE_TIMES_MAX: u32 = 100;

/// Milliseconds until a hello is said again, at first and at most: eight in all, and that all are lost at a rate of 5 in 100 happens
/// once in 25 billion.
pub const HELLO_MS: u64 = 2;
/// See [`HELLO_MS`].
pub const HELLO_MS_MAX: u64 = 16;

/// Nanoseconds between the hellos of members that begin together: one of 1,500 bytes takes 12 µs at 1 Gbit/s.
pub const HELLO_NS_PER_MEMBER: u64 = 15_000;

/// Bytes of a message to one rank that is copied to packets at once, whatever the network carries: in the worst case half of the
/// smallest window, so that one can be on its way while another is made.
pub const PACKETS_EAGER_BYTES: usize = 3584;

/// Packets of a long message that go before another one's: a datagram of segments.
pub const PACKETS_PER_TURN: usize = 40;

/// Packets that wait to go through the fallback tunnel, over TCP: what comes beyond is lost, as it may be.
pub const TUNNELED_PACKETS_MAX: usize = 64;

/// Bytes that a peer has not acknowledged over TCP beyond which packets of the fallback tunnel are lost: one that computes takes
/// none.
pub const TUNNEL_KEPT_BYTES_MAX: usize = 256 * 1024;

/// Packets that land through the fallback tunnel at once: a peer sends one after the other.
pub const TUNNEL_LANDINGS_MAX: usize = 256;

/// The pace of packets before receivers have told what comes through: 1 Gbit/s, the slowest network of today's machines.
pub const PACE_FIRST_BYTES_PER_S: u64 = 125_000_000;

/// The fastest pace where the interface does not tell its own: 10 Gbit/s.
pub const PACE_MOST_BYTES_PER_S: u64 = 1_250_000_000;

/// The pace over loop-back, which has no queue to overrun but the receiver's, and that is within the window.
pub const PACE_LOOP_BACK_BYTES_PER_S: u64 = 10_000_000_000;

/// Fewest packets of multicasts that have a parity together.
pub const PARITY_RUN_MIN: u32 = 2;

/// Most of them: what the protocol can cover.
pub const PARITY_RUN_MAX: u32 = tern_urtp::limits::PARITY_RUN_MAX as u32;

/// Polls for which the link is looked at each time, after something came or was expected: about 100 µs.
pub const POLLS_OF_INTEREST: u32 = 256;

/// Polls for each look at the link otherwise: a look is two system calls, and whoever waits for a multicast says so.
pub const POLLS_PER_IDLE_LINK_POLL: u32 = 32;

const _: () =
    assert!(DATAGRAMS_PER_CALL <= PACKETS_PER_CALL_MAX && DATAGRAM_BYTES_MAX <= SEGMENTED_BYTES_MAX);
const _: () =
    assert!(REPLAY_WINDOW_PACKETS % 64 == 0 && INTAKE_BYTES >= DATAGRAMS_PER_CALL * DATAGRAM_BYTES_MAX);

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

/// How long what a process of another world sends may be on its way, for whoever asks whether all wait in vain: nobody knows.
pub const UNKNOWN_DELIVERY: Duration = Duration::from_secs(1_000_000);

/// Housekeeping of dialling a process of another world in which its machine says that it is gone: it may be about to part from
/// this one.
pub const REFUSALS_MAX: u32 = 4;
