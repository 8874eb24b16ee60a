//! The launcher's constants with their units and reasons.

use std::time::Duration;

/// Bytes read at once from a rank's output or from standard input: what a Linux pipe holds by default.
pub const READ_BYTES: usize = 64 << 10;

/// A line longer than this is passed on in pieces, so that a rank which never ends its line cannot make
/// `mpirun` grow without bound.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// Output that may wait for a slow reader of `mpirun`'s own output before the ranks are made to wait.
pub const SINK_BYTES_MAX: usize = 1 << 20;

/// What a pipe that polls as writable takes without blocking (`PIPE_BUF`).
pub const WRITE_BYTES: usize = tern_runtime::limits::PIPE_ATOMIC_BYTES;

/// How long a line without an end waits for it before a terminal shows it: it may be a prompt.
pub const PROMPT_DELAY: Duration = Duration::from_millis(150);

/// From SIGTERM to SIGKILL when a job is ended. Every rank must be gone within 2 s.
pub const TERM_GRACE: Duration = Duration::from_millis(1000);

/// Two interrupts within this time mean: kill.
pub const INTERRUPT_TWICE: Duration = Duration::from_secs(2);

/// How long processes that outlive their ranks in the background, such as a `tee`, may still write.
pub const LEFTOVER_GRACE: Duration = Duration::from_millis(500);

/// After the ranks' process groups have been killed, output must stay quiet for this long …
pub const QUIET: Duration = Duration::from_millis(50);
/// … but what has fled from its group may not hold `mpirun` for longer than this.
pub const QUIET_MAX: Duration = Duration::from_millis(1000);

/// How often a `mpirun` in the background looks whether it may read its terminal again.
pub const FOREGROUND_CHECK: Duration = Duration::from_millis(250);

/// Descriptors in `mpirun` for each rank: its two outputs, its process, and perhaps its input.
pub const DESCRIPTORS_PER_RANK: u64 = 4;
/// And for everything else, with a margin.
pub const DESCRIPTORS_COMMON: u64 = 32;

/// Descriptors that the ranks inherit get numbers from here on, out of the way of shell scripts.
pub const INHERITED_FD_LEAST: i32 = 100;

/// Events taken from the kernel at once.
pub const EVENTS: usize = 256;
