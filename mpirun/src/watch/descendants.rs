//! Processes that belong to the job and have left the process groups of their ranks, as below `setsid` or a shell with job control.
//!
//! `mpirun` and agents are *subreapers*: what their ranks leave behind becomes their own child, so that all of the job descends from
//! them. The watchdog, which no rank descends from, knows ranks by the job descriptor in their environment. Either reads `/proc`.

use std::collections::{HashMap, HashSet};

use rustix::process::{Pid, Signal, getpid, set_child_subreaper};
use tern_job::descriptor::{DESCRIPTOR_VARIABLE, JobDescriptor};
use tern_job::process_end;
use tern_job::procfs::{ProcessStat, processes, variable_across_exec, variable_of};

use crate::launch::watchdog::{self, LAUNCHER_VARIABLE};
use crate::limits::SEARCHES_MAX;

/// From now on this process becomes the parent of orphans among its descendants.
pub(crate) fn adopt_orphans() {
    // Without it, which is as old as Linux 3.4, orphans are found by their descriptors alone, by the watchdog.
    let _ = set_child_subreaper(Some(getpid()));
}

/// A look at all processes of this machine.
pub(crate) struct Look {
    all: HashMap<u32, ProcessStat>,
    children: HashMap<u32, Vec<u32>>,
}

impl Look {
    /// Looks.
    pub(crate) fn take() -> Look {
        let all: HashMap<u32, ProcessStat> = processes().filter(|(_, stat)| stat.state != 'X').collect();
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        for (&pid, stat) in &all {
            children.entry(stat.parent).or_default().push(pid);
        }
        Look { all, children }
    }

    /// Where the process is, and what it is.
    pub(crate) fn stat(&self, pid: u32) -> Option<&ProcessStat> {
        self.all.get(&pid)
    }

    /// All of them.
    pub(crate) fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.all.keys().copied()
    }

    /// The children of a process.
    pub(crate) fn children(&self, pid: u32) -> &[u32] {
        self.children.get(&pid).map_or(&[], Vec::as_slice)
    }

    /// These processes and all that descend from them.
    pub(crate) fn with_descendants(&self, roots: impl IntoIterator<Item = u32>) -> HashSet<u32> {
        let mut found = HashSet::new();
        let mut next: Vec<u32> = roots.into_iter().collect();
        while let Some(pid) = next.pop() {
            if found.insert(pid) {
                next.extend(self.children(pid));
            }
        }
        found
    }

    /// Whether `pid` is `ancestor` or descends from it.
    pub(crate) fn is_below(&self, pid: u32, ancestor: u32) -> bool {
        let above = |pid: &u32| self.stat(*pid).map(|stat| stat.parent).filter(|&parent| parent != 0);
        std::iter::successors(Some(pid), above).take(self.all.len() + 1).any(|pid| pid == ancestor)
    }
}

/// Sends a signal to what descends from this process's ranks and is not in one of their groups. `apart` are children of this process
/// that are no ranks, as launchers.
pub(crate) fn signal_fled(signal: Signal, groups: &HashSet<u32>, apart: &HashSet<u32>) {
    let own = std::process::id();
    signal_all(signal, |look| {
        let is_ours = |child: &&u32| !apart.contains(child) && !is_launched_by(**child, own);
        let ours = look.children(own).iter().filter(is_ours).copied();
        let mut found = look.with_descendants(ours);
        found.retain(|pid| look.stat(*pid).is_some_and(|stat| !groups.contains(&stat.group)));
        found
    });
}

/// Sends a signal to all that a search finds. Who is killed may just have started another, so the search is repeated until it finds
/// nobody new.
pub(crate) fn signal_all(signal: Signal, search: impl Fn(&Look) -> HashSet<u32>) {
    let searches = if signal == Signal::KILL { SEARCHES_MAX } else { 1 };
    let mut told = HashSet::new();
    for _ in 0..searches {
        let look = Look::take();
        let named = |pid: u32| Some((pid, look.stat(pid).filter(|stat| !stat.has_ended())?.start));
        let new: Vec<(u32, u64)> =
            search(&look).into_iter().filter_map(named).filter(|name| told.insert(*name)).collect();
        if new.is_empty() {
            return;
        }
        new.into_iter().filter(|(pid, _)| !watchdog::is_watchdog(*pid)).for_each(|(pid, start)| {
            send(pid, start, signal);
        });
    }
}

fn send(pid: u32, start: u64, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        process_end::signal_started(pid, start, signal);
    }
}

/// Whether this `mpirun` or agent has started the process, or what that descends from, as a launcher of agents.
fn is_launched_by(pid: u32, launcher: u32) -> bool {
    variable_of(pid, LAUNCHER_VARIABLE).is_some_and(|value| value == *launcher.to_string())
}

/// The job descriptor in the environment of a process.
pub(crate) fn descriptor_of(pid: u32) -> Option<JobDescriptor> {
    JobDescriptor::parse(&variable_of(pid, DESCRIPTOR_VARIABLE)?).ok()
}

/// An orphan that goes on as a rank whose first process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Successor {
    /// Its process.
    pub pid: u32,
    /// It has stayed in the group, where helpers are, such as `tee`.
    pub in_group: bool,
}

/// Finds the orphan that goes on as `rank`, whose first process, of group `group`, has ended. `member` is the process that has joined
/// the job as this rank, if one has.
pub(crate) fn successor(rank: u32, group: u32, member: Option<u32>) -> Option<Successor> {
    if let Some(ended) = member.and_then(ended_member) {
        return Some(ended);
    }
    let own = std::process::id();
    let look = Look::take();
    // What a wrapper has started and left may not run the program yet.
    let descriptor = |pid| JobDescriptor::parse(&variable_across_exec(pid, DESCRIPTOR_VARIABLE)?).ok();
    let is_rank = |pid: &u32| {
        descriptor(*pid).is_some_and(|descriptor| descriptor.rank == rank && descriptor.launcher == own)
    };
    let alive = |pid: &u32| *pid != group && look.stat(*pid).is_some_and(|stat| !stat.has_ended());
    let orphans: Vec<u32> = look.children(own).iter().copied().filter(alive).filter(is_rank).collect();
    let is_it = |pid: &&u32| match member {
        // In a namespace of its own it knows itself by another number, and is not found.
        Some(member) => look.is_below(member, **pid),
        None => look.stat(**pid).is_some_and(|stat| stat.group != group),
    };
    let found = orphans.iter().find(is_it);
    let pid = *found.or(orphans.first())?;
    let in_group = look.stat(pid).is_some_and(|stat| stat.group == group);
    Some(Successor { pid, in_group })
}

/// A member that was left behind and has ended: that may be seen together with the end of the first process, and has its exit status.
pub(crate) fn ended_member(pid: u32) -> Option<Successor> {
    let has_ended = |stat: &ProcessStat| stat.parent == std::process::id() && stat.has_ended();
    ProcessStat::of(pid).filter(has_ended).map(|_| Successor { pid, in_group: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descent_goes_through_generations() {
        let stat = |parent| ProcessStat { state: 'S', parent, group: 1, cpu: Default::default(), start: 0 };
        let all: HashMap<u32, ProcessStat> =
            [(2, 1), (3, 2), (4, 3), (5, 1)].map(|(pid, up)| (pid, stat(up))).into();
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        all.iter().for_each(|(&pid, stat)| children.entry(stat.parent).or_default().push(pid));
        let look = Look { all, children };
        assert_eq!(look.with_descendants([2]), HashSet::from([2, 3, 4]));
        assert!(look.is_below(4, 2) && look.is_below(4, 4) && !look.is_below(5, 2));
    }
}
