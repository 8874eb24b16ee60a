//! Constants of this room, each with its unit and its reason.

use std::time::Duration;
use tern_transport::ticks::TICKS_PER_NS;

/// Looks at another rank's flag before a wait does other things between them, while ranks have cores of their own: some 0.3 µs.
pub(crate) const LOOKS_AT_ONCE: u32 = 16;

/// Polls of a blocking receive before it becomes a request, while ranks have cores of their own: some 0.6 µs, in which the answer of a peer
/// comes that replies at once. Without a request it is taken some nanoseconds sooner.
pub(crate) const POLLS_AT_ONCE_MAX: u32 = 64;

/// Looks at one peer's next line that take as long as a poll.
pub(crate) const LOOKS_PER_POLL: u32 = 4;

/// Empty polls before a wait stops spinning, when every rank has a core: about 50 µs, what it costs to be woken in a
/// virtual node. Spinning as long as sleeping would cost is at most twice the best choice. A power of two, as waits halve
/// and double it.
pub(crate) const SPIN_POLLS_MAX: u32 = 4096;

/// The same where a poll is a system call for each connection, or is one now and then beside shared memory: some 150 µs. With a
/// quarter of it the sender of 256 KiB or more slept before the answer came; where ranks crowd the node unknown to each other, waits
/// soon learn to spin less.
pub(crate) const SPIN_POLLS_NETWORK_MAX: u32 = 512;

/// The same where a poll looks at the memory of a provider of libfabric, and takes a quarter of that.
pub(crate) const SPIN_POLLS_PROVIDER_MAX: u32 = 2048;

/// Polls over a network after which the core is offered to others: some 15 µs, of which the offer takes a fiftieth. Without it the
/// ranks of 8 hosts on two cores kept each other from what they waited for.
pub(crate) const POLLS_PER_YIELD: u32 = 32;

/// The same beside shared memory, where a poll is a system call only now and then.
pub(crate) const POLLS_PER_YIELD_NEAR: u32 = 256;
const _: () = assert!(POLLS_PER_YIELD.is_power_of_two() && POLLS_PER_YIELD_NEAR.is_power_of_two());

/// The same where other programs crowd the node: a message that is on its way already still meets a spinning rank.
pub(crate) const SPIN_POLLS_MIN: u32 = 64;

/// Waits that end after a yield, though they spin least, before a rank asks whether it shares its core: a fiftieth of their time.
pub(crate) const SHARED_CORE_WAITS_PER_LOOK: u32 = 16;

/// Ranks leave a shared core after two such questions, after three, and so on, of so many numbers: within 0.5 ms.
pub(crate) const SHARED_CORE_TURNS: u32 = 5;

/// How long a rank that shares its core waits before it says again which one that is, and looks how many others are there.
pub(crate) const CORE_LOOKS_APART: Duration = Duration::from_micros(300);

/// Of a program that asks and does not wait, one in so many questions looks at the clock for that.
pub(crate) const CORE_LOOK_QUESTIONS: u32 = 8;

/// How long a rank of a core with too many ranks waits before it looks for a better core again. A move costs some 50 µs.
pub(crate) const CORE_SEARCHES_APART: Duration = Duration::from_millis(8);

/// Yields before a rank sleeps that is about to leave the core that it shares, or whose peer is: some 200 µs where nobody else needs it.
pub(crate) const SHARED_CORE_YIELDS: u32 = 512;

/// How long a rank stays on a core before it leaves the next one that it shares, at first. The scheduler's own balance takes longer.
pub(crate) const LEAVES_APART_MIN: Duration = Duration::from_millis(4);

/// And at most, where other programs crowd all cores: a move costs some 50 µs.
pub(crate) const LEAVES_APART_MAX: Duration = Duration::from_secs(1);

/// How long a rank that sleeps in a collective over shared memory sleeps at first, before it looks whether another one makes another
/// call: nobody wakes it for that. Each sleep is twice as long as all before.
pub(crate) const FIRST_LOOK_AROUND: Duration = Duration::from_millis(10);

/// And at most: what it costs is not to be seen beside a blocked rank's other work.
pub(crate) const LAST_LOOK_AROUND: Duration = Duration::from_secs(1);

/// Polls after a sleep before the next, since more of the same message may be on its way.
pub(crate) const POLLS_AFTER_SLEEP: u32 = 200;

/// Yields before sleeping when every rank has a core: another process may need it for a moment.
pub(crate) const YIELDS_MAX: u32 = 1;

/// Yields before sleeping when ranks outnumber the cores: measured best for barriers of 8 and 16 ranks on
/// 2 cores (DESIGN section 7: four yields, then futex).
pub(crate) const OVERSUBSCRIBED_YIELDS_MAX: u32 = 4;

/// The same where no more than two ranks share a core. Four yields then last 2 µs, less than it takes until those come who must be
/// woken: now and then all 4 ranks on 2 cores would sleep in every call for a while. With 4 ranks on a core more yields gain nothing,
/// and barriers lose. Where two of 4 ranks compute, the other two, if they slept less often, would be brought to one core less often
/// (docs/decisions/0022-yields-before-sleeping.md, docs/performance/constants.md).
pub(crate) const PAIRED_YIELDS_MAX: u32 = 16;

/// Bytes of a block of a collective that goes the short way, or of all blocks of a vector form: some hundred instructions are nothing
/// beside more. No such block is long enough to be copied by the kernel.
pub(crate) const SHORT_COLLECTIVE_BYTES_MAX: usize = 4 * 1024;
const _: () = assert!(SHORT_COLLECTIVE_BYTES_MAX <= tern_shmcoll::limits::SHM_SHORT_BLOCK_BYTES_MAX);

/// Bytes that another rank copies by the kernel while a yield returns at once: a collective that waits for such copies yields as often
/// again. Sixteen yields last less than a copy of 64 KiB, and who sleeps has to be woken.
pub(crate) const COPIED_BYTES_PER_YIELD: usize = 4 * 1024;

/// No more bytes than these count: what takes that long may as well end a sleep.
pub(crate) const COPIED_BYTES_AWAITED_MAX: usize = 1 << 20;

/// Those before sleeping over sockets, where one peer is waited for: its answer usually comes with the first. With 16, pairs of ranks that the
/// scheduler has put on different cores stay there more often and take twice as long; it brings them together when one sleeps and
/// the other wakes it.
pub(crate) const LISTENING_YIELDS_MAX: u32 = 3;

/// A yield that took so long went to a program that computes: ranks that exchange messages are back within
/// microseconds, and a scheduler's time slice is 3 ms or so.
pub(crate) const YIELD_DEAR: Duration = Duration::from_millis(1);

/// Ranks on a core for which that holds.
pub(crate) const YIELD_DEAR_RANKS: u32 = 4;

/// So much later is a yield dear for each further rank on the core, which may have copied messages of some 64 KiB from and to all others.
pub(crate) const YIELD_DEAR_PER_RANK: Duration = Duration::from_micros(250);

/// Waits that sleep without a yield after the first dear one: a single one means little.
pub(crate) const WAITS_AFTER_DEAR_YIELD_MIN: u32 = 16;

/// The same after many: the one yield that finds out whether the program still computes then costs few microseconds a wait.
pub(crate) const WAITS_AFTER_DEAR_YIELD_MAX: u32 = 1024;

/// From one dear yield to the next, so many times more waits sleep: three of them, some 10 ms, lead to the most.
pub(crate) const WAITS_AFTER_DEAR_YIELD_GROWTH: u32 = 4;

/// Cheap yields, of those that are timed, after which a dear one counts so many times less again: with the untimed ones they have
/// saved more time, some 20 µs each, than the dear ones before have cost.
pub(crate) const CHEAP_YIELDS_TO_TRUST: u32 = 128;

/// Cheap yields after a cheap one that go by without a look at the clock, which costs a tenth of a yield.
pub(crate) const YIELDS_UNTIMED: u32 = 7;

/// After a yield that took so long the next one is timed as well: a look at the clock costs nothing beside it. It is not a cheap one.
pub(crate) const YIELD_LONG: Duration = Duration::from_micros(100);

/// A rank that has slept so long says on the status page where it is: a hang is explained, a normal wait costs nothing.
pub(crate) const PUBLISH_AFTER: Duration = Duration::from_millis(50);

/// Threads of a rank whose calls stand on the status page beside the one that has slept longest: there is room for the text of so many.
pub(crate) const BOARD_FURTHER_THREADS_MAX: usize = 2;

/// Calls that ask and find nothing, such as `MPI_Test`, between two looks at the clock: a look takes as long as a poll
/// or two.
pub(crate) const ASKS_PER_LOOK_MAX: u64 = 64;

/// Looks at the clock that follow each other sooner may be farther apart; after a longer time each call looks again.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Calls that ask with this much time for each poll, or more, each look at everything, the network and its timers too: what a program that sleeps in between
/// waits for would otherwise take as many calls as a spinning one makes in microseconds. A look takes up to 10 µs.
pub(crate) const SELDOM: Duration = Duration::from_micros(100);

/// Requests and messages that a report of where this rank stands shows of each kind.
pub(crate) const BOARD_ITEMS_MAX: usize = 4;

/// Requests and messages that are looked at for a report: some 10 µs, even where there are many more.
pub(crate) const BOARD_LOOKED_AT_MAX: usize = 1000;

/// `MPI_TAG_UB`.
pub(crate) const TAG_UB: i32 = i32::MAX;

/// Contexts that a process names at once for a new communicator and its descendants. 32 bits of count allow a
/// process to lead a million times, before it draws numbers; a communicator is duplicated about 160 times before its members compute more.
pub(crate) const CONTEXTS_PER_BLOCK: u32 = 4096;

/// Error handlers of freed communicators that are kept for operations that go on.
pub(crate) const FREED_HANDLERS_MAX: usize = 256;

/// Bytes of a rank's own block in a collective that are copied at once. Messages that are as long may have gone without asking, and are copied
/// out at once as well.
pub(crate) const COPY_BYTES_AT_ONCE_MAX: usize = 512 << 10;

/// Bytes of a longer one that are copied between two looks at what has come: some 5 µs.
pub(crate) const COPY_BYTES_PER_POLL: usize = 128 << 10;

/// Tag of the barrier with which `MPI_Finalize` ends, on [`crate::comm::object::Lane::Coll`].
pub(crate) const LAST_BARRIER_TAG: i32 = i32::MAX;

/// Tags that the collectives of a communicator take in turn: all below that.
pub(crate) const COLLECTIVE_TAGS: u32 = LAST_BARRIER_TAG as u32;

/// Tag of the library's own agreements on [`crate::comm::object::Lane::Local`].
pub(crate) const AGREEMENT_TAG: i32 = i32::MAX;

/// Tag of the last word between worlds that end connected.
pub(crate) const LEAVING_TAG: i32 = AGREEMENT_TAG - 4;

/// A thread that has found the library's state wrong waits so long for another one, which may have brought it about.
pub(crate) const MEET_WITHIN: Duration = Duration::from_millis(100);

/// Ranks of jobs under other launchers that tell each other in `MPI_Finalize` how they are reached: some 60 bytes each, so 1 MiB.
pub(crate) const KEPT_ADDRESSES_MAX: u32 = 1 << 14;

/// How often a process that computes looks whether another world that it is connected with is still there.
pub(crate) const LOOK_ABROAD: Duration = Duration::from_millis(250);

/// How often it looks while such a connection is being made again.
pub(crate) const LOOK_AT_DIALING: Duration = Duration::from_millis(10);

/// Seconds for which `MPI_Comm_connect` waits for an `MPI_Comm_accept`, unless the key `timeout` says otherwise.
pub(crate) const CONNECT_S: u64 = 300;

/// Seconds in which a process that has knocked says who it is, and one that has been let in what it is told.
pub(crate) const TALK_S: u64 = 10;

/// Tag of what the ranks of one node agree on while some of them agree with those of others: in each group ranks are counted
/// from 0, so the same tag would take one for the other.
pub(crate) const NEAR_AGREEMENT_TAG: i32 = AGREEMENT_TAG - 1;

/// Tag of what those agree on who stand for nodes.
pub(crate) const FAR_AGREEMENT_TAG: i32 = AGREEMENT_TAG - 2;

/// Tag of what all ranks agree on before they send messages by datagrams: what one of them already sends so may come before the last
/// that it sent by a connection.
pub(crate) const EACH_AGREEMENT_TAG: i32 = AGREEMENT_TAG - 3;

/// Ranks of a job that uses multicast: beyond, what each keeps for all others would be more than all else.
pub(crate) const MULTICAST_RANKS_MAX: u32 = 4096;

/// Temporary memory that a collective leaves for the next one: what small and medium calls need, and little beside what a
/// rank has anyway.
pub(crate) const SCRATCH_KEPT_BYTES_MAX: usize = 256 * 1024;

/// How long the progress thread keeps away after the program was in MPI: a program that calls again and again makes progress
/// itself, and each turn of the lock between two threads costs as much as several calls.
pub(crate) const NAP: Duration = Duration::from_micros(20);

/// The same where the thread only sees to what a call has left behind: a gathered message is late by so much at first.
pub(crate) const NAP_FOR_RESIDUE: Duration = Duration::from_micros(500);

/// Both in a program that has called for long without a pause: shorter naps disturb its long messages, and its puts and gets. What comes
/// right after its last call is late by so much, once.
pub(crate) const NAP_MAX: Duration = Duration::from_millis(8);

/// After this time other threads have seen a store, whatever the processor: they do after nanoseconds.
pub(crate) const STORES_ARE_SEEN: Duration = Duration::from_millis(1);

/// Naps in a row without a look at what there is to do: a tenth of a second at most.
pub(crate) const STAYS_OUT_MAX: u32 = 16;

/// Naps without anything left behind after which the thread parks. To wake it costs as much as several naps.
pub(crate) const IDLE_NAPS_MAX: u32 = 8;

/// Time slice that the progress thread asks for, nanoseconds: the shortest that Linux grants.
pub(crate) const SLICE_NS: u64 = 100_000;

/// Steps of the search for the best cut of a grid that spans nodes: some hundredths of a second. Larger searches look
/// only at blocks that fill a node.
pub(crate) const REORDER_STEPS_MAX: u64 = 1 << 24;

/// No memory of a program lies below: the smallest page that there is, and the first is never mapped.
pub(crate) const PAGE_BYTES_MIN: usize = 4096;

/// How long a rank that ends the job may take to write what its streams hold: whoever reads is there at once, or stuck. All ranks
/// must be gone within 2 s of an end, half of which is `mpirun`'s.
pub(crate) const FLUSH_MAX: Duration = Duration::from_millis(500);

/// How long a rank that ends the job waits for another thread to leave the library, or for a call of its own that a signal handler has
/// interrupted, which does not go on.
pub(crate) const ABORT_LOOKS_MAX: Duration = Duration::from_millis(100);

/// How soon after the end of the thread that has started MPI it is looked whether another one of the program's is left. Each look
/// that finds some doubles the time to the next, since they may go on for hours.
pub(crate) const DEPARTURE_LOOK: Duration = Duration::from_millis(20);

/// What it becomes at most.
pub(crate) const DEPARTURE_LOOK_MAX: Duration = Duration::from_millis(500);

/// How often a rank that sleeps until others have synchronized a window looks by itself. They wake it, so this is for nothing but safety.
pub(crate) const WINDOW_LOOK: Duration = Duration::from_millis(50);

/// The same where the others cannot wake it, since no way of messages over shared memory is open.
pub(crate) const WINDOW_LOOK_UNRUNG: Duration = Duration::from_micros(500);

/// Puts and gets of so many bytes take the shortest way, which calls nothing: a copy of them is a few loads and stores.
pub(crate) const SHORT_TRANSFER_BYTES_MAX: usize = 64;

/// Looks at an errand before it is taken back: about a microsecond, in which a rank that polls has seen it.
pub(crate) const ERRAND_LOOKS_MAX: u32 = 500;
/// Bytes of a half of a stage: two copies of them at once take as long as several errands, and both halves with the words of a window are
/// no more than `RELEASED_BYTES_MAX` of shared memory.
pub(crate) const STAGE_HALF_BYTES: usize = 28 << 10;
/// Parts of a transfer by way of a stage at least, if each is then as long as the next constant says: the first one waits for no copy.
pub(crate) const STAGE_PARTS_MIN: usize = 4;
/// Bytes of such a part at least.
pub(crate) const STAGE_PART_BYTES_MIN: usize = 4 << 10;

/// Transfers by a stage of so many bytes are measured: to look at the clock is not felt.
pub(crate) const MEASURED_BYTES_MIN: usize = 16 << 10;

/// Of bytes that are left in the middle of such a transfer: one more look for so many. The kernel takes ten times as long for them.
pub(crate) const STAGED_BYTES_PER_LOOK: usize = 128;

/// Bytes that the kernel copies before the owner of the memory is asked again: so many that one more system call is not felt.
pub(crate) const KERNEL_PIECE_BYTES: usize = 512 << 10;
/// The same while the owner wakes up: some ten microseconds, a part of the time for which it then polls.
pub(crate) const KERNEL_PIECE_BYTES_WAKING: usize = 128 << 10;

/// Bytes that the kernel copies in the time of one access to a few.
pub(crate) const KERNEL_ACCESS_BYTES: usize = 16 << 10;

/// Accesses that go by the kernel after an errand that nobody took up: at first, and at most. An errand in vain takes twice as long as
/// the kernel, so that those are not felt.
pub(crate) const ERRANDS_SKIPPED_MIN: u32 = 16;
/// See above.
pub(crate) const ERRANDS_SKIPPED_MAX: u32 = 4096;

/// Flushes of a window after which a rank takes what has arrived: a poll costs as much as a flush.
pub(crate) const FLUSHES_PER_LOOK: u32 = 16;

/// The same where ranks outnumber the cores, and a look gives the core to others: so many flushes take four times as long as that does.
pub(crate) const FLUSHES_PER_YIELD: u32 = 256;

/// From so many bytes on, elements of a window are combined all at once. To let all ranks pass a fence takes some microseconds, and an
/// atomic instruction for each of so many elements longer.
pub(crate) const MANY_BYTES_MIN: usize = 32 << 10;

/// A program that does something else for so long between two partitions computes: each leaves at once then. Some 0.5 µs. Whoever
/// only makes partitions ready needs a tenth of that for each.
pub(crate) const PARTITIONS_HURRY_TICKS: u64 = 500 * TICKS_PER_NS;

/// After so many partitions in a row without computation before them, only some of the next ones look at the clock, which takes a
/// third of their time.
pub(crate) const PARTITIONS_CALM: u32 = 16;

/// One of so many does then. So few more may wait for company when the program begins to compute.
pub(crate) const PARTITIONS_UNCLOCKED: u32 = 4;

/// How often a read of a performance variable tries to look at the state of MPI while another thread is there. After that it gives what it
/// saw last: a signal handler may have interrupted that very thread.
pub(crate) const LOOKS_MAX: u32 = 1000;

/// Events of which a tool has not been told yet.
pub(crate) const HAPPENINGS_MAX: usize = 4096;

/// What a rank has printed last reaches its launcher's output within this time, as a rule.
pub(crate) const CARRYING_TIME: Duration = Duration::from_millis(50);
