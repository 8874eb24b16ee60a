//! Constants of the protocol, each with its unit and its reason.

use crate::Nanos;

/// Bytes of the head of every packet; see [`crate::wire`].
pub const HEAD_BYTES: usize = 24;

/// Bytes of what follows the head of a multicast packet, before the members' numbers.
pub const SPREAD_BYTES: usize = 12;

/// Bytes of the members' numbers in one packet: the bitmap of 1,024 members and ten exceptions, and head and numbers together
/// stay below the 256 bytes that a link copies.
pub const NUMBERS_BYTES_MAX: usize = 192;

/// Members that one packet can name.
pub const MEMBERS_PER_PACKET_MAX: usize = 1024;

/// Members of a group: an index is 16 bits.
pub const MEMBERS_MAX: usize = 1 << 16;

/// Bytes of a packet that every network carries, so that there is room for a payload in it.
pub const BODY_BYTES_MIN: usize = 512;

/// Bytes of the largest packet: a datagram's length is 16 bits.
pub const BODY_BYTES_MAX: usize = 65_000;

/// Packets of the largest window: as many bits as a request may name, and four times over.
pub const WINDOW_MAX: u32 = 4096;

/// Packets of the smallest window: two blocks of acknowledgement must be on their way while two are sent.
pub const WINDOW_MIN: u32 = 16;

/// Packets that a sender has out before the receiver has said how many it takes.
pub const WINDOW_FIRST: u32 = 32;

/// Parts of a window after each of which the sender asks for an acknowledgement (block acknowledgement: section 3.1).
pub const BLOCKS_PER_WINDOW: u32 = 4;

/// Packets after the first missing one of which a request can name the missing.
pub const REQUEST_BITS_MAX: usize = 256;

/// Early packets that are taken for disorder in the network; with more, what is missing is asked for at once (RFC 5681 section
/// 3.2 has the same number; `REQDelay` in figure 25).
pub const DISORDER_PACKETS_MAX: u32 = 3;

/// How long early packets are taken for disorder.
pub const DISORDER_NS: Nanos = 300_000;

/// The round trip before one was measured: of a local network through the kernel.
pub const RTT_FIRST_NS: Nanos = 500_000;

/// Bounds of δ, for which a sender thinks that what it has sent is on its way. The paper has 1 ms at 10 Mbit/s.
pub const DELTA_MIN_NS: Nanos = 100_000;
/// See [`DELTA_MIN_NS`].
pub const DELTA_MAX_NS: Nanos = 200_000_000;

/// How late a rank looks at what has come, at most, unless it does something else meanwhile: a slice of the scheduler.
pub const LATE_NS: Nanos = 3_000_000;

/// When a waiting receiver asks first, at least: most of what it waits for has not been sent yet.
pub const REQUEST_NS_MIN: Nanos = 500_000;

/// Longest interval between requests for one packet.
pub const REQUEST_NS_MAX: Nanos = 500_000_000;

/// The share of a sender's time that one of many receivers' requests may have: as many as all members together send in that time
/// keep a core busy for a quarter of it.
pub const REQUEST_SHARE_NS: Nanos = 20_000;

/// How long an acknowledgement may wait for a packet that goes the same way.
pub const ACK_DELAY_NS: Nanos = 2_000_000;

/// How long a member waits for the acknowledgements of those below it.
pub const REPORT_DELAY_NS: Nanos = 500_000;

/// When a sender that has heard nothing asks, at least: acknowledgements may be delayed, and again at each level of the tree.
pub const PROBE_NS_MIN: Nanos = 10_000_000;

/// Longest interval between a sender's probes: a rank that computes answers nothing for hours.
pub const PROBE_NS_MAX: Nanos = 1_000_000_000;

/// Members of a group up to which each acknowledges by itself.
pub const DIRECT_MEMBERS_MAX: usize = 16;

/// Members that report to one member.
pub const FAN_IN: usize = 8;

/// Acknowledgements told along the tree that did not arrive, after which a member tells the sender itself.
pub const STRIKES_MAX: u32 = 3;

/// Members that lack a packet from which on it is multicast again.
pub const MULTICAST_AGAIN_MIN: u32 = 3;

/// Packets that one request names from which on others are likely to lack them as well.
pub const BURST_LOST_MIN: u32 = 8;

/// How long a sender waits then for the others' requests.
pub const GATHER_NS: Nanos = 300_000;

/// Multicasts in a row that a member had to ask for, after which it gets them by itself. Of a network that loses every fifth packet,
/// nobody loses so many by chance.
pub const UNREACHED_PACKETS: u32 = 16;

/// For how long at least: a sender that is too fast for the network's queues finds that out much earlier.
pub const UNREACHED_SURE_NS: Nanos = 50_000_000;

/// How long that goes on at first, and at most, before it is tried again: to find out costs a tenth of a second.
pub const UNREACHED_NS_MIN: Nanos = 2_000_000_000;
/// See [`UNREACHED_NS_MIN`].
pub const UNREACHED_NS_MAX: Nanos = 64_000_000_000;

/// How long nothing of what a rank has sent is acknowledged before it tries the fallback tunnel: a peer is busy for longer than a
/// second now and then, and a network seldom away for so long.
pub const TUNNEL_AFTER_NS: Nanos = 2_000_000_000;

/// For how long packets then go by it as well, unless more comes of it.
pub const TUNNEL_NS: Nanos = 10_000_000_000;

/// For how long the peer answers by it.
pub const TUNNEL_ANSWER_NS: Nanos = 1_000_000_000;

/// Since when nothing may have come by the link for a rank to say that it hears nothing: probes come once a second.
pub const TUNNEL_HEARS_NS: Nanos = 2_000_000_000;

/// Packets that parity can cover.
pub const PARITY_RUN_MAX: u8 = 32;

/// Slowest pace, bytes per second: that of the paper's network.
pub const RATE_MIN: u64 = 1_000_000;

/// Packets after which the pace is judged: then a network that loses one in a hundred loses seven once in 3,000 times.
pub const PACE_EPOCH_PACKETS: u32 = 128;

/// More loss than usual that is taken to be chance, in thousandths; see [`PACE_EPOCH_PACKETS`].
pub const PACE_CHANCE: u32 = 45;

/// Loss in one epoch that no burst explains, in thousandths: a datagram has 64 segments at most.
pub const PACE_FLOOD: u32 = 500;

/// Packets in a train by which a receiver measures how fast they come; one that is lost among so many says little.
pub const TRAIN_PACKETS: u32 = 32;

/// A pause that ends a train.
pub const TRAIN_PAUSE_NS: Nanos = 1_000_000;

/// Bytes in whose time a stream may pause without anything being lost: two of the longest datagrams, which come as a whole.
pub const PAUSE_BYTES: u64 = 128 << 10;

/// The longest such pause: a slow train was perhaps a slow sender.
pub const PAUSE_NS_MAX: Nanos = 10_000_000;

/// How long a multicast's pace and window are used before they are taken from the members again.
pub const GROUP_FRESH_NS: Nanos = 1_000_000;

/// How long a rank that has everything stays for those who may not know it yet.
pub const LINGER_NS: Nanos = 200_000_000;

/// Members in one part of a multicast, at least, whatever their numbers: what does not fit is halved.
pub const MEMBERS_PER_PART_MIN: usize = 23;

/// Memory for groups that a rank holds no more, bytes: some five hundred of eight ranks, or three of 4,096 chosen anyhow.
pub const IDLE_GROUPS_BYTES: usize = 64 << 10;

/// Questions without an answer after which a packet goes to each that lacks it alone: they may not know the group, or no more.
pub const ALONE_PROBES: u32 = 4;

/// Multicast addresses of a job: a network interface filters about a dozen (section 3.2.1).
pub const ADDRESSES: u32 = 16;

const _: () = assert!(NUMBERS_BYTES_MAX >= MEMBERS_PER_PACKET_MAX / 8 + 10 * 6);
const _: () = assert!(HEAD_BYTES + SPREAD_BYTES + 4 + NUMBERS_BYTES_MAX <= 256);
const _: () =
    assert!((2 * MEMBERS_PER_PART_MIN).div_ceil(8) + 4 * 2 * MEMBERS_PER_PART_MIN <= NUMBERS_BYTES_MAX);
const _: () = assert!(WINDOW_MIN / BLOCKS_PER_WINDOW >= 2 && WINDOW_FIRST >= WINDOW_MIN);
const _: () = assert!(PROBE_NS_MIN > ACK_DELAY_NS + 8 * REPORT_DELAY_NS && REQUEST_NS_MIN > DISORDER_NS);
const _: () = assert!(BODY_BYTES_MIN > HEAD_BYTES + SPREAD_BYTES + NUMBERS_BYTES_MAX + 64);
