//! The launcher's constants with their units and reasons.

use std::time::Duration;

/// Bytes read at once from a rank's output or from standard input: what a Linux pipe holds by default.
pub(crate) const READ_BYTES: usize = 64 << 10;

/// A line longer than this is passed on in pieces, so that a rank which never ends its line cannot make
/// `mpirun` grow without bound.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 20;

/// Output that may wait for a slow reader of `mpirun`'s own output before the ranks are made to wait.
pub(crate) const SINK_BYTES_MAX: usize = 1 << 20;

/// What a pipe that polls as writable takes without blocking (`PIPE_BUF`).
pub(crate) const WRITE_BYTES: usize = tern_job::limits::PIPE_ATOMIC_BYTES;

/// How long a line without an end waits for it before a terminal shows it: it may be a prompt.
pub(crate) const PROMPT_DELAY: Duration = Duration::from_millis(150);

/// From SIGTERM to SIGKILL when a job is ended. Every rank must be gone within 2 s.
pub(crate) const TERM_GRACE: Duration = Duration::from_millis(1000);

/// The longest wait at once: the kernel takes no more than some 24 days, and who wakes for nothing waits on.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(24 * 3600);

/// When a rank has ended well and was never in MPI, and all others have waited in MPI for so long, they wait for it in vain.
pub(crate) const MISSED_MIN: Duration = Duration::from_millis(1000);
/// How often that is looked at.
pub(crate) const MISSED_LOOK: Duration = Duration::from_millis(500);

/// How often `mpirun` looks whether ranks wait for one that has begun to end: seldom, since it wakes for that.
pub(crate) const DESERTED_LOOK: Duration = Duration::from_millis(1000);
/// How often it asks other hosts for that.
pub(crate) const DESERTED_ASK: Duration = Duration::from_secs(5);

/// Two interrupts within this time mean: kill. Long enough to read what the first one said, and short for those who interrupt what they
/// type in one after the other.
pub(crate) const INTERRUPT_TWICE: Duration = Duration::from_secs(10);

/// Ranks that run on for so long after an interrupt was passed on are told of, and how to kill them.
pub(crate) const INTERRUPT_NOTICE: Duration = Duration::from_millis(500);
const _: () = assert!(INTERRUPT_NOTICE.as_millis() < INTERRUPT_TWICE.as_millis());

/// The same signal within this time is the same wish: `timeout` sends it to its child and, at once, to its group.
/// Nobody presses keys so fast.
pub(crate) const INTERRUPT_ECHO: Duration = Duration::from_millis(50);
const _: () = assert!(INTERRUPT_ECHO.as_millis() < INTERRUPT_TWICE.as_millis());

/// How long processes that outlive their ranks in the background, such as a `tee`, may still write.
pub(crate) const LEFTOVER_GRACE: Duration = Duration::from_millis(500);

/// A reader of `mpirun`'s output that pauses makes these times longer, until so many bytes have come for each rank since the last one
/// ended: more than lie in pipes, and a bound for what writes on and on in the background.
pub(crate) const LAST_BYTES_MAX: u64 = 1 << 20;

/// After the ranks' process groups have been killed, output must stay quiet for this long …
pub(crate) const QUIET: Duration = Duration::from_millis(50);
/// … but what has fled from its group may not hold `mpirun` for longer than this.
pub(crate) const QUIET_MAX: Duration = Duration::from_millis(1000);

/// A rank that asks again and again (`MPI_Test`) says so every 50 ms or so; one that has not done so for so long is
/// doing something else.
pub(crate) const ASKED_LATELY: Duration = Duration::from_millis(300);

/// Lines that a report has for one rank, beside that of its call: the library writes no more than four.
pub(crate) const NOTES_MAX: usize = 8;

/// How often a `mpirun` in the background looks whether it may read its terminal again.
pub(crate) const FOREGROUND_CHECK: Duration = Duration::from_millis(250);

/// Hosts that one `mpirun` or agent starts by itself. Each costs it a launcher's process (`ssh` takes a tenth of a second
/// of processor time to log in) and three descriptors; 16 reach 4,096 hosts in three steps.
pub(crate) const TREE_ARITY: u32 = 16;

/// Longest message between `mpirun` and an agent: the orders of a million ranks that change hosts at each step.
pub(crate) const MESSAGE_BYTES_MAX: usize = 32 << 20;

/// What a login shell may print before the agent speaks.
pub(crate) const GREETING_BYTES_MAX: usize = 256 << 10;

/// Output of a host's ranks that may be on its way to `mpirun`'s own output.
pub(crate) const RELAY_BYTES_MAX: usize = 256 << 10;

/// An agent says so often that it lives.
pub(crate) const BEAT: Duration = Duration::from_millis(1000);
/// One that has not been heard for so long is lost: a machine that has lost its power closes no connection.
pub(crate) const AGENT_SILENCE_MAX: Duration = Duration::from_secs(15);
/// An agent that has not heard its parent for so long ends its ranks: the network between them is gone.
pub(crate) const PARENT_SILENCE_MAX: Duration = Duration::from_secs(60);
/// A launcher must have started its agent by then.
pub(crate) const AGENT_START_MAX: Duration = Duration::from_secs(60);

/// How long names of hosts may take to be known, where containers are hosts.
pub(crate) const NAMES_WAIT_MAX: Duration = Duration::from_secs(60);
/// How often that is looked at.
pub(crate) const NAMES_LOOK: Duration = Duration::from_millis(500);

/// What a launcher says on standard error is kept up to this length, for the message when it fails.
pub(crate) const LAUNCHER_WORDS_BYTES_MAX: usize = 2048;
/// How long `mpirun` waits for these words, and for the launcher's exit status.
pub(crate) const LAST_WORDS_MAX: Duration = Duration::from_millis(300);
/// How long launchers may take to end after their agents.
pub(crate) const LAUNCHER_END_MAX: Duration = Duration::from_millis(500);
/// How often the watchdog looks whether they have.
pub(crate) const LAUNCHER_END_LOOK: Duration = Duration::from_millis(5);
/// After SIGKILL, hosts that do not report the ends of their ranks are waited for no longer than this.
pub(crate) const ABANDON_GRACE: Duration = Duration::from_millis(500);
/// How long `mpirun` waits for all hosts to say where their ranks stand.
pub(crate) const REPORT_MAX: Duration = Duration::from_millis(1000);

/// Longest name of a store of PMI-1, longest key and longest value, each with the zero byte that programs in C add: what
/// MPICH's own launcher has.
pub(crate) const PMI_NAME_BYTES_MAX: usize = 256;
/// See above.
pub(crate) const PMI_KEY_BYTES_MAX: usize = 64;
/// See above.
pub(crate) const PMI_VALUE_BYTES_MAX: usize = 1024;
/// Longest line of PMI-1: the three of them and the words between them.
pub(crate) const PMI_LINE_BYTES_MAX: usize = 2048;
/// All that ranks may put into the store: a thousand bytes from each of 65,536.
pub(crate) const PMI_STORE_BYTES_MAX: usize = 64 << 20;

/// Descriptors in `mpirun` for each rank: its two outputs, its process, its answers, its PMI, and perhaps its input.
pub(crate) const DESCRIPTORS_PER_RANK: u64 = 6;
/// Those that a rank is started with, and what its program needs until it runs, have numbers below this.
pub(crate) const DESCRIPTORS_OF_A_RANK: u64 = 256;
/// And for everything else, with a margin.
pub(crate) const DESCRIPTORS_COMMON: u64 = 32;

/// Answers that wait for a rank to read them: more than a rank asks for at once, unless something is wrong with it.
pub(crate) const ANSWERS_QUEUED_MAX: usize = 1 << 16;

/// Descriptors that the ranks inherit get numbers from here on, out of the way of shell scripts.
pub(crate) const INHERITED_FD_LEAST: i32 = 100;

/// How often processes that have left their groups are searched at most, each time for those whom the ones killed had just started.
pub(crate) const SEARCHES_MAX: u32 = 16;

/// Orphans that have ended are looked for no more often than this.
pub(crate) const BURIAL_PAUSE: Duration = Duration::from_millis(100);

/// Events taken from the kernel at once.
pub(crate) const EVENTS: usize = 256;

/// Where `mpirun` was killed while it started ranks, one may have been on its way into its program, so it is looked for some
/// times, all within a fraction of the 2 s in which ranks must be gone.
pub(crate) const SEARCHES_FOR_STRAYS: u32 = 8;

/// See [`SEARCHES_FOR_STRAYS`].
pub(crate) const PAUSE_BETWEEN_SEARCHES: Duration = Duration::from_millis(50);

/// Names of numbers that ranks may tell of: more than the library has, and a bound for what else is in a rank.
pub(crate) const NUMBERS_MAX: usize = 200;

/// Ranks up to which `--stats` shows each: as many columns fit a wide terminal.
pub(crate) const RANKS_SHOWN_MAX: u32 = 8;
/// All that a request to start processes may hold: what the kernel takes as arguments of a program.
pub(crate) const SPAWN_BYTES_MAX: usize = 2 << 20;
