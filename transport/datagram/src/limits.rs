//! Constants of datagrams, each with its unit and its reason.

pub use tern_transport::limits::*;

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

/// The pace over loop-back, which has no queue to overrun but the receiver's, and that is within the window.
pub const PACE_LOOP_BACK_BYTES_PER_S: u64 = 10_000_000_000;

/// Polls for which the link is looked at each time, after something came or was expected: about 100 µs.
pub const POLLS_OF_INTEREST: u32 = 256;

/// Polls for each look at the link otherwise: a look is two system calls, and whoever waits for a multicast says so.
pub const POLLS_PER_IDLE_LINK_POLL: u32 = 32;

const _: () =
    assert!(DATAGRAMS_PER_CALL <= PACKETS_PER_CALL_MAX && DATAGRAM_BYTES_MAX <= SEGMENTED_BYTES_MAX);
const _: () =
    assert!(REPLAY_WINDOW_PACKETS % 64 == 0 && INTAKE_BYTES >= DATAGRAMS_PER_CALL * DATAGRAM_BYTES_MAX);

/// The protocol can cover as many as settings allow.
const _: () = assert!(PARITY_RUN_MAX == tern_urtp::limits::PARITY_RUN_MAX as u32);
