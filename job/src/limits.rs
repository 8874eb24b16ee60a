//! Every constant of the runtime with its unit and its reason.

/// Most ranks in a job: the status page then takes 1 GiB at most, and a rank number fits any `i32`.
pub const RANKS_MAX: u32 = 1 << 20;

/// Longest `TERN_JOB` that is worth parsing. Real ones are below 250 bytes.
pub const TICKET_BYTES_MAX: usize = 512;

/// One rank's record on the status page. A power of two that divides the page, so that no record straddles
/// two pages and one `pwrite` stays inside one; there is room for some requests and messages beside the call.
pub const RECORD_BYTES: usize = 1024;

/// One notice on the control pipe.
pub const NOTICE_BYTES: usize = 1024;

/// Longest card of a rank: the transport's addresses with a margin.
pub const CARD_BYTES_MAX: usize = 512;

/// Longest answer to a rank that asked for a card.
pub const ANSWER_BYTES_MAX: usize = 6 + CARD_BYTES_MAX;

/// Cards that one notice can ask for: what fits beside its header of 16 bytes.
pub const ASKED_AT_ONCE_MAX: usize = (NOTICE_BYTES - 16) / 4;

/// A launcher that has not read the control pipe for so long will not do so any more.
pub const PUBLISH_SECONDS: i64 = 10;

/// Longest line that a launcher sends in PMI-1, with a margin: a value of at most 1,024 or 4,096 bytes and a few words.
pub const PMI_ANSWER_BYTES_MAX: usize = 8192;

/// Most hosts in a job. Real ones have thousands.
pub const HOSTS_MAX: u32 = 1 << 16;

/// Linux's `PIPE_BUF`: writes to a pipe up to this size are atomic.
pub const PIPE_ATOMIC_BYTES: usize = 4096;

/// How often a reader tries again when it met a record while it was being written. A writer needs a
/// fraction of a microsecond, so that two attempts are already rare.
pub const BOARD_READ_ATTEMPTS: u32 = 8;

/// How far up the process tree `join` looks for the rank that started this process. Deeper chains of
/// wrappers are not seen in practice; the bound ends the walk should `/proc` be in flux.
pub const ANCESTORS_MAX: u32 = 64;

const _: () = assert!(4096 % RECORD_BYTES == 0, "a record must not straddle pages");
const _: () = assert!(CARD_BYTES_MAX <= NOTICE_BYTES - 16, "a card must fit a notice");
const _: () = assert!(ANSWER_BYTES_MAX <= PIPE_ATOMIC_BYTES, "an answer must be written atomically");
const _: () = assert!(NOTICE_BYTES <= PIPE_ATOMIC_BYTES, "a notice must be written atomically");
