//! What `tern netpipe` measures with unless it is told otherwise.

/// Sizes beside each size: NetPIPE's own, which shows what depends on alignment and on whole packets.
pub(super) const PERTURBATION_BYTES: u64 = 3;

/// Largest message: past it the curves of every network are flat.
pub(super) const BYTES_MAX: u64 = 16 << 20;

/// Largest message of a quick run.
pub(super) const QUICK_BYTES_MAX: u64 = 4 << 20;

/// Largest message that can be asked for: counts of MPI_Send are 32 bits wide with their sign.
pub(super) const ASKED_BYTES_MAX: u64 = 1 << 30;

/// Time for one size in one run, seconds: ten batches of `measure.h`.
pub(super) const POINT_S: f64 = 0.02;

/// The same of a quick run.
pub(super) const QUICK_POINT_S: f64 = 0.01;

/// Time for each of the four times of one size that overlap is computed from, seconds: transfers of 4 MiB over a
/// gigabit take 35 ms.
pub(super) const OVERLAP_POINT_S: f64 = 0.3;

/// The same of a quick run.
pub(super) const QUICK_OVERLAP_POINT_S: f64 = 0.05;

/// How often every system has its turn at every size, at least.
pub(super) const TRIALS: u32 = 5;

/// The same of a quick run.
pub(super) const QUICK_TRIALS: u32 = 3;

/// A figure is steady when it has come out so often, the deviations below left out.
pub(super) const STEADY_TRIALS: usize = 3;

/// So much may what has come out differ, as a part of it.
pub(super) const STEADY_SPREAD: f64 = 0.03;

/// How long sizes whose figures are not steady get further turns, seconds.
pub(super) const LIMIT_S: f64 = 300.0;

/// The same of a quick run.
pub(super) const QUICK_LIMIT_S: f64 = 60.0;

/// More trials than this are a mistake.
pub(super) const TRIALS_MAX: u32 = 1000;

/// How long a job may take beyond its points, seconds: starting on far hosts, and warming up at large sizes.
pub(super) const JOB_EXTRA_S: f64 = 60.0;

/// How many times its budget a point takes on a network that is slow (`measure.h`, PATIENCE), and some more.
pub(super) const POINT_PATIENCE: f64 = 8.0;

/// How long a peer's compiler may take, seconds.
pub(super) const COMPILE_LIMIT_S: f64 = 60.0;

/// Thresholds between eager and rendezvous that are tried over TCP, bytes: those of the thesis (section 7.4) and around.
pub(super) const TCP_THRESHOLDS: &[u64] = &[16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10];

/// The same over shared memory, where the change comes earlier.
pub(super) const SHM_THRESHOLDS: &[u64] = &[1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10];

/// The cell that an eager message over shared memory must fit, bytes, unless `TERN_CELL_BYTES` says otherwise.
pub(super) const CELL_BYTES: u64 = 16 << 10;

/// A dip at the change of protocols is looked for up to so many times the threshold.
pub(super) const DIP_REACH: u64 = 4;

/// Sizes per doubling round the thresholds.
pub(super) const THRESHOLD_STEPS: u32 = 4;

/// Sizes whose overlap is measured, bytes.
pub(super) const OVERLAP_BYTES: &[u64] = &[64 << 10, 1 << 20, 4 << 20];

/// Sizes of interrupt latency, bytes: up to those that go by rendezvous.
pub(super) const INTERRUPT_BYTES: &[u64] = &[8, 64, 512, 4 << 10, 32 << 10, 256 << 10];

/// Sizes of collectives: that of the T3D paper's figure 9, one for latency, and some for bandwidth.
pub(super) const COLLECTIVE_BYTES: &[u64] = &[8, 2 << 10, 64 << 10, 1 << 20, 4 << 20];

/// From this size on throughput is compared with that of raw TCP.
pub(super) const THROUGHPUT_FROM_BYTES: u64 = 64 << 10;
