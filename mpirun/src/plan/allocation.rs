//! Hosts that a batch system has given to this job. They are not used unless they are named, so they are told.

use std::collections::BTreeSet;
use std::fmt;

/// Several hosts of a batch system.
#[derive(Debug, PartialEq, Eq)]
pub struct Allocation {
    system: &'static str,
    hosts: usize,
    /// How to name them.
    option: &'static str,
}

/// A batch system, the variable with its hosts, how to count them, and how to name them.
struct Batch {
    system: &'static str,
    variable: &'static str,
    count: fn(&str) -> usize,
    option: &'static str,
}

const BATCHES: [Batch; 4] = [
    Batch {
        system: "Slurm",
        variable: "SLURM_JOB_NODELIST",
        count: of_ranges,
        option: "--host $(scontrol show hostnames | paste -sd,)",
    },
    Batch { system: "PBS", variable: "PBS_NODEFILE", count: of_file, option: "--hostfile $PBS_NODEFILE" },
    Batch {
        system: "LSF",
        variable: "LSB_MCPU_HOSTS",
        count: |words| words.split_whitespace().step_by(2).collect::<BTreeSet<_>>().len(),
        option: "--hostfile $LSB_DJOB_HOSTFILE",
    },
    Batch {
        system: "Grid Engine",
        variable: "PE_HOSTFILE",
        count: of_file,
        option: "--host $(awk '{print $1\":\"$2}' $PE_HOSTFILE | paste -sd,)",
    },
];

impl Allocation {
    /// What the environment, read by `get`, tells of several hosts.
    pub fn find(get: impl Fn(&str) -> Option<String>) -> Option<Allocation> {
        BATCHES.iter().find_map(|batch| {
            let hosts = (batch.count)(&get(batch.variable)?);
            (hosts > 1).then_some(Allocation { system: batch.system, hosts, option: batch.option })
        })
    }
}

impl fmt::Display for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} gave this job {} hosts, and all ranks run on this one: to use them all, say mpirun {}",
            self.system, self.hosts, self.option
        )
    }
}

/// Hosts of `a,b[1-3,7]`.
fn of_ranges(list: &str) -> usize {
    let mut depth = 0_u32;
    let names = list.split(|letter: char| {
        depth = match letter {
            '[' => depth + 1,
            ']' => depth.saturating_sub(1),
            _ => depth,
        };
        letter == ',' && depth == 0
    });
    names.filter(|name| !name.trim().is_empty()).map(of_name).fold(0, usize::saturating_add)
}

/// Hosts of `b[1-3,7]`, which may have several brackets.
fn of_name(name: &str) -> usize {
    let brackets = name.split('[').skip(1).filter_map(|rest| rest.split(']').next());
    let counts = brackets.map(|list| list.split(',').map(of_range).fold(0, usize::saturating_add));
    counts.fold(1, usize::saturating_mul)
}

/// Numbers of `1-3` or `7`.
fn of_range(range: &str) -> usize {
    let ends =
        range.split_once('-').and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    ends.map_or(1, |(first, last): (usize, usize)| last.saturating_sub(first).saturating_add(1))
}

/// Hosts that begin the lines of a file.
fn of_file(path: &str) -> usize {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| line.split_whitespace().next()).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_counted() {
        for (list, hosts) in [
            ("", 0),
            ("a", 1),
            ("a,b", 2),
            ("n[1-3,7]", 4),
            ("a,n[08-11],b", 6),
            ("r[1-2]n[0-3]", 8),
            ("a[,", 2),
        ] {
            assert_eq!(of_ranges(list), hosts, "{list}");
        }
        let find = |variable: &'static str, value: &'static str| {
            Allocation::find(|name| (name == variable).then(|| value.into())).map(|found| found.hosts)
        };
        assert_eq!(find("LSB_MCPU_HOSTS", "a 2 b 4"), Some(2));
        assert_eq!(find("LSB_MCPU_HOSTS", "a 2"), None);
        assert_eq!(find("SLURM_JOB_NODELIST", "n1"), None);
        assert_eq!(find("PBS_NODEFILE", "/nonexistent"), None);
    }
}
