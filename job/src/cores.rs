//! How many cores a process may use: its affinity mask, and the quota of its control groups.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::path::{Path, PathBuf};

/// The cores that a job may use on this node, for the decision whether to spin while waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreBudget {
    /// Cores that the ranks on this node share.
    pub usable: u32,
    /// Ranks that share them.
    pub ranks: u32,
}

impl CoreBudget {
    /// Whether the ranks outnumber the cores: one that spins then keeps another from working.
    pub fn is_oversubscribed(&self) -> bool {
        self.ranks > self.usable
    }

    /// Ranks that share a core, at most.
    pub fn ranks_per_core(&self) -> u32 {
        self.ranks.div_ceil(self.usable.max(1))
    }
}

/// Cores that this process may use: at least 1. Reads files; a rank asks [`Job::cores`](crate::Job) instead,
/// which `mpirun` has computed once for all.
pub fn cores() -> u32 {
    affinity_cores().min(quota_cores().unwrap_or(u32::MAX))
}

/// The quota of this process's control groups in cores, rounded up; `None` without one. Reads files.
pub fn quota_cores() -> Option<u32> {
    tightest_quota(Path::new("/"))
}

/// Cores in this process's affinity mask, at least 1.
pub fn affinity_cores() -> u32 {
    match sched_getaffinity(None) {
        Ok(set) => set.count().max(1),
        // Only a kernel with more than 1,024 processors refuses the mask of that size.
        Err(_) => std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
    }
}

/// Brings this thread to another one of the cores that it may use; false if there is none. What it may use stays the same.
pub fn leave_core() -> bool {
    let Ok(all) = sched_getaffinity(None) else { return false };
    let mut others = all;
    others.unset(this_core() as usize);
    others.count() > 0 && move_to(&others, &all)
}

/// Brings this thread to a core; false if it may not use that one. What it may use stays the same.
pub fn go_to_core(core: u32) -> bool {
    let (Ok(all), core) = (sched_getaffinity(None), core as usize) else { return false };
    let mut one = CpuSet::new();
    if core >= CpuSet::MAX_CPU || !all.is_set(core) {
        return false;
    }
    one.set(core);
    move_to(&one, &all)
}

fn move_to(there: &CpuSet, all: &CpuSet) -> bool {
    sched_setaffinity(None, there).is_ok() && sched_setaffinity(None, all).is_ok()
}

/// The core that this thread is on.
pub fn this_core() -> u32 {
    rustix::thread::sched_getcpu() as u32
}

/// The cores that this thread may use; none if the kernel does not say.
pub fn own_cores() -> impl Iterator<Item = u32> {
    let all = sched_getaffinity(None).unwrap_or_default();
    (0..CpuSet::MAX_CPU).filter(move |&core| all.is_set(core)).map(|core| core as u32)
}

/// The tightest quota of the control groups above this process, in cores, rounded up. `root` is `/` but
/// in tests.
fn tightest_quota(root: &Path) -> Option<u32> {
    let memberships = std::fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    memberships.lines().filter_map(|line| line_quota(root, line)).min()
}

/// One line of `/proc/self/cgroup` is `number:controllers:path`; version 2 has the number 0 and names no
/// controllers.
fn line_quota(root: &Path, line: &str) -> Option<u32> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let groups = root.join("sys/fs/cgroup");
    if controllers.is_empty() {
        tightest(&groups, path, quota_v2)
    } else if controllers.split(',').any(|name| name == "cpu") {
        tightest(&groups.join("cpu"), path, quota_v1)
    } else {
        None
    }
}

/// Walks from the group up to the root: each may have its own quota. In a container the path may be the
/// host's and lead nowhere below the mount; the mount's own root is then the container's group.
fn tightest(mount: &Path, path: &str, quota: fn(&Path) -> Option<u32>) -> Option<u32> {
    let path = Path::new(path.trim_start_matches('/'));
    path.ancestors().filter_map(|group| quota(&join_group(mount, group))).min()
}

fn join_group(mount: &Path, group: &Path) -> PathBuf {
    if group.as_os_str().is_empty() { mount.to_path_buf() } else { mount.join(group) }
}

/// `cpu.max` holds `quota period` in microseconds, or `max period`.
fn quota_v2(group: &Path) -> Option<u32> {
    let text = std::fs::read_to_string(group.join("cpu.max")).ok()?;
    let mut words = text.split_whitespace();
    round_up(words.next()?, words.next()?)
}

/// No quota is written as -1.
fn quota_v1(group: &Path) -> Option<u32> {
    let quota = std::fs::read_to_string(group.join("cpu.cfs_quota_us")).ok()?;
    let period = std::fs::read_to_string(group.join("cpu.cfs_period_us")).ok()?;
    round_up(quota.trim(), period.trim())
}

fn round_up(quota: &str, period: &str) -> Option<u32> {
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0).then(|| u32::try_from(quota.div_ceil(period)).unwrap_or(u32::MAX).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A made-up file system root that removes itself.
    struct Root(PathBuf);

    impl Root {
        fn new(name: &str, files: &[(&str, &str)]) -> Root {
            let root = std::env::temp_dir().join(format!("tern-cores-{}-{name}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            Root(root)
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_thread_goes_to_each_core_that_it_may_use() {
        let before = sched_getaffinity(None).unwrap();
        for core in own_cores() {
            assert!(go_to_core(core) && before == sched_getaffinity(None).unwrap());
        }
        assert!(own_cores().any(|core| core == this_core()));
        assert!(!go_to_core(u32::MAX), "there is no such core");
    }

    #[test]
    fn version_2_takes_the_tightest_above() {
        let root = Root::new(
            "v2",
            &[
                ("proc/self/cgroup", "0::/a/b\n"),
                ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
                ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ],
        );
        assert_eq!(tightest_quota(&root.0), Some(2));
    }

    #[test]
    fn version_1_in_a_container_falls_back_to_the_mount() {
        let root = Root::new(
            "v1",
            &[
                ("proc/self/cgroup", "3:cpuset:/x\n2:cpu,cpuacct:/docker/1234\n0::/\n"),
                ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
                ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ],
        );
        assert_eq!(tightest_quota(&root.0), Some(1));
    }

    #[test]
    fn no_quota_and_nonsense_mean_none() {
        let root = Root::new(
            "none",
            &[
                ("proc/self/cgroup", "2:cpu:/\n0::/\nnonsense\n"),
                ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
                ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
                ("sys/fs/cgroup/cpu.max", "5 0\n"),
            ],
        );
        assert_eq!(tightest_quota(&root.0), None);
        assert_eq!(tightest_quota(Path::new("/nonexistent")), None);
    }

    #[test]
    fn a_thread_leaves_its_core_and_may_come_back() {
        let all = rustix::thread::sched_getaffinity(None).unwrap();
        assert_eq!(leave_core(), all.count() > 1);
        assert_eq!(rustix::thread::sched_getaffinity(None).unwrap(), all);
    }

    #[test]
    fn this_machine_has_a_core() {
        assert!(cores() >= 1 && cores() <= affinity_cores());
    }
}
