//! How much goes over libfabric at once, and how long this rank waits for it.

use std::time::Duration;

/// Bytes of a packet over libfabric. Longer messages come in fragments of this size, so it is as long as keeps the cost of a packet
/// small beside that of its bytes, and as short as lets both sides copy at once.
pub(super) const OFI_PACKET_BYTES: usize = 16 * 1024;

/// The same over providers on shared memory: what they copy into it. What is longer they copy by the kernel, as they do what is read from
/// the sender's memory, and that takes no copy into a packet and none out of it.
pub(super) const OFI_SHARED_PACKET_BYTES: usize = 4096;

/// Packets that a rank may have under way over libfabric.
pub(super) const OFI_SENDS: usize = 64;

/// Packets that a rank may have under way for each peer, where each receiver needs room for every packet. More of them are slower over
/// provider `ofi_rxd`, which then loses some.
pub(super) const OFI_SENDS_PER_PEER: usize = 8;

/// Bytes of a packet over provider `sockets`, and packets that a rank may have under way over it. The provider takes a packet's head from
/// its connection once all of the head is there. The kernel keeps a segment's memory until its last byte is taken. So where a segment ends
/// within a head, its memory may leave no room for the rest, and the connection stands still for ever. Less than the smallest window of a
/// connection, 64 KiB, is never held up. Pieces of 4 KiB fit into a packet.
pub(super) const OFI_SOCKETS_PACKET_BYTES: usize = 4096 + 256;
pub(super) const OFI_SOCKETS_SENDS: usize = 12;

/// Bytes of a message that its receiver reads at once from the sender's memory. A read costs a packet there and one back, and the memory
/// must be made known, which is little beside the time of so many bytes.
pub(super) const OFI_READ_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The same over providers on shared memory. The kernel copies 4 MiB in pieces in two thirds of the time that it takes at once.
pub(super) const OFI_SHARED_READ_BYTES_MAX: usize = 1024 * 1024;

/// An offered message up to here goes in packets alone, which both sides copy at once. Of a longer one a single packet goes so, since the
/// network is busy with it while the receiver asks for the rest. More of them cost more than they save.
pub(super) const OFI_WHOLE_BYTES_MAX: usize = 32 * 1024;

/// The same over providers on shared memory, where a longer one is only read: there is no way in which its first bytes could hide.
pub(super) const OFI_SHARED_WHOLE_BYTES_MAX: usize = 8 * 1024;

/// The longest message that goes without asking its receiver, as far as there are credits for it.
pub(super) const OFI_EAGER_BYTES_MAX: usize = 1024 * 1024;

/// Bytes into which packets come before the rank looks at them.
pub(super) const OFI_RECEIVE_BYTES: usize = 4 * 1024 * 1024;
const _: () = assert!(OFI_RECEIVE_BYTES >= OFI_SENDS * OFI_PACKET_BYTES);

/// Bytes of a packet that is made on the stack, if the provider takes so many at once.
pub(super) const OFI_INJECT_BYTES_MAX: usize = 256;

/// A provider that has not opened an endpoint by then counts as hanging, so that the user knows before ten seconds are over.
pub(super) const OFI_OPEN_S_MAX: u64 = 9;

/// How long a rank that ends waits for its last packets to leave.
pub(super) const OFI_CLOSE_S_MAX: u64 = 5;

/// Longest sleep while packets are on their way: some providers send again what was lost only when they are called.
pub(super) const OFI_SLEEP_MS_MAX: u64 = 10;

/// Sleeps where the provider has no descriptor: the first one after something has come, and the longest. Each is twice as long as the one
/// before, so answers that are due soon are found soon, and a long wait takes little of the processor.
pub(super) const OFI_BLIND_SLEEP_MIN: Duration = Duration::from_micros(20);
pub(super) const OFI_BLIND_SLEEP_MAX: Duration = Duration::from_millis(1);

/// How long a rank waits before a peer that is gone ends the job: whoever has started the ranks knows sooner, and more.
pub(super) const OFI_GONE_S: u64 = 3;

/// A packet whose successors came so long ago is lost. It is longer than any provider needs to repeat one.
pub(super) const OFI_LOST_S: u64 = 60;
