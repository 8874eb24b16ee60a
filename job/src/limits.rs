//! Every constant of a job with its unit and its reason.

use std::time::Duration;

/// Most ranks in a job: the status page then takes 1 GiB at most, and a rank number fits any `i32`.
pub const RANKS_MAX: u32 = 1 << 20;

/// Longest `TERN_JOB` that is worth parsing. Real ones are below 250 bytes.
pub const DESCRIPTOR_BYTES_MAX: usize = 512;

/// One rank's record on the status page. A power of two that divides the page, so that no record straddles
/// two pages and one `pwrite` stays inside one; there is room for some requests and messages beside the call.
pub const RECORD_BYTES: usize = 1024;

/// One notice on the control pipe.
pub const NOTICE_BYTES: usize = 1024;

/// Longest endpoint address of a rank: the transport's addresses with a margin.
pub const ENDPOINT_ADDRESS_BYTES_MAX: usize = 512;

/// Longest answer to a rank that asked for an endpoint address.
pub const ANSWER_BYTES_MAX: usize = 6 + ENDPOINT_ADDRESS_BYTES_MAX;

/// Endpoint addresses that one notice can ask for: what fits beside its header of 16 bytes.
pub const ASKED_AT_ONCE_MAX: usize = (NOTICE_BYTES - 16) / 4;

/// A launcher that has not read the control pipe for so long will not do so any more.
pub const PUBLISH_SECONDS: i64 = 10;

/// Longest line that a launcher sends in PMI-1, with a margin: a value of at most 1,024 or 4,096 bytes and a few words.
pub const PMI_ANSWER_BYTES_MAX: usize = 8192;

/// Read at once of what a launcher says in PMI-1: most of its lines are shorter.
pub const PMI_READ_BYTES: usize = 512;

/// Values shorter than this are taken by every launcher that speaks PMI-1; for longer ones it is asked.
pub const PMI_VALUE_BYTES_SURE: usize = 200;

/// Between looks whether the first rank of the host has written the node map.
pub const NODE_MAP_PAUSE: Duration = Duration::from_micros(200);

/// Most hosts in a job. Real ones have thousands.
pub const HOSTS_MAX: u32 = 1 << 16;

/// Ranks that notice the same death speak so long after each other. It ends the job within 2 s also where the first of them dies, too.
pub const WITNESS_PAUSE: Duration = Duration::from_millis(250);

/// Between looks at a process whose end the kernel does not tell.
pub const PROCESS_LOOK_PAUSE: Duration = Duration::from_millis(250);

/// Of a thread that does nothing but wait for a process.
pub const PROCESS_WAITER_STACK_BYTES: usize = 64 << 10;
/// So many pauses at most, for the last of many ranks.
pub const WITNESSES_APART_MAX: u32 = 4;

/// Hosts that hold a lifeline to the same one.
pub const LIFELINE_ARITY: u32 = 16;
/// Addresses of a host that others try: they fit a value of PMI-1 beside the rest.
pub const LIFELINE_ADDRESSES_MAX: usize = 12;
/// How long whoever has connected may take to prove itself.
pub const LIFELINE_CLAIM: Duration = Duration::from_secs(2);
/// So long a host waits in `MPI_Init` for a connection to the one above: on networks that are there it takes a millisecond.
pub const LIFELINE_DIAL_AT_START: Duration = Duration::from_millis(500);
/// So long a connection may take to somebody who was there: a first packet that is lost is sent again after a second.
pub const LIFELINE_REDIAL: Duration = Duration::from_millis(1200);
/// How often all addresses are tried.
pub const LIFELINE_DIALS_MAX: u32 = 5;
/// Who has proven nothing yet: more of them are turned away.
pub const LIFELINE_UNAUTHENTICATED_MAX: usize = 64;
/// A machine that has lost its power is missed after 5 + 5 * 2 s.
pub const LIFELINE_IDLE: Duration = Duration::from_secs(5);
/// See above.
pub const LIFELINE_PROBE: Duration = Duration::from_secs(2);
/// See above.
pub const LIFELINE_PROBES: u32 = 5;

/// Linux's `PIPE_BUF`: writes to a pipe up to this size are atomic.
pub const PIPE_ATOMIC_BYTES: usize = 4096;

/// How often a reader tries again when it met a record while it was being written. A writer needs a
/// fraction of a microsecond, so that two attempts are already rare.
pub const BOARD_READ_ATTEMPTS: u32 = 8;

/// How far up the process tree `join` looks for the rank that started this process. Deeper chains of
/// wrappers are not seen in practice; the bound ends the walk should `/proc` be in flux.
pub const ANCESTORS_MAX: u32 = 64;

/// Bytes in which most environments fit: a larger one is read again, into twice as many.
pub const ENVIRONMENT_USUAL: usize = 64 << 10;

/// How often, and after which pause, a process without an environment is looked at again: it may be about to run a program. A shell that
/// does nothing but run another one has none for half of its time, so ten looks in a row may find it without.
pub const EXEC_LOOKS_MAX: u32 = 100;

/// See [`EXEC_LOOKS_MAX`].
pub const EXEC_PAUSE: Duration = Duration::from_millis(1);

/// Processors that a machine may have: more than Linux can be built for.
pub const PROCESSORS_MAX: u32 = 1 << 14;

const _: () = assert!(4096 % RECORD_BYTES == 0, "a record must not straddle pages");
const _: () =
    assert!(ENDPOINT_ADDRESS_BYTES_MAX <= NOTICE_BYTES - 16, "an endpoint address must fit a notice");
const _: () = assert!(ANSWER_BYTES_MAX <= PIPE_ATOMIC_BYTES, "an answer must be written atomically");
const _: () = assert!(NOTICE_BYTES <= PIPE_ATOMIC_BYTES, "a notice must be written atomically");

/// Numbers in one notice: a name has 40 letters at most, and a number 20 digits.
pub const NUMBERS_PER_NOTICE: usize = 16;
const _: () = assert!(NUMBERS_PER_NOTICE * (40 + 1 + 20) <= NOTICE_BYTES - 16, "the lines must fit a notice");

/// So long one rank may wait in `MPI_Init` for others before it says so, under launchers that do not tell of processes that ended.
/// Programs on slow file systems start seconds apart.
pub const START_PATIENCE: Duration = Duration::from_secs(10);
